//! What went wrong while a file was written, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::Path;

use mahala::model::directory_of;

/// A file that cannot be written: which, why, and what to do instead.
///
/// The message says what the source, if there is one, says.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct WriteError {
    message: String,
    source: Option<io::Error>,
}

impl WriteError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// `cannot write PATH: reason`
    pub(crate) fn at(path: &Path, reason: &str) -> Self {
        Self::new(format!("cannot write {}: {reason}", path.display()))
    }

    /// A symbolic link that cannot be read.
    pub(crate) fn link(link: &Path, error: io::Error) -> Self {
        let message = format!("cannot follow the link {}: {error}", link.display());
        Self { message, source: Some(error) }
    }

    /// The error with the path, the cause, and what to do about it.
    pub(crate) fn explained(path: &Path, error: io::Error) -> Self {
        let directory = directory_of(path);
        let remedy = match error.kind() {
            ErrorKind::NotFound if !directory.exists() => {
                format!(
                    "the directory {} does not exist; create it or choose another path",
                    directory.display()
                )
            }
            ErrorKind::NotADirectory => {
                format!("{} is not a directory; choose another path", directory.display())
            }
            ErrorKind::PermissionDenied => format!(
                "no permission; make it and the directory {} writable or choose another path",
                directory.display()
            ),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                "no space left; free some space or choose a path on another disk".to_owned()
            }
            ErrorKind::ReadOnlyFilesystem => {
                "the disk can only be read; choose a path on another disk".to_owned()
            }
            _ => error.to_string(),
        };
        Self { source: Some(error), ..Self::at(path, &remedy) }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(explained) => explained,
            Err(error) => Self { message: error.to_string(), source: Some(error) },
        }
    }
}
