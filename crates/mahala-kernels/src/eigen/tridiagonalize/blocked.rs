//! Blocked Householder tridiagonalisation `A = HTHᵀ` (LAPACK's `sytrd`), and the back-transformation of eigenvectors.
//!
//! Up to order `CACHED` reflectors are applied one at a time ([`unblocked`]). A larger matrix is updated once per panel of
//! reflectors, by a rank-2k update: with `V` the reflectors of a panel and `W` the vectors of `latrd`, the trailing matrix is
//! `A − VWᵀ − WVᵀ`, of which only the next column is needed at once. Interleaved, `v₀ w₀ v₁ w₁ …`, that is one product,
//! `A − [VW][WV]ᵀ`.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::blas::gemv::{subtract_product, transposed_product};
use crate::eigen::tridiagonalize::unblocked;
use crate::parallel::{column_cuts, cut_columns, each, parallelism, reduction_pieces, triangle_cuts};
use crate::reduce::sum_by_lanes;
use crate::simd::{Lanes, as_lanes, as_lanes_mut, sum_lanes, with_lanes};
use crate::view::{column, column_mut};
use faer::linalg::householder::upgrade_householder_factor;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use pulp::{Arch, Simd, WithSimd};

/// The largest order for the unblocked algorithm: the matrix stays in cache, which each reflector reads and writes.
const CACHED: usize = 1200;
/// Reflectors in one panel.
const PANEL: usize = 48;
/// From this order on products with a panel run on two threads.
const PARALLEL_FROM: usize = 1500;

/// `H` as Householder reflectors, with the triangular factors of their blocks (the compact WY form).
pub struct Reflectors {
    /// The Householder vectors, below the subdiagonal.
    pub basis: Mat<f64>,
    factors: Mat<f64>,
}

/// Reduces a symmetric matrix, of which the lower triangle is read, to tridiagonal form: diagonal, subdiagonal, reflectors.
pub fn reduce(mut a: Mat<f64>, par: Par) -> (Vec<f64>, Vec<f64>, Reflectors) {
    let n = a.nrows();
    let block = if n > CACHED { PANEL } else { recommended_block_size::<f64>(n, n) };
    let mut factors = Mat::zeros(block, n - 1);
    let mut first = 0;
    let mut scratch = [(); 2].map(|()| Mat::zeros(n, if n > CACHED { 2 * block } else { 0 }));
    while n - first > CACHED {
        let rest = a.as_mut().submatrix_mut(first, first, n - first, n - first);
        let [vw, wv] = scratch.each_mut().map(|scratch| scratch.as_mut().subrows_mut(first, n - first));
        panel(rest, factors.as_mut().subcols_mut(first, block), Interleaved { vw, wv }, par);
        first += block;
    }
    let taus = unblocked::reduce(a.as_mut().submatrix_mut(first, first, n - first, n - first), par);
    for (k, tau) in taus.iter().enumerate() {
        factors[(k % block, first + k)] = *tau;
    }
    for k in (first..n - 1).step_by(block) {
        let size = block.min(n - 1 - k);
        let factor = factors.as_mut().submatrix_mut(0, k, size, size);
        upgrade_householder_factor(factor, a.as_ref().submatrix(k + 1, k, n - 1 - k, size), size, 1, par);
    }
    let d = (0..n).map(|i| a[(i, i)]).collect();
    let e = (1..n).map(|i| a[(i, i - 1)]).collect();
    (d, e, Reflectors { basis: a, factors })
}

