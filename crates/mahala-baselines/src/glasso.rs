//! The graphical lasso (Friedman, Hastie and Tibshirani 2008), without a penalty on the diagonal.
//!
//! # Formula
//! ```text
//! minimise over M ≻ 0    tr(MP) − log det M + λ Σ_{i≠j} |M_ij|
//! dual: W = M⁻¹,  W_ii = P_ii,  |W_ij − P_ij| ≤ λ
//!
//! column j:  β = argmin ½βᵀW₁₁β − βᵀp + λ‖β‖₁   (coordinate descent),   w = W₁₁β,
//!            M_jj = 1/(W_jj − wᵀβ),   m = −β·M_jj
//! gap = tr(PM) + λ Σ_{i≠j} |M_ij| − d
//! ```

use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::learner::Outcome;
use mahala::progress::{Progress, Step};
use std::ops::ControlFlow;

/// Passes of coordinate descent over one column.
const INNER: usize = 200;

/// M, the sweeps over all columns, the duality gap, and why they ended.
pub(crate) struct Sparse {
    pub(crate) m: Mat<f64>,
    /// The dual matrix, positive definite after every sweep; M⁻¹ at the end.
    pub(crate) w: Mat<f64>,
    pub(crate) sweeps: usize,
    pub(crate) gap: f64,
    pub(crate) outcome: Outcome,
}

/// Minimises until the duality gap is at most `tolerance` a column and W moves no more; P is positive definite.
///
/// # Errors
/// Rounding left no positive definite M.
pub(crate) fn graphical_lasso(
    p: MatRef<'_, f64>,
    lambda: f64,
    tolerance: f64,
    max_sweeps: usize,
    progress: &mut Progress<'_>,
) -> Result<Sparse> {
    let d = p.nrows();
    let mut w = p.to_owned();
    let mut betas = vec![vec![0.0; d]; d];
    let mut sweeps = 0;
    loop {
        let mut moved: f64 = 0.0;
        for (j, beta) in betas.iter_mut().enumerate() {
            let image = lasso(w.as_ref(), p, j, lambda, 0.01 * tolerance, beta);
            for i in (0..d).filter(|&i| i != j) {
                moved = moved.max((w[(i, j)] - image[i]).abs() / (p[(i, i)] * p[(j, j)]).sqrt());
                (w[(i, j)], w[(j, i)]) = (image[i], image[i]);
            }
        }
        sweeps += 1;
        let m = inverse(w.as_ref(), &betas)?;
        let gap = gap(p, m.as_ref(), lambda);
        let order = progress(Step::iteration(sweeps, Some(gap)));
        let outcome = match order {
            ControlFlow::Break(stop) => Outcome::from(stop),
            // The gap is one only where W is M⁻¹; before, it may cross 0.
            ControlFlow::Continue(()) if gap.abs().max(moved) <= tolerance * d as f64 => Outcome::Converged,
            ControlFlow::Continue(()) if sweeps >= max_sweeps => Outcome::IterationLimit,
            ControlFlow::Continue(()) => continue,
        };
        return Ok(Sparse { m, w, sweeps, gap, outcome });
    }
}

/// Solves the lasso of column `j` from the β there; returns `W₁₁β`.
fn lasso(
    w: MatRef<'_, f64>,
    p: MatRef<'_, f64>,
    j: usize,
    lambda: f64,
    tolerance: f64,
    beta: &mut [f64],
) -> Vec<f64> {
    let d = beta.len();
    let mut image = vec![0.0; d];
    for k in (0..d).filter(|&k| k != j && beta[k] != 0.0) {
        image.iter_mut().zip(w.col(k).iter()).for_each(|(y, w)| *y += w * beta[k]);
    }
    for _ in 0..INNER {
        let mut moved: f64 = 0.0;
        for k in (0..d).filter(|&k| k != j) {
            let rest = p[(k, j)] - (image[k] - w[(k, k)] * beta[k]);
            let next = rest.signum() * (rest.abs() - lambda).max(0.0) / w[(k, k)];
            let change = next - beta[k];
            if change != 0.0 {
                beta[k] = next;
                image.iter_mut().zip(w.col(k).iter()).for_each(|(y, w)| *y += w * change);
                moved = moved.max((change * w[(k, k)]).abs());
            }
        }
        if moved <= tolerance * p[(j, j)] {
            break;
        }
    }
    image
}

