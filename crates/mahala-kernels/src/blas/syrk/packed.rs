//! Wide rows: the symmetric product of blocks that are stored in strips.
//!
//! A strip holds eight features of all rows of a block, row after row: a line of the cache for each row. So rows come in
//! as they lie, a line at a time, and the product needs no order but this one: tiles of the lower triangle stay in registers
//! while the rows of the block pass by. With AVX-512 they are 24 features (three strips) by 8 (one), in 24 of 32 registers that
//! are named, for the compiler does not find them; otherwise 8 by 6, plain Rust over arrays of fixed size, compiled a second
//! time for AVX2 and FMA. Which one runs is decided at run time; fused, both sum the same products in the same order.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::parallel::{both, triangle_cut};
use crate::prefetch::prefetch;
use crate::simd::{Widest, Work, run, run_widest};
use crate::view::{column, column_mut};
use faer::{MatMut, Par};
use pulp::Simd;

/// Features of a strip: a line of the cache.
pub const LANES: usize = 8;
/// Columns of a tile of the target in the narrower builds.
const BROAD: usize = 6;
/// Columns after which tiles and strips come out even.
const EVEN: usize = 3 * LANES;
/// Columns of the target that are finished together: their strips, 400 kB, stay in the second cache.
const GROUP: usize = 4 * EVEN;

/// The eight features of one row after the other.
type Strip = [[f64; LANES]];

/// The distance between strips with room for so many rows: an odd number of lines of the cache, so that strips do not share
/// their place in it.
pub fn stride(rows: usize) -> usize {
    LANES * (rows | 1)
}

/// Strips of so many features; numbers beyond the last feature have to be 0.
pub fn count(columns: usize) -> usize {
    columns.next_multiple_of(EVEN) / LANES
}

/// `target += rowsᵀ·rows`, lower triangle only.
pub fn add_gram(target: MatMut<'_, f64>, cells: &[f64], stride: usize, rows: usize, par: Par) {
    let cut = triangle_cut(target.ncols(), EVEN);
    let (left, right) = target.split_at_col_mut(cut);
    let part = |target, first| run_widest(Gram { target, first, cells, stride, rows });
    both(par, || part(left, 0), || part(right, cut));
}

/// Subtracts the weighted mean from the rows, and multiplies each by the root of its weight; returns the mean.
/// Sums are taken around the first row, so that constant features become exactly 0.
pub fn centre(
    cells: &mut [f64],
    stride: usize,
    columns: usize,
    rows: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let cells = &mut cells[..columns.div_ceil(LANES) * stride];
    let mut mean = run(Centre { cells, stride, rows, weights });
    mean.truncate(columns);
    mean
}

/// Columns of the target from the first on, so many as it has.
struct Gram<'a> {
    target: MatMut<'a, f64>,
    first: usize,
    cells: &'a [f64],
    stride: usize,
    rows: usize,
}

impl<'a> Gram<'a> {
    /// The strip that begins with this feature.
    #[inline(always)]
    fn strip(&self, j: usize) -> &'a Strip {
        self.cells[j / LANES * self.stride..][..self.rows * LANES].as_chunks().0
    }
}

/// Tiles of 8 by 6: with registers of four numbers, twelve of sixteen hold sums.
impl Work for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(mut self) {
        let (n, first) = (self.target.nrows(), self.first);
        let end = first + self.target.ncols();
        for left in (first..end).step_by(GROUP) {
            for i in (left..n).step_by(LANES) {
                let x = self.strip(i);
                let below = i + LANES;
                for j in (left..end.min(left + GROUP).min(below)).step_by(EVEN) {
                    let y = [self.strip(j), self.strip(j + LANES), self.strip(j + 2 * LANES)];
                    self.add_tile([i, j], &products::<FUSED, 0>(x, [y[0], y[1]]));
                    if j + BROAD < below {
                        self.add_tile([i, j + BROAD], &products::<FUSED, 6>(x, [y[0], y[1]]));
                    }
                    if j + 2 * BROAD < below {
                        self.add_tile([i, j + 2 * BROAD], &products::<FUSED, 4>(x, [y[1], y[2]]));
                    }
                    if j + 3 * BROAD < below {
                        self.add_tile([i, j + 3 * BROAD], &products::<FUSED, 10>(x, [y[1], y[2]]));
                    }
                }
            }
        }
    }
}

