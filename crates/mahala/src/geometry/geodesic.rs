//! The geodesic `A ♯_t B` of symmetric positive definite matrices (eq. 16), and the Riemannian distance `δ_R`.
//!
//! One factorisation serves every t. For the path from `S⁻¹` to `D`, with `S = LLᵀ` and
//! `LᵀDL = UΛUᵀ`, put `W = L⁻ᵀU`; then
//!
//! ```text
//! S⁻¹ ♯_t D = W Λᵗ Wᵀ        for every t,
//! ```
//!
//! so no inverse and no matrix square root is formed. The eigenvalues are stored as logarithms: nothing overflows
//! or underflows, whatever the scale of `S` and `D`.

use crate::error::{Error, Result};
use crate::geometry::spd::Spd;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Mat, MatRef, Par};
use mahala_kernels::blas::transpose::mirror_lower;
use mahala_kernels::blas::weighted_gram;
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::eigen::graded::{
    LogEigen, are_lost, are_lost_below_ridge, factor_of, is_graded, of_product, of_quotient, rounding,
    squared_rows,
};
use mahala_kernels::eigen::{Eigen, eigen_in_place};
use mahala_kernels::order::{ascending, descending};
use mahala_kernels::parallel::{by_columns, parallelism};
use mahala_kernels::reduce::{dot_abs, max_abs_lower};
use mahala_kernels::scaling::{extreme_exponent, scaled_lower, times_power_of_two};
use mahala_kernels::view::column;
use mahala_kernels::workspace::Workspace;

/// A geodesic `t ↦ W Λᵗ Wᵀ`, factorised once.
///
/// ```
/// use mahala::geometry::{Geodesic, Spd};
/// let (s, d) = (Spd::diagonal(&[4.0, 1.0])?, Spd::diagonal(&[1.0, 9.0])?);
/// let path = Geodesic::from_inverse(&s, &d)?;      // from S⁻¹ to D
/// let a = path.at(0.5)?;                           // the geometric mean: A S A = D
/// assert!((a.as_mat()[(0, 0)] - 0.5).abs() < 1e-15);
/// assert!((a.as_mat()[(1, 1)] - 3.0).abs() < 1e-15);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Geodesic {
    /// Columns by ascending eigenvalue.
    w: Mat<f64>,
    /// Descending.
    log_lambda: Vec<f64>,
    clamped: usize,
}

/// The weighted geometric mean of two matrices.
///
/// # Formula
/// ```text
/// A ♯_t B = A^{1/2} (A^{-1/2} B A^{-1/2})^t A^{1/2}
/// ```
///
/// # Errors
/// Different dimensions, t not finite, or a result outside the range of 64-bit numbers.
///
/// ```
/// use mahala::geometry::{Spd, geometric_mean};
/// let mean = geometric_mean(&Spd::diagonal(&[2.0])?, &Spd::diagonal(&[8.0])?, 0.5)?;
/// assert!((mean.as_mat()[(0, 0)] - 4.0).abs() < 1e-15);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn geometric_mean(a: &Spd, b: &Spd, t: f64) -> Result<Spd> {
    Geodesic::between(a, b)?.at(t)
}

/// The Riemannian distance.
///
/// # Formula
/// ```text
/// δ_R(X, Y) = ‖log(Y^{-1/2} X Y^{-1/2})‖_F
/// ```
///
/// # Errors
/// Different dimensions, or no convergence.
///
/// ```
/// use mahala::geometry::{Spd, riemannian_distance};
/// let (x, y) = (Spd::identity(2), Spd::diagonal(&[1f64.exp(), 1.0])?);
/// assert!((riemannian_distance(&x, &y)? - 1.0).abs() < 1e-15);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn riemannian_distance(x: &Spd, y: &Spd) -> Result<f64> {
    Ok(Geodesic::between(x, y)?.length())
}

/// How accurate small eigenvalues must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accuracy {
    /// Each to high relative accuracy, by one-sided Jacobi rotations where the matrix is graded.
    Relative,
    /// Each to high relative accuracy, but for those that the ridge of `S` hides.
    RelativeAboveRidge,
    /// To `eps·λ_max`: enough for votes, where directions of small eigenvalues weigh nothing.
    NormWise,
}

