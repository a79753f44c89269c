//! LogDet divergences: Burg's matrix divergence, and its symmetrised form (eq. 14).

use crate::error::Result;
use crate::geometry::geodesic::Geodesic;
use crate::geometry::spd::Spd;

/// The LogDet divergence.
///
/// # Formula
/// ```text
/// D_ld(X, Y) = tr(XY⁻¹) − log det(XY⁻¹) − d
/// ```
///
/// # Errors
/// Different dimensions, or no convergence.
///
/// ```
/// use mahala::geometry::{Spd, logdet_divergence};
/// let x = Spd::diagonal(&[2.0])?;
/// assert!((logdet_divergence(&x, &Spd::identity(1))? - (1.0 - 2f64.ln())).abs() < 1e-15);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn logdet_divergence(x: &Spd, y: &Spd) -> Result<f64> {
    // With μ = e^l the eigenvalues of XY⁻¹: Σ μ − 1 − log μ, and e^l − 1 − l without cancellation.
    let path = Geodesic::between(y, x)?;
    Ok(path.log_eigenvalues().iter().map(|&l| exp_minus_one_minus(l)).sum())
}

/// The symmetrised LogDet divergence (eq. 14).
///
/// # Formula
/// ```text
/// D_sld(X, Y) = D_ld(X, Y) + D_ld(Y, X) = tr(XY⁻¹) + tr(X⁻¹Y) − 2d
/// ```
///
/// # Errors
/// Different dimensions, or no convergence.
///
/// ```
/// use mahala::geometry::{Spd, symmetrized_logdet_divergence};
/// let x = Spd::diagonal(&[2.0])?;
/// assert!((symmetrized_logdet_divergence(&x, &Spd::identity(1))? - 0.5).abs() < 1e-15);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn symmetrized_logdet_divergence(x: &Spd, y: &Spd) -> Result<f64> {
    // μ + 1/μ − 2 = 4 sinh²(l/2)
    let path = Geodesic::between(x, y)?;
    Ok(path.log_eigenvalues().iter().map(|&l| 4.0 * (0.5 * l).sinh().powi(2)).sum())
}

/// `e^l − 1 − l`; by its series where the terms would cancel.
fn exp_minus_one_minus(l: f64) -> f64 {
    if l.abs() < 0.5 {
        let mut term = 0.5 * l * l;
        let mut sum = term;
        for k in 3..18 {
            term *= l / f64::from(k);
            sum += term;
        }
        sum
    } else {
        l.exp_m1() - l
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_argument_series_meets_the_closed_form() {
        for l in [-0.0101f64, 0.499, -0.499, 0.501, -3.0] {
            let series: f64 = (2..30).map(|k| l.powi(k) / (1..=k).map(f64::from).product::<f64>()).sum();
            assert!((exp_minus_one_minus(l) - series).abs() <= 4e-15 * series, "{l}");
        }
        // mpmath: exp(1e-3) - 1 - 1e-3 at 50 digits.
        assert!((exp_minus_one_minus(1e-3) / 5.001_667_083_416_681e-7 - 1.0).abs() < 1e-15);
    }
}
