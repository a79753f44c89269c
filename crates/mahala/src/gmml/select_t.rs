//! Selection of t (Sec. 3.1): folds, cross-validated error, and the paper's two-step search.
//!
//! Folds and pairs stay fixed during a search, so that all values of t see the same data. For each fold
//! the geodesic is factorised once; a value of t then only re-weights coordinates.

use crate::data::centered::Cells;
use crate::data::column_stats::ColumnStatistics;
use crate::data::folds::Folds;
use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Rows};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::Shape;
use crate::gmml::low_rank::Reduced;
use crate::gmml::solution::Solution;
use crate::gmml::weighted::{chosen, error_weights};
use crate::gmml::{FitOptions, Gmml, PairRule};
use crate::neighbors::Knn;
use crate::progress::{Progress, Step};
use crate::scatter::all_pairs::check_labels;
use crate::scatter::balanced::Balance;
use crate::scatter::moments::Moments;

/// How t was chosen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// The value chosen.
    pub t: f64,
    /// Every value tried, ascending, with its cross-validated error in [0, 1].
    pub curve: Vec<(f64, f64)>,
    /// The criterion of the error.
    pub criterion: Criterion,
    /// The number of folds used.
    pub folds: usize,
    /// The number of rows (or pairs) used.
    pub rows: usize,
}

/// The criterion of a cross-validated error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The share of rows misclassified by their neighbours.
    KnnError,
    /// The balanced error: the mean over classes of the share of misclassified rows.
    BalancedKnnError,
    /// One minus the area under the ROC curve of the distances of held-out pairs.
    PairRanking,
}

/// The paper's search: five coarse values, then steps of .02 around the best; the first minimum wins.
///
/// `errors` is given values of t and returns the error of each. The result is the chosen t and all
/// values tried, ascending, with their errors.
///
/// # Errors
/// Any error of `errors`.
pub fn two_step_search(mut errors: impl FnMut(&[f64]) -> Result<Vec<f64>>) -> Result<(f64, Vec<(f64, f64)>)> {
    let coarse = [0.1, 0.3, 0.5, 0.7, 0.9];
    let coarse_errors = errors(&coarse)?;
    let centre = coarse[first_minimum(&coarse_errors)];
    let fine = fine_grid(centre);
    let fine_errors = errors(&fine)?;
    let t = fine[first_minimum(&fine_errors)];
    let mut curve: Vec<(f64, f64)> = fine.iter().copied().zip(fine_errors).collect();
    let outside = coarse.iter().copied().zip(coarse_errors).filter(|(t, _)| *t != centre);
    curve.extend(outside.filter(|(t, _)| !fine.contains(t)));
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok((t, curve))
}

/// The second step's values around the winner of the first, ascending.
fn fine_grid(centre: f64) -> Vec<f64> {
    let hundredths = |from: i32, to: i32| (from..=to).step_by(2).map(|h| f64::from(h) / 100.0);
    if centre < 0.2 {
        let mut grid: Vec<f64> = hundredths(0, 24).collect();
        grid.splice(1..1, [1e-5, 1e-3]);
        grid
    } else if centre > 0.8 {
        let mut grid: Vec<f64> = hundredths(76, 100).collect();
        let end = grid.len() - 1;
        grid.splice(end..end, [0.995, 0.9999]);
        grid
    } else {
        let middle = (100.0 * centre).round() as i32;
        hundredths(middle - 14, middle + 14).collect()
    }
}

/// The number of values of t a search tries: five and fifteen.
pub const VALUES_OF_T: usize = 20;

/// The index of the least error; the first of several.
pub(crate) fn first_minimum(errors: &[f64]) -> usize {
    let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
    errors.iter().position(|&e| e == least).unwrap_or(0)
}

/// One solved fold: only coordinates are re-weighted and votes counted for each t.
pub(super) struct SolvedFold {
    pub(super) train: Vec<usize>,
    pub(super) test: Vec<usize>,
    pub(super) solution: Solution,
    mean: Vec<f64>,
}