/// M from the columns' lassos, symmetrised.
fn inverse(w: MatRef<'_, f64>, betas: &[Vec<f64>]) -> Result<Mat<f64>> {
    let d = betas.len();
    let diagonal: Vec<f64> = (0..d)
        .map(|j| {
            let explained: f64 = (0..d).filter(|&i| i != j).map(|i| w[(i, j)] * betas[j][i]).sum();
            1.0 / (w[(j, j)] - explained)
        })
        .collect();
    if let Some(column) = diagonal.iter().position(|m| !(m.is_finite() && *m > 0.0)) {
        return Err(Error::NotPositiveDefinite { what: "the matrix of the graphical lasso", column });
    }
    let entry = |i: usize, j: usize| -betas[j][i] * diagonal[j];
    Ok(Mat::from_fn(d, d, |i, j| {
        let (a, b) = (entry(i, j), entry(j, i));
        if i == j {
            diagonal[j]
        } else if a == 0.0 || b == 0.0 {
            0.0
        } else {
            0.5 * (a + b)
        }
    }))
}

fn gap(p: MatRef<'_, f64>, m: MatRef<'_, f64>, lambda: f64) -> f64 {
    let d = p.nrows();
    let mut sum = -(d as f64);
    for i in 0..d {
        for j in 0..d {
            sum += p[(i, j)] * m[(i, j)] + if i == j { 0.0 } else { lambda * m[(i, j)].abs() };
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::geometry::Spd;
    use mahala::progress::silent;

    fn covariance(d: usize) -> Mat<f64> {
        let mut random = Random::new(d as u64, 0);
        let x = Mat::from_fn(3 * d, d, |_, _| random.uniform() - 0.5);
        x.transpose() * &x
    }

    #[test]
    fn the_conditions_of_optimality_hold() {
        let p = covariance(8);
        for lambda in [0.02, 0.1, 0.3] {
            let sparse = graphical_lasso(p.as_ref(), lambda, 1e-12, 1000, &mut silent).unwrap();
            let w = Spd::new(sparse.m.clone()).unwrap().inverse().unwrap();
            let mut zeros = 0;
            for i in 0..8 {
                assert!((w.as_mat()[(i, i)] - p[(i, i)]).abs() < 1e-8);
                for j in (0..8).filter(|&j| j != i) {
                    let dual = w.as_mat()[(i, j)] - p[(i, j)];
                    if sparse.m[(i, j)] == 0.0 {
                        zeros += 1;
                        assert!(dual.abs() <= lambda + 1e-8, "{dual}");
                    } else {
                        assert!((dual - lambda * sparse.m[(i, j)].signum()).abs() < 1e-8, "{dual} {lambda}");
                    }
                }
            }
            assert!(lambda < 0.1 || zeros > 0);
        }
    }

    #[test]
    fn without_a_penalty_it_is_the_inverse_and_with_a_large_one_diagonal() {
        let p = covariance(5);
        let free = graphical_lasso(p.as_ref(), 0.0, 1e-13, 2000, &mut silent).unwrap();
        let inverse = Spd::new(p.clone()).unwrap().inverse().unwrap();
        assert!((&free.m - inverse.as_mat()).norm_max() < 1e-8 * inverse.as_mat().norm_max());
        let bound = graphical_lasso(p.as_ref(), 1e3, 1e-13, 100, &mut silent).unwrap();
        for i in 0..5 {
            for j in 0..5 {
                assert_eq!(bound.m[(i, j)], if i == j { 1.0 / p[(i, i)] } else { 0.0 });
            }
        }
    }
}
