//! The temporary file in which a file is written until it is complete, and those that killed runs left behind.
//!
//! ```text
//! .NAME.mahala-PROCESS-COUNT.part
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The end of the names of temporary files.
const SUFFIX: &str = ".part";

/// Tells apart the temporary files of one process.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Temporary files under way, for [`remove_unfinished`].
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of all writes under way.
///
/// For the handler of an interrupt, just before the process ends; the writes
/// themselves cannot be completed afterwards.
pub fn remove_unfinished() {
    remove_all(registry().drain(..));
}

/// A temporary file beside its target; it is removed unless it is renamed.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    path: PathBuf,
}

impl PartFile {
    /// Creates and locks a file beside `target`; `kept` are the permissions of the file to be replaced, if there is one.
    ///
    /// # Errors
    /// A folder or a file that cannot be written to.
    pub fn create(target: &Path, kept: Option<fs::Permissions>) -> io::Result<Self> {
        if kept.is_some() {
            // A rename would replace even a write-protected file.
            OpenOptions::new().write(true).open(target)?;
        }
        // Held while the file is made, so that no interrupt can miss it.
        let mut registry = registry();
        remove_stale(target);
        let (file, path) = locked_file(target)?;
        registry.push(path.clone());
        drop(registry);
        let part = Self { file, path };
        if let Some(permissions) = kept {
            part.file.set_permissions(permissions)?;
        }
        Ok(part)
    }

    /// Completes the file: all bytes on the disk, then the name.
    ///
    /// # Errors
    /// What the system says of the write or of the rename; then the target is as before.
    pub fn rename(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        // The name lives in the directory. Some file systems cannot sync
        // one, and the file itself is already safe.
        let _ = File::open(directory_of(target)).and_then(|directory| directory.sync_all());
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // Removed first, then taken from the registry. After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.path);
        registry().retain(|path| *path != self.path);
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The directory in which a path lies.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes what earlier runs left behind that were killed while they wrote the same target. Whoever writes a temporary file
/// holds a lock on it, which ends with the process: a file that can be locked is nobody's.
fn remove_stale(target: &Path) {
    let prefix = prefix_of(target);
    let prefix = prefix.as_encoded_bytes();
    for entry in fs::read_dir(directory_of(target)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let ours = name.starts_with(prefix) && name.ends_with(SUFFIX.as_bytes());
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let abandoned = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if abandoned {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A new file, locked.
fn locked_file(target: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut name = prefix_of(target);
        name.push(format!("{}-{count}{SUFFIX}", std::process::id()));
        let path = directory_of(target).join(name);
        let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            // Of a process with the same number on another machine.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        // Some file systems know no locks. There nothing is found stale either.
        let _ = file.lock();
        // Between the two steps another run may have taken it for stale.
        if path.exists() {
            return Ok((file, path));
        }
    }
}

/// The beginning of the names of a target's temporary files; short enough that a name has room for the rest.
fn prefix_of(target: &Path) -> OsString {
    const LONGEST: usize = 200;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(LONGEST)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    format!(".{}.mahala-", &name[..end]).into()
}

fn registry() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole even if a thread panicked while holding it.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove_all(paths: impl Iterator<Item = PathBuf>) {
    for path in paths {
        // It may have been renamed or removed in the meantime.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(target: &Path) -> PartFile {
        PartFile::create(target, None).expect("a file")
    }

    #[test]
    fn files_of_the_dead_are_removed_and_nobody_elses() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("m.st");
        let place = |name: &str| directory.path().join(name);
        let others =
            [".other.st.mahala-abcdef.part", ".m.st.part", "m.st.mahala-abcdef.part", ".mahala-abc.part"];
        for name in others.iter().chain(&[".m.st.mahala-abcdef.part"]) {
            fs::write(place(name), "half").expect("written");
        }
        let alive = create(&target);
        remove_stale(&target);
        assert!(others.iter().all(|name| place(name).exists()));
        assert!(!place(".m.st.mahala-abcdef.part").exists());
        assert!(alive.path.exists(), "it is being written");
    }

    #[test]
    fn a_long_name_leaves_room_for_the_rest() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("é".repeat(127));
        let file = create(&target);
        assert!(file.path.file_name().is_some_and(|name| name.len() <= 255));
    }

    #[test]
    fn an_interrupt_removes_the_files_under_way() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = create(&directory.path().join("out.json"));
        let ours = |path: &PathBuf| path.starts_with(directory.path());
        assert!(registry().iter().any(ours));
        // Not remove_unfinished() itself, which would reach into other tests.
        remove_all(registry().extract_if(.., |path| ours(path)));
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0);
        assert!(file.rename(&directory.path().join("out.json")).is_err());
    }
}
