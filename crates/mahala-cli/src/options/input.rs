//! How files are read, as it is typed.

use clap::Args;
use mahala_io::{ColumnRef, Format, Header, Missing, ReadOptions, RowsHeld};
use std::path::Path;

/// How files are read.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Leave out this column; may be repeated
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub ignore: Vec<ColumnRef>,
    /// What to do about missing cells
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub missing: Missing,
    /// Whether the first record names the columns
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub header: Header,
    /// The character between cells [default: found from the first lines]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, hide_short_help = true)]
    pub delimiter: Option<u8>,
    /// The format of the input [default: found from name and content]
    #[arg(long, value_enum, hide_short_help = true)]
    pub format: Option<Format>,
    /// Which array of an NPZ archive holds the rows [default: the only one of two dimensions]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub array: Option<String>,
    /// The indices of a LIBSVM file begin at 0, not at 1
    #[arg(long, hide_short_help = true)]
    pub zero_based: bool,
    /// Leave out up to so many rows that cannot be read, and say where the first are
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub skip_bad_rows: Option<u64>,
    /// The columns a model wants are taken by position, whatever they are called.
    #[arg(skip)]
    pub by_position: bool,
    /// How rows may be held.
    #[arg(skip)]
    pub rows_held: RowsHeld,
    /// The most bytes of numbers to hold; what memory allows, if there is none.
    #[arg(skip)]
    pub most_bytes: Option<u64>,
}

/// Where the labels of a table are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LabelsIn<'a> {
    Nowhere,
    Column(&'a ColumnRef),
    File(&'a Path),
}

impl<'a> LabelsIn<'a> {
    /// What `--label` and `--labels` say; clap lets one of them through.
    pub(crate) fn of(column: Option<&'a ColumnRef>, file: Option<&'a Path>) -> Self {
        match (column, file) {
            (Some(column), _) => Self::Column(column),
            (None, Some(file)) => Self::File(file),
            (None, None) => Self::Nowhere,
        }
    }

    /// The column that is no feature.
    pub(crate) fn column(self) -> Option<&'a ColumnRef> {
        match self {
            Self::Column(column) => Some(column),
            Self::File(_) | Self::Nowhere => None,
        }
    }

    /// Whether the file must be read with all its rows at hand.
    pub(crate) fn is_file(self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Whether there are labels.
    pub(crate) fn are_given(self) -> bool {
        !matches!(self, Self::Nowhere)
    }
}

impl<'a> From<Option<&'a ColumnRef>> for LabelsIn<'a> {
    fn from(column: Option<&'a ColumnRef>) -> Self {
        Self::of(column, None)
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("the delimiter must be one ASCII character, or 'tab'".into()),
    }
}

impl InputArgs {
    /// The options of reading the rows of a model, which may take columns by position.
    pub(crate) fn for_model(&self, by_position: bool) -> Self {
        Self { by_position, ..self.clone() }
    }

    /// The options for rows of embeddings, which are held in the precision that their file has them in.
    pub(crate) fn for_embeddings(&self) -> Self {
        Self { rows_held: RowsHeld::OrSingle, ..self.clone() }
    }

    /// The options for a file with (or without) labels.
    pub(crate) fn options<'a>(&self, labels: impl Into<LabelsIn<'a>>) -> ReadOptions {
        let labels = labels.into();
        // A table may grow by doubling, and what is learned from it needs room, too: little from embeddings.
        let share = if self.rows_held == RowsHeld::OrSingle { 0.6 } else { 1.0 / 3.0 };
        ReadOptions {
            label: labels.column().cloned(),
            labels: match labels {
                LabelsIn::File(path) => Some(path.to_owned()),
                LabelsIn::Column(_) | LabelsIn::Nowhere => None,
            },
            ignore: self.ignore.clone(),
            features: None,
            by_position: self.by_position,
            header: self.header,
            delimiter: self.delimiter,
            missing: self.missing,
            means: None,
            format: self.format,
            array: self.array.clone(),
            zero_based: self.zero_based,
            rows_held: self.rows_held,
            progress: None,
            skip_bad_rows: self.skip_bad_rows,
            most_bytes: Some(
                self.most_bytes.unwrap_or((1e9 * share * mahala::footprint::memory_limit_gb()) as u64),
            ),
        }
    }
}
