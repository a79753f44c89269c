//! Sums of outer products by blocks: the one kernel under moments and pairs.
//!
//! Rows are gathered a block at a time, from any layout and any type of number, in the order in which the
//! symmetric product runs near the machine's peak: feature by feature for the general one, row by row for
//! that of narrow rows. There, in cache, they are centred.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::linalg::{parallelism, sum_of_eights, times_power_of_two};
use crate::narrow;
use crate::simd::{Work, run};
use crate::units::Units;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

/// Rows of a block: deep enough for the product, small enough for the cache.
pub(crate) const BLOCK: usize = 512;

/// The distance between the columns of a block: room for one row more than [`BLOCK`], and not a power
/// of two, so that columns do not share their place in the cache.
const STRIDE: usize = BLOCK + 8;

/// `target += blockᵀ·block`, lower triangle only.
pub(crate) fn add_gram(target: MatMut<'_, f64>, block: MatRef<'_, f64>, par: Par) {
    matmul(
        target,
        BlockStructure::TriangularLower,
        Accum::Add,
        block.transpose(),
        BlockStructure::Rectangular,
        block,
        BlockStructure::Rectangular,
        1.0,
        par,
    );
}

/// A block of rows, in 64-bit numbers.
pub(crate) struct Block {
    /// Feature after feature, [`STRIDE`] apart; or row after row, if they are narrow.
    cells: Vec<f64>,
    columns: usize,
    used: usize,
}

impl Block {
    /// Room for as many rows, at most [`BLOCK`], and one more.
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        let rows = rows.min(BLOCK) + 1;
        let cells = if narrow::is(columns) { narrow::width(columns) * rows } else { STRIDE * columns };
        Self { cells: vec![0.0; cells], columns, used: 0 }
    }

    /// Adds the sum of the rows' outer products to the lower triangle of `target`.
    pub(crate) fn add_gram_to(&self, target: MatMut<'_, f64>, par: Par) {
        if narrow::is(self.columns) {
            return narrow::add_gram(target, &self.cells[..self.used * narrow::width(self.columns)]);
        }
        let block = MatRef::from_column_major_slice_with_stride(&self.cells, self.used, self.columns, STRIDE);
        add_gram(target, block, par);
    }

    /// Fills the block with the given rows in the given units, minus their weighted mean, each times the
    /// root of its weight; returns the mean. Constant features become exactly 0: they are summed around
    /// their first value.
    pub(crate) fn gather_centred<T: Copy + Into<f64>>(
        &mut self,
        rows: MatRef<'_, T>,
        indices: &[usize],
        units: &Units,
        weights: Option<&[f64]>,
    ) -> Vec<f64> {
        self.used = indices.len();
        self.gather(rows, indices);
        if !units.are_plain() {
            self.measure_in(units);
        }
        let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        let weights = weights.zip(roots.as_deref());
        if narrow::is(self.columns) {
            return narrow::centre(&mut self.cells, self.columns, self.used, weights);
        }
        let used = self.used;
        self.cells.chunks_exact_mut(STRIDE).map(|feature| centre(&mut feature[..used], weights)).collect()
    }

    /// Sets the block to `√weight · (a − b)` for the given pairs of rows, in the given units.
    pub(crate) fn gather_differences(&mut self, pairs: &[(&[f64], &[f64], f64)], units: &Units) {
        self.used = pairs.len();
        if units.are_plain() {
            return self.write(|i, to| {
                let (a, b, root) = (pairs[i].0, pairs[i].1, pairs[i].2.sqrt());
                to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| *to = root * (a - b));
            });
        }
        // Scaled before the subtraction, so that ±1e308 does not overflow.
        self.write(|i, to| {
            let (a, b, root) = (pairs[i].0, pairs[i].1, pairs[i].2.sqrt());
            for (j, to) in to.iter_mut().enumerate() {
                let scaled = |x: f64| times_power_of_two(x, -units.exponents()[j]);
                *to = root * (scaled(a[j]) - scaled(b[j]));
            }
        });
    }

    /// Adds the sum of outer products to `target`, and leaves no row behind.
    pub(crate) fn empty_into(&mut self, target: MatMut<'_, f64>) {
        self.add_gram_to(target, parallelism(self.columns));
        self.used = 0;
    }

    /// Adds one more row behind the others.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = f64>) {
        let at = self.used;
        self.used += 1;
        let (first, step) = self.place(at);
        row.zip(self.cells[first..].iter_mut().step_by(step)).for_each(|(x, cell)| *cell = x);
    }

    /// Where a row begins, and how far its cells are apart.
    fn place(&self, row: usize) -> (usize, usize) {
        if narrow::is(self.columns) { (row * narrow::width(self.columns), 1) } else { (row, STRIDE) }
    }

    fn gather<T: Copy + Into<f64>>(&mut self, rows: MatRef<'_, T>, indices: &[usize]) {
        if let Some(rows) = rows.try_as_row_major() {
            return self.write(|i, to| {
                let row = rows.row(indices[i]).as_slice();
                to.iter_mut().zip(row).for_each(|(to, x)| *to = (*x).into());
            });
        }
        // Column by column, which suits the other layouts.
        for j in 0..self.columns {
            let (column, (first, step)) = (rows.col(j), self.place_of_feature(j));
            let to = self.cells[first..].iter_mut().step_by(step).zip(indices);
            match column.try_as_col_major().map(faer::ColRef::as_slice) {
                Some(column) => to.for_each(|(to, &i)| *to = column[i].into()),
                None => to.for_each(|(to, &i)| *to = column[i].into()),
            }
        }
    }

    /// Where a feature begins, and how far its cells are apart.
    fn place_of_feature(&self, j: usize) -> (usize, usize) {
        if narrow::is(self.columns) { (j, narrow::width(self.columns)) } else { (j * STRIDE, 1) }
    }

    /// Has `fill(row, cells)` write rows: in place if they are narrow, otherwise eight of them beside the block,
    /// from where they go feature by feature, whole lines of the cache at a time.
    fn write(&mut self, fill: impl Fn(usize, &mut [f64])) {
        if narrow::is(self.columns) {
            let rows = self.cells.chunks_exact_mut(narrow::width(self.columns)).take(self.used);
            rows.enumerate().for_each(|(i, row)| fill(i, &mut row[..self.columns]));
            return;
        }
        let width = self.columns.next_multiple_of(TILE);
        let mut rows = vec![0.0; TILE * width];
        for top in (0..self.used).step_by(TILE) {
            for (i, row) in (top..self.used).zip(rows.chunks_exact_mut(width)) {
                fill(i, &mut row[..self.columns]);
            }
            run(Turn { rows: &rows, width, cells: &mut self.cells[top..], columns: self.columns });
        }
    }

    fn measure_in(&mut self, units: &Units) {
        for (j, &unit) in units.exponents().iter().enumerate().filter(|(_, unit)| **unit != 0) {
            let (first, step) = self.place_of_feature(j);
            let cells = self.cells[first..].iter_mut().step_by(step).take(self.used);
            cells.for_each(|x| *x = times_power_of_two(*x, -unit));
        }
    }
}