impl Geodesic {
    /// The path from `a` (t = 0) to `b` (t = 1).
    ///
    /// # Formula
    /// ```text
    /// A = LLᵀ,  L⁻¹BL⁻ᵀ = UΛUᵀ,  W = LU
    /// ```
    ///
    /// # Errors
    /// Different dimensions, or no convergence.
    pub fn between(a: &Spd, b: &Spd) -> Result<Self> {
        same_dimension(a.as_mat(), b.as_mat())?;
        let (l, par) = (a.cholesky(), parallelism(a.dimension()));
        let (eb, scaled) = without_exponent(b.as_mat());
        let mut m = scaled.unwrap_or_else(|| b.as_mat().to_owned());
        let (el, scaled) = without_exponent_lower(l);
        let l = scaled.as_ref().map_or(l, Mat::as_ref).to_owned();
        let sizes = sizes_after_solve(l.as_ref(), m.as_ref());
        solve_lower_triangular_in_place(l.as_ref(), m.as_mut(), par);
        solve_lower_triangular_in_place(l.as_ref(), m.as_mut().transpose_mut(), par);
        let u = eigen_in_place(m, "L⁻¹BL⁻ᵀ", &mut Workspace::default())?;
        if are_lost(&u.values) {
            return Self::between_graded(a, b);
        }
        let floors = floors(&u, &sizes);
        Ok(Self::assemble(u, &floors).multiplied_by(l.as_ref()).rescaled(el, eb - 2 * el))
    }

    /// The geodesic by singular values of `L⁻¹R`, `B = RRᵀ`, with the rows by ascending `B_ii/A_ii`: each row of
    /// the quotient is then accurate relative to its own norm, and nothing cancels in `LU`.
    fn between_graded(a: &Spd, b: &Spd) -> Result<Self> {
        let ratio = |i: usize| b.as_mat()[(i, i)] / a.as_mat()[(i, i)];
        let order = ascending(&(0..a.dimension()).map(ratio).collect::<Vec<_>>());
        let (l, raised_l) = factor_of(permuted(a.as_mat(), &order).as_ref(), &[])?;
        let (r, raised_r) = factor_of(permuted(b.as_mat(), &order).as_ref(), &[])?;
        let path = Self::from_log_eigen(of_quotient(l.as_ref(), r.as_ref(), "L⁻¹BL⁻ᵀ")?, raised_l + raised_r);
        Ok(path.multiplied_by(l.as_ref()).with_rows_at(&order))
    }

    /// The path from `s⁻¹` (t = 0) to `d` (t = 1), without inverting `s`.
    ///
    /// # Formula
    /// ```text
    /// S = LLᵀ,  LᵀDL = UΛUᵀ,  W = L⁻ᵀU
    /// ```
    ///
    /// # Errors
    /// Different dimensions, or no convergence.
    pub fn from_inverse(s: &Spd, d: &Spd) -> Result<Self> {
        same_dimension(s.as_mat(), d.as_mat())?;
        let order = graded_order(s.as_mat(), d.as_mat());
        let mut workspace = Workspace::default();
        let l = cholesky(permuted(s.as_mat(), &order).as_ref(), "S", &mut workspace)?;
        let path =
            Self::from_factor(l.as_ref(), permuted(d.as_mat(), &order), Accuracy::Relative, &mut workspace)?;
        Ok(path.with_rows_at(&order))
    }

    /// The path from `S⁻¹` to `D`, for `S = LLᵀ` and a `D` that may be singular (its lower triangle).
    pub(crate) fn from_factor(
        l: MatRef<'_, f64>,
        d: Mat<f64>,
        accuracy: Accuracy,
        workspace: &mut Workspace,
    ) -> Result<Self> {
        let (ed, scaled_d) = without_exponent(d.as_ref());
        let d = scaled_d.unwrap_or(d);
        let (el, scaled_l) = without_exponent_lower(l);
        let l = scaled_l.as_ref().map_or(l, Mat::as_ref);
        let squares = squared_rows(l);
        let graded =
            accuracy != Accuracy::NormWise && is_graded((0..l.nrows()).map(|j| squares[j] * d[(j, j)]));
        let found = if graded { None } else { Some(eigen_of_product(l, d.as_ref(), workspace)?) };
        let lost = match accuracy {
            Accuracy::Relative => are_lost,
            Accuracy::RelativeAboveRidge => are_lost_below_ridge,
            Accuracy::NormWise => |_: &[f64]| false,
        };
        let path = if let Some(u) = found.filter(|u| !lost(&u.values)) {
            let floors = floors(&u, &sizes_after_product(l, d.as_ref()));
            Self::assemble(u, &floors)
        } else {
            let (r, clamped) = factor_of(d.as_ref(), &squares)?;
            Self::from_log_eigen(of_product(l, r.as_ref(), "LᵀDL")?, clamped)
        };
        workspace.give(d);
        Ok(path.solved_by(l).rescaled(-el, ed + 2 * el))
    }

    /// `W ← LW`
    fn multiplied_by(mut self, l: MatRef<'_, f64>) -> Self {
        let mut w = Mat::zeros(l.nrows(), l.nrows());
        triangular_times(l, BlockStructure::TriangularLower, self.w.as_ref(), &mut w);
        self.w = w;
        self
    }

