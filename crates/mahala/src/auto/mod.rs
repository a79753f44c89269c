//! The automatic mode: recipes tried on the training rows by cross-validation, cheap ones first.
//!
//! All recipes see the same folds. A path over t costs one factorisation, and inside the directions of a pencil
//! the number of directions costs none, so a few dozen factorisations try some two hundred recipes. The best few are
//! looked at more closely, and neighbourhood rounds are tried from the best of those. No single recipe wins for sure, so
//! the best few of each kind are blended.

mod budget;
mod ensemble;
mod evaluator;
mod folds;
mod kernels;
mod learner;
mod names;
mod null_directions;
mod race;
mod recipe;
mod report;
mod search;

pub use kernels::KernelChoice;
pub use recipe::{Recipe, Round};

use crate::auto::budget::Budget;
use crate::auto::ensemble::{Blended, blend};
use crate::auto::evaluator::Ground;
use crate::auto::folds::{divide, most_folds};
use crate::auto::kernels::{InFeatures, Kernels, landmarks_for};
use crate::auto::search::{Search, in_pool};
use crate::data::{Dataset, Labels};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::{self, Shape};
use crate::gmml::{FitOptions, Gmml};
use crate::kernel::KernelMap;
use crate::learner::Learner as _;
use crate::metric::Metric;
use crate::scatter::all_pairs::check_labels;

use crate::gmml::select_t::choose_rows;
use crate::gmml::span::InSpan;
use crate::progress::{Progress, silent};
use serde::{Deserialize, Serialize};

/// With a kernel, rows to learn on.
const KERNEL_ROWS: usize = 20_000;
/// Columns from which a table with fewer rows is called wide.
const WIDE: usize = 100;

/// Chooses recipes and follows them. With more columns than rows (and more than 100) recipes are tried in the principal
/// coordinates of the span of the rows, and nothing is as large as columns × columns; "standardised" then means those
/// coordinates.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// let rows = Rows::new((0..80).map(|i| f64::from((37 * i) % 41)).collect(), 2)?;
/// let data = Dataset::new(rows, Labels::new((0..40).map(|i| ["a", "b"][i % 2])))?;
/// let chosen = Gmml::auto().fit(&data)?;
/// assert!(chosen.trials.iter().any(|trial| trial.recipe == chosen.recipes[0]));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auto {
    /// Neighbours that vote.
    pub k: usize,
    /// Decides the folds.
    pub seed: u64,
    /// Trials and blends take at most this many times the multiplications of a plain fit that chooses t, its neighbour
    /// searches included, or of 2·10⁸ (a fraction of a second) where a plain fit needs fewer; with kernels, and as many
    /// kernel fits. Counted beforehand, from the numbers of rows, columns and directions, so that the same is tried on every
    /// machine; the last fit, of the recipes chosen, to all rows comes on top. [`AutoFit::cost`] tells what was spent.
    pub budget: f64,
    /// Choose on a random subset of at most this many rows. What was chosen is learned on all rows; with a kernel, on
    /// at most 20,000.
    pub selection_rows: usize,
    /// Learn inside leading directions of the pencil, whatever else might do better.
    pub reduce: bool,
    /// Try kernels, too, and take one if it does clearly better: the metric is then one on kernel values.
    pub kernels: bool,
}

/// A metric, the recipes it was made by, and what else was tried.
#[derive(Debug, Clone)]
pub struct AutoFit {
    /// The metric, from all rows; on kernel values, if there is a kernel.
    pub metric: Metric,
    /// The kernel, if one was chosen.
    pub kernel: Option<(KernelChoice, KernelMap)>,
    /// How it was made: the sum of what these recipes give, each in the size of its neighbourhoods; the best first.
    pub recipes: Vec<Recipe>,
    /// The cross-validated error.
    pub error: f64,
    /// Everything tried, in order.
    pub trials: Vec<Trial>,
    /// Why this recipe was chosen, in a sentence.
    pub reason: String,
    /// What was spent of [`Auto::budget`], in the same unit, and never more.
    pub cost: f64,
    /// How many rows the choice was made on.
    pub rows: usize,
    /// How many folds took part, repetitions included.
    pub folds: usize,
}

