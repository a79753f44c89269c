//! LMNN: large margin nearest neighbours (Weinberger and Saul 2009).
//!
//! # Formula
//! ```text
//! D_ij = ‖L(x_i − x_j)‖²,   targets T(i): the K nearest rows of i's class in input space, fixed
//!
//! squared:  Σ_i Σ_{j∈T(i)} D_ij + Σ_i Σ_{j∈T(i)} Σ_{l: y_l≠y_i} [1 + D_ij − D_il]₊²
//! classic:  (1−μ) Σ_i Σ_{j∈T(i)} D_ij + μ Σ_i Σ_{j∈T(i)} Σ_{l: y_l≠y_i} [1 + D_ij − D_il]₊
//!
//! ∇_L = 2 Σ w_ij · L x_ij x_ijᵀ = 2 (Laplacian(w)·XLᵀ)ᵀ X,    x_ij = x_i − x_j
//! ```
//!
//! A pair's weight w is the derivative of the objective by its distance. The impostors (rows l with a
//! positive bracket) are exact at every evaluation. Minimised over L by L-BFGS. At full rank every local
//! minimum is a global one.
//!
//! The margin is 1 in the units of the rows, as in the paper: nothing is rescaled. A class of at most K rows
//! lowers K for its own rows to its size − 1; a row alone in its class has no target, but is an impostor to
//! others.

mod active_set;
mod impostors;
mod multi;

pub use multi::{MultiLmnn, MultiMetrics};

use crate::Start;
use crate::labelled::{Labelled, row_major};
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::lmnn::impostors::{Hinges, add_hinges};
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::neighbors::Knn;
use mahala::progress::Progress;
use mahala_kernels::blas::product;
use mahala_kernels::knn::distance::squared_distance;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// LMNN's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lmnn {
    /// K, the targets of each row: its nearest rows of the same class.
    pub targets: usize,
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// Which of the two objectives.
    pub hinge: Hinge,
    /// μ, the share of the hinges in the classic objective, between 0 and 1; the squared one has no such
    /// weight.
    pub push: f64,
    /// The first L.
    pub start: Start,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this share.
    pub tolerance: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

/// The loss of an impostor inside the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hinge {
    /// The square of the intrusion: smooth.
    #[default]
    Squared,
    /// The intrusion itself, as in the first publication.
    Classic,
}

impl Default for Lmnn {
    fn default() -> Self {
        Self {
            targets: 3,
            rank: None,
            hinge: Hinge::Squared,
            push: 0.5,
            start: Start::Pca,
            max_iterations: 100,
            tolerance: 1e-5,
            seed: 0,
        }
    }
}

impl Learner for Lmnn {
    fn name(&self) -> &'static str {
        "lmnn"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    /// The rows and their gradients, and lists of impostors, which grow with the rows in reach.
    fn numbers(&self, shape: &Shape) -> f64 {
        lbfgs::numbers(shape, self.rank.unwrap_or(shape.columns)) + shape.matrices(9.0, 8.0)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        self.start.span(self.rank)
    }

    /// Iterations are L-BFGS's.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check()?;
        let data = Labelled::new(training.labelled(self.name())?)?;
        let rank = data.rank(self.rank)?;
        let targets = Targets::nearest(&data, self.targets)?;
        let start = row_major(self.start.components(&data, rank)?.as_ref());
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let spread = Spread::new(&data);
        let least = 1e-12 * spread.of(&start).min(1.0);
        let mut function = |l: &[f64], gradient: &mut [f64]| {
            if spread.of(l) < least {
                return f64::INFINITY; // a shorter step
            }
            self.loss(&data, &targets, l, gradient)
        };
        let (point, report) = minimise(&mut function, start, &limits, progress)?;
        data.learned(MatRef::from_row_major_slice(&point, rank, data.columns()), report)
    }
}

impl Lmnn {
    fn check(&self) -> Result<()> {
        if self.targets == 0 {
            return Err(Error::Parameter { name: "targets", value: "0".to_owned(), allowed: "at least 1" });
        }
        if !(0.0..=1.0).contains(&self.push) {
            let value = self.push.to_string();
            return Err(Error::Parameter { name: "push", value, allowed: "between 0 and 1" });
        }
        Ok(())
    }

