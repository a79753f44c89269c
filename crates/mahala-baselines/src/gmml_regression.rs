//! GMML for regression: rows are as similar as their targets are near.
//!
//! # Formula
//! ```text
//! k_ij = exp(−(y_i − y_j)²/2h²),   S = Σ_ij k_ij (x_i − x_j)(x_i − x_j)ᵀ,   D = Σ_ij (1 − k_ij)(x_i − x_j)(x_i − x_j)ᵀ
//! A = S⁻¹ ♯_t D
//!
//! in slices b of the targets, with n_b rows, mean m_b, scatter M_b and mean target ȳ_b:
//! S = Σ_b w_b [M_b + n_b m_b m_bᵀ] − Σ_bc k_bc n_b n_c m_b m_cᵀ,   w_b = Σ_c k_bc n_c,   S + D = n·Σ_i (x_i − m)(x_i − m)ᵀ
//! ```
//! Slices make it O(nd²): rows of one slice have one target, the mean of theirs. Where there are no more distinct targets
//! than slices, each is a slice and nothing is approximated. h is in standard deviations of the targets.
//!
//! The rows are standardised, and S and D divided by the numbers of pairs in them and shrunk towards their diagonals.

use crate::pencil::Standardized;
use faer::Mat;
use mahala::data::{ColumnStatistics, Folds, Random};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::geometry::{Geodesic, Spd};
use mahala::gmml::two_step_search;
use mahala::learner::{Learned, Learner, Outcome, Training, fields};
use mahala::progress::{Progress, Step, Stop};
use mahala::{Knn, Metric, Rows};
use mahala_kernels::blas::product;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Folds on which t is chosen.
const FOLDS: usize = 5;

/// Parameters of GMML for regression.
///
/// ```
/// use mahala::Rows;
/// use mahala::learner::{Learner, Training};
/// use mahala::progress::silent;
/// use mahala_baselines::GmmlRegression;
/// // The target is the first column; the second is noise.
/// let cells: Vec<f64> = (0..40).flat_map(|i| [f64::from(i) / 40.0, f64::from(i * 17 % 40) / 40.0]).collect();
/// let targets: Vec<f64> = (0..40).map(f64::from).collect();
/// let rows = Rows::new(cells, 2)?;
/// let a = GmmlRegression::default().learn(&Training::Targets(&rows, &targets), &mut silent)?.metric.matrix()?;
/// assert!(a[(0, 0)] > 3.0 * a[(1, 1)]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GmmlRegression {
    /// The place on the geodesic; chosen by the cross-validated error of k-NN regression if None.
    pub t: Option<f64>,
    /// h, in standard deviations of the targets.
    pub bandwidth: f64,
    /// The most slices of the targets.
    pub slices: usize,
    /// How far S and D are shrunk towards their diagonals.
    pub shrinkage: f64,
    /// Neighbours whose mean is the prediction, where t is chosen.
    pub k: usize,
    /// t is chosen on at most this many rows.
    pub selection_rows: usize,
    /// Decides the folds.
    pub seed: u64,
}

impl Default for GmmlRegression {
    fn default() -> Self {
        Self { t: None, bandwidth: 0.5, slices: 64, shrinkage: 0.01, k: 5, selection_rows: 20_000, seed: 0 }
    }
}

impl Learner for GmmlRegression {
    fn name(&self) -> &'static str {
        "gmml-regression"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    /// Sums and geodesics of all folds, and rows under a metric.
    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(12.0 + 4.0 * FOLDS as f64, 6.0) + 4.0 * (self.slices * shape.columns) as f64
    }

    /// Steps are the values of t tried; the objective is the mean squared error of k-NN regression, cross-validated.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let (rows, targets) = training.targets(self.name())?;
        self.check()?;
        if rows.len() < 3 {
            return Err(Error::TooFewRows { what: "gmml-regression", needed: 3, seen: rows.len() });
        }
        let y = standardized_targets(targets)?;
        if let Some(t) = self.t {
            return self.path(rows, &y)?.learned(t);
        }
        let Search { t, tried, stopped } = self.search(rows, &y, progress)?;
        let mut learned = self.path(rows, &y)?.learned(t)?;
        let unit = ColumnStatistics::of(&Rows::new(targets.to_vec(), 1)?).scale[0];
        let errors: Vec<_> = tried.iter().map(|(t, mse)| (t, mse.sqrt() * unit)).collect();
        learned.report.choice = Some(json!({"t": t, "rmse": errors}));
        learned.report.outcome = stopped.map_or(Outcome::ClosedForm, Outcome::from);
        Ok(learned)
    }
}