/// A recipe and how it did.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The recipe.
    pub recipe: Recipe,
    /// The kernel in whose features it was followed, if not in the columns.
    pub kernel: Option<KernelChoice>,
    /// The share of held-out rows that `k` neighbours put into a wrong class.
    pub error: f64,
    /// The same, averaged over k − 2, k (twice) and k + 2 neighbours: what recipes are compared by, for it is
    /// less noisy.
    pub smoothed: f64,
}

impl Gmml {
    /// The automatic mode.
    pub fn auto() -> Auto {
        Auto::default()
    }
}

impl Default for Auto {
    fn default() -> Self {
        Self { k: 5, seed: 0, budget: 20.0, selection_rows: 2_000, reduce: false, kernels: false }
    }
}

impl Auto {
    /// Chooses and fits.
    ///
    /// # Errors
    /// As [`Gmml::fit`].
    pub fn fit(&self, data: &Dataset) -> Result<AutoFit> {
        self.fit_with(data, &FitOptions::default(), &mut silent)
    }

    /// Chooses and fits. With groups, folds keep them whole, and no pair within a group is learned from.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; fewer than two groups; weights, which this mode does not have; [`Error::Cancelled`] if
    /// `progress` stops it.
    pub fn fit_with(
        &self,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<AutoFit> {
        let groups = options.groups;
        if options.weights.is_some() {
            let value = "given, with the automatic mode".to_owned();
            let allowed = "left out, or given to a fit of the closed form";
            return Err(Error::Parameter { name: "weights", value, allowed });
        }
        self.check(data, groups)?;
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        footprint::check(self.name(), self.peak(&shape), shape.columns, MemoryRemedy::Columns)?;
        if !self.is_in_span(&shape) {
            return self.fit_columns(data, groups, progress);
        }
        let span = InSpan::of(data.rows(), false)?;
        let within = Dataset::new(span.rows.clone(), data.labels().clone())?;
        let fit = self.fit_columns(&within, groups, progress)?;
        Ok(AutoFit { metric: span.composed(&fit.metric)?, ..fit })
    }

    /// Whether recipes are tried in the coordinates of the rows' span. A kernel needs the columns.
    fn is_in_span(&self, shape: &Shape) -> bool {
        shape.columns > shape.rows.max(WIDE) && !self.kernels
    }

    /// Numbers held at the peak: in each fold the rows, its voters, S, D and the directions of some pencils; and a
    /// recipe followed on all rows. With kernels, the features of all rows a few times.
    pub(crate) fn peak(&self, shape: &Shape) -> f64 {
        if self.is_in_span(shape) {
            return shape.span() + self.peak(&shape.in_span());
        }
        let chosen = Shape { rows: shape.rows.min(self.selection_rows), ..*shape };
        let folds = most_folds(chosen.rows, chosen.columns) as f64;
        let recipe = shape.matrices(20.0, 8.0);
        let kernel = if self.kernels {
            let m = landmarks_for(chosen.rows) as f64;
            let learned = shape.rows.min(KERNEL_ROWS.max(chosen.rows));
            let last = landmarks_for(learned) as f64;
            let search = m * (20.0 * m + (8.0 + folds) * chosen.rows as f64 + chosen.columns as f64);
            search.max(last * (20.0 * last + 8.0 * learned as f64 + chosen.columns as f64))
        } else {
            0.0
        };
        folds * chosen.matrices(6.0, 2.5) + recipe + kernel
    }

    fn fit_columns(
        &self,
        data: &Dataset,
        groups: Option<&Labels>,
        progress: &mut Progress<'_>,
    ) -> Result<AutoFit> {
        let chosen = choose_rows(data.len(), self.selection_rows, self.seed);
        let part = chosen.as_ref().map_or_else(|| data.clone(), |rows| data.subset(rows));
        let all_groups = groups;
        let groups =
            groups.map(|groups| chosen.as_ref().map_or_else(|| groups.clone(), |rows| groups.subset(rows)));
        // What no fold could learn from is told of all rows.
        let ground = Ground::of(data, all_groups)?;
        let folds = divide(&part, groups.as_ref(), self.seed)?;
        let mut budget = Budget::of(self, &part);
        if self.kernels {
            budget = budget.with_kernels(self, &part, landmarks_for(part.len()));
        }
        let mut search = Search::new(self, &folds, &part, budget, progress)?;
        search.run()?;
        let columns = search.choose()?.ok_or(Error::NoUsableFold { rows: part.len() })?;
        let count = search.folds.len();
        let (mut trials, mut budget) = (search.trials, search.budget.whole());
        let kernels = Kernels { auto: self, folds: &folds, part: &part };
        let found = if self.kernels { kernels.search(&mut budget, &mut trials, progress)? } else { None };
        let percent = |blended: &Blended| format!("{:.2} %", 100.0 * blended.error);
        let (metric, kernel, blended, other) = match found {
            Some(InFeatures { choice, blended }) if blended.beats(&columns, part.len()) => {
                // What was chosen on some rows is learned on as many as the features leave memory for.
                let rows = choose_rows(data.len(), KERNEL_ROWS.max(part.len()), self.seed);
                let learned = rows.as_ref().map_or_else(|| data.clone(), |rows| data.subset(rows));
                let groups = all_groups
                    .map(|groups| rows.as_ref().map_or_else(|| groups.clone(), |rows| groups.subset(rows)));
                let choice = KernelChoice { landmarks: landmarks_for(learned.len()), ..choice };
                let (map, metric) =
                    in_pool(|| choice.blend(&blended.members, &learned, groups.as_ref(), self))?;
                let other = format!("; without a kernel {}", percent(&columns));
                (metric, Some((choice, map)), blended, other)
            }
            found => {
                let metric = in_pool(|| blend(&columns.members, &ground, self.k))?;
                let other = found.map(|found| format!("; with the best kernel {}", percent(&found.blended)));
                (metric, None, columns, other.unwrap_or_default())
            }
        };
        let error = blended.error;
        let recipes: Vec<Recipe> = blended.members.into_iter().map(|member| member.0).collect();
        let chosen =
            kernel.as_ref().map(|kernel| KernelChoice { landmarks: landmarks_for(part.len()), ..kernel.0 });
        let reason = reason(&recipes, chosen, &trials, error) + &other;
        let cost = budget.spent / budget.plain;
        Ok(AutoFit { metric, kernel, recipes, error, trials, reason, cost, rows: part.len(), folds: count })
    }

    fn check(&self, data: &Dataset, groups: Option<&Labels>) -> Result<()> {
        check_labels(data.labels())?;
        if let Some(groups) = groups {
            groups.check_length("groups", data.len())?;
        }
        for (name, value, least, allowed) in
            [("k", self.k, 1, "at least 1"), ("selection_rows", self.selection_rows, 4, "at least 4")]
        {
            if value < least {
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        if self.budget.is_nan() || self.budget < 1.0 {
            let value = self.budget.to_string();
            return Err(Error::Parameter { name: "budget", value, allowed: "at least 1" });
        }
        Ok(())
    }
}

/// What speaks for these recipes.
fn reason(recipes: &[Recipe], kernel: Option<KernelChoice>, trials: &[Trial], error: f64) -> String {
    let (tried, error) = (trials.len(), 100.0 * error);
    let alone = trials.iter().find(|trial| trial.kernel == kernel && trial.recipe == recipes[0]);
    match recipes {
        [_] => format!("the best of {tried} recipes: {error:.2} % wrong"),
        _ => format!(
            "the best {} of {tried} recipes that start differently: together {error:.2} % wrong, the best alone {:.2} %",
            recipes.len(),
            100.0 * alone.map_or(0.0, |trial| trial.error),
        ),
    }
}
