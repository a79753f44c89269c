//! Files that appear whole or not at all.

use crate::error::{Error, Result};
use crate::model::part_file::PartFile;
use std::io::Write as _;
use std::path::Path;

/// Writes a file: beside the target first, then renamed, so that what stood there is lost only when all of the new
/// content is on the disk.
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
/// A file that cannot be written; then what stood there still does.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let kept = std::fs::metadata(path).ok().map(|found| found.permissions());
    let write = || -> std::io::Result<()> {
        let mut part = PartFile::create(path, kept)?;
        part.write_all(bytes)?;
        part.rename(path)
    };
    write().map_err(|error| io_error(path, &error))
}

/// What the system said of a file.
pub(crate) fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), reason: error.to_string() }
}
