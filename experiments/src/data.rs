//! Reading the data sets: a header, numbers, the label last; an empty field is 0. Plain or `.gz`.

use crate::protocol::Set;
use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use mahala::{Dataset, Labels, Rows};
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
    let text = text_of(path)?;
    let sha256 = hex(&Sha256::digest(text.as_bytes()));
    let data = parse(&text).with_context(|| path.display().to_string())?;
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

fn parse(text: &str) -> Result<Dataset> {
    let mut lines = text.lines();
    let columns = lines.next().context("the file is empty")?.split(',').count() - 1;
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (row, line) in lines.enumerate() {
        let (cells, label) = line.rsplit_once(',').with_context(|| format!("row {}: no comma", row + 1))?;
        for cell in cells.split(',') {
            let value = if cell.is_empty() { Ok(0.0) } else { cell.parse::<f64>() };
            values.push(value.with_context(|| format!("row {}: '{cell}' is not a number", row + 1))?);
        }
        if values.len() != (row + 1) * columns {
            bail!("row {} has another number of cells than the header's {columns}", row + 1);
        }
        labels.push(label);
    }
    Ok(Dataset::new(Rows::new(values, columns)?, Labels::new(labels))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cell_is_zero_and_a_short_row_is_named() {
        let data = parse("a,b,label\n1,,x\n2,3,y\n").unwrap();
        assert_eq!(data.rows().values(), [1.0, 0.0, 2.0, 3.0]);
        assert_eq!(parse("a,b,label\n1,2,x\n2,y\n").unwrap_err().to_string().split(' ').nth(1), Some("2"));
        assert!(parse("a,label\nz,x\n").unwrap_err().to_string().contains("'z'"));
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
