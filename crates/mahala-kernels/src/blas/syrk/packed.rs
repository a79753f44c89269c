//! SYRK on packed panels (`GotoBLAS`), for 64 columns and more.
//!
//! A panel holds eight columns of all rows of a block, row after row: one cache line for each row. Packing therefore copies
//! whole cache lines, and both operands of the product have the same layout. Micro-tiles of the lower triangle stay in
//! registers over the depth of the block. With AVX-512 they are 24 × 8 (three panels by one), in 24 of 32 registers, by
//! explicit SIMD, because the compiler does not keep them there; otherwise 8 × 6, plain Rust over arrays of fixed size, compiled a
//! second time for AVX2 and FMA. The build is chosen at run time; with FMA, both sum the same products in the same order.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::parallel::{column_cuts, cut_columns, each, triangle_cuts};
use crate::prefetch::prefetch;
use crate::simd::{Avx512Kernel, Kernel, dispatch, dispatch_avx512};
use crate::view::{column, column_mut};
use faer::{MatMut, Par};
use pulp::Simd;

/// Columns of a packed panel: one cache line of doubles. Also the rows of the AVX2 micro-tile (MR).
pub const PANEL: usize = 8;
/// Columns of the AVX2 and portable micro-tile.
const NR: usize = 6;
/// Rows of the AVX-512 micro-tile: three panels. A multiple of NR too, so that micro-tiles end where panels do.
const MR: usize = 3 * PANEL;
/// Columns of the target updated together: their panels, 400 kB, stay in L2.
const NC: usize = 4 * MR;

/// The eight columns of a panel, row after row.
type Panel = [[f64; PANEL]];

/// The distance between panels of so many rows: an odd number of cache lines, so that panels do not map to the same cache
/// sets.
pub fn stride(rows: usize) -> usize {
    PANEL * (rows | 1)
}

/// The number of panels for so many columns; entries beyond the last column must be 0.
pub fn count(columns: usize) -> usize {
    columns.next_multiple_of(MR) / PANEL
}

/// SYRK `target += XᵀX` for packed rows X, lower triangle only.
pub fn add_gram(target: MatMut<'_, f64>, cells: &[f64], stride: usize, rows: usize, par: Par) {
    let pieces = column_cuts(target.ncols(), par).len() + 1;
    let cuts = triangle_cuts(target.ncols(), MR, pieces);
    each(par, &mut cut_columns(target, &cuts), &|(first, target)| {
        dispatch_avx512(Gram { target: target.as_mut(), first: *first, cells, stride, rows });
    });
}

/// Centres packed rows at their weighted mean and multiplies each by the square root of its weight; returns the mean.
/// `weights` are the weights and their square roots.
/// Sums are taken around the first row, so that constant features become exactly 0.
pub fn centre(
    cells: &mut [f64],
    stride: usize,
    columns: usize,
    rows: usize,
    weights: Option<(&[f64], &[f64])>,
) -> Vec<f64> {
    let cells = &mut cells[..columns.div_ceil(PANEL) * stride];
    let mut mean = dispatch(Centre { cells, stride, rows, weights });
    mean.truncate(columns);
    mean
}

/// The update of the columns of the target from column `first` of the whole on.
struct Gram<'a> {
    target: MatMut<'a, f64>,
    first: usize,
    cells: &'a [f64],
    stride: usize,
    rows: usize,
}

impl<'a> Gram<'a> {
    /// The panel that begins with column j.
    #[inline(always)]
    fn panel(&self, j: usize) -> &'a Panel {
        self.cells[j / PANEL * self.stride..][..self.rows * PANEL].as_chunks().0
    }
}

/// Micro-tiles of 8 × 6: 12 of 16 AVX2 registers hold sums.
impl Kernel for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FMA: bool>(mut self) {
        let (n, first) = (self.target.nrows(), self.first);
        let end = first + self.target.ncols();
        for left in (first..end).step_by(NC) {
            for i in (left..n).step_by(PANEL) {
                let x = self.panel(i);
                let below = i + PANEL;
                for j in (left..end.min(left + NC).min(below)).step_by(MR) {
                    let y = [self.panel(j), self.panel(j + PANEL), self.panel(j + 2 * PANEL)];
                    self.add_tile([i, j], &microkernel_8x6::<FMA, 0>(x, [y[0], y[1]]));
                    if j + NR < below {
                        self.add_tile([i, j + NR], &microkernel_8x6::<FMA, 6>(x, [y[0], y[1]]));
                    }
                    if j + 2 * NR < below {
                        self.add_tile([i, j + 2 * NR], &microkernel_8x6::<FMA, 4>(x, [y[1], y[2]]));
                    }
                    if j + 3 * NR < below {
                        self.add_tile([i, j + 3 * NR], &microkernel_8x6::<FMA, 10>(x, [y[1], y[2]]));
                    }
                }
            }
        }
    }
}

