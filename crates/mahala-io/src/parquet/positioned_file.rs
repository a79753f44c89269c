//! A file that several threads read at once, each at places of its own.
//!
//! The Parquet library shares one position among all readers of a file; here every read names its place.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A file, read by position.
pub(crate) struct Positioned {
    file: Arc<File>,
    length: u64,
}

/// What is left of the file from some place on.
pub(crate) struct From {
    file: Arc<File>,
    at: u64,
}

impl Positioned {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Positioned {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(From { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // No more than the file has, whatever it claims: one buffer of the right size.
        let there = usize::try_from(self.length.saturating_sub(start)).unwrap_or(usize::MAX);
        if there < length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start}, of which {there} are there")));
        }
        let mut bytes = vec![0; length];
        From { file: Arc::clone(&self.file), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