/// The value chosen, all values tried with their mean squared errors, and who ended it.
struct Search {
    t: f64,
    tried: Vec<(f64, f64)>,
    stopped: Option<Stop>,
}

/// One fold: rows learned from and rows held out, with their targets.
struct Part {
    path: Path,
    train: Rows,
    own: Vec<f64>,
    test: Rows,
    held: Vec<f64>,
}

/// The geodesic of one table.
struct Path {
    rows: Standardized,
    geodesic: Geodesic,
}

impl Path {
    fn learned(&self, t: f64) -> Result<Learned> {
        let components = Metric::from_matrix(&self.geodesic.at(t)?)?.components().to_owned();
        self.rows.clone().learned(components, None)
    }
}

impl GmmlRegression {
    fn check(&self) -> Result<()> {
        let bad = |name, value: String, allowed| Err(Error::Parameter { name, value, allowed });
        if let Some(t) = self.t.filter(|t| !(0.0..=1.0).contains(t)) {
            return bad("t", t.to_string(), "between 0 and 1");
        }
        if !(self.bandwidth > 0.0 && self.bandwidth.is_finite()) {
            return bad("bandwidth", self.bandwidth.to_string(), "above 0 and finite");
        }
        if !(0.0..=1.0).contains(&self.shrinkage) {
            return bad("shrinkage", self.shrinkage.to_string(), "between 0 and 1");
        }
        let counts = [
            ("slices", self.slices, 2, "at least 2"),
            ("k", self.k, 1, "at least 1"),
            ("selection_rows", self.selection_rows, 10, "at least 10"),
        ];
        for (name, value, least, allowed) in counts {
            if value < least {
                return bad(name, value.to_string(), allowed);
            }
        }
        Ok(())
    }

    /// The search for t; stopped early, it has the best of those tried so far.
    fn search(&self, rows: &Rows, y: &[f64], progress: &mut Progress<'_>) -> Result<Search> {
        let parts = self.parts(rows, y)?;
        let (mut tried, mut stopped) = (Vec::new(), None);
        let errors = |values: &[f64]| {
            let mut error = |&t: &f64| -> Result<f64> {
                let mean = self.error(&parts, t)?;
                tried.push((t, mean));
                if let ControlFlow::Break(stop) = progress(Step::iteration(tried.len(), Some(mean))) {
                    stopped = Some(stop);
                    return Err(Error::Cancelled);
                }
                Ok(mean)
            };
            values.iter().map(&mut error).collect()
        };
        match two_step_search(errors) {
            Ok((t, tried)) => Ok(Search { t, tried, stopped }),
            Err(error) if stopped.is_none() => Err(error),
            Err(_) => {
                let best = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.5, |best| best.0);
                Ok(Search { t: best, tried, stopped })
            }
        }
    }

    /// The geodesic of each fold's training rows, with these and the rows held out.
    fn parts(&self, rows: &Rows, y: &[f64]) -> Result<Vec<Part>> {
        let mut random = Random::new(self.seed, 0);
        let mut chosen = random.permutation(rows.len());
        chosen.truncate(self.selection_rows);
        let folds = Folds::new(chosen.len(), FOLDS.min(chosen.len()), &mut random)?;
        let mut parts = Vec::new();
        for fold in 0..folds.len() {
            let [train, test] = <[Vec<usize>; 2]>::from(folds.split(fold))
                .map(|part| part.iter().map(|&i| chosen[i]).collect::<Vec<usize>>());
            let [own, held] = [&train, &test].map(|part| part.iter().map(|&i| y[i]).collect::<Vec<f64>>());
            let train = rows.subset(&train);
            parts.push(Part { path: self.path(&train, &own)?, train, own, test: rows.subset(&test), held });
        }
        Ok(parts)
    }

    /// The mean squared error of k-NN regression on the rows held out.
    fn error(&self, parts: &[Part], t: f64) -> Result<f64> {
        let (mut sum, mut rows) = (0.0, 0);
        for Part { path, train, own, test, held } in parts {
            let metric = path.learned(t)?.metric;
            let knn = Knn::new(metric.transform(train)?)?;
            let found = knn.search(&metric.transform(test)?, self.k.min(own.len()))?;
            for (i, y) in held.iter().enumerate() {
                let near = found.indices(i);
                let mean = near.iter().map(|&j| own[j]).sum::<f64>() / near.len() as f64;
                sum += (mean - y).powi(2);
            }
            rows += held.len();
        }
        Ok(sum / rows as f64)
    }

    /// The geodesic from S⁻¹ to D of standardised rows.
    fn path(&self, rows: &Rows, y: &[f64]) -> Result<Path> {
        let rows = Standardized::of(rows)?;
        let d = rows.rows.columns();
        let Sums { near, far } = sums(&rows.rows, y, self.bandwidth, self.slices);
        let shrunk = |m: &Mat<f64>, what| {
            let mean = (0..d).map(|j| m[(j, j)]).sum::<f64>() / d as f64;
            // A column that does not vary has a diagonal of 0, and a share of the mean instead.
            let cell =
                |i, j| if i == j { m[(i, j)] + 1e-9 * mean } else { (1.0 - self.shrinkage) * m[(i, j)] };
            Spd::named(Mat::from_fn(d, d, cell), what)
        };
        let geodesic = Geodesic::from_inverse(&shrunk(&near, "S")?, &shrunk(&far, "D")?)?;
        Ok(Path { rows, geodesic })
    }
}

