//! Options of `mahala explore`.

use crate::options::input::InputArgs;
use crate::options::learn::LearnArgs;
use crate::options::parse::at_least;
use crate::options::target::PairsArg;
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala explore`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala explore wine.csv --label class -o wine.html
  mahala explore wines.csv --label class --standardize --t 0.5 -o rows.html
  mahala explore wines.csv --label class --max-rows 100 --seed 3 -o large.html

The page is one file that fetches nothing: open it in a browser.")]
pub(crate) struct Explore {
    /// Rows (CSV, NPY, Parquet ...); - for stdin
    pub data: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub label: Option<ColumnRef>,
    /// The column that names each row's group, which no fold splits
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub groups: Option<ColumnRef>,
    /// Pairs to learn from: all, or the paper's random sample
    #[arg(long, default_value = "all", value_name = "all|sampled", help_heading = "Target")]
    pub pairs: PairsArg,
    #[command(flatten)]
    pub learn: LearnArgs,
    /// Compute the error at t = 0, 1/N, 2/N, …, 1, too
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(help_heading = "Selection")]
    pub steps: u32,
    /// Rows in the page: a random sample of more
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = at_least(2), help_heading = "Output")]
    pub max_rows: usize,
    /// Coordinates in the page: those with the largest share of the distances
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = at_least(1), help_heading = "Output")]
    pub coordinates: usize,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: PathBuf,
}
