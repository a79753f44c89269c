//! Linearly dependent columns: `S` and `D` restricted to the directions in which the rows vary.
//!
//! # Formula
//! ```text
//! diag(T)^{-½} T diag(T)^{-½} = VEVᵀ,     T = S + D
//! N = diag(T)^{-½}V₀: the directions with E ≤ 10⁻¹²,     QᵀN = 0,     QᵀQ = I
//! A = Q·[(QᵀSQ)⁻¹ ♯_t (QᵀDQ)]·Qᵀ
//! ```
//! Along `N` rows differ by rounding alone. A ridge would make `S` regular there, and rounding would get the
//! largest weight of all; as with constant columns the weight is 0, and as with more columns than rows
//! ([`crate::gmml::low_rank`]) nothing is lost, because the metric is equivariant under rotations of the rows.

use crate::error::Result;
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::blas::transpose::mirror_lower;
use mahala_kernels::eigen::eigen;
use mahala_kernels::view::{column, column_mut};
use mahala_kernels::workspace::Workspace;

/// Variances of unit columns up to this are rounding: sums of squares in 64 bits hold some 10⁻¹⁵, cells that were once in
/// 32 bits 10⁻¹⁴.
const ROUNDING: f64 = 1e-12;

/// `Q`, an orthonormal basis of the directions in which rows vary; none if that is all of them.
///
/// # Errors
/// Sums that are not finite.
pub(crate) fn varying_directions(s: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Result<Option<Mat<f64>>> {
    let n = s.nrows();
    let root: Vec<f64> = (0..n).map(|j| (s[(j, j)] + d[(j, j)]).sqrt()).collect();
    let correlation = Mat::from_fn(n, n, |i, j| (s[(i, j)] + d[(i, j)]) / root[i] / root[j]);
    let e = eigen(correlation.as_ref(), "the correlations", &mut Workspace::default())?;
    let null = e.values.iter().filter(|&&x| x <= ROUNDING).count();
    if null == 0 {
        return Ok(None);
    }
    Ok(Some(complement(Mat::from_fn(n, null, |i, k| e.vectors[(i, k)] / root[i]))))
}

/// `QᵀMQ`, exactly symmetric.
pub(crate) fn within(q: MatRef<'_, f64>, m: MatRef<'_, f64>) -> Mat<f64> {
    let mut inside = product(product(q.transpose(), m).as_ref(), q);
    mirror_lower(&mut inside);
    inside
}

/// An orthonormal basis of the orthogonal complement of some columns, by Householder reflectors. Each is pivoted
/// at the largest remaining entry: columns that take part in no dependence are unchanged.
fn complement(mut columns: Mat<f64>) -> Mat<f64> {
    let (n, k) = (columns.nrows(), columns.ncols());
    let mut heads: Vec<usize> = Vec::with_capacity(k);
    let mut reflections: Vec<Vec<f64>> = Vec::with_capacity(k);
    for c in 0..k {
        let mut v = column(columns.as_ref(), c).to_vec();
        heads.iter().for_each(|&head| v[head] = 0.0);
        let size = v.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
        let head = v.iter().position(|x| x.abs() == size).unwrap_or(0);
        v.iter_mut().for_each(|x| *x /= size);
        v[head] += squared_norm(&v).sqrt().copysign(v[head]);
        for later in c + 1..k {
            reflect(column_mut(columns.as_mut(), later), &v);
        }
        heads.push(head);
        reflections.push(v);
    }
    let others: Vec<usize> = (0..n).filter(|j| !heads.contains(j)).collect();
    let mut q = Mat::zeros(n, n - k);
    for (to, &j) in others.iter().enumerate() {
        q[(j, to)] = 1.0;
        reflections.iter().rev().for_each(|v| reflect(column_mut(q.as_mut(), to), v));
    }
    q
}

/// `x − 2v·vᵀx/vᵀv`
fn reflect(x: &mut [f64], v: &[f64]) {
    let along = 2.0 * x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>() / squared_norm(v);
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
}

fn squared_norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;

    /// The sum of squares of rows whose last column is the sum of the two before it, and their number of columns.
    fn dependent(units: [f64; 4]) -> Mat<f64> {
        let mut random = Random::new(3, 0);
        let rows = Mat::from_fn(50, 3, |_, _| random.uniform() - 0.5);
        let cells = Mat::from_fn(50, 4, |i, j| {
            let sum = units[1] * rows[(i, 1)] + units[2] * rows[(i, 2)];
            if j == 3 { sum } else { units[j] * rows[(i, j)] }
        });
        cells.transpose() * &cells
    }

    #[test]
    fn a_column_that_is_a_sum_of_others_leaves_one_direction_out() {
        for units in [[1.0; 4], [1e5, 1.0, 1e-4, 1.0]] {
            let s = dependent(units);
            let q = varying_directions(s.as_ref(), s.as_ref()).unwrap().unwrap();
            assert_eq!((q.nrows(), q.ncols()), (4, 3));
            assert!((q.transpose() * &q - Mat::<f64>::identity(3, 3)).norm_max() < 1e-15);
            for c in 0..3 {
                // The null direction is (0, 1, 1, −1), known to rounding over the smallest variance.
                assert!((q[(1, c)] + q[(2, c)] - q[(3, c)]).abs() < 1e-7, "{units:?}: {q:?}");
                assert_eq!(q[(0, c)].abs() > 0.5, c == 0, "the free column stays as it is");
            }
        }
    }

    #[test]
    fn columns_that_are_free_keep_every_direction() {
        let s = Mat::from_fn(3, 3, |i, j| if i == j { 1.0 } else { 1.0 - 1e-9 });
        assert!(varying_directions(s.as_ref(), s.as_ref()).unwrap().is_none());
    }

    #[test]
    fn two_dependences_leave_two_directions_out() {
        let mut random = Random::new(4, 0);
        let half = Mat::from_fn(6, 4, |_, _| random.uniform() - 0.5);
        let s = &half * half.transpose();
        let q = varying_directions(s.as_ref(), s.as_ref()).unwrap().unwrap();
        assert_eq!(q.ncols(), 4);
        let back = &q * within(q.as_ref(), s.as_ref()) * q.transpose();
        assert!((back - &s).norm_max() < 1e-14);
    }
}
