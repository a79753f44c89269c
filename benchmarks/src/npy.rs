//! Arrays handed to the peers: a folder that goes away, and NPY files in it.

use anyhow::Result;
use mahala_io::npy::npy_header_of;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A temporary folder.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("mahala-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes an array in C order.
pub(crate) fn write_npy(
    path: &Path,
    dtype: &str,
    shape: &[usize],
    bytes: impl Iterator<Item = u8>,
) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    file.write_all(&npy_header_of(dtype, shape))?;
    file.write_all(&bytes.collect::<Vec<u8>>())?;
    Ok(file.flush()?)
}
