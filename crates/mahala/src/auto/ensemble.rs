//! Several metrics as one: what the automatic mode returns.
//!
//! # Formula
//! ```text
//! A = Σ_i w_i A_i/s_i,     w_i = exp(−gap_i/doubt_i)·prior_i/m_i
//! ```
//! with `s_i` the mean squared distance under `A_i` from a row to its k-th neighbour, `gap_i` the cross-validated
//! error above the least and `doubt_i` its standard error, and `m_i` the number of members of the same kind. A squared
//! distance is linear in `A`, so the blend's is the weighted sum of the members', each measured in the size of its own
//! neighbourhoods. Recipes that cross-validation can hardly tell apart err on different rows; their blend errs less than
//! most of them.

use crate::auto::Trial;
use crate::auto::criterion::{Judge, Losses};
use crate::auto::evaluator::TrainingSums;
use crate::auto::folds::{Fold, difference};
use crate::auto::kinds::Kind;
use crate::auto::recipe::Recipe;
use crate::auto::search::{Going, Search, in_pool};
use crate::data::Rows;
use crate::data::column_stats::ColumnStatistics;
use crate::error::{Error, Result};
use crate::gmml::Diagnostics;
use crate::metric::Metric;
use crate::neighbors::Knn;
use faer::Mat;
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;

/// Recipes of each kind in a blend.
const EACH: usize = 4;
/// Recipes in a blend.
const MEMBERS: usize = 8;
/// Sizes of blends that are compared.
const SIZES: [usize; 5] = [1, 2, 3, 5, 8];
/// How much more error a member may have than the best recipe.
const WITHIN: f64 = 1.3;
/// What a member must weigh against the heaviest: others change nothing, and each has to be learned on all rows.
const LEAST_WEIGHT: f64 = 0.1;
/// So many rows say as much as the prior for simple recipes.
const PRIOR_ROWS: f64 = 200.0;
/// Rows whose neighbourhoods are measured.
const MEASURED: usize = 100;

impl Search<'_, '_> {
    /// The best two recipes of each kind and two more that start differently, if they are not far behind the best of
    /// all; best first, with their weights. The plain distance only where it is the best.
    pub(crate) fn members(&self) -> Vec<(Recipe, f64)> {
        let order = self.ranking();
        let Some(&first) = order.first() else { return Vec::new() };
        let best = &self.trials[first];
        if best.recipe.is_plain() {
            return vec![(best.recipe.clone(), 1.0)];
        }
        let depth = self.losses[first].len();
        let mut scored: Vec<(usize, f64)> = order
            .into_iter()
            .filter(|&i| {
                let near = self.trials[i].smoothed <= WITHIN * best.smoothed;
                !self.trials[i].recipe.is_plain() && near && self.losses[i].len() == depth
            })
            .map(|i| (i, self.score(i, first)))
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut members: Vec<(Kind, Recipe, f64)> = Vec::new();
        for (i, weight) in scored {
            let trial = &self.trials[i];
            let Some(kind) = Kind::of(&trial.recipe) else { continue };
            let mine = members.iter().filter(|member| member.0 == kind);
            let full = mine.clone().count() == EACH;
            // The first two of a kind may differ in their rounds alone.
            let known = if mine.clone().count() < 2 {
                mine.clone().any(|member| member.1.differs_in_t_alone(&trial.recipe))
            } else {
                mine.clone().any(|member| member.1.starts_like(&trial.recipe))
            };
            if !full && !known && members.len() < MEMBERS {
                members.push((kind, trial.recipe.clone(), weight));
            }
        }
        let most = members.iter().map(|member| member.2).fold(0.0, f64::max);
        members.retain(|member| member.2 >= LEAST_WEIGHT * most);
        let like = |kind: Kind| members.iter().filter(|member| member.0 == kind).count() as f64;
        members.iter().map(|(kind, recipe, weight)| (recipe.clone(), weight / like(*kind))).collect()
    }

    /// What a recipe weighs: `exp(−gap/standard error)`, its error above the least in standard errors, times a prior for simple
    /// recipes, `exp(−steps − 2t)`, that counts as much as [`PRIOR_ROWS`] rows do. On a hundred rows the errors of two
    /// hundred recipes are mostly chance.
    fn score(&self, trial: usize, first: usize) -> f64 {
        let recipe = &self.trials[trial].recipe;
        let gap = self.trials[trial].smoothed - self.trials[first].smoothed;
        let fit = if gap > 0.0 { gap / self.difference(trial, first).1 } else { 0.0 };
        let last = recipe.rounds.last().map_or(recipe.t, |round| Some(round.t)).unwrap_or(0.0);
        (-fit - PRIOR_ROWS / (PRIOR_ROWS + self.rows as f64) * (recipe.steps() + 2.0 * last)).exp()
    }

