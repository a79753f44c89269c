//! Reading tables from files: CSV and TSV, NPY, LIBSVM and Parquet.
//!
//! Every reader finds the columns of its file, asks [`columns`] which part each of them plays, and
//! hands row after row to [`collect`], which deals with missing cells. Whatever is wrong with a
//! file is said with its place and, where there is one, the remedy.

mod atomic_file;
mod block;
mod catch_panic;
mod cell;
mod collect;
mod columns;
mod csv;
mod decimal_mark;
mod error;
mod glob;
mod libsvm;
pub mod npy;
pub mod pairs;
mod parquet;
mod part_file;
mod scalar;
mod source;
mod stream;

#[cfg(test)]
mod tests;

use mahala::SparseRows;
use std::path::Path;

pub use atomic_file::{AtomicFile, remove_unfinished, write_atomic};
pub use block::Parsed;
pub use collect::mean;
pub use columns::ColumnRef;
pub use error::InputError;
use source::{Magic, Source};
pub use stream::{Stream, estimated_bytes};

/// What to do about missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Missing {
    /// Refuse the file, and say where cells are missing
    #[default]
    Refuse,
    /// Fill in the mean of the column over the training rows (of `fit`, and of each split of `evaluate`)
    Mean,
    /// Leave out rows with missing cells
    Drop,
    /// Fill in 0
    Zero,
}

/// Whether the first record of a text table names the columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Header {
    /// Look at the first records: a column that changes from text to numbers has a name
    #[default]
    Auto,
    /// The first record names the columns
    Yes,
    /// The first record is data
    No,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// Text, one record per line; the separator is found from the first lines
    Csv,
    /// Text, cells separated by tabs
    Tsv,
    /// An array written by numpy.save
    Npy,
    /// Sparse text: label index:value index:value …
    Libsvm,
    /// Apache Parquet
    Parquet,
}

/// How a file is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The column that holds the label.
    pub label: Option<ColumnRef>,
    /// Columns that are neither features nor label.
    pub ignore: Vec<ColumnRef>,
    /// The features of a stored model: exactly these, in this order.
    pub features: Option<Vec<String>>,
    /// Whether the first record names the columns.
    pub header: Header,
    /// The separator of a text table, if it is not to be found from the first lines.
    pub delimiter: Option<u8>,
    /// What to do about missing cells.
    pub missing: Missing,
    /// The means of the features that a model was learned on, to be filled in; without them, those of the file.
    pub means: Option<Vec<f64>>,
    /// The format, if it is not to be found from the name and the first bytes.
    pub format: Option<Format>,
    /// Whether rows that are sparse and wide may stay sparse.
    pub sparse: bool,
    /// How many bad rows are left out rather than refused; `None` stops at the first.
    pub skip_bad_rows: Option<u64>,
    /// The most bytes of numbers that may be held.
    pub most_bytes: Option<u64>,
}

/// A table of finite numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file, as the user named it.
    pub source: String,
    /// The names of the features.
    pub names: Vec<String>,
    /// The features of all rows, row after row; empty if they are sparse.
    pub rows: Vec<f64>,
    /// The rows, if they are sparse.
    pub sparse: Option<SparseRows>,
    /// The number of rows.
    pub n: usize,
    /// The label of each row.
    pub labels: Option<Vec<String>>,
    /// The position of each row among the data rows of the file, counted from 1.
    pub row_numbers: Vec<u64>,
    /// The cells, as indices into `rows`, that hold the mean of their column in this file.
    pub gaps: Vec<usize>,
    /// What the user should hear.
    pub notes: Vec<String>,
}

/// A small table of text, such as a file of pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The file, as the user named it.
    pub source: String,
    /// The names of the columns, if the file has a header.
    pub names: Option<Vec<String>>,
    /// The cells of each record, after the number of the line on which it begins.
    pub rows: Vec<(u64, Vec<String>)>,
}

/// Reads a table of numbers from a file, from those of a folder or a pattern, one below the other, or from standard
/// input if the path is `-`.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, InputError> {
    let files = glob::expand(path)?;
    let mut table = if options.skip_bad_rows.is_some() || files.len() > 1 {
        Stream::open(path, options)?.into_table()?
    } else {
        read_one(&files[0], options)?
    };
    if options.features.is_none() {
        table.note_row_counters();
    }
    Ok(table)
}

/// Refuses more numbers than may be held.
fn check_bytes(source: &str, numbers: usize, most: Option<u64>) -> Result<(), InputError> {
    match most {
        Some(most) if 8 * numbers as u64 > most => Err(InputError::too_large(source, most)),
        _ => Ok(()),
    }
}

