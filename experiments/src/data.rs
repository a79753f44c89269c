//! Reading the data sets: a header, numbers, the label last; a missing cell is 0. Plain or `.gz`.

use crate::protocol::Set;
use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use mahala::{Dataset, Labels, Rows};
use mahala_io::{Header, Missing, ReadOptions, read_table};
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A data set as read, and the sum of its text, uncompressed.
pub(crate) struct Source {
    pub data: Dataset,
    pub sha256: String,
}

/// Where a set lies: in the folder given, or bundled with the repository.
pub(crate) fn path_of(set: &Set, folder: Option<&Path>) -> Option<PathBuf> {
    let bundled = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let path = match (folder, set.bundled) {
        (Some(folder), _) => folder.join(set.file),
        (None, Some(file)) => bundled().join(file),
        (None, None) => return None,
    };
    path.is_file().then_some(path)
}

/// Reads a set and checks its shape.
pub(crate) fn read(set: &Set, path: &Path) -> Result<Source> {
    let (sha256, data) = (sum_of(path)?, parse(path)?);
    let shape = (data.len(), data.columns(), data.labels().class_count());
    if shape != set.shape {
        bail!("{}: rows, columns, classes are {shape:?}; {} has {:?}", path.display(), set.title, set.shape);
    }
    Ok(Source { data, sha256 })
}

/// The sum of a file's text.
pub(crate) fn sum_of(path: &Path) -> Result<String> {
    Ok(hex(&Sha256::digest(text_of(path)?.as_bytes())))
}

fn text_of(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(if path.extension().is_some_and(|end| end == "gz") {
        let mut text = String::new();
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).with_context(|| path.display().to_string())?;
        text
    } else {
        String::from_utf8(bytes).with_context(|| path.display().to_string())?
    })
}

/// Bytes as a sum is written.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn parse(path: &Path) -> Result<Dataset> {
    let options = ReadOptions {
        label: "-1".parse().ok(),
        header: Header::Yes,
        delimiter: Some(b','),
        missing: Missing::Zero,
        ..ReadOptions::default()
    };
    let table = read_table(path, &options)?;
    let rows = Rows::new(table.rows, table.names.len())?;
    Ok(Dataset::new(rows, Labels::new(table.labels.unwrap_or_default()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cell_is_zero_and_a_short_row_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.csv");
        let parsed = |text: &str| {
            std::fs::write(&path, text).unwrap();
            parse(&path).map_err(|error| error.to_string())
        };
        let data = parsed("a,b,label\n1,,x\n2,3,y\n").unwrap();
        assert_eq!(data.rows().values(), [1.0, 0.0, 2.0, 3.0]);
        assert!(
            parsed("a,b,label\n1,2,x\n2,y\n").unwrap_err().contains("line 3: 2 cells where line 1 has 3")
        );
        assert!(parsed("a,label\nz,x\n").unwrap_err().contains("\"z\" is not a number"));
    }

    #[test]
    fn the_bundled_sets_are_there_with_their_shapes() {
        for name in ["wine", "iris", "breast-cancer-wdbc"] {
            let set = Set::named(name).unwrap();
            assert_eq!(read(set, &path_of(set, None).unwrap()).unwrap().sha256.len(), 64);
        }
        assert!(path_of(Set::named("mnist").unwrap(), None).is_none());
    }
}