/// Rows that change sides together, and features that do.
const TILE: usize = 8;

/// Writes [`TILE`] rows as so many cells of each feature; those beyond the last row are not looked at.
struct Turn<'a> {
    rows: &'a [f64],
    width: usize,
    cells: &'a mut [f64],
    columns: usize,
}

impl Work for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { rows, width, cells, columns } = self;
        for first in (0..columns).step_by(TILE) {
            let tile: [&[f64; TILE]; TILE] = std::array::from_fn(|i| {
                rows[i * width + first..].first_chunk().expect("a row is a whole number of tiles long")
            });
            for j in 0..TILE.min(columns - first) {
                let at = (first + j) * STRIDE;
                cells[at..at + TILE].copy_from_slice(&tile.map(|row| row[j]));
            }
        }
    }
}

/// Centres one feature, and multiplies by the roots of the weights; returns the mean.
fn centre(feature: &mut [f64], weights: Option<(&[f64], &[f64])>) -> f64 {
    let pivot = feature[0];
    let Some((weights, roots)) = weights else {
        let offset = sum_of_eights(feature, feature, |x, _| x - pivot) / feature.len() as f64;
        let mean = pivot + offset;
        feature.iter_mut().for_each(|x| *x -= mean);
        return mean;
    };
    let offset = sum_of_eights(feature, weights, |x, w| w * (x - pivot)) / weights.iter().sum::<f64>();
    let mean = pivot + offset;
    feature.iter_mut().zip(roots).for_each(|(x, root)| *x = root * (*x - mean));
    mean
}