    /// The objective at `L`, and its gradient.
    fn loss(&self, data: &Labelled, targets: &Targets, l: &[f64], gradient: &mut [f64]) -> f64 {
        let d = data.columns();
        let rank = l.len() / d;
        let z = data.transformed(MatRef::from_row_major_slice(l, rank, d));
        let (pull, push) = match self.hinge {
            Hinge::Squared => (1.0, 1.0),
            Hinge::Classic => (1.0 - self.push, self.push),
        };
        let row = |i: usize| &z[i * rank..(i + 1) * rank];
        let distances: Vec<f64> = targets.pairs().map(|(i, j)| squared_distance(row(i), row(j))).collect();
        let weights = vec![pull; distances.len()];
        let value = pull * distances.iter().sum::<f64>();
        let mut sums = Hinges { value, weights, laplacian: vec![0.0; z.len()] };
        if !value.is_finite() {
            return value; // too far: a shorter step, or an error at the start
        }
        add_hinges(data.codes(), targets, &distances, &z, (self.hinge, push), &mut sums);
        for ((i, j), w) in targets.pairs().zip(&sums.weights) {
            for k in 0..rank {
                let part = w * (z[i * rank + k] - z[j * rank + k]);
                sums.laplacian[i * rank + k] += part;
                sums.laplacian[j * rank + k] -= part;
            }
        }
        let laplacian = MatRef::from_row_major_slice(&sums.laplacian, data.len(), rank);
        let slope = product(laplacian.transpose(), data.rows().as_mat());
        gradient.iter_mut().enumerate().for_each(|(at, g)| *g = 2.0 * slope[(at / d, at % d)]);
        sums.value
    }
}

/// The spread of the rows under L. At L = 0 all derivatives vanish, though it is rarely a minimum, and the first
/// step, which has the length of a row of the first L, may lead there: it is then shortened.
struct Spread {
    scatter: Mat<f64>,
    rows: usize,
}

impl Spread {
    fn new(data: &Labelled) -> Self {
        Self { scatter: data.total_scatter(), rows: data.len() }
    }

    /// The mean of `‖Lx‖²`, which is `tr(L·XᵀX·Lᵀ)/n`.
    fn of(&self, l: &[f64]) -> f64 {
        let d = self.scatter.ncols();
        let l = MatRef::from_row_major_slice(l, l.len() / d, d);
        let seen = product(l, self.scatter.as_ref());
        let cells = (0..l.nrows()).flat_map(|i| (0..d).map(move |j| (i, j)));
        cells.map(|at| l[at] * seen[at]).sum::<f64>() / self.rows as f64
    }
}

/// Each row's targets.
pub(crate) struct Targets {
    rows: Vec<usize>,
    /// The offset of each row's targets, and the end of the last.
    starts: Vec<usize>,
}

impl Targets {
    /// The `k` nearest rows of the same class, or as many as there are.
    fn nearest(data: &Labelled, k: usize) -> Result<Self> {
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for class in (0..data.class_count()).map(|code| data.class(code)).filter(|class| !class.is_empty()) {
            let members = data.rows().subset(&class.clone().collect::<Vec<_>>());
            let k = k.min(class.len() - 1);
            // One more, for the nearest row is the row itself.
            let found = Knn::new(members.clone())?.search(&members, k + 1)?;
            for i in 0..class.len() {
                rows.extend(found.indices(i).iter().filter(|&&j| j != i).take(k).map(|j| class.start + j));
                starts.push(rows.len());
            }
        }
        Ok(Self { rows, starts })
    }

    /// The range of row `i`'s targets in the list of all.
    pub(crate) fn places(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// Each row with each of its targets.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.starts.len() - 1).flat_map(|i| self.rows[self.places(i)].iter().map(move |&j| (i, j)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::gradient_error;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        for hinge in [Hinge::Squared, Hinge::Classic] {
            for rank in [2, 4] {
                let lmnn = Lmnn { hinge, push: 0.3, ..Lmnn::default() };
                let error = gradient_error(rank, |data, l, gradient| {
                    lmnn.loss(data, &Targets::nearest(data, 3).unwrap(), l, gradient)
                });
                assert!(error < 1e-7, "{hinge:?} {rank}: {error}");
            }
        }
    }
}