    /// The members to blend, and how that does; none if nothing was tried.
    pub(crate) fn choose(&mut self) -> Going<Option<Blended>> {
        self.enter("finalists");
        self.promote()?;
        self.deepen()?;
        let mut members = self.members();
        while self.too_much_to_blend(&members) && members.pop().is_some() {}
        self.enter("blends");
        match self.ranking().first() {
            None => Ok(None),
            Some(&first) if members.is_empty() => Ok(Some(self.alone(first))),
            Some(_) => self.best_size(members).map(Some),
        }
    }

    /// The best recipe alone, where the search was cut short; none if nothing was tried.
    pub(crate) fn best_so_far(&self) -> Option<Blended> {
        self.ranking().first().map(|&first| self.alone(first))
    }

    /// The first of the members, as many as do not do worse on held-out rows, by more than
    /// one standard error, than the number that does best; then [`Search::guarded`].
    ///
    /// The best recipe was chosen for its error among hundreds, so that its error flatters it; a blend's does less.
    fn best_size(&mut self, mut members: Vec<(Recipe, f64)>) -> Going<Blended> {
        let blends = self.losses_of_blends(&members)?;
        let loss = |at: usize| blends[at].1.means().0;
        let Some(best) = (0..blends.len()).min_by(|&a, &b| loss(a).total_cmp(&loss(b))) else {
            return Ok(self.alone(self.ranking()[0]));
        };
        let near = |&at: &usize| {
            let compared = |at: usize| &blends[at].1.compared;
            let (gap, standard_error) = difference(compared(at), compared(best), self.rows);
            gap <= standard_error
        };
        let last = (0..blends.len()).rev().find(near).unwrap_or(best);
        let (size, losses) = blends[last].clone();
        members.truncate(size);
        Ok(self.guarded(Blended { members, error: losses.means().1, losses }))
    }

    /// The losses of some of the first members together, for each size; fewer where a metric cannot be made.
    fn losses_of_blends(&mut self, members: &[(Recipe, f64)]) -> Going<Vec<(usize, Losses)>> {
        let sizes: Vec<usize> =
            (1..=members.len()).filter(|m| SIZES.contains(m) || *m == members.len()).collect();
        let mut blends: Vec<(usize, Losses)> = sizes.into_iter().map(|m| (m, Losses::default())).collect();
        for at in 0..self.folds.len() {
            let mut stack = Stack::default();
            for (m, (recipe, weight)) in members.iter().enumerate() {
                self.step(recipe, 1)?;
                let metric = self.metric_on(recipe, at);
                let (fold, judge) = (self.folds[at].1, self.judge);
                let added = metric.and_then(|metric| in_pool(|| stack.add(&metric, *weight, fold, judge)));
                if added.is_err() {
                    blends.retain(|(size, _)| *size <= m);
                    break;
                }
                if let Some(blend) = blends.iter_mut().find(|(size, _)| *size == m + 1) {
                    let Ok(losses) = in_pool(|| stack.losses(fold, judge)) else {
                        blends.retain(|(size, _)| *size <= m);
                        break;
                    };
                    blend.1.extend(&losses);
                }
            }
        }
        Ok(blends)
    }

    /// A recipe's metric on one fold: kept, or learned.
    fn metric_on(&mut self, recipe: &Recipe, fold: usize) -> Result<Metric> {
        let trial = self.trials.iter().position(|trial| trial.recipe == *recipe);
        if let Some(metric) = trial.and_then(|trial| self.metrics.remove(&(trial, fold))) {
            return Ok(metric);
        }
        let training = &self.folds[fold].0;
        in_pool(|| recipe.fit_on(training))
    }

    /// A blend, or what it gives way to.
    fn guarded(&self, blended: Blended) -> Blended {
        let ranking = self.ranking();
        let plain = ranking.iter().copied().find(|&i| self.trials[i].recipe.is_plain());
        let member = |i: &usize| blended.members.iter().any(|member| member.0 == self.trials[*i].recipe);
        let best = ranking.iter().copied().find(member).unwrap_or(ranking[0]);
        let losses = |trial: usize| &self.losses[trial].compared[..];
        match guard(&blended.losses.compared, losses(best), plain.map(losses), self.rows) {
            Guard::Keep => blended,
            Guard::Best => self.alone(best),
            Guard::Plain => plain.map_or(blended, |plain| self.alone(plain)),
        }
    }

