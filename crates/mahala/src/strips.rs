//! Wide rows: the symmetric product of blocks that are stored in strips.
//!
//! A strip holds four features of all rows of a block, row after row: what one register holds of a row. So rows come in
//! as they lie, a register at a time, and the product needs no order but this one: tiles of the lower triangle, 8
//! features (two strips) by 6 (a strip and a half), stay in registers while the rows of the block pass by. The loops
//! are plain Rust over arrays of fixed size, compiled a second time for AVX2 and FMA, and chosen at run time.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::gram::BLOCK;
use crate::linalg::{both, column_mut, triangle_cut};
use crate::simd::{Work, run};
use faer::{MatMut, Par};

/// Features of a strip: one vector register.
pub(crate) const LANES: usize = 4;
/// The distance between strips: room for one row more than [`BLOCK`], and an odd number of lines of the cache, so that
/// strips do not share their place in it.
pub(crate) const STRIDE: usize = LANES * (BLOCK + 2);
/// Rows of a tile of the target.
const TALL: usize = 2 * LANES;
/// Columns of a tile of the target.
const BROAD: usize = 6;
/// Columns of the target that are finished together: their strips, 400 kB, stay in the second cache.
const GROUP: usize = 8 * EVEN;
/// Columns after which tiles and strips come out even.
const EVEN: usize = 2 * BROAD;

/// The four features of one row after the other.
type Strip = [[f64; LANES]];

/// Numbers in a block of rows of so many features; those beyond the last feature have to be 0. Tiles that begin in the
/// last strip end in one more.
pub(crate) fn size(columns: usize) -> usize {
    (columns.next_multiple_of(EVEN) / LANES + 1) * STRIDE
}

/// Puts rows of a whole number of registers each into the strips, behind the `top` first ones.
pub(crate) fn put(cells: &mut [f64], top: usize, rows: &[f64], width: usize) {
    for (j, strip) in (0..width).step_by(LANES).zip(cells.chunks_exact_mut(STRIDE)) {
        let to = strip[top * LANES..].as_chunks_mut::<LANES>().0;
        for (to, row) in to.iter_mut().zip(rows.chunks_exact(width)) {
            to.copy_from_slice(&row[j..j + LANES]);
        }
    }
}

/// `target += rowsᵀ·rows`, lower triangle only.
pub(crate) fn add_gram(target: MatMut<'_, f64>, cells: &[f64], rows: usize, par: Par) {
    let cut = triangle_cut(target.ncols(), EVEN);
    let (left, right) = target.split_at_col_mut(cut);
    let part = |target, first| run(Gram { target, first, cells, rows });
    both(par, || part(left, 0), || part(right, cut));
}

/// Subtracts the weighted mean from the rows, and multiplies each by the root of its weight; returns the mean.
/// Sums are taken around the first row, so that constant features become exactly 0.
pub(crate) fn centre(
    cells: &mut [f64],
    columns: usize,
    rows: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let mut mean = run(Centre { cells: &mut cells[..columns.div_ceil(LANES) * STRIDE], rows, weights });
    mean.truncate(columns);
    mean
}

/// Columns of the target from the first on, so many as it has.
struct Gram<'a> {
    target: MatMut<'a, f64>,
    first: usize,
    cells: &'a [f64],
    rows: usize,
}

impl Work for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(mut self) {
        let (n, first) = (self.target.nrows(), self.first);
        let (cells, rows) = (self.cells, self.rows);
        let strip = |j: usize| -> &Strip { cells[j / LANES * STRIDE..][..rows * LANES].as_chunks().0 };
        let end = first + self.target.ncols();
        for left in (first..end).step_by(GROUP) {
            for i in (left..n).step_by(TALL) {
                let x = [strip(i), strip(i + LANES)];
                for j in (left..end.min(left + GROUP).min(i + TALL)).step_by(EVEN) {
                    let y = [strip(j), strip(j + LANES), strip(j + 2 * LANES)];
                    add_tile(self.target.as_mut(), first, [i, j], products::<FUSED, 0>(x, [y[0], y[1]]));
                    if j + BROAD < i + TALL {
                        let sums = products::<FUSED, { BROAD - LANES }>(x, [y[1], y[2]]);
                        add_tile(self.target.as_mut(), first, [i, j + BROAD], sums);
                    }
                }
            }
        }
    }
}

/// The products of 8 features with 6 of the 8 others, summed over the rows: those from number `SKIP` on.
#[inline(always)]
fn products<const FUSED: bool, const SKIP: usize>(x: [&Strip; 2], y: [&Strip; 2]) -> [[f64; TALL]; BROAD] {
    let mut sums = [[0f64; TALL]; BROAD];
    for (((x0, x1), y0), y1) in x[0].iter().zip(x[1]).zip(y[0]).zip(y[1]) {
        let y = [y0[0], y0[1], y0[2], y0[3], y1[0], y1[1], y1[2], y1[3]];
        for (sums, &y) in sums.iter_mut().zip(&y[SKIP..]) {
            for l in 0..LANES {
                let (low, high) = (sums[l], sums[LANES + l]);
                sums[l] = if FUSED { y.mul_add(x0[l], low) } else { low + y * x0[l] };
                sums[LANES + l] = if FUSED { y.mul_add(x1[l], high) } else { high + y * x1[l] };
            }
        }
    }
    sums
}

