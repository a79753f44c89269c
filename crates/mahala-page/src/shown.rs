//! The rows of a page: a sample, in the coordinates that t weighs, with their neighbours by the plain distance.

use crate::block::{doubles, indices, singles};
use crate::columns::{LOOKED_AT, leading, weights};
use crate::{Settings, Source};
use mahala::data::{Random, Stream};
use mahala::gmml::Solution;
use mahala::neighbors::Neighbors;
use mahala::{Dataset, Error, Knn, Metric, Result, Rows};
use serde_json::{Value, json};

/// Neighbours listed for each row, unless k is larger.
const NEIGHBORS: usize = 10;

/// Columns up to which the plain rows are drawn, too: their principal axes take the cube of this.
const DRAWN_PLAIN: usize = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// The indices of the rows, ascending.
    pub(crate) rows: Vec<usize>,
    /// The coordinates kept, in descending order of λ.
    kept: Vec<usize>,
    /// The variance of every coordinate over the rows.
    variance: Vec<f64>,
    /// The coordinates kept, each with variance 1.
    z: Rows,
    plain: Neighbors,
    /// The rows on the two leading principal axes of the plain distance.
    plane: Option<Rows>,
}

/// How many neighbours are listed for each of so many rows.
pub(crate) fn neighbors(settings: &Settings, rows: usize) -> usize {
    settings.gmml.k.max(NEIGHBORS).min(rows.saturating_sub(1))
}

impl Shown {
    pub(crate) fn of(data: &Dataset, path: &Solution, settings: &Settings, t: f64) -> Result<Self> {
        let rows = drawn(data.len(), settings.max_rows, settings.gmml.seed);
        let part = data.rows().subset(&rows);
        let all = path.coordinates(&part)?;
        let (mean, variance) = moments(&all);
        let kept = leading_coordinates(path.log_eigenvalues(), &variance, settings.coordinates, t);
        let unit = |k: usize| if variance[k] > 0.0 { variance[k].sqrt() } else { 1.0 };
        let cells = (0..all.len()).flat_map(|i| kept.iter().map(move |&k| (i, k)));
        let cells = cells.map(|(i, k)| (all.row(i)[k] - mean[k]) / unit(k)).collect();
        let z = Rows::new(cells, kept.len())
            .map_err(|_| Error::OutOfRange { what: "a coordinate of the page" })?;
        let plain = plain_rows(&part, path)?;
        let plane = (plain.columns() <= DRAWN_PLAIN).then(|| plane(&plain)).transpose()?;
        let plain = Knn::new(plain)?.search_others(neighbors(settings, rows.len()))?;
        Ok(Self { rows, kept, variance, z, plain, plane })
    }

    pub(crate) fn to_json(&self, data: &Dataset, source: &Source<'_>) -> Value {
        let number = |i: usize| source.row_numbers.map_or(i as f64 + 1.0, |numbers| numbers[i] as f64);
        let near = (0..self.plain.len()).flat_map(|i| self.plain.indices(i).iter().map(|&j| j as u32));
        let far = (0..self.plain.len()).flat_map(|i| self.plain.distances(i).iter().copied());
        json!({
            "count": self.rows.len(),
            "numbers": doubles(self.rows.iter().map(|&i| number(i))),
            "codes": indices(self.rows.iter().map(|&i| data.labels().codes()[i])),
            "kept": self.kept,
            "variance": doubles(self.variance.iter().copied()),
            "z": singles((0..self.z.len()).flat_map(|i| self.z.row(i).iter().copied())),
            "listed": self.plain.k(),
            "near": indices(near),
            "distances": singles(far),
            "plane": self.plane.as_ref().map(|plane| singles((0..plane.len()).flat_map(|i| plane.row(i).to_vec()))),
        })
    }
}

/// Rows drawn at random, ascending; all, if they are no more than `most`.
fn drawn(n: usize, most: usize, seed: u64) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let mut rows = Random::of(seed, Stream::Shown).permutation(n);
    rows.truncate(most);
    rows.sort_unstable();
    rows
}

/// The mean and variance of every coordinate.
fn moments(z: &Rows) -> (Vec<f64>, Vec<f64>) {
    let n = z.len() as f64;
    let mut mean = vec![0.0; z.columns()];
    let mut variance = vec![0.0; z.columns()];
    (0..z.len()).for_each(|i| mean.iter_mut().zip(z.row(i)).for_each(|(m, x)| *m += x / n));
    for i in 0..z.len() {
        variance.iter_mut().zip(z.row(i).iter().zip(&mean)).for_each(|(v, (x, m))| *v += (x - m).powi(2) / n);
    }
    (mean, variance)
}

/// The coordinates with the largest share of the squared distances at any of a few t.
fn leading_coordinates(log_lambda: &[f64], variance: &[f64], most: usize, t: f64) -> Vec<usize> {
    let shares: Vec<Vec<f64>> = LOOKED_AT
        .into_iter()
        .chain([t])
        .map(|t| {
            let parts: Vec<f64> = weights(log_lambda, t).iter().zip(variance).map(|(w, v)| w * v).collect();
            let sum: f64 = parts.iter().sum();
            parts.into_iter().map(|part| part / sum).collect()
        })
        .collect();
    leading(log_lambda.len(), most, |k| shares.iter().map(|at| at[k]).fold(0.0, f64::max))
}

/// Rows as the plain distance sees them: in standardised columns if the metric is learned in them.
fn plain_rows(rows: &Rows, path: &Solution) -> Result<Rows> {
    let Some(scale) = path.scale() else { return Ok(rows.clone()) };
    let cells = (0..rows.len()).flat_map(|i| rows.row(i).iter().zip(scale).map(|(x, s)| x / s));
    Rows::new(cells.collect(), rows.columns())
}

fn plane(plain: &Rows) -> Result<Rows> {
    let axes = Metric::principal_axes(plain)?.transform(plain)?;
    let second = |i: usize| axes.row(i).get(1).copied().unwrap_or(0.0);
    Rows::new((0..axes.len()).flat_map(|i| [axes.row(i)[0], second(i)]).collect(), 2)
}
