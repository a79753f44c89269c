//! Options of `mahala transform`.

use crate::options::input::InputArgs;
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala transform`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala transform wine.safetensors wines.csv -o z.csv
  mahala transform emb.safetensors vectors.npy -o adapted.npy
  mahala transform wine.safetensors wines.csv --label class | head
  zcat big.csv.gz | mahala transform m.safetensors - --stream -o z.csv")]
pub(crate) struct Transform {
    /// The model
    pub model: PathBuf,
    /// Rows with the columns the model was learned on; - for stdin
    pub data: PathBuf,
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
    /// Copy this column behind the coordinates
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Name the rows by this column, which is no feature
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub id: Option<ColumnRef>,
    /// Read, transform and write a block at a time [default: above 256 MB of numbers]
    #[arg(long, help_heading = "Input")]
    pub stream: bool,
    /// Print a summary as JSON; the rows go to -o FILE
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    #[command(flatten)]
    pub input: InputArgs,
}