    /// Permutes the rows of `W`: row i becomes row `order[i]`.
    fn with_rows_at(mut self, order: &[usize]) -> Self {
        let mut w = Mat::zeros(order.len(), order.len());
        for (i, &row) in order.iter().enumerate() {
            w.row_mut(row).copy_from(self.w.row(i));
        }
        self.w = w;
        self
    }

    /// `W ← L⁻ᵀW`
    fn solved_by(mut self, l: MatRef<'_, f64>) -> Self {
        by_columns(self.w.as_mut(), |w| solve_upper_triangular_in_place(l.transpose(), w, Par::Seq));
        self
    }

    /// The point `W Λᵗ Wᵀ`.
    ///
    /// # Errors
    /// t not finite, or a result outside the range of 64-bit numbers.
    pub fn at(&self, t: f64) -> Result<Spd> {
        if !t.is_finite() {
            return Err(Error::Parameter { name: "t", value: t.to_string(), allowed: "a finite number" });
        }
        let weights: Vec<f64> = self.log_lambda.iter().map(|&l| (t * l).exp()).collect();
        let matrix = weighted_gram(self.directions(), &weights);
        Spd::named(matrix, "the point on the geodesic").map_err(|error| match error {
            Error::NotFinite { .. } => Error::OutOfRange { what: "the point on the geodesic" },
            other => other,
        })
    }

    /// The distance `δ_R` between the two ends: `‖log Λ‖₂`.
    pub fn length(&self) -> f64 {
        self.log_lambda.iter().fold(0.0, |norm: f64, &l| norm.hypot(l))
    }

    /// `log Λ`, descending: the eigenvalues of `SD` for a path from `S⁻¹` to `D`.
    pub fn log_eigenvalues(&self) -> &[f64] {
        &self.log_lambda
    }

    /// `W`, one direction a column, in the order of [`Geodesic::log_eigenvalues`].
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.w.as_ref().reverse_cols()
    }

    /// The number of eigenvalues at or below rounding: what the solver may have made of 0.
    pub fn clamped(&self) -> usize {
        self.clamped
    }

    /// Scales `W → 2^w·W`, `Λ → 2^lambda·Λ`.
    pub(crate) fn rescaled(mut self, w: i32, lambda: i32) -> Self {
        if w != 0 {
            for j in 0..self.w.ncols() {
                self.w.as_mut().col_mut(j).iter_mut().for_each(|x| *x = times_power_of_two(*x, w));
            }
        }
        if lambda != 0 {
            self.log_lambda.iter_mut().for_each(|l| *l += f64::from(lambda) * std::f64::consts::LN_2);
        }
        self
    }

    /// From ascending eigenvalues to descending logarithms; values below their floor are raised to it. All that
    /// may be rounding errors of the solver are counted as clamped.
    fn assemble(eigen: Eigen, floors: &[f64]) -> Self {
        let Eigen { values, vectors: w } = eigen;
        let log_lambda = values.iter().zip(floors).rev().map(|(x, floor)| x.max(*floor).ln()).collect();
        let rounding = rounding(&values);
        let clamped = values.iter().zip(floors).filter(|(x, floor)| **x < floor.max(rounding)).count();
        Self { w, log_lambda, clamped }
    }

    /// From eigenvalues of high relative accuracy.
    fn from_log_eigen(eigen: LogEigen, clamped: usize) -> Self {
        let LogEigen { mut log_values, vectors: w } = eigen;
        log_values.reverse();
        Self { w, log_lambda: log_values, clamped }
    }
}

/// The eigendecomposition of `LᵀDL`, by triangular products (TRMM), which take half the time of general ones.
fn eigen_of_product(l: MatRef<'_, f64>, d: MatRef<'_, f64>, workspace: &mut Workspace) -> Result<Eigen> {
    let n = l.nrows();
    let mut dl = workspace.take(n);
    times_triangular(d, l, &mut dl);
    let mut m = workspace.take(n);
    matmul(
        m.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        l.transpose(),
        BlockStructure::TriangularUpper,
        dl.as_ref(),
        BlockStructure::Rectangular,
        1.0,
        parallelism(n),
    );
    workspace.give(dl);
    Ok(eigen_in_place(m, "LᵀDL", workspace)?)
}

