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
use crate::auto::evaluator::Ground;
use crate::auto::folds::{Fold, WRONG_AT_K, difference};
use crate::auto::race::smoothed;
use crate::auto::recipe::Recipe;
use crate::auto::search::{Kind, Search, in_pool};
use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Rows};
use crate::error::{Error, Result};
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
/// How much more error a member may have than the best recipe.
const WITHIN: f64 = 1.3;
/// So many rows say as much as the prior for simple recipes.
const PRIOR_ROWS: f64 = 200.0;
/// Rows whose neighbourhoods are measured.
const MEASURED: usize = 500;

impl Search<'_, '_> {
    /// The best two recipes of each kind and two more that start differently, if they are not far behind the best of
    /// all; best first, with their weights. The plain distance only where it is the best.
    pub(crate) fn members(&self) -> Vec<(Recipe, f64)> {
        let order = self.ranking();
        let Some(&first) = order.first() else { return Vec::new() };
        let best = &self.trials[first];
        if best.recipe.t.is_none() {
            return vec![(best.recipe.clone(), 1.0)];
        }
        let depth = self.wrong[first].len();
        let mut scored: Vec<(usize, f64)> = order
            .into_iter()
            .filter(|&i| {
                let near = self.trials[i].smoothed <= WITHIN * best.smoothed;
                self.trials[i].recipe.t.is_some() && near && self.wrong[i].len() == depth
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
        let like = |kind: Kind| members.iter().filter(|member| member.0 == kind).count() as f64;
        members.iter().map(|(kind, recipe, weight)| (recipe.clone(), weight / like(*kind))).collect()
    }

    /// What a recipe weighs: `exp(−gap/doubt)`, its error above the least in standard errors, times a prior for simple
    /// recipes, `exp(−steps − 2t)`, that counts as much as [`PRIOR_ROWS`] rows do. On a hundred rows the errors of two
    /// hundred recipes are mostly chance.
    fn score(&self, trial: usize, first: usize) -> f64 {
        let recipe = &self.trials[trial].recipe;
        let gap = self.trials[trial].smoothed - self.trials[first].smoothed;
        let fit = if gap > 0.0 { gap / self.doubt(trial, first) } else { 0.0 };
        let last = recipe.rounds.last().map_or(recipe.t, |round| Some(round.t)).unwrap_or(0.0);
        (-fit - PRIOR_ROWS / (PRIOR_ROWS + self.rows as f64) * (recipe.steps() + 2.0 * last)).exp()
    }

    /// The members to blend, and how that does; none if nothing was tried.
    pub(crate) fn choose(&mut self) -> Result<Option<Blended>> {
        self.deepen()?;
        let mut members = self.members();
        while self.too_much_to_blend(&members) && members.pop().is_some() {}
        match self.ranking().first() {
            None => Ok(None),
            Some(&first) if members.is_empty() => Ok(Some(self.alone(first))),
            Some(_) => self.best_size(members).map(Some),
        }
    }

    /// The first of the members, as many as do not do worse on held-out rows, by more than
    /// one standard error, than the number that does best; then [`Search::guarded`].
    ///
    /// The best recipe was chosen for its error among hundreds, so that its error flatters it; a blend's does less.
    fn best_size(&mut self, mut members: Vec<(Recipe, f64)>) -> Result<Blended> {
        let votes = self.votes_of_blends(&members)?;
        let wrong: Vec<Vec<u8>> = votes.iter().map(|votes| smoothed(votes)).collect();
        let total = |votes: &Vec<u8>| votes.iter().map(|&vote| u64::from(vote)).sum::<u64>();
        let Some(best) = (0..wrong.len()).min_by_key(|&m| total(&wrong[m])) else {
            return Ok(self.alone(self.ranking()[0]));
        };
        let near = |&m: &usize| {
            let (gap, doubt) = difference(&wrong[m], &wrong[best], self.rows);
            gap <= doubt
        };
        let last = (0..wrong.len()).rev().find(near).unwrap_or(best);
        members.truncate(last + 1);
        let error = share_wrong(&votes[last]);
        Ok(self.guarded(Blended { members, error, wrong: wrong[last].clone() }))
    }

    /// The votes of the first member, the first two, and so on; fewer where a metric cannot be made.
    fn votes_of_blends(&mut self, members: &[(Recipe, f64)]) -> Result<Vec<Vec<u8>>> {
        let mut votes: Vec<Vec<u8>> = vec![Vec::new(); members.len()];
        for at in 0..self.folds.len() {
            let mut sum = Sum::new(self.folds[at].0.statistics.clone());
            for m in 0..votes.len() {
                self.step(&members[m].0, 1)?;
                let (fold, k) = (&self.folds[at], self.auto.k);
                let Ok(more) = in_pool(|| votes_with(&mut sum, fold, &members[m], k)) else {
                    votes.truncate(m);
                    break;
                };
                votes[m].extend(more);
            }
        }
        Ok(votes)
    }

    /// A blend, or what it gives way to.
    fn guarded(&self, blended: Blended) -> Blended {
        let ranking = self.ranking();
        let plain = ranking.iter().copied().find(|&i| self.trials[i].recipe.t.is_none());
        let member = |i: &usize| blended.members.iter().any(|member| member.0 == self.trials[*i].recipe);
        let best = ranking.iter().copied().find(member).unwrap_or(ranking[0]);
        let votes = |trial: usize| &self.wrong[trial][..];
        match guard(&blended.wrong, votes(best), plain.map(votes), self.rows) {
            Guard::Keep => blended,
            Guard::Best => self.alone(best),
            Guard::Plain => plain.map_or(blended, |plain| self.alone(plain)),
        }
    }

    /// One recipe and how it did.
    fn alone(&self, trial: usize) -> Blended {
        let Trial { recipe, error, .. } = &self.trials[trial];
        Blended { members: vec![(recipe.clone(), 1.0)], error: *error, wrong: self.wrong[trial].clone() }
    }
}

/// The votes of one fold under a sum with one more member.
fn votes_with(
    sum: &mut Sum,
    (ground, fold): &(Ground<'_>, &Fold),
    (recipe, weight): &(Recipe, f64),
    k: usize,
) -> Result<Vec<u8>> {
    let own = recipe.fit_on(ground)?;
    sum.add(&own, *weight, fold.voters.rows(), k)?;
    // One alone is taken as it is.
    let metric = if sum.members == 1 { own } else { sum.metric()? };
    let seen = |part: &Dataset| metric.transform(part.rows());
    fold.wrong(seen(&fold.voters)?, &seen(&fold.test)?, k)
}

/// What a blend gives way to.
#[derive(Debug, PartialEq, Eq)]
enum Guard {
    Keep,
    /// Its best member alone.
    Best,
    /// The plain distance.
    Plain,
}

/// A blend gives way to the plain distance where it does worse, and to its best member where it does worse by more than a
/// standard error, by the quarters of a wrong vote of the same rows.
fn guard(blend: &[u8], best: &[u8], plain: Option<&[u8]>, rows: usize) -> Guard {
    if plain.is_some_and(|plain| difference(blend, plain, rows).0 > 0.0) {
        return Guard::Plain;
    }
    let (gap, doubt) = difference(blend, best, rows);
    if gap > doubt { Guard::Best } else { Guard::Keep }
}

/// The share of rows that k neighbours get wrong.
fn share_wrong(votes: &[u8]) -> f64 {
    votes.iter().filter(|&&vote| vote & WRONG_AT_K != 0).count() as f64 / votes.len().max(1) as f64
}

/// Recipes with their weights, the best first, and how they do together.
pub(crate) struct Blended {
    pub(crate) members: Vec<(Recipe, f64)>,
    /// The share of held-out rows put into a wrong class.
    pub(crate) error: f64,
    /// The quarters of a wrong vote of every one of them.
    pub(crate) wrong: Vec<u8>,
}

impl Blended {
    /// Whether it does better on the same rows by more than a standard error: else the other, simpler, is preferred.
    pub(crate) fn beats(&self, simpler: &Self, rows: usize) -> bool {
        let (gap, doubt) = difference(&self.wrong, &simpler.wrong, rows);
        gap < -doubt
    }
}

/// Metrics as they are added up: `A = LᵀL`, with the members' components below each other in `L`.
struct Sum {
    /// In units of the standard deviations no column outweighs the others, however they are measured.
    statistics: ColumnStatistics,
    l: Mat<f64>,
    members: usize,
}

impl Sum {
    fn new(statistics: ColumnStatistics) -> Self {
        let d = statistics.mean.len();
        Self { statistics, l: Mat::zeros(0, d), members: 0 }
    }

    /// `A += w·A_i/s_i`, with `s_i` of these rows.
    fn add(&mut self, metric: &Metric, weight: f64, rows: &Rows, k: usize) -> Result<()> {
        let unit = (weight / neighbourhood(&metric.transform(rows)?, k)?).sqrt();
        let (l, units) = (metric.components(), &self.statistics.scale);
        let scaled = |i: usize, j: usize| {
            unit * l[(i, j)] * metric.scale().map_or(units[j], |scale| units[j] / scale[j])
        };
        self.members += 1;
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

/// Follows every recipe on all rows and adds the metrics up.
///
/// # Errors
/// As [`Recipe::fit`].
pub(crate) fn blend(members: &[(Recipe, f64)], ground: &Ground<'_>, k: usize) -> Result<Metric> {
    if let [(only, _)] = members {
        return only.fit_on(ground);
    }
    let mut sum = Sum::new(ground.statistics.clone());
    for (recipe, weight) in members {
        sum.add(&recipe.fit_on(ground)?, *weight, ground.data.rows(), k)?;
    }
    sum.metric()
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

    /// The votes on a hundred rows, so many of them all wrong from one on.
    fn votes(first: usize, wrong: usize) -> Vec<u8> {
        (0..100).map(|i| if (first..first + wrong).contains(&i) { 4 } else { 0 }).collect()
    }

    #[test]
    fn a_blend_that_is_clearly_worse_than_its_best_member_is_not_taken() {
        let of = |blend, best, plain: Option<usize>| {
            guard(&votes(5, blend), &votes(0, best), plain.map(|wrong| votes(0, wrong)).as_deref(), 100)
        };
        assert_eq!(of(60, 18, Some(70)), Guard::Best);
        // Eleven rows differ, one more for the worse: within a standard error of three rows.
        assert_eq!(of(19, 18, None), Guard::Keep);
        assert_eq!(of(17, 18, Some(40)), Guard::Keep);
        assert_eq!(of(20, 18, Some(19)), Guard::Plain);
        assert_eq!(of(60, 43, Some(43)), Guard::Plain);
    }
}