/// Targets around their mean, in standard deviations.
fn standardized_targets(targets: &[f64]) -> Result<Vec<f64>> {
    let statistics = ColumnStatistics::of(&Rows::new(targets.to_vec(), 1)?);
    if targets.iter().all(|y| *y == targets[0]) {
        let reason = format!("all {} targets are {}", targets.len(), targets[0]);
        return Err(Error::NoDissimilarPair { reason });
    }
    let (mean, unit) = (statistics.mean[0], statistics.scale[0]);
    Ok(targets.iter().map(|y| y / unit - mean / unit).collect())
}

/// S and D over the numbers of pairs in them.
struct Sums {
    near: Mat<f64>,
    far: Mat<f64>,
}

/// The slice of each row, and the mean target of each slice. Equal targets are never divided.
fn slices(y: &[f64], most: usize) -> (Vec<usize>, Vec<f64>) {
    let mut order: Vec<usize> = (0..y.len()).collect();
    order.sort_by(|&a, &b| y[a].total_cmp(&y[b]));
    let distinct = 1 + order.windows(2).filter(|pair| y[pair[0]] < y[pair[1]]).count();
    let (mut slice, mut sums): (Vec<usize>, Vec<(f64, f64)>) = (vec![0; y.len()], vec![(0.0, 0.0)]);
    let mut share = 0;
    for (rank, &i) in order.iter().enumerate() {
        let begins = rank > 0 && y[i] > y[order[rank - 1]];
        let next = rank * most / y.len();
        if begins && (distinct <= most || next > share) {
            share = next;
            sums.push((0.0, 0.0));
        }
        slice[i] = sums.len() - 1;
        let last = sums.len() - 1;
        sums[last].0 += y[i];
        sums[last].1 += 1.0;
    }
    (slice, sums.iter().map(|(sum, count)| sum / count).collect())
}

