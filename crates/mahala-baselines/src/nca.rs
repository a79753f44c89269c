//! NCA: neighbourhood components analysis (Goldberger, Roweis, Hinton and Salakhutdinov 2004).
//!
//! # Formula
//! ```text
//! p_ij = exp(−‖L(x_i − x_j)‖²) / Σ_{k≠i} exp(−‖L(x_i − x_k)‖²),    p_ii = 0
//! maximise  Σ_i p_i,   p_i = Σ_{j: y_j=y_i} p_ij       (the rows a random neighbour classifies rightly)
//!
//! ∇_L = 2 L Σ_ij w_ij x_ij x_ijᵀ,    w_ij = p_ij (p_i − [y_j = y_i])
//! ```
//!
//! Objective, initial values and tolerance are those of scikit-learn; L-BFGS. (scikit-learn stops after the first
//! small gain, here five iterations must gain little: the objective has plateaus.)

use crate::Start;
use crate::labelled::{Labelled, row_major};
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::softmax::{RowSums, Softmax, Weights, softmax_numbers};
use faer::MatRef;
use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::product;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// NCA's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nca {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this share.
    pub tolerance: f64,
    /// The first L.
    pub start: Start,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Nca {
    fn default() -> Self {
        Self { rank: None, max_iterations: 50, tolerance: 1e-5, start: Start::Auto, seed: 0 }
    }
}

impl Learner for Nca {
    fn name(&self) -> &'static str {
        "nca"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        lbfgs::numbers(shape, self.rank.unwrap_or(shape.columns))
            + shape.matrices(9.0, 3.0)
            + softmax_numbers(shape)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        self.start.span(self.rank)
    }

    /// Iterations are L-BFGS's; the objective reported is the sum that is maximised, between 0 and the number of
    /// rows.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let data = Labelled::new(training.labelled(self.name())?)?;
        let rank = data.rank(self.rank)?;
        let start = self.start.components(&data, rank)?;
        let mut progress = |step: Step| progress(Step::iteration(step.done, step.objective.map(|f| -f)));
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let mut softmax = Softmax::new(&data);
        let mut function = |l: &[f64], gradient: &mut [f64]| loss(&data, &mut softmax, l, gradient);
        let (point, mut report) = minimise(&mut function, row_major(start.as_ref()), &limits, &mut progress)?;
        report.objective = report.objective.map(|f| -f);
        data.learned(MatRef::from_row_major_slice(&point, rank, data.columns()), report)
    }
}

/// `−Σ_i p_i` at `L`, and its gradient.
fn loss(data: &Labelled, softmax: &mut Softmax<'_>, l: &[f64], gradient: &mut [f64]) -> f64 {
    let l = MatRef::from_row_major_slice(l, l.len() / data.columns(), data.columns());
    let weigh = |row: &RowSums| {
        let p = row.same / row.all;
        Weights { all: p / row.all, same: -1.0 / row.all, value: p }
    };
    let (value, scatter) = softmax.weighted_scatter(&data.transformed(l), &weigh);
    let slope = product(l, scatter.as_ref());
    let d = data.columns();
    gradient.iter_mut().enumerate().for_each(|(at, g)| *g = -2.0 * slope[(at / d, at % d)]);
    -value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::gradient_error;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        assert!(
            gradient_error(3, |data, l, gradient| loss(data, &mut Softmax::new(data), l, gradient)) < 1e-7
        );
    }
}