/// A cross-validation over t, with its folds solved: each value then costs neighbour searches only.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// use mahala::gmml::CrossValidation;
/// use mahala::progress::silent;
/// let rows = Rows::new((0..20).map(|i| f64::from(i % 10) + f64::from(i / 10) * 100.0).collect(), 1)?;
/// let data = Dataset::new(rows, Labels::new((0..20).map(|i| ["a", "b"][i / 10])))?;
/// let search = CrossValidation::new(&Gmml::default(), &data)?;
/// assert_eq!(search.errors(&[0.0, 0.5, 1.0], &mut silent)?, [0.0, 0.0, 0.0]);
/// # Ok::<(), mahala::Error>(())
/// ```
pub struct CrossValidation {
    pub(super) data: Dataset,
    pub(super) k: usize,
    pub(super) folds: Vec<SolvedFold>,
    /// The weight of each row in the error.
    pub(super) weights: Vec<f64>,
    criterion: Criterion,
}

impl CrossValidation {
    /// Draws the folds and solves each.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; if no fold leaves a similar and a dissimilar pair to learn from.
    pub fn new(gmml: &Gmml, data: &Dataset) -> Result<Self> {
        Self::with(gmml, data, &FitOptions::default())
    }

    /// Draws the folds, which keep groups of rows whole, and solves each, with the weights of rows in the sums and in
    /// the error.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; no fold that leaves a similar and a dissimilar pair to learn from;
    /// another number of weights or groups than of rows, or fewer than two groups.
    pub fn with(gmml: &Gmml, data: &Dataset, options: &FitOptions<'_>) -> Result<Self> {
        gmml.check_parameters(data.columns())?;
        check_labels(data.labels())?;
        if let Some(reduced) = Reduced::of(gmml, Cells::Dense(data.rows()), data.labels())? {
            return Self::with(&reduced.gmml, &reduced.data, options);
        }
        let FitOptions { weights, groups } = *options;
        if let Some(groups) = groups {
            groups.check_length("groups", data.len())?;
        }
        if let Some(weights) = weights.filter(|weights| weights.len() != data.len()) {
            return Err(Error::Length { what: "weights", seen: weights.len(), expected: data.len() });
        }
        let some = choose_rows(data.len(), gmml.selection_rows, gmml.seed);
        let folds = gmml.divide(data.len(), some.as_deref(), groups)?;
        let weights = weights.map(|w| some.as_ref().map_or_else(|| w.to_vec(), |rows| chosen(w, rows)));
        let data = some.map_or_else(|| data.clone(), |rows| data.subset(&rows));
        Self::on(gmml, data, weights.as_deref(), &folds)
    }

    /// Solves each of the given folds of the rows.
    pub(crate) fn on(gmml: &Gmml, data: Dataset, weights: Option<&[f64]>, folds: &Folds) -> Result<Self> {
        // All solutions are live while the next is computed.
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        let numbers = shape.matrices(3.0 * folds.len() as f64 + 10.0, 3.0);
        gmml.check_memory("the choice of t", numbers, shape.columns, MemoryRemedy::Principal)?;
        let folds = solve_folds(gmml, &data, weights, folds)?;
        if folds.is_empty() {
            return Err(Error::NoUsableFold { rows: data.len() });
        }
        let weights = error_weights(gmml.balance, data.labels(), weights);
        let balanced = gmml.balance != Balance::None;
        let criterion = if balanced { Criterion::BalancedKnnError } else { Criterion::KnnError };
        Ok(Self { data, k: gmml.k, folds, weights, criterion })
    }

    /// The cross-validated error at each value of t, in [0, 1]. `progress` is told of each neighbour search.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if `progress` stops it.
    pub fn errors(&self, values: &[f64], progress: &mut Progress<'_>) -> Result<Vec<f64>> {
        self.errors_of(&[], values, progress)
    }