/// The rounding error of each eigenvalue `λ = uᵀMu`, when entry (i, j) of `M` is a sum of terms of size
/// `sizes_i·sizes_j`: `n·eps·(Σ |u_i| sizes_i)²`, and no more than `n·eps·λ_max`. A small eigenvalue of graded
/// columns is well above it; one that should be 0 is not.
fn floors(eigen: &Eigen, sizes: &[f64]) -> Vec<f64> {
    let n = sizes.len();
    let largest = eigen.values[n - 1].max(0.0);
    let size = |k: usize| dot_abs(column(eigen.vectors.as_ref(), k), sizes);
    let floor = |k: usize| n as f64 * f64::EPSILON * size(k).powi(2).min(largest);
    (0..n).map(|k| floor(k).max(f64::MIN_POSITIVE)).collect()
}

/// `|Lᵀ|·√diag(D)`: bounds on the terms of `LᵀDL`, since `|D_ij| ≤ √(D_ii·D_jj)`.
fn sizes_after_product(l: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Vec<f64> {
    let roots: Vec<f64> = (0..d.nrows()).map(|i| d[(i, i)].max(0.0).sqrt()).collect();
    (0..l.ncols()).map(|j| dot_abs(&column(l, j)[j..], &roots[j..])).collect()
}

/// Bounds on the terms of `L⁻¹BL⁻ᵀ`: at least `|L⁻¹|·√diag(B)`, by a substitution in which nothing cancels.
fn sizes_after_solve(l: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Vec<f64> {
    let mut sizes: Vec<f64> = Vec::with_capacity(l.nrows());
    for i in 0..l.nrows() {
        let before: f64 = sizes.iter().enumerate().map(|(j, size)| l[(i, j)].abs() * size).sum();
        sizes.push((b[(i, i)].max(0.0).sqrt() + before) / l[(i, i)]);
    }
    sizes
}

/// Features by descending `S_ii·D_ii`.
///
/// The eigenvalues of `LᵀDL` span the fourth power of the features' scales. Graded from large to small
/// the small ones keep their digits: on raw Wine the error at t = ½ is 1e-15 in this order and 1e-6 in
/// the file's.
fn graded_order(s: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Vec<usize> {
    let size = |i: usize| s[(i, i)].max(0.0).sqrt() * d[(i, i)].max(0.0).sqrt();
    descending(&(0..s.nrows()).map(size).collect::<Vec<_>>())
}

fn permuted(m: MatRef<'_, f64>, order: &[usize]) -> Mat<f64> {
    Mat::from_fn(order.len(), order.len(), |i, j| m[(order[i], order[j])])
}

fn same_dimension(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<()> {
    if a.nrows() == b.nrows() {
        return Ok(());
    }
    Err(Error::Length { what: "rows of the second matrix", seen: b.nrows(), expected: a.nrows() })
}

/// Splits an extreme power of two off a symmetric matrix: the exponent, and the scaled matrix if it is not 0.
fn without_exponent(matrix: MatRef<'_, f64>) -> (i32, Option<Mat<f64>>) {
    let (exponent, mut scaled) = without_exponent_lower(matrix);
    if let Some(scaled) = &mut scaled {
        mirror_lower(scaled);
    }
    (exponent, scaled)
}

/// Splits an extreme power of two off a lower triangular factor: the exponent, and the scaled factor if it is not
/// 0.
fn without_exponent_lower(factor: MatRef<'_, f64>) -> (i32, Option<Mat<f64>>) {
    let exponent = extreme_exponent(max_abs_lower(factor));
    (exponent, (exponent != 0).then(|| scaled_lower(factor, -exponent)))
}

fn triangular_times(l: MatRef<'_, f64>, structure: BlockStructure, rhs: MatRef<'_, f64>, out: &mut Mat<f64>) {
    let par = parallelism(l.nrows());
    let full = BlockStructure::Rectangular;
    matmul(out.as_mut(), full, Accum::Replace, l, structure, rhs, full, 1.0, par);
}

fn times_triangular(lhs: MatRef<'_, f64>, l: MatRef<'_, f64>, out: &mut Mat<f64>) {
    let par = parallelism(l.nrows());
    let full = BlockStructure::Rectangular;
    matmul(out.as_mut(), full, Accum::Replace, lhs, full, l, BlockStructure::TriangularLower, 1.0, par);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singular_end_is_clamped_and_counted() {
        let l = Mat::<f64>::identity(2, 2);
        let d = Mat::from_fn(2, 2, |_, _| 1.0);
        let path =
            Geodesic::from_factor(l.as_ref(), d.clone(), Accuracy::Relative, &mut Workspace::default())
                .unwrap();
        assert_eq!(path.clamped(), 1);
        assert!((path.log_eigenvalues()[0] - 2f64.ln()).abs() < 1e-15);
        assert!(path.at(0.5).is_ok());
    }

    #[test]
    fn t_must_be_finite() {
        let path = Geodesic::between(&Spd::identity(1), &Spd::identity(1)).unwrap();
        assert!(matches!(path.at(f64::NAN), Err(Error::Parameter { .. })));
    }
}
