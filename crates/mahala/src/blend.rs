//! Several metrics as one: what the automatic mode returns.
//!
//! # Formula
//! ```text
//! A = Σ_i w_i A_i/s_i,     w_i = (e_best/e_i)⁴/m_i
//! ```
//! with `s_i` the mean squared distance under `A_i` from a row to its k-th neighbour, `e_i` the cross-validated
//! error, and `m_i` the number of members of the same kind. A squared distance is linear in `A`, so the blend's is the weighted sum of the members', each measured in the
//! size of its own neighbourhoods. Recipes that
//! cross-validation can hardly tell apart err on different rows; their blend errs less than most of them.

use crate::auto::{Kind, Search};
use crate::auto_folds::{WRONG_AT_K, quarters};
use crate::dataset::{Dataset, Rows};
use crate::error::{Error, Result};
use crate::knn::Knn;
use crate::linalg::{eigen, weighted_gram};
use crate::memory::Spare;
use crate::metric::Metric;
use crate::recipe::{Ground, Recipe, finite};
use crate::standardize::ColumnStatistics;
use faer::Mat;

/// Recipes of each kind in a blend.
const EACH: usize = 4;
/// How much more error a member may have than the best recipe.
const WITHIN: f64 = 1.3;
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
        let mut members: Vec<(Kind, Recipe, f64)> = Vec::new();
        for i in order {
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
            if !full && !known && trial.smoothed <= WITHIN * best.smoothed {
                let weight =
                    if trial.smoothed > 0.0 { (best.smoothed / trial.smoothed).powi(4) } else { 1.0 };
                members.push((kind, trial.recipe.clone(), weight));
            }
        }
        let like = |kind: Kind| members.iter().filter(|member| member.0 == kind).count() as f64;
        members.iter().map(|(kind, recipe, weight)| (recipe.clone(), weight / like(*kind))).collect()
    }

    /// How a blend does on held-out rows: the share put into a wrong class, and the quarters of a wrong vote of each.
    pub(crate) fn error_of(&mut self, members: &[(Recipe, f64)]) -> Result<(f64, Vec<u8>)> {
        let mut votes = Vec::new();
        for at in 0..self.folds.len() {
            let (mut voters, mut queries) = (Vec::new(), Vec::new());
            for (recipe, weight) in members {
                self.step(recipe, 1)?;
                let (ground, fold) = &self.folds[at];
                let (frame, path, t) = ground.follow(recipe)?;
                let seen = |part: &Dataset| -> Result<Rows> {
                    path.rows_at(&path.coordinates(&frame.place(part.rows())?), t)
                };
                let seen = (seen(&fold.voters)?, seen(&fold.test)?);
                let unit = (weight / neighbourhood(&seen.0, self.auto.k)?).sqrt();
                voters.push((seen.0, unit));
                queries.push((seen.1, unit));
            }
            let fold = self.folds[at].1;
            let k = (self.auto.k + 2 + usize::from(fold.own.is_some())).min(fold.voters.len());
            let found = Knn::new(side_by_side(&voters)?)?.search(&side_by_side(&queries)?, k)?;
            votes.extend(quarters(&found, fold, self.auto.k));
        }
        let wrong = votes.iter().filter(|&&vote| vote & WRONG_AT_K != 0).count();
        let error = wrong as f64 / votes.len().max(1) as f64;
        Ok((error, votes.into_iter().map(|vote| vote & 7).collect()))
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
    // In units of the standard deviations no column outweighs the others, however they are measured.
    let (data, statistics) = (ground.data, ground.statistics.clone());
    let d = data.columns();
    let mut a = Mat::<f64>::zeros(d, d);
    for (recipe, weight) in members {
        let metric = recipe.fit_on(ground)?;
        let unit = weight / neighbourhood(&metric.transform(data.rows())?, k)?;
        let l = metric.components();
        let scaled = |i: usize, j: usize| {
            l[(i, j)] * metric.scale().map_or(statistics.scale[j], |scale| statistics.scale[j] / scale[j])
        };
        let turned = Mat::from_fn(d, l.nrows(), |j, i| scaled(i, j));
        a += weighted_gram(turned.as_ref(), &vec![unit; l.nrows()]);
    }
    if !(0..d).all(|j| a.col(j).iter().all(|x| x.is_finite())) {
        return Err(Error::OutOfRange { what: "the metric" });
    }
    let e = eigen(a.as_ref(), "A", &mut Spare::default())?;
    let least = e.values.last().copied().unwrap_or(0.0) * f64::EPSILON * d as f64;
    let kept: Vec<usize> = (0..d).rev().filter(|&i| e.values[i] > least).collect();
    let components = Mat::from_fn(kept.len(), d, |i, j| e.values[kept[i]].sqrt() * e.vectors[(j, kept[i])]);
    Metric::new(components, statistics.mean, Some(statistics.scale))
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

/// Tables with the same rows, each times its factor, as one.
fn side_by_side(parts: &[(Rows, f64)]) -> Result<Rows> {
    let n = parts.first().map_or(0, |part| part.0.len());
    let columns = parts.iter().map(|part| part.0.columns()).sum();
    let mut values = Vec::with_capacity(n * columns);
    for i in 0..n {
        for (rows, factor) in parts {
            values.extend(rows.row(i).iter().map(|x| factor * x));
        }
    }
    finite(values, columns)
}
