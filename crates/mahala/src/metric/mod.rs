//! The Mahalanobis metric `d_A`, as the linear map `L` with `A = LᵀL`.

mod calibration;
mod complement;
mod project;
pub(crate) mod verification;

pub use calibration::Calibration;
pub use project::project;
pub(crate) use project::project_chosen;
pub use verification::{
    area_under_curve, best_threshold, squared_pair_distances, threshold_for_labels, threshold_in_coordinates,
};

use crate::data::centered::weighted_sum_of_columns;
use crate::data::column_stats::ColumnStatistics;
use crate::data::sparse::SparseRows;
use crate::data::{Rows, check_cells};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint;
use crate::geometry::spd::Spd;
use faer::{Mat, MatRef};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::eigen::eigen;
use mahala_kernels::reduce::squared_norm;
use mahala_kernels::view::check_finite;
use mahala_kernels::workspace::Workspace;

/// A Mahalanobis metric of rank `r` on rows with `d` columns.
///
/// # Formula
/// ```text
/// z = L·((x − mean) / scale),     d_A(x, y) = ‖z_x − z_y‖² = (x − y)ᵀA(x − y)
/// ```
///
/// The rows of `L` are ordered: the first `r` of them make the best metric of rank `r`.
///
/// A metric may have a weight `w` on the orthogonal complement of the rows of `L` (which then are orthogonal), as
/// those learned on more columns than rows with λ > 0 have:
/// ```text
/// A = LᵀL + w·(I − P),     P the projection on the span,     ‖P·v‖² = Σ_i (L_i·v)² / ‖L_i‖²
/// ```
/// Distances and `A` include it. [`Metric::transform`] cannot in few coordinates: it gives the part inside,
/// to which the part outside adds, for a given row, the same towards all rows the metric was learned on. So
/// neighbours among those are exact; among other rows they take [`Metric::with_outside_as_components`].
///
/// ```
/// use mahala::Metric;
/// use mahala::geometry::Spd;
/// let metric = Metric::from_matrix(&Spd::diagonal(&[4.0, 1.0])?)?;
/// assert!((metric.squared_distance(&[0.0, 0.0], &[1.0, 3.0])? - 13.0).abs() < 1e-12);
/// assert_eq!(metric.reduced(1)?.rank(), 1);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    components: Mat<f64>,
    mean: Vec<f64>,
    scale: Option<Vec<f64>>,
    outside: Option<Outside>,
}

/// The weight on the orthogonal complement of the components.
#[derive(Debug, Clone, PartialEq)]
struct Outside {
    weight: f64,
    /// `‖L_i‖²`
    squared_lengths: Vec<f64>,
}

impl Metric {
    /// A metric from its parts: `components` is `L`, `r × d`.
    ///
    /// # Errors
    /// Shapes that do not agree, cells that are not finite, a scale that is not positive.
    pub fn new(components: Mat<f64>, mean: Vec<f64>, scale: Option<Vec<f64>>) -> Result<Self> {
        let d = components.ncols();
        if components.nrows() == 0 || d == 0 {
            return Err(Error::Empty { what: "the matrix of components" });
        }
        check_finite(components.as_ref())?;
        check_list("means", &mean, d)?;
        if let Some(scale) = &scale {
            check_list("scales", scale, d)?;
        }
        if let Some(&bad) = scale.iter().flatten().find(|&&s| s <= 0.0) {
            return Err(Error::Parameter { name: "scale", value: bad.to_string(), allowed: "above 0" });
        }
        Ok(Self { components, mean, scale, outside: None })
    }

    /// The Euclidean metric.
    ///
    /// # Panics
    /// If `d` is 0.
    pub fn euclidean(d: usize) -> Self {
        assert!(d > 0, "a metric needs at least one column");
        Self { components: Mat::identity(d, d), mean: vec![0.0; d], scale: None, outside: None }
    }

    /// Builds a metric from computed components: a number that is not finite is an overflow, not a cell of the
    /// user's table.
    ///
    /// # Errors
    /// A number that is not finite; shapes that do not agree.
    pub fn computed(components: Mat<f64>, mean: Vec<f64>, scale: Option<Vec<f64>>) -> Result<Self> {
        Self::new(components, mean, scale).map_err(|error| match error {
            Error::NotFinite { .. } => Error::OutOfRange { what: "the metric" },
            other => other,
        })
    }

