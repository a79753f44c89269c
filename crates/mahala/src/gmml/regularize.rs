//! Regularisation (eq. 15): prior, shrinkage, and a ridge as the last resort, so that `S` can be factorised.

use crate::error::{Error, Result};
use crate::geometry::spd::Spd;
use crate::gmml::dependent_columns::{varying_directions, within};
use crate::scatter::Scatter;
use faer::{Mat, MatRef};
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::order::descending;
use mahala_kernels::reduce::sum_by_lanes;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::view::{column, column_mut};
use mahala_kernels::workspace::Workspace;

/// How `S` and `D` are regularised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Regularization {
    /// None (λ = 0), unless `S` is singular.
    None,
    /// The paper's: `S + λA₀⁻¹` and `D + λA₀`, with λ on the scale of the paper's `40c(c−1)` pairs.
    Lambda(f64),
    /// Shrinkage of both towards the diagonal: `(1−ρ)S + ρ·diag(S)`, and so for `D`; invariant under the columns'
    /// units.
    Shrinkage(f64),
    /// Shrinkage of `S` alone towards its diagonal: `D` keeps the directions in which classes differ.
    ShrinkSimilar(f64),
    /// Shrinkage of `S` alone towards the identity: `(1−ρ)S + ρ·mean(diag(S))·I`, a ridge in the columns' own
    /// units.
    ShrinkSimilarToIdentity(f64),
    /// Shrinkage of both towards the identity: `(1−ρ)S + ρ·mean(diag(S))·I`, and so for `D`.
    ShrinkToIdentity(f64),
    /// Shrinkage of `S` alone towards its diagonal, by the amount of [`analytic_shrinkage`].
    Analytic,
}

/// The prior `A₀` of [`Regularization::Lambda`].
#[derive(Debug, Clone)]
pub enum Prior {
    /// The Euclidean metric.
    Identity,
    /// The inverse variances: Euclidean after standardisation.
    Diagonal,
    /// The inverse covariance: the classic Mahalanobis metric.
    Covariance,
    /// A given metric.
    Matrix(Spd),
}

/// Pivots of `S` below this share of their column's variance count as singular.
const SINGULAR: f64 = 1e-10;

/// Columns whose sizes `√(S_ii·D_ii)` differ by no more than this power of two need no order: eigenvalues then span some
/// 2^8, and the smallest keep all but that of their digits.
const ALIKE: f64 = 4.0;

/// The input of the eigenproblem, for the columns that vary.
pub(crate) struct Prepared {
    /// The columns that vary, in graded order; the others are constant and have weight 0.
    pub(crate) active: Vec<usize>,
    /// Rows are measured in 2^exponent.
    pub(crate) exponent: i32,
    /// The 1-norms of `S` and `D`.
    pub(crate) norm_s: f64,
    pub(crate) norm_d: f64,
    pub(crate) d: Mat<f64>,
    /// `S = LLᵀ`
    pub(crate) l: Mat<f64>,
    /// The ridge added to `S`, relative to each column's variance; 0 if none was needed.
    pub(crate) ridge: f64,
    /// The basis of the active columns that `S` and `D` are expressed in, if columns depend on others.
    pub(crate) basis: Option<Mat<f64>>,
}

impl Regularization {
    /// # Errors
    /// λ negative or not finite; ρ outside [0, 1].
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Lambda(x) if !(x.is_finite() && x >= 0.0) => Err(Error::Parameter {
                name: "lambda",
                value: x.to_string(),
                allowed: "finite and at least 0",
            }),
            Self::Shrinkage(x)
            | Self::ShrinkSimilar(x)
            | Self::ShrinkSimilarToIdentity(x)
            | Self::ShrinkToIdentity(x)
                if !(0.0..=1.0).contains(&x) =>
            {
                Err(Error::Parameter { name: "shrinkage", value: x.to_string(), allowed: "between 0 and 1" })
            }
            _ => Ok(()),
        }
    }
}

