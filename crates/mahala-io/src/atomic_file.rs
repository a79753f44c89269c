//! Results written whole or not at all.
//!
//! A file appears under its name only when it is complete: the bytes go to a
//! temporary file beside it, which is renamed at the end. Until then, whatever
//! had that name is untouched. A stream (`-`, a pipe, a device) is written as
//! it comes.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::write_error::WriteError;
use mahala::model::{PartFile, directory_of};

/// Symbolic links followed before they count as a circle, as in Linux.
const MOST_LINKS: usize = 40;
const BUFFER: usize = 1 << 16;

/// Writes all of `bytes` to `path`; `-` is standard output.
///
/// # Errors
/// When the file cannot be written; then what was there is still there.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// A file that appears under its name with [`AtomicFile::commit`]; dropped
/// before, it leaves no trace.
pub struct AtomicFile {
    sink: Sink,
    path: PathBuf,
    /// After an error some bytes are missing, so the file must not appear.
    failed: bool,
}

enum Sink {
    Stream(BufWriter<UntilClosed<Box<dyn Write + Send>>>),
    File(BufWriter<PartFile>),
}

impl AtomicFile {
    /// Opens `path` for writing; `-` is standard output.
    ///
    /// # Errors
    /// When the path is a directory, its directory does not exist, or it may
    /// not be written.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        if path.as_os_str() == "-" {
            return Ok(Self::stream(Box::new(io::stdout()), Path::new("standard output")));
        }
        let target = follow_links(path)?;
        check_name(path)?;
        match fs::metadata(&target) {
            Ok(found) if found.is_dir() => {
                Err(WriteError::at(path, "it is a directory; give the name of a file in it"))
            }
            Ok(found) if !found.is_file() => {
                let device = OpenOptions::new().write(true).open(&target);
                let device = device.map_err(|error| WriteError::explained(&target, error))?;
                Ok(Self::stream(Box::new(device), path))
            }
            found => {
                let kept = found.ok().map(|found| found.permissions());
                let part = PartFile::create(&target, kept);
                let part = part.map_err(|error| WriteError::explained(&target, error))?;
                let sink = Sink::File(BufWriter::with_capacity(BUFFER, part));
                Ok(Self { sink, path: target, failed: false })
            }
        }
    }

    /// Completes the file: all bytes on the disk, then the name.
    ///
    /// # Errors
    /// When the remaining bytes or the new name cannot be written, or an
    /// earlier write failed; then what was there is still there.
    pub fn commit(mut self) -> Result<(), WriteError> {
        if self.failed {
            return Err(WriteError::at(&self.path, "an earlier write failed"));
        }
        self.flush()?;
        match self.sink {
            Sink::Stream(_) => Ok(()),
            Sink::File(buffer) => {
                let part = buffer.into_inner().map_err(io::IntoInnerError::into_error);
                let done = part.and_then(|part| part.rename(&self.path));
                done.map_err(|error| WriteError::explained(&self.path, error))
            }
        }
    }

    fn stream(inner: Box<dyn Write + Send>, path: &Path) -> Self {
        let inner = UntilClosed { inner, closed: false };
        let sink = Sink::Stream(BufWriter::with_capacity(BUFFER, inner));
        Self { sink, path: path.to_owned(), failed: false }
    }

    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|e| {
            // An interrupted write has written nothing and is tried again.
            self.failed |= e.kind() != ErrorKind::Interrupted;
            io::Error::new(e.kind(), WriteError::explained(&self.path, e))
        })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match &mut self.sink {
            Sink::Stream(inner) => inner.write(bytes),
            Sink::File(inner) => inner.write(bytes),
        };
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match &mut self.sink {
            Sink::Stream(inner) => inner.flush(),
            Sink::File(inner) => inner.flush(),
        };
        self.noted(result)
    }
}

/// A stream whose reader may leave: after that, bytes are dropped in silence,
/// as when `head` has seen enough.
struct UntilClosed<W> {
    inner: W,
    closed: bool,
}

impl<W: Write> UntilClosed<W> {
    fn unless_closed<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.unless_closed(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.unless_closed(result, ())
    }
}

/// The file a path means, whether or not it exists: a symbolic link stays and
/// its target is written.
fn follow_links(path: &Path) -> Result<PathBuf, WriteError> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        // A link in `/proc` to a pipe has no path behind it; as it is, it opens.
        let stream = fs::metadata(&target).is_ok_and(|found| !found.is_file() && !found.is_dir());
        let link = fs::symlink_metadata(&target).is_ok_and(|found| found.is_symlink());
        if stream || !link {
            return Ok(target);
        }
        let next = fs::read_link(&target).map_err(|error| WriteError::link(&target, error))?;
        target = directory_of(&target).join(next);
    }
    Err(WriteError::at(path, "its symbolic links lead in a circle; remove the link or choose another path"))
}

