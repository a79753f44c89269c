//! Online learners: one pair or triplet at a time, and the metric on demand.
//!
//! A state ([`OnlineLego`], [`OnlinePola`], [`OnlineOasis`], [`OnlineLoreta`], [`OnlineBilinearLoreta`],
//! [`OnlineMoml`], [`OnlineGmml`]) is
//! updated by [`Online::update_pair`] or [`Online::update_triplet`]. The parameter structs ([`Lego`], [`Pola`],
//! [`Oasis`], [`Loreta`], [`Moml`]) are batch learners that present a table to the state in passes, each in an order
//! drawn from the seed.

mod bilinear_loreta;
mod factor;
mod gmml;
mod lego;
mod loreta;
mod moml;
mod oasis;
mod pola;
mod presentation;

pub(crate) use presentation::{nearest_triplets, triplets_of};

pub use bilinear_loreta::OnlineBilinearLoreta;
pub use gmml::OnlineGmml;
pub use lego::{Lego, OnlineLego};
pub use loreta::{Loreta, LoretaForm, OnlineLoreta};
pub use moml::{Moml, OnlineMoml};
pub use oasis::{Oasis, OnlineOasis};
pub use pola::{OnlinePola, Pola};

use faer::{Mat, MatRef};
use mahala::error::{Error, MemoryRemedy, Result};
use mahala::footprint::memory_limit_gb;
use mahala::metric::Metric;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;

/// A learner that sees one pair or triplet of rows at a time.
///
/// ```
/// use mahala_baselines::online::{Online, OnlinePola};
/// let mut pola = OnlinePola::new(2)?;
/// // The classes differ in the second column only; the first is noise.
/// for _ in 0..20 {
///     pola.update_pair(&[0.9, 0.0], &[0.0, 0.0], true)?;
///     pola.update_pair(&[0.3, 0.0], &[0.2, 0.9], false)?;
/// }
/// let a = pola.metric()?.matrix()?;
/// assert!(a[(1, 1)] > 5.0 * a[(0, 0)]);
/// # Ok::<(), mahala::Error>(())
/// ```
pub trait Online {
    /// The name of the method.
    fn name(&self) -> &'static str;

    /// The number of columns of a row.
    fn columns(&self) -> usize;

    /// Learns from two rows known to be similar or dissimilar; returns the loss before the update.
    ///
    /// # Errors
    /// A row of another length or with a cell that is not finite; a method that learns from triplets only.
    fn update_pair(&mut self, first: &[f64], second: &[f64], similar: bool) -> Result<f64>;

    /// Learns that `anchor` is nearer to `near` than to `far`; returns the loss before the update. A method that
    /// learns from pairs takes it for two of them.
    ///
    /// # Errors
    /// A row of another length or with a cell that is not finite.
    fn update_triplet(&mut self, anchor: &[f64], near: &[f64], far: &[f64]) -> Result<f64> {
        Ok(self.update_pair(anchor, near, true)? + self.update_pair(anchor, far, false)?)
    }

    /// The metric of everything seen so far, centred at 0.
    ///
    /// # Errors
    /// A metric that does not exist yet, or that is outside the range of 64-bit numbers.
    fn metric(&self) -> Result<Metric>;
}

/// `first − second`, checked.
fn difference(columns: usize, first: &[f64], second: &[f64]) -> Result<Vec<f64>> {
    for (row, cells) in [first, second].into_iter().enumerate() {
        if cells.len() != columns {
            return Err(Error::Length { what: "columns of a row", seen: cells.len(), expected: columns });
        }
        if let Some(column) = cells.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row, column, value: cells[column] });
        }
    }
    let v: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    // Fourth powers of a difference must be in range.
    if v.iter().all(|v| v.abs() < 1e70) {
        Ok(v)
    } else {
        Err(Error::OutOfRange { what: "the difference of two rows" })
    }
}

/// Refuses a table without columns.
fn checked_columns(columns: usize) -> Result<usize> {
    if columns > 0 { Ok(columns) } else { Err(Error::Empty { what: "the list of columns" }) }
}

/// Refuses a parameter that is not positive and finite.
fn checked_positive(name: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Error::Parameter { name, value: value.to_string(), allowed: "finite and above 0" })
}

/// The refusal of a pair by a method that compares two distances.
fn needs_triplets(name: &str) -> Error {
    Error::Parameter {
        name: "method",
        value: format!("{name}, with a pair"),
        allowed: "lego, pola or gmml for pairs; this one learns from triplets",
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `A·v`, for a symmetric A.
pub(crate) fn times(a: MatRef<'_, f64>, v: &[f64]) -> Vec<f64> {
    let mut w = vec![0.0; a.nrows()];
    for (j, &v) in v.iter().enumerate() {
        w.iter_mut().zip(a.col(j).iter()).for_each(|(w, a)| *w += a * v);
    }
    w
}

/// `A + factor·vvᵀ`.
fn add_outer(a: &mut Mat<f64>, factor: f64, v: &[f64]) {
    for (j, &vj) in v.iter().enumerate() {
        // vi·vj first: the same product on both sides of the diagonal.
        a.col_mut(j).iter_mut().zip(v).for_each(|(a, vi)| *a += factor * (vi * vj));
    }
}

/// Refuses a dense matrix of columns × columns that does not fit, with what its eigenvectors need.
fn check_dense(what: &'static str, d: usize) -> Result<()> {
    let (gigabytes, limit) = (8e-9 * 5.0 * (d as f64).powi(2), memory_limit_gb());
    if gigabytes > limit {
        return Err(Error::Memory { what, gigabytes, d, limit, remedy: MemoryRemedy::Columns });
    }
    Ok(())
}

/// The metric of the positive semidefinite part of `A`; 0 if there is none.
fn metric_of_positive_part(a: MatRef<'_, f64>) -> Result<Metric> {
    let d = a.nrows();
    if (0..d).any(|j| a.col(j).iter().any(|a| !a.is_finite())) {
        return Err(Error::OutOfRange { what: "the matrix A" });
    }
    let e = eigen(a, "A", &mut Workspace::default())?;
    let size = e.values[0].abs().max(e.values[d - 1].abs());
    let least = d as f64 * f64::EPSILON * size;
    let kept: Vec<usize> = (0..d).rev().filter(|&k| e.values[k] > least).collect();
    if kept.is_empty() {
        return Metric::computed(Mat::zeros(1, d), vec![0.0; d], None);
    }
    let components = Mat::from_fn(kept.len(), d, |i, j| e.values[kept[i]].sqrt() * e.vectors[(j, kept[i])]);
    Metric::computed(components, vec![0.0; d], None)
}
