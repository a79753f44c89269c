//! Options of `mahala neighbors`.

use crate::options::input::InputArgs;
use crate::options::parse::at_least;
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala neighbors`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala neighbors wine.safetensors wines.csv -k 3    among the other rows
  mahala neighbors wine.safetensors queries.csv --among wines.csv
  mahala neighbors wine.safetensors wines.csv --label class -o near.csv")]
pub(crate) struct Neighbors {
    /// The model
    pub model: PathBuf,
    /// The rows whose neighbours are wanted; - for stdin
    pub data: PathBuf,
    /// The rows to search among [default: DATA itself, without the row itself]
    #[arg(long, value_name = "FILE")]
    pub among: Option<PathBuf>,
    /// Show this column of the rows searched among
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Show these labels of the rows searched among: a file with one a row
    #[arg(long, value_name = "FILE", conflicts_with = "label")]
    pub labels: Option<PathBuf>,
    /// How many neighbours
    #[arg(short, long, default_value_t = 5, value_parser = at_least(1))]
    pub k: usize,
    /// Name the rows by this column, which is no feature
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub id: Option<ColumnRef>,
    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    /// Where to write: .csv, .tsv (.gz, .zst), .npy or .parquet [default: CSV to stdout]
    #[arg(
        short,
        long,
        default_value = "-",
        hide_default_value = true,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub output: PathBuf,
    /// Print a summary as JSON; the rows go to -o FILE
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub input: InputArgs,
}
