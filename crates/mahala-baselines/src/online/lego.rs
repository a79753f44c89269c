//! LEGO: LogDet exact gradient online (Jain, Kulis, Dhillon and Grauman 2008).
//!
//! # Formula
//! ```text
//! A₊ = argmin_A  D_ld(A, A_t) + η/2·(vᵀAv − y)²,    y = u for a similar pair with d > u, l for a dissimilar one with d < l
//!
//! ȳ  = [ηyd − 1 + √((ηyd − 1)² + 4ηd²)]/(2ηd),      d = vᵀA_t v;   ȳ is the distance after the update
//! A₊ = A_t − β(A_t v)(A_t v)ᵀ,                       β = η(ȳ − y)/(1 + η(ȳ − y)d)
//! ```
//! ȳ > 0, so A stays positive definite whatever the step size. A₀ = I; u and l are ITML's. O(d²) an update.

use crate::constraints::Bounds;
use crate::online::presentation::Presentation;
use crate::online::{
    Online, add_outer, checked_columns, checked_positive, difference, dot, metric_of_positive_part, times,
};
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of LEGO as a batch learner: rows in a ball of diameter 1, pairs in passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lego {
    /// The step size η, for rows scaled to differences of length 1 at most.
    pub step: f64,
    /// How often each pair is presented.
    pub passes: usize,
    /// The seed of the pairs, the bounds and the order.
    pub seed: u64,
}

impl Default for Lego {
    fn default() -> Self {
        Self { step: 1.0, passes: 5, seed: 0 }
    }
}

impl Learner for Lego {
    fn name(&self) -> &'static str {
        "lego"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(6.0, 2.0) + 3.0 * shape.pairs as f64
    }

    /// Iterations are passes; the objective is the mean of `(d − y)²` before the updates.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let presentation = Presentation::of_pairs(training, self.name(), self.seed)?;
        let Bounds { lower, upper } = Bounds::of(&presentation.rows, 0, self.seed)?;
        let mut state = OnlineLego::new(presentation.rows.columns(), self.step, (lower, upper))?;
        presentation.learned(&mut state, self.passes, self.seed, progress)
    }
}

/// The state of LEGO.
///
/// ```
/// use mahala_baselines::online::{Online, OnlineLego};
/// let mut lego = OnlineLego::new(2, 1.0, (0.5, 2.0))?;
/// lego.update_pair(&[3.0, 0.0], &[0.0, 0.1], true)?;
/// let a = lego.metric()?.matrix()?;
/// assert!(a[(0, 0)] < 0.2 && a[(1, 1)] > 0.9);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineLego {
    a: Mat<f64>,
    step: f64,
    similar: f64,
    dissimilar: f64,
}

impl OnlineLego {
    /// A = I. Similar pairs should be at most `u` apart, dissimilar ones at least `l`, of `(u, l)`, both squared.
    ///
    /// # Errors
    /// No column; a step size or bound that is not positive and finite.
    pub fn new(columns: usize, step: f64, (similar, dissimilar): (f64, f64)) -> Result<Self> {
        Ok(Self {
            a: Mat::identity(checked_columns(columns)?, columns),
            step: checked_positive("step", step)?,
            similar: checked_positive("bounds", similar)?,
            dissimilar: checked_positive("bounds", dissimilar)?,
        })
    }

    /// A.
    pub fn matrix(&self) -> MatRef<'_, f64> {
        self.a.as_ref()
    }
}

impl Online for OnlineLego {
    fn name(&self) -> &'static str {
        "lego"
    }

    fn columns(&self) -> usize {
        self.a.ncols()
    }

    fn update_pair(&mut self, first: &[f64], second: &[f64], similar: bool) -> Result<f64> {
        let v = difference(self.columns(), first, second)?;
        let w = times(self.a.as_ref(), &v);
        let (d, y, eta) = (dot(&v, &w), if similar { self.similar } else { self.dissimilar }, self.step);
        if d <= 0.0 || if similar { d <= y } else { d >= y } {
            return Ok(0.0);
        }
        let after = distance_after(eta, y, d);
        let slope = eta * (after - y);
        let beta = slope / (1.0 + slope * d);
        if !(beta * d).is_finite() {
            return Err(Error::OutOfRange { what: "an update of A" });
        }
        add_outer(&mut self.a, -beta, &w);
        Ok((d - y) * (d - y))
    }

    fn metric(&self) -> Result<Metric> {
        metric_of_positive_part(self.a.as_ref())
    }
}

/// ȳ.
fn distance_after(eta: f64, y: f64, d: f64) -> f64 {
    let linear = eta * y * d - 1.0;
    let root = linear.hypot(2.0 * eta.sqrt() * d);
    // Of two equal forms the one without cancellation.
    if linear < 0.0 { 2.0 * d / (root - linear) } else { (linear + root) / (2.0 * eta * d) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::geometry::{Spd, logdet_divergence};

    #[test]
    fn the_update_minimises_the_objective_of_the_formula() {
        let mut random = Random::new(3, 0);
        let mut lego = OnlineLego::new(3, 2.0, (0.1, 1.0)).unwrap();
        for similar in [true, false, true, false] {
            let scale = if similar { 1.5 } else { 0.2 };
            let v: Vec<f64> = (0..3).map(|_| scale * (random.uniform() + 0.2)).collect();
            let (before, y) = (lego.a.clone(), if similar { 0.1 } else { 1.0 });
            assert!(lego.update_pair(&v, &[0.0; 3], similar).unwrap() > 0.0);
            let before = Spd::new(before).unwrap();
            let objective = |a: &Mat<f64>| {
                let d = dot(&v, &times(a.as_ref(), &v));
                logdet_divergence(&Spd::new(a.clone()).unwrap(), &before).unwrap() + (d - y).powi(2)
            };
            let d = dot(&v, &times(before.as_mat(), &v));
            let after = dot(&v, &times(lego.a.as_ref(), &v));
            assert!((after - distance_after(2.0, y, d)).abs() < 1e-13);
            let (best, h) = (objective(&lego.a), 1e-4);
            for i in 0..3 {
                for j in 0..=i {
                    for sign in [-1.0, 1.0] {
                        let mut other = lego.a.clone();
                        other[(i, j)] += sign * h;
                        other[(j, i)] = other[(i, j)];
                        assert!(objective(&other) > best, "{i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_million_updates_leave_the_metric_positive_definite() {
        let mut random = Random::new(1, 0);
        let mut lego = OnlineLego::new(4, 5.0, (0.05, 0.6)).unwrap();
        let mut updates = 0;
        // Contradictions included: what a pair is, is drawn.
        for _ in 0..2_500_000 {
            let v: [f64; 4] = std::array::from_fn(|_| random.uniform() - 0.5);
            let loss = lego.update_pair(&v, &[0.0; 4], random.uniform() < 0.5).unwrap();
            updates += usize::from(loss > 0.0);
            if updates % 100_000 == 1 {
                assert!(Spd::new(lego.a.clone()).is_ok(), "after {updates} updates");
            }
        }
        assert!(updates >= 1_000_000, "{updates}");
        assert!(Spd::new(lego.a.clone()).is_ok());
    }
}
