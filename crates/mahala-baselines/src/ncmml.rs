//! NCMML: nearest class mean metric learning (Mensink, Verbeek, Perronnin and Csurka 2012).
//!
//! # Formula
//! ```text
//! p(c | x) = exp(−½‖L(x − μ_c)‖²) / Σ_k exp(−½‖L(x − μ_k)‖²),    μ_c the mean of class c
//! minimise  −1/n Σ_i log p(y_i | x_i)
//!
//! ∇_L = 2 L Σ_ic w_ic (x_i − μ_c)(x_i − μ_c)ᵀ,    w_ic = ([c = y_i] − p(c | x_i))/(2n),   Σ_c w_ic = 0
//! ```
//! A classifier that stores one row a class. L-BFGS over L. Classes that can be separated have no minimum: L grows
//! until the limit of iterations or the tolerance ends it.

use crate::Start;
use crate::labelled::{Labelled, row_major};
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use faer::{Mat, MatRef};
use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::Progress;
use mahala_kernels::blas::product;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of NCMML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ncmml {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this.
    pub tolerance: f64,
    /// The first L.
    pub start: Start,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Ncmml {
    fn default() -> Self {
        Self { rank: None, max_iterations: 200, tolerance: 1e-6, start: Start::Auto, seed: 0 }
    }
}

impl Learner for Ncmml {
    fn name(&self) -> &'static str {
        "ncmml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let posteriors = 3.0 * shape.rows as f64 * shape.classes as f64;
        lbfgs::numbers(shape, self.rank.unwrap_or(shape.columns)) + shape.matrices(9.0, 3.0) + posteriors
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        self.start.span(self.rank)
    }

    /// Iterations are L-BFGS's; the objective is the mean cross-entropy, in nats.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let data = Labelled::new(training.labelled(self.name())?)?;
        let rank = data.rank(self.rank)?;
        let start = row_major(self.start.components(&data, rank)?.as_ref());
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let means = means(&data);
        let mut function = |l: &[f64], gradient: &mut [f64]| loss(&data, means.as_ref(), l, gradient);
        let (point, report) = minimise(&mut function, start, &limits, progress)?;
        data.learned(MatRef::from_row_major_slice(&point, rank, data.columns()), report)
    }
}

/// The means of the classes, one a row; those without a row are left out by [`loss`].
fn means(data: &Labelled) -> Mat<f64> {
    let mut means = Mat::zeros(data.class_count(), data.columns());
    for c in 0..data.class_count() {
        let class = data.class(c);
        let share = 1.0 / class.len().max(1) as f64;
        for i in class {
            data.rows().row(i).iter().enumerate().for_each(|(j, x)| means[(c, j)] += share * x);
        }
    }
    means
}

/// The mean cross-entropy at `L`, and its gradient.
fn loss(data: &Labelled, means: MatRef<'_, f64>, l: &[f64], gradient: &mut [f64]) -> f64 {
    let (n, d, classes) = (data.len(), data.columns(), data.class_count());
    let l = MatRef::from_row_major_slice(l, l.len() / d, d);
    let z = data.transformed(l);
    let z = MatRef::from_row_major_slice(&z, n, l.nrows());
    let centres = product(means, l.transpose());
    // ½‖z − m‖² up to ½‖z‖², which is the same for all classes.
    let scores = product(z, centres.transpose());
    let halves: Vec<f64> =
        (0..classes).map(|c| 0.5 * centres.row(c).iter().map(|m| m * m).sum::<f64>()).collect();
    let present: Vec<bool> = (0..classes).map(|c| !data.class(c).is_empty()).collect();
    let mut w = Mat::<f64>::zeros(n, classes);
    let mut value = 0.0;
    for i in 0..n {
        let own = data.codes()[i] as usize;
        let score = |c: usize| if present[c] { scores[(i, c)] - halves[c] } else { f64::NEG_INFINITY };
        let best = (0..classes).map(score).fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = (0..classes).map(|c| (score(c) - best).exp()).sum();
        value += best + all.ln() - score(own);
        for c in 0..classes {
            let p = (score(c) - best).exp() / all;
            w[(i, c)] = 0.5 * (f64::from(u8::from(c == own)) - p) / n as f64;
        }
    }
    if !value.is_finite() {
        return f64::INFINITY;
    }
    // Σ w (z − m)(x − μ)ᵀ = −Zᵀ(wM) − (wLM)ᵀX + Σ_c w_c m μᵀ, as every row of w has the sum 0.
    let near = product(z.transpose(), product(w.as_ref(), means).as_ref());
    let far = product(product(w.as_ref(), centres.as_ref()).transpose(), data.rows().as_mat());
    let sums: Vec<f64> = (0..classes).map(|c| w.col(c).iter().sum()).collect();
    let weighted = Mat::from_fn(classes, d, |c, j| sums[c] * means[(c, j)]);
    let own = product(centres.transpose(), weighted.as_ref());
    for (at, g) in gradient.iter_mut().enumerate() {
        let cell = (at / d, at % d);
        *g = 2.0 * (own[cell] - near[cell] - far[cell]);
    }
    value / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::gradient_error;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let error = gradient_error(3, |data, l, gradient| loss(data, means(data).as_ref(), l, gradient));
        assert!(error < 1e-7, "{error}");
    }

    #[test]
    fn the_objective_is_the_cross_entropy_of_the_formula() {
        let error = gradient_error(2, |data, l, gradient| {
            let value = loss(data, means(data).as_ref(), l, gradient);
            let mu = means(data);
            let squared = |i: usize, c: usize| {
                let z = |r: usize| {
                    (0..4).map(|a| l[4 * r + a] * (data.rows().row(i)[a] - mu[(c, a)])).sum::<f64>()
                };
                z(0).powi(2) + z(1).powi(2)
            };
            let direct: f64 = (0..data.len())
                .map(|i| {
                    let all: f64 = (0..3).map(|c| (-0.5 * squared(i, c)).exp()).sum();
                    all.ln() + 0.5 * squared(i, data.codes()[i] as usize)
                })
                .sum();
            assert!((value - direct / data.len() as f64).abs() < 1e-12);
            value
        });
        assert!(error < 1e-7, "{error}");
    }
}