    /// The rows of all folds in the coordinates of their geodesics, if they are not too large to keep.
    fn views(&self) -> Vec<FoldView<'_>> {
        let bytes = 8 * self.folds.len() * self.data.len() * self.data.columns();
        let kept = if bytes <= 512 << 20 { &self.folds[..] } else { &[] };
        kept.iter().map(|fold| FoldView::new(fold, &self.data)).collect()
    }

    fn errors_of(
        &self,
        views: &[FoldView<'_>],
        values: &[f64],
        progress: &mut Progress<'_>,
    ) -> Result<Vec<f64>> {
        let tested: f64 = self.folds.iter().flat_map(|fold| &fold.test).map(|&i| self.weights[i]).sum();
        let mut wrong = vec![0.0; values.len()];
        let (mut done, total) = (0, values.len() * self.folds.len());
        for (index, fold) in self.folds.iter().enumerate() {
            let made = if views.is_empty() { Some(FoldView::new(fold, &self.data)) } else { None };
            let view = made.as_ref().unwrap_or_else(|| &views[index]);
            let mut buffers = [Vec::new(), Vec::new()];
            for (wrong, &t) in wrong.iter_mut().zip(values) {
                *wrong += view.wrong_at(t, self.k, &self.weights, &mut buffers)?;
                done += 1;
                if progress(Step::of(done, total)).is_break() {
                    return Err(Error::Cancelled);
                }
            }
        }
        Ok(wrong.into_iter().map(|w| w / tested).collect())
    }

    /// The paper's two-step choice of t.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if `progress` stops it.
    pub fn select(&self, progress: &mut Progress<'_>) -> Result<Selection> {
        let total = VALUES_OF_T * self.folds.len();
        let mut before = 0;
        let views = self.views();
        let (t, curve) = two_step_search(|values| {
            let errors =
                self.errors_of(&views, values, &mut |step| progress(Step::of(before + step.done, total)))?;
            before += values.len() * self.folds.len();
            Ok(errors)
        })?;
        let (folds, rows) = (self.folds.len(), self.data.len());
        Ok(Selection { t, curve, criterion: self.criterion, folds, rows })
    }
}

