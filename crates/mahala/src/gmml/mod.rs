//! Algorithm 1: geometric mean metric learning.
//!
//! # Formula
//! ```text
//! A = (S + λA₀⁻¹)⁻¹ ♯_t (D + λA₀)
//! ```
//!
//! The paper's three forms are points of this one: basic (t = ½, λ = 0), regularised (λ > 0), weighted
//! (any t). One factorisation serves every t, so choosing t by cross-validation costs neighbour searches
//! and no linear algebra.

mod dependent_columns;
mod held_out;
pub(crate) mod low_rank;
mod parameters;
pub(crate) mod pencil;
pub(crate) mod regularize;
pub(crate) mod select_t;
pub(crate) mod solution;
pub(crate) mod span;
mod summed;
pub(crate) mod weighted;

pub use held_out::HeldOut;
pub use low_rank::LearnedSpan;
pub use pencil::{Components, Subspace};
pub use regularize::{Prior, Regularization, analytic_shrinkage};
pub use select_t::{Criterion, CrossValidation, Selection, VALUES_OF_T, Watch, two_step_search};
pub use solution::Solution;

use crate::data::centered::Cells;
use crate::data::folds::Folds;
use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint;
use crate::geometry::geodesic::Geodesic;
use crate::gmml::regularize::prepare;
use crate::metric::Metric;
use crate::pairs::{Pairs, pair_budget};
use crate::scatter::all_pairs::check_labels;
use crate::scatter::moments::{ClassMoments, Moments};
use crate::scatter::{PairCount, Scatter};
use mahala_kernels::workspace::Workspace;

use crate::data::column_stats::{ColumnStatistics, mean_and_scale};

use crate::gmml::low_rank::Reduced;
use crate::scatter::balanced::Balance;
use faer::Mat;

/// The parameters of a fit. [`Gmml::default`] chooses t by cross-validation over all pairs.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows, TChoice};
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
    /// Decides pairs and folds.
    pub seed: u64,
    /// Refuse a fit that is estimated to need more than this above its input; by default the process's limit,
    /// [`memory_limit_gb`](crate::memory_limit_gb).
    pub memory_limit_gb: f64,
    /// Whether classes of unequal size count the same. Of labelled rows; pairs have their own weights.
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

/// A fitted metric, and what there is to know about it.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The metric.
    pub metric: Metric,
    /// The t it was made with.
    pub t: f64,
    /// What was seen on the way.
    pub diagnostics: Diagnostics,
}

