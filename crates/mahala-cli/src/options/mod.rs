//! What can be typed: subcommands, and the groups of options they share.

pub(crate) mod extensions;
pub(crate) mod kernel;
pub(crate) mod method;

use crate::commands;
pub(crate) use crate::commands::read::InputArgs;
use crate::say;
use crate::terminal::table;
use anyhow::{Context as _, Result, anyhow, bail};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand};
use mahala::{
    Balance, Components, Dataset, Gmml, Labels, Mat, PairRule, Prior, Regularization, Rows, Spd, TChoice,
};
use mahala_io::{ReadOptions, Table, read_table};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Learn a distance under which nearest neighbours are right.
#[derive(Parser, Debug)]
#[command(name = "mahala", version, max_term_width = 100)]
#[command(after_help = "Examples:
  mahala demo                               see it work on a bundled data set
  mahala fit wine.csv --label class -o wine.safetensors
  mahala predict wine.safetensors new-wines.csv
  mahala evaluate wine.csv --label class    is it better? on held-out rows
  mahala COMMAND --help                     more examples")]
pub(crate) struct Cli {
    /// Use this many threads [default: all cores]; results do not depend on it
    #[arg(long, global = true, value_name = "N", display_order = 1000)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub threads: Option<usize>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// See what it does, on a bundled data set: no files needed
    Demo(commands::demo::Demo),
    /// Learn a metric from rows and labels, or from pairs, and write it to a file
    Fit(commands::fit::Fit),
    /// Measure the error of nearest neighbours under each method, on held-out rows
    Evaluate(commands::evaluate::Evaluate),
    /// Show the cross-validated error for every t
    Tune(commands::tune::Tune),
    /// Write rows in the coordinates where the metric is Euclidean
    Transform(commands::transform::Transform),
    /// Predict the class of rows by a vote of their nearest neighbours
    Predict(commands::predict::Predict),
    /// Find the nearest neighbours of rows
    Neighbors(commands::neighbors::Neighbors),
    /// Measure pairs of rows, and decide whether they are the same or different
    Pairs(commands::pairs::PairsCommand),
    /// Sum up rows class by class, for `merge` and `fit --moments`
    Moments(commands::moments::MomentsCommand),
    /// Add the sums of parts together
    Merge(commands::merge::Merge),
    /// Show what a model file holds
    Inspect(commands::inspect::Inspect),
    /// Write a model for other programs: ONNX, NPY, CSV, JSON
    Export(commands::export::Export),
    /// Print a completion script for a shell
    #[command(after_help = commands::completions::EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How a metric is learned.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Learning")]
pub(crate) struct LearnArgs {
    /// Place on the geodesic between the inverse of S (0) and D (1): 'auto' (cross-validated) or a number
    #[arg(long, default_value = "auto", value_name = "auto|NUMBER", value_parser = t_choice)]
    #[arg(allow_negative_numbers = true)]
    pub t: TChoice,
    /// Regularise as in the paper: S + lambda/A0, D + lambda*A0
    #[arg(long, value_name = "NUMBER", conflicts_with = "shrinkage", allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// Shrink S and D, by 0 to 1; 'analytic' finds how far S should be, from the number of rows
    #[arg(long, value_name = "NUMBER|analytic", allow_negative_numbers = true)]
    pub shrinkage: Option<ShrinkageArg>,
    /// What --shrinkage goes towards
    #[arg(long, value_enum, default_value_t, requires = "shrinkage")]
    pub shrink_towards: ShrinkTarget,
    /// The prior A0 of --lambda: identity, diagonal, covariance, or a file with a square matrix
    #[arg(long, default_value = "identity", value_name = "PRIOR|FILE")]
    pub prior: PriorArg,
    /// Divide each column by its standard deviation first (remembered in the model)
    #[arg(long)]
    pub standardize: bool,
    /// Keep only so many coordinates, or as many as hold this share of the distances between classes; 'auto': as
    /// many as cross-validation likes, with all the rest chosen too
    #[arg(long, value_name = "R|SHARE|auto")]
    pub rank: Option<RankArg>,
    /// Learn inside this many leading directions of the rows: for tables too large both ways
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    pub principal: Option<usize>,
    /// Neighbours that vote, here and in `predict` [default: 5]
    #[arg(short, long, value_parser = at_least(1))]
    pub k: Option<usize>,
    /// Folds of the cross-validation that chooses t [default: 5]
    #[arg(long, value_name = "N", value_parser = at_least(2))]
    pub cv_folds: Option<usize>,
    /// Choose on at most this many rows, drawn at random [default: 20000]
    #[arg(long, value_name = "N", value_parser = at_least(4))]
    pub selection_rows: Option<usize>,
    /// Whether classes of unequal size count the same
    #[arg(long, value_enum, default_value_t)]
    pub balance: BalanceArg,
    /// Decides all random draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// How far to shrink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ShrinkageArg {
    By(f64),
    Analytic,
}

impl FromStr for ShrinkageArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("analytic", _) => Ok(Self::Analytic),
            (_, Ok(rho)) => Ok(Self::By(rho)),
            _ => Err("'analytic' or a number between 0 and 1".into()),
        }
    }
}

