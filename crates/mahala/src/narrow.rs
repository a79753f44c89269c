//! Narrow rows: the symmetric product of blocks that are stored row by row.
//!
//! A general matrix product spends much of its time on packing and on the edges of its tiles when there are few
//! features. Here tiles of the lower triangle, 8 features by 6, stay in registers while all rows of the block
//! pass by, as they lie. The loops are plain Rust over arrays of fixed size, compiled a second time
//! for AVX2 and FMA, and chosen at run time.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::simd::{Work, run};
use faer::MatMut;

/// Features in one vector register.
const LANES: usize = 4;
/// Above this, strips are faster.
const WIDEST: usize = 63;

/// Whether rows of this many features are narrow.
pub(crate) fn is(columns: usize) -> bool {
    columns <= WIDEST
}

/// The distance between rows: whole registers. What is between them and the next row is 0.
pub(crate) fn width(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

/// `target += rowsᵀ·rows`, lower triangle only.
pub(crate) fn add_gram(target: MatMut<'_, f64>, rows: &[f64]) {
    run(Gram { target, rows });
}

/// Subtracts the weighted mean from the first `used` rows, and multiplies each by the root of its weight;
/// returns the mean.
pub(crate) fn centre(
    cells: &mut [f64],
    columns: usize,
    used: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let width = width(columns);
    let mut mean = run(Centre { rows: &mut cells[..used * width], width, weights });
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
        let width = width(self.target.ncols());
        for j in (0..width).step_by(2 * LANES) {
            if j + LANES == width {
                self.tile::<LANES, LANES, FUSED>(width, j, j);
                continue;
            }
            // From the diagonal down, six features at a time; four where six would not come out even.
            let mut i = j;
            while i < width {
                if matches!(width - i, 4 | 8) {
                    self.tile::<4, { 2 * LANES }, FUSED>(width, i, j);
                    i += 4;
                } else {
                    self.tile::<6, { 2 * LANES }, FUSED>(width, i, j);
                    i += 6;
                }
            }
        }
    }
}

impl Gram<'_> {
    /// Features `i..i + M` times features `j..j + N`: M·N sums in registers.
    #[inline(always)]
    fn tile<const M: usize, const N: usize, const FUSED: bool>(&mut self, width: usize, i: usize, j: usize) {
        let mut sums = [[0f64; N]; M];
        for row in self.rows.chunks_exact(width) {
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

#[inline(always)]
fn first_of<const N: usize>(cells: &[f64]) -> &[f64; N] {
    cells.first_chunk().expect("a row is a whole number of registers long")
}

struct Centre<'a> {
    rows: &'a mut [f64],
    width: usize,
    weights: Option<(&'a [f64], &'a [f64])>,
}

impl Work for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> Vec<f64> {
        let Self { rows, width, weights } = self;
        let mut mean = vec![0.0; width];
        for j in (0..width).step_by(4 * LANES) {
            match (width - j) / LANES {
                1 => centre_columns::<LANES>(rows, width, j, weights, &mut mean),
                2 => centre_columns::<{ 2 * LANES }>(rows, width, j, weights, &mut mean),
                3 => centre_columns::<{ 3 * LANES }>(rows, width, j, weights, &mut mean),
                _ => centre_columns::<{ 4 * LANES }>(rows, width, j, weights, &mut mean),
            }
        }
        mean
    }
}

/// Centres columns `j..j + N`, summed in registers.
#[inline(always)]
fn centre_columns<const N: usize>(
    rows: &mut [f64],
    width: usize,
    j: usize,
    weights: Option<(&[f64], &[f64])>,
    mean: &mut [f64],
) {
    let pivot: [f64; N] = *first_of(&rows[j..]);
    let mut sums = [0f64; N];
    for (i, row) in rows.chunks_exact(width).enumerate() {
        let x: &[f64; N] = first_of(&row[j..]);
        let w = weights.map_or(1.0, |(weights, _)| weights[i]);
        for l in 0..N {
            sums[l] += w * (x[l] - pivot[l]);
        }
    }
    let total = weights.map_or((rows.len() / width) as f64, |(weights, _)| weights.iter().sum());
    for l in 0..N {
        sums[l] = pivot[l] + sums[l] / total;
    }
    mean[j..j + N].copy_from_slice(&sums);
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        let root = weights.map_or(1.0, |(_, roots)| roots[i]);
        let x: &mut [f64; N] = row[j..].first_chunk_mut().expect("a row is a whole number of registers long");
        for l in 0..N {
            x[l] = root * (x[l] - sums[l]);
        }
    }
}
