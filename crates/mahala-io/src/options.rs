//! How a file is to be read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::column_ref::ColumnRef;
use crate::progress::ReadProgress;

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
    /// Arrays written by numpy.savez
    Npz,
    /// Apache Parquet
    Parquet,
    /// Apache Arrow: a file (Feather V2) or a stream
    Arrow,
    /// JSON Lines: one object a line, whose keys name the columns
    Jsonl,
}

/// How the rows of a table may be held in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsHeld {
    /// In double precision.
    #[default]
    Double,
    /// In double precision, or sparse where they are sparse and wide: [`Table::sparse`](crate::Table::sparse).
    OrSparse,
    /// In double precision, or in single where no cell loses a digit by it; arrays where they lie in their file:
    /// [`Table::embeddings`](crate::Table::embeddings).
    OrSingle,
}

/// How a file is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The column that holds the label.
    pub label: Option<ColumnRef>,
    /// A file with the label of each row, where no column has it.
    pub labels: Option<PathBuf>,
    /// Columns that are neither features nor label.
    pub ignore: Vec<ColumnRef>,
    /// The features of a stored model: exactly these, in this order.
    pub features: Option<Vec<String>>,
    /// Whether the features of a stored model are taken by position, whatever the columns of the file are called.
    pub by_position: bool,
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
    /// Which array of an archive holds the rows.
    pub array: Option<String>,
    /// Whether the indices of sparse text begin at 0.
    pub zero_based: bool,
    /// How the rows of a table may be held.
    pub rows_held: RowsHeld,
    /// How many bad rows are left out rather than refused; `None` stops at the first.
    pub skip_bad_rows: Option<u64>,
    /// The most bytes of numbers that may be held.
    pub most_bytes: Option<u64>,
    /// Who is told how far the reader is.
    pub progress: Option<Arc<ReadProgress>>,
}

impl ReadOptions {
    /// Whether the cell is a name by which the user called a column.
    pub(crate) fn mentions(&self, cell: &[u8]) -> bool {
        let same = |name: &str| name.as_bytes() == cell;
        let refs = self.label.iter().chain(&self.ignore);
        let mut names = refs.filter(|column| column.is_name()).map(|column| &column.0);
        names.any(|name| same(name)) || self.features.iter().flatten().any(|name| same(name))
    }
}