/// Where shrinkage leads.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ShrinkTarget {
    /// S and D towards their diagonals
    #[default]
    Diagonal,
    /// S alone towards its diagonal
    Similar,
    /// S alone towards the identity
    SimilarIdentity,
    /// S and D towards the identity
    Identity,
}

/// How many coordinates to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RankArg {
    Given(Components),
    Chosen,
}

impl FromStr for RankArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<usize>(), text.parse::<f64>()) {
            ("auto", ..) => Ok(Self::Chosen),
            (_, Ok(count), _) if count > 0 => Ok(Self::Given(Components::Count(count))),
            (_, Err(_), Ok(share)) if share > 0.0 && share <= 1.0 => {
                Ok(Self::Given(Components::Share(share)))
            }
            _ => Err("'auto', a whole number above 0, or a share such as 0.95".into()),
        }
    }
}

impl LearnArgs {
    /// The coordinates to keep, if that is said.
    pub(crate) fn given_rank(&self) -> Option<Components> {
        match self.rank {
            Some(RankArg::Given(components)) => Some(components),
            Some(RankArg::Chosen) | None => None,
        }
    }

    /// Refuses more folds than there are rows to divide.
    pub(crate) fn check_folds(&self, rows: usize) -> Result<()> {
        let rows = self.selection_rows.map_or(rows, |most| rows.min(most));
        match self.cv_folds {
            Some(folds) if folds > rows => bail!(
                "--cv-folds is {folds}, but there are only {} to divide\nhint: --cv-folds {}",
                table::count(rows as u64, "row"),
                rows.clamp(2, 5)
            ),
            _ => Ok(()),
        }
    }

    fn regularization(&self) -> Result<Regularization> {
        use {ShrinkTarget as To, ShrinkageArg as Shrink};
        Ok(match (self.lambda, self.shrinkage, self.shrink_towards) {
            (Some(lambda), ..) => Regularization::Lambda(lambda),
            (None, None, _) => Regularization::None,
            (None, Some(Shrink::By(rho)), To::Diagonal) => Regularization::Shrinkage(rho),
            (None, Some(Shrink::By(rho)), To::Similar) => Regularization::ShrinkSimilar(rho),
            (None, Some(Shrink::By(rho)), To::SimilarIdentity) => {
                Regularization::ShrinkSimilarToIdentity(rho)
            }
            (None, Some(Shrink::By(rho)), To::Identity) => Regularization::ShrinkToIdentity(rho),
            (None, Some(Shrink::Analytic), To::Identity | To::SimilarIdentity) => {
                bail!("--shrinkage analytic is for S and its diagonal\nhint: leave --shrink-towards out")
            }
            (None, Some(Shrink::Analytic), _) => Regularization::Analytic,
        })
    }
}

/// What counts the same when classes differ in size.
#[derive(clap::ValueEnum, Debug, Clone, Copy, Default)]
pub(crate) enum BalanceArg {
    /// Every row: large classes count for more
    #[default]
    None,
    /// Every class
    Classes,
    /// Every class, and in D every pair of classes, near or far
    ClassPairs,
}