    /// One recipe and how it did.
    fn alone(&self, trial: usize) -> Blended {
        let Trial { recipe, error, .. } = &self.trials[trial];
        Blended { members: vec![(recipe.clone(), 1.0)], error: *error, losses: self.losses[trial].clone() }
    }

    fn too_much_to_blend(&self, members: &[(Recipe, f64)]) -> bool {
        let work: f64 = members.iter().map(|(recipe, _)| self.work(recipe, 1)).sum();
        // Once a fold, and once for all rows.
        self.budget.is_exceeded_by((self.folds.len() + 1) as f64 * work)
    }
}

/// What a blend gives way to.
#[derive(Debug, PartialEq, Eq)]
enum Guard {
    Keep,
    /// The best member of the blend alone.
    Best,
    /// The plain distance.
    Plain,
}

/// A blend gives way to the plain distance where it does worse, and to its best member where it does worse by more than a
/// standard error, by the losses of the same rows.
fn guard(blend: &[f32], best: &[f32], plain: Option<&[f32]>, rows: usize) -> Guard {
    if plain.is_some_and(|plain| difference(blend, plain, rows).0 > 0.0) {
        return Guard::Plain;
    }
    let (gap, standard_error) = difference(blend, best, rows);
    if gap > standard_error { Guard::Best } else { Guard::Keep }
}

/// Recipes with their weights, the best first, and how they do together.
#[derive(Debug, Clone)]
pub(crate) struct Blended {
    pub(crate) members: Vec<(Recipe, f64)>,
    /// The criterion on held-out rows.
    pub(crate) error: f64,
    pub(crate) losses: Losses,
}

impl Blended {
    /// A recipe of which nothing is known.
    pub(crate) fn untried(recipe: Recipe) -> Self {
        Self { members: vec![(recipe, 1.0)], error: f64::NAN, losses: Losses::default() }
    }

    /// Whether it does better on the same rows by more than a standard error: else the other, simpler, is preferred.
    pub(crate) fn beats(&self, simpler: &Self, rows: usize) -> bool {
        let (gap, standard_error) = difference(&self.losses.compared, &simpler.losses.compared, rows);
        gap < -standard_error
    }
}

/// The rows of a fold as the members of a blend see them, side by side: their distances are the blend's, without its matrix.
#[derive(Default)]
struct Stack {
    columns: usize,
    voters: Vec<f64>,
    queries: Vec<f64>,
    /// One member is taken as it is.
    alone: Option<(Rows, Rows)>,
    members: usize,
}

impl Stack {
    fn add(&mut self, metric: &Metric, weight: f64, fold: &Fold, judge: Judge) -> Result<()> {
        let (voters, queries) = (metric.transform(fold.voters.rows())?, metric.transform(fold.test.rows())?);
        let unit = (weight / neighbourhood(&voters, judge.k)?).sqrt();
        let beside = |known: &[f64], more: &Rows, before: usize| -> Vec<f64> {
            let mut all = Vec::with_capacity(known.len() + more.values().len());
            for i in 0..more.len() {
                all.extend_from_slice(&known[i * before..(i + 1) * before]);
                all.extend(more.row(i).iter().map(|x| unit * x));
            }
            all
        };
        self.voters = beside(&self.voters, &voters, self.columns);
        self.queries = beside(&self.queries, &queries, self.columns);
        self.columns += voters.columns();
        self.members += 1;
        self.alone = (self.members == 1).then_some((voters, queries));
        Ok(())
    }

    fn losses(&self, fold: &Fold, judge: Judge) -> Result<Losses> {
        if let Some((voters, queries)) = &self.alone {
            return judge.losses(fold, voters.clone(), queries);
        }
        let rows = |values: &[f64]| {
            Rows::new(values.to_vec(), self.columns).map_err(|_| Error::OutOfRange { what: "the metric" })
        };
        judge.losses(fold, rows(&self.voters)?, &rows(&self.queries)?)
    }
}

/// Metrics as they are added up: `A = LᵀL`, with the members' components below each other in `L`.
struct Sum {
    /// In units of the standard deviations no column outweighs the others, however they are measured.
    statistics: ColumnStatistics,
    l: Mat<f64>,
}

impl Sum {
    fn new(statistics: ColumnStatistics) -> Self {
        let d = statistics.mean.len();
        Self { statistics, l: Mat::zeros(0, d) }
    }

