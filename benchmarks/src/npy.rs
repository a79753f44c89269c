//! Arrays handed to the peers: a folder that goes away, and NPY files in it.

use anyhow::Result;
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
    let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let mut header =
        format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({},), }}", shape.join(", "));
    let padding = 64 - (11 + header.len()) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&u16::try_from(header.len())?.to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    file.write_all(&bytes.collect::<Vec<u8>>())?;
    Ok(file.flush()?)
}
