//! LDML: logistic discriminant metric learning (Guillaumin, Verbeek and Schmid 2009).
//!
//! # Formula
//! ```text
//! p_ij = σ(b − d_A(x_i, x_j)),    σ(t) = 1/(1 + e^−t)
//! minimise over L and b   −1/m Σ_ij w_ij [similar·log p_ij + dissimilar·log(1 − p_ij)],    A = LᵀL,  m = Σ w_ij
//!
//! ∂/∂d_ij = (w_ij/m)(y_ij − p_ij),   ∂/∂b = −Σ_ij (w_ij/m)(y_ij − p_ij),    y = 1 for similar pairs, 0 for others
//! ```
//! The likelihood is concave in (A, b), so with a square L every local minimum is the minimum. Two rows are more
//! probably similar than not where `d_A` < b; b is in the report. Pairs that a metric can separate have no minimum: A
//! grows until the limit of iterations or the tolerance ends it.

use crate::constraints::Constraints;
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::pencil::checked_rank;
use faer::{Mat, MatRef};
use mahala::data::ColumnStatistics;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::eigen::eigen;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Parameters of LDML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ldml {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this.
    pub tolerance: f64,
    /// The seed of the pairs.
    pub seed: u64,
}

impl Default for Ldml {
    fn default() -> Self {
        Self { rank: None, max_iterations: 200, tolerance: 1e-6, seed: 0 }
    }
}

impl Learner for Ldml {
    fn name(&self) -> &'static str {
        "ldml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let rank = self.rank.unwrap_or(shape.columns);
        let mapped = 3.0 * shape.pairs as f64 * rank as f64;
        lbfgs::numbers(shape, rank) + shape.matrices(9.0, 0.0) + shape.differences(3.0) + mapped
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // It starts at principal axes of the differences, and gradients lie in their span.
        self.rank.map(|rank| SpanRule { standardize: false, directions: rank })
    }

    /// Iterations are L-BFGS's; the objective is the mean cross-entropy of the pairs, in nats.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let d = training.rows().columns();
        let rank = checked_rank(self.rank, d)?;
        let pairs = Constraints::of(training, self.name(), self.seed)?;
        for (kind, error) in [
            (true, Error::NoSimilarPair { reason: "none of the pairs is marked so".into() }),
            (false, Error::NoDissimilarPair { reason: "none of the pairs is marked so".into() }),
        ] {
            if !pairs.similar.contains(&kind) {
                return Err(error);
            }
        }
        // In units of the mean length of a difference.
        let x = pairs.as_mat();
        let squares = (0..x.nrows()).map(|i| x.row(i).iter().map(|x| x * x).sum::<f64>()).sum::<f64>();
        let unit = (squares / x.nrows() as f64).sqrt();
        let x = Mat::from_fn(x.nrows(), d, |i, j| x[(i, j)] / unit);
        let mut start: Vec<f64> = axes(x.as_ref(), rank)?;
        start.push(1.0);
        let total: f64 = pairs.weights.iter().sum();
        let likelihood =
            Likelihood { x: x.as_ref(), similar: &pairs.similar, weights: &pairs.weights, total };
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let mut function = |point: &[f64], gradient: &mut [f64]| likelihood.loss(point, gradient);
        let (point, mut report) = minimise(&mut function, start, &limits, progress)?;
        report.choice = Some(json!({"bias": point[rank * d]}));
        let l = MatRef::from_row_major_slice(&point[..rank * d], rank, d);
        let scaled = Mat::from_fn(rank, d, |i, j| times_power_of_two(l[(i, j)] / unit, -pairs.exponent));
        let metric = Metric::computed(scaled, ColumnStatistics::of(training.rows()).mean, None)?;
        Ok(Learned::new(metric, report))
    }
}

/// The leading principal axes of the differences, row by row.
fn axes(x: MatRef<'_, f64>, rank: usize) -> Result<Vec<f64>> {
    let d = x.ncols();
    let gram = weighted_gram(x.transpose(), &vec![1.0; x.nrows()]);
    let axes = eigen(gram.as_ref(), "the scatter of the differences", &mut Workspace::default())?.vectors;
    Ok((0..rank).flat_map(|i| axes.col(d - 1 - i).iter().copied().collect::<Vec<_>>()).collect())
}

struct Likelihood<'a> {
    /// The differences, one a row.
    x: MatRef<'a, f64>,
    similar: &'a [bool],
    weights: &'a [f64],
    total: f64,
}

impl Likelihood<'_> {
    /// The objective at `L`, row by row, and b; and its gradient.
    fn loss(&self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.x.ncols();
        let (rank, b) = ((point.len() - 1) / d, point[point.len() - 1]);
        let l = MatRef::from_row_major_slice(&point[..rank * d], rank, d);
        let mut z = product(self.x, l.transpose());
        let (mut value, mut slope) = (0.0, 0.0);
        for i in 0..z.nrows() {
            let squared: f64 = z.row(i).iter().map(|z| z * z).sum();
            let (similar, weight) = (self.similar[i], self.weights[i] / self.total);
            // log(1 + e^t) without overflow.
            let t = if similar { squared - b } else { b - squared };
            value += weight * (t.max(0.0) + (-t.abs()).exp().ln_1p());
            let p = 1.0 / (1.0 + (squared - b).exp());
            let w = weight * (f64::from(u8::from(similar)) - p);
            slope -= w;
            (0..rank).for_each(|k| z[(i, k)] *= w);
        }
        let by_l = product(z.transpose(), self.x);
        gradient[..rank * d].iter_mut().enumerate().for_each(|(at, g)| *g = 2.0 * by_l[(at / d, at % d)]);
        gradient[rank * d] = slope;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let mut random = Random::new(7, 0);
        let x = Mat::from_fn(30, 3, |_, _| 2.0 * random.uniform() - 1.0);
        let similar: Vec<bool> = (0..30).map(|i| i % 3 == 0).collect();
        let weights: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i % 2)).collect();
        for rank in [1, 3] {
            let total = weights.iter().sum();
            let likelihood = Likelihood { x: x.as_ref(), similar: &similar, weights: &weights, total };
            let mut point: Vec<f64> = (0..=(3 * rank)).map(|_| 2.0 * random.uniform() - 1.0).collect();
            let (mut gradient, mut unused) = (vec![0.0; point.len()], vec![0.0; point.len()]);
            likelihood.loss(&point, &mut gradient);
            for at in 0..point.len() {
                let (here, h) = (point[at], 1e-5);
                point[at] = here + h;
                let above = likelihood.loss(&point, &mut unused);
                point[at] = here - h;
                let below = likelihood.loss(&point, &mut unused);
                point[at] = here;
                assert!(((above - below) / (2.0 * h) - gradient[at]).abs() < 1e-9, "{rank} {at}");
            }
        }
    }
}
