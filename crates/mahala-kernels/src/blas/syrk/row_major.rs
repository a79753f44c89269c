//! SYRK on row-major blocks, for up to 63 columns.
//!
//! With few columns a general matrix product spends much of its time on packing and on the edges of its tiles. Here rows are
//! not packed: micro-tiles of the lower triangle stay in registers over all rows of the block, up to 24 × 8 with AVX-512, by
//! explicit SIMD; otherwise 8 × 6, plain Rust over arrays of fixed size, compiled a second time for AVX2 and FMA. The build is
//! chosen at run time.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::simd::{Avx512Kernel, Kernel, dispatch, dispatch_avx512};
use crate::view::column_mut;
use faer::MatMut;
use pulp::Simd;

/// Doubles in one AVX2 register.
const LANES: usize = 4;
/// Doubles in a cache line, and in one AVX-512 register.
const CACHE_LINE: usize = 8;
/// The largest number of columns: above it packed panels are faster.
const MAX_COLUMNS: usize = 63;

/// Whether blocks of this many columns have the row-major layout.
pub fn applies(columns: usize) -> bool {
    columns <= MAX_COLUMNS
}

/// The distance between rows: whole cache lines, padded with zeros.
pub fn stride(columns: usize) -> usize {
    columns.next_multiple_of(CACHE_LINE)
}

/// SYRK `target += XᵀX` for row-major X, lower triangle only.
pub fn add_gram(target: MatMut<'_, f64>, rows: &[f64]) {
    dispatch_avx512(Gram { target, rows });
}

/// Centres the first `used` rows at their weighted mean and multiplies each by the square root of its weight; returns the
/// mean. `weights` are the weights and their square roots.
pub fn centre(
    cells: &mut [f64],
    stride: usize,
    columns: usize,
    used: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let width = columns.next_multiple_of(LANES);
    let mut mean = dispatch(Centre { rows: &mut cells[..used * stride], stride, width, weights });
    mean.truncate(columns);
    mean
}

struct Gram<'a> {
    target: MatMut<'a, f64>,
    rows: &'a [f64],
}

impl Kernel for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FMA: bool>(mut self) {
        let width = self.target.ncols().next_multiple_of(LANES);
        for j in (0..width).step_by(2 * LANES) {
            if j + LANES == width {
                self.microkernel::<LANES, LANES, FMA>(j, j);
                continue;
            }
            // From the diagonal down, six rows at a time; four where the rest is no multiple of six.
            let mut i = j;
            while i < width {
                if matches!(width - i, 4 | 8) {
                    self.microkernel::<4, { 2 * LANES }, FMA>(i, j);
                    i += 4;
                } else {
                    self.microkernel::<6, { 2 * LANES }, FMA>(i, j);
                    i += 6;
                }
            }
        }
    }
}

impl Gram<'_> {
    /// The AVX2 and portable micro-kernel: columns `i..i + M` times columns `j..j + N`, M·N sums in registers.
    #[inline(always)]
    fn microkernel<const M: usize, const N: usize, const FMA: bool>(&mut self, i: usize, j: usize) {
        let mut sums = [[0f64; N]; M];
        for row in self.rows.chunks_exact(stride(self.target.ncols())) {
            let (x, y): (&[f64; M], &[f64; N]) = (first_of(&row[i..]), first_of(&row[j..]));
            for (sums, x) in sums.iter_mut().zip(x) {
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = if FMA { x.mul_add(*y, *sum) } else { *sum + x * y };
                }
            }
        }
        let n = self.target.ncols();
        for (i, sums) in (i..n).zip(sums) {
            for (j, sum) in (j..=i).zip(sums) {
                self.target[(i, j)] += sum;
            }
        }
    }
}

/// The first `n mod 8` columns alone, then eight at a time: from the diagonal of each block of eight down there is a whole
/// number of registers, of which a micro-tile takes three.
impl Avx512Kernel for Gram<'_> {
    #[inline(always)]
    fn call_avx512<S: Simd>(mut self, simd: S) {
        let n = self.target.ncols();
        let left = n % CACHE_LINE;
        match left {
            0 => {}
            1 => self.update_columns::<S, 1>(simd, 0),
            2 => self.update_columns::<S, 2>(simd, 0),
            3 => self.update_columns::<S, 3>(simd, 0),
            4 => self.update_columns::<S, 4>(simd, 0),
            5 => self.update_columns::<S, 5>(simd, 0),
            6 => self.update_columns::<S, 6>(simd, 0),
            _ => self.update_columns::<S, 7>(simd, 0),
        }
        for j in (left..n).step_by(CACHE_LINE) {
            self.update_columns::<S, CACHE_LINE>(simd, j);
        }
    }
}

