//! Divide and conquer for the symmetric tridiagonal eigenproblem (Cuppen 1981; Gu and Eisenstat 1995).
//!
//! Split in the middle, `T = diag(T₁, T₂) + ρ·vvᵀ`. With both halves solved, `T₁ = Q₁D₁Q₁ᵀ` and `T₂ = Q₂D₂Q₂ᵀ`, the rest is a
//! rank-one update `diag(D₁, D₂) + ρ·zzᵀ`, where z holds the last row of `Q₁` and the first of `Q₂`. Its eigenvalues are the
//! roots of the secular equation ([`secular`](crate::eigen::secular)), its eigenvectors `(z_i/(d_i − λ))_i`; where z is 0 or
//! two d coincide, an eigenpair of a half is one of the whole (deflation). The cost is one GEMM per level.

use crate::eigen::qr_iteration::{MAX_ORDER, diagonalize, identity};
use crate::eigen::secular::Roots;
use crate::order::ascending;
use crate::parallel::{both, cut_columns, each, reduction_pieces};
use crate::view::{column, column_mut};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, Par};

/// From this order on a merge runs on two threads.
const PARALLEL_FROM: usize = 256;
/// The least number of columns of a merge's GEMM computed at a time.
const CHUNK: usize = 128;
const EPSILON: f64 = f64::EPSILON / 2.0;

/// The eigenvalues into `d`, the eigenvectors into the columns of `q`; returns the permutation that sorts both in ascending
/// order. `scratch` has the shape of `q`.
///
/// `None` if an iteration did not converge; no finite matrix is known to cause that.
pub fn eigen(
    d: &mut [f64],
    e: &mut [f64],
    mut q: MatMut<'_, f64>,
    mut scratch: MatMut<'_, f64>,
    par: Par,
) -> Option<Vec<usize>> {
    let n = d.len();
    q.fill(0.0);
    let mut first = 0;
    while first < n {
        // A block ends where the subdiagonal entry is negligible; each is scaled by a power of two of its own.
        let tiny = |i: usize| e[i].abs() <= EPSILON * d[i].abs().sqrt() * d[i + 1].abs().sqrt();
        let last = (first..n - 1).find(|&i| tiny(i)).unwrap_or(n - 1);
        let m = last + 1 - first;
        let (d, e) = (&mut d[first..=last], &mut e[first..last]);
        let largest = largest(d, e);
        let scale = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
        d.iter_mut().chain(e.iter_mut()).for_each(|x| *x /= scale);
        let q = q.as_mut().submatrix_mut(first, first, m, m);
        let scratch = scratch.as_mut().submatrix_mut(first, first, m, m);
        divide(d, e, q, scratch, par)?;
        d.iter_mut().for_each(|x| *x *= scale);
        first = last + 1;
    }
    Some(ascending(d))
}

fn largest(x: &[f64], y: &[f64]) -> f64 {
    x.iter().chain(y).fold(0.0, |largest, x| largest.max(x.abs()))
}

/// Solves one unreduced block; its eigenpairs are unsorted.
fn divide(
    d: &mut [f64],
    e: &mut [f64],
    mut q: MatMut<'_, f64>,
    mut scratch: MatMut<'_, f64>,
    par: Par,
) -> Option<()> {
    let n = d.len();
    if n <= MAX_ORDER {
        let mut columns = identity();
        diagonalize(d, e, &mut columns[..n])?;
        for (j, column) in columns[..n].iter().enumerate() {
            column_mut(q.as_mut(), j).copy_from_slice(&column[..n]);
        }
        return Some(());
    }
    let par = if n < PARALLEL_FROM { Par::Seq } else { par };
    let half = n / 2;
    let rho = e[half - 1];
    d[half - 1] -= rho.abs();
    d[half] -= rho.abs();
    {
        let ((d1, d2), (e1, e2)) = (d.split_at_mut(half), e.split_at_mut(half - 1));
        let (q1, _, _, q2) = q.as_mut().split_at_mut(half, half);
        let (scratch1, _, _, scratch2) = scratch.as_mut().split_at_mut(half, half);
        let one = || divide(d1, e1, q1, scratch1, par);
        let two = || divide(d2, &mut e2[1..], q2, scratch2, par);
        let (one, two) = both(par, one, two);
        one.and(two)?;
    }
    merge(d, rho, half, q, scratch, par)
}

/// The nonzero part of an eigenvector of the two halves.
#[derive(Clone, Copy, PartialEq)]
enum Support {
    Top,
    Both,
    Bottom,
}

