//! How far a reader is.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of some files are read, told by the reader to whoever asks, from any thread.
#[derive(Debug, Default)]
pub struct ReadProgress {
    done: AtomicU64,
    total: AtomicU64,
}

impl ReadProgress {
    /// The share of all bytes that is read, from 0 to 1; `None` where their number is not known, as on standard input.
    pub fn share(&self) -> Option<f64> {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        (total > 0).then(|| (done as f64 / total as f64).min(1.0))
    }

    /// Begins to read these files.
    pub(crate) fn begin(&self, files: &[PathBuf]) {
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        self.done.store(0, Ordering::Relaxed);
        self.total.store(files.iter().map(size).sum(), Ordering::Relaxed);
    }

    /// So many bytes more are read.
    pub(crate) fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A reader whose bytes are counted.
pub(crate) struct Counted<R> {
    pub(crate) inner: R,
    pub(crate) progress: Option<Arc<ReadProgress>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if let Some(progress) = &self.progress {
            progress.add(read as u64);
        }
        Ok(read)
    }
}
