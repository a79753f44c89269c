//! The automatic mode in the feature space of a kernel: which kernel, by a quick look at a few; then recipes as in the
//! columns themselves.
//!
//! # Formula
//! ```text
//! k(x, y) = exp(−‖x − y‖² / (w²·s)),     s = mean ‖x_i − x_j‖²
//! ```
//! over the rows learned on, in their own units or in standard deviations. Landmarks are drawn from the rows learned
//! on, so that rows held out take no part.

use crate::auto::budget;
use crate::auto::budget::Budget;
use crate::auto::ensemble::{Blended, blend};
use crate::auto::evaluator::TrainingSums;
use crate::auto::folds::Fold;
use crate::auto::kinds::Kind;
use crate::auto::recipe::Recipe;
use crate::auto::search::{Going, Search};
use crate::auto::{Auto, Trial};
use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::gmml::Diagnostics;
use crate::kernel::nystrom::{Features, draw_landmarks};
use crate::kernel::{Kernel, KernelMap};
use crate::metric::Metric;
use crate::progress::Progress;
use faer::Mat;
use std::fmt;

/// A kernel that the automatic mode tries.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct KernelChoice {
    /// Divide each column by its standard deviation first.
    pub standardize: bool,
    /// `w`: how far likeness reaches, in root mean squared distances of rows.
    pub width: f64,
    /// With how many rows at most the kernel is taken.
    pub landmarks: usize,
}

/// What did best in the features of a kernel.
pub(crate) struct InFeatures {
    pub(crate) choice: KernelChoice,
    pub(crate) blended: Blended,
}

const WIDTHS: [f64; 3] = [1.0, 2.0, 0.5];
/// How far `S` is shrunk towards the identity.
const RIDGES: [f64; 2] = [0.001, 0.03];
/// Landmarks while kernels are compared, at most; no more than half of those afterwards, for an eighth of the work.
const FEW: usize = 200;
/// Landmarks of the kernel chosen, at most.
const MANY: usize = 2_000;
/// Features of all rows together, at most: memory for them is taken a few times.
const CELLS: usize = 1 << 24;

/// With how many landmarks the kernel chosen is taken.
pub(crate) fn landmarks_for(rows: usize) -> usize {
    MANY.min(CELLS / rows.max(1)).clamp(1, rows.max(1))
}

impl KernelChoice {
    /// The features of this kernel, from these rows alone.
    fn features(&self, rows: &Rows, seed: u64) -> Result<Features> {
        let scale = self.standardize.then(|| ColumnStatistics::of(rows).scale);
        let landmarks = draw_landmarks(rows, self.landmarks, seed);
        let spread = mean_squared_distance(&landmarks, scale.as_deref());
        let kernel = Kernel::Rbf { gamma: 1.0 / (self.width * self.width * spread) };
        Features::of(kernel, &landmarks, scale)
    }

    /// A fold in these features.
    fn fold(&self, fold: &Fold, seed: u64) -> Result<Fold> {
        let features = self.features(fold.train.rows(), seed)?;
        let seen = |part: &Dataset| Dataset::new(features.rows(part.rows())?, part.labels().clone());
        let train = seen(&fold.train)?;
        // The voters are all rows, or else those learned on.
        let (voters, test) = match &fold.own {
            Some(own) => {
                let voters = seen(&fold.voters)?;
                let test = voters.subset(own);
                (voters, test)
            }
            None => (train.clone(), seen(&fold.test)?),
        };
        let (groups, own, balance) = (fold.groups.clone(), fold.own.clone(), fold.balance.clone());
        Ok(Fold { train, groups, test, voters, own, balance })
    }

    /// Follows recipes in these features and adds the metrics up.
    pub(crate) fn blend(
        &self,
        members: &[(Recipe, f64)],
        data: &Dataset,
        groups: Option<&Labels>,
        auto: &Auto,
    ) -> Result<(KernelMap, Metric, Option<Diagnostics>)> {
        let features = self.features(data.rows(), auto.seed)?;
        let seen = Dataset::new(features.rows(data.rows())?, data.labels().clone())?;
        let (metric, diagnostics) =
            blend(members, TrainingSums::of(&seen, groups)?.judged_by(auto.judge()), auto.k)?;
        let l = metric.components();
        let unit = |j: usize| metric.scale().map_or(1.0, |scale| 1.0 / scale[j]);
        let l = Mat::from_fn(l.nrows(), l.ncols(), |i, j| l[(i, j)] * unit(j));
        let (map, metric) = features.metric(l.as_ref())?;
        Ok((map, metric, diagnostics))
    }
}