impl Gram<'_> {
    /// Updates the columns `j..j + NR` of the target, from the diagonal down.
    #[inline(always)]
    fn update_columns<S: Simd, const NR: usize>(&mut self, simd: S, j: usize) {
        let n = self.target.ncols();
        for i in (j..n).step_by(3 * CACHE_LINE) {
            match (n - i).div_ceil(CACHE_LINE) {
                1 => self.microkernel_avx512::<S, 1, NR>(simd, [i, j]),
                2 => self.microkernel_avx512::<S, 2, NR>(simd, [i, j]),
                _ => self.microkernel_avx512::<S, 3, NR>(simd, [i, j]),
            }
        }
    }

    /// The AVX-512 micro-kernel: `MR` registers of columns from `i` on, times columns `j..j + NR`.
    #[inline(always)]
    fn microkernel_avx512<S: Simd, const MR: usize, const NR: usize>(&mut self, simd: S, [i, j]: [usize; 2]) {
        let n = self.target.ncols();
        let mut sums = [[simd.splat_f64s(0.0); MR]; NR];
        for row in self.rows.chunks_exact(stride(n)) {
            let x: &[S::f64s; MR] =
                S::as_simd_f64s(&row[i..]).0.first_chunk().expect("a row is whole cache lines long");
            let y: &[f64; NR] = first_of(&row[j..]);
            for c in 0..NR {
                let y = simd.splat_f64s(y[c]);
                for k in 0..MR {
                    sums[c][k] = simd.mul_add_f64s(x[k], y, sums[c][k]);
                }
            }
        }
        for (j, sums) in (j..).zip(&sums) {
            let mut tile = [[0f64; CACHE_LINE]; MR];
            for k in 0..MR {
                S::as_mut_simd_f64s(&mut tile[k]).0[0] = sums[k];
            }
            let above = j.saturating_sub(i);
            let to = &mut column_mut(self.target.as_mut(), j)[i + above..];
            to.iter_mut().zip(&tile.as_flattened()[above..]).for_each(|(to, sum)| *to += sum);
        }
    }
}

#[inline(always)]
fn first_of<const N: usize>(cells: &[f64]) -> &[f64; N] {
    cells.first_chunk().expect("a row is a whole number of registers long")
}

struct Centre<'a> {
    rows: &'a mut [f64],
    stride: usize,
    width: usize,
    weights: Option<(&'a [f64], &'a [f64])>,
}

impl Kernel for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Vec<f64> {
        let Self { rows, stride, width, weights } = self;
        let mut mean = vec![0.0; width];
        for j in (0..width).step_by(4 * LANES) {
            match (width - j) / LANES {
                1 => centre_columns::<LANES>(rows, stride, j, weights, &mut mean),
                2 => centre_columns::<{ 2 * LANES }>(rows, stride, j, weights, &mut mean),
                3 => centre_columns::<{ 3 * LANES }>(rows, stride, j, weights, &mut mean),
                _ => centre_columns::<{ 4 * LANES }>(rows, stride, j, weights, &mut mean),
            }
        }
        mean
    }
}

/// Centres columns `j..j + N`; their sums stay in registers.
#[inline(always)]
fn centre_columns<const N: usize>(
    rows: &mut [f64],
    stride: usize,
    j: usize,
    weights: Option<(&[f64], &[f64])>,
    mean: &mut [f64],
) {
    let pivot: [f64; N] = *first_of(&rows[j..]);
    let mut sums = [0f64; N];
    for (i, row) in rows.chunks_exact(stride).enumerate() {
        let x: &[f64; N] = first_of(&row[j..]);
        let w = weights.map_or(1.0, |(weights, _)| weights[i]);
        for l in 0..N {
            sums[l] += w * (x[l] - pivot[l]);
        }
    }
    let total = weights.map_or((rows.len() / stride) as f64, |(weights, _)| weights.iter().sum());
    for l in 0..N {
        sums[l] = pivot[l] + sums[l] / total;
    }
    mean[j..j + N].copy_from_slice(&sums);
    for (i, row) in rows.chunks_exact_mut(stride).enumerate() {
        let root = weights.map_or(1.0, |(_, roots)| roots[i]);
        let x: &mut [f64; N] = row[j..].first_chunk_mut().expect("a row is a whole number of registers long");
        for l in 0..N {
            x[l] = root * (x[l] - sums[l]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use faer::Mat;

    #[test]
    fn every_build_adds_the_plain_product_to_the_lower_triangle_alone() {
        let mut random = Random::new(3, 0);
        for (n, rows) in (1..=MAX_COLUMNS).map(|n| (n, 1 + 7 * n % 13)) {
            let plain = Mat::from_fn(rows, n, |_, _| random.uniform() - 0.5);
            let mut cells = vec![0.0; rows * stride(n)];
            for (i, j) in (0..rows).flat_map(|i| (0..n).map(move |j| (i, j))) {
                cells[i * stride(n) + j] = plain[(i, j)];
            }
            let expected = 3.0 * plain.transpose() * &plain;
            let mut target = Mat::from_fn(n, n, |i, j| if i < j { f64::NAN } else { 0.0 });
            add_gram(target.as_mut(), &cells);
            dispatch(Gram { target: target.as_mut(), rows: &cells });
            Gram { target: target.as_mut(), rows: &cells }.call::<false>();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let error = (target[(i, j)] - expected[(i, j)]).abs();
                assert!(if i < j { error.is_nan() } else { error < 1e-14 }, "{n}: {i}, {j}: {error}");
            }
        }
    }
}
