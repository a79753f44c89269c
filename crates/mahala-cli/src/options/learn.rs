//! How a metric is learned, as it is typed.

use crate::options::parse::at_least;
use crate::terminal::format;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use mahala::geometry::Spd;
use mahala::gmml::{Components, PairRule, Prior, Regularization, TChoice};
use mahala::scatter::Balance;
use mahala::{Gmml, Mat};
use mahala_io::{ReadOptions, read_table};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How a metric is learned.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Method")]
pub(crate) struct LearnArgs {
    /// Place on the geodesic, from the inverse of S (0) to D (1)
    ///
    /// A number, or 'auto': chosen by cross-validation.
    #[arg(long, default_value = "auto", value_name = "auto|NUMBER", value_parser = t_choice)]
    #[arg(allow_negative_numbers = true)]
    pub t: TChoice,
    /// Divide each column by its standard deviation first (remembered in the model)
    #[arg(long, hide_short_help = true)]
    pub standardize: bool,
    /// Keep so many coordinates, a share, or 'auto'
    ///
    /// A share keeps as many coordinates as hold it of the distances between classes; 'auto' as many as
    /// cross-validation likes, with all the rest chosen too.
    #[arg(long, value_name = "R|SHARE|auto")]
    pub rank: Option<RankArg>,
    /// Learn inside this many leading directions of the rows: for tables too large both ways
    #[arg(long, value_name = "N", value_parser = at_least(1), hide_short_help = true)]
    pub principal: Option<usize>,
    /// Neighbours that vote, here and in `predict` [default: 5]
    #[arg(short, long, value_parser = at_least(1))]
    pub k: Option<usize>,
    /// Whether classes of unequal size count the same
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub balance: BalanceArg,
    /// Regularise as in the paper: S + lambda/A0, D + lambda*A0
    #[arg(long, value_name = "NUMBER", conflicts_with = "shrinkage", allow_negative_numbers = true)]
    #[arg(help_heading = "Regularisation", hide_short_help = true)]
    pub lambda: Option<f64>,
    /// The prior A0 of --lambda: identity, diagonal, covariance, or a file with a square matrix
    #[arg(long, default_value = "identity", value_name = "PRIOR|FILE")]
    #[arg(help_heading = "Regularisation", hide_short_help = true)]
    pub prior: PriorArg,
    /// Shrink S and D, by 0 to 1; 'analytic' finds how far
    ///
    /// 'analytic' finds how far S should be shrunk from the number of rows.
    #[arg(long, value_name = "NUMBER|analytic", allow_negative_numbers = true)]
    #[arg(help_heading = "Regularisation", hide_short_help = true)]
    pub shrinkage: Option<ShrinkageArg>,
    /// What --shrinkage goes towards
    #[arg(long, value_enum, default_value_t, requires = "shrinkage")]
    #[arg(help_heading = "Regularisation", hide_short_help = true)]
    pub shrink_towards: ShrinkTarget,
    /// Folds of the cross-validation that chooses t [default: 5]
    #[arg(long, value_name = "N", value_parser = at_least(2), help_heading = "Selection", hide_short_help = true)]
    pub folds: Option<usize>,
    /// Choose on at most this many rows, drawn at random [default: 2000; 20000 for the choice of t alone]
    #[arg(long, value_name = "N", value_parser = at_least(4), help_heading = "Selection", hide_short_help = true)]
    pub selection_rows: Option<usize>,
    /// Decides all random draws
    #[arg(long, default_value_t = 0, help_heading = "Selection", hide_short_help = true)]
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
        match self.folds {
            Some(folds) if folds > rows => bail!(
                "--folds is {folds}, but there are only {} to divide\nhint: --folds {}",
                format::count(rows as u64, "row"),
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
            folds: self.folds.unwrap_or(plain.folds),
            selection_rows: self.selection_rows.unwrap_or(plain.selection_rows),
            seed: self.seed,
            balance: self.balance.into(),
            ..plain
        })
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
