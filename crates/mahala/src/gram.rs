//! Sums of outer products by blocks: the one kernel under moments and pairs.
//!
//! Rows are copied, a block at a time, into a buffer in which each feature is contiguous; there the
//! symmetric product runs near the machine's peak, and centring costs one pass over memory in cache.
//! Features of extreme scale are measured in a power of two of their own (their *unit*), which is
//! exact and keeps squares of 1e±150 in range.

use crate::linalg::{exponent_of, times_power_of_two};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatMut, MatRef, Par};

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

/// The unit of each feature, as an exponent of two; 0 unless the feature's scale is extreme.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Units {
    peaks: Vec<f64>,
    exponents: Vec<i32>,
}

impl Units {
    pub(crate) fn new(columns: usize) -> Self {
        Self { peaks: vec![0.0; columns], exponents: vec![0; columns] }
    }

    /// Units that suit the largest values seen in each column.
    pub(crate) fn from_peaks(peaks: Vec<f64>) -> Self {
        let exponents = peaks.iter().map(|&peak| unit_of(peak)).collect();
        Self { peaks, exponents }
    }

    pub(crate) fn peaks(&self) -> &[f64] {
        &self.peaks
    }

    pub(crate) fn exponents(&self) -> &[i32] {
        &self.exponents
    }

    pub(crate) fn are_plain(&self) -> bool {
        self.exponents.iter().all(|&e| e == 0)
    }

    /// The units after more has been seen.
    pub(crate) fn widened(&self, peaks: &[f64]) -> Self {
        Self::from_peaks(self.peaks.iter().zip(peaks).map(|(a, b)| a.max(*b)).collect())
    }

    /// What sums in the units `self` must be shifted by to be in the units `other`; None if by nothing.
    pub(crate) fn shift_to(&self, other: &Self) -> Option<Vec<i32>> {
        let shift: Vec<i32> = self.exponents.iter().zip(&other.exponents).map(|(a, b)| a - b).collect();
        shift.iter().any(|&s| s != 0).then_some(shift)
    }
}

/// The unit for a column whose largest absolute value is `peak`: 0 wherever squares and their sums
/// stay far from the ends of the range.
fn unit_of(peak: f64) -> i32 {
    let exponent = exponent_of(peak);
    if peak == 0.0 || exponent.abs() <= 200 { 0 } else { exponent }
}

/// The largest absolute value of each column; NaN where a cell is not finite.
pub(crate) fn column_peaks(rows: MatRef<'_, f64>) -> Vec<f64> {
    let mut peaks = vec![0.0f64; rows.ncols()];
    // x·0 is 0 for a finite number only; sums need no branch.
    let mut checks = vec![0.0f64; rows.ncols()];
    if let Some(rows) = rows.try_as_row_major() {
        for i in 0..rows.nrows() {
            for ((peak, check), x) in peaks.iter_mut().zip(&mut checks).zip(rows.row(i).as_slice()) {
                *peak = if x.abs() > *peak { x.abs() } else { *peak };
                *check += x * 0.0;
            }
        }
    } else {
        for (j, (peak, check)) in peaks.iter_mut().zip(&mut checks).enumerate() {
            for x in rows.col(j).iter() {
                *peak = if x.abs() > *peak { x.abs() } else { *peak };
                *check += x * 0.0;
            }
        }
    }
    peaks.iter().zip(checks).map(|(peak, check)| peak + check).collect()
}

/// Multiplies entry (i, j) of a lower triangle by `2^(shift_i + shift_j)`.
pub(crate) fn shift_lower(matrix: &mut Mat<f64>, shift: &[i32]) {
    for j in 0..matrix.ncols() {
        for i in j..matrix.nrows() {
            matrix[(i, j)] = times_power_of_two(matrix[(i, j)], shift[i] + shift[j]);
        }
    }
}

/// A block of rows with each feature contiguous.
pub(crate) struct Block {
    buffer: Vec<f64>,
    columns: usize,
    used: usize,
    /// Rows that must be made or scaled before they are transposed.
    staging: Vec<f64>,
}

/// The distance between the columns of a block: room for one row more than [`BLOCK`], and not a power
/// of two, so that columns do not share their place in the cache.
const STRIDE: usize = BLOCK + 8;

