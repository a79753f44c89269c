//! Sums of outer products by blocks: the one kernel under moments and pairs.
//!
//! Rows are gathered a block at a time, from any layout and any type of number, in the order in which the
//! symmetric product runs near the machine's peak: row by row if they are narrow ([`narrow`]), otherwise in strips of
//! eight features ([`strips`]). There, in cache, they are centred.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::dataset::Rows;
use crate::linalg::{parallelism, times_power_of_two};
use crate::memory::Lines;
use crate::pairs::Pair;
use crate::simd::{Widest, Work, run_widest};
use crate::units::Units;
use crate::{narrow, strips};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, ContiguousFwd, MatMut, MatRef, Par};
use pulp::Simd;

/// Rows of a block: deep enough for the product, small enough for the cache.
pub(crate) const BLOCK: usize = 512;

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
    /// Row after row if they are narrow, otherwise strip after strip; 0 beyond the last feature.
    cells: Lines,
    columns: usize,
    used: usize,
}

impl Block {
    /// Room for as many rows, at most [`BLOCK`], and one more.
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        let rows = rows.min(BLOCK) + 1;
        let cells = if narrow::is(columns) { narrow::stride(columns) * rows } else { strips::size(columns) };
        Self { cells: Lines::zeros(cells), columns, used: 0 }
    }

    /// Adds the sum of the rows' outer products to the lower triangle of `target`.
    pub(crate) fn add_gram_to(&self, target: MatMut<'_, f64>, par: Par) {
        if narrow::is(self.columns) {
            return narrow::add_gram(target, &self.cells[..self.used * narrow::stride(self.columns)]);
        }
        strips::add_gram(target, &self.cells, self.used, par);
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
        let centre = if narrow::is(self.columns) { narrow::centre } else { strips::centre };
        centre(&mut self.cells, self.columns, self.used, weights)
    }

    /// Sets the block to `√weight · (a − b)` for the chosen pairs of rows, in the given units.
    pub(crate) fn gather_differences(
        &mut self,
        [firsts, seconds]: [&Rows; 2],
        pairs: &[Pair],
        chosen: &[usize],
        units: &Units,
    ) {
        self.used = chosen.len();
        let differences = Differences { tables: [firsts.values(), seconds.values()], pairs, chosen };
        if units.are_plain() {
            self.write(differences);
        } else {
            self.write(ScaledDifferences { differences, units });
        }
    }

    /// Adds the sum of outer products to `target`, and leaves no row behind.
    pub(crate) fn empty_into(&mut self, target: MatMut<'_, f64>) {
        self.add_gram_to(target, parallelism(self.columns));
        self.used = 0;
    }

    /// Adds one more row behind the others.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = f64>) {
        for (j, x) in row.enumerate() {
            let (first, step) = self.place_of_feature(j);
            self.cells[first + self.used * step] = x;
        }
        self.used += 1;
    }

    fn gather<T: Copy + Into<f64>>(&mut self, rows: MatRef<'_, T>, indices: &[usize]) {
        if let Some(rows) = rows.try_as_row_major() {
            return self.write(RowsOf { rows, indices });
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
        if narrow::is(self.columns) {
            return (j, narrow::stride(self.columns));
        }
        (j / strips::LANES * strips::STRIDE + j % strips::LANES, strips::LANES)
    }

    /// Writes rows from a source: in place if they are narrow, otherwise some of them beside the block, from
    /// where they go to their strips, whole lines of the cache at a time.
    fn write(&mut self, source: impl Source) {
        run_widest(Write { block: self, source });
    }

    fn measure_in(&mut self, units: &Units) {
        for (j, &unit) in units.exponents().iter().enumerate().filter(|(_, unit)| **unit != 0) {
            let (first, step) = self.place_of_feature(j);
            let cells = self.cells[first..].iter_mut().step_by(step).take(self.used);
            cells.for_each(|x| *x = times_power_of_two(*x, -unit));
        }
    }
}

/// What rows of a block are made of. (Not a closure: the compiler may leave that a function of its own, without the
/// instructions of the loop it is called from.)
trait Source {
    /// Writes row number `i` of the block, `N` numbers at a time.
    fn fill<const N: usize>(&self, i: usize, to: &mut [f64]);
}

