//! DMLMJ: distance metric learning through maximisation of the Jeffrey divergence (Nguyen, Morell and De Baets
//! 2017).
//!
//! # Formula
//! ```text
//! S̄: the mean of (x_i − x_j)(x_i − x_j)ᵀ over each row and its k nearest rows of its class, D̄ of other classes
//! D̄ v = λ S̄ v,   vᵀS̄v = 1,      A = Σ v vᵀ over the r directions with the largest λ + 1/λ
//! ```
//! λ + 1/λ − 2 is twice the Jeffrey divergence of N(0, S̄) and N(0, D̄) along v. Neighbours are Euclidean, in the
//! units of the rows. At full rank A = S̄⁻¹.
//!
//! Both matrices are shrunk towards (S̄ + D̄)/2 by γ; without one, not at all, and γ = 0.1 where S̄ is singular in a
//! direction in which pairs differ, which the report then says.

use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank};
use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::pairs::Pairs;
use mahala::progress::Progress;
use mahala::scatter::check_labels;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of DMLMJ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dmlmj {
    /// k, the nearest rows of the own class and of other classes.
    pub neighbors: usize,
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// γ, between 0 and 1; if None, 0 unless S̄ is singular.
    pub shrinkage: Option<f64>,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Dmlmj {
    fn default() -> Self {
        Self { neighbors: 3, rank: None, shrinkage: None, seed: 0 }
    }
}

impl Learner for Dmlmj {
    fn name(&self) -> &'static str {
        "dmlmj"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // The pairs, and the index of the neighbour search.
        shape.matrices(14.0, 4.0) + 8.0 * (self.neighbors * shape.rows) as f64
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // An orthogonal change of coordinates: no neighbour changes.
        Some(SpanRule { standardize: false, directions: self.rank.unwrap_or(1) })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        check_shrinkage(self.shrinkage)?;
        let data = training.labelled(self.name())?;
        check_labels(data.labels())?;
        let rank = checked_rank(self.rank, data.columns())?;
        let pairs = Pairs::nearest(data.rows(), data.labels(), self.neighbors)?;
        let rows = Standardized::of(data.rows())?;
        let [s, d] = rows.means_over(&pairs)?;
        let pencil = Pencil::of(s.as_ref(), d.as_ref(), data.len())?;
        let (shrinkage, choice) = pencil.shrinkage(self.shrinkage);
        let shrunk = |s: f64| (1.0 - shrinkage) * s + 0.5 * shrinkage;
        // λ + 1/λ rises with |s − ½|.
        let divergence = |k: usize| (shrunk(pencil.shares[k]) - 0.5).abs();
        let mut order: Vec<usize> = (0..pencil.shares.len()).collect();
        order.sort_by(|&a, &b| divergence(b).total_cmp(&divergence(a)));
        let components = pencil.components(order.into_iter().take(rank), |s| 1.0 / shrunk(s));
        rows.learned(components, choice)
    }
}