impl From<BalanceArg> for Balance {
    fn from(balance: BalanceArg) -> Self {
        match balance {
            BalanceArg::None => Self::None,
            BalanceArg::Classes => Self::Classes,
            BalanceArg::ClassPairs => Self::ClassPairs,
        }
    }
}

/// A prior by name or from a file.
#[derive(Debug, Clone)]
pub(crate) enum PriorArg {
    Identity,
    Diagonal,
    Covariance,
    File(PathBuf),
}

impl FromStr for PriorArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "identity" => Self::Identity,
            "diagonal" => Self::Diagonal,
            "covariance" => Self::Covariance,
            file => Self::File(file.into()),
        })
    }
}

impl LearnArgs {
    /// The library's parameters; `d` is the number of columns, for a prior from a file.
    pub(crate) fn gmml(&self, pairs: PairRule, d: usize) -> Result<Gmml> {
        if !matches!(self.prior, PriorArg::Identity) && self.lambda.is_none() {
            bail!("--prior has no effect without --lambda\nhint: add --lambda NUMBER");
        }
        let regularization = self.regularization()?;
        let prior = match &self.prior {
            PriorArg::Identity => Prior::Identity,
            PriorArg::Diagonal => Prior::Diagonal,
            PriorArg::Covariance => Prior::Covariance,
            PriorArg::File(path) => Prior::Matrix(read_prior(path, d)?),
        };
        let plain = Gmml::default();
        Ok(Gmml {
            t: self.t,
            regularization,
            prior,
            pairs,
            standardize: self.standardize,
            rank: self.given_rank(),
            principal: self.principal,
            k: self.k.unwrap_or(plain.k),
            folds: self.cv_folds.unwrap_or(plain.folds),
            selection_rows: self.selection_rows.unwrap_or(plain.selection_rows),
            seed: self.seed,
            balance: self.balance.into(),
            ..plain
        })
    }
}

/// A table as the library's data set; the cells are taken out of it.
pub(crate) fn dataset(table: &mut Table) -> Result<Dataset> {
    let labels = labels(table)?;
    Ok(Dataset::new(rows(table)?, labels)?)
}

/// A table's labels.
pub(crate) fn labels(table: &Table) -> Result<Labels> {
    let Some(labels) = &table.labels else {
        bail!("{} was read without labels\nhint: name the label column with --label COLUMN", table.source);
    };
    let labels = Labels::new(labels);
    if table.n >= 10 && 2 * labels.class_count() > table.n {
        let classes = labels.class_count();
        say(&format!("note: {} rows have {classes} classes; is the label a measured number?", table.n));
    }
    Ok(labels)
}

/// A table's rows alone; the cells are taken out of it.
pub(crate) fn rows(table: &mut Table) -> Result<Rows> {
    match table.sparse.take() {
        Some(sparse) => Ok(sparse.to_rows()?),
        None => Ok(Rows::new(std::mem::take(&mut table.rows), table.names.len())?),
    }
}

/// A table's rows in the coordinates of a model; the cells are taken out of it.
pub(crate) fn transformed(model: &mahala::Model, table: &mut Table) -> Result<Rows> {
    match table.sparse.take() {
        Some(sparse) => Ok(model.transform_sparse(&sparse)?),
        None => Ok(model.transform(&rows(table)?)?),
    }
}