/// Some rows of a table.
struct RowsOf<'a, T> {
    rows: MatRef<'a, T, usize, usize, isize, ContiguousFwd>,
    indices: &'a [usize],
}

/// `√weight·(a − b)` for pairs of rows of two tables.
struct Differences<'a> {
    tables: [&'a [f64]; 2],
    pairs: &'a [Pair],
    chosen: &'a [usize],
}

/// The same in units.
struct ScaledDifferences<'a> {
    differences: Differences<'a>,
    units: &'a Units,
}

impl<T: Copy + Into<f64>> Source for RowsOf<'_, T> {
    #[inline(always)]
    fn fill<const N: usize>(&self, i: usize, to: &mut [f64]) {
        let row = self.rows.row(self.indices[i]).as_slice();
        to.iter_mut().zip(row).for_each(|(to, x)| *to = (*x).into());
    }
}

impl Differences<'_> {
    /// Both rows, and the root of the weight.
    #[inline(always)]
    fn ends(&self, i: usize, d: usize) -> (&[f64], &[f64], f64) {
        let pair = &self.pairs[self.chosen[i]];
        let [firsts, seconds] = self.tables;
        (&firsts[pair.first * d..][..d], &seconds[pair.second * d..][..d], pair.weight.sqrt())
    }
}

impl Source for Differences<'_> {
    #[inline(always)]
    fn fill<const N: usize>(&self, i: usize, to: &mut [f64]) {
        let (a, b, root) = self.ends(i, to.len());
        let both = a.as_chunks::<N>().0.iter().zip(b.as_chunks().0);
        for (to, (a, b)) in to.as_chunks_mut().0.iter_mut().zip(both) {
            write_difference(to, a, b, root);
        }
        // Where registers do not come out even, the last overlaps the one before it.
        if !to.len().is_multiple_of(N) {
            match (to.last_chunk_mut::<N>(), a.last_chunk(), b.last_chunk()) {
                (Some(to), Some(a), Some(b)) => write_difference(to, a, b, root),
                _ => to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| *to = root * (a - b)),
            }
        }
    }
}

impl Source for ScaledDifferences<'_> {
    #[inline(always)]
    fn fill<const N: usize>(&self, i: usize, to: &mut [f64]) {
        let (a, b, root) = self.differences.ends(i, to.len());
        for (j, to) in to.iter_mut().enumerate() {
            // Scaled before the subtraction, so that ±1e308 does not overflow.
            let scaled = |x: f64| times_power_of_two(x, -self.units.exponents()[j]);
            *to = root * (scaled(a[j]) - scaled(b[j]));
        }
    }
}

#[inline(always)]
fn write_difference<const N: usize>(to: &mut [f64; N], a: &[f64; N], b: &[f64; N], root: f64) {
    // All is read before anything is written, or the compiler would fear that one changes the other.
    let mut difference = *a;
    for l in 0..N {
        difference[l] = root * (difference[l] - b[l]);
    }
    *to = difference;
}

/// Rows that go to their strips together.
const TOGETHER: usize = 8;

/// See [`Block::write`].
struct Write<'a, F> {
    block: &'a mut Block,
    source: F,
}

impl<F: Source> Work for Write<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        self.by_registers::<4>();
    }
}

impl<F: Source> Widest for Write<'_, F> {
    #[inline(always)]
    fn call_widest<S: Simd>(self, _: S) {
        self.by_registers::<8>();
    }
}

impl<F: Source> Write<'_, F> {
    #[inline(always)]
    fn by_registers<const N: usize>(self) {
        let Self { block: Block { cells, columns, used }, source } = self;
        let (columns, used) = (*columns, *used);
        if narrow::is(columns) {
            for (i, row) in cells.chunks_exact_mut(narrow::stride(columns)).take(used).enumerate() {
                source.fill::<N>(i, &mut row[..columns]);
            }
            return;
        }
        let width = columns.next_multiple_of(strips::LANES);
        let mut rows = vec![0.0; TOGETHER * width];
        for top in (0..used).step_by(TOGETHER) {
            let count = TOGETHER.min(used - top);
            for (i, row) in rows.chunks_exact_mut(width).take(count).enumerate() {
                source.fill::<N>(top + i, &mut row[..columns]);
            }
            strips::put(cells, top, &rows[..count * width], width);
        }
    }
}
