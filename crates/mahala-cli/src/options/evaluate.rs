//! Options of `mahala evaluate`.

use crate::options::input::InputArgs;
use crate::options::learn::LearnArgs;
use crate::options::method::{Method, MethodArgs};
use crate::options::parse::at_least;
use crate::options::target::PairsArg;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use mahala_io::ColumnRef;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `mahala evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala evaluate wine.csv --label class         40 runs of halves
  mahala evaluate wine.csv --label class --method gmml,itml,lmnn
  mahala evaluate --help                         every option, more examples")]
#[command(after_long_help = "Examples:
  mahala evaluate wine.csv --label class                    40 runs of halves
  mahala evaluate wine.csv --label class --method gmml --pairs sampled
      as in the paper
  mahala evaluate wine.csv --label class --method gmml,itml --set gamma=0.1
  mahala evaluate wine.csv --label class --test-folds 10 --json
  mahala evaluate vowel.csv --label y --train-rows 1-528 --test-rows 529-990")]
pub(crate) struct Evaluate {
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; - for stdin
    pub data: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub label: Option<ColumnRef>,
    /// The column that names each row's group
    ///
    /// No group is both learned on and tested, nor divided where something is chosen.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub groups: Option<ColumnRef>,
    /// Pairs to learn from: all, or the paper's random sample
    #[arg(long, default_value = "all", value_name = "all|sampled", help_heading = "Target")]
    pub pairs: PairsArg,
    /// The methods to compare, separated by commas
    ///
    /// An option goes to those methods that have it, and is refused if none has.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Method::Euclidean, Method::Lda, Method::Auto])]
    #[arg(value_name = "NAMES", help_heading = "Method")]
    pub method: Vec<Method>,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub steering: MethodArgs,
    /// How often to draw halves, each tested against the other
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = at_least(1), help_heading = "Protocol")]
    #[arg(conflicts_with_all = ["test_folds", "train_rows", "test_rows"])]
    pub runs: usize,
    /// Test by cross-validation over this many folds instead of halves
    #[arg(long, value_name = "N", conflicts_with_all = ["train_rows", "test_rows"], value_parser = at_least(2))]
    #[arg(help_heading = "Protocol")]
    pub test_folds: Option<usize>,
    /// Learn on these rows only, such as 1-528,600
    #[arg(long, value_name = "ROWS", requires = "test_rows", help_heading = "Protocol")]
    pub train_rows: Option<RowRanges>,
    /// Test on these rows
    #[arg(long, value_name = "ROWS", requires = "train_rows", help_heading = "Protocol")]
    pub test_rows: Option<RowRanges>,
    /// Draw the errors into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Rows by number, from 1: `1-528,600`.
#[derive(Debug, Clone)]
pub(crate) struct RowRanges(Vec<(u64, u64)>);

impl FromStr for RowRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim().parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("'{text}' is not a row number (rows count from 1)")),
        };
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            match (number(from)?, number(to)?) {
                (from, to) if from <= to => Ok((from, to)),
                (from, to) => Err(format!("{from}-{to} runs backwards")),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

impl std::fmt::Display for RowRanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self
            .0
            .iter()
            .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
        write!(f, "{}", parts.collect::<Vec<_>>().join(","))
    }
}

impl RowRanges {
    /// The positions of these rows among those that were read.
    pub(crate) fn positions(&self, row_numbers: &[u64]) -> Result<Vec<usize>> {
        let last = row_numbers.last().copied().unwrap_or(0);
        if let Some((_, to)) = self.0.iter().find(|(_, to)| *to > last) {
            bail!("row {to} does not exist; the file has rows 1 to {last} (the header does not count)");
        }
        let inside = |number: u64| self.0.iter().any(|&(from, to)| (from..=to).contains(&number));
        let rows: Vec<usize> = (0..row_numbers.len()).filter(|&i| inside(row_numbers[i])).collect();
        (!rows.is_empty()).then_some(rows).context("all of these rows were dropped for missing cells")
    }
}