    /// `A += w·A_i/s_i`, with `s_i` of these rows.
    fn add(&mut self, metric: &Metric, weight: f64, rows: &Rows, k: usize) -> Result<()> {
        let unit = (weight / neighbourhood(&metric.transform(rows)?, k)?).sqrt();
        let (l, units) = (metric.components(), &self.statistics.scale);
        let scaled = |i: usize, j: usize| {
            unit * l[(i, j)] * metric.scale().map_or(units[j], |scale| units[j] / scale[j])
        };
        let before = self.l.nrows();
        self.l = Mat::from_fn(before + l.nrows(), l.ncols(), |i, j| {
            if i < before { self.l[(i, j)] } else { scaled(i - before, j) }
        });
        Ok(())
    }

    /// In principal axes. Of `LᵀL` and `LLᵀ`, which have the same eigenvalues, the smaller is factorised.
    fn metric(&self) -> Result<Metric> {
        let (l, d) = (self.l.as_ref(), self.l.ncols());
        let wide = l.nrows() < d;
        let gram = if wide { product(l, l.transpose()) } else { product(l.transpose(), l) };
        if !(0..gram.ncols()).all(|j| gram.col(j).iter().all(|x| x.is_finite())) {
            return Err(Error::OutOfRange { what: "the metric" });
        }
        let e = eigen(gram.as_ref(), "A", &mut Workspace::default())?;
        let least = e.values.last().copied().unwrap_or(0.0) * f64::EPSILON * d as f64;
        let kept: Vec<usize> = (0..e.values.len()).rev().filter(|&i| e.values[i] > least).collect();
        if kept.is_empty() {
            // Squares of very small cells are 0.
            return Err(Error::OutOfRange { what: "the metric" });
        }
        let components = if wide {
            product(Mat::from_fn(kept.len(), l.nrows(), |i, j| e.vectors[(j, kept[i])]).as_ref(), l)
        } else {
            Mat::from_fn(kept.len(), d, |i, j| e.values[kept[i]].sqrt() * e.vectors[(j, kept[i])])
        };
        Metric::computed(components, self.statistics.mean.clone(), Some(self.statistics.scale.clone()))
    }
}

/// Follows every recipe on all rows and adds the metrics up; with the diagnostics of the first.
///
/// # Errors
/// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart in
/// scale, or too much memory needed.
pub(crate) fn blend(
    members: &[(Recipe, f64)],
    training: TrainingSums<'_>,
    k: usize,
) -> Result<(Metric, Option<Diagnostics>)> {
    if let [(only, _)] = members {
        return only.fit_diagnosed(&training);
    }
    // A sum is no more accurate than its largest terms.
    let judge = training.judge;
    let training = &training.for_trials(judge);
    let mut sum = Sum::new(training.statistics.clone());
    let mut diagnostics = None;
    for (recipe, weight) in members {
        let (metric, own) = recipe.fit_diagnosed(training)?;
        sum.add(&metric, *weight, training.data.rows(), k)?;
        diagnostics = diagnostics.or(own);
    }
    Ok((sum.metric()?, diagnostics))
}

/// The mean squared distance to the k-th neighbour; of rows that lie on each other, to their mean.
fn neighbourhood(rows: &Rows, k: usize) -> Result<f64> {
    let step = rows.len().div_ceil(MEASURED).max(1);
    let some: Vec<usize> = (0..rows.len()).step_by(step).collect();
    // One more, for a row finds itself.
    let found = Knn::new(rows.clone())?.search(&rows.subset(&some), (k + 1).min(rows.len()))?;
    let last = |i: usize| found.distances(i).last().map_or(0.0, |distance| distance * distance);
    let mean = (0..found.len()).map(last).sum::<f64>() / found.len().max(1) as f64;
    if mean > 0.0 {
        return Ok(mean);
    }
    let spread: f64 = ColumnStatistics::of(rows).scale.iter().map(|scale| scale * scale).sum();
    Ok(if spread > 0.0 { spread } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The losses of a hundred rows, so many of them 1 from one on.
    fn losses(first: usize, wrong: usize) -> Vec<f32> {
        (0..100).map(|i| if (first..first + wrong).contains(&i) { 1.0 } else { 0.0 }).collect()
    }

    #[test]
    fn a_blend_that_is_clearly_worse_than_its_best_member_is_not_taken() {
        let of = |blend, best, plain: Option<usize>| {
            guard(&losses(5, blend), &losses(0, best), plain.map(|wrong| losses(0, wrong)).as_deref(), 100)
        };
        assert_eq!(of(60, 18, Some(70)), Guard::Best);
        // Eleven rows differ, one more for the worse: within a standard error of three rows.
        assert_eq!(of(19, 18, None), Guard::Keep);
        assert_eq!(of(17, 18, Some(40)), Guard::Keep);
        assert_eq!(of(20, 18, Some(19)), Guard::Plain);
        assert_eq!(of(60, 43, Some(43)), Guard::Plain);
    }
}
