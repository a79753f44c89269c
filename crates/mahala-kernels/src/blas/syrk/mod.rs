//! Blocked symmetric rank-k update (SYRK) `C += XᵀX`: the one kernel under moments and pairs.
//!
//! Rows are packed a block at a time, from any layout and any type of number, into the layout in which the micro-kernel runs
//! near peak: row-major up to 63 columns ([`row_major`]), otherwise packed panels of eight columns ([`packed`]). They are
//! centred there, in cache.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

pub mod packed;
pub mod row_major;
#[cfg(test)]
mod tests;

use crate::aligned::AlignedVec;
use crate::parallel::parallelism;
use crate::prefetch::prefetch;
use crate::scaling::times_power_of_two;
use crate::simd::{Avx512Kernel, Kernel, dispatch_avx512};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, ContiguousFwd, MatMut, MatRef, Par};
use pulp::Simd;

/// Rows of a block (`GotoBLAS`'s KC): deep enough to amortise the update of the target, small enough for the cache.
pub const BLOCK: usize = 512;

/// SYRK by faer: `target += blockᵀ·block`, lower triangle only.
pub fn add_gram(target: MatMut<'_, f64>, block: MatRef<'_, f64>, par: Par) {
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

/// Two rows, by index, and the weight of their difference.
pub trait IndexPair {
    /// Indices into the first and the second table.
    fn rows(&self) -> [usize; 2];
    /// The weight of the outer product.
    fn weight(&self) -> f64;
}

/// A block of packed rows, in double precision.
pub struct Block {
    /// Row-major up to 63 columns, otherwise panel after panel; padded with zeros beyond the last column.
    cells: AlignedVec,
    /// The distance between rows, or between panels.
    stride: usize,
    columns: usize,
    used: usize,
}

impl Block {
    /// An empty block with capacity for `min(rows, BLOCK) + 1` rows.
    pub fn new(columns: usize, rows: usize) -> Self {
        let rows = rows.min(BLOCK) + 1;
        let (stride, count) = if row_major::applies(columns) {
            (row_major::stride(columns), rows)
        } else {
            (packed::stride(rows), packed::count(columns))
        };
        Self { cells: AlignedVec::zeros(stride * count), stride, columns, used: 0 }
    }

    /// SYRK: adds the sum of the rows' outer products to the lower triangle of `target`.
    pub fn add_gram_to(&self, target: MatMut<'_, f64>, par: Par) {
        if row_major::applies(self.columns) {
            return row_major::add_gram(target, &self.cells[..self.used * self.stride]);
        }
        packed::add_gram(target, &self.cells, self.stride, self.used, par);
    }

    /// Packs the chosen rows, column j scaled by `2^-exponents[j]`, minus their weighted mean, each row times the square root
    /// of its weight; returns the mean. Constant columns become exactly 0: their mean is summed around the first value.
    pub fn gather_centred<T: Copy + Into<f64>>(
        &mut self,
        rows: MatRef<'_, T>,
        indices: &[usize],
        exponents: &[i32],
        weights: Option<&[f64]>,
    ) -> Vec<f64> {
        self.used = indices.len();
        self.gather(rows, indices);
        if exponents.iter().any(|&e| e != 0) {
            self.scale_by(exponents);
        }
        let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        let weights = weights.zip(roots.as_deref());
        let centre = if row_major::applies(self.columns) { row_major::centre } else { packed::centre };
        centre(&mut self.cells, self.stride, self.columns, self.used, weights)
    }

    /// Packs `√weight·(a − b)` for the chosen pairs of rows, column j scaled by `2^-exponents[j]`.
    pub fn gather_differences(
        &mut self,
        tables: [&[f64]; 2],
        pairs: &[impl IndexPair],
        chosen: &[usize],
        exponents: &[i32],
    ) {
        self.used = chosen.len();
        let differences = Differences { tables, columns: self.columns, pairs, chosen };
        if exponents.iter().all(|&e| e == 0) {
            self.pack(differences);
        } else {
            self.pack(ScaledDifferences { differences, exponents });
        }
    }

    /// Adds the sum of the rows' outer products to the lower triangle of `target`, and empties the block.
    pub fn flush_into(&mut self, target: MatMut<'_, f64>) {
        self.add_gram_to(target, parallelism(self.columns));
        self.used = 0;
    }

    /// Appends one row.
    pub fn push(&mut self, row: impl Iterator<Item = f64>) {
        for (j, x) in row.enumerate() {
            let (first, step) = self.place_of_column(j);
            self.cells[first + self.used * step] = x;
        }
        self.used += 1;
    }

    fn gather<T: Copy + Into<f64>>(&mut self, rows: MatRef<'_, T>, indices: &[usize]) {
        if let Some(rows) = rows.try_as_row_major() {
            return self.pack(TableRows { rows, indices });
        }
        // Column by column, which suits column-major layouts.
        for j in 0..self.columns {
            let (column, (first, step)) = (rows.col(j), self.place_of_column(j));
            let to = self.cells[first..].iter_mut().step_by(step).zip(indices);
            match column.try_as_col_major().map(faer::ColRef::as_slice) {
                Some(column) => to.for_each(|(to, &i)| *to = column[i].into()),
                None => to.for_each(|(to, &i)| *to = column[i].into()),
            }
        }
    }

    /// The offset of column j's first entry, and the stride between its entries.
    fn place_of_column(&self, j: usize) -> (usize, usize) {
        if row_major::applies(self.columns) {
            return (j, self.stride);
        }
        (j / packed::PANEL * self.stride + j % packed::PANEL, packed::PANEL)
    }

    /// Packs rows from a source: row by row in the row-major layout, otherwise [`TILE_ROWS`] at a time, panel by panel, in
    /// whole cache lines, while the next rows are prefetched.
    fn pack(&mut self, source: impl Source) {
        dispatch_avx512(Pack { block: self, source });
    }

    fn scale_by(&mut self, exponents: &[i32]) {
        for (j, &exponent) in exponents.iter().enumerate().filter(|(_, exponent)| **exponent != 0) {
            let (first, step) = self.place_of_column(j);
            let cells = self.cells[first..].iter_mut().step_by(step).take(self.used);
            cells.for_each(|x| *x = times_power_of_two(*x, -exponent));
        }
    }
}

/// The source of a block's rows. (A trait, not closures: the compiler may leave closures out of line, without the
/// instruction set of the loop that calls them.)
trait Source {
    /// A handle to one row.
    type Row: Copy;
    /// Row `i` of the block.
    fn row(&self, i: usize) -> Self::Row;
    /// Prefetches the cache line of a row that holds column `at`.
    fn prefetch(row: Self::Row, at: usize);
    /// Writes a row's entries from column `at` on, `N` at a time.
    fn fill<const N: usize>(&self, row: Self::Row, at: usize, to: &mut [f64]);
}

/// The chosen rows of a table.
struct TableRows<'a, T> {
    rows: MatRef<'a, T, usize, usize, isize, ContiguousFwd>,
    indices: &'a [usize],
}

