//! Tables as files, in one way for every command: CSV, TSV (packed or not), NPY, Parquet.
//!
//! ```text
//! columns of some rows ─▶ encoded by any thread ─▶ taken in order ─▶ AtomicFile
//! ```

#[cfg(feature = "parquet")]
mod parquet;
mod sink;
mod text;

#[cfg(all(test, feature = "parquet", feature = "zstd"))]
mod tests;

use std::path::Path;

use crate::atomic_file::AtomicFile;
use crate::table_writer::sink::Sink;
use crate::write_error::WriteError;
pub use text::exact;

/// What a table is written as; its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Cells separated by this character, perhaps packed.
    Text(u8, Packing),
    /// An array of float32, if all its columns hold single precision; else of float64.
    Npy,
    /// Apache Parquet.
    Parquet,
}

/// How text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// By gzip.
    Gzip,
    /// By Zstandard.
    Zstandard,
}

/// Some neighbouring columns of some rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// So many columns of numbers, row after row.
    Numbers(Vec<f64>, usize),
    /// So many columns of numbers in single precision, row after row.
    Singles(Vec<f32>, usize),
    /// One column of whole numbers.
    Integers(Vec<u64>),
    /// One column of text.
    Text(Vec<String>),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Numbers with fractions.
    Numbers,
    /// Numbers with fractions, in single precision.
    Singles,
    /// Whole numbers.
    Integers,
    /// Text.
    Text,
}

/// Rows, ready to be written in order.
pub struct Encoded {
    rows: usize,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "Parquet alone takes whole columns"))]
    Columns(Vec<Columns>),
}

/// A table on its way into a file, which appears when it is complete.
pub struct TableWriter {
    sink: Sink,
}

impl TableForm {
    /// The form that a name asks for; CSV for names that tell none, and for standard output.
    ///
    /// # Errors
    /// A name that promises a form which is not written.
    pub fn of(path: &Path) -> Result<Self, WriteError> {
        let name =
            path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let (name, packing) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
            (Some(name), _) => (name, Packing::Gzip),
            (None, Some(name)) => (name, Packing::Zstandard),
            (None, None) => (&*name, Packing::Plain),
        };
        let form = match name.rsplit_once('.').map_or("", |parts| parts.1) {
            "npy" => Self::Npy,
            "parquet" | "pq" => Self::Parquet,
            "tsv" | "tab" => Self::Text(b'\t', packing),
            "json" | "jsonl" | "ndjson" | "libsvm" | "svm" | "npz" | "arrow" | "feather" | "xlsx" => {
                return Err(not_written(path));
            }
            _ => Self::Text(b',', packing),
        };
        match form {
            Self::Npy | Self::Parquet if packing != Packing::Plain => Err(not_written(path)),
            Self::Parquet if !cfg!(feature = "parquet") => Err(not_written(path)),
            Self::Text(_, Packing::Zstandard) if !cfg!(feature = "zstd") => Err(not_written(path)),
            form => Ok(form),
        }
    }

    /// Refuses columns that the form does not hold.
    ///
    /// # Errors
    /// Text in an array.
    pub fn check(self, columns: &[(String, Holds)]) -> Result<(), WriteError> {
        match columns.iter().find(|column| column.1 == Holds::Text) {
            Some((name, _)) if self == Self::Npy => Err(text_in_array(name)),
            _ => Ok(()),
        }
    }

    /// Encodes rows, as far as that can be done for each block of them apart.
    ///
    /// # Errors
    /// Text in an array.
    pub fn encode(self, columns: Vec<Columns>) -> Result<Encoded, WriteError> {
        let rows = columns.first().map_or(0, Columns::rows);
        let content = match self {
            Self::Text(delimiter, _) => Content::Bytes(text::rows(delimiter, &columns, rows)?),
            Self::Npy => Content::Bytes(array(&columns, rows)?),
            Self::Parquet => Content::Columns(columns),
        };
        Ok(Encoded { rows, content })
    }
}

impl Columns {
    fn rows(&self) -> usize {
        match self {
            Self::Numbers(values, width) => values.len() / width.max(&1),
            Self::Singles(values, width) => values.len() / width.max(&1),
            Self::Integers(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

impl TableWriter {
    /// A table of columns with these names and contents.
    ///
    /// # Errors
    /// Text in an array, or a file that cannot be written.
    pub fn new(output: AtomicFile, form: TableForm, columns: &[(String, Holds)]) -> Result<Self, WriteError> {
        form.check(columns)?;
        Ok(Self { sink: Sink::new(output, form, columns)? })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&mut self, rows: Encoded) -> Result<(), WriteError> {
        self.sink.write(rows)
    }

    /// Completes the file, which appears under its name.
    ///
    /// # Errors
    /// A file that cannot be written; then what was there is still there.
    pub fn finish(self) -> Result<(), WriteError> {
        self.sink.finish()?.commit()
    }
}

/// The bytes of float32 or float64, row after row.
fn array(columns: &[Columns], rows: usize) -> Result<Vec<u8>, WriteError> {
    let mut bytes = Vec::new();
    if let [Columns::Singles(values, _)] = columns {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        return Ok(bytes);
    }
    for i in 0..rows {
        for column in columns {
            match column {
                Columns::Numbers(values, width) => {
                    values[i * width..][..*width].iter().for_each(|value| bytes.extend(value.to_le_bytes()));
                }
                Columns::Singles(values, width) => {
                    let wide = values[i * width..][..*width].iter().map(|&value| f64::from(value));
                    wide.for_each(|value| bytes.extend(value.to_le_bytes()));
                }
                Columns::Integers(values) => bytes.extend((values[i] as f64).to_le_bytes()),
                Columns::Text(_) => return Err(text_in_array("text")),
            }
        }
    }
    Ok(bytes)
}

fn text_in_array(name: &str) -> WriteError {
    WriteError::new(format!(
        "an array (.npy) holds numbers alone, and column '{name}' is text\nhint: write .csv, .tsv or .parquet"
    ))
}

fn not_written(path: &Path) -> WriteError {
    WriteError::new(format!(
        "{}: tables are written as .csv or .tsv (packed: .csv.gz, .csv.zst), .npy or .parquet",
        path.display()
    ))
}