/// What was tried so far, and in how many steps.
pub(crate) struct Table<'t> {
    pub(crate) trials: &'t mut Vec<Trial>,
    pub(crate) steps: usize,
}

/// The rows as all kernels are tried on them.
pub(crate) struct Kernels<'a> {
    pub(crate) auto: &'a Auto,
    pub(crate) folds: &'a [Fold],
    pub(crate) part: &'a Dataset,
}

impl Kernels<'_> {
    /// The best kernel and the best recipes in its features; none if there is no kernel for such rows, or not enough
    /// left of the budget. What was tried is added to the table.
    pub(crate) fn search(
        &self,
        budget: &mut Budget,
        table: &mut Table<'_>,
        progress: &mut Progress<'_>,
    ) -> Going<Option<InFeatures>> {
        let landmarks = landmarks_for(self.part.len());
        let mut best: Option<(f64, KernelChoice)> = None;
        for standardize in [false, true] {
            for width in WIDTHS {
                let choice = KernelChoice { standardize, width, landmarks: FEW.min(landmarks.div_ceil(2)) };
                let mut look = |search: &mut Search<'_, '_>| {
                    try_ridges(search)?;
                    Ok(search.trials.iter().map(|trial| trial.smoothed).reduce(f64::min))
                };
                let least = self.within(choice, budget, table, progress, &mut look)?.flatten();
                if let Some(least) = least
                    && best.is_none_or(|(error, _)| least < error)
                {
                    best = Some((least, choice));
                }
            }
        }
        let Some((_, choice)) = best else { return Ok(None) };
        let choice = KernelChoice { landmarks, ..choice };
        let mut choose = |search: &mut Search<'_, '_>| {
            try_ridges(search)?;
            search.try_rounds()?;
            Ok(search.choose()?.map(|blended| InFeatures { choice, blended }))
        };
        Ok(self.within(choice, budget, table, progress, &mut choose)?.flatten())
    }

    /// Searches in the features of one kernel; none if it is too much work, or no kernel.
    fn within<T>(
        &self,
        choice: KernelChoice,
        budget: &mut Budget,
        table: &mut Table<'_>,
        progress: &mut Progress<'_>,
        search: &mut dyn FnMut(&mut Search<'_, '_>) -> Going<T>,
    ) -> Going<Option<T>> {
        let work = |fold: &Fold| budget::features(fold, choice.landmarks.min(fold.train.len()));
        let work = self.folds.iter().map(work).sum();
        if budget.forbids(work) {
            return Ok(None);
        }
        budget.spent += work;
        let folds: Result<Vec<Fold>> =
            self.folds.iter().map(|fold| choice.fold(fold, self.auto.seed)).collect();
        let Ok(folds) = folds else { return Ok(None) };
        let mut inside = match Search::new(self.auto, &folds, self.part, *budget, table.steps, progress) {
            Ok(inside) => inside,
            Err(Error::Cancelled) => return Err(Error::Cancelled.into()),
            Err(_) => return Ok(None),
        };
        let found = search(&mut inside);
        (*budget, table.steps) = (inside.budget, inside.steps);
        let seen = inside.trials.into_iter().map(|trial| Trial { kernel: Some(choice), ..trial });
        table.trials.extend(seen);
        Ok(Some(found?))
    }
}

/// Directions of pencils, and some t along each.
fn try_ridges(search: &mut Search<'_, '_>) -> Going<()> {
    for ridge in RIDGES {
        let work = search.folds.len() as f64 * budget::pencil(search.columns);
        if search.budget.forbids(work) {
            return Ok(());
        }
        search.budget.spent += work;
        search.go_on()?;
        search.try_kind(Kind::RidgeDirections, ridge)?;
    }
    Ok(())
}

/// Between rows, with columns divided by `scale`: twice the sum of the columns' variances.
fn mean_squared_distance(rows: &Rows, scale: Option<&[f64]>) -> f64 {
    let deviations = ColumnStatistics::of(rows).deviation().to_vec();
    let in_units = |(j, x): (usize, &f64)| (x / scale.map_or(1.0, |scale| scale[j])).powi(2);
    2.0 * deviations.iter().enumerate().map(in_units).sum::<f64>()
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.standardize {
            f.write_str("standardised, ")?;
        }
        write!(f, "RBF kernel of width {} with {} rows", self.width, self.landmarks)
    }
}
