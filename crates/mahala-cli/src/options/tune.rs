//! Options of `mahala tune`.

use crate::options::input::InputArgs;
use crate::options::learn::LearnArgs;
use crate::options::target::PairsArg;
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala tune`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala tune wine.csv --label class
  mahala tune wine.csv --label class --svg curve.svg --standardize
  mahala tune wine.csv --label class --steps 20 --json")]
pub(crate) struct Tune {
    /// Rows: CSV, TSV, JSON Lines, NPY, NPZ, LIBSVM, Parquet or Arrow, .gz and .zst too; - for stdin
    pub data: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub label: Option<ColumnRef>,
    /// A file with the class of each row, where no column has it: NPY, or text with one column
    #[arg(long, value_name = "FILE", conflicts_with = "label", help_heading = "Target")]
    pub labels: Option<PathBuf>,
    /// Pairs to learn from: all, or the paper's random sample
    #[arg(long, default_value = "all", value_name = "all|sampled", help_heading = "Target")]
    pub pairs: PairsArg,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Try t = 0, 1/N, 2/N, …, 1
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(help_heading = "Selection")]
    pub steps: u32,
    /// Draw the curve into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Print the curve as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
