//! The family of metrics that two sums span: a weight on each direction of the pencil `(D, S)` as a function of its ratio.
//!
//! # Formula
//! ```text
//! D̄ v_i = μ_i S̄ v_i,  v_iᵀS̄v_i = 1,        A = Σ_i weight(μ_i)·v_i v_iᵀ over r directions
//! power at t:     μᵗ                               t = 0: 1, the metric S⁻¹ (RCA), with a cut at r LDA
//! KISSME at t:    max(0, (1 − μ⁻ᵗ)/t)              t = 1: KISSME, (S̄⁻¹ − D̄⁻¹)₊;  t = 0: log μ
//! ```
//! Directions are cut after the largest μ, or after the largest μ + 1/μ, the Jeffrey divergence of `N(0, S̄)` and `N(0, D̄)` along
//! a direction. One factorisation serves every curve, every t and every number of directions.

use crate::error::{Error, Result};
use crate::gmml::Solution;
use crate::metric::Metric;
use faer::Mat;
use serde::{Deserialize, Serialize};

/// How the weight of a direction grows with its ratio `μ`; t says how steeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Curve {
    /// `μᵗ`: the geodesic in the coordinates of the pencil.
    #[default]
    Power,
    /// `max(0, (1 − μ⁻ᵗ)/t)`: the difference of `S̄⁻¹` and its geodesic to `D̄⁻¹`, without what is below 0; KISSME at t = 1.
    Kissme,
}

/// Which directions of the pencil come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Directions of the largest `μ` first: dissimilar pairs differ most there against similar ones.
    #[default]
    Ratio,
    /// Directions of the largest `μ + 1/μ` first: also where dissimilar pairs differ less.
    Divergence,
}

impl Curve {
    /// The logarithms of the weights of directions, up to a common term; −∞ for a weight of 0.
    ///
    /// ```
    /// use mahala::gmml::Curve;
    /// let log_mu = [4f64.ln(), 2f64.ln(), 0.5f64.ln()];
    /// let kissme = Curve::Kissme.log_weights(&log_mu, 1.0);
    /// assert!((kissme[0].exp() - 0.75).abs() < 1e-15 && (kissme[1].exp() - 0.5).abs() < 1e-15);
    /// assert_eq!(kissme[2].exp(), 0.0);
    /// assert_eq!(Curve::Power.log_weights(&log_mu, 0.0), [0.0; 3]);
    /// ```
    pub fn log_weights(self, log_mu: &[f64], t: f64) -> Vec<f64> {
        match self {
            Self::Power => log_mu.iter().map(|log| t * log).collect(),
            Self::Kissme if t == 0.0 => log_mu.iter().map(|log| log.max(0.0).ln()).collect(),
            Self::Kissme => log_mu.iter().map(|log| (-(-t * log).exp_m1() / t).max(0.0).ln()).collect(),
        }
    }
}

impl Solution {
    /// The path with its directions in another order.
    #[must_use]
    pub fn ordered_by(self, order: Order) -> Self {
        let ratios = self.log_eigenvalues();
        let mut places: Vec<usize> = (0..ratios.len()).collect();
        match order {
            Order::Ratio => places.sort_by(|&a, &b| ratios[b].total_cmp(&ratios[a])),
            // μ + 1/μ grows with |log μ|.
            Order::Divergence => places.sort_by(|&a, &b| ratios[b].abs().total_cmp(&ratios[a].abs())),
        }
        self.chosen(&places)
    }

    /// The metric of the first `r` directions, or all there are, weighed by a curve.
    ///
    /// ```
    /// use mahala::{Dataset, Labels, Rows};
    /// use mahala::gmml::{Curve, Regularization, Solution};
    /// use mahala::scatter::{ClassWeight, ScatterParts};
    /// let rows = Rows::new((0..40).map(|i| f64::from((7 * i) % 40)).collect(), 2)?;
    /// let data = Dataset::new(rows, Labels::new((0..20).map(|i| ["a", "b", "c"][i % 3])))?;
    /// let sums = ScatterParts::of(&data)?.scatter(ClassWeight::One, 0.0)?;
    /// let lda = Solution::of_pencil(&sums, Regularization::None)?.curved_metric(Curve::Power, 0.0, 2)?;
    /// assert_eq!(lda.rank(), 2);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No direction with a weight above 0; a result outside the range of 64-bit numbers.
    pub fn curved_metric(&self, curve: Curve, t: f64, r: usize) -> Result<Metric> {
        let r = r.min(self.log_eigenvalues().len());
        let weights = curve.log_weights(&self.log_eigenvalues()[..r], t);
        let v = self.directions();
        let kept: Vec<usize> = (0..r).filter(|&k| weights[k] > f64::NEG_INFINITY).collect();
        if kept.is_empty() {
            return Err(no_weight());
        }
        let components =
            Mat::from_fn(kept.len(), v.nrows(), |i, j| (0.5 * weights[kept[i]]).exp() * v[(j, kept[i])]);
        Metric::computed(components, self.mean().to_vec(), self.scale().map(<[f64]>::to_vec))
    }
}

/// Along no direction do dissimilar pairs differ more than similar ones.
pub(crate) fn no_weight() -> Error {
    let value = "kissme, and no direction in which dissimilar pairs differ more than similar ones".to_owned();
    Error::Parameter { name: "curve", value, allowed: "power for such rows" }
}
