//! The symmetric eigenproblem.
//!
//! Two algorithms, by order: Householder tridiagonalisation with implicit QR iteration ([`qr_iteration`]) up to 32, and
//! Householder tridiagonalisation ([`tridiagonalize`]) with divide and conquer ([`divide_and_conquer`]) above; order 2 is one
//! Jacobi rotation. All are accurate to `eps·λ_max`. For matrices graded by the units of their columns, [`graded`] finds
//! eigenvalues to high relative accuracy by one-sided Jacobi rotations ([`jacobi`]).
//!
//! The input is checked for NaN and infinity first: the iteration would otherwise run for seconds before it fails. A matrix of
//! extreme scale is multiplied by a power of two, so that any uniform scale converges.

#[cfg(test)]
mod accuracy;
pub mod divide_and_conquer;
pub mod graded;
pub mod jacobi;
pub mod qr_iteration;
pub mod secular;
pub mod tridiagonalize;

use crate::error::{Error, Result};
use crate::order::ascending;
use crate::parallel::parallelism;
use crate::reduce::max_abs_lower;
use crate::scaling::{extreme_exponent, scaled_lower, times_power_of_two};
use crate::view::{check_finite_lower, column, column_mut};
use crate::workspace::Workspace;
use faer::{Mat, MatRef};
use tridiagonalize::reflectors;

/// The eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix.
pub struct Eigen {
    /// Ascending.
    pub values: Vec<f64>,
    /// A column for each value.
    pub vectors: Mat<f64>,
}

/// The eigendecomposition of a symmetric matrix, of which only the lower triangle is read. `what` names it in errors.
pub fn eigen(matrix: MatRef<'_, f64>, what: &'static str, workspace: &mut Workspace) -> Result<Eigen> {
    let mut copy = workspace.take(matrix.nrows());
    copy.copy_from_triangular_lower(matrix);
    eigen_in_place(copy, what, workspace)
}

/// The eigendecomposition of a symmetric matrix, overwriting it; only the lower triangle is read. `what` names it in errors.
pub fn eigen_in_place(mut matrix: Mat<f64>, what: &'static str, workspace: &mut Workspace) -> Result<Eigen> {
    // The matrix was computed by a caller: a value that is not finite is an overflow, not a cell of the user's table.
    check_finite_lower(matrix.as_ref()).map_err(|_| Error::OutOfRange { what })?;
    let exponent = extreme_exponent(max_abs_lower(matrix.as_ref()));
    if exponent != 0 {
        matrix = scaled_lower(matrix.as_ref(), -exponent);
    }
    let mut eigen = match matrix.nrows() {
        0 => Eigen { values: Vec::new(), vectors: matrix },
        2 => eigen_2x2(matrix[(0, 0)], matrix[(1, 0)], matrix[(1, 1)]),
        n => if n <= qr_iteration::MAX_ORDER {
            eigen_small(&matrix, workspace)
        } else {
            eigen_large(matrix, workspace)
        }
        .ok_or(Error::NoConvergence { what })?,
    };
    eigen.values.iter_mut().for_each(|x| *x = times_power_of_two(*x, exponent));
    if eigen.values.iter().any(|x| !x.is_finite()) {
        return Err(Error::NoConvergence { what });
    }
    Ok(eigen)
}

/// `A = HTHᵀ`, `T = QΛQᵀ`, so that the eigenvectors are `HQ`.
fn eigen_large(matrix: Mat<f64>, workspace: &mut Workspace) -> Option<Eigen> {
    let n = matrix.nrows();
    let par = parallelism(n);
    let (mut q, mut scratch) = (workspace.take(n), workspace.take(n));
    let (mut values, mut below, reflectors) = reflectors::reduce(matrix, par);
    let order = divide_and_conquer::eigen(&mut values, &mut below, q.as_mut(), scratch.as_mut(), par)?;
    for (k, &j) in order.iter().enumerate() {
        column_mut(scratch.as_mut(), k).copy_from_slice(column(q.as_ref(), j));
    }
    reflectors.apply(scratch.as_mut());
    workspace.give(q);
    workspace.give(reflectors.basis);
    Some(Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors: scratch })
}

