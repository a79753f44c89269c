//! XQDA: cross-view quadratic discriminant analysis (Liao, Hu, Zhu and Li 2015).
//!
//! # Formula
//! ```text
//! D̄ v = λ (S̄ + ε·(S̄ + D̄)/2) v,   W = the directions with λ > 1, at most r
//! A = W·[(WᵀS̄W)⁻¹ − (WᵀD̄W)⁻¹]₊·Wᵀ
//! ```
//! KISSME inside the subspace of the pencil's directions in which dissimilar pairs differ more than similar ones,
//! with a ridge ε on S̄, the mean over similar pairs; D̄ is that over dissimilar ones, all pairs of labelled rows. The
//! ridge is in units of the mean of both, so that it does not depend on the units of the columns. (The authors' is
//! 0.001·I, for rows of unit norm, and their program takes singular vectors of S̄⁻¹D̄ for the eigenvectors of the
//! paper.) Without a direction of λ > 1, A = 0.

use crate::pencil::{Pencil, Standardized, checked_rank};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of XQDA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Xqda {
    /// The most directions of the subspace; all with λ > 1 if None.
    pub rank: Option<usize>,
    /// ε, above 0.
    pub ridge: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Xqda {
    fn default() -> Self {
        Self { rank: None, ridge: 1e-3, seed: 0 }
    }
}

impl Learner for Xqda {
    fn name(&self) -> &'static str {
        "xqda"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(14.0, 2.0)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        Some(SpanRule { standardize: true, directions: self.rank.unwrap_or(1) })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        if !(self.ridge > 0.0 && self.ridge.is_finite()) {
            let value = self.ridge.to_string();
            return Err(Error::Parameter { name: "ridge", value, allowed: "above 0 and finite" });
        }
        let rank = checked_rank(self.rank, training.rows().columns())?;
        let rows = Standardized::of(training.rows())?;
        let [s, d] = rows.pair_means(training, self.name())?;
        let pencil = Pencil::of(s.as_ref(), d.as_ref(), rows.rows.len())?;
        let weight = |s: f64| {
            let ridged = s + 0.5 * self.ridge;
            if s < 1.0 { 1.0 / ridged - 1.0 / (1.0 - s) } else { 0.0 }
        };
        let components = pencil.components(0..rank.min(pencil.shares.len()), weight);
        rows.learned(components, None)
    }
}
