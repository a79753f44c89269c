//! Symmetric positive definite matrices, by construction.

use crate::error::{Error, Result};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, MatRef};
use mahala_kernels::blas::weighted_gram;
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::eigen::graded::{LogEigen, are_lost, is_graded, of_gram};
use mahala_kernels::eigen::{Eigen, eigen};
use mahala_kernels::parallel::parallelism;
use mahala_kernels::view::check_finite;
use mahala_kernels::workspace::Workspace;

/// A symmetric positive definite matrix, by construction.
///
/// ```
/// use mahala::Mat;
/// use mahala::geometry::Spd;
/// let matrix = Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 1.0 });
/// let spd = Spd::new(matrix)?;
/// assert!((spd.log_det() - 3f64.ln()).abs() < 1e-15);
/// assert!(Spd::new(Mat::from_fn(2, 2, |_, _| 1.0)).is_err()); // singular
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Spd {
    matrix: Mat<f64>,
    /// Lower triangular, `matrix = factor · factorᵀ`.
    factor: Mat<f64>,
}

impl Spd {
    /// Checks a matrix. Rounding-sized asymmetry is averaged away.
    ///
    /// # Errors
    /// Not square, not finite, asymmetric beyond 1e-6 of its scale, or not positive definite.
    pub fn new(matrix: Mat<f64>) -> Result<Self> {
        Self::named(matrix, "the matrix")
    }

    /// Checks a matrix; `name` is its name in error messages.
    ///
    /// # Errors
    /// Not square, not finite, asymmetric beyond 1e-6 of its scale, or not positive definite.
    pub fn named(matrix: Mat<f64>, what: &'static str) -> Result<Self> {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        if rows != columns || rows == 0 {
            return Err(Error::NotSquare { what, rows, columns });
        }
        check_finite(matrix.as_ref())?;
        let matrix = symmetrised(matrix, what)?;
        let factor = cholesky(matrix.as_ref(), what, &mut Workspace::default())?;
        Ok(Self { matrix, factor })
    }

    /// The identity matrix.
    ///
    /// # Panics
    /// If `d` is 0.
    pub fn identity(d: usize) -> Self {
        assert!(d > 0, "a matrix needs at least one row");
        Self { matrix: Mat::identity(d, d), factor: Mat::identity(d, d) }
    }

    /// A diagonal matrix.
    ///
    /// # Errors
    /// An entry that is not positive and finite, or no entry.
    pub fn diagonal(entries: &[f64]) -> Result<Self> {
        Self::new(Mat::from_fn(entries.len(), entries.len(), |i, j| if i == j { entries[i] } else { 0.0 }))
    }

    /// The number of rows (and columns).
    pub fn dimension(&self) -> usize {
        self.matrix.nrows()
    }

    /// The matrix.
    pub fn as_mat(&self) -> MatRef<'_, f64> {
        self.matrix.as_ref()
    }

    /// The lower Cholesky factor: `matrix = L·Lᵀ`.
    pub fn cholesky(&self) -> MatRef<'_, f64> {
        self.factor.as_ref()
    }

    /// The inverse.
    ///
    /// # Errors
    /// A result outside the range of 64-bit numbers.
    pub fn inverse(&self) -> Result<Self> {
        let d = self.dimension();
        let mut inverse = Mat::identity(d, d);
        solve_lower_triangular_in_place(self.cholesky(), inverse.as_mut(), parallelism(d));
        solve_upper_triangular_in_place(self.cholesky().transpose(), inverse.as_mut(), parallelism(d));
        Self::from_rounded(&inverse, "the inverse")
    }

    /// The real power `matrix^p`, through the eigenvalues.
    ///
    /// # Errors
    /// No convergence, or a result outside the range of 64-bit numbers.
    pub fn power(&self, p: f64) -> Result<Self> {
        if p < 0.0 && self.is_graded() {
            // Negative powers need the small entries of the eigenvectors to small eigenvalues; those of the inverse have them.
            return self.inverse()?.power(-p);
        }
        Self::from_rounded(&self.of_logarithms(|l| (p * l).exp())?, "the power")
    }

    /// The symmetric logarithm.
    ///
    /// # Errors
    /// No convergence.
    pub fn log(&self) -> Result<Mat<f64>> {
        self.of_logarithms(|l| l)
    }

    /// The logarithm of the determinant, `2·Σ log Lᵢᵢ`.
    pub fn log_det(&self) -> f64 {
        2.0 * (0..self.dimension()).map(|i| self.factor[(i, i)].ln()).sum::<f64>()
    }

    /// The condition number in the 2-norm: largest over smallest eigenvalue.
    ///
    /// # Errors
    /// No convergence.
    pub fn condition(&self) -> Result<f64> {
        let logs = self.eigen()?.log_values;
        Ok((logs[logs.len() - 1] - logs[0]).exp())
    }

    /// Eigenvalues, ascending, as logarithms, and eigenvectors; through the Cholesky factor where the matrix is graded.
    pub(crate) fn eigen(&self) -> Result<LogEigen> {
        if !self.is_graded() {
            let Eigen { values, vectors } = eigen(self.as_mat(), "the matrix", &mut Workspace::default())?;
            if !are_lost(&values) {
                // Rounding may leave the smallest eigenvalues of an ill-conditioned matrix at or below 0.
                let floor = values[values.len() - 1] * f64::EPSILON * f64::EPSILON;
                return Ok(LogEigen {
                    log_values: values.iter().map(|x| x.max(floor).ln()).collect(),
                    vectors,
                });
            }
        }
        Ok(of_gram(self.factor.transpose(), "the matrix")?)
    }

    fn is_graded(&self) -> bool {
        is_graded((0..self.dimension()).map(|j| self.matrix[(j, j)]))
    }

    /// `V·diag(f(log Λ))·Vᵀ`
    fn of_logarithms(&self, f: impl Fn(f64) -> f64) -> Result<Mat<f64>> {
        let LogEigen { log_values, vectors } = self.eigen()?;
        let weights: Vec<f64> = log_values.into_iter().map(f).collect();
        Ok(weighted_gram(vectors.as_ref(), &weights))
    }

    fn from_rounded(matrix: &Mat<f64>, what: &'static str) -> Result<Self> {
        check_finite(matrix.as_ref()).map_err(|_| Error::OutOfRange { what })?;
        let d = matrix.nrows();
        Self::named(Mat::from_fn(d, d, |i, j| 0.5 * matrix[(i, j)] + 0.5 * matrix[(j, i)]), what)
    }
}