/// Brings the sums to a common unit, regularises them, and factorises `S`.
pub(crate) fn prepare(
    scatter: Scatter,
    regularization: Regularization,
    prior: &Prior,
    workspace: &mut Workspace,
) -> Result<Prepared> {
    regularization.check()?;
    let active = active_columns(&scatter, regularization, prior)?;
    let exponent = common_exponent(&scatter, &active)?;
    let active = graded(&scatter, &active);
    let (w_s, w_d, units) = (scatter.similar().weight, scatter.dissimilar().weight, scatter.units().to_vec());
    // One after the other, so that the second reuses the memory of the first.
    let samples = scatter.samples();
    let untouched = is_plain(&units, exponent) && active.iter().copied().eq(0..units.len());
    let [mut s, mut d] = scatter.into_matrices().map(|whole| {
        if untouched {
            return whole;
        }
        let part = submatrix(whole.as_ref(), &units, &active, exponent, workspace);
        workspace.give(whole);
        part
    });
    // The diagonal of S if similar pairs differed as much as any: the reference for pivots.
    let yardstick = |s: &Mat<f64>, d: &Mat<f64>| -> Vec<f64> {
        (0..s.ncols()).map(|j| (s[(j, j)] + d[(j, j)]) * w_s / (w_s + w_d)).collect()
    };
    let mut base = yardstick(&s, &d);
    match regularization {
        Regularization::None | Regularization::Lambda(0.0) => {}
        Regularization::Lambda(lambda) => {
            let unit = times_power_of_two(1.0, -2 * exponent);
            let pair_variance = 0.5 / (w_s + w_d);
            add_prior(&mut s, &mut d, lambda, unit, pair_variance, prior, &active)?;
        }
        Regularization::Shrinkage(rho) => {
            shrink_to_diagonal(&mut s, rho);
            shrink_to_diagonal(&mut d, rho);
        }
        Regularization::ShrinkSimilar(rho) => shrink_to_diagonal(&mut s, rho),
        Regularization::ShrinkSimilarToIdentity(rho) => shrink_to_identity(&mut s, rho),
        Regularization::ShrinkToIdentity(rho) => {
            shrink_to_identity(&mut s, rho);
            shrink_to_identity(&mut d, rho);
        }
        Regularization::Analytic => {
            let rho = analytic_shrinkage(s.as_ref(), samples);
            shrink_to_diagonal(&mut s, rho);
        }
    }
    let norms = |s: &Mat<f64>, d: &Mat<f64>| [s, d].map(|sum| one_norm(sum.as_ref()));
    let [mut norm_s, mut norm_d] = norms(&s, &d);
    if !(norm_s + norm_d).is_finite() {
        return Err(Error::OutOfRange { what: "S or D" });
    }
    if let Some(l) = regular(&s, &base, workspace) {
        workspace.give(s);
        return Ok(Prepared { active, exponent, norm_s, norm_d, d, l, ridge: 0.0, basis: None });
    }
    let basis = varying_directions(s.as_ref(), d.as_ref())?;
    if let Some(q) = &basis {
        (s, d) = (within(q.as_ref(), s.as_ref()), within(q.as_ref(), d.as_ref()));
        base = yardstick(&s, &d);
        [norm_s, norm_d] = norms(&s, &d);
    }
    let (l, ridge) = factorise(&mut s, &base, workspace)?;
    if ridge > 0.0 {
        norm_s = one_norm(s.as_ref());
    }
    workspace.give(s);
    Ok(Prepared { active, exponent, norm_s, norm_d, d, l, ridge, basis })
}