/// Micro-tiles of 24 × 8: 24 of 32 AVX-512 registers hold sums.
impl Avx512Kernel for Gram<'_> {
    #[inline(always)]
    fn call_avx512<S: Simd>(mut self, simd: S) {
        let (n, first) = (self.target.nrows(), self.first);
        let end = first + self.target.ncols();
        for left in (first..end).step_by(NC) {
            for i in (left..n).step_by(MR) {
                for j in (left..end.min(left + NC).min(i + MR)).step_by(PANEL) {
                    let (top, y) = (i.max(j), self.panel(j));
                    match n.min(i + MR).div_ceil(PANEL) - top / PANEL {
                        1 => self.microkernel::<S, 1>(simd, top, j, y),
                        2 => self.microkernel::<S, 2>(simd, top, j, y),
                        _ => self.microkernel::<S, 3>(simd, top, j, y),
                    }
                }
            }
        }
    }
}

impl Gram<'_> {
    /// The AVX-512 micro-kernel: `PANELS` panels from column `i` on, times the panel `y` of column `j`.
    #[inline(always)]
    fn microkernel<S: Simd, const PANELS: usize>(&mut self, simd: S, i: usize, j: usize, y: &Panel) {
        let mut x: [&[S::f64s]; PANELS] = [&[]; PANELS];
        for (k, x) in x.iter_mut().enumerate() {
            *x = &S::as_simd_f64s(self.panel(i + k * PANEL).as_flattened()).0[..y.len()];
        }
        // The micro-tile of the target, which is not in cache if the target is large.
        for j in j - self.first..(j - self.first + PANEL).min(self.target.ncols()) {
            let to = column(self.target.as_ref(), j);
            for k in 0..PANELS {
                prefetch(to, i + k * PANEL);
            }
        }
        let mut sums = [[simd.splat_f64s(0.0); PANELS]; PANEL];
        for (r, y) in y.iter().enumerate() {
            for c in 0..PANEL {
                let y = simd.splat_f64s(y[c]);
                for k in 0..PANELS {
                    sums[c][k] = simd.mul_add_f64s(x[k][r], y, sums[c][k]);
                }
            }
        }
        for (k, i) in (i..).step_by(PANEL).take(PANELS).enumerate() {
            let mut tile = [[0f64; PANEL]; PANEL];
            for c in 0..PANEL {
                S::as_mut_simd_f64s(&mut tile[c]).0[0] = sums[c][k];
            }
            self.add_tile([i, j], &tile);
        }
    }

    /// Adds a micro-tile at row `i` and column `j` of the whole target.
    #[inline(always)]
    fn add_tile<const NR: usize>(&mut self, [i, j]: [usize; 2], sums: &[[f64; PANEL]; NR]) {
        let first = self.first;
        let target = &mut self.target;
        if j + NR > i + 1 || i + PANEL > target.nrows() {
            // A copy, or the sums would be spilled on every path.
            let copy = *sums;
            return add_part(target.as_mut(), first, [i, j], &copy);
        }
        for (j, sums) in (j - first..).zip(sums) {
            let to: &mut [f64; PANEL] =
                column_mut(target.as_mut(), j)[i..].first_chunk_mut().expect("a whole tile");
            for l in 0..PANEL {
                to[l] += sums[l];
            }
        }
    }
}

/// The AVX2 and portable micro-kernel: 8 columns times 6 of the 16 of two panels, those from `SKIP` on, over the depth.
#[inline(always)]
fn microkernel_8x6<const FMA: bool, const SKIP: usize>(x: &Panel, y: [&Panel; 2]) -> [[f64; PANEL]; NR] {
    let mut sums = [[0f64; PANEL]; NR];
    for ((x, y0), y1) in x.iter().zip(y[0]).zip(y[1]) {
        for (c, sums) in sums.iter_mut().enumerate() {
            let y = if SKIP + c < PANEL { y0[SKIP + c] } else { y1[SKIP + c - PANEL] };
            for l in 0..PANEL {
                sums[l] = if FMA { y.mul_add(x[l], sums[l]) } else { sums[l] + y * x[l] };
            }
        }
    }
    sums
}

