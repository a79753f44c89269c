//! Matrix-vector products (GEMV), four columns at a time: each load of the vector serves all four.
//!
//! Registers are explicit (pulp's `Simd`), outside closures: auto-vectorised, the compiler sums across columns, with more
//! shuffles than additions.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::simd::{LANES, Lanes, as_lanes, sum_lanes};
use crate::view::column;
use faer::MatRef;
use pulp::{Arch, Simd, WithSimd};

/// Columns of a micro-kernel (`GotoBLAS`'s NR).
const NR: usize = 4;

/// `M·diag(w)·Mᵀ·x` for `K` vectors x, each with its own weights w, reading each column k of `M` once, from row `from(k)` on.
/// Entries of `M` above row `from(k)` in the columns from k on must be 0, as in a lower triangle with `from(k) = k`.
pub fn outer_times<const K: usize>(
    m: MatRef<'_, f64>,
    from: impl Fn(usize) -> usize,
    weights: impl Fn(usize) -> [f64; K],
    x: [&[f64]; K],
) -> [Vec<f64>; K] {
    Arch::new().dispatch(OuterTimes { m, from, weights, x })
}

struct OuterTimes<'a, F, W, const K: usize> {
    m: MatRef<'a, f64>,
    from: F,
    weights: W,
    x: [&'a [f64]; K],
}

impl<F: Fn(usize) -> usize, W: Fn(usize) -> [f64; K], const K: usize> WithSimd for OuterTimes<'_, F, W, K> {
    type Output = [Vec<f64>; K];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [Vec<f64>; K] {
        let mut y = [(); K].map(|()| vec![0.0; self.m.nrows()]);
        let blocks = self.m.ncols() / NR * NR;
        for k in (0..blocks).step_by(NR) {
            self.add_to::<S, NR>(simd, &mut y, k);
        }
        for k in blocks..self.m.ncols() {
            self.add_to::<S, 1>(simd, &mut y, k);
        }
        y
    }
}

impl<F: Fn(usize) -> usize, W: Fn(usize) -> [f64; K], const K: usize> OuterTimes<'_, F, W, K> {
    /// Adds the contribution of the columns `k..k + N`.
    #[inline(always)]
    fn add_to<S: Simd, const N: usize>(&self, simd: S, y: &mut [Vec<f64>; K], k: usize) {
        let from = (self.from)(k);
        let columns = columns_from::<N>(self.m, k, from);
        // Vector after vector: the columns are in L1 after the first.
        for (v, y) in y.iter_mut().enumerate() {
            let mut along = dots(simd, columns, &self.x[v][from..]);
            for (k, along) in (k..).zip(&mut along) {
                *along *= (self.weights)(k)[v];
            }
            add(simd, &mut y[from..], columns, along);
        }
    }
}

/// The columns `k..k + N`, from a row on.
#[inline(always)]
fn columns_from<const N: usize>(m: MatRef<'_, f64>, k: usize, from: usize) -> [&[f64]; N] {
    let mut columns: [&[f64]; N] = [&[]; N];
    for (k, to) in (k..).zip(&mut columns) {
        *to = &column(m, k)[from..];
    }
    columns
}

/// `y += Σ_c x_c·column_c`
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, y: &mut [f64], columns: [&[f64]; N], x: [f64; N]) {
    let (whole, n) = (y.len() / LANES * LANES, y.len());
    let (ys, y_rest) = y.split_at_mut(whole);
    let ys = S::as_mut_simd_f64s(ys).0;
    let mut parts: [(&[S::f64s], &[f64]); N] = [(&[], &[]); N];
    let mut factors = [simd.splat_f64s(0.0); N];
    for c in 0..N {
        parts[c] = (&S::as_simd_f64s(&columns[c][..whole]).0[..ys.len()], &columns[c][whole..n]);
        factors[c] = simd.splat_f64s(x[c]);
    }
    for (i, y) in ys.iter_mut().enumerate() {
        let mut sum = *y;
        for c in 0..N {
            sum = simd.mul_add_e_f64s(parts[c].0[i], factors[c], sum);
        }
        *y = sum;
    }
    for (i, y) in y_rest.iter_mut().enumerate() {
        for c in 0..N {
            *y += parts[c].1[i] * x[c];
        }
    }
}

