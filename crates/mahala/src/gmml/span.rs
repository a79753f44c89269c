//! An orthonormal basis of the span of centred rows, and rows in its coordinates.
//!
//! # Formula
//! ```text
//! X_c·X_cᵀ = U Σ² Uᵀ,     Q = X_cᵀ U Σ⁻¹,     X_c Q = U Σ
//! ```
//! `Q` (d × r, r ≤ n − 1) is never formed: it is used in combinations `M·Qᵀ = (M Σ⁻¹ Uᵀ)·X_c`. With a kernel
//! matrix in place of `X_c·X_cᵀ` this holds in feature space.
//!
//! Where neither n nor d is small, the leading directions are found by randomised subspace iteration (Halko,
//! Martinsson, Tropp 2011): the rows times a random matrix span nearly the space of the leading directions, and
//! each power iteration brings it nearer.

use crate::data::Rows;
use crate::data::centered::{Cells, Centred};
use crate::data::random::{Random, Stream};
use crate::error::{Error, Result};
use crate::metric::Metric;
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::{Eigen, eigen};
use mahala_kernels::reduce::squared_norm;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::workspace::Workspace;

/// The basis, as combinations of the rows.
pub(crate) struct Span {
    /// n × r, orthonormal.
    u: Mat<f64>,
    /// Σ, descending.
    lengths: Vec<f64>,
}

/// Rows in the coordinates of an orthonormal basis of their span, and the map back.
pub(crate) struct InSpan<'a> {
    /// The rows, n × r.
    pub(crate) rows: Rows,
    centred: Centred<'a>,
    span: Span,
}

impl<'a> InSpan<'a> {
    /// # Errors
    /// Rows that are all equal, or whose squares overflow or underflow.
    pub(crate) fn of(rows: &'a Rows, standardize: bool) -> Result<Self> {
        let centred = Centred::new(Cells::Dense(rows), standardize)?;
        let span = Span::of_gram(centred.gram().as_ref(), "the products of the rows");
        let span = span.map_err(|error| match error {
            Error::AllConstant { .. } => Error::AllConstant { columns: rows.columns() },
            other => other,
        })?;
        Ok(Self { rows: span.coordinates(centred.exponent)?, centred, span })
    }

    /// Columns that never vary.
    pub(crate) fn constant_columns(&self) -> Vec<usize> {
        self.centred.constant.clone()
    }

    /// The metric on all columns that measures rows as `metric` measures their coordinates; 0 outside the span.
    pub(crate) fn composed(&self, metric: &Metric) -> Result<Metric> {
        let components = self.centred.combined(self.span.combination(metric.map().as_ref()).as_ref());
        let (mean, scale) = (self.centred.mean.clone(), self.centred.scale.clone());
        Metric::new(components, mean, scale).map_err(|error| match error {
            Error::NotFinite { .. } => Error::OutOfRange { what: "the metric" },
            other => other,
        })
    }
}

/// The leading directions of the rows.
pub(crate) struct Leading {
    /// r × d, orthonormal.
    pub(crate) directions: Mat<f64>,
    /// The rows in their coordinates, r × n.
    pub(crate) coordinates: Mat<f64>,
    /// The share of the squares of all cells that lies outside.
    pub(crate) outside: f64,
}

/// Squared singular values below this share of the largest are rounding: sums of squares hold no more digits.
const RANK: f64 = 1e-12;
/// Oversampling of the randomised subspace iteration.
const EXTRA: usize = 10;
/// Power iterations of the randomised subspace iteration.
const STEPS: usize = 4;

impl Span {
    /// The basis from the Gram matrix of centred rows.
    ///
    /// # Errors
    /// Products that are not finite or not positive semidefinite, or all 0.
    pub(crate) fn of_gram(gram: MatRef<'_, f64>, what: &'static str) -> Result<Self> {
        let Eigen { values, vectors } = eigen(gram, what, &mut Workspace::default())?;
        let (least, most) = (values[0], values[values.len() - 1]);
        if least < -1e-6 * most.max(0.0) - f64::MIN_POSITIVE {
            let value = format!("not so: eigenvalues from {least:e} to {most:e}");
            return Err(Error::Parameter { name: what, value, allowed: "positive semidefinite" });
        }
        let kept: Vec<usize> = (0..values.len()).rev().filter(|&i| values[i] > RANK * most).collect();
        if kept.is_empty() {
            return Err(Error::AllConstant { columns: gram.ncols() });
        }
        let lengths = kept.iter().map(|&i| values[i].sqrt()).collect();
        let u = Mat::from_fn(gram.nrows(), kept.len(), |i, k| vectors[(i, kept[k])]);
        Ok(Self { u, lengths })
    }

