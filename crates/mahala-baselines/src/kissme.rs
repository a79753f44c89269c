//! KISSME: keep it simple and straightforward metric (Köstinger, Hirzer, Wohlhart, Roth and Bischof 2012).
//!
//! # Formula
//! ```text
//! S̄, D̄: the means of (x_i − x_j)(x_i − x_j)ᵀ over similar and over dissimilar pairs
//! A = (S̄⁻¹ − D̄⁻¹)₊ = Σ_k (1 − 1/λ_k)₊ v_k v_kᵀ,      D̄ v = λ S̄ v,   vᵀS̄v = 1
//! ```
//! `vᵀ(S̄⁻¹ − D̄⁻¹)v` is the log-likelihood ratio of two Gaussians, dissimilar against similar, up to a constant. The
//! projection onto the cone is in the coordinates of the pencil, where both matrices are diagonal; it does not
//! depend on the units of the columns. (Clipping the eigenvalues of S̄⁻¹ − D̄⁻¹ in the rows' own coordinates, as the
//! authors do, differs where D̄ is not above S̄ in every direction.) Where similar pairs differ as much as dissimilar
//! ones in every direction, A = 0.
//!
//! Both matrices are shrunk towards (S̄ + D̄)/2 by γ; without one, not at all, and γ = 0.1 where S̄ is singular in a
//! direction in which pairs differ, which the report then says. From labels the means are over all pairs.

use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank};
use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of KISSME.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub struct Kissme {
    /// The most directions kept, those of the largest λ first; all columns if None.
    pub rank: Option<usize>,
    /// γ, between 0 and 1; if None, 0 unless S̄ is singular.
    pub shrinkage: Option<f64>,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Learner for Kissme {
    fn name(&self) -> &'static str {
        "kissme"
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
        check_shrinkage(self.shrinkage)?;
        let rank = checked_rank(self.rank, training.rows().columns())?;
        let rows = Standardized::of(training.rows())?;
        let [s, d] = rows.pair_means(training, self.name())?;
        let pencil = Pencil::of(s.as_ref(), d.as_ref(), rows.rows.len())?;
        let (shrinkage, choice) = pencil.shrinkage(self.shrinkage);
        let weight = |s: f64| {
            let s = (1.0 - shrinkage) * s + 0.5 * shrinkage;
            // Where D̄ has nothing, dissimilar pairs do not differ, and the weight is 0.
            if s < 1.0 { 1.0 / s - 1.0 / (1.0 - s) } else { 0.0 }
        };
        let components = pencil.components(0..rank.min(pencil.shares.len()), weight);
        rows.learned(components, choice)
    }
}
