//! Atomic file writes.

use crate::error::{Error, Result};
use crate::model::part_file::PartFile;
use std::io::Write as _;
use std::path::Path;

/// Writes a file atomically: to a temporary file in the same directory, synced to disk, then renamed over the
/// target.
///
/// ```
/// let path = std::env::temp_dir().join(format!("mahala-write-file-{}", std::process::id()));
/// mahala::model::write_file(&path, b"whole")?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"whole");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// A file that cannot be written; the previous file is then unchanged.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let kept = std::fs::metadata(path).ok().map(|found| found.permissions());
    let write = || -> std::io::Result<()> {
        let mut part = PartFile::create(path, kept)?;
        part.write_all(bytes)?;
        part.rename(path)
    };
    write().map_err(|error| io_error(path, error))
}

/// The error of the operating system about a file.
pub(crate) fn io_error(path: &Path, error: std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source: error.into() }
}