fn eigen_small(matrix: &Mat<f64>, workspace: &mut Workspace) -> Option<Eigen> {
    let n = matrix.nrows();
    let mut columns = qr_iteration::identity();
    let values = qr_iteration::eigen(matrix.as_ref(), &mut columns)?;
    let order = ascending(&values);
    let mut vectors = workspace.take(n);
    for (k, &j) in order.iter().enumerate() {
        column_mut(vectors.as_mut(), k).copy_from_slice(&columns[j][..n]);
    }
    Some(Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors })
}

/// One Jacobi rotation for `[[p, q], [q, r]]`. The general routine would solve order 2 by a formula that cancels: of
/// diag(1, 1e-8) it returned the small eigenvalue with half its digits.
fn eigen_2x2(p: f64, q: f64, r: f64) -> Eigen {
    let tangent = if q == 0.0 {
        0.0
    } else {
        let cotangent = 0.5 * (r - p) / q; // of twice the angle
        1f64.copysign(cotangent) / (cotangent.abs() + cotangent.hypot(1.0))
    };
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let mut pairs = [(p - tangent * q, [cosine, -sine]), (r + tangent * q, [sine, cosine])];
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Eigen { values: pairs.map(|(x, _)| x).to_vec(), vectors: Mat::from_fn(2, 2, |i, j| pairs[j].1[i]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(entries: &[&[f64]]) -> Mat<f64> {
        Mat::from_fn(entries.len(), entries[0].len(), |i, j| entries[i][j])
    }

    #[test]
    fn eigenvalues_survive_extreme_uniform_scales() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let values = eigen(
                matrix(&[&[2.0 * scale, scale], &[scale, 2.0 * scale]]).as_ref(),
                "m",
                &mut Workspace::default(),
            )
            .unwrap()
            .values;
            assert!((values[0] / scale - 1.0).abs() < 1e-14, "{scale}: {values:?}");
            assert!((values[1] / scale - 3.0).abs() < 1e-14, "{scale}: {values:?}");
        }
    }

    #[test]
    fn two_rows_keep_the_digits_of_a_small_eigenvalue() {
        for x in [1e-8f64, 1e-20, 1e-100] {
            // λ₁λ₂ = x·(1 − 0.09) and λ₂ ≈ 1 + 0.09x.
            let e = eigen(
                matrix(&[&[1.0, 0.3 * x.sqrt()], &[0.3 * x.sqrt(), x]]).as_ref(),
                "m",
                &mut Workspace::default(),
            )
            .unwrap();
            assert!((e.values[0] * (1.0 + 0.09 * x) / (0.91 * x) - 1.0).abs() < 1e-15, "{x}: {:?}", e.values);
        }
        let e =
            eigen(matrix(&[&[2.0, -1.0], &[-1.0, 2.0]]).as_ref(), "m", &mut Workspace::default()).unwrap();
        assert!((e.values[0] - 1.0).abs() < 1e-15 && (e.values[1] - 3.0).abs() < 1e-15);
        assert!((e.vectors[(0, 0)] - e.vectors[(1, 0)]).abs() < 1e-15);
    }

    #[test]
    fn a_matrix_of_our_own_that_overflowed_is_not_taken_for_the_cell_of_a_user() {
        let m = matrix(&[&[1.0, 0.0, 0.0], &[0.0, f64::NAN, 0.0], &[0.0, 0.0, 1.0]]);
        let error = eigen(m.as_ref(), "LᵀDL", &mut Workspace::default()).err();
        assert_eq!(error, Some(Error::OutOfRange { what: "LᵀDL" }));
    }
}
