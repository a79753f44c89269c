//! MMC: metric learning for clustering with side information (Xing, Ng, Jordan, Russell, NIPS 2002).
//!
//! # Formula
//! ```text
//! full:      max_A  log Σ_𝒟 w √d_A(x_i, x_j)     with  Σ_𝒮 w d_A(x_i, x_j) = ⟨W, A⟩ ≤ t,  A ⪰ 0
//! diagonal:  min_a  Σ_𝒮 w d_A(x_i, x_j) − log Σ_𝒟 w √d_A(x_i, x_j),     A = diag(a), a ≥ 0
//! ```
//! with w the weight of a pair, `W = Σ_𝒮 w xxᵀ`, a start at `A = 0.1·I`, and t a hundredth of `⟨W, A⟩` there.
//!
//! Full: A is projected onto the half-space and the cone (until the constraint holds to 1 %), then moved
//! along the gradient made orthogonal to W; the step grows by 1.05 when the objective rose and is halved,
//! from the last good A, when it did not. The projection is `(A − μW)₊`, with the μ ≥ 0 that meets the
//! constraint found by secants: the nearest point of the intersection, for which projecting onto the
//! two sets in turn is a slower way to some point of it. Then A is scaled to `⟨W, A⟩ = t`, at which the
//! objective of a given direction is largest: what is left of the 1 % would drown small gains.
//!
//! `W` gets a ridge of 1e-10 of the variance of all pairs: where similar pairs do not differ at all, the
//! objective would have no maximum.

mod diagonal;

use crate::constraints::{Constraints, metric_of};
use crate::mmc::diagonal::learn_diagonal;
use faer::Mat;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Outcome, Report, Training, fields};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::eigen::eigen;
use mahala_kernels::reduce::squared_norm;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::ControlFlow;

/// The ridge of `W`, as a share of the sum over all pairs.
pub(crate) const RIDGE: f64 = 1e-10;

/// Parameters of MMC. An iteration is a cycle of projection and step, or a step of Newton's; the objective is
/// that of the formula.
///
/// ```
/// use mahala::learner::{Learner, Training};
/// use mahala::progress::silent;
/// use mahala_baselines::Mmc;
/// use mahala::{Dataset, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// for diagonal in [false, true] {
///     let method = Mmc { diagonal, ..Mmc::default() };
///     let a = method.learn(&Training::Labelled(&data), &mut silent)?.metric.matrix()?;
///     assert!(a[(1, 1)] > 5.0 * a[(0, 0)]);
/// }
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mmc {
    /// Learn a diagonal matrix: one weight a column.
    pub diagonal: bool,
    /// Stop when a step is shorter than this share of A (full), or lowers the objective by less (diagonal).
    /// If None: 0.01 and 0.001.
    pub tolerance: Option<f64>,
    /// Stop after this many iterations.
    pub max_iterations: usize,
    /// The seed of the pairs.
    pub seed: u64,
}

impl Default for Mmc {
    fn default() -> Self {
        Self { diagonal: false, tolerance: None, max_iterations: 100, seed: 0 }
    }
}

impl Learner for Mmc {
    fn name(&self) -> &'static str {
        "mmc"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // A, the gradient, the direction, W and three candidates with eigenvectors; the differences by kind.
        shape.matrices(16.0, 0.0) + shape.differences(4.0)
    }

    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        if self.max_iterations == 0 {
            let allowed = "at least 1";
            return Err(Error::Parameter { name: "max_iterations", value: "0".into(), allowed });
        }
        let tolerance = self.tolerance.unwrap_or(if self.diagonal { 1e-3 } else { 1e-2 });
        if !(tolerance >= 0.0 && tolerance.is_finite()) {
            let (value, allowed) = (tolerance.to_string(), "finite and at least 0");
            return Err(Error::Parameter { name: "tolerance", value, allowed });
        }
        let constraints = Constraints::of(training, self.name(), self.seed)?;
        let (a, report) = if self.diagonal {
            learn_diagonal(&Sides::of(&constraints)?, tolerance, self.max_iterations, progress)
        } else {
            self.ascend(&Sides::of(&constraints)?, tolerance, progress)?
        };
        // The pairs' distances are in a power of two; their logarithm is not.
        let shift = f64::from(constraints.exponent) * std::f64::consts::LN_2;
        let objective = report.objective.map(|x| if self.diagonal { x - shift } else { x + shift });
        Ok(Learned::new(metric_of(a.as_ref(), training.rows())?, Report { objective, ..report }))
    }
}