/// The rank-one update: from the eigenpairs of the halves to those of the whole.
fn merge(
    d: &mut [f64],
    rho: f64,
    half: usize,
    mut q: MatMut<'_, f64>,
    scratch: MatMut<'_, f64>,
    par: Par,
) -> Option<()> {
    let n = d.len();
    // ‖z‖ = 1
    let (sign, rho, root_half) = (rho.signum(), 2.0 * rho.abs(), 0.5f64.sqrt());
    let entry = |j: usize| if j < half { q[(half - 1, j)] } else { sign * q[(half, j)] };
    let mut z: Vec<f64> = (0..n).map(|j| root_half * entry(j)).collect();
    let mut support: Vec<Support> =
        (0..n).map(|j| if j < half { Support::Top } else { Support::Bottom }).collect();
    let kept = deflate(d, &mut z, rho, &mut support, q.as_mut());
    let k = kept.len();
    if k == 0 {
        return Some(());
    }
    // Grouped by support, so that products skip the zero blocks.
    let mut grouped: Vec<usize> = Vec::with_capacity(k);
    let ends = [Support::Top, Support::Both, Support::Bottom].map(|kind| {
        grouped.extend((0..k).filter(|&i| support[kept[i]] == kind));
        grouped.len()
    });
    // The columns of the update are copied out; then the deflated ones are moved to the end.
    let (tops, _, _, bottoms) = scratch.split_at_mut(half, half);
    let mut tops = tops.subcols_mut(0, ends[1]);
    let mut bottoms = bottoms.subcols_mut(0, k - ends[0]);
    for (i, &at) in grouped.iter().enumerate() {
        let from = column(q.as_ref(), kept[at]);
        if i < ends[1] {
            column_mut(tops.as_mut(), i).copy_from_slice(&from[..half]);
        }
        if i >= ends[0] {
            column_mut(bottoms.as_mut(), i - ends[0]).copy_from_slice(&from[half..]);
        }
    }
    let (kept_d, kept_z): (Vec<f64>, Vec<f64>) = kept.iter().map(|&j| (d[j], z[j])).unzip();
    let mut free = vec![false; n];
    kept.iter().for_each(|&j| free[j] = true);
    let mut to = k;
    for from in (0..k).filter(|&j| !free[j]) {
        to += free[to..].iter().position(|free| *free).expect("as many are free as are taken");
        d[to] = d[from];
        let (left, right) = q.as_mut().split_at_col_mut(to);
        column_mut(right, 0).copy_from_slice(column(left.as_ref(), from));
        to += 1;
    }
    // The differences d_i − λ_j overwrite the columns, then the eigenvectors overwrite the differences.
    let z = secular(&kept_d, &kept_z, rho, &mut d[..k], q.as_mut().get_mut(..k, ..k), par)?;
    let chunk = CHUNK.max(n / 4).min(k);
    let mut coefficients = Mat::zeros(k, chunk);
    for first in (0..k).step_by(chunk) {
        let mut columns = q.as_mut().subcols_mut(first, chunk.min(k - first));
        let mut coefficients = coefficients.as_mut().subcols_mut(0, columns.ncols());
        for j in 0..columns.ncols() {
            let to = column_mut(coefficients.as_mut(), j);
            crate::eigen::secular::eigenvector(&z, column_mut(columns.as_mut(), j), &grouped, to);
        }
        let (top, bottom) = columns.split_at_row_mut(half);
        let coefficients = coefficients.as_ref();
        matmul(top, Accum::Replace, tops.as_ref(), coefficients.get(..ends[1], ..), 1.0, par);
        matmul(bottom, Accum::Replace, bottoms.as_ref(), coefficients.get(ends[0].., ..), 1.0, par);
    }
    Some(())
}

/// Deflation: removes the eigenpairs of the halves that are eigenpairs of the whole, up to rounding: `z_i` is 0, or a Givens
/// rotation of two columns with (nearly) equal d makes it so. Returns the indices of the others, by ascending d.
fn deflate(
    d: &mut [f64],
    z: &mut [f64],
    rho: f64,
    support: &mut [Support],
    mut q: MatMut<'_, f64>,
) -> Vec<usize> {
    let tolerance = 8.0 * EPSILON * largest(d, z);
    let mut kept: Vec<usize> = Vec::with_capacity(d.len());
    for j in ascending(d) {
        if rho * z[j].abs() <= tolerance {
            continue;
        }
        if let Some(&before) = kept.last() {
            let size = z[j].hypot(z[before]);
            let (cosine, sine) = (z[j] / size, -z[before] / size);
            let (low, high) = (d[before], d[j]);
            if ((high - low) * cosine * sine).abs() <= tolerance {
                (z[before], z[j]) = (0.0, size);
                if support[before] != support[j] {
                    support[j] = Support::Both;
                }
                rotate(q.as_mut(), before, j, cosine, sine);
                d[before] = low * cosine * cosine + high * sine * sine;
                d[j] = low * sine * sine + high * cosine * cosine;
                kept.pop();
            }
        }
        kept.push(j);
    }
    kept
}