impl Reflectors {
    /// Back-transformation `Q ← HQ`, block after block in compact WY form: `Q − YVᵀQ` with `Y = VT⁻¹`, `V` the reflectors of a
    /// block and `T` their triangular factor. With explicit zeros above the diagonal of `V` both products are plain GEMM.
    pub fn apply(&self, mut q: MatMut<'_, f64>) {
        let (n, block) = (self.basis.nrows(), self.factors.nrows());
        let [mut v, mut y] = [(); 2].map(|()| Mat::zeros(n - 1, block));
        let mut z = Mat::zeros(block, q.ncols());
        let par = parallelism(n);
        let cuts = column_cuts(q.ncols(), par);
        for first in (0..n - 1).step_by(block).rev() {
            let (rows, size) = (n - 1 - first, block.min(n - 1 - first));
            let mut v = v.as_mut().submatrix_mut(0, 0, rows, size);
            for k in 0..size {
                let to = column_mut(v.as_mut(), k);
                to[..k].fill(0.0);
                to[k] = 1.0;
                to[k + 1..].copy_from_slice(&column(self.basis.as_ref(), first + k)[first + k + 2..]);
            }
            let inverse = inverse_of_upper(self.factors.as_ref().submatrix(0, first, size, size));
            let mut y = y.as_mut().submatrix_mut(0, 0, rows, size);
            matmul(y.as_mut(), Accum::Replace, v.as_ref(), inverse.as_ref(), 1.0, Par::Seq);
            let (v, y) = (v.as_ref(), y.as_ref());
            let q = cut_columns(q.as_mut().subrows_mut(first + 1, rows), &cuts).into_iter();
            let z = cut_columns(z.as_mut().subrows_mut(0, size), &cuts).into_iter();
            let mut pieces: Vec<_> = q.map(|(_, q)| q).zip(z.map(|(_, z)| z)).collect();
            each(par, &mut pieces, &|(q, z)| {
                matmul(z.as_mut(), Accum::Replace, v.transpose(), q.as_ref(), 1.0, Par::Seq);
                matmul(q.as_mut(), Accum::Add, y, z.as_ref(), -1.0, Par::Seq);
            });
        }
    }
}

/// The inverse of an upper triangular matrix.
fn inverse_of_upper(t: MatRef<'_, f64>) -> Mat<f64> {
    let mut inverse = Mat::<f64>::identity(t.nrows(), t.nrows());
    for j in 0..t.nrows() {
        let x = &mut column_mut(inverse.as_mut(), j)[..=j];
        for k in (0..=j).rev() {
            let (above, x_k) = x[..=k].split_at_mut(k);
            x_k[0] /= t[(k, k)];
            above.iter_mut().zip(column(t, k)).for_each(|(x, t)| *x -= x_k[0] * t);
        }
    }
    inverse
}

/// The vectors of a rank-2k update, interleaved: `v₀ w₀ v₁ w₁ …` and `w₀ v₀ w₁ v₁ …`.
struct Interleaved<'a> {
    vw: MatMut<'a, f64>,
    wv: MatMut<'a, f64>,
}

/// Reduces the first columns of `a`, one for each column of `factors`, then applies the rank-2k update to the rest.
fn panel(mut a: MatMut<'_, f64>, mut factors: MatMut<'_, f64>, scratch: Interleaved<'_>, par: Par) {
    let (n, size) = (a.nrows(), factors.ncols());
    let Interleaved { mut vw, mut wv } = scratch;
    let mut images = vec![0.0; reduction_pieces(n) * n];
    let mut along = vec![0.0; 2 * size];
    // Products with a panel are parallel where they are long.
    let long = if n < PARALLEL_FROM { Par::Seq } else { par };
    for k in 0..size {
        // Column k, updated by the reflectors before it.
        let (left, right) = a.as_mut().split_at_col_mut(k + 1);
        let now = &mut column_mut(left, k)[k..];
        let along = &mut along[..2 * k];
        along.iter_mut().zip(wv.as_ref().row(k).iter()).for_each(|(to, x)| *to = *x);
        subtract(now, vw.as_ref().get(k.., ..2 * k), along, long);
        let (head, tail) = now[1..].split_first_mut().expect("a panel ends before the matrix");
        let tau = unblocked::make_reflector(head, tail);
        factors[(k, k)] = tau;
        for (pairs, j) in [(&mut vw, 2 * k), (&mut wv, 2 * k + 1)] {
            let v = &mut column_mut(pairs.as_mut(), j)[k + 1..];
            v[0] = 1.0;
            v[1..].copy_from_slice(tail);
        }
        // w = p − ½(pᵀv/τ)·v with p = (A − VWᵀ − WVᵀ)·v/τ
        let v = &column(wv.as_ref(), 2 * k + 1)[k + 1..];
        let image = symv(right.as_ref().subrows(k + 1, n - k - 1), v, &mut images, par);
        transposed_gemv(wv.as_ref().get(k + 1.., ..2 * k), v, along, long);
        subtract(image, vw.as_ref().get(k + 1.., ..2 * k), along, long);
        let half = 0.5 * sum_by_lanes(image, v, |x, y| x * y) / tau / tau;
        image.iter_mut().zip(v).for_each(|(p, v)| *p = *p / tau - half * v);
        for (pairs, j) in [(&mut vw, 2 * k + 1), (&mut wv, 2 * k)] {
            column_mut(pairs.as_mut(), j)[k + 1..].copy_from_slice(image);
        }
    }
    upgrade_householder_factor(factors.as_mut(), a.as_ref().submatrix(1, 0, n - 1, size), size, 1, par);
    triangular_matmul(
        a.submatrix_mut(size, size, n - size, n - size),
        BlockStructure::TriangularLower,
        Accum::Add,
        vw.as_ref().subrows(size, n - size),
        BlockStructure::Rectangular,
        wv.as_ref().subrows(size, n - size).transpose(),
        BlockStructure::Rectangular,
        -1.0,
        par,
    );
}

