//! MOML: Mahalanobis-based online metric learning (Li, Huo, Shi, Gao, Wang and Luo 2018).
//!
//! # Formula
//! ```text
//! A₊ = argmin_A  ½‖A − A_t‖²_F + γ·[1 + d_A(x, p) − d_A(x, q)]₊     (linear where the hinge is positive)
//!    = A_t − γ(vvᵀ − wwᵀ),    v = x − p,  w = x − q
//! ```
//! A₀ = I. The step is fixed, so A may leave the cone; the metric is its positive semidefinite part. O(d²) an update.

use crate::online::presentation::{Presentation, nearest_triplets};
use crate::online::{
    Online, add_outer, checked_columns, checked_positive, difference, dot, metric_of_positive_part,
    needs_triplets, times,
};
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of MOML as a batch learner: centred rows of length 1 at most, triplets in passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Moml {
    /// The step size γ.
    pub step: f64,
    /// Nearest rows of its own class for each row of a labelled table; 3 if None. Refused with triplets.
    pub targets: Option<usize>,
    /// Nearest rows of other classes for each of these; 10 if None. Refused with triplets.
    pub impostors: Option<usize>,
    /// How often each triplet is presented.
    pub passes: usize,
    /// The seed of the order.
    pub seed: u64,
}

impl Default for Moml {
    fn default() -> Self {
        Self { step: 0.01, targets: None, impostors: None, passes: 1, seed: 0 }
    }
}

impl Learner for Moml {
    fn name(&self) -> &'static str {
        "moml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let triplets = nearest_triplets(shape, [self.targets, self.impostors]);
        shape.matrices(6.0, 2.0) + 6.0 * triplets + 3.0 * shape.pairs as f64
    }

    /// Iterations are passes; the objective is the mean hinge before the updates.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let presentation = Presentation::of_triplets(training, self.name(), [self.targets, self.impostors])?;
        let mut state = OnlineMoml::new(presentation.rows.columns(), self.step)?;
        presentation.learned(&mut state, self.passes, self.seed, progress)
    }
}

/// The state of MOML.
///
/// ```
/// use mahala_baselines::online::{Online, OnlineMoml};
/// let mut moml = OnlineMoml::new(2, 0.25)?;
/// assert_eq!(moml.update_triplet(&[0.0, 0.0], &[1.0, 0.0], &[0.0, 1.0])?, 1.0);
/// assert_eq!((moml.matrix()[(0, 0)], moml.matrix()[(1, 1)]), (0.75, 1.25));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineMoml {
    a: Mat<f64>,
    step: f64,
}

impl OnlineMoml {
    /// A = I.
    ///
    /// # Errors
    /// No column, or a step size that is not positive and finite.
    pub fn new(columns: usize, step: f64) -> Result<Self> {
        let a = Mat::identity(checked_columns(columns)?, columns);
        Ok(Self { a, step: checked_positive("step", step)? })
    }

    /// A, which may have negative eigenvalues.
    pub fn matrix(&self) -> MatRef<'_, f64> {
        self.a.as_ref()
    }
}

impl Online for OnlineMoml {
    fn name(&self) -> &'static str {
        "moml"
    }

    fn columns(&self) -> usize {
        self.a.ncols()
    }

    fn update_pair(&mut self, _: &[f64], _: &[f64], _: bool) -> Result<f64> {
        Err(needs_triplets(self.name()))
    }

    fn update_triplet(&mut self, anchor: &[f64], near: &[f64], far: &[f64]) -> Result<f64> {
        let v = difference(self.columns(), anchor, near)?;
        let w = difference(self.columns(), anchor, far)?;
        let a = self.a.as_ref();
        let loss = 1.0 + dot(&v, &times(a, &v)) - dot(&w, &times(a, &w));
        if !loss.is_finite() {
            return Err(Error::OutOfRange { what: "the loss of a triplet" });
        }
        if loss > 0.0 {
            add_outer(&mut self.a, -self.step, &v);
            add_outer(&mut self.a, self.step, &w);
        }
        Ok(loss.max(0.0))
    }

    fn metric(&self) -> Result<Metric> {
        metric_of_positive_part(self.a.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_update_minimises_the_proximal_objective() {
        let mut moml = OnlineMoml::new(2, 0.1).unwrap();
        let (x, p, q) = ([0.1, 0.2], [0.9, -0.3], [0.4, 0.6]);
        assert!(moml.update_triplet(&x, &p, &q).unwrap() > 0.0);
        let distance = |a: &Mat<f64>, y: [f64; 2]| {
            let v = [x[0] - y[0], x[1] - y[1]];
            dot(&v, &times(a.as_ref(), &v))
        };
        let objective = |a: &Mat<f64>| {
            let moved: f64 =
                (0..4).map(|at| a[(at / 2, at % 2)] - [1.0, 0.0, 0.0, 1.0][at]).map(|m| m * m).sum();
            0.5 * moved + 0.1 * (1.0 + distance(a, p) - distance(a, q)).max(0.0)
        };
        let best = objective(&moml.a);
        for (i, j) in [(0, 0), (1, 0), (1, 1)] {
            for h in [-1e-3, 1e-3] {
                let mut other = moml.a.clone();
                other[(i, j)] += h;
                other[(j, i)] = other[(i, j)];
                assert!(objective(&other) > best);
            }
        }
        assert!(moml.update_pair(&x, &p, true).is_err());
    }
}
