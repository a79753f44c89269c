//! How files are read, as it is typed.

use clap::Args;
use mahala_io::{ColumnRef, Format, Header, Missing, ReadOptions};

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
    /// Leave out up to so many rows that cannot be read, and say where the first are
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub skip_bad_rows: Option<u64>,
    /// The most bytes of numbers to hold; what memory allows, if there is none.
    #[arg(skip)]
    pub most_bytes: Option<u64>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("the delimiter must be one ASCII character, or 'tab'".into()),
    }
}

impl InputArgs {
    /// The options for a file with (or without) a label column.
    pub(crate) fn options(&self, label: Option<&ColumnRef>) -> ReadOptions {
        ReadOptions {
            label: label.cloned(),
            ignore: self.ignore.clone(),
            features: None,
            header: self.header,
            delimiter: self.delimiter,
            missing: self.missing,
            means: None,
            format: self.format,
            sparse: false,
            skip_bad_rows: self.skip_bad_rows,
            // A table grows by doubling, and what is learned from it needs room, too.
            most_bytes: Some(
                self.most_bytes.unwrap_or((1e9 * mahala::footprint::memory_limit_gb() / 3.0) as u64),
            ),
        }
    }
}