/// Tiles of 24 by 8: with registers of eight numbers, 24 of 32 hold sums.
impl Widest for Gram<'_> {
    #[inline(always)]
    fn call_widest<S: Simd>(mut self, simd: S) {
        let (n, first) = (self.target.nrows(), self.first);
        let end = first + self.target.ncols();
        for left in (first..end).step_by(GROUP) {
            for i in (left..n).step_by(EVEN) {
                for j in (left..end.min(left + GROUP).min(i + EVEN)).step_by(LANES) {
                    let (top, y) = (i.max(j), self.strip(j));
                    match n.min(i + EVEN).div_ceil(LANES) - top / LANES {
                        1 => self.tall_tile::<S, 1>(simd, top, j, y),
                        2 => self.tall_tile::<S, 2>(simd, top, j, y),
                        _ => self.tall_tile::<S, 3>(simd, top, j, y),
                    }
                }
            }
        }
    }
}

impl Gram<'_> {
    /// Strips from feature `i` on, `TALL` of them, times the strip `y` of feature `j`.
    #[inline(always)]
    fn tall_tile<S: Simd, const TALL: usize>(&mut self, simd: S, i: usize, j: usize, y: &Strip) {
        let mut x: [&[S::f64s]; TALL] = [&[]; TALL];
        for (k, x) in x.iter_mut().enumerate() {
            *x = &S::as_simd_f64s(self.strip(i + k * LANES).as_flattened()).0[..y.len()];
        }
        // The place of the sums, which is far away in a large target.
        for j in j - self.first..(j - self.first + LANES).min(self.target.ncols()) {
            let to = column(self.target.as_ref(), j);
            for k in 0..TALL {
                prefetch(to, i + k * LANES);
            }
        }
        let mut sums = [[simd.splat_f64s(0.0); TALL]; LANES];
        for (r, y) in y.iter().enumerate() {
            for c in 0..LANES {
                let y = simd.splat_f64s(y[c]);
                for k in 0..TALL {
                    sums[c][k] = simd.mul_add_f64s(x[k][r], y, sums[c][k]);
                }
            }
        }
        for (k, i) in (i..).step_by(LANES).take(TALL).enumerate() {
            let mut tile = [[0f64; LANES]; LANES];
            for c in 0..LANES {
                S::as_mut_simd_f64s(&mut tile[c]).0[0] = sums[c][k];
            }
            self.add_tile([i, j], &tile);
        }
    }

    /// Adds a tile whose corner is at row `i` and column `j` of the whole.
    #[inline(always)]
    fn add_tile<const BROAD: usize>(&mut self, [i, j]: [usize; 2], sums: &[[f64; LANES]; BROAD]) {
        let first = self.first;
        let target = &mut self.target;
        if j + BROAD > i + 1 || i + LANES > target.nrows() {
            // A copy, or the sums would leave the registers everywhere.
            let copy = *sums;
            return add_part(target.as_mut(), first, [i, j], &copy);
        }
        for (j, sums) in (j - first..).zip(sums) {
            let to: &mut [f64; LANES] =
                column_mut(target.as_mut(), j)[i..].first_chunk_mut().expect("a whole tile");
            for l in 0..LANES {
                to[l] += sums[l];
            }
        }
    }
}

/// The products of 8 features with 6 of the 16 others, summed over the rows: those from number `SKIP` on.
#[inline(always)]
fn products<const FUSED: bool, const SKIP: usize>(x: &Strip, y: [&Strip; 2]) -> [[f64; LANES]; BROAD] {
    let mut sums = [[0f64; LANES]; BROAD];
    for ((x, y0), y1) in x.iter().zip(y[0]).zip(y[1]) {
        for (c, sums) in sums.iter_mut().enumerate() {
            let y = if SKIP + c < LANES { y0[SKIP + c] } else { y1[SKIP + c - LANES] };
            for l in 0..LANES {
                sums[l] = if FUSED { y.mul_add(x[l], sums[l]) } else { sums[l] + y * x[l] };
            }
        }
    }
    sums
}

/// The same for what of a tile is in the lower triangle.
#[inline(never)]
fn add_part(mut target: MatMut<'_, f64>, first: usize, [i, j]: [usize; 2], sums: &[[f64; LANES]]) {
    for (j, sums) in (j..first + target.ncols()).zip(sums) {
        // From the diagonal on.
        let above = j.saturating_sub(i);
        let to = &mut column_mut(target.as_mut(), j - first)[i + above..];
        to.iter_mut().zip(&sums[above.min(LANES)..]).for_each(|(to, sum)| *to += sum);
    }
}

struct Centre<'a> {
    cells: &'a mut [f64],
    stride: usize,
    rows: usize,
    weights: Option<(&'a [f64], &'a [f64])>,
}