/// GEMV `y ← y − M·x`, pieces of y in parallel.
fn subtract(y: &mut [f64], m: MatRef<'_, f64>, x: &[f64], par: Par) {
    each(par, &mut runs(y), &|(first, y)| subtract_product(y, m.subrows(*first, y.len()), x));
}

/// Transposed GEMV `y ← Mᵀ·x`, pieces of y in parallel.
fn transposed_gemv(m: MatRef<'_, f64>, x: &[f64], y: &mut [f64], par: Par) {
    each(par, &mut runs(y), &|(first, y)| transposed_product(m.subcols(*first, y.len()), x, y));
}

/// A vector in two halves, or in runs of 256 where it is longer, each with its first index.
fn runs(y: &mut [f64]) -> Vec<(usize, &mut [f64])> {
    let length = y.len().div_ceil(reduction_pieces(y.len())).max(1);
    (0..).step_by(length).zip(y.chunks_mut(length)).collect()
}

/// SYMV `Ax` from the lower triangle of a symmetric matrix, every entry read once; the result is the first part of `scratch`.
fn symv<'r>(a: MatRef<'_, f64>, x: &[f64], scratch: &'r mut [f64], par: Par) -> &'r mut [f64] {
    let (n, count) = (x.len(), reduction_pieces(x.len()));
    let scratch = &mut scratch[..count * n];
    scratch.fill(0.0);
    let cuts = triangle_cuts(n, COLUMNS, count);
    let firsts = std::iter::once(0).chain(cuts.iter().copied());
    let ranges = firsts.zip(cuts.iter().copied().chain([n]));
    let mut pieces: Vec<_> = ranges.zip(scratch.chunks_mut(n)).collect();
    each(par, &mut pieces, &|((first, end), y)| {
        Arch::new().dispatch(Symv { a, x, y, first: *first, end: *end });
    });
    let (y, partial) = scratch.split_at_mut(n);
    for (&cut, part) in cuts.iter().zip(partial.chunks(n)) {
        y[cut..].iter_mut().zip(&part[cut..]).for_each(|(y, z)| *y += z);
    }
    y
}

/// Columns of the SYMV micro-kernel.
const COLUMNS: usize = 4;

/// The contribution of the columns `first..end`, and of the rows that mirror them.
struct Symv<'a> {
    a: MatRef<'a, f64>,
    x: &'a [f64],
    y: &'a mut [f64],
    first: usize,
    end: usize,
}

impl WithSimd for Symv<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, x, y, first, end } = self;
        for j in (first..end).step_by(COLUMNS) {
            let columns = COLUMNS.min(end - j);
            // The triangle on the diagonal, and the whole of the last few columns.
            let below = if columns == COLUMNS { j + COLUMNS } else { x.len() };
            for c in j..j + columns {
                let column = column(a, c);
                y[c] += column[c] * x[c];
                for i in c + 1..below {
                    y[i] += column[i] * x[c];
                    y[c] += column[i] * x[i];
                }
            }
            if columns < COLUMNS {
                return;
            }
            let columns = [0, 1, 2, 3].map(|c| &column(a, j + c)[below..]);
            let (head, tail) = y.split_at_mut(below);
            let factors: &[f64; COLUMNS] = x[j..].first_chunk().expect("four columns");
            let sums = with_lanes!(S, four_columns(simd, columns, factors, &x[below..], tail));
            head[j..].iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
        }
    }
}