    /// The metric of a given matrix `A`.
    ///
    /// # Errors
    /// No convergence.
    pub fn from_matrix(a: &Spd) -> Result<Self> {
        let d = a.dimension();
        let e = a.eigen()?;
        let components =
            Mat::from_fn(d, d, |i, j| (0.5 * e.log_values[d - 1 - i]).exp() * e.vectors[(j, d - 1 - i)]);
        Self::computed(components, vec![0.0; d], None)
    }

    /// The Euclidean metric in the principal axes of the rows: no distance changes, and the first
    /// coordinates vary most.
    ///
    /// # Errors
    /// No row, or numbers whose squares leave the range.
    pub fn principal_axes(rows: &Rows) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::Empty { what: "the table of rows" });
        }
        let d = rows.columns();
        let numbers = 7.0 * (d as f64).powi(2) + (rows.len() * d) as f64;
        footprint::check("the covariance", numbers, d, MemoryRemedy::Columns)?;
        let mean = ColumnStatistics::of(rows).mean;
        let centred = Mat::from_fn(rows.len(), d, |i, j| rows.row(i)[j] - mean[j]);
        let covariance = product(centred.transpose(), centred.as_ref());
        let e = eigen(covariance.as_ref(), "the covariance", &mut Workspace::default())?;
        Self::computed(Mat::from_fn(d, d, |i, j| e.vectors[(j, d - 1 - i)]), mean, None)
    }

    /// Moves the origin of [`Metric::transform`]; no distance changes.
    ///
    /// # Errors
    /// A mean of another length, or not finite.
    pub fn centred_at(self, mean: Vec<f64>) -> Result<Self> {
        check_list("means", &mean, self.columns())?;
        Ok(Self { mean, ..self })
    }

    /// Adds a weight on the orthogonal complement of the components, whose rows must be orthogonal to each other.
    ///
    /// # Errors
    /// A weight that is not finite or negative.
    pub fn with_weight_outside(self, weight: f64) -> Result<Self> {
        if !(weight.is_finite() && weight >= 0.0) {
            let allowed = "finite and at least 0";
            return Err(Error::Parameter { name: "weight outside", value: weight.to_string(), allowed });
        }
        let squared_lengths =
            (0..self.rank()).map(|i| squared_norm(self.components.as_ref().subrows(i, 1))).collect();
        Ok(Self { outside: Some(Outside { weight, squared_lengths }), ..self })
    }

    /// The weight on the orthogonal complement of the components; none if there is none.
    pub fn weight_outside(&self) -> Option<f64> {
        self.outside.as_ref().map(|outside| outside.weight)
    }

    /// The metric for rows as they were before column `j` was divided by `scale[j]`.
    ///
    /// # Errors
    /// A scale of another length or not positive, or numbers that leave the range.
    pub(crate) fn of_divided_rows(self, scale: &[f64]) -> Result<Self> {
        let mean = self.mean.iter().zip(scale).map(|(m, s)| m * s).collect();
        let scale = both_scales(self.scale.as_deref(), scale);
        Self::computed(self.components, mean, Some(scale))
    }

    /// `L`, `rank() × columns()`; applied after mean and scale.
    pub fn components(&self) -> MatRef<'_, f64> {
        self.components.as_ref()
    }

    /// The mean, which is subtracted first.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The scale, by which columns are divided next, if the metric was learned on standardised columns.
    pub fn scale(&self) -> Option<&[f64]> {
        self.scale.as_deref()
    }

    /// The number of columns of the rows it measures.
    pub fn columns(&self) -> usize {
        self.components.ncols()
    }

    /// The number of coordinates after [`Metric::transform`].
    pub fn rank(&self) -> usize {
        self.components.nrows()
    }

    /// `L` for rows as the user has them (scales included): `z = map·x` up to a shift. A weight outside the
    /// components is not in it; see [`Metric::with_outside_as_components`].
    pub fn map(&self) -> Mat<f64> {
        Mat::from_fn(self.rank(), self.columns(), |i, j| self.components[(i, j)] / self.scale_of(j))
    }

    /// `A = LᵀL` for rows as the user has them (scales included).
    ///
    /// # Errors
    /// An entry outside the range of 64-bit numbers, or a matrix above the limit of memory.
    pub fn matrix(&self) -> Result<Mat<f64>> {
        // With the copy of L in the units of the rows.
        let d = self.columns() as f64;
        let numbers = d * d + self.rank() as f64 * d;
        footprint::check("the matrix A", numbers, self.columns(), MemoryRemedy::Columns)?;
        let map = self.map();
        let mut a = weighted_gram(map.transpose(), &self.inner_weights());
        if let Some(weight) = self.weight_outside() {
            for j in 0..self.columns() {
                a[(j, j)] += weight / self.scale_of(j).powi(2);
            }
        }
        if (0..a.ncols()).any(|j| a.col(j).iter().any(|x| !x.is_finite())) {
            return Err(Error::OutOfRange { what: "the matrix A" });
        }
        Ok(a)
    }

    /// The diagonal of `A`: the weight of each column. Never forms `A`.
    pub fn diagonal(&self) -> Vec<f64> {
        let weights = self.inner_weights();
        let of_column = |j: usize| {
            let inside: f64 = self.components.col(j).iter().zip(&weights).map(|(l, w)| w * l * l).sum();
            (inside + self.weight_outside().unwrap_or(0.0)).max(0.0) / self.scale_of(j).powi(2)
        };
        (0..self.columns()).map(of_column).collect()
    }

    /// The leading `r` coordinates: a metric of lower rank, with no weight outside them.
    ///
    /// # Errors
    /// `r` is 0 or above the rank.
    pub fn reduced(&self, r: usize) -> Result<Self> {
        if r == 0 || r > self.rank() {
            let allowed = "at least 1 and at most the rank of the metric";
            return Err(Error::Parameter { name: "rank", value: r.to_string(), allowed });
        }
        let components = self.components.as_ref().subrows(0, r).to_owned();
        Ok(Self { components, mean: self.mean.clone(), scale: self.scale.clone(), outside: None })
    }

    /// `d_A(x, y)`, the squared distance.
    ///
    /// # Errors
    /// Rows of another length, or a result that is not finite.
    pub fn squared_distance(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        for row in [x, y] {
            if row.len() != self.columns() {
                return Err(Error::Length {
                    what: "cells of a row",
                    seen: row.len(),
                    expected: self.columns(),
                });
            }
        }
        let difference: Vec<f64> = (0..x.len()).map(|j| (x[j] - y[j]) / self.scale_of(j)).collect();
        let coordinate =
            |i: usize| self.components.row(i).iter().zip(&difference).map(|(l, x)| l * x).sum::<f64>();
        let z: Vec<f64> = (0..self.rank()).map(coordinate).collect();
        let inside: f64 = z.iter().map(|z| z.powi(2)).sum();
        let squared = inside + self.squared_outside(&z, &difference);
        if squared.is_finite() { Ok(squared) } else { Err(Error::OutOfRange { what: "the distance" }) }
    }

    /// The distance `√d_A(x, y)`.
    ///
    /// # Errors
    /// Rows of another length, or a result that is not finite.
    pub fn distance(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        self.squared_distance(x, y).map(f64::sqrt)
    }

    /// The part of a squared distance outside the span of the components: `w·(‖v‖² − ‖P·v‖²)` for a difference
    /// `v` of rows (scaled) and its coordinates `z`.
    pub(crate) fn squared_outside(&self, z: &[f64], difference: &[f64]) -> f64 {
        let Some(Outside { weight, squared_lengths }) = &self.outside else { return 0.0 };
        let all: f64 = difference.iter().map(|x| x * x).sum();
        let lengths = z.iter().zip(squared_lengths).filter(|(_, length)| **length > 0.0);
        let inside: f64 = lengths.map(|(z, length)| z * z / length).sum();
        weight * (all - inside).max(0.0)
    }

    /// The weight of each coordinate in `A − w·I`: `1 − w/‖L_i‖²`.
    fn inner_weights(&self) -> Vec<f64> {
        let Some(Outside { weight, squared_lengths }) = &self.outside else { return vec![1.0; self.rank()] };
        squared_lengths.iter().map(|&length| if length > 0.0 { 1.0 - weight / length } else { 1.0 }).collect()
    }

    pub(crate) fn scale_of(&self, j: usize) -> f64 {
        self.scale.as_ref().map_or(1.0, |scale| scale[j])
    }

    /// Sparse rows in coordinates where the metric is Euclidean: `z = L·((x − mean) / scale)`.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform_sparse(&self, rows: &SparseRows) -> Result<Rows> {
        self.check_columns(rows.columns())?;
        let factors = self.scale.as_ref().map(|scale| scale.iter().map(|s| 1.0 / s).collect::<Vec<_>>());
        let scaled = factors.as_ref().map(|factors| rows.scaled(factors));
        let mean: Vec<f64> = (0..self.columns()).map(|j| self.mean[j] / self.scale_of(j)).collect();
        // z = L·x − L·mean: zeros stay out of the product.
        let shift = weighted_sum_of_columns(self.components(), &mean);
        let rows = scaled.as_ref().unwrap_or(rows);
        let mut z = rows.times(0..rows.len(), self.components());
        z.chunks_exact_mut(self.rank()).for_each(|z| z.iter_mut().zip(&shift).for_each(|(z, s)| *z -= s));
        Rows::new(z, self.rank()).map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
    }

    fn check_columns(&self, seen: usize) -> Result<()> {
        let expected = self.columns();
        if seen == expected {
            return Ok(());
        }
        Err(Error::Length { what: "columns of the rows", seen, expected })
    }

    /// Rows in coordinates where the metric is Euclidean: `z = L·((x − mean) / scale)`.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform(&self, rows: &Rows) -> Result<Rows> {
        self.check_columns(rows.columns())?;
        let values = project(rows, &self.mean, self.scale.as_deref(), self.components.transpose());
        Rows::new(values, self.rank()).map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
    }
}

