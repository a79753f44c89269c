//! High relative accuracy for the eigenvalues of graded matrices.
//!
//! Columns in different units grade `LᵀDL` by the fourth power of their scales. The solvers of [`crate::eigen`] are accurate to
//! `eps·λ_max`: smaller eigenvalues are noise (above order 32), or have lost digits (below, where QR iteration in graded order
//! keeps most of them). Here the matrix is never formed. With `D = RRᵀ` it is `GᵀG` for `G = RᵀL`, every column of `G` is
//! accurate relative to its own norm, and [`jacobi`](crate::eigen::jacobi) finds the singular values of `G` to high relative
//! accuracy.

use crate::cholesky::cholesky;
use crate::eigen::jacobi::{Singular, singular};
use crate::error::{Error, Result};
use crate::parallel::parallelism;
use crate::scaling::{exponent_of, times_power_of_two};
use crate::view::{check_finite, column, column_mut};
use crate::workspace::Workspace;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatRef};

/// An eigendecomposition with the logarithms of the eigenvalues, ascending.
pub struct LogEigen {
    /// The logarithms of the eigenvalues.
    pub log_values: Vec<f64>,
    /// A column for each value.
    pub vectors: Mat<f64>,
}

/// The ratio of diagonal entries from which columns count as graded: units that differ by a factor of 30.
const MIN_GRADING: f64 = 1e6;
/// The ratio of eigenvalues up to which a solver that is accurate to `eps·λ_max` is trusted: the smallest keeps five digits at
/// worst, and seven or eight on tables whose columns are correlated (Isolet, 2e10: the metric is right to 1e-8).
const MAX_RATIO: f64 = 1e11;
/// The ratio of eigenvalues up to which such a solver is trusted where `S` has a ridge: its smallest eigenvalues are those of
/// the ridge, which the diagnostics report.
const MAX_RATIO_RIDGED: f64 = 1e13;
/// The largest order: rotations cost some 25n³ operations, 5 s at this order. Beyond it, lost eigenvalues are counted.
const MAX_ORDER: usize = 1024;

/// Whether a positive semidefinite matrix with this diagonal is so graded that a solver accurate to `eps·λ_max` would lose
/// eigenvalues.
pub fn is_graded(diagonal: impl ExactSizeIterator<Item = f64>) -> bool {
    diagonal.len() <= MAX_ORDER && span_exceeds(diagonal, MIN_GRADING)
}

/// Whether eigenvalues found by a solver accurate to `eps·λ_max` span so many orders of magnitude that the smallest are lost.
pub fn are_lost(values: &[f64]) -> bool {
    values.len() <= MAX_ORDER && span_exceeds(values.iter().copied(), MAX_RATIO)
}

/// [`are_lost`] for an `S` with a ridge, where more is tolerated.
pub fn are_lost_below_ridge(values: &[f64]) -> bool {
    values.len() <= MAX_ORDER && span_exceeds(values.iter().copied(), MAX_RATIO_RIDGED)
}

fn span_exceeds(values: impl Iterator<Item = f64>, ratio: f64) -> bool {
    let (least, most) = values.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
    least * ratio < most
}

/// The rounding level `n·eps·λ_max` of ascending eigenvalues found by a solver accurate to `eps·λ_max`.
pub fn rounding(values: &[f64]) -> f64 {
    values.len() as f64 * f64::EPSILON * values.last().map_or(0.0, |most| most.max(0.0))
}

/// The eigenpairs of `LᵀDL` for `D = RRᵀ`.
pub fn of_product(l: MatRef<'_, f64>, r: MatRef<'_, f64>, what: &'static str) -> Result<LogEigen> {
    let n = l.nrows();
    let mut g = Mat::zeros(n, n);
    matmul(
        g.as_mut(),
        BlockStructure::Rectangular,
        Accum::Replace,
        r.transpose(),
        BlockStructure::Rectangular,
        l,
        BlockStructure::TriangularLower,
        1.0,
        parallelism(n),
    );
    of_gram(g.as_ref(), what)
}

/// The eigenpairs of `L⁻¹BL⁻ᵀ` for `B = RRᵀ`.
pub fn of_quotient(l: MatRef<'_, f64>, r: MatRef<'_, f64>, what: &'static str) -> Result<LogEigen> {
    let mut g = r.to_owned();
    solve_lower_triangular_in_place(l, g.as_mut(), parallelism(l.nrows()));
    of_gram(g.transpose(), what)
}

/// The eigenpairs of `GᵀG`.
pub fn of_gram(g: MatRef<'_, f64>, what: &'static str) -> Result<LogEigen> {
    let Singular { values, exponent, vectors } = singular(g, what)?;
    let log = |s: &f64| {
        // The logarithm of a number near 1, so that the exponent costs no digits.
        let s = s.max(f64::MIN_POSITIVE);
        let own = exponent_of(s);
        2.0 * (times_power_of_two(s, -own).ln() + f64::from(own + exponent) * std::f64::consts::LN_2)
    };
    Ok(LogEigen { log_values: values.iter().map(log).collect(), vectors })
}