impl Work for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<f64> {
        let total = self.weights.map_or(self.rows as f64, |(weights, _)| weights.iter().sum());
        let mut means = Vec::with_capacity(self.cells.len() / self.stride * LANES);
        for strip in self.cells.chunks_exact_mut(self.stride) {
            let strip = strip[..self.rows * LANES].as_chunks_mut::<LANES>().0;
            let mut mean = sums_around_first(strip, self.weights.map(|(weights, _)| weights));
            for l in 0..LANES {
                mean[l] = strip[0][l] + mean[l] / total;
            }
            match self.weights {
                None => {
                    for x in strip {
                        for l in 0..LANES {
                            x[l] -= mean[l];
                        }
                    }
                }
                Some((_, roots)) => {
                    for (x, root) in strip.iter_mut().zip(roots) {
                        for l in 0..LANES {
                            x[l] = root * (x[l] - mean[l]);
                        }
                    }
                }
            }
            means.extend(mean);
        }
        means
    }
}

/// `Σ w·(x − x₀)` by eight partial sums, which need not wait for each other.
#[inline(always)]
fn sums_around_first(strip: &Strip, weights: Option<&[f64]>) -> [f64; LANES] {
    let pivot = strip[0];
    let mut partial = [[0f64; LANES]; 8];
    for (group, rows) in strip.chunks(8).enumerate() {
        for (k, (sums, x)) in partial.iter_mut().zip(rows).enumerate() {
            let w = weights.map_or(1.0, |weights| weights[8 * group + k]);
            for l in 0..LANES {
                sums[l] += w * (x[l] - pivot[l]);
            }
        }
    }
    let mut sums = [0f64; LANES];
    for part in &partial {
        for l in 0..LANES {
            sums[l] += part[l];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blas::syrk::BLOCK;
    use crate::random::Random;
    use faer::Mat;

    /// Rows in strips, and as they are.
    fn block(rows: usize, columns: usize) -> (Vec<f64>, Mat<f64>) {
        let mut random = Random::new(columns as u64, 0);
        let plain = Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5);
        let mut cells = vec![0.0; count(columns) * stride(rows)];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            cells[j / LANES * stride(rows) + LANES * i + j % LANES] = plain[(i, j)];
        }
        (cells, plain)
    }

    #[test]
    fn every_build_adds_the_plain_product_to_the_lower_triangle_alone() {
        for (rows, n) in [(1, 1), (3, 5), (7, 24), (9, 97), (2, 128), (BLOCK + 1, 131), (4, 200), (5, 262)] {
            let (cells, plain) = block(rows, n);
            let expected = 3.0 * plain.transpose() * &plain;
            let start = |i: usize, j: usize| if i < j { f64::NAN } else { (i * n + j) as f64 };
            let mut target = Mat::from_fn(n, n, start);
            let stride = stride(rows);
            add_gram(target.as_mut(), &cells, stride, rows, Par::rayon(2));
            Gram { target: target.as_mut(), first: 0, cells: &cells, stride, rows }.call::<false>();
            run(Gram { target: target.as_mut(), first: 0, cells: &cells, stride, rows });
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let error = (target[(i, j)] - start(i, j) - expected[(i, j)]).abs();
                assert!(if i < j { error.is_nan() } else { error < 1e-9 }, "{n}: {i}, {j}: {error}");
            }
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let (cells, _) = block(77, 230);
        let of = |par: Par| {
            let mut target = Mat::zeros(230, 230);
            add_gram(target.as_mut(), &cells, stride(77), 77, par);
            target
        };
        assert_eq!(of(Par::Seq), of(Par::rayon(2)));
    }

    #[test]
    fn the_mean_is_taken_out_and_constant_features_are_exactly_zero() {
        let (rows, n) = (29, 11);
        let (mut cells, plain) = block(rows, n);
        let stride = stride(rows);
        (0..rows).for_each(|i| cells[stride + LANES * i] = 0.1);
        let weights: Vec<f64> = (0..rows).map(|i| 1.0 + (i % 3) as f64).collect();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        for given in [None, Some((&weights[..], &roots[..]))] {
            let weight = |i: usize| given.map_or(1.0, |(weights, _)| weights[i]);
            let mut copy = cells.clone();
            let mean = centre(&mut copy, stride, n, rows, given);
            assert_eq!(mean.len(), n);
            let total: f64 = (0..rows).map(weight).sum();
            for j in (0..n).filter(|&j| j != LANES) {
                let plain_mean = (0..rows).map(|i| weight(i) * plain[(i, j)]).sum::<f64>() / total;
                assert!((mean[j] - plain_mean).abs() < 1e-15);
                for i in 0..rows {
                    let centred = weight(i).sqrt() * (plain[(i, j)] - plain_mean);
                    assert!((copy[j / LANES * stride + LANES * i + j % LANES] - centred).abs() < 1e-14);
                }
            }
            assert_eq!(mean[LANES], 0.1);
            assert!((0..rows).all(|i| copy[stride + LANES * i] == 0.0));
        }
    }
}
