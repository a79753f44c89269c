//! The automatic mode: recipes tried on the training rows by cross-validation, cheap ones first.
//!
//! All recipes see the same folds. A path over t costs one factorisation, and inside the directions of a pencil
//! the number of directions costs none, so a few dozen factorisations try some two hundred recipes. The best few are
//! looked at more closely, and neighbourhood rounds are tried from the best of those. No single recipe wins for sure, so
//! the best few of each kind are blended.

mod budget;
mod criterion;
mod ensemble;
mod evaluator;
mod finals;
mod folds;
mod kernels;
mod kinds;
mod learner;
mod names;
mod null_directions;
mod race;
mod recipe;
mod report;
mod search;
mod solved_paths;
mod stages;

pub use criterion::Criterion;
pub use finals::{Gain, Reference};
pub use folds::FoldsOver;
pub use kernels::KernelChoice;
pub use recipe::{Recipe, Round};

use crate::auto::budget::Budget;
use crate::auto::criterion::Judge;
use crate::auto::ensemble::{Blended, blend};
use crate::auto::evaluator::TrainingSums;
use crate::auto::folds::{Division, Fold, most_folds};
use crate::auto::kernels::{InFeatures, Kernels, Table, landmarks_for};
use crate::auto::search::{End, Search, in_pool};
use crate::auto::solved_paths::SolvedPaths;
use crate::data::folds::Folds;
use crate::data::{Dataset, Labels};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::{self, Shape};
use crate::gmml::{Diagnostics, FitOptions, Gmml};
use crate::kernel::KernelMap;
use crate::learner::Learner as _;
use crate::metric::Metric;
use crate::scatter::all_pairs::check_labels;

use crate::gmml::select_t::choose_rows;
use crate::gmml::span::InSpan;
use crate::progress::{Progress, silent};
use crate::retrieval::Similarity;
use serde::{Deserialize, Serialize};

/// With a kernel, rows to learn on.
const KERNEL_ROWS: usize = 20_000;
/// Columns up to which the metrics of finalists are kept from one use to the next.
const MOST_KEPT: usize = 800;
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auto {
    /// Neighbours that vote.
    pub k: usize,
    /// Decides the folds.
    pub seed: u64,
    /// Trials and blends take at most this many times the multiplications of a plain fit that chooses t, its neighbour
    /// searches included; with kernels, and as many kernel fits. Counted beforehand, from the numbers of rows, columns and directions, so that the same is tried on every
    /// machine; the last fit, of the recipes chosen, to all rows comes on top. [`AutoFit::cost`] tells what was spent.
    pub budget: f64,
    /// Choose on a random subset of at most this many rows. What was chosen is learned on all rows; with a kernel, on
    /// at most 20,000.
    pub selection_rows: usize,
    /// Learn inside leading directions of the pencil, whatever else might do better.
    pub reduce: bool,
    /// Try kernels, too, and take one if it does clearly better: the metric is then one on kernel values.
    pub kernels: bool,
    /// What recipes are compared by.
    pub criterion: Criterion,
    /// Whether rows are compared by their distance under the metric, or by the cosine of what it maps them to.
    pub similarity: Similarity,
    /// What is held out together; whole groups if there are groups, else single rows.
    pub folds_over: Option<FoldsOver>,
    /// How many folds; by the size of the table, if none is given.
    pub folds: Option<usize>,
    /// Splits of the rows to choose on, instead of folds; rows learned on vote. They are not part of a model file.
    #[serde(skip_serializing, deserialize_with = "splits")]
    pub splits: Option<Folds>,
    /// Stop after so many trials (a recipe, at all its values of t, on one fold; [`AutoFit::trials_done`]) with the best so
    /// far, as if the time were up then.
    pub max_trials: Option<usize>,
}

/// A metric, the recipes it was made by, and what else was tried.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AutoFit {
    /// The metric, from all rows; on kernel values, if there is a kernel.
    pub metric: Metric,
    /// The kernel, if one was chosen.
    pub kernel: Option<(KernelChoice, KernelMap)>,
    /// How it was made: the sum of what these recipes give, each in the size of its neighbourhoods; the best first.
    pub recipes: Vec<Recipe>,
    /// What each of them weighs in the sum; together 1.
    pub weights: Vec<f64>,
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
    /// The criterion.
    pub criterion: Criterion,
    /// How rows were compared.
    pub similarity: Similarity,
    /// The name of the method that the metric is, if it is a single recipe that has one.
    pub known_as: Option<String>,
    /// The methods that everybody knows, on the same held-out queries.
    pub references: Vec<Reference>,
    /// What is gained over the plain distance on them.
    pub gain: Option<Gain>,
    /// How many trials were done: recipes times folds.
    pub trials_done: usize,
    /// Whether the search was cut short, by the caller or by [`Auto::max_trials`].
    pub cut_short: bool,
    /// The diagnostics of the first recipe's solution on all rows; none for the plain distance.
    pub diagnostics: Option<Diagnostics>,
}