/// The columns that vary; all columns where the prior decides about the others.
fn active_columns(scatter: &Scatter, regularization: Regularization, prior: &Prior) -> Result<Vec<usize>> {
    let n = scatter.columns();
    // Not "> 0": a sum that overflowed to NaN must not pass for a constant column.
    let varying: Vec<usize> = (0..n).filter(|&j| scatter.s()[(j, j)] + scatter.d()[(j, j)] != 0.0).collect();
    if varying.is_empty() {
        return Err(Error::AllConstant { columns: n });
    }
    let prior_decides = matches!(prior, Prior::Identity | Prior::Matrix(_));
    match regularization {
        Regularization::Lambda(lambda) if lambda > 0.0 && prior_decides => Ok((0..n).collect()),
        _ => Ok(varying),
    }
}

/// One power of two for all columns; refuses columns too far apart.
fn common_exponent(scatter: &Scatter, active: &[usize]) -> Result<i32> {
    let size =
        |j: usize| 0.5 * (scatter.s()[(j, j)] + scatter.d()[(j, j)]).log2() + f64::from(scatter.units()[j]);
    let sizes: Vec<(usize, f64)> =
        active.iter().map(|&j| (j, size(j))).filter(|(_, x)| x.is_finite()).collect();
    let by_size = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
    let (Some(&narrow), Some(&wide)) = (sizes.iter().min_by(by_size), sizes.iter().max_by(by_size)) else {
        return Ok(0);
    };
    let decades = (wide.1 - narrow.1) * std::f64::consts::LOG10_2;
    if decades > 70.0 {
        return Err(Error::ScaleSpread { wide: wide.0, narrow: narrow.0, exponent: decades.round() as i32 });
    }
    let plain = scatter.units().iter().all(|&unit| unit == 0);
    Ok(if plain { 0 } else { wide.1.round() as i32 })
}

/// The columns in the order that keeps the digits of small eigenvalues (see `geodesic::graded_order`); as they are where
/// they are of about one size.
fn graded(scatter: &Scatter, active: &[usize]) -> Vec<usize> {
    let size = |j: usize| {
        let product = scatter.s()[(j, j)].max(0.0).sqrt() * scatter.d()[(j, j)].max(0.0).sqrt();
        // In logarithms: the square of a column's unit may overflow.
        product.log2() + 2.0 * f64::from(scatter.units()[j])
    };
    let sizes: Vec<f64> = active.iter().map(|&j| size(j)).collect();
    let (least, largest) =
        sizes.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    if largest - least <= ALIKE {
        return active.to_vec();
    }
    descending(&sizes).into_iter().map(|j| active[j]).collect()
}

/// Whether no column has a unit of its own.
fn is_plain(units: &[i32], exponent: i32) -> bool {
    exponent == 0 && units.iter().all(|&unit| unit == 0)
}

fn submatrix(
    matrix: MatRef<'_, f64>,
    units: &[i32],
    active: &[usize],
    exponent: i32,
    workspace: &mut Workspace,
) -> Mat<f64> {
    let plain = is_plain(units, exponent);
    let mut part = workspace.take(active.len());
    for (to, &j) in active.iter().enumerate() {
        let (from, entries) = (column(matrix, j), column_mut(part.as_mut(), to).iter_mut().zip(active));
        if plain {
            entries.for_each(|(entry, &i)| *entry = from[i]);
        } else {
            let unit = |i: usize| units[i] + units[j] - 2 * exponent;
            entries.for_each(|(entry, &i)| *entry = times_power_of_two(from[i], unit(i)));
        }
    }
    part
}

