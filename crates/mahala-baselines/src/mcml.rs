//! MCML: maximally collapsing metric learning (Globerson and Roweis 2005).
//!
//! # Formula
//! ```text
//! p_ij = exp(−d_A(i,j)) / Σ_{k≠i} exp(−d_A(i,k)),    q_ij = [y_j = y_i] / (n_{y_i} − 1),   j ≠ i
//! minimise over A ⪰ 0   f(A) = Σ_i [ Σ_j q_ij d_A(i,j) + log Σ_{k≠i} exp(−d_A(i,k)) ]
//!
//! ∇f(A) = Q − Σ_ij p_ij x_ij x_ijᵀ,    Q = Σ_ij q_ij x_ij x_ijᵀ = Σ_c 2n_c/(n_c − 1)·Scatter_c
//! ```
//!
//! f is the sum of the divergences `KL(q_i ‖ p_i)` up to a constant, and convex in A. The paper steps along −∇f
//! and projects onto the cone; here `A = LᵀL` with a square L, which needs no projection and lets L-BFGS do the work. With a square L
//! every local minimum is the minimum over A.
//!
//! A convex minimum does not depend on coordinates, so the search runs where the rows have variance 1 in every
//! direction, from A = I there. Directions in which no row varies have weight 0. A row alone in its class has
//! no q and is left out of the sum over i.

use crate::labelled::{Labelled, row_major};
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::softmax::{RowSums, Softmax, Weights, softmax_numbers};
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::Progress;
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// MCML's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcml {
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this share.
    pub tolerance: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Mcml {
    fn default() -> Self {
        Self { max_iterations: 200, tolerance: 1e-6, seed: 0 }
    }
}

impl Learner for Mcml {
    fn name(&self) -> &'static str {
        "mcml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let white = shape.in_span();
        lbfgs::numbers(&white, white.columns) + shape.matrices(9.0, 4.0) + softmax_numbers(&white)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // Directions in which no row varies have weight 0.
        Some(SpanRule { standardize: false, directions: 1 })
    }

    /// Iterations are L-BFGS's.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let data = Labelled::new(training.labelled(self.name())?)?;
        let whitening = whitening(&data)?;
        let m = whitening.ncols();
        let white = data.mapped(whitening.as_ref())?;
        let q = similar_scatter(&white);
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let mut softmax = Softmax::new(&white);
        let mut function =
            |l: &[f64], gradient: &mut [f64]| loss(&white, &mut softmax, q.as_ref(), l, gradient);
        let start = row_major(Mat::<f64>::identity(m, m).as_ref());
        let (point, report) = minimise(&mut function, start, &limits, progress)?;
        let l = product(MatRef::from_row_major_slice(&point, m, m), whitening.transpose());
        data.learned(l.as_ref(), report)
    }
}

/// `f(LᵀL)`, and its gradient `2L·∇f` by `L`.
fn loss(
    data: &Labelled,
    softmax: &mut Softmax<'_>,
    q: MatRef<'_, f64>,
    l: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let d = data.columns();
    let l = MatRef::from_row_major_slice(l, l.len() / d, d);
    let weigh = |row: &RowSums| {
        if row.peers == 0 {
            return Weights { all: 0.0, same: 0.0, value: 0.0 };
        }
        Weights { all: -1.0 / row.all, same: 0.0, value: row.all.ln() - row.nearest }
    };
    let (value, scatter) = softmax.weighted_scatter(&data.transformed(l), &weigh);
    let (pulled, pushed) = (product(l, q), product(l, scatter.as_ref()));
    let mut trace = 0.0;
    for (at, g) in gradient.iter_mut().enumerate() {
        let (i, j) = (at / d, at % d);
        trace += l[(i, j)] * pulled[(i, j)];
        *g = 2.0 * (pulled[(i, j)] + pushed[(i, j)]);
    }
    trace + value
}

/// `Q`.
fn similar_scatter(data: &Labelled) -> Mat<f64> {
    data.within_scatter(|n| if n < 2 { 0.0 } else { 2.0 * n as f64 / (n - 1) as f64 })
}

/// `P` for which the rows `XP` have covariance `I`; without the directions in which no row varies.
fn whitening(data: &Labelled) -> Result<Mat<f64>> {
    let (n, d) = (data.len(), data.columns());
    let e = eigen(data.total_scatter().as_ref(), "the covariance", &mut Workspace::default())?;
    let floor = e.values[d - 1] * n.max(d) as f64 * f64::EPSILON;
    let kept: Vec<usize> = (0..d).rev().filter(|&k| e.values[k] > floor).collect();
    if kept.is_empty() {
        return Err(Error::OutOfRange { what: "the covariance of the rows" });
    }
    let scale = |k: usize| (n as f64 / e.values[k]).sqrt();
    Ok(Mat::from_fn(d, kept.len(), |i, k| e.vectors[(i, kept[k])] * scale(kept[k])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::gradient_error;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let error = gradient_error(4, |data, l, gradient| {
            loss(data, &mut Softmax::new(data), similar_scatter(data).as_ref(), l, gradient)
        });
        assert!(error < 1e-7, "{error}");
    }
}