impl Block {
    /// Room for [`BLOCK`] rows and one more.
    pub(crate) fn new(columns: usize) -> Self {
        Self { buffer: vec![0.0; STRIDE * columns], columns, used: 0, staging: Vec::new() }
    }

    pub(crate) fn rows(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice_with_stride(&self.buffer, self.used, self.columns, STRIDE)
    }

    /// Fills the block with the given rows in the given units, minus their weighted mean, each times the
    /// root of its weight; returns the mean. Constant features become exactly 0: they are summed around
    /// their first value.
    pub(crate) fn gather_centred(
        &mut self,
        rows: MatRef<'_, f64>,
        indices: &[usize],
        units: &Units,
        weights: Option<&[f64]>,
    ) -> Vec<f64> {
        let plain = rows.try_as_row_major().filter(|_| units.are_plain());
        if plain.is_none() {
            self.staging.clear();
            for &i in indices {
                let row = units.exponents().iter().enumerate();
                self.staging.extend(row.map(|(j, &unit)| times_power_of_two(rows[(i, j)], -unit)));
            }
        }
        let chosen: Vec<&[f64]> = match plain {
            Some(rows) => indices.iter().map(|&i| rows.row(i).as_slice()).collect(),
            None => self.staging.chunks_exact(self.columns).collect(),
        };
        let mean = mean_of(&chosen, weights);
        self.used = chosen.len();
        match weights {
            None => transpose(&mut self.buffer, &chosen, |x, _, j| x - mean[j]),
            Some(weights) => {
                let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
                transpose(&mut self.buffer, &chosen, |x, i, j| roots[i] * (x - mean[j]));
            }
        }
        mean
    }

    /// Sets the block to `√weight · (a − b)` for the given pairs of rows, in the given units.
    pub(crate) fn gather_differences<'a>(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (&'a [f64], &'a [f64], f64)>,
        units: &Units,
    ) {
        self.used = pairs.len();
        self.staging.clear();
        for (a, b, weight) in pairs {
            let root = weight.sqrt();
            if units.are_plain() {
                self.staging.extend(a.iter().zip(b).map(|(a, b)| root * (a - b)));
            } else {
                // Scaled before the subtraction, so that ±1e308 does not overflow.
                let cells = a.iter().zip(b).zip(units.exponents());
                let difference =
                    |a, b, unit: i32| times_power_of_two(a, -unit) - times_power_of_two(b, -unit);
                self.staging.extend(cells.map(|((a, b), unit)| root * difference(*a, *b, *unit)));
            }
        }
        let rows: Vec<&[f64]> = self.staging.chunks_exact(self.columns).collect();
        transpose(&mut self.buffer, &rows, |x, _, _| x);
    }

    /// Empties the block.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds one more row behind the others.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = f64>) {
        let at = self.used;
        self.used += 1;
        row.enumerate().for_each(|(j, x)| self.buffer[j * STRIDE + at] = x);
    }
}

/// The weighted mean of the rows, summed around the first of them.
fn mean_of(rows: &[&[f64]], weights: Option<&[f64]>) -> Vec<f64> {
    let pivot = rows[0];
    let mut sums = vec![0.0; pivot.len()];
    for (i, row) in rows.iter().enumerate() {
        let cells = sums.iter_mut().zip(row.iter().zip(pivot));
        match weights {
            None => cells.for_each(|(sum, (x, p))| *sum += x - p),
            Some(w) => cells.for_each(|(sum, (x, p))| *sum += w[i] * (x - p)),
        }
    }
    let total = weights.map_or(rows.len() as f64, |w| w.iter().sum());
    sums.iter().zip(pivot).map(|(sum, p)| p + sum / total).collect()
}

/// Writes `f(cell, row, column)` column by column; eight rows and eight columns at a time, so that each
/// line of the cache is read and written once, whole.
fn transpose(buffer: &mut [f64], rows: &[&[f64]], f: impl Fn(f64, usize, usize) -> f64) {
    const TILE: usize = 8;
    let columns = rows.first().map_or(0, |row| row.len());
    for (group, rows) in rows.chunks(TILE).enumerate() {
        for first in (0..columns).step_by(TILE) {
            for j in first..(first + TILE).min(columns) {
                let at = j * STRIDE + TILE * group;
                for (k, (to, row)) in buffer[at..at + rows.len()].iter_mut().zip(rows).enumerate() {
                    *to = f(row[j], TILE * group + k, j);
                }
            }
        }
    }
}
