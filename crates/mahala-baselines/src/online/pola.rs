//! POLA: pseudo-metric online learning algorithm (Shalev-Shwartz, Singer and Ng 2004).
//!
//! # Formula
//! ```text
//! loss = max(0, y(d − b) + 1),    d = vᵀAv,    y = +1 for a similar pair, −1 for a dissimilar one,   b ≥ 1
//! α = loss/(‖v‖⁴ + 1),    Â = A − yα·vvᵀ,    b̂ = b + yα                (projection on loss = 0)
//! b ← max(1, b̂),    A ← Â − min(0, λ)·uuᵀ                              (projection on A ⪰ 0, b ≥ 1)
//! ```
//! λ, u is the smallest eigenpair of Â; A ⪰ 0 lost a rank-one matrix, so no other eigenvalue is below 0, and after a
//! dissimilar pair none is. A = 0 and b = 1 at first. The margin is 1 for every pair: units decide, and rows should be
//! scaled so that differences are at most about 1 long.

use crate::online::presentation::Presentation;
use crate::online::{Online, add_outer, checked_columns, difference, dot, metric_of_positive_part, times};
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Parameters of POLA as a batch learner: rows in a ball of diameter 1, pairs in passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pola {
    /// How often each pair is presented.
    pub passes: usize,
    /// The seed of the pairs and the order.
    pub seed: u64,
}

impl Default for Pola {
    fn default() -> Self {
        Self { passes: 5, seed: 0 }
    }
}

impl Learner for Pola {
    fn name(&self) -> &'static str {
        "pola"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(8.0, 2.0) + 3.0 * shape.pairs as f64
    }

    /// Iterations are passes; the objective is the mean loss before the updates. The report has b, in the units in
    /// which the longest difference is 1.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let presentation = Presentation::of_pairs(training, self.name(), self.seed)?;
        let mut state = OnlinePola::new(presentation.rows.columns())?;
        let mut learned = presentation.learned(&mut state, self.passes, self.seed, progress)?;
        learned.report.choice = Some(json!({"bias": state.bias}));
        Ok(learned)
    }
}

/// The state of POLA.
///
/// ```
/// use mahala_baselines::online::{Online, OnlinePola};
/// let mut pola = OnlinePola::new(1)?;
/// assert_eq!(pola.update_pair(&[1.0], &[0.0], false)?, 2.0);
/// assert_eq!(pola.update_pair(&[1.0], &[0.0], false)?, 1.0); // b was clipped at 1
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlinePola {
    a: Mat<f64>,
    bias: f64,
}

impl OnlinePola {
    /// A = 0, b = 1.
    ///
    /// # Errors
    /// No column.
    pub fn new(columns: usize) -> Result<Self> {
        Ok(Self { a: Mat::zeros(checked_columns(columns)?, columns), bias: 1.0 })
    }

    /// A.
    pub fn matrix(&self) -> MatRef<'_, f64> {
        self.a.as_ref()
    }

    /// b: pairs nearer than this are taken for similar.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// The loss of a pair.
    ///
    /// # Errors
    /// A row of another length or with a cell that is not finite; a method that learns from triplets only.
    pub fn loss(&self, first: &[f64], second: &[f64], similar: bool) -> Result<f64> {
        let v = difference(self.columns(), first, second)?;
        Ok(self.loss_of(&v, if similar { 1.0 } else { -1.0 }))
    }

    fn loss_of(&self, v: &[f64], y: f64) -> f64 {
        (y * (dot(v, &times(self.a.as_ref(), v)) - self.bias) + 1.0).max(0.0)
    }
}

impl Online for OnlinePola {
    fn name(&self) -> &'static str {
        "pola"
    }

    fn columns(&self) -> usize {
        self.a.ncols()
    }

    fn update_pair(&mut self, first: &[f64], second: &[f64], similar: bool) -> Result<f64> {
        let v = difference(self.columns(), first, second)?;
        let y = if similar { 1.0 } else { -1.0 };
        let loss = self.loss_of(&v, y);
        if loss == 0.0 {
            return Ok(0.0);
        }
        if !loss.is_finite() {
            return Err(Error::OutOfRange { what: "the loss of a pair" });
        }
        let alpha = loss / (dot(&v, &v).powi(2) + 1.0);
        add_outer(&mut self.a, -y * alpha, &v);
        self.bias = (self.bias + y * alpha).max(1.0);
        if similar {
            let e = eigen(self.a.as_ref(), "A", &mut Workspace::default())?;
            if e.values[0] < 0.0 {
                let u: Vec<f64> = e.vectors.col(0).iter().copied().collect();
                add_outer(&mut self.a, -e.values[0], &u);
            }
        }
        Ok(loss)
    }

    fn metric(&self) -> Result<Metric> {
        metric_of_positive_part(self.a.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    #[test]
    fn after_an_update_that_clips_nothing_the_loss_is_0() {
        let mut random = Random::new(2, 0);
        let mut pola = OnlinePola::new(3).unwrap();
        // A and b far inside the cone.
        (pola.a, pola.bias) = (Mat::identity(3, 3), 3.0);
        let mut seen = [0, 0];
        for _ in 0..2000 {
            let v: [f64; 3] = std::array::from_fn(|_| 1.6 * random.uniform() - 0.8);
            let similar = random.uniform() < 0.5;
            let (a, b) = (pola.a.clone(), pola.bias);
            let loss = pola.update_pair(&v, &[0.0; 3], similar).unwrap();
            if loss > 0.0 {
                let y = if similar { 1.0 } else { -1.0 };
                let alpha = loss / (dot(&v, &v).powi(2) + 1.0);
                let mut unclipped = a;
                add_outer(&mut unclipped, -y * alpha, &v);
                if unclipped == pola.a && b + y * alpha == pola.bias {
                    seen[usize::from(similar)] += 1;
                    let rest = pola.loss(&v, &[0.0; 3], similar).unwrap();
                    assert!(rest < 1e-13 * (1.0 + pola.bias), "{rest}");
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
    }

    #[test]
    fn every_state_is_positive_semidefinite_with_a_bias_of_1_or_more() {
        let mut random = Random::new(5, 0);
        let mut pola = OnlinePola::new(4).unwrap();
        for _ in 0..500 {
            let v: [f64; 4] = std::array::from_fn(|_| random.uniform() - 0.5);
            pola.update_pair(&v, &[0.0; 4], random.uniform() < 0.7).unwrap();
            let e = eigen(pola.matrix(), "A", &mut Workspace::default()).unwrap();
            assert!(e.values[0] > -1e-13 * e.values[3].max(1.0) && pola.bias() >= 1.0, "{:?}", e.values);
        }
    }
}
