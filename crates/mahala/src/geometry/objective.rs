//! Objectives of GMML: `h` (eq. 8), its gradient (eq. 12), the regularised objective (eq. 13), and `h_t` (eq.
//! 17).
//!
//! The fit never evaluates these (the minimiser is known in closed form); they are here to check it,
//! to compare metrics, and for the reader.

use crate::error::Result;
use crate::geometry::divergence::symmetrized_logdet_divergence;
use crate::geometry::geodesic::riemannian_distance;
use crate::geometry::spd::Spd;
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;

/// The objective of the basic form (eq. 8).
///
/// # Formula
/// ```text
/// h(A) = tr(AS) + tr(A⁻¹D)
/// ```
///
/// # Errors
/// `A⁻¹` outside the range of 64-bit numbers.
///
/// ```
/// use mahala::geometry::{Spd, h};
/// let (a, s, d) = (Spd::identity(2), Spd::identity(2), Spd::identity(2));
/// assert_eq!(h(&a, s.as_mat(), d.as_mat())?, 4.0);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn h(a: &Spd, s: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Result<f64> {
    Ok(trace_of_product(a.as_mat(), s) + trace_of_product(a.inverse()?.as_mat(), d))
}

/// The gradient of [`h`]; 0 at the solution, which is eq. 12: `ASA = D`.
///
/// # Formula
/// ```text
/// ∇h(A) = S − A⁻¹DA⁻¹
/// ```
///
/// # Errors
/// `A⁻¹` outside the range of 64-bit numbers.
pub fn gradient_of_h(a: &Spd, s: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let inverse = a.inverse()?;
    Ok(s - product(product(inverse.as_mat(), d).as_ref(), inverse.as_mat()))
}

/// The objective of the regularised form (eq. 13).
///
/// # Formula
/// ```text
/// λ D_sld(A, A₀) + tr(AS) + tr(A⁻¹D)
/// ```
///
/// # Errors
/// Different dimensions, or a result outside the range of 64-bit numbers.
pub fn regularized_objective(
    a: &Spd,
    s: MatRef<'_, f64>,
    d: MatRef<'_, f64>,
    lambda: f64,
    prior: &Spd,
) -> Result<f64> {
    Ok(lambda * symmetrized_logdet_divergence(a, prior)? + h(a, s, d)?)
}

/// The objective of the weighted form (eq. 17), minimised by `S⁻¹ ♯_t D`.
///
/// # Formula
/// ```text
/// h_t(A) = (1−t) δ_R²(A, S⁻¹) + t δ_R²(A, D)
/// ```
///
/// # Errors
/// Different dimensions, or no convergence.
pub fn h_t(a: &Spd, s: &Spd, d: &Spd, t: f64) -> Result<f64> {
    // δ_R is invariant under inversion, so S itself will do.
    let to_s = riemannian_distance(&a.inverse()?, s)?;
    let to_d = riemannian_distance(a, d)?;
    Ok((1.0 - t) * to_s * to_s + t * to_d * to_d)
}

fn trace_of_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    (0..a.ncols()).map(|j| (0..a.nrows()).map(|i| a[(i, j)] * b[(j, i)]).sum::<f64>()).sum()
}