/// The tolerated asymmetry, relative to the scale of the entries: the inverse of a matrix of condition κ has some
/// κ·eps of it, and 1e-6 admits matrices of condition 1e9.
const ROUNDING: f64 = 1e-6;

fn symmetrised(mut matrix: Mat<f64>, what: &'static str) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    for column in 0..d {
        for row in column + 1..d {
            let (lower, upper) = (matrix[(row, column)], matrix[(column, row)]);
            let scale = matrix[(row, row)].abs().sqrt() * matrix[(column, column)].abs().sqrt();
            if (lower - upper).abs() > ROUNDING * scale.max(lower.abs()).max(upper.abs()) {
                return Err(Error::NotSymmetric { what, row, column, upper, lower });
            }
            let mean = 0.5 * lower + 0.5 * upper;
            (matrix[(row, column)], matrix[(column, row)]) = (mean, mean);
        }
    }
    Ok(matrix)
}

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, reason = "indices of small matrices")]
mod tests {
    use super::*;

    fn matrix(entries: &[&[f64]]) -> Mat<f64> {
        Mat::from_fn(entries.len(), entries[0].len(), |i, j| entries[i][j])
    }

    #[test]
    fn what_is_not_positive_definite_is_refused_in_words() {
        let error = Spd::new(matrix(&[&[1.0, 2.0], &[2.0, 1.0]])).unwrap_err();
        assert_eq!(error, Error::NotPositiveDefinite { what: "the matrix", column: 1 });
        assert!(matches!(Spd::new(matrix(&[&[1.0, 0.5], &[0.2, 1.0]])), Err(Error::NotSymmetric { .. })));
        assert!(matches!(Spd::new(matrix(&[&[1.0, f64::NAN], &[0.2, 1.0]])), Err(Error::NotFinite { .. })));
        assert!(matches!(Spd::new(Mat::zeros(2, 3)), Err(Error::NotSquare { .. })));
        assert!(Spd::diagonal(&[1.0, 0.0]).is_err());
    }

    #[test]
    fn inverse_power_and_log_agree() {
        let spd = Spd::new(matrix(&[&[4.0, 1.0], &[1.0, 3.0]])).unwrap();
        let inverse = spd.inverse().unwrap();
        let minus_one = spd.power(-1.0).unwrap();
        let log = spd.log().unwrap();
        assert!((inverse.as_mat() - minus_one.as_mat()).norm_max() < 1e-15);
        // det = 11, so the inverse is [[3, -1], [-1, 4]] / 11, and tr log = log det.
        assert!((inverse.as_mat()[(0, 0)] - 3.0 / 11.0).abs() < 1e-15);
        assert!((log[(0, 0)] + log[(1, 1)] - 11f64.ln()).abs() < 1e-14);
        assert!((spd.log_det() - 11f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn powers_of_a_graded_matrix_keep_their_digits_in_every_unit() {
        // PBP with B_ij = 2^-|i−j| and P of powers of two; its inverse is known: P⁻¹B⁻¹P⁻¹, B⁻¹ tridiagonal.
        let unit = |i: usize| 2f64.powi((i as i32 * 29) % 83 - 41);
        let spd =
            Spd::new(Mat::from_fn(40, 40, |i, j| unit(i) * 0.5f64.powi(i.abs_diff(j) as i32) * unit(j)));
        let spd = spd.unwrap();
        let exact = |i: usize, j: usize| match i.abs_diff(j) {
            0 if i == 0 || i == 39 => 4.0 / 3.0,
            0 => 5.0 / 3.0,
            1 => -2.0 / 3.0,
            _ => 0.0,
        };
        let inverse = spd.power(-1.0).unwrap();
        let squared = spd.power(0.5).unwrap();
        let squared = squared.as_mat() * squared.as_mat();
        for (i, j) in (0..40).flat_map(|i| (0..40).map(move |j| (i, j))) {
            let error = (inverse.as_mat()[(i, j)] * unit(i) * unit(j) - exact(i, j)).abs();
            assert!(error < 1e-12, "({i}, {j}): {error:e}");
            let error = (squared[(i, j)] - spd.as_mat()[(i, j)]).abs() / (unit(i) * unit(j));
            assert!(error < 1e-12, "root, ({i}, {j}): {error:e}");
        }
        let log = spd.log().unwrap();
        let trace: f64 = (0..40).map(|i| log[(i, i)]).sum();
        assert!((trace - spd.log_det()).abs() < 1e-11, "{trace} {}", spd.log_det());
    }
}