/// A recipe and how it did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// The recipe.
    pub recipe: Recipe,
    /// The kernel in whose features it was followed, if not in the columns.
    pub kernel: Option<KernelChoice>,
    /// The criterion on held-out rows: the share that `k` neighbours put into a wrong class, unless another was asked for.
    pub error: f64,
    /// What recipes are compared by: the error averaged over k − 2, k (twice) and k + 2 neighbours, for it is less noisy; other
    /// criteria as they are.
    pub smoothed: f64,
    /// The held-out queries it was tried on: fewer for one that was dropped early, whose error is then a rough one.
    pub queries: usize,
}

impl Gmml {
    /// The automatic mode.
    pub fn auto() -> Auto {
        Auto::default()
    }
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            k: 5,
            seed: 0,
            budget: 20.0,
            selection_rows: 2_000,
            reduce: false,
            kernels: false,
            criterion: Criterion::KnnError,
            similarity: Similarity::L2,
            folds_over: None,
            folds: None,
            splits: None,
            max_trials: None,
        }
    }
}

impl Auto {
    /// Chooses and fits.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed.
    pub fn fit(&self, data: &Dataset) -> Result<AutoFit> {
        self.fit_with(data, &FitOptions::default(), &mut silent)
    }

    /// Chooses and fits. With groups, folds keep them whole, and no pair within a group is learned from.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; fewer than two groups; weights, which this mode does not have;
    /// [`Error::Cancelled`] if `progress` stops it.
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

