//! Sums of outer products by blocks: the one kernel under moments and pairs.
//!
//! Rows are gathered a block at a time, from any layout and any type of number, in the order in which the
//! symmetric product runs near the machine's peak: row by row if they are narrow ([`row_major`]), otherwise in strips of
//! eight features ([`packed`]). There, in cache, they are centred.
#![allow(clippy::inline_always, reason = "inlined, a loop takes on the instructions of its caller")]

use crate::aligned::AlignedVec;
use crate::parallel::parallelism;
use crate::prefetch::prefetch;
use crate::scaling::times_power_of_two;
pub mod packed;
pub mod row_major;

use crate::simd::{Widest, Work, run_widest};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, ContiguousFwd, MatMut, MatRef, Par};
use pulp::Simd;

/// Rows of a block: deep enough for the product, small enough for the cache.
pub const BLOCK: usize = 512;

/// `target += blockᵀ·block`, lower triangle only.
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

/// A block of rows, in 64-bit numbers.
pub struct Block {
    /// Row after row if they are narrow, otherwise strip after strip; 0 beyond the last feature.
    cells: AlignedVec,
    /// The distance between rows or strips.
    stride: usize,
    columns: usize,
    used: usize,
}

impl Block {
    /// Room for as many rows, at most [`BLOCK`], and one more.
    pub fn new(columns: usize, rows: usize) -> Self {
        let rows = rows.min(BLOCK) + 1;
        let (stride, count) = if row_major::is(columns) {
            (row_major::stride(columns), rows)
        } else {
            (packed::stride(rows), packed::count(columns))
        };
        Self { cells: AlignedVec::zeros(stride * count), stride, columns, used: 0 }
    }

    /// Adds the sum of the rows' outer products to the lower triangle of `target`.
    pub fn add_gram_to(&self, target: MatMut<'_, f64>, par: Par) {
        if row_major::is(self.columns) {
            return row_major::add_gram(target, &self.cells[..self.used * self.stride]);
        }
        packed::add_gram(target, &self.cells, self.stride, self.used, par);
    }

    /// Fills the block with the given rows in the given units, minus their weighted mean, each times the
    /// root of its weight; returns the mean. Constant features become exactly 0: they are summed around
    /// their first value.
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
        let centre = if row_major::is(self.columns) { row_major::centre } else { packed::centre };
        centre(&mut self.cells, self.stride, self.columns, self.used, weights)
    }

    /// Sets the block to `√weight · (a − b)` for the chosen pairs of rows, in the given units.
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
            self.write(differences);
        } else {
            self.write(ScaledDifferences { differences, exponents });
        }
    }

    /// Adds the sum of outer products to `target`, and leaves no row behind.
    pub fn empty_into(&mut self, target: MatMut<'_, f64>) {
        self.add_gram_to(target, parallelism(self.columns));
        self.used = 0;
    }

    /// Adds one more row behind the others.
    pub fn push(&mut self, row: impl Iterator<Item = f64>) {
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
        if row_major::is(self.columns) {
            return (j, self.stride);
        }
        (j / packed::LANES * self.stride + j % packed::LANES, packed::LANES)
    }

    /// Writes rows from a source: one after the other if they are narrow, otherwise some together, strip by strip, whole
    /// lines of the cache at a time, while those that come next are asked for.
    fn write(&mut self, source: impl Source) {
        run_widest(Write { block: self, source });
    }

    fn scale_by(&mut self, exponents: &[i32]) {
        for (j, &unit) in exponents.iter().enumerate().filter(|(_, unit)| **unit != 0) {
            let (first, step) = self.place_of_feature(j);
            let cells = self.cells[first..].iter_mut().step_by(step).take(self.used);
            cells.for_each(|x| *x = times_power_of_two(*x, -unit));
        }
    }
}

/// What rows of a block are made of. (Not closures: the compiler may leave those functions of their own, without the
/// instructions of the loop they are called from.)
trait Source {
    /// What there is to know of a row before its numbers are written.
    type Row: Copy;
    /// Row number `i` of the block.
    fn row(&self, i: usize) -> Self::Row;
    /// Asks for a line of a row ahead of its use.
    fn prefetch(row: Self::Row, at: usize);
    /// Writes a row's numbers from `at` on, `N` at a time.
    fn fill<const N: usize>(&self, row: Self::Row, at: usize, to: &mut [f64]);
}

/// Some rows of a table.
struct RowsOf<'a, T> {
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

/// The same in units.
struct ScaledDifferences<'a, P> {
    differences: Differences<'a, P>,
    exponents: &'a [i32],
}

impl<'a, T: Copy + Into<f64>> Source for RowsOf<'a, T> {
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
        // Where registers do not come out even, the last overlaps the one before it.
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
        let Self { block: Block { cells, stride, columns, used }, source } = self;
        let (stride, columns, used) = (*stride, *columns, *used);
        if row_major::is(columns) {
            for (i, row) in cells.chunks_exact_mut(stride).take(used).enumerate() {
                source.fill::<N>(source.row(i), 0, &mut row[..columns]);
            }
            return;
        }
        if used == 0 {
            return;
        }
        let mut rows = some_rows(&source, 0, used);
        for top in (0..used).step_by(TOGETHER) {
            let (count, next) = (TOGETHER.min(used - top), some_rows(&source, top + TOGETHER, used));
            for (j, strip) in (0..columns).step_by(packed::LANES).zip(cells.chunks_exact_mut(stride)) {
                let to = strip[top * packed::LANES..].as_chunks_mut::<{ packed::LANES }>().0;
                if j + packed::LANES <= columns {
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

/// The rows from number `top` on; the last one again where there are no more.
#[inline(always)]
fn some_rows<F: Source>(source: &F, top: usize, used: usize) -> [F::Row; TOGETHER] {
    let mut rows = [source.row(used - 1); TOGETHER];
    for (i, row) in (top..used).zip(&mut rows) {
        *row = source.row(i);
    }
    rows
}
