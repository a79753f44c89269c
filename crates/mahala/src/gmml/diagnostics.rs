//! Diagnostics of a fit.

use crate::gmml::low_rank::LearnedSpan;
use crate::gmml::select_t::Selection;
use crate::scatter::PairCount;

/// Diagnostics of a fit: pair counts, condition numbers, eigenvalues, and what was done to make `S` regular.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Diagnostics {
    /// The similar pairs.
    pub similar: PairCount,
    /// The dissimilar pairs.
    pub dissimilar: PairCount,
    /// The condition number of `S` as factorised (1-norm, estimated).
    pub condition_s: f64,
    /// The condition number of `D` (1-norm, estimated).
    pub condition_d: f64,
    /// The ridge added to `S`, as a share of each column's variance; 0 if none was needed.
    pub ridge: f64,
    /// Columns that never vary; they have weight 0.
    pub constant_columns: Vec<usize>,
    /// The number of eigenvalues at or below rounding.
    pub clamped: usize,
    /// `log Λ`, descending: the eigenvalues of `SD`.
    pub log_eigenvalues: Vec<f64>,
    /// The span the metric was learned in, unless that was all of the space.
    pub span: Option<LearnedSpan>,
    /// How t was chosen, unless it was given.
    pub selection: Option<Selection>,
}
