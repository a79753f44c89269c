//! RCA: relevant component analysis (Shental, Hertz, Weinshall and Pavel 2002; Bar-Hillel et al. 2005).
//!
//! # Formula
//! ```text
//! C = 1/m Σ_chunklets Σ_i (x_i − m_chunklet)(x_i − m_chunklet)ᵀ,    m rows in chunklets
//! A = C⁻¹
//! ```
//! A chunklet is a set of rows known to be of one class. Every row counts once, whatever the size of its chunklet.
//! At a lower rank A keeps the directions with the smallest share of C in the total covariance T.
//!
//! C ← (1 − γ)·C + γ·T with the shrinkage γ; without one, C as it is, and γ = 0.1 where C is singular in a
//! direction in which rows vary, which the report then says.

use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank, within_and_total};
use mahala::data::{Random, Stream};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::pairs::Chunklets;
use mahala::progress::Progress;
use mahala::scatter::check_labels;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// Parameters of RCA.
///
/// ```
/// use mahala::learner::{Learner, Training};
/// use mahala::pairs::Chunklets;
/// use mahala::Rows;
/// use mahala::progress::silent;
/// use mahala_baselines::Rca;
/// let rows = Rows::new(vec![0.0, 0.0, 8.0, 0.1, 4.0, 1.0, 6.0, 1.1, 9.0, 5.0], 2)?;
/// let chunklets = Chunklets::new(&[Some(0), Some(0), Some(1), Some(1), None])?;
/// let a = Rca::default().learn(&Training::Chunklets(&rows, &chunklets), &mut silent)?.metric.matrix()?;
/// assert!(a[(1, 1)] > 100.0 * a[(0, 0)]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rca {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// γ, between 0 and 1; if None, 0 unless C is singular.
    pub shrinkage: Option<f64>,
    /// Chunklets drawn from labelled rows; every class is one if None.
    pub chunklets: Option<usize>,
    /// The rows of a chunklet that is drawn.
    pub chunklet_size: usize,
    /// The seed of the chunklets drawn.
    pub seed: u64,
}

impl Default for Rca {
    fn default() -> Self {
        Self { rank: None, shrinkage: None, chunklets: None, chunklet_size: 2, seed: 0 }
    }
}

impl Learner for Rca {
    fn name(&self) -> &'static str {
        "rca"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // The rows standardised, centred twice; C, T, their sum, eigenvectors and workspace; chunklet means.
        shape.matrices(12.0, 4.0)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        Some(SpanRule { standardize: true, directions: self.rank.unwrap_or(1) })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        check_shrinkage(self.shrinkage)?;
        let rank = checked_rank(self.rank, training.rows().columns())?;
        let chunklets = self.chunklets_of(training)?;
        chunklets.check(training.rows().len())?;
        let rows = Standardized::of(training.rows())?;
        let [c, t] = within_and_total(&rows.rows, chunklets.codes(), chunklets.count());
        let pencil = Pencil::of(c.as_ref(), t.as_ref(), rows.rows.len())?;
        let (shrinkage, choice) = pencil.shrinkage(self.shrinkage);
        let weight = |s: f64| 1.0 / ((1.0 - shrinkage) * s + shrinkage * (1.0 - s));
        let components = pencil.components(0..rank.min(pencil.shares.len()), weight);
        rows.learned(components, choice)
    }
}

impl Rca {
    fn chunklets_of<'a>(&self, training: &Training<'a>) -> Result<Cow<'a, Chunklets>> {
        match (training, self.chunklets) {
            (Training::Chunklets(_, chunklets), None) => Ok(Cow::Borrowed(chunklets)),
            (Training::Chunklets(..), Some(count)) => Err(Error::Parameter {
                name: "chunklets",
                value: count.to_string(),
                allowed: "left out: the chunklets themselves were given",
            }),
            (Training::Labelled(data) | Training::Grouped(data, _), count) => {
                check_labels(data.labels())?;
                Ok(Cow::Owned(match count {
                    None => Chunklets::of_classes(data.labels())?,
                    Some(count) => {
                        let random = &mut Random::of(self.seed, Stream::Chunklets);
                        Chunklets::sampled(data.labels(), count, self.chunklet_size, random)?
                    }
                }))
            }
            _ => Err(training.refused(self.name(), "given labels or chunklets")),
        }
    }
}