/// `S + λA₀⁻¹`, `D + λA₀`, where one unit of a row is `unit^(-1/2)`.
fn add_prior(
    s: &mut Mat<f64>,
    d: &mut Mat<f64>,
    lambda: f64,
    unit: f64,
    pair_variance: f64,
    prior: &Prior,
    active: &[usize],
) -> Result<()> {
    let n = active.len();
    match prior {
        Prior::Identity => {
            for j in 0..n {
                s[(j, j)] += lambda * unit;
                d[(j, j)] += lambda * unit;
            }
        }
        Prior::Diagonal => {
            for j in 0..n {
                let variance = pair_variance * (s[(j, j)] + d[(j, j)]);
                s[(j, j)] += lambda * variance;
                d[(j, j)] += lambda * unit * unit / variance;
            }
        }
        Prior::Covariance => {
            let covariance = Mat::from_fn(n, n, |i, j| pair_variance * (s[(i, j)] + d[(i, j)]));
            let covariance = Spd::named(covariance, "the covariance (as prior)")?;
            add_scaled(s, lambda, covariance.as_mat());
            add_scaled(d, lambda * unit * unit, covariance.inverse()?.as_mat());
        }
        Prior::Matrix(prior) => {
            if prior.dimension() != n {
                return Err(Error::Length {
                    what: "rows of the prior",
                    seen: prior.dimension(),
                    expected: n,
                });
            }
            let permuted = Mat::from_fn(n, n, |i, j| prior.as_mat()[(active[i], active[j])]);
            let permuted = Spd::named(permuted, "the prior")?;
            add_scaled(s, lambda * unit, permuted.inverse()?.as_mat());
            add_scaled(d, lambda * unit, permuted.as_mat());
        }
    }
    Ok(())
}

fn add_scaled(target: &mut Mat<f64>, factor: f64, other: MatRef<'_, f64>) {
    for j in 0..target.ncols() {
        for i in 0..target.nrows() {
            target[(i, j)] += factor * other[(i, j)];
        }
    }
}

/// `(1−ρ)M + ρ·diag(M)`
fn shrink_to_diagonal(matrix: &mut Mat<f64>, rho: f64) {
    for j in 0..matrix.ncols() {
        for i in 0..matrix.nrows() {
            if i != j {
                matrix[(i, j)] *= 1.0 - rho;
            }
        }
    }
}

/// `(1−ρ)M + ρ·mean(diag(M))·I`
fn shrink_to_identity(matrix: &mut Mat<f64>, rho: f64) {
    let n = matrix.ncols();
    let mean = (0..n).map(|j| matrix[(j, j)] / n as f64).sum::<f64>();
    shrink_to_diagonal(matrix, rho);
    (0..n).for_each(|j| matrix[(j, j)] = (1.0 - rho) * matrix[(j, j)] + rho * mean);
}

/// How much of `diag(S)` the oracle-approximating shrinkage (Chen, Wiesel, Eldar, Hero 2010) puts into `S`
/// when it was estimated from `samples` differences.
///
/// # Formula
/// ```text
/// R = diag(S)^{-½} S diag(S)^{-½},   p columns,   n samples
/// ρ = ((1 − 2/p)·tr R² + p²) / ((n + 1 − 2/p)·(tr R² − p)), at most 1
/// ```
///
/// The formula is stated for a target `μI`; applied to correlations the target is the diagonal of `S`.
///
/// ```
/// use mahala::Mat;
/// use mahala::gmml::analytic_shrinkage;
/// let s = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 0.5 });
/// assert_eq!(analytic_shrinkage(s.as_ref(), 9.0), 4.0 / (9.0 * 0.5));
/// assert_eq!(analytic_shrinkage(s.as_ref(), 1.0), 1.0);
/// ```
pub fn analytic_shrinkage(s: MatRef<'_, f64>, samples: f64) -> f64 {
    let p = s.nrows() as f64;
    let deviation: Vec<f64> = (0..s.nrows()).map(|j| s[(j, j)].max(0.0).sqrt()).collect();
    let correlation = |i: usize, j: usize| {
        let r = s[(i, j)] / deviation[i] / deviation[j];
        if r.is_finite() { r } else { 0.0 }
    };
    let off: f64 = (0..s.nrows()).map(|j| 2.0 * (0..j).map(|i| correlation(i, j).powi(2)).sum::<f64>()).sum();
    let rho = ((1.0 - 2.0 / p) * (off + p) + p * p) / ((samples + 1.0 - 2.0 / p) * off);
    if rho.is_finite() { rho.clamp(0.0, 1.0) } else { 1.0 }
}

