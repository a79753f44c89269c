//! LDA as a metric: linear discriminant analysis (Fisher 1936; Rao 1948).
//!
//! # Formula
//! ```text
//! W = 1/n Σ_c Σ_i (x_i − m_c)(x_i − m_c)ᵀ,   B = 1/n Σ_c n_c (m_c − m)(m_c − m)ᵀ
//! B v = λ W v,   vᵀWv = 1,        A = Σ_k v_k v_kᵀ over the r largest λ
//! ```
//! Under A a nearest class mean is the most probable class of Gaussian classes with one covariance. With c classes
//! c − 1 directions separate the means, and r is that unless given; directions beyond have weight 1 too, in the
//! order of their λ = 0.
//!
//! W ← (1 − γ)·W + γ·(W + B) with the shrinkage γ; without one, W as it is, and γ = 0.1 where W is singular in a
//! direction in which rows vary, which the report then says.

use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank, within_and_total};
use faer::Mat;
use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::progress::Progress;
use mahala::scatter::check_labels;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of LDA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub struct Lda {
    /// The rank of the metric; if None, one less than there are classes, or all columns if they are fewer.
    pub rank: Option<usize>,
    /// γ, between 0 and 1; if None, 0 unless W is singular.
    pub shrinkage: Option<f64>,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Learner for Lda {
    fn name(&self) -> &'static str {
        "lda"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(12.0, 4.0)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        Some(SpanRule { standardize: true, directions: self.rank.unwrap_or(1) })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        check_shrinkage(self.shrinkage)?;
        let data = training.labelled(self.name())?;
        check_labels(data.labels())?;
        let rank = checked_rank(self.rank, data.columns())?;
        let rows = Standardized::of(data.rows())?;
        let codes: Vec<Option<u32>> = data.labels().codes().iter().map(|&code| Some(code)).collect();
        let [w, t] = within_and_total(&rows.rows, &codes, data.labels().class_count());
        let b = Mat::from_fn(w.nrows(), w.ncols(), |i, j| t[(i, j)] - w[(i, j)]);
        let pencil = Pencil::of(w.as_ref(), b.as_ref(), data.len())?;
        let present = data.labels().class_sizes().iter().filter(|&&size| size > 0).count();
        let rank = if self.rank.is_none() { rank.min(present - 1) } else { rank };
        let (shrinkage, choice) = pencil.shrinkage(self.shrinkage);
        let weight = |s: f64| 1.0 / ((1.0 - shrinkage) * s + shrinkage);
        let components = pencil.components(0..rank.min(pencil.shares.len()), weight);
        rows.learned(components, choice)
    }
}
