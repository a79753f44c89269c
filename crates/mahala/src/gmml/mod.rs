//! Algorithm 1: geometric mean metric learning (GMML), eqs. 15 and 16.
//!
//! # Formula
//! ```text
//! A = (S + λA₀⁻¹)⁻¹ ♯_t (D + λA₀)
//! ```
//!
//! The paper's three forms are points of this one: basic (t = ½, λ = 0), regularised (λ > 0), weighted
//! (any t). One factorisation serves every t, so choosing t by cross-validation costs neighbour searches
//! and no linear algebra.

mod cells;
mod dependent_columns;
mod diagnostics;
pub(crate) mod family;
mod fit;
mod held_out;
pub(crate) mod low_rank;
mod options;
mod parameters;
mod path;
pub(crate) mod pencil;
pub(crate) mod regularize;
pub(crate) mod select_t;
mod select_t_of_pairs;
pub(crate) mod solution;
mod solve;
pub(crate) mod span;
mod summed;
mod votes;
pub(crate) mod weighted;

pub use diagnostics::Diagnostics;
pub use family::{Curve, Order};
pub use held_out::HeldOut;
pub use low_rank::LearnedSpan;
pub use options::FitOptions;
pub use pencil::Components;
pub use regularize::{Prior, Regularization, analytic_shrinkage};
pub use select_t::{Criterion, CrossValidation, Selection, VALUES_OF_T, two_step_search};
pub use solution::Solution;
pub(crate) use solve::on_paper_scale;
pub use votes::Votes;

use crate::data::Labels;
use crate::data::folds::Folds;
use crate::data::random::{Random, Stream};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint;
use crate::metric::Metric;
use crate::scatter::balanced::Balance;

/// The parameters of a fit. [`Gmml::default`] chooses t by cross-validation over all pairs.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// use mahala::gmml::TChoice;
/// // The classes differ in the second column only; the first is noise.
/// let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&data)?;
/// let a = fit.metric.matrix()?;
/// assert!(a[(1, 1)] > 5.0 * a[(0, 0)]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gmml {
    /// The place on the geodesic, between `S⁻¹` (0) and `D` (1).
    pub t: TChoice,
    /// λ, or shrinkage, or neither.
    pub regularization: Regularization,
    /// `A₀`.
    pub prior: Prior,
    /// Which pairs labelled rows stand for.
    pub pairs: PairRule,
    /// Divide each column by its standard deviation first; the metric remembers it.
    pub standardize: bool,
    /// Keep only the coordinates in which dissimilar pairs differ most under the metric: so many, or as many as hold
    /// this share of their squared distances.
    pub rank: Option<Components>,
    /// Learn inside this many leading principal directions of the rows, found by a randomised search: for
    /// tables too large both ways. With more columns than rows all directions are followed without it.
    pub principal: Option<usize>,
    /// Neighbours that vote when t is chosen.
    pub k: usize,
    /// Folds of the cross-validation that chooses t.
    pub folds: usize,
    /// Splits of the rows (or pairs) to choose t on instead of random folds.
    pub splits: Option<Folds>,
    /// Choose t on a random subset of at most this many rows (or pairs).
    pub selection_rows: usize,
    /// The seed of pairs and folds.
    pub seed: u64,
    /// The limit on the estimated peak memory above the input; by default the process's limit,
    /// [`memory_limit_gb`](crate::footprint::memory_limit_gb).
    pub memory_limit_gb: f64,
    /// Whether classes of unequal size have equal weight. For labelled rows; pairs have their own weights.
    pub balance: Balance,
}

/// How t is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TChoice {
    /// By cross-validation, in the paper's two steps.
    CrossValidated,
    /// Given.
    Fixed(f64),
}

/// Which pairs a set of labelled rows stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairRule {
    /// All of them, in `O(nd²)`: what the paper's sample estimates, without its noise.
    All,
    /// The paper's random `40c(c−1)`.
    Sampled,
}

/// A fitted metric with its diagnostics.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The metric.
    pub metric: Metric,
    /// The t it was made with.
    pub t: f64,
    /// The diagnostics of the fit.
    pub diagnostics: Diagnostics,
}

impl Default for Gmml {
    fn default() -> Self {
        Self {
            t: TChoice::CrossValidated,
            regularization: Regularization::None,
            prior: Prior::Identity,
            pairs: PairRule::All,
            standardize: false,
            rank: None,
            principal: None,
            k: 5,
            folds: 5,
            splits: None,
            selection_rows: 20_000,
            seed: 0,
            memory_limit_gb: footprint::memory_limit_gb(),
            balance: Balance::None,
        }
    }
}

impl Gmml {
    /// The paper as written: sampled pairs, λ = 0, t in two steps by five-fold cross-validation.
    pub fn paper() -> Self {
        Self { pairs: PairRule::Sampled, ..Self::default() }
    }

    /// The folds for model selection: the given splits of `n` rows (or pairs), folds that keep groups whole, or
    /// random folds; of the `chosen` rows only, if there are too many. Every selection by held-out rows uses
    /// these folds.
    pub(crate) fn divide(
        &self,
        n: usize,
        chosen: Option<&[usize]>,
        groups: Option<&Labels>,
    ) -> Result<Folds> {
        if self.splits.is_some() && groups.is_some() {
            let value = "given, and splits of the rows, too".to_owned();
            return Err(Error::Parameter {
                name: "groups",
                value,
                allowed: "left out where splits are given",
            });
        }
        match (&self.splits, chosen) {
            (Some(splits), _) if splits.rows() > n => {
                Err(Error::Length { what: "rows that the splits name", seen: splits.rows(), expected: n })
            }
            (Some(splits), None) => Ok(splits.clone()),
            (Some(splits), Some(chosen)) => splits.among(chosen),
            (None, _) => {
                let n = chosen.map_or(n, <[usize]>::len);
                let groups = groups.map(|all| chosen.map_or_else(|| all.clone(), |some| all.subset(some)));
                Folds::choosing(groups.as_ref(), self.folds, || {
                    Folds::new(n, self.folds.min(n), &mut Random::of(self.seed, Stream::Folds))
                })
            }
        }
    }

    /// Checks parameters and memory; `kept` classes have a matrix each.
    pub(crate) fn check(&self, d: usize, kept: usize) -> Result<()> {
        self.check_parameters(d)?;
        self.check_memory("the fit", (kept + 10) as f64 * (d as f64).powi(2), d, MemoryRemedy::Principal)
    }

    /// Checks the parameters for rows of `d` columns.
    pub(crate) fn check_parameters(&self, d: usize) -> Result<()> {
        self.regularization.check()?;
        self.check_balance()?;
        if let TChoice::Fixed(t) = self.t
            && !(0.0..=1.0).contains(&t)
        {
            return Err(Error::Parameter { name: "t", value: t.to_string(), allowed: "between 0 and 1" });
        }
        for (name, value, least, allowed) in [
            ("k", self.k, 1, "at least 1"),
            ("folds", self.folds, 2, "at least 2"),
            ("selection_rows", self.selection_rows, 4, "at least 4"),
        ] {
            if value < least {
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        if let Some(rank) = self.rank {
            rank.check("rank", d)?;
        }
        Ok(())
    }

    /// Refuses `numbers` of 64 bits above the limit.
    pub(crate) fn check_memory(
        &self,
        what: &'static str,
        numbers: f64,
        d: usize,
        remedy: MemoryRemedy,
    ) -> Result<()> {
        footprint::check_against(self.memory_limit_gb, what, numbers, d, remedy)
    }
}