/// `√weight·(a − b)` for pairs of rows of two tables.
struct Differences<'a, P> {
    tables: [&'a [f64]; 2],
    columns: usize,
    pairs: &'a [P],
    chosen: &'a [usize],
}

/// [`Differences`], column j scaled by `2^-exponents[j]`.
struct ScaledDifferences<'a, P> {
    differences: Differences<'a, P>,
    exponents: &'a [i32],
}

impl<'a, T: Copy + Into<f64>> Source for TableRows<'a, T> {
    type Row = &'a [T];

    #[inline(always)]
    fn row(&self, i: usize) -> &'a [T] {
        self.rows.row(self.indices[i]).as_slice()
    }

    #[inline(always)]
    fn prefetch(row: &'a [T], at: usize) {
        prefetch(row, at);
    }

    #[inline(always)]
    fn fill<const N: usize>(&self, row: &'a [T], at: usize, to: &mut [f64]) {
        let row = &row[at..][..to.len()];
        to.iter_mut().zip(row).for_each(|(to, x)| *to = (*x).into());
    }
}

impl<'a, P: IndexPair> Source for Differences<'a, P> {
    /// Both rows, and the root of the weight.
    type Row = (&'a [f64], &'a [f64], f64);

    #[inline(always)]
    fn row(&self, i: usize) -> Self::Row {
        let (pair, d) = (&self.pairs[self.chosen[i]], self.columns);
        let ([firsts, seconds], [first, second]) = (self.tables, pair.rows());
        (&firsts[first * d..][..d], &seconds[second * d..][..d], pair.weight().sqrt())
    }

    #[inline(always)]
    fn prefetch((a, b, _): Self::Row, at: usize) {
        prefetch(a, at);
        prefetch(b, at);
    }