/// The formula of the head of this file.
fn sums(x: &Rows, y: &[f64], h: f64, most: usize) -> Sums {
    let (n, d) = (x.len(), x.columns());
    let (slice, centre) = slices(y, most);
    let b = centre.len();
    let kernel = Mat::from_fn(b, b, |b, c| (-(centre[b] - centre[c]).powi(2) / (2.0 * h * h)).exp());
    let mut count = vec![0.0; b];
    let mut means = Mat::<f64>::zeros(b, d);
    for (i, &b) in slice.iter().enumerate() {
        count[b] += 1.0;
        x.row(i).iter().enumerate().for_each(|(j, x)| means[(b, j)] += x);
    }
    let means = Mat::from_fn(b, d, |b, j| means[(b, j)] / count[b]);
    let weight: Vec<f64> =
        (0..b).map(|b| (0..count.len()).map(|c| kernel[(b, c)] * count[c]).sum()).collect();
    // Σ_b w_b M_b by rows around the means of their slices.
    let root = |b: usize| weight[b].sqrt();
    let inner = Mat::from_fn(n, d, |i, j| root(slice[i]) * (x.row(i)[j] - means[(slice[i], j)]));
    let within = product(inner.transpose(), inner.as_ref());
    // Between slices by the Laplacian of k_bc n_b n_c, for similar pairs and for the rest.
    let between = |weight: &dyn Fn(usize, usize) -> f64| {
        let row: Vec<f64> = (0..b).map(|i| (0..b).map(|c| weight(i, c)).sum()).collect();
        let laplacian = Mat::from_fn(b, b, |i, c| if i == c { row[i] - weight(i, i) } else { -weight(i, c) });
        product(means.transpose(), product(laplacian.as_ref(), means.as_ref()).as_ref())
    };
    let shared = between(&|b, c| kernel[(b, c)] * count[b] * count[c]);
    let apart = between(&|b, c| (1.0 - kernel[(b, c)]) * count[b] * count[c]);
    let rest = Mat::from_fn(n, d, |i, j| {
        (n as f64 - weight[slice[i]]).max(0.0).sqrt() * (x.row(i)[j] - means[(slice[i], j)])
    });
    let outside = product(rest.transpose(), rest.as_ref());
    let similar: f64 = weight.iter().zip(&count).map(|(w, n)| w * n).sum::<f64>() - n as f64;
    let dissimilar = (n * n) as f64 - n as f64 - similar;
    let mean = |a: &Mat<f64>, b: &Mat<f64>, pairs: f64| {
        let cell = |i, j| (a[(i, j)] + b[(i, j)]) / (0.5 * pairs.max(1.0));
        Mat::from_fn(d, d, |i, j| 0.5 * (cell(i, j) + cell(j, i)))
    };
    Sums { near: mean(&within, &shared, similar), far: mean(&outside, &apart, dissimilar) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(distinct: Option<usize>) -> (Rows, Vec<f64>) {
        let mut random = Random::new(7, 0);
        let x = Rows::new((0..60 * 3).map(|_| random.uniform()).collect(), 3).unwrap();
        let target = |i: usize| distinct.map_or_else(|| x.row(i)[0] * 7.0 % 1.0, |c| (i % c) as f64 / 3.0);
        let y = (0..60).map(target).collect();
        (x, y)
    }

    #[test]
    fn sums_by_slices_are_those_over_all_pairs() {
        for (distinct, most) in [(Some(7), 7), (Some(7), 64), (None, 60)] {
            let (x, y) = example(distinct);
            let found = sums(&x, &y, 0.4, most);
            let (mut near, mut far, mut k_sum, mut rest) = (Mat::zeros(3, 3), Mat::zeros(3, 3), 0.0, 0.0);
            for i in 0..60 {
                for j in 0..i {
                    let k = (-(y[i] - y[j]).powi(2) / 0.32).exp();
                    let v: Vec<f64> = x.row(i).iter().zip(x.row(j)).map(|(a, b)| a - b).collect();
                    let outer = Mat::from_fn(3, 3, |a, b| v[a] * v[b]);
                    near += &outer * faer::Scale(k);
                    far += &outer * faer::Scale(1.0 - k);
                    (k_sum, rest) = (k_sum + k, rest + 1.0 - k);
                }
            }
            let off = |a: &Mat<f64>, b: &Mat<f64>, pairs: f64| {
                (a - b * faer::Scale(1.0 / pairs)).norm_max() / a.norm_max()
            };
            assert!(off(&found.near, &near, k_sum) < 1e-12, "{distinct:?}");
            assert!(off(&found.far, &far, rest) < 1e-12, "{distinct:?}");
        }
    }

    #[test]
    fn equal_targets_share_a_slice_and_slices_are_of_about_equal_size() {
        let y: Vec<f64> = (0..1000).map(|i| f64::from(i / 2 % 400)).collect();
        let (slice, centre) = slices(&y, 10);
        assert!((8..=10).contains(&centre.len()) && centre.is_sorted());
        for i in 0..1000 {
            for j in 0..i {
                assert!(y[i] != y[j] || slice[i] == slice[j]);
                assert!(y[i] >= y[j] || slice[i] <= slice[j]);
            }
        }
        let most = (0..centre.len()).map(|b| slice.iter().filter(|&&s| s == b).count()).max();
        assert!(most <= Some(110), "{most:?}");
    }
}
