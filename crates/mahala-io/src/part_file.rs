//! Temporary files beside their targets, and those that killed runs left behind.
//!
//! ```text
//! .NAME.mahala-XXXXXX.part
//! ```

use crate::atomic_file::directory_of;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// The end of the names of temporary files.
const SUFFIX: &str = ".part";

/// The beginning of the names of a target's temporary files; short enough that a name has room for the rest.
fn prefix_of(target: &Path) -> OsString {
    const LONGEST: usize = 200;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(LONGEST)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    format!(".{}.mahala-", &name[..end]).into()
}

/// Removes what earlier runs left behind that were killed while they wrote the same target. Whoever writes a temporary file
/// holds a lock on it, which ends with the process: a file that can be locked is nobody's.
pub(crate) fn remove_stale(target: &Path) {
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
pub(crate) fn temporary_file(target: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = unlocked_file(target)?;
        // Some file systems know no locks. There nothing is found stale either.
        let _ = file.as_file().lock();
        // Between the two steps another run may have taken it for stale.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// A new file with the permissions any new file gets, not those of a secret.
fn unlocked_file(target: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix_of(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory_of(target))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let alive = temporary_file(&target).expect("a file");
        remove_stale(&target);
        assert!(others.iter().all(|name| place(name).exists()));
        assert!(!place(".m.st.mahala-abcdef.part").exists());
        assert!(alive.path().exists(), "it is being written");
    }

    #[test]
    fn a_long_name_leaves_room_for_the_rest() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("é".repeat(127));
        let file = temporary_file(&target).expect("a file");
        assert!(file.path().file_name().is_some_and(|name| name.len() <= 255));
    }
}