/// Applies a Givens rotation to two columns: `[a, b] ← [c·a + s·b, c·b − s·a]`.
fn rotate(q: MatMut<'_, f64>, a: usize, b: usize, cosine: f64, sine: f64) {
    let (left, right) = q.split_at_col_mut(a.max(b));
    let (x, y) = (column_mut(left, a.min(b)), column_mut(right, 0));
    let sine = if a < b { sine } else { -sine };
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
    }
}

/// Solves the secular equation: the roots λ into `values`, the differences `d_i − λ_j` into a matrix. Returns the ẑ of which
/// the computed roots are exact (Löwner's formula), close to z: with it the eigenvectors are orthogonal to rounding.
fn secular(
    d: &[f64],
    z: &[f64],
    rho: f64,
    values: &mut [f64],
    differences: MatMut<'_, f64>,
    par: Par,
) -> Option<Vec<f64>> {
    let n = d.len();
    let pieces = reduction_pieces(n);
    let firsts: Vec<usize> = (0..pieces).map(|piece| n * piece / pieces).collect();
    let mut values = values;
    let mut parts = Vec::with_capacity(pieces);
    for (piece, (first, differences)) in cut_columns(differences, &firsts[1..]).into_iter().enumerate() {
        let end = firsts.get(piece + 1).copied().unwrap_or(n);
        let (own, rest) = values.split_at_mut(end - first);
        parts.push((first, differences, own, None));
        values = rest;
    }
    each(par, &mut parts, &|(first, differences, values, product)| {
        *product = Roots { d, z, rho, first: *first }.solve(differences.as_mut(), values);
    });
    let mut products = vec![1.0; n];
    for part in parts {
        products.iter_mut().zip(part.3?).for_each(|(product, factor)| *product *= factor);
    }
    Some(products.iter().zip(z).map(|(product, z)| (-product).max(0.0).sqrt().copysign(*z)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// `(‖QᵀQ − I‖, ‖TQ − QΛ‖/‖T‖)`, largest entries; and the eigenvalues, ascending.
    fn solved(d: &[f64], e: &[f64]) -> (f64, f64, Vec<f64>) {
        let n = d.len();
        let (mut values, mut q, mut scratch) = (d.to_vec(), Mat::zeros(n, n), Mat::zeros(n, n));
        let par = crate::parallel::parallelism(n);
        let order = eigen(&mut values, &mut e.to_vec(), q.as_mut(), scratch.as_mut(), par).unwrap();
        let gram = q.transpose() * &q;
        let orthogonal = (&gram - Mat::<f64>::identity(n, n)).norm_max();
        let size = largest(d, e).max(f64::MIN_POSITIVE);
        let mut residual = 0.0f64;
        for j in 0..n {
            for i in 0..n {
                let above = if i > 0 { e[i - 1] * q[(i - 1, j)] } else { 0.0 };
                let below = if i + 1 < n { e[i] * q[(i + 1, j)] } else { 0.0 };
                residual =
                    residual.max((above + d[i] * q[(i, j)] + below - values[j] * q[(i, j)]).abs() / size);
            }
        }
        (orthogonal, residual, order.iter().map(|&i| values[i]).collect())
    }

    #[test]
    fn the_second_difference_has_its_known_eigenvalues() {
        // 2 − 2cos(kπ/(n+1)), k = 1…n
        for n in [33, 64, 100, 257, 300] {
            let (orthogonal, residual, values) = solved(&vec![2.0; n], &vec![-1.0; n - 1]);
            assert!(orthogonal < 1e-13 && residual < 1e-14, "{n}: {orthogonal:e} {residual:e}");
            for (k, value) in (1..).zip(values) {
                let angle = f64::from(k) * std::f64::consts::PI / (n as f64 + 1.0);
                assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14, "{n}, {k}");
            }
        }
    }

    #[test]
    fn hard_matrices_keep_orthogonal_eigenvectors() {
        let mut random = Random::new(1, 0);
        let mut uniform = || random.uniform() - 0.5;
        let n = 150;
        let wilkinson: Vec<f64> = (0..n).map(|i| (f64::from(i) - 75.0).abs()).collect();
        let cases: [(&str, Vec<f64>, Vec<f64>); 6] = [
            ("random", (0..n).map(|_| uniform()).collect(), (1..n).map(|_| uniform()).collect()),
            ("Wilkinson's, pairs that agree to rounding", wilkinson, vec![1.0; 149]),
            ("zero", vec![0.0; 150], vec![0.0; 149]),
            ("identity", vec![1.0; 150], vec![0.0; 149]),
            ("no diagonal", vec![0.0; 150], vec![1.0; 149]),
            ("glued", vec![1.0; 150], (1..n).map(|i| if i % 10 == 0 { 1e-9 } else { 0.5 }).collect()),
        ];
        for (name, d, e) in cases {
            let (orthogonal, residual, values) = solved(&d, &e);
            assert!(orthogonal < 5e-14 && residual < 5e-14, "{name}: {orthogonal:e} {residual:e}");
            assert!(values.is_sorted(), "{name}");
        }
    }

    /// The eigenvalues, ascending, by bisection with Sturm's counts, to `eps·‖T‖`.
    fn by_bisection(d: &[f64], e: &[f64]) -> Vec<f64> {
        let below = |x: f64| {
            let mut pivot = 1.0;
            let mut count = 0;
            for (i, d) in d.iter().enumerate() {
                let coupling = if i > 0 { e[i - 1] * e[i - 1] / pivot } else { 0.0 };
                pivot = d - x - coupling;
                pivot = if pivot == 0.0 { -f64::MIN_POSITIVE } else { pivot };
                count += usize::from(pivot < 0.0);
            }
            count
        };
        let size = 3.0 * largest(d, e);
        let bisected = |k: usize| {
            let (mut low, mut high) = (-size, size);
            while high - low > EPSILON * size {
                let middle = 0.5 * (low + high);
                if below(middle) > k { high = middle } else { low = middle }
            }
            0.5 * (low + high)
        };
        (0..d.len()).map(bisected).collect()
    }

    #[test]
    fn graded_matrices_are_solved_to_the_norm() {
        // No more is promised: `graded.rs` finds small eigenvalues to relative accuracy. One ten times beyond the bound fails.
        let down: Vec<f64> = (0..150).map(|i| 10f64.powi(-i / 8)).collect();
        let up: Vec<f64> = down.iter().rev().copied().collect();
        let coupled = |d: &[f64]| d.windows(2).map(|two| 0.3 * two[0].min(two[1])).collect::<Vec<_>>();
        for d in [down, up] {
            let e = coupled(&d);
            let (orthogonal, residual, values) = solved(&d, &e);
            assert!(orthogonal < 5e-14 && residual < 2e-15, "{orthogonal:e} {residual:e}");
            for (value, exact) in values.iter().zip(by_bisection(&d, &e)) {
                assert!((value - exact).abs() < 2e-15 * largest(&d, &e), "{value:e} {exact:e}");
            }
        }
    }

    #[test]
    fn blocks_without_coupling_are_solved_each_in_its_own_units() {
        let mut random = Random::new(3, 0);
        let blocks: Vec<(Vec<f64>, Vec<f64>)> = (0..3)
            .map(|_| {
                let d: Vec<f64> = (0..40).map(|_| 1.0 + random.uniform()).collect();
                (d, (1..40).map(|_| 0.5 * random.uniform()).collect())
            })
            .collect();
        let scales = [1.0, 2f64.powi(-140), 2f64.powi(-70)];
        let (mut d, mut e) = (Vec::new(), Vec::new());
        for ((block, below), scale) in blocks.iter().zip(scales) {
            d.extend(block.iter().map(|x| scale * x));
            e.extend(below.iter().map(|x| scale * x).chain([0.0]));
        }
        e.pop();
        let (_, _, values) = solved(&d, &e);
        let mut alone: Vec<f64> = blocks
            .iter()
            .zip(scales)
            .flat_map(|((d, e), scale)| solved(d, e).2.into_iter().map(move |x| scale * x))
            .collect();
        alone.sort_by(f64::total_cmp);
        assert_eq!(values, alone);
    }

    #[test]
    fn threads_change_no_bit() {
        let mut random = Random::new(2, 0);
        let d: Vec<f64> = (0..600).map(|_| random.uniform()).collect();
        let e: Vec<f64> = (1..600).map(|_| random.uniform()).collect();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solved(&d, &e))
        };
        assert_eq!(with(1), with(2));
    }
}