/// Adds `Σ_c factor_c·column_c` to y, and returns the dot products of the columns with x.
#[inline(always)]
fn four_columns<S: Simd, const R: usize>(
    simd: S,
    columns: [&[f64]; COLUMNS],
    factors: &[f64; COLUMNS],
    x: &[f64],
    y: &mut [f64],
) -> [f64; COLUMNS] {
    let (mut splats, mut sums) = ([simd.splat_f64s(0.0); COLUMNS], [[simd.splat_f64s(0.0); R]; COLUMNS]);
    let ((xs, x_rest), (ys, y_rest)) = (as_lanes::<S, R>(x), as_lanes_mut::<S, R>(y));
    let mut entries: [Lanes<'_, S::f64s, R>; COLUMNS] = [(&[], &[]); COLUMNS];
    for c in 0..COLUMNS {
        splats[c] = simd.splat_f64s(factors[c]);
        entries[c] = as_lanes::<S, R>(columns[c]);
        entries[c].0 = &entries[c].0[..xs.len()];
    }
    for (i, (x, y)) in xs.iter().zip(ys).enumerate() {
        for r in 0..R {
            let one = simd.mul_add_e_f64s(entries[0].0[i][r], splats[0], y[r]);
            let two = simd.mul_f64s(entries[2].0[i][r], splats[2]);
            let one = simd.mul_add_e_f64s(entries[1].0[i][r], splats[1], one);
            let two = simd.mul_add_e_f64s(entries[3].0[i][r], splats[3], two);
            y[r] = simd.add_f64s(one, two);
            for c in 0..COLUMNS {
                sums[c][r] = simd.mul_add_e_f64s(entries[c].0[i][r], x[r], sums[c][r]);
            }
        }
    }
    let mut totals = [0.0; COLUMNS];
    for c in 0..COLUMNS {
        totals[c] = sum_lanes(simd, sums[c]);
        for ((entry, x), y) in entries[c].1.iter().zip(x_rest).zip(&mut *y_rest) {
            *y += entry * factors[c];
            totals[c] += entry * x;
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_symmetric_product_reads_the_lower_triangle_only() {
        let mut random = Random::new(3, 0);
        for n in [1, 2, 5, 8, 13, 40, 99] {
            let a = Mat::from_fn(n, n, |i, j| if i >= j { random.uniform() - 0.5 } else { f64::NAN });
            let x: Vec<f64> = (0..n).map(|_| random.uniform() - 0.5).collect();
            let entry = |i: usize, j: usize| if i >= j { a[(i, j)] } else { a[(j, i)] };
            let mut scratch = vec![0.0; 2 * n];
            let y = symv(a.as_ref(), &x, &mut scratch, Par::Seq);
            for (i, y) in y.iter().enumerate() {
                let plain: f64 = (0..n).map(|j| entry(i, j) * x[j]).sum();
                assert!((y - plain).abs() < 1e-13, "{n}, row {i}: {y} {plain}");
            }
        }
    }

    #[test]
    fn reflectors_and_the_tridiagonal_matrix_reproduce_the_matrix() {
        let mut random = Random::new(4, 0);
        // The last with panels.
        for n in [2, 3, 4, 5, 8, 33, 66, 97, 503, CACHED + 2 * PANEL + 7] {
            let half = Mat::from_fn(n, n, |_, _| random.uniform() - 0.5);
            let whole = &half + half.transpose();
            let lower = Mat::from_fn(n, n, |i, j| if i < j { f64::NAN } else { whole[(i, j)] });
            let (d, e, reflectors) = reduce(lower, parallelism(n));
            let mut h = Mat::<f64>::identity(n, n);
            reflectors.apply(h.as_mut());
            let t = Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
                0 => d[i],
                1 => e[i.min(j)],
                _ => 0.0,
            });
            let off = (&h * &t * h.transpose() - &whole).norm_max();
            assert!(off < 1e-12, "{n}: {off:e}");
            assert!((h.transpose() * &h - Mat::<f64>::identity(n, n)).norm_max() < 1e-13, "{n}");
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let mut random = Random::new(9, 0);
        for n in [505, CACHED + PANEL] {
            let a = Mat::from_fn(n, n, |_, _| random.uniform() - 0.5);
            let of = |par: Par| {
                let (d, e, reflectors) = reduce(a.clone(), par);
                (d, e, reflectors.basis)
            };
            assert_eq!(of(Par::Seq), of(Par::rayon(16)));
        }
    }

    #[test]
    fn a_matrix_that_is_tridiagonal_or_zero_stays_as_it_is() {
        for scale in [0.0, 1.0] {
            let a = Mat::from_fn(40, 40, |i, j| if i.abs_diff(j) < 2 { scale * (i + j) as f64 } else { 0.0 });
            let (d, e, _) = reduce(a.clone(), Par::Seq);
            assert!((0..40).all(|i| d[i] == a[(i, i)]));
            assert!((1..40).all(|i| e[i - 1].abs() == a[(i, i - 1)]));
        }
    }
}