/// The library's error in the words of the command: column names for numbers, options for parameters.
pub(crate) fn explain(error: mahala::Error, names: &[String]) -> anyhow::Error {
    let name = |j: usize| names.get(j).cloned().unwrap_or_else(|| format!("f{}", j + 1));
    match error {
        mahala::Error::ScaleSpread { wide, narrow, exponent } => anyhow!(
            "columns '{}' and '{}' differ in scale by a factor of 1e{exponent}; at most 1e70 can be represented \
             in one metric\nhint: --standardize, or rescale one of them",
            name(wide),
            name(narrow)
        ),
        mahala::Error::OneClass { class, rows } => anyhow!(
            "all {rows} rows belong to one class ('{class}'); at least two are needed\nhint: is --label the \
             right column? Without classes, mark pairs of rows as similar or not: --pairs FILE"
        ),
        mahala::Error::Parameter { name: "rank", value, allowed } if allowed.starts_with("left out") => {
            anyhow!("--rank is {value}; it must be {allowed}")
        }
        // Every cell was finite when it was read.
        mahala::Error::NotFinite { .. } => anyhow!(
            "a number outside the range of 64-bit numbers came up while learning: cells are very large or very \
             small\nhint: --standardize, or rescale the columns"
        ),
        mahala::Error::Parameter { name: "rank", value, .. } => anyhow!(
            "--rank is {value}; it must be at most the number of columns that vary (there are {})",
            table::count(names.len() as u64, "column")
        ),
        mahala::Error::Parameter { name: "t", value, allowed } => {
            anyhow!("t is {value}; it must be {allowed}\nhint: --t 0.5")
        }
        mahala::Error::Cancelled => anyhow!(
            "the time was up before everything was chosen, and nothing is written\nhint: a longer --time-limit, \
             less to try (--set budget=2), or --method gmml, which chooses t alone"
        ),
        mahala::Error::Memory { remedy, .. } => anyhow!(
            "{error}\nhint: {}",
            match remedy {
                mahala::MemoryRemedy::Principal => "--principal 256",
                mahala::MemoryRemedy::Landmarks => "--landmarks 500",
                _ => "--method gmml --principal 256",
            }
        ),
        mahala::Error::Parameter {
            name:
                parameter @ ("lambda" | "shrinkage" | "gamma" | "degree" | "coef0" | "landmarks" | "principal"),
            value,
            allowed,
        } => {
            anyhow!("--{parameter} is {value}; it must be {allowed}")
        }
        mahala::Error::Parameter { name: "balance", .. } => {
            anyhow!("--balance needs all pairs\nhint: leave --pairs sampled out")
        }
        mahala::Error::Parameter { name: "pairs", value, allowed } => {
            anyhow!("{value}: they must be {allowed}\nhint: leave --standardize and --pairs sampled out")
        }
        mahala::Error::Weight { index, value } => {
            anyhow!("the weight of row {} is {value}; weights must be finite and not negative", index + 1)
        }
        mahala::Error::NoUsableFold { rows } => anyhow!(
            "t cannot be chosen by cross-validation: {} are too few, or too alike, for a fold to learn from\n\
             hint: give t instead: --t 0.5",
            table::count(rows as u64, "row")
        ),
        mahala::Error::NotPositiveDefinite { what, .. } if what.contains("prior") => {
            anyhow!("{error}\nhint: --prior diagonal, or more rows than columns")
        }
        other => other.into(),
    }
}

fn read_prior(path: &Path, d: usize) -> Result<Spd> {
    if !path.exists() {
        bail!(
            "--prior {}: there is no such file\nhint: identity, diagonal, covariance, or a file with a square matrix",
            path.display()
        );
    }
    let table = read_table(path, &ReadOptions::default())?;
    if table.n != d || table.names.len() != d {
        let (rows, columns) = (table.n, table.names.len());
        bail!(
            "{}: the prior is {rows} x {columns}; for {d} feature columns it must be {d} x {d}",
            table.source
        );
    }
    Spd::new(Mat::from_fn(d, d, |i, j| table.rows[i * d + j]))
        .with_context(|| format!("{}: this cannot be a prior", table.source))
}

/// Numbers from `least` on.
pub(crate) fn at_least(
    least: usize,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.trim().parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("it must be a whole number, at least {least}")),
    }
}

fn t_choice(text: &str) -> Result<TChoice, String> {
    if text == "auto" {
        return Ok(TChoice::CrossValidated);
    }
    match text.parse::<f64>() {
        Ok(t) if (0.0..=1.0).contains(&t) => Ok(TChoice::Fixed(t)),
        Ok(_) => Err("t must be between 0 and 1".into()),
        Err(_) => Err("t must be 'auto' or a number between 0 and 1".into()),
    }
}