/// Cholesky factor `R` with `D = RRᵀ`, of which the lower triangle is read, and the number of pivots at or below rounding
/// (`n·eps` of their column's own scale), which were raised to it. `sizes` replaces the diagonal where that is 0. `R` is lower
/// triangular if no pivot was raised.
pub fn factor_of(d: MatRef<'_, f64>, sizes: &[f64]) -> Result<(Mat<f64>, usize)> {
    let n = d.nrows();
    // Equilibrated by powers of two, so that every pivot has the same floor.
    let unit = |j: usize| exponent_of(if d[(j, j)] > 0.0 { d[(j, j)] } else { sizes[j] }).div_euclid(2);
    let units: Vec<i32> = (0..n).map(unit).collect();
    let scaled = |i: usize, j: usize| times_power_of_two(d[(i.max(j), i.min(j))], -units[i] - units[j]);
    let scaled = Mat::from_fn(n, n, scaled);
    check_finite(scaled.as_ref()).map_err(|_| Error::OutOfRange { what: "D" })?;
    let floor = n as f64 * f64::EPSILON;
    let (mut r, raised) = match cholesky(scaled.as_ref(), "D", &mut Workspace::default()) {
        Ok(r) if (0..n).all(|j| r[(j, j)] * r[(j, j)] > floor) => (r, 0),
        _ => pivoted_cholesky(scaled, floor),
    };
    for j in 0..n {
        let entries = column_mut(r.as_mut(), j).iter_mut().zip(&units);
        entries.for_each(|(x, unit)| *x = times_power_of_two(*x, *unit));
    }
    Ok((r, raised))
}

/// Cholesky factorisation with diagonal pivoting, `M = RRᵀ`, of a symmetric positive semidefinite `M`. When all remaining
/// pivots are at or below the floor, they are rounding and are raised to it. Returns `R` and their number.
fn pivoted_cholesky(mut m: Mat<f64>, floor: f64) -> (Mat<f64>, usize) {
    let n = m.ncols();
    let (mut left, mut r): (Vec<usize>, _) = ((0..n).collect(), Mat::zeros(n, n));
    for k in 0..n {
        let best = (0..left.len())
            .fold(0, |best, i| if m[(left[i], left[i])] > m[(left[best], left[best])] { i } else { best });
        if m[(left[best], left[best])] <= floor {
            left.iter().zip(k..).for_each(|(&i, k)| r[(i, k)] = floor.sqrt());
            return (r, n - k);
        }
        let pivot = left.remove(best);
        let root = m[(pivot, pivot)].sqrt();
        r[(pivot, k)] = root;
        left.iter().for_each(|&i| r[(i, k)] = m[(i, pivot)] / root);
        for &j in &left {
            let along = r[(j, k)];
            let of_pivot = column(r.as_ref(), k);
            let entries = column_mut(m.as_mut(), j).iter_mut().zip(of_pivot);
            entries.for_each(|(x, y)| *x -= along * y);
        }
    }
    (r, 0)
}

/// The squared norms of the rows of a lower triangular factor: the diagonal of `LLᵀ`.
pub fn squared_rows(l: MatRef<'_, f64>) -> Vec<f64> {
    let mut squares = vec![0.0; l.nrows()];
    for j in 0..l.ncols() {
        squares[j..].iter_mut().zip(&column(l, j)[j..]).for_each(|(sum, x)| *sum += x * x);
    }
    squares
}

#[cfg(test)]
#[allow(clippy::cast_possible_wrap, reason = "indices of small matrices")]
mod tests {
    use super::*;

    #[test]
    fn a_singular_matrix_has_a_factor_in_the_units_of_its_columns() {
        // Rank 10 of 36, in units from 1 to 2^70: without pivots rounding would grow beyond all bounds.
        let unit = |i: usize| times_power_of_two(1.0, (i as i32 * 7) % 36 * 2);
        let x = |i: usize, k: usize| ((i * 37 + k * 101 + i * i * k * k) % 61) as f64 / 61.0 - 0.5;
        let entry = |i: usize, j: usize| (0..10).map(|k| x(i, k) * x(j, k)).sum::<f64>() * unit(i) * unit(j);
        let d = Mat::from_fn(36, 36, entry);
        let (r, raised) = factor_of(d.as_ref(), &[1.0; 36]).unwrap();
        assert_eq!(raised, 26);
        let product = &r * r.transpose();
        for (i, j) in (0..36).flat_map(|i| (0..36).map(move |j| (i, j))) {
            let error = (product[(i, j)] - d[(i, j)]).abs() / (unit(i) * unit(j));
            assert!(error < 1e-13, "({i}, {j}): {error:e}");
        }
    }

    #[test]
    fn a_column_of_zeros_is_raised_in_the_units_given() {
        let d = Mat::from_fn(3, 3, |i, j| if i == j && i != 1 { 4.0 } else { 0.0 });
        let (r, raised) = factor_of(d.as_ref(), &[1.0, 1e40, 1.0]).unwrap();
        assert_eq!(raised, 1);
        assert!(r.row(1).squared_norm_l2() > 1e-16 * 1e40 && r.row(1).squared_norm_l2() < 1e-13 * 1e40);
    }
}