    pub(crate) fn rank(&self) -> usize {
        self.lengths.len()
    }

    /// `UΣ·2^exponent`: the rows in the coordinates of the basis.
    pub(crate) fn coordinates(&self, exponent: i32) -> Result<Rows> {
        let coordinate = |i: usize, k: usize| times_power_of_two(self.u[(i, k)] * self.lengths[k], exponent);
        let cells = (0..self.u.nrows()).flat_map(|i| (0..self.rank()).map(move |k| coordinate(i, k)));
        Rows::new(cells.collect(), self.rank()).map_err(|_| Error::OutOfRange { what: "a coordinate" })
    }

    /// `M Σ⁻¹ Uᵀ` for `M` of k × r: the coefficients of the rows in `M·Qᵀ`.
    pub(crate) fn combination(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        let scaled = Mat::from_fn(m.nrows(), self.rank(), |i, k| m[(i, k)] / self.lengths[k]);
        product(scaled.as_ref(), self.u.transpose())
    }
}

impl Leading {
    /// The `rank` leading directions, or all there are.
    ///
    /// # Errors
    /// Rows that are all equal.
    pub(crate) fn of(rows: &Centred<'_>, rank: usize, seed: u64) -> Result<Self> {
        let total = rows.squared_norm();
        if total == 0.0 {
            return Err(Error::AllConstant { columns: rows.columns() });
        }
        let width = rank.saturating_add(EXTRA).min(rows.len()).min(rows.columns());
        let mut random = Random::of(seed, Stream::Principal);
        let start = Mat::from_fn(width, rows.columns(), |_, _| random.uniform() - 0.5);
        let mut y = rows.times_rows(start.as_ref());
        let mut w = start;
        for _ in 0..STEPS {
            w = orthonormal(rows.combined(orthonormal(y)?.as_ref()))?;
            y = rows.times_rows(w.as_ref());
        }
        let Eigen { values, vectors } = eigen(gram(y.as_ref()).as_ref(), "Y·Yᵀ", &mut Workspace::default())?;
        let found = values.iter().rev().take_while(|&&x| x > RANK * values[values.len() - 1]).count();
        let last = values.len();
        let rotation = Mat::from_fn(found.min(rank), last, |i, j| vectors[(j, last - 1 - i)]);
        let coordinates = product(rotation.as_ref(), y.as_ref());
        let inside = squared_norm(coordinates.as_ref());
        let outside = (1.0 - inside / total).max(0.0);
        Ok(Self { directions: product(rotation.as_ref(), w.as_ref()), coordinates, outside })
    }

    /// The rows in these coordinates, times 2^exponent.
    pub(crate) fn rows(&self, exponent: i32) -> Result<Rows> {
        let z = self.coordinates.transpose();
        let scaled = Mat::from_fn(z.nrows(), z.ncols(), |i, j| times_power_of_two(z[(i, j)], exponent));
        Rows::from_mat(scaled.as_ref()).map_err(|_| Error::OutOfRange { what: "a coordinate" })
    }
}

/// An orthonormal basis of the rows of a wide matrix, as rows; orthogonalised twice, because once leaves
/// rounding.
fn orthonormal(mut y: Mat<f64>) -> Result<Mat<f64>> {
    for _ in 0..2 {
        let Eigen { values, vectors } = eigen(gram(y.as_ref()).as_ref(), "Y·Yᵀ", &mut Workspace::default())?;
        let most = values[values.len() - 1];
        let kept: Vec<usize> = (0..values.len()).filter(|&i| values[i] > RANK * most).collect();
        if kept.is_empty() {
            return Err(Error::AllConstant { columns: y.ncols() });
        }
        let rotation =
            Mat::from_fn(kept.len(), y.nrows(), |i, j| vectors[(j, kept[i])] / values[kept[i]].sqrt());
        y = product(rotation.as_ref(), y.as_ref());
    }
    Ok(y)
}

fn gram(y: MatRef<'_, f64>) -> Mat<f64> {
    product(y, y.transpose())
}