    /// Numbers held at the peak: in each fold the rows, its voters, S, D, the directions of some pencils and some paths; and a
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
        // Metrics of finalists on each fold, and what the members of a blend make of the rows.
        let kept = 5.0 * 16.0 * (chosen.columns.min(MOST_KEPT) as f64).powi(2) + chosen.matrices(0.0, 16.0);
        let paths = (folds + 1.0) * SolvedPaths::numbers(chosen.columns);
        folds * chosen.matrices(6.0, 2.5) + paths + recipe + kernel + kept
    }

    fn too_small_a_budget(&self) -> Error {
        let allowed = "enough to try one recipe on these rows; the default is 20";
        Error::Parameter { name: "budget", value: self.budget.to_string(), allowed }
    }

    pub(crate) fn judge(&self) -> Judge {
        Judge { criterion: self.criterion, k: self.k, similarity: self.similarity }
    }

    fn divide(&self, part: &Dataset, groups: Option<&Labels>, splits: Option<&Folds>) -> Result<Vec<Fold>> {
        let by_default = if groups.is_some() { FoldsOver::Groups } else { FoldsOver::Rows };
        let over = self.folds_over.unwrap_or(by_default);
        let (folds, criterion, seed) = (self.folds, self.criterion, self.seed);
        Division { over, groups, splits, folds, criterion, seed }.of(part)
    }

    fn fit_columns(
        &self,
        data: &Dataset,
        groups: Option<&Labels>,
        progress: &mut Progress<'_>,
    ) -> Result<AutoFit> {
        let chosen = choose_rows(data.len(), self.selection_rows, self.seed);
        let part = chosen.as_ref().map_or_else(|| data.clone(), |rows| data.subset(rows));
        let of_part =
            |labels: &Labels| chosen.as_ref().map_or_else(|| labels.clone(), |rows| labels.subset(rows));
        let part_groups = groups.map(of_part);
        let splits = match (&self.splits, &chosen) {
            (Some(splits), Some(chosen)) => Some(splits.among(chosen)?),
            (splits, _) => splits.clone(),
        };
        // What no fold could learn from is told of all rows.
        let training = TrainingSums::of(data, groups)?.judged_by(self.judge()).for_many_recipes();
        let folds = self.divide(&part, part_groups.as_ref(), splits.as_ref())?;
        let mut budget = Budget::of(self, &part);
        if self.kernels {
            budget = budget.with_kernels(self, &part, landmarks_for(part.len()));
        }
        let mut search = Search::new(self, &folds, &part, budget, 0, progress)?;
        let (columns, mut cut_short) = search.result()?;
        let columns = match columns {
            Some(columns) => columns,
            // Cut short before anything was tried.
            None if cut_short => Blended::untried(Recipe::all_pairs(0.5)),
            None if search.budget.spent == 0.0 => return Err(self.too_small_a_budget()),
            None => return Err(Error::NoUsableFold { rows: part.len() }),
        };
        let count = search.folds.len();
        let (references, mut gain) = (search.reference_results(), search.gain(&columns.losses));
        let plain_losses = search.plain_losses().cloned();
        let (mut trials, mut budget, mut steps) = (search.trials, search.budget.whole(), search.steps);
        let kernels = Kernels { auto: self, folds: &folds, part: &part };
        let mut found = None;
        if self.kernels && !cut_short {
            let mut table = Table { trials: &mut trials, steps };
            match kernels.search(&mut budget, &mut table, progress) {
                Ok(best) => found = best,
                Err(End::Early) => cut_short = true,
                Err(End::Failed(error)) => return Err(error),
            }
            steps = table.steps;
        }
        let percent = |blended: &Blended| format!("{:.2} %", 100.0 * blended.error);
        let (metric, kernel, blended, other, diagnostics) = match found {
            Some(InFeatures { choice, blended }) if blended.beats(&columns, part.len()) => {
                // What was chosen on some rows is learned on as many as the features leave memory for.
                let rows = choose_rows(data.len(), KERNEL_ROWS.max(part.len()), self.seed);
                let learned = rows.as_ref().map_or_else(|| data.clone(), |rows| data.subset(rows));
                let groups = groups
                    .map(|groups| rows.as_ref().map_or_else(|| groups.clone(), |rows| groups.subset(rows)));
                let choice = KernelChoice { landmarks: landmarks_for(learned.len()), ..choice };
                let (map, metric, diagnostics) =
                    in_pool(|| choice.blend(&blended.members, &learned, groups.as_ref(), self))?;
                gain = plain_losses.map(|plain| finals::gain_over(&plain, &blended.losses, part.len()));
                let other = format!("; without a kernel {}", percent(&columns));
                (metric, Some((choice, map)), blended, other, diagnostics)
            }
            found => {
                let (metric, diagnostics) = in_pool(|| blend(&columns.members, training, self.k))?;
                let other = found.map(|found| format!("; with the best kernel {}", percent(&found.blended)));
                (metric, None, columns, other.unwrap_or_default(), diagnostics)
            }
        };
        let error = blended.error;
        let sum: f64 = blended.members.iter().map(|member| member.1).sum();
        let weights: Vec<f64> = blended.members.iter().map(|member| member.1 / sum).collect();
        let recipes: Vec<Recipe> = blended.members.into_iter().map(|member| member.0).collect();
        let chosen =
            kernel.as_ref().map(|kernel| KernelChoice { landmarks: landmarks_for(part.len()), ..kernel.0 });
        let mut reason = report::reason(&recipes, chosen, &trials, error, self.criterion) + &other;
        if cut_short {
            reason += "; the search was cut short";
        }
        let regular = diagnostics.as_ref().is_none_or(|diagnostics| diagnostics.ridge == 0.0);
        let known_as = match &recipes[..] {
            [only] if kernel.is_none() && regular => {
                only.known_as(data.columns(), &data.labels().class_sizes())
            }
            _ => None,
        };
        Ok(AutoFit {
            metric,
            kernel,
            recipes,
            weights,
            error,
            trials,
            reason,
            cost: budget.spent / budget.plain,
            rows: part.len(),
            folds: count,
            criterion: self.criterion,
            similarity: self.similarity,
            known_as,
            references,
            gain,
            trials_done: steps,
            cut_short,
            diagnostics,
        })
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
        self.check_division(groups)?;
        if self.budget.is_nan() || self.budget < 1.0 {
            let value = self.budget.to_string();
            return Err(Error::Parameter { name: "budget", value, allowed: "at least 1" });
        }
        Ok(())
    }
}

impl Auto {
    /// Checks what is held out, and how rows are compared.
    fn check_division(&self, groups: Option<&Labels>) -> Result<()> {
        let refused =
            |name, value: &str, allowed| Err(Error::Parameter { name, value: value.to_owned(), allowed });
        match (self.folds_over, groups) {
            (Some(FoldsOver::Groups), None) => {
                return refused(
                    "folds_over",
                    "groups, and no groups are given",
                    "rows or classes without groups",
                );
            }
            (Some(FoldsOver::Rows | FoldsOver::Classes), Some(_)) => {
                return refused("groups", "given, with folds over rows or classes", "left out with them");
            }
            _ => {}
        }
        if self.splits.is_some() && (groups.is_some() || self.folds_over.is_some() || self.folds.is_some()) {
            return refused("splits", "given, with groups or folds", "given alone");
        }
        if self.folds.is_some_and(|folds| folds < 2) {
            return refused("folds", "below 2", "at least 2");
        }
        if self.similarity == Similarity::Dot {
            return refused("similarity", "dot", "l2 or cosine");
        }
        Ok(())
    }
}

/// Splits in a file: the number of rows, then pairs of training and held-out rows.
fn splits<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Option<Folds>, D::Error> {
    type Parts = Option<(usize, Vec<(Vec<usize>, Vec<usize>)>)>;
    let Some((n, parts)) = Parts::deserialize(from)? else { return Ok(None) };
    Folds::given(n, parts).map(Some).map_err(serde::de::Error::custom)
}
