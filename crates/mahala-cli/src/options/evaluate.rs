//! Options of `mahala evaluate`.

use crate::options::extensions::ExtensionArgs;
use crate::options::input::InputArgs;
use crate::options::kernel::KernelArgs;
use crate::options::learn::LearnArgs;
use crate::options::method::{Method, MethodArgs};
use crate::options::parse::at_least;
use crate::options::target::TargetArgs;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of `mahala evaluate`.
#[derive(Args, Debug)]
#[command(override_usage = "mahala evaluate [OPTIONS] DATA\n       mahala evaluate [OPTIONS] MODEL DATA")]
#[command(after_help = "Examples:
  mahala evaluate wine.csv --label class         is learning worth it?
  mahala evaluate wine.safetensors new.csv --label class
  mahala evaluate wine.csv --label class --method gmml,itml,lmnn")]
#[command(after_long_help = "Examples:
  mahala evaluate wine.csv --label class                    40 runs of halves
  mahala evaluate wine.safetensors new.csv --label class    judges a model
  mahala evaluate wine.csv --label class --method gmml --pairs sampled
      as in the paper
  mahala evaluate wine.csv --label class --method gmml,itml --set gamma=0.1
  mahala evaluate wine.csv --label class --test-folds 10 --json
  mahala evaluate wine.csv --label class --method euclidean,gmml --kernel rbf
  mahala evaluate vowel.csv --label y --train-rows 1-528 --test-rows 529-990
  mahala evaluate rows.csv --pairs pairs.csv                held-out pairs
  mahala evaluate m.safetensors rows.csv --pairs marked.csv")]
pub(crate) struct Evaluate {
    /// Rows (CSV, NPY, Parquet ...), - for stdin; after a model file, rows to judge it on
    #[arg(required = true, num_args = 1..=2, value_name = "DATA")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    /// The methods to compare; `mahala methods` lists all
    ///
    /// Separated by commas. An option goes to those methods that have it, and is refused if none has. Default:
    /// euclidean,lda,auto from labels; euclidean,gmml from pairs and tuples, or with --kernel, --local, --weights or
    /// --multilabel; euclidean,rca from --chunks;
    /// euclidean,gmml-regression,mlkr with --regression.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    #[arg(help_heading = "Method", hide_possible_values = true)]
    pub method: Vec<Method>,
    /// Parameters as a model records them: a model file, or JSON of `inspect`; what is typed beside it stands
    #[arg(long, value_name = "FILE", help_heading = "Method", hide_short_help = true)]
    pub params: Option<PathBuf>,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub steering: MethodArgs,
    #[command(flatten)]
    pub extensions: ExtensionArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// How often to draw halves, each tested against the other
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = at_least(1), help_heading = "Protocol")]
    #[arg(conflicts_with_all = ["test_folds", "train_rows", "test_rows"])]
    pub runs: usize,
    /// Test by cross-validation over this many folds instead of halves
    #[arg(long, value_name = "N", conflicts_with_all = ["train_rows", "test_rows"], value_parser = at_least(2))]
    #[arg(help_heading = "Protocol", hide_short_help = true)]
    pub test_folds: Option<usize>,
    /// Learn on these rows only, such as 1-528,600
    #[arg(
        long,
        value_name = "ROWS",
        requires = "test_rows",
        help_heading = "Protocol",
        hide_short_help = true
    )]
    pub train_rows: Option<RowRanges>,
    /// Test on these rows
    #[arg(
        long,
        value_name = "ROWS",
        requires = "train_rows",
        help_heading = "Protocol",
        hide_short_help = true
    )]
    pub test_rows: Option<RowRanges>,
    /// Draw the errors into this file
    #[arg(long, value_name = "FILE", help_heading = "Output", hide_short_help = true)]
    pub svg: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl Evaluate {
    /// The model to judge, if one is named.
    pub(crate) fn model(&self) -> Option<&Path> {
        match &self.files[..] {
            [model, _] => Some(model),
            _ => None,
        }
    }

    /// The rows.
    pub(crate) fn data(&self) -> &Path {
        &self.files[self.files.len() - 1]
    }

    /// The methods asked for. Unless some are named: the plain distance, and what `fit` would do, or the one method that has
    /// what else was asked for.
    pub(crate) fn methods(&self) -> Vec<Method> {
        let Self { target, extensions, kernel, .. } = self;
        let of_gmml = target.weights.is_some()
            || target.multilabel.is_some()
            || extensions.local.is_some()
            || kernel.kernel.is_some();
        match (&self.method[..], target.constraint()) {
            ([], None) if target.regression => {
                vec![Method::Euclidean, Method::GmmlRegression, Method::Mlkr]
            }
            ([], None) if of_gmml => vec![Method::Euclidean, Method::Gmml],
            ([], None) => vec![Method::Euclidean, Method::Lda, Method::Auto],
            ([], Some("--chunks")) => vec![Method::Euclidean, Method::Rca],
            ([], Some(_)) => vec![Method::Euclidean, Method::Gmml],
            (named, _) => named.to_vec(),
        }
    }
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