/// What a fit saw.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    /// The similar pairs.
    pub similar: PairCount,
    /// The dissimilar pairs.
    pub dissimilar: PairCount,
    /// The condition number of `S` as factorised (1-norm, estimated).
    pub condition_s: f64,
    /// The condition number of `D` (1-norm, estimated).
    pub condition_d: f64,
    /// The ridge added to `S`, as a share of each column's variance; 0 if none was needed.
    pub ridge: f64,
    /// Columns that never vary; they have weight 0.
    pub constant_columns: Vec<usize>,
    /// Eigenvalues at or below rounding.
    pub clamped: usize,
    /// `log Λ`, descending: the eigenvalues of `SD`.
    pub log_eigenvalues: Vec<f64>,
    /// The span the metric was learned in, unless that was all of the space.
    pub span: Option<LearnedSpan>,
    /// How t was chosen, unless it was given.
    pub selection: Option<Selection>,
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

    /// Learns from rows and labels. With more columns than rows, inside the span of the rows, where the
    /// formula is the same and nothing is as large as columns × columns.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns
    /// too far apart in scale, or too much memory needed.
    pub fn fit(&self, data: &Dataset) -> Result<Fit> {
        self.fit_watched(data, &mut |_, _| true)
    }

    /// As [`Gmml::fit`]; `watch(done, total)` is called as the choice of t goes on, and ends it with
    /// [`Error::Cancelled`] by returning false.
    ///
    /// # Errors
    /// As [`Gmml::fit`].
    pub fn fit_watched(&self, data: &Dataset, watch: &mut select_t::Watch<'_>) -> Result<Fit> {
        self.fit_choosing(data, None, watch)
    }

    /// As [`Gmml::fit_watched`], with the group of each row: t is chosen on folds that keep groups whole. `S` and `D` are
    /// over all pairs still.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; another number of groups than of rows, or fewer than two groups to choose t on.
    pub fn fit_grouped(
        &self,
        data: &Dataset,
        groups: &Labels,
        watch: &mut select_t::Watch<'_>,
    ) -> Result<Fit> {
        groups.check_length("groups", data.len())?;
        self.fit_choosing(data, Some(groups), watch)
    }

    pub(crate) fn fit_choosing(
        &self,
        data: &Dataset,
        groups: Option<&Labels>,
        watch: &mut select_t::Watch<'_>,
    ) -> Result<Fit> {
        if let Some(reduced) = Reduced::of(self, Cells::Dense(data.rows()), data.labels())? {
            return reduced.fit(self, None, groups, watch);
        }
        let balanced = self.balance != Balance::None && self.pairs == PairRule::All;
        self.check(data.columns(), if balanced { data.labels().class_count() } else { 0 })?;
        let (solution, mean) = self.solve_labelled(data, Stream::Pairs)?;
        let selection = match self.t {
            TChoice::Fixed(_) => None,
            TChoice::CrossValidated => Some(CrossValidation::with(self, data, None, groups)?.select(watch)?),
        };
        self.finish(solution, selection, mean)
    }

    /// Learns from pairs of rows of one table, with no labels at all.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; also no similar pair, or no dissimilar pair.
    pub fn fit_pairs(&self, rows: &Rows, pairs: &Pairs) -> Result<Fit> {
        self.fit_two_tables(rows, rows, pairs)
    }

    /// Learns from pairs whose first ends are rows of one table and second ends rows of another.
    ///
    /// # Errors
    /// As [`Gmml::fit_pairs`].
    pub fn fit_two_tables(&self, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Fit> {
        self.check(first.columns(), 0)?;
        if first.is_empty() || second.is_empty() {
            return Err(Error::Empty { what: "the table of rows" });
        }
        let (mean, scale) = mean_and_scale(first, second, self.standardize);
        let solve = |pairs: &Pairs| self.solve_scaled(Scatter::between(first, second, pairs)?, scale.clone());
        let solution = solve(pairs)?;
        let selection = match self.t {
            TChoice::Fixed(_) => None,
            TChoice::CrossValidated => Some(select_t::t_for_pairs(self, first, second, pairs, solve)?),
        };
        self.finish(solution, selection, mean)
    }

    /// Learns from differences `x_i − x_j`, each marked similar or not, and weighted if weights are given.
    ///
    /// # Errors
    /// As [`Gmml::fit_pairs`].
    pub fn fit_differences(
        &self,
        differences: &Rows,
        similar: &[bool],
        weights: Option<&[f64]>,
    ) -> Result<Fit> {
        let pairs = Pairs::of_differences(differences.len(), similar, weights)?;
        let origin = Rows::new(vec![0.0; differences.columns()], differences.columns())?;
        let fit = self.fit_two_tables(differences, &origin, &pairs)?;
        let metric = fit.metric.centred_at(vec![0.0; differences.columns()])?;
        Ok(Fit { metric, ..fit })
    }

    /// Solves for every t at once.
    ///
    /// # Errors
    /// No column that varies, columns too far apart in scale, or a prior that does not fit.
    pub fn solve(&self, scatter: &Scatter) -> Result<Solution> {
        self.solve_owned(scatter.clone(), Workspace::default())
    }

    fn solve_owned(&self, scatter: Scatter, mut workspace: Workspace) -> Result<Solution> {
        let (columns, counts) = (scatter.columns(), [scatter.similar(), scatter.dissimilar()]);
        let mut prepared = prepare(scatter, self.regularization, &self.prior, &mut workspace)?;
        // D makes room for what follows, unless the metric is to be reduced.
        let d = if self.rank.is_some() {
            prepared.d.clone()
        } else {
            std::mem::replace(&mut prepared.d, Mat::new())
        };
        let geodesic = Geodesic::from_factor(prepared.l.as_ref(), d, prepared.ridge > 0.0, &mut workspace)?;
        Ok(Solution::new(columns, counts, prepared, geodesic, self.rank.is_some(), &mut workspace))
    }

    /// The solution for labelled rows and their mean; `stream` is for a draw of pairs.
    pub(crate) fn solve_labelled(&self, data: &Dataset, stream: Stream) -> Result<(Solution, Vec<f64>)> {
        let mean_and_scale = || mean_and_scale(data.rows(), data.rows(), self.standardize);
        match self.pairs {
            PairRule::All if self.balance != Balance::None => {
                let (mean, scale) = mean_and_scale();
                Ok((self.solve_moments(&Moments::of(data)?, scale)?, mean))
            }
            PairRule::All => {
                let (scatter, mean) = Scatter::all_pairs_of(data)?;
                let classes = data.labels().class_sizes().iter().filter(|&&size| size > 0).count();
                let scatter = on_paper_scale(scatter, classes, data.len() as f64);
                let scale = self.standardize.then(|| ColumnStatistics::of(data.rows()).scale);
                Ok((self.solve_scaled(scatter, scale)?, mean))
            }
            PairRule::Sampled => {
                check_labels(data.labels())?;
                let pairs = Pairs::sampled(data.labels(), &mut Random::of(self.seed, stream));
                let (mean, scale) = mean_and_scale();
                let scatter = Scatter::from_pairs(data.rows(), &pairs)?;
                Ok((self.solve_scaled(scatter, scale)?, mean))
            }
        }
    }

    /// The solution for moments of labelled rows, and the scale to divide their columns by.
    pub(crate) fn solve_moments(&self, moments: &Moments, scale: Option<Vec<f64>>) -> Result<Solution> {
        self.solve_scaled(self.scatter_of(moments)?, scale)
    }

    /// The scatter of all pairs from moments, balanced, on the paper's scale.
    pub(crate) fn scatter_of(&self, moments: &Moments) -> Result<Scatter> {
        let classes = moments.classes().iter().filter(|class| class.rows() > 0).count();
        let weight = moments.classes().iter().map(ClassMoments::weight).sum();
        Ok(on_paper_scale(Scatter::balanced(moments, self.balance)?, classes, weight))
    }

    /// As [`Gmml::solve_owned`], after dividing the columns by a scale.
    pub(crate) fn solve_scaled(&self, scatter: Scatter, scale: Option<Vec<f64>>) -> Result<Solution> {
        let Some(scale) = scale else { return self.solve_owned(scatter, Workspace::default()) };
        let solution = self.solve_owned(scatter.standardized(&scale), Workspace::default())?;
        Ok(solution.with_scale(scale))
    }

    pub(crate) fn finish(
        &self,
        solution: Solution,
        selection: Option<Selection>,
        mean: Vec<f64>,
    ) -> Result<Fit> {
        let t = match (self.t, &selection) {
            (TChoice::Fixed(t), _) => t,
            (TChoice::CrossValidated, Some(selection)) => selection.t,
            (TChoice::CrossValidated, None) => 0.5,
        };
        let (metric, diagnostics) = match self.rank {
            Some(rank) => (solution.leading(t, rank)?, solution.into_diagnostics()),
            None => solution.into_metric(t)?,
        };
        let metric = metric.centred_at(mean)?;
        Ok(Fit { metric, t, diagnostics: Diagnostics { selection, ..diagnostics } })
    }

    /// What something is chosen on: the given splits of `n` rows (or pairs), folds that keep groups whole, or random folds; of
    /// the `chosen` rows only, if there are too many. Every choice by held-out rows goes this way.
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

    /// Parameters and memory; `kept` classes have a matrix each.
    pub(crate) fn check(&self, d: usize, kept: usize) -> Result<()> {
        self.check_parameters(d)?;
        self.check_memory("the fit", (kept + 10) as f64 * (d as f64).powi(2), d, MemoryRemedy::Principal)
    }

    /// To be called before any work on rows of `d` columns.
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

/// All pairs, scaled to what the paper's draw of `40c(c−1)` would sum to on average, so that λ
/// means the same for both. Without λ the factor changes no neighbour.
pub(crate) fn on_paper_scale(scatter: Scatter, classes: usize, weight: f64) -> Scatter {
    scatter.scaled(2.0 * pair_budget(classes) as f64 / (weight * weight))
}