/// The dot products of `N` columns with x, each in eight lanes.
#[inline(always)]
fn dots<S: Simd, const N: usize>(simd: S, columns: [&[f64]; N], x: &[f64]) -> [f64; N] {
    match LANES / S::F64_LANES {
        1 => dots_by::<S, 1, N>(simd, columns, x),
        2 => dots_by::<S, 2, N>(simd, columns, x),
        4 => dots_by::<S, 4, N>(simd, columns, x),
        _ => dots_by::<S, 8, N>(simd, columns, x),
    }
}

/// [`dots`] with `R` registers for the eight lanes.
#[inline(always)]
fn dots_by<S: Simd, const R: usize, const N: usize>(simd: S, columns: [&[f64]; N], x: &[f64]) -> [f64; N] {
    let (xs, x_rest) = as_lanes::<S, R>(x);
    let mut parts: [Lanes<'_, S::f64s, R>; N] = [(&[], &[]); N];
    for c in 0..N {
        parts[c] = as_lanes::<S, R>(&columns[c][..x.len()]);
        parts[c].0 = &parts[c].0[..xs.len()];
    }
    let mut sums = [[simd.splat_f64s(0.0); R]; N];
    for (i, x) in xs.iter().enumerate() {
        for c in 0..N {
            for r in 0..R {
                sums[c][r] = simd.mul_add_e_f64s(parts[c].0[i][r], x[r], sums[c][r]);
            }
        }
    }
    let mut totals = [0f64; N];
    for c in 0..N {
        totals[c] = sum_lanes(simd, sums[c]);
        for (entry, x) in parts[c].1.iter().zip(x_rest) {
            totals[c] += entry * x;
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use faer::Mat;
    use pulp::Scalar;

    #[test]
    fn every_build_computes_the_plain_products() {
        let mut random = Random::new(5, 0);
        for (rows, columns) in [(1, 1), (3, 2), (8, 4), (19, 7), (40, 12), (5, 0)] {
            let m = Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5);
            let mut numbers = |n: usize| -> Vec<f64> { (0..n).map(|_| random.uniform() - 0.5).collect() };
            let (y, weights) = (numbers(rows), numbers(columns));
            let times = |x: &[f64], i: usize| (0..columns).map(|k| m[(i, k)] * x[k]).sum::<f64>();
            let along = |k: usize| (0..rows).map(|i| m[(i, k)] * y[i]).sum::<f64>();
            let close = |what: &str, seen: &[f64], plain: &dyn Fn(usize) -> f64| {
                for (i, seen) in seen.iter().enumerate() {
                    assert!((seen - plain(i)).abs() < 1e-14, "{what} of {rows} × {columns}, {i}: {seen}");
                }
            };
            let weighted: Vec<f64> = (0..columns).map(|k| weights[k] * along(k)).collect();
            let outer = OuterTimes { m: m.as_ref(), from: |_| 0, weights: |k| [weights[k]], x: [&y] };
            close("portable outer product", &outer.with_simd(Scalar::new())[0], &|i| times(&weighted, i));
            let [outer, half] = outer_times(m.as_ref(), |_| 0, |k| [weights[k], 0.5 * weights[k]], [&y, &y]);
            close("outer product", &outer, &|i| times(&weighted, i));
            close("second outer product", &half, &|i| 0.5 * times(&weighted, i));
        }
    }

    #[test]
    fn a_lower_triangle_is_read_from_its_diagonal_on() {
        let mut random = Random::new(6, 0);
        let l = Mat::from_fn(11, 11, |i, j| if i < j { 0.0 } else { random.uniform() });
        let x: Vec<f64> = (0..11).map(|_| random.uniform()).collect();
        let (all, below) = (
            outer_times(l.as_ref(), |_| 0, |_| [1.0], [&x]),
            outer_times(l.as_ref(), |k| k, |_| [1.0], [&x]),
        );
        assert!(all[0].iter().zip(&below[0]).all(|(a, b)| (a - b).abs() < 1e-14));
    }
}