/// The Cholesky factor of `S`, if that is safely positive definite.
fn regular(s: &Mat<f64>, base: &[f64], workspace: &mut Workspace) -> Option<Mat<f64>> {
    let l = cholesky(s.as_ref(), "S", workspace).ok()?;
    (0..base.len()).all(|j| l[(j, j)] * l[(j, j)] >= SINGULAR * base[j]).then_some(l)
}

/// The Cholesky factor of `S`, after the smallest ridge that makes it safely positive definite.
fn factorise(s: &mut Mat<f64>, base: &[f64], workspace: &mut Workspace) -> Result<(Mat<f64>, f64)> {
    let mut ridge = 0.0;
    loop {
        if let Some(l) = regular(s, base, workspace) {
            return Ok((l, ridge));
        }
        let next = if ridge == 0.0 { 2.0 * SINGULAR } else { 10.0 * ridge };
        if next > 1.0 {
            return Err(Error::NotPositiveDefinite { what: "S", column: 0 });
        }
        (0..base.len()).for_each(|j| s[(j, j)] += (next - ridge) * base[j]);
        ridge = next;
    }
}

/// The largest sum of absolute values of a column; not finite if an entry is not.
fn one_norm(matrix: MatRef<'_, f64>) -> f64 {
    let of_column = |j: usize| sum_by_lanes(column(matrix, j), column(matrix, j), |x, _| x.abs());
    let larger = |most: f64, sum: f64| if most.is_nan() || sum <= most { most } else { sum };
    (0..matrix.ncols()).map(of_column).fold(0.0, larger)
}

/// Estimates of condition numbers in the 1-norm from the norms of symmetric matrices and a way to apply the inverse of each
/// to a vector of its own (Hager 1984): lower bounds that are rarely off by more than a factor of 3, in `O(d²)`.
pub(crate) fn condition_estimates<const K: usize>(
    norms: [f64; K],
    n: usize,
    inverses_times: impl Fn([&[f64]; K]) -> [Vec<f64>; K],
) -> [f64; K] {
    let size = |y: &[f64]| y.iter().map(|v| v.abs()).sum::<f64>();
    let times = |x: &[Vec<f64>; K]| inverses_times(x.each_ref().map(Vec::as_slice));
    let y = times(&[(); K].map(|()| vec![1.0 / n as f64; n]));
    let z = times(&y.each_ref().map(|y| y.iter().map(|v| v.signum()).collect()));
    let steepest = times(&z.map(|z| {
        let at = (0..n).max_by(|&a, &b| z[a].abs().total_cmp(&z[b].abs())).unwrap_or(0);
        let mut x = vec![0.0; n];
        x[at] = 1.0;
        x
    }));
    std::array::from_fn(|k| norms[k] * size(&y[k]).max(size(&steepest[k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_estimate_of_a_diagonal_matrix_is_exact() {
        let entries = [1.0, 1e-6, 10.0];
        let matrix = Mat::from_fn(3, 3, |i, j| if i == j { entries[i] } else { 0.0 });
        let [estimate] = condition_estimates([one_norm(matrix.as_ref())], 3, |[x]| {
            [x.iter().zip(entries).map(|(x, e)| x / e).collect()]
        });
        assert!((estimate - 1e7).abs() < 1e-6, "{estimate}");
    }

    #[test]
    fn a_singular_s_gets_the_smallest_ridge_and_a_regular_one_gets_none() {
        let mut singular = Mat::from_fn(2, 2, |_, _| 4.0);
        let (l, ridge) = factorise(&mut singular, &[4.0, 4.0], &mut Workspace::default()).unwrap();
        assert_eq!(ridge, 2e-10);
        assert!((l[(1, 1)] * l[(1, 1)] / 4.0 - 4e-10).abs() < 1e-13);
        let mut regular = Mat::from_fn(2, 2, |i, j| if i == j { 4.0 } else { 1.0 });
        assert_eq!(factorise(&mut regular, &[4.0, 4.0], &mut Workspace::default()).unwrap().1, 0.0);
    }
}