    #[inline(always)]
    fn fill<const N: usize>(&self, (a, b, root): Self::Row, at: usize, to: &mut [f64]) {
        let (a, b) = (&a[at..][..to.len()], &b[at..][..to.len()]);
        let both = a.as_chunks::<N>().0.iter().zip(b.as_chunks().0);
        for (to, (a, b)) in to.as_chunks_mut().0.iter_mut().zip(both) {
            write_difference(to, a, b, root);
        }
        // Where the length is no multiple of N, the last vector overlaps the one before it.
        if !to.len().is_multiple_of(N) {
            match (to.last_chunk_mut::<N>(), a.last_chunk(), b.last_chunk()) {
                (Some(to), Some(a), Some(b)) => write_difference(to, a, b, root),
                _ => to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| *to = root * (a - b)),
            }
        }
    }
}

impl<'a, P: IndexPair> Source for ScaledDifferences<'a, P> {
    type Row = (&'a [f64], &'a [f64], f64);

    #[inline(always)]
    fn row(&self, i: usize) -> Self::Row {
        self.differences.row(i)
    }

    #[inline(always)]
    fn prefetch(row: Self::Row, at: usize) {
        Differences::<P>::prefetch(row, at);
    }

    #[inline(always)]
    fn fill<const N: usize>(&self, (a, b, root): Self::Row, at: usize, to: &mut [f64]) {
        for (j, to) in (at..).zip(to) {
            // Scaled before the subtraction, so that ±1e308 does not overflow.
            let scaled = |x: f64| times_power_of_two(x, -self.exponents[j]);
            *to = root * (scaled(a[j]) - scaled(b[j]));
        }
    }
}

#[inline(always)]
fn write_difference<const N: usize>(to: &mut [f64; N], a: &[f64; N], b: &[f64; N], root: f64) {
    // All loads come before the store, or the compiler would have to assume that they alias.
    let mut difference = *a;
    for l in 0..N {
        difference[l] = root * (difference[l] - b[l]);
    }
    *to = difference;
}

/// Rows packed at a time.
const TILE_ROWS: usize = 8;

/// The kernel of [`Block::pack`].
struct Pack<'a, F> {
    block: &'a mut Block,
    source: F,
}

impl<F: Source> Kernel for Pack<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call<const FMA: bool>(self) {
        self.pack::<4>();
    }
}

impl<F: Source> Avx512Kernel for Pack<'_, F> {
    #[inline(always)]
    fn call_avx512<S: Simd>(self, _: S) {
        self.pack::<8>();
    }
}

impl<F: Source> Pack<'_, F> {
    #[inline(always)]
    fn pack<const N: usize>(self) {
        let Self { block: Block { cells, stride, columns, used }, source } = self;
        let (stride, columns, used) = (*stride, *columns, *used);
        if row_major::applies(columns) {
            for (i, row) in cells.chunks_exact_mut(stride).take(used).enumerate() {
                source.fill::<N>(source.row(i), 0, &mut row[..columns]);
            }
            return;
        }
        if used == 0 {
            return;
        }
        let mut rows = tile_of_rows(&source, 0, used);
        for top in (0..used).step_by(TILE_ROWS) {
            let (count, next) = (TILE_ROWS.min(used - top), tile_of_rows(&source, top + TILE_ROWS, used));
            for (j, panel) in (0..columns).step_by(packed::PANEL).zip(cells.chunks_exact_mut(stride)) {
                let to = panel[top * packed::PANEL..].as_chunks_mut::<{ packed::PANEL }>().0;
                if j + packed::PANEL <= columns {
                    for i in 0..count {
                        F::prefetch(next[i], j);
                        source.fill::<N>(rows[i], j, &mut to[i]);
                    }
                } else {
                    for i in 0..count {
                        source.fill::<N>(rows[i], j, &mut to[i][..columns - j]);
                    }
                }
            }
            rows = next;
        }
    }
}

/// The rows `top..top + TILE_ROWS`; the last one repeated where there are no more.
#[inline(always)]
fn tile_of_rows<F: Source>(source: &F, top: usize, used: usize) -> [F::Row; TILE_ROWS] {
    let mut rows = [source.row(used - 1); TILE_ROWS];
    for (i, row) in (top..used).zip(&mut rows) {
        *row = source.row(i);
    }
    rows
}
