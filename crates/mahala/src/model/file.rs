//! Atomic file writes.

use crate::error::{Error, Result};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Distinguishes the temporary files of one process.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Writes a file atomically: to a temporary file in the same directory, synced to disk, then renamed over the
/// target.
///
/// ```
/// let path = std::env::temp_dir().join(format!("mahala-write-file-{}", std::process::id()));
/// mahala::write_file(&path, b"whole")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be written; the previous file is then unchanged.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    let nth = WRITES.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{nth}.part", std::process::id()));
    let part = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&part, path)
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&part);
        io_error(path, &error)
    })
}

/// The error of the operating system about a file.
pub(crate) fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), reason: error.to_string() }
}
