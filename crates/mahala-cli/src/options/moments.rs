//! Options of `mahala moments`.

use crate::options::input::InputArgs;
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala moments`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala moments monday.csv --label y -o monday.moments
  mahala moments tuesday.parquet --label y -o tuesday.moments
  mahala merge monday.moments tuesday.moments -o both.moments
  mahala fit --moments both.moments --t 0.5 -o m.safetensors")]
pub(crate) struct MomentsCommand {
    /// Rows: CSV, TSV, JSON Lines, Parquet or Arrow, .gz too; a folder or pattern; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: ColumnRef,
    /// Where to write the sums
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: PathBuf,
    /// Print a summary as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub input: InputArgs,
}
