//! Options of `mahala tune`.

use crate::options::fit::PairsArg;
use crate::options::input::InputArgs;
use crate::options::learn::LearnArgs;
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
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Try t = 0, 1/N, 2/N, …, 1
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub steps: u32,
    /// Draw the curve into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Pairs to learn from: all, or the paper's random sample
    #[arg(long, default_value = "all", value_name = "all|sampled")]
    pub pairs: PairsArg,
    /// Print the curve as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub input: InputArgs,
}
