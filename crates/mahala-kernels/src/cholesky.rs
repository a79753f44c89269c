//! The Cholesky factorisation `A = LLᵀ`.

use crate::error::{Error, Result};
use crate::parallel::parallelism;
use crate::workspace::Workspace;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltParams, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::{Mat, MatRef, Par, Spec};

/// The lower Cholesky factor of a symmetric matrix, of which only the lower triangle is read.
pub fn cholesky(matrix: MatRef<'_, f64>, what: &'static str, workspace: &mut Workspace) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    // Below this order a second thread saves no time.
    let par = if d < 900 { Par::Seq } else { parallelism(d) };
    let params = Spec::<LltParams, f64>::default();
    let mut factor = workspace.take(d);
    factor.copy_from_triangular_lower(matrix);
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(d, par, params));
    cholesky_in_place(factor.as_mut(), LltRegularization::default(), par, MemStack::new(&mut buffer), params)
        .map_err(|error| {
            let faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index } = error;
            Error::NotPositiveDefinite { what, column: index }
        })?;
    if let Some(column) = (0..d).find(|&i| !(factor[(i, i)] > 0.0 && factor[(i, i)].is_finite())) {
        return Err(Error::NotPositiveDefinite { what, column });
    }
    // The factorisation uses the other triangle as scratch.
    for j in 1..d {
        factor.as_mut().col_mut(j).subrows_mut(0, j).fill(0.0);
    }
    Ok(factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn factor(a: &Mat<f64>) -> Result<Mat<f64>> {
        let lower = Mat::from_fn(a.nrows(), a.nrows(), |i, j| if i < j { f64::NAN } else { a[(i, j)] });
        cholesky(lower.as_ref(), "A", &mut Workspace::default())
    }

    /// `G·Gᵀ` in units that fall from 1 to 1e-6.
    fn positive_definite(n: usize) -> Mat<f64> {
        let mut random = Random::new(n as u64, 3);
        let unit = |i: usize| 10f64.powf(-6.0 * i as f64 / n as f64);
        let g = Mat::from_fn(n, n + 2, |i, _| unit(i) * (random.uniform() - 0.5));
        let product = &g * g.transpose();
        Mat::from_fn(n, n, |i, j| product[(i.max(j), i.min(j))])
    }

    /// Unit lower triangular with entries −1, 0 and 1: factors and products of it are integers, which do not round.
    fn unit_lower(n: usize) -> Mat<f64> {
        let mut random = Random::new(n as u64, 4);
        Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => (3.0 * random.uniform()).floor() - 1.0,
        })
    }

    #[test]
    fn the_factor_reproduces_matrices_of_every_order_entry_by_entry() {
        for n in (1..=70).chain([127, 128, 899, 900]) {
            let a = positive_definite(n);
            let l = factor(&a).unwrap();
            let product = &l * l.transpose();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                assert!(i >= j || l[(i, j)] == 0.0, "{n}: ({i}, {j}) above the diagonal");
                // Higham, Theorem 10.3: |A − LLᵀ| ≤ γ_{n+1}·|L||Lᵀ| ≤ (n + 1)·eps·√(a_ii·a_jj), and as much for the check.
                let bound = (n + 1) as f64 * f64::EPSILON * (a[(i, i)] * a[(j, j)]).sqrt();
                let error = (product[(i, j)] - a[(i, j)]).abs();
                assert!(error <= bound, "{n}: ({i}, {j}): {error:e} above {bound:e}");
            }
        }
    }

    #[test]
    fn the_error_names_the_first_pivot_that_is_not_positive() {
        for n in (1..=70).chain([200, 950]) {
            let l = unit_lower(n);
            assert_eq!(factor(&(&l * l.transpose())).unwrap(), l, "{n}: integers do not round");
            for column in [0, n / 3, n / 2, n - 1] {
                for pivot in [0.0, -1.0] {
                    // Pivots 1, …, 1, then one that is not positive.
                    let scaled =
                        Mat::from_fn(n, n, |i, j| if j == column { pivot * l[(i, j)] } else { l[(i, j)] });
                    let error = factor(&(&scaled * l.transpose())).unwrap_err();
                    assert_eq!(error, Error::NotPositiveDefinite { what: "A", column }, "{n}, pivot {pivot}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_with_nan_or_infinity_has_no_factor() {
        for value in [f64::NAN, f64::INFINITY] {
            for n in [1, 5, 70] {
                let mut a = positive_definite(n);
                a[(n - 1, n / 2)] = value;
                assert!(factor(&a).is_err(), "{value} in order {n}");
            }
        }
    }
}