/// Checks that there is a finite number for each column.
fn check_list(what: &'static str, list: &[f64], columns: usize) -> Result<()> {
    if list.len() != columns {
        return Err(Error::Length { what, seen: list.len(), expected: columns });
    }
    check_cells(list, columns)
}

/// `(X − mean) / scale`, row-major.
pub(crate) fn standardized(rows: &[f64], mean: &[f64], scale: Option<&[f64]>) -> Vec<f64> {
    let mut values = rows.to_vec();
    for row in values.chunks_exact_mut(mean.len()) {
        row.iter_mut().zip(mean).for_each(|(x, m)| *x -= m);
        if let Some(scale) = scale {
            row.iter_mut().zip(scale).for_each(|(x, s)| *x /= s);
        }
    }
    values
}

/// The combined scale of columns divided by one scale first, and then by another, if there is one.
pub(crate) fn both_scales(own: Option<&[f64]>, first: &[f64]) -> Vec<f64> {
    match own {
        Some(own) => own.iter().zip(first).map(|(a, b)| a * b).collect(),
        None => first.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transformed_rows_are_as_far_apart_as_the_metric_says() {
        let l = Mat::from_fn(2, 3, |i, j| [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]][i][j]);
        let metric = Metric::new(l, vec![1.0, 1.0, 1.0], Some(vec![1.0, 2.0, 4.0])).unwrap();
        let rows = Rows::new(vec![0.0, 1.0, 2.0, 5.0, -1.0, 7.0], 3).unwrap();
        let z = metric.transform(&rows).unwrap();
        let by_transform: f64 = z.row(0).iter().zip(z.row(1)).map(|(a, b)| (a - b) * (a - b)).sum();
        let direct = metric.squared_distance(rows.row(0), rows.row(1)).unwrap();
        let a = metric.matrix().unwrap();
        let x: Vec<f64> = (0..3).map(|j| rows.row(0)[j] - rows.row(1)[j]).collect();
        let quadratic: f64 =
            (0..3).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| x[i] * a[(i, j)] * x[j]).sum();
        assert!(metric.diagonal().iter().enumerate().all(|(j, x)| (x - a[(j, j)]).abs() < 1e-15));
        assert!((by_transform - direct).abs() < 1e-12);
        assert!((quadratic - direct).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let metric = Metric::euclidean(2);
        assert!(metric.distance(&[1.0], &[1.0, 2.0]).is_err());
        assert!(metric.reduced(0).is_err() && metric.reduced(3).is_err());
        assert!(Metric::new(Mat::identity(2, 2), vec![0.0], None).is_err());
        assert!(Metric::new(Mat::identity(2, 2), vec![0.0; 2], Some(vec![1.0, 0.0])).is_err());
        assert!(Metric::new(Mat::from_fn(1, 1, |_, _| f64::NAN), vec![0.0], None).is_err());
        assert_eq!(
            metric.distance(&[1e200, 0.0], &[-1e200, 0.0]),
            Err(Error::OutOfRange { what: "the distance" })
        );
    }
}
