//! Narrow rows: the symmetric product of blocks that are stored row by row.
//!
//! A general matrix product spends much of its time on packing and on the edges of its tiles when there are few
//! features. Here tiles of the lower triangle stay in registers while all rows of the block pass by, as they lie: up to 24
//! features by 8 with AVX-512, in registers that are named; otherwise 8 by 6, plain Rust over arrays of fixed size, compiled a
//! second time for AVX2 and FMA. Which one runs is decided at run time.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::simd::{Widest, Work, run, run_widest};
use crate::view::column_mut;
use faer::MatMut;
use pulp::Simd;

/// Features in one vector register of the narrower builds.
const LANES: usize = 4;
/// Features in a line of the cache, and in one register of the widest build.
const LINE: usize = 8;
/// Above this, strips are faster.
const WIDEST: usize = 63;

/// Whether rows of this many features are narrow.
pub fn is(columns: usize) -> bool {
    columns <= WIDEST
}

/// The distance between rows: whole lines of the cache. What is between them and the next row is 0.
pub fn stride(columns: usize) -> usize {
    columns.next_multiple_of(LINE)
}

/// `target += rowsᵀ·rows`, lower triangle only.
pub fn add_gram(target: MatMut<'_, f64>, rows: &[f64]) {
    run_widest(Gram { target, rows });
}

/// Subtracts the weighted mean from the first `used` rows, and multiplies each by the root of its weight;
/// returns the mean.
pub fn centre(
    cells: &mut [f64],
    stride: usize,
    columns: usize,
    used: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let width = columns.next_multiple_of(LANES);
    let mut mean = run(Centre { rows: &mut cells[..used * stride], stride, width, weights });
    mean.truncate(columns);
    mean
}

struct Gram<'a> {
    target: MatMut<'a, f64>,
    rows: &'a [f64],
}

impl Work for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(mut self) {
        let width = self.target.ncols().next_multiple_of(LANES);
        for j in (0..width).step_by(2 * LANES) {
            if j + LANES == width {
                self.tile::<LANES, LANES, FUSED>(j, j);
                continue;
            }
            // From the diagonal down, six features at a time; four where six would not come out even.
            let mut i = j;
            while i < width {
                if matches!(width - i, 4 | 8) {
                    self.tile::<4, { 2 * LANES }, FUSED>(i, j);
                    i += 4;
                } else {
                    self.tile::<6, { 2 * LANES }, FUSED>(i, j);
                    i += 6;
                }
            }
        }
    }
}

impl Gram<'_> {
    /// Features `i..i + M` times features `j..j + N`: M·N sums in registers.
    #[inline(always)]
    fn tile<const M: usize, const N: usize, const FUSED: bool>(&mut self, i: usize, j: usize) {
        let mut sums = [[0f64; N]; M];
        for row in self.rows.chunks_exact(stride(self.target.ncols())) {
            let (x, y): (&[f64; M], &[f64; N]) = (first_of(&row[i..]), first_of(&row[j..]));
            for (sums, x) in sums.iter_mut().zip(x) {
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = if FUSED { x.mul_add(*y, *sum) } else { *sum + x * y };
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

/// Columns by eights, and those before them that are left: so the rows from an eight's diagonal down are a whole number
/// of registers, of which three are taken at a time.
impl Widest for Gram<'_> {
    #[inline(always)]
    fn call_widest<S: Simd>(mut self, simd: S) {
        let n = self.target.ncols();
        let left = n % LINE;
        match left {
            0 => {}
            1 => self.down::<S, 1>(simd, 0),
            2 => self.down::<S, 2>(simd, 0),
            3 => self.down::<S, 3>(simd, 0),
            4 => self.down::<S, 4>(simd, 0),
            5 => self.down::<S, 5>(simd, 0),
            6 => self.down::<S, 6>(simd, 0),
            _ => self.down::<S, 7>(simd, 0),
        }
        for j in (left..n).step_by(LINE) {
            self.down::<S, LINE>(simd, j);
        }
    }
}

impl Gram<'_> {
    /// The columns `j..j + BROAD`, from the diagonal down.
    #[inline(always)]
    fn down<S: Simd, const BROAD: usize>(&mut self, simd: S, j: usize) {
        let n = self.target.ncols();
        for i in (j..n).step_by(3 * LINE) {
            match (n - i).div_ceil(LINE) {
                1 => self.tall_tile::<S, 1, BROAD>(simd, [i, j]),
                2 => self.tall_tile::<S, 2, BROAD>(simd, [i, j]),
                _ => self.tall_tile::<S, 3, BROAD>(simd, [i, j]),
            }
        }
    }

    /// `TALL` registers of features from `i` on, times features `j..j + BROAD`.
    #[inline(always)]
    fn tall_tile<S: Simd, const TALL: usize, const BROAD: usize>(&mut self, simd: S, [i, j]: [usize; 2]) {
        let n = self.target.ncols();
        let mut sums = [[simd.splat_f64s(0.0); TALL]; BROAD];
        for row in self.rows.chunks_exact(stride(n)) {
            let x: &[S::f64s; TALL] =
                S::as_simd_f64s(&row[i..]).0.first_chunk().expect("a row is whole lines long");
            let y: &[f64; BROAD] = first_of(&row[j..]);
            for c in 0..BROAD {
                let y = simd.splat_f64s(y[c]);
                for k in 0..TALL {
                    sums[c][k] = simd.mul_add_f64s(x[k], y, sums[c][k]);
                }
            }
        }
        for (j, sums) in (j..).zip(&sums) {
            let mut tile = [[0f64; LINE]; TALL];
            for k in 0..TALL {
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

impl Work for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<f64> {
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

/// Centres columns `j..j + N`, summed in registers.
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
        for (n, rows) in (1..=WIDEST).map(|n| (n, 1 + 7 * n % 13)) {
            let plain = Mat::from_fn(rows, n, |_, _| random.uniform() - 0.5);
            let mut cells = vec![0.0; rows * stride(n)];
            for (i, j) in (0..rows).flat_map(|i| (0..n).map(move |j| (i, j))) {
                cells[i * stride(n) + j] = plain[(i, j)];
            }
            let expected = 3.0 * plain.transpose() * &plain;
            let mut target = Mat::from_fn(n, n, |i, j| if i < j { f64::NAN } else { 0.0 });
            add_gram(target.as_mut(), &cells);
            run(Gram { target: target.as_mut(), rows: &cells });
            Gram { target: target.as_mut(), rows: &cells }.call::<false>();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let error = (target[(i, j)] - expected[(i, j)]).abs();
                assert!(if i < j { error.is_nan() } else { error < 1e-14 }, "{n}: {i}, {j}: {error}");
            }
        }
    }
}