fn solve_folds(
    gmml: &Gmml,
    data: &Dataset,
    weights: Option<&[f64]>,
    folds: &Folds,
) -> Result<Vec<SolvedFold>> {
    let of = |rows: &[usize]| {
        let (weights, part) = (weights.map(|weights| chosen(weights, rows)), data.subset(rows));
        let moments = Moments::weighted(&part, weights.as_deref())?;
        Ok(FoldSums { moments, statistics: ColumnStatistics::of(part.rows()) })
    };
    let parts = fold_sums(gmml, data, folds, &of)?;
    let solve = |fold: usize| -> Result<SolvedFold> {
        let (train, test) = folds.split(fold);
        let (solution, mean) = match &parts {
            Some(parts) => {
                let FoldSums { moments, statistics } = FoldSums::without(parts, fold, data.columns())?;
                let scale = gmml.standardize.then_some(statistics.scale);
                (gmml.solve_moments(&moments, scale)?, statistics.mean)
            }
            None if weights.is_some() => {
                let FoldSums { moments, statistics } = of(&train)?;
                (gmml.solve_moments(&moments, None)?, statistics.mean)
            }
            None => gmml.solve_labelled(&data.subset(&train), Stream::PairsOfFold(fold as u32))?,
        };
        Ok(SolvedFold { train, test, solution, mean })
    };
    let mut solved = Vec::new();
    for fold in 0..folds.len() {
        match solve(fold) {
            Ok(fold) => solved.push(fold),
            // A fold whose training part has no pairs of one kind is skipped.
            Err(error) if is_lack_of_pairs(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(solved)
}

/// The sums over the rows of one fold, or over those of all others.
struct FoldSums {
    moments: Moments,
    statistics: ColumnStatistics,
}

impl FoldSums {
    /// The sums of all folds but one. Merged rather than subtracted from the whole, because a subtraction would leave a
    /// rounding error as the variance of a column that varies in one fold alone.
    fn without(parts: &[Self], fold: usize, columns: usize) -> Result<Self> {
        let mut moments = Moments::new(columns)?;
        let mut statistics: Option<ColumnStatistics> = None;
        for part in parts.iter().enumerate().filter(|&(other, _)| other != fold).map(|(_, part)| part) {
            moments.merge(&part.moments)?;
            statistics = Some(match statistics {
                Some(sum) => sum.merged(&part.statistics),
                None => part.statistics.clone(),
            });
        }
        let statistics = statistics.ok_or(Error::NoUsableFold { rows: moments.rows() as usize })?;
        Ok(Self { moments, statistics })
    }
}

/// The sums of each fold, to be merged into those of the others: every row is read once, not once for each fold it is
/// learned on.
fn fold_sums(
    gmml: &Gmml,
    data: &Dataset,
    folds: &Folds,
    of: &impl Fn(&[usize]) -> Result<FoldSums>,
) -> Result<Option<Vec<FoldSums>>> {
    let bytes = 8 * folds.len() * data.labels().class_count() * data.columns().pow(2);
    let empty = (0..folds.len()).any(|fold| folds.split(fold).1.is_empty());
    if gmml.pairs != PairRule::All || bytes > 1 << 30 || !folds.is_partition() || empty {
        return Ok(None);
    }
    (0..folds.len()).map(|fold| of(&folds.split(fold).1)).collect::<Result<_>>().map(Some)
}

/// A fold's rows in the coordinates of its geodesic.
pub(super) struct FoldView<'a> {
    fold: &'a SolvedFold,
    data: &'a Dataset,
    train: Vec<f64>,
    test: Vec<f64>,
}

impl<'a> FoldView<'a> {
    pub(super) fn new(fold: &'a SolvedFold, data: &'a Dataset) -> Self {
        let coordinates = |rows: &[usize]| fold.solution.coordinates_of(data.rows(), rows, &fold.mean);
        Self { fold, data, train: coordinates(&fold.train), test: coordinates(&fold.test) }
    }

    /// The weight of the misclassified test rows at t.
    fn wrong_at(&self, t: f64, k: usize, counted: &[f64], buffers: &mut [Vec<f64>; 2]) -> Result<f64> {
        let predicted = self.predicted_at(t, k, buffers)?;
        let codes = self.data.labels().codes();
        let wrong = self.fold.test.iter().zip(predicted).filter(|&(&i, class)| codes[i] != class);
        Ok(wrong.map(|(&i, _)| counted[i]).sum())
    }

    /// The class that the neighbours of each test row vote for at t: the weights of coordinates change, rows do not. The
    /// buffers are reused from one t to the next.
    pub(super) fn predicted_at(
        &self,
        t: f64,
        k: usize,
        [train, test]: &mut [Vec<f64>; 2],
    ) -> Result<Vec<u32>> {
        let weights = self.fold.solution.weights(t);
        let knn = Knn::new(weighted(&self.train, &weights, std::mem::take(train))?)?;
        let queries = weighted(&self.test, &weights, std::mem::take(test))?;
        let found = knn.search(&queries, k.min(self.fold.train.len()))?;
        (*train, *test) = (knn.into_rows().into_values(), queries.into_values());
        Ok(found.vote(&self.data.labels().subset(&self.fold.train)))
    }
}

/// `Z·diag(weights)`, into a reused buffer.
pub(crate) fn weighted(z: &[f64], weights: &[f64], mut memory: Vec<f64>) -> Result<Rows> {
    memory.clear();
    for row in z.chunks_exact(weights.len()) {
        memory.extend(row.iter().zip(weights).map(|(z, w)| z * w));
    }
    Rows::new(memory, weights.len()).map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
}

pub(crate) fn choose_rows(n: usize, most: usize, seed: u64) -> Option<Vec<usize>> {
    if n <= most {
        return None;
    }
    let mut rows = Random::of(seed, Stream::Subset).permutation(n);
    rows.truncate(most);
    rows.sort_unstable();
    Some(rows)
}

pub(crate) fn is_lack_of_pairs(error: &Error) -> bool {
    use Error::{AllConstant, NoDissimilarPair, NoSimilarPair, OneClass};
    matches!(error, OneClass { .. } | NoSimilarPair { .. } | NoDissimilarPair { .. } | AllConstant { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fine_grids_are_those_of_the_paper() {
        assert_eq!(fine_grid(0.5).len(), 15);
        assert_eq!((fine_grid(0.5)[0], fine_grid(0.5)[7], fine_grid(0.5)[14]), (0.36, 0.5, 0.64));
        assert_eq!(fine_grid(0.1)[..5], [0.0, 1e-5, 1e-3, 0.02, 0.04]);
        assert_eq!(fine_grid(0.1)[14], 0.24);
        assert_eq!(fine_grid(0.9)[11..], [0.98, 0.995, 0.9999, 1.0]);
        assert_eq!(fine_grid(0.9).len(), 15);
    }

    #[test]
    fn the_first_minimum_wins_and_every_value_is_on_the_curve() {
        let (t, curve) =
            two_step_search(|ts| Ok(ts.iter().map(|t| (t - 0.27f64).abs().max(0.051)).collect())).unwrap();
        assert_eq!(t, 0.22);
        assert_eq!(curve.len(), 19); // 0.3 is in both steps
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0));
    }
}