/// Refuses an empty name and one that ends like a directory's.
fn check_name(path: &Path) -> Result<(), WriteError> {
    let name = path.as_os_str().as_encoded_bytes();
    match name.last() {
        None => Err(WriteError::new(
            "cannot write to an empty path; give the name of a file, or - for standard output",
        )),
        Some(b'/') => Err(WriteError::at(path, "it names a directory; give the name of a file in it")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory");
        let name = |e: io::Result<fs::DirEntry>| e.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A writer without room for more than a few bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out.json");
        for text in ["first", "second"] {
            write_atomic(&path, text.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        }
        assert_eq!(names_in(directory.path()), ["out.json"]);
    }

    #[test]
    fn a_write_that_is_given_up_leaves_what_was_there() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out.json");
        write_atomic(&path, b"old").expect("written");
        let mut file = AtomicFile::create(&path).expect("opened");
        file.write_all(&vec![b'x'; 3 * BUFFER]).expect("buffered");
        assert_eq!(names_in(directory.path()).len(), 2);
        drop(file);
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        assert_eq!(names_in(directory.path()), ["out.json"]);
    }

    #[test]
    fn a_file_with_missing_bytes_never_appears() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("out.json");
        write_atomic(&path, b"old").expect("written");
        let mut file = AtomicFile::create(&path).expect("opened");
        let error = file.noted::<()>(Err(ErrorKind::StorageFull.into()));
        assert!(error.expect_err("full").to_string().contains("free some space"));
        let error = file.commit().expect_err("incomplete");
        assert!(error.to_string().contains("an earlier write failed"));
        assert_eq!(fs::read(&path).expect("a file"), b"old");
        assert_eq!(names_in(directory.path()), ["out.json"]);
    }

    #[test]
    fn a_full_stream_is_an_error_with_a_remedy() {
        let mut file = AtomicFile::stream(Box::new(Full(5)), Path::new("standard output"));
        file.write_all(b"more than five").expect("buffered");
        let error = file.commit().expect_err("full").to_string();
        assert!(error.starts_with("cannot write standard output: "), "{error}");
        assert!(error.contains("free some space"), "{error}");
    }

    #[test]
    fn a_reader_that_leaves_is_a_quiet_success() {
        let mut file = AtomicFile::stream(Box::new(Closed), Path::new("standard output"));
        file.write_all(&vec![b'x'; 3 * BUFFER]).expect("dropped");
        file.commit().expect("quiet");
    }

    #[test]
    fn a_path_that_cannot_be_a_file_is_refused_with_the_reason() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        write_atomic(&file, b"").expect("written");
        let refused = |path: &Path| write_atomic(path, b"x").expect_err("refused").to_string();
        assert!(refused(directory.path()).contains("it is a directory"));
        assert!(refused(&directory.path().join("new/")).contains("it names a directory"));
        assert!(refused(Path::new("")).contains("an empty path"));
        let missing = refused(&directory.path().join("no/such/file"));
        let parent = directory.path().join("no/such");
        assert!(missing.contains(&format!("the directory {} does not exist", parent.display())));
        assert!(refused(&file.join("below")).contains("file is not a directory"));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_survive() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().expect("a directory");
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        symlink("target", &link).expect("a link");
        write_atomic(&link, b"through a link to nothing").expect("written");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("set");
        write_atomic(&link, b"again").expect("written");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        assert_eq!(fs::read(&target).expect("a file"), b"again");
        let mode = fs::metadata(&target).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let astray = directory.path().join("astray");
        symlink("no/file", &astray).expect("a link");
        let error = write_atomic(&astray, b"x").expect_err("no directory").to_string();
        assert!(error.contains("no does not exist"), "{error}");
        let circle = directory.path().join("circle");
        symlink("circle", &circle).expect("a link");
        assert!(write_atomic(&circle, b"x").expect_err("a circle").to_string().contains("circle"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_and_not_replaced() {
        let error = write_atomic(Path::new("/dev/full"), b"x").expect_err("full");
        assert!(error.to_string().contains("free some space"), "{error}");
        write_atomic(Path::new("/dev/null"), b"x").expect("written");
    }
}