/// Adds the part of a micro-tile that lies in the lower triangle and inside the target.
#[inline(never)]
fn add_part(mut target: MatMut<'_, f64>, first: usize, [i, j]: [usize; 2], sums: &[[f64; PANEL]]) {
    for (j, sums) in (j..first + target.ncols()).zip(sums) {
        // From the diagonal down.
        let above = j.saturating_sub(i);
        let to = &mut column_mut(target.as_mut(), j - first)[i + above..];
        to.iter_mut().zip(&sums[above.min(PANEL)..]).for_each(|(to, sum)| *to += sum);
    }
}

struct Centre<'a> {
    cells: &'a mut [f64],
    stride: usize,
    rows: usize,
    weights: Option<(&'a [f64], &'a [f64])>,
}

impl Kernel for Centre<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Vec<f64> {
        let total = self.weights.map_or(self.rows as f64, |(weights, _)| weights.iter().sum());
        let mut means = Vec::with_capacity(self.cells.len() / self.stride * PANEL);
        for panel in self.cells.chunks_exact_mut(self.stride) {
            let panel = panel[..self.rows * PANEL].as_chunks_mut::<PANEL>().0;
            let mut mean = sums_around_first(panel, self.weights.map(|(weights, _)| weights));
            for l in 0..PANEL {
                mean[l] = panel[0][l] + mean[l] / total;
            }
            match self.weights {
                None => {
                    for x in panel {
                        for l in 0..PANEL {
                            x[l] -= mean[l];
                        }
                    }
                }
                Some((_, roots)) => {
                    for (x, root) in panel.iter_mut().zip(roots) {
                        for l in 0..PANEL {
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

/// `Σ w·(x − x₀)` with eight independent partial sums for each column, which hides the latency of additions.
#[inline(always)]
fn sums_around_first(panel: &Panel, weights: Option<&[f64]>) -> [f64; PANEL] {
    let pivot = panel[0];
    let mut partial = [[0f64; PANEL]; 8];
    for (group, rows) in panel.chunks(8).enumerate() {
        for (k, (sums, x)) in partial.iter_mut().zip(rows).enumerate() {
            let w = weights.map_or(1.0, |weights| weights[8 * group + k]);
            for l in 0..PANEL {
                sums[l] += w * (x[l] - pivot[l]);
            }
        }
    }
    let mut sums = [0f64; PANEL];
    for part in &partial {
        for l in 0..PANEL {
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

    /// Packed rows, and the plain matrix.
    fn block(rows: usize, columns: usize) -> (Vec<f64>, Mat<f64>) {
        let mut random = Random::new(columns as u64, 0);
        let plain = Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5);
        let mut cells = vec![0.0; count(columns) * stride(rows)];
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            cells[j / PANEL * stride(rows) + PANEL * i + j % PANEL] = plain[(i, j)];
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
            dispatch(Gram { target: target.as_mut(), first: 0, cells: &cells, stride, rows });
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
        assert_eq!(of(Par::Seq), of(Par::rayon(7)));
    }

    #[test]
    fn the_mean_is_taken_out_and_constant_features_are_exactly_zero() {
        let (rows, n) = (29, 11);
        let (mut cells, plain) = block(rows, n);
        let stride = stride(rows);
        (0..rows).for_each(|i| cells[stride + PANEL * i] = 0.1);
        let weights: Vec<f64> = (0..rows).map(|i| 1.0 + (i % 3) as f64).collect();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        for given in [None, Some((&weights[..], &roots[..]))] {
            let weight = |i: usize| given.map_or(1.0, |(weights, _)| weights[i]);
            let mut copy = cells.clone();
            let mean = centre(&mut copy, stride, n, rows, given);
            assert_eq!(mean.len(), n);
            let total: f64 = (0..rows).map(weight).sum();
            for j in (0..n).filter(|&j| j != PANEL) {
                let plain_mean = (0..rows).map(|i| weight(i) * plain[(i, j)]).sum::<f64>() / total;
                assert!((mean[j] - plain_mean).abs() < 1e-15);
                for i in 0..rows {
                    let centred = weight(i).sqrt() * (plain[(i, j)] - plain_mean);
                    assert!((copy[j / PANEL * stride + PANEL * i + j % PANEL] - centred).abs() < 1e-14);
                }
            }
            assert_eq!(mean[PANEL], 0.1);
            assert!((0..rows).all(|i| copy[stride + PANEL * i] == 0.0));
        }
    }
}