fn read_one(path: &Path, options: &ReadOptions) -> Result<Table, InputError> {
    let source = Source::open(path)?;
    let delimiter = options.delimiter;
    match find_format(path, &source, options)? {
        Format::Csv => csv::read(source, delimiter, options),
        Format::Tsv => csv::read(source, delimiter.or(Some(b'\t')), options),
        Format::Npy => npy::read(source, options),
        Format::Libsvm => libsvm::read(source, options),
        Format::Parquet => parquet::read(source, options),
    }
}

/// Reads a small table of text from a CSV or TSV file, or from standard input.
pub fn read_records(path: &Path, options: &ReadOptions) -> Result<Records, InputError> {
    let source = Source::open(path)?;
    let delimiter = options.delimiter;
    match find_format(path, &source, options)? {
        Format::Csv => csv::read_records(source, delimiter, options),
        Format::Tsv => csv::read_records(source, delimiter.or(Some(b'\t')), options),
        Format::Npy | Format::Libsvm | Format::Parquet => {
            Err(InputError::new(source.name, "this table must be CSV or TSV"))
        }
    }
}

impl Table {
    /// Takes a column out of the features.
    pub fn take_column(&mut self, name: &str) -> Result<Vec<f64>, InputError> {
        let d = self.names.len();
        let Some(at) = self.names.iter().position(|other| other == name) else {
            let message = format!("there is no column '{name}'; the columns are {}", self.names.join(", "));
            return Err(InputError::new(&self.source, message));
        };
        if d == 1 {
            let message = format!("no feature columns are left beside '{name}'");
            return Err(InputError::new(&self.source, message));
        }
        let column = self.rows.iter().skip(at).step_by(d).copied().collect();
        let mut cell = 0..;
        self.rows.retain(|_| cell.next().is_none_or(|i: usize| i % d != at));
        self.names.remove(at);
        Ok(column)
    }

    /// Notes columns that only count the rows: identifiers, which say nothing about likeness.
    fn note_row_counters(&mut self) {
        const FEWEST: usize = 5;
        if self.n < FEWEST || self.sparse.is_some() {
            return;
        }
        let d = self.names.len();
        for (j, name) in self.names.iter().enumerate() {
            let first = self.rows[j] - self.row_numbers[0] as f64;
            let cells = self.rows.iter().skip(j).step_by(d);
            // Differences of whole numbers are exact, so that equality is what is meant.
            let mut steps = cells.zip(&self.row_numbers).map(|(x, &row)| x - row as f64 - first);
            if [0.0, -1.0].contains(&first) && steps.all(|step| step == 0.0) {
                self.notes.push(format!(
                    "column '{name}' counts the rows; if it is an identifier: --ignore {}",
                    error::shell(name)
                ));
            }
        }
    }
}

/// The format the user named, or else the one the first bytes or the name give away.
fn find_format(path: &Path, source: &Source, options: &ReadOptions) -> Result<Format, InputError> {
    let seen = match source.magic {
        None => None,
        Some(Magic::Npy) => Some((Format::Npy, "an NPY")),
        Some(Magic::Parquet) => Some((Format::Parquet, "a Parquet")),
        Some(Magic::Other(name, remedy)) => {
            let message = format!("this is {name}, which is not read as a table");
            return Err(InputError::new(&source.name, message).hint(remedy));
        }
    };
    let format = match (options.format, seen) {
        (Some(told), Some((seen, name))) if told != seen => {
            let message = format!("this is {name} file, but --format says otherwise");
            return Err(InputError::new(&source.name, message).hint("leave --format out"));
        }
        (Some(told), _) => told,
        (None, Some((seen, _))) => seen,
        (None, None) => format_of_name(path),
    };
    check_options(format, source, options)?;
    Ok(format)
}

/// Refuses options that mean nothing in a file of this format.
fn check_options(format: Format, source: &Source, options: &ReadOptions) -> Result<(), InputError> {
    let name = match format {
        Format::Csv | Format::Tsv => return Ok(()),
        Format::Npy => "an NPY",
        Format::Libsvm => "a LIBSVM",
        Format::Parquet => "a Parquet",
    };
    let text_only =
        [("--delimiter", options.delimiter.is_some()), ("--header", options.header != Header::Auto)];
    if let Some((option, _)) = text_only.iter().find(|option| option.1) {
        let message = format!("{option} has no effect on {name} file; it is for tables of text");
        return Err(InputError::new(&source.name, message).hint(format!("leave {option} out")));
    }
    if format == Format::Libsvm && options.label.is_some() {
        let message = "the label of a LIBSVM file stands first in each line, and is read from there";
        return Err(InputError::new(&source.name, message).hint("leave --label out"));
    }
    Ok(())
}

fn format_of_name(path: &Path) -> Format {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit('.').next() {
        Some("tsv" | "tab") => Format::Tsv,
        Some("npy") => Format::Npy,
        Some("svm" | "libsvm" | "svmlight") => Format::Libsvm,
        Some("parquet" | "pq") => Format::Parquet,
        _ => Format::Csv,
    }
}