/// The similar pairs, summed, and the dissimilar ones.
pub(crate) struct Sides {
    /// `W = Σ_𝒮 w xxᵀ`
    pub(crate) similar: Mat<f64>,
    /// The differences of dissimilar pairs, one a row.
    pub(crate) x: Mat<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Sides {
    fn of(constraints: &Constraints) -> Result<Self> {
        let ((s, ws), (x, weights)) = (constraints.of_kind(true), constraints.of_kind(false));
        let reason = || format!("none of the {} pairs whose rows differ is marked so", constraints.len());
        if ws.is_empty() {
            return Err(Error::NoSimilarPair { reason: reason() });
        }
        if weights.is_empty() {
            return Err(Error::NoDissimilarPair { reason: reason() });
        }
        let mut similar = weighted_gram(s.transpose(), &ws);
        let dissimilar = |j: usize| x.col(j).iter().zip(&weights).map(|(x, w)| w * x * x).sum::<f64>();
        for j in 0..similar.ncols() {
            similar[(j, j)] += RIDGE * (similar[(j, j)] + dissimilar(j));
        }
        Ok(Self { similar, x, weights })
    }

    /// `√d_A` of every dissimilar pair.
    fn distances(&self, a: &Mat<f64>) -> Vec<f64> {
        let xa = product(self.x.as_ref(), a.as_ref());
        let mut squared = vec![0.0; self.x.nrows()];
        for j in 0..self.x.ncols() {
            let cells = xa.col(j).iter().zip(self.x.col(j).iter());
            squared.iter_mut().zip(cells).for_each(|(sum, (p, x))| *sum += p * x);
        }
        squared.into_iter().map(|x: f64| x.max(0.0).sqrt()).collect()
    }

    /// `Σ_𝒟 w √d_A`
    fn sum(&self, distances: &[f64]) -> f64 {
        self.weights.iter().zip(distances).map(|(w, x)| w * x).sum()
    }

    /// The gradient of the objective, made orthogonal to `W` and normalised; None if it is 0 then.
    fn direction(&self, distances: &[f64]) -> Option<Mat<f64>> {
        let least = 1e-6 * self.sum(distances) / self.weights.iter().sum::<f64>();
        let weights: Vec<f64> =
            self.weights.iter().zip(distances).map(|(w, x)| w / (2.0 * x.max(least))).collect();
        let gradient = weighted_gram(self.x.transpose(), &weights);
        let share = inner(&gradient, &self.similar) / squared_norm(self.similar.as_ref());
        let mut direction = combined(&gradient, -share, &self.similar);
        let length = squared_norm(direction.as_ref()).sqrt();
        if length.is_nan() || length <= 1e-12 * squared_norm(gradient.as_ref()).sqrt() {
            return None;
        }
        for j in 0..direction.ncols() {
            direction.as_mut().col_mut(j).iter_mut().for_each(|x| *x /= length);
        }
        Some(direction)
    }

    /// The nearest point of the cone with `⟨W, A⟩ ≤ 1.01·t`, scaled to `t`; unless it cannot be found.
    fn projected(&self, a: &Mat<f64>, t: f64) -> Result<Option<Mat<f64>>> {
        let inside = |mu: f64| -> Result<(Mat<f64>, f64)> {
            let moved = combined(a, -mu, &self.similar);
            let e = eigen(moved.as_ref(), "A", &mut Workspace::default())?;
            let values: Vec<f64> = e.values.iter().map(|x| x.max(0.0)).collect();
            let a = weighted_gram(e.vectors.as_ref(), &values);
            let value = inner(&a, &self.similar);
            Ok((a, value))
        };
        let (mut mu, (mut near, mut value)) = (0.0, inside(0.0)?);
        // The value falls and is convex in μ, no faster than by ‖W‖²: no step goes too far.
        let mut slope = squared_norm(self.similar.as_ref());
        for _ in 0..50 {
            if value <= 1.01 * t {
                let scaled = combined(&Mat::zeros(a.nrows(), a.ncols()), t / value, &near);
                return Ok(Some(scaled).filter(|_| value > 0.0));
            }
            let next = mu + (value - t) / slope;
            let (a, lower) = inside(next)?;
            slope = (value - lower) / (next - mu);
            (mu, near, value) = (next, a, lower);
            if slope.is_nan() || slope <= 0.0 {
                break;
            }
        }
        Ok(None)
    }
}

impl Mmc {
    fn ascend(
        &self,
        sides: &Sides,
        tolerance: f64,
        progress: &mut Progress<'_>,
    ) -> Result<(Mat<f64>, Report)> {
        let d = sides.similar.ncols();
        let mut a = Mat::from_fn(d, d, |i, j| if i == j { 0.1 } else { 0.0 });
        let t = inner(&a, &sides.similar) / 100.0;
        let mut best: Option<(Mat<f64>, f64)> = None;
        let mut direction = Mat::zeros(d, d);
        let (mut step, mut iterations) = (0.1, 0);
        let outcome = loop {
            let projected = sides.projected(&a, t)?.map(|a| {
                let distances = sides.distances(&a);
                (sides.sum(&distances), distances, a)
            });
            iterations += 1;
            match projected {
                Some((sum, distances, next)) if best.as_ref().is_none_or(|best| sum > best.1) => {
                    best = Some((next, sum));
                    step *= 1.05;
                    match sides.direction(&distances) {
                        Some(new) => direction = new,
                        None => break Outcome::Converged,
                    }
                }
                _ => step *= 0.5,
            }
            let Some((from, sum)) = &best else { break Outcome::NoDescent };
            let seen = Step::iteration(iterations, Some(sum.ln()));
            if let ControlFlow::Break(stop) = progress(seen) {
                let outcome = Outcome::from(stop);
                break outcome;
            }
            if step < tolerance * squared_norm(from.as_ref()).sqrt() {
                break Outcome::Converged;
            }
            if iterations >= self.max_iterations {
                break Outcome::IterationLimit;
            }
            a = combined(from, step, &direction);
        };
        let (a, sum) = best.unwrap_or_else(|| (a.clone(), sides.sum(&sides.distances(&a))));
        Ok((
            a,
            Report { iterations, objective: Some(sum.ln()).filter(|x| x.is_finite()), outcome, choice: None },
        ))
    }
}

/// `⟨A, B⟩`
fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| a.col(j).iter().zip(b.col(j).iter()).map(|(x, y)| x * y).sum::<f64>()).sum()
}

/// `A + factor·B`
fn combined(a: &Mat<f64>, factor: f64, b: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] + factor * b[(i, j)])
}
