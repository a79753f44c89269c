//! Options of `mahala predict`.

use crate::options::input::InputArgs;
use crate::options::parse::at_least;
use clap::{Args, ValueEnum};
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala predict`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala predict wine.safetensors new-wines.csv
  mahala predict wine.safetensors test.csv --label class    counts the errors
  mahala predict wine.safetensors new-wines.csv --probabilities=distance
  mahala predict m.safetensors new.csv --train old.csv --train-label class")]
pub(crate) struct Predict {
    /// The model
    pub model: PathBuf,
    /// Rows with the columns the model was learned on; - for stdin
    pub data: PathBuf,
    /// The true classes, if known: counts the errors
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// A file with the true classes, where no column has them: NPY, or text with one column
    #[arg(long, value_name = "FILE", conflicts_with_all = ["label", "stream"])]
    pub labels: Option<PathBuf>,
    /// Rows that vote [default: those kept in the model]
    #[arg(long, value_name = "FILE")]
    pub train: Option<PathBuf>,
    /// The column with their classes
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, requires = "train")]
    pub train_label: Option<ColumnRef>,
    /// Neighbours that vote [default: as many as `fit` was told, else 5]
    #[arg(short, long, value_parser = at_least(1))]
    pub k: Option<usize>,
    /// Read, predict and write a block at a time [default: above 256 MB of numbers]
    #[arg(long, help_heading = "Input")]
    pub stream: bool,
    /// Name the rows by this column, which is no feature
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub id: Option<ColumnRef>,
    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    /// Where to write: .csv, .tsv (.gz, .zst) or .parquet [default: CSV to stdout]
    #[arg(
        short,
        long,
        default_value = "-",
        hide_default_value = true,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub output: PathBuf,
    /// Also write a column `p_CLASS` for each class: its share of the votes
    ///
    /// With =distance each neighbour counts the inverse of its distance; where rows that vote are at distance 0, they
    /// alone count.
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "votes", help_heading = "Output")]
    pub probabilities: Option<Probabilities>,
    /// Print a summary as JSON; the rows go to -o FILE alone
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub input: InputArgs,
}

/// What neighbours count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Probabilities {
    /// All the same
    Votes,
    /// The inverse of their distance
    Distance,
}