/// Adds a tile whose corner is at row `i` and column `j` of the whole, of which the target begins at column `first`.
#[inline(always)]
fn add_tile(mut target: MatMut<'_, f64>, first: usize, [i, j]: [usize; 2], sums: [[f64; TALL]; BROAD]) {
    if j + BROAD > i + 1 || i + TALL > target.nrows() {
        // A copy, or the sums would leave the registers everywhere.
        let copy = sums;
        return add_part(target, first, [i, j], &copy);
    }
    for (j, sums) in (j - first..).zip(&sums) {
        let to: &mut [f64; TALL] =
            column_mut(target.as_mut(), j)[i..].first_chunk_mut().expect("a whole tile");
        for l in 0..TALL {
            to[l] += sums[l];
        }
    }
}

/// The same for what of a tile is in the lower triangle.
#[inline(never)]
fn add_part(mut target: MatMut<'_, f64>, first: usize, [i, j]: [usize; 2], sums: &[[f64; TALL]; BROAD]) {
    for (j, sums) in (j..first + target.ncols()).zip(sums) {
        // From the diagonal on.
        let above = j.saturating_sub(i);
        let to = &mut column_mut(target.as_mut(), j - first)[i + above..];
        to.iter_mut().zip(&sums[above.min(TALL)..]).for_each(|(to, sum)| *to += sum);
    }
}

struct Centre<'a> {
    cells: &'a mut [f64],
    rows: usize,
    weights: Option<(&'a [f64], &'a [f64])>,
}

impl Work for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<f64> {
        let total = self.weights.map_or(self.rows as f64, |(weights, _)| weights.iter().sum());
        let mut means = Vec::with_capacity(self.cells.len() / STRIDE * LANES);
        for strip in self.cells.chunks_exact_mut(STRIDE) {
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
    use crate::random::Random;
    use faer::Mat;

    /// Rows in strips, and as they are.
    fn block(rows: usize, columns: usize) -> (Vec<f64>, Mat<f64>) {
        let mut random = Random::new(columns as u64, 0);
        let plain = Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5);
        let mut cells = vec![0.0; size(columns)];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            cells[j / LANES * STRIDE + LANES * i + j % LANES] = plain[(i, j)];
        }
        (cells, plain)
    }

    #[test]
    fn every_build_adds_the_plain_product_to_the_lower_triangle_alone() {
        for (rows, n) in [(1, 1), (3, 5), (7, 24), (9, 97), (2, 128), (BLOCK + 1, 131), (4, 200), (5, 262)] {
            let (cells, plain) = block(rows, n);
            let expected = 2.0 * plain.transpose() * &plain;
            let start = |i: usize, j: usize| if i < j { f64::NAN } else { (i * n + j) as f64 };
            let mut target = Mat::from_fn(n, n, start);
            add_gram(target.as_mut(), &cells, rows, Par::rayon(2));
            Gram { target: target.as_mut(), first: 0, cells: &cells, rows }.call::<false>();
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
            add_gram(target.as_mut(), &cells, 77, par);
            target
        };
        assert_eq!(of(Par::Seq), of(Par::rayon(2)));
    }

    #[test]
    fn the_mean_is_taken_out_and_constant_features_are_exactly_zero() {
        let (rows, n) = (29, 11);
        let (mut cells, plain) = block(rows, n);
        (0..rows).for_each(|i| cells[STRIDE + LANES * i] = 0.1);
        let weights: Vec<f64> = (0..rows).map(|i| 1.0 + (i % 3) as f64).collect();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        for given in [None, Some((&weights[..], &roots[..]))] {
            let weight = |i: usize| given.map_or(1.0, |(weights, _)| weights[i]);
            let mut copy = cells.clone();
            let mean = centre(&mut copy, n, rows, given);
            assert_eq!(mean.len(), n);
            let total: f64 = (0..rows).map(weight).sum();
            for j in (0..n).filter(|&j| j != LANES) {
                let plain_mean = (0..rows).map(|i| weight(i) * plain[(i, j)]).sum::<f64>() / total;
                assert!((mean[j] - plain_mean).abs() < 1e-15);
                for i in 0..rows {
                    let centred = weight(i).sqrt() * (plain[(i, j)] - plain_mean);
                    assert!((copy[j / LANES * STRIDE + LANES * i + j % LANES] - centred).abs() < 1e-14);
                }
            }
            assert_eq!(mean[LANES], 0.1);
            assert!((0..rows).all(|i| copy[STRIDE + LANES * i] == 0.0));
        }
    }
}
