//! Sums of outer products by blocks: the one kernel under moments and pairs.
//!
//! Rows are copied, a block at a time, into a buffer in which each feature is contiguous; there the
//! symmetric product runs near the machine's peak, and centring costs one pass over memory in cache.
//! Features of extreme scale are measured in a power of two of their own (their *unit*), which is
//! exact and keeps squares of 1e±150 in range.

use crate::spd::{exponent_of, times_power_of_two};
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
    buffer: Mat<f64>,
    used: usize,
}

impl Block {
    /// Room for [`BLOCK`] rows and one more.
    pub(crate) fn new(columns: usize) -> Self {
        Self { buffer: Mat::zeros(BLOCK + 1, columns), used: 0 }
    }

    pub(crate) fn rows(&self) -> MatRef<'_, f64> {
        self.buffer.as_ref().subrows(0, self.used)
    }

    /// Fills the block with the given rows, in the given units.
    pub(crate) fn gather(&mut self, rows: MatRef<'_, f64>, indices: &[usize], units: &Units) {
        self.used = indices.len();
        if let Some(rows) = rows.try_as_row_major() {
            // Eight rows at a time: each cache line of the buffer is written once, whole.
            for (group, eight) in indices.chunks(8).enumerate() {
                let from: [&[f64]; 8] =
                    std::array::from_fn(|k| rows.row(eight[k.min(eight.len() - 1)]).as_slice());
                for j in 0..rows.ncols() {
                    let column = self.column_mut(j);
                    let to = &mut column[8 * group..8 * group + eight.len()];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = from[j]);
                }
            }
        } else {
            for j in 0..rows.ncols() {
                let source = rows.col(j);
                self.column_mut(j).iter_mut().zip(indices).for_each(|(to, &i)| *to = source[i]);
            }
        }
        if !units.are_plain() {
            for (j, &unit) in units.exponents().iter().enumerate() {
                self.column_mut(j).iter_mut().for_each(|x| *x = times_power_of_two(*x, -unit));
            }
        }
    }

    /// Sets the block to `√weight · (a − b)` for the given pairs of rows, in the given units.
    pub(crate) fn gather_differences<'a>(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (&'a [f64], &'a [f64], f64)>,
        units: &Units,
    ) {
        self.used = pairs.len();
        for (k, (a, b, weight)) in pairs.enumerate() {
            let root = weight.sqrt();
            for (j, &unit) in units.exponents().iter().enumerate() {
                // Scaled before the subtraction, so that ±1e308 does not overflow.
                let difference = times_power_of_two(a[j], -unit) - times_power_of_two(b[j], -unit);
                self.buffer[(k, j)] = root * difference;
            }
        }
    }

    /// Subtracts each feature's weighted mean, multiplies each row by the root of its weight, and
    /// returns the means. Constant features become exactly 0: they are summed around their first value.
    pub(crate) fn centre(&mut self, weights: Option<&[f64]>) -> Vec<f64> {
        let total = weights.map_or(self.used as f64, |w| w.iter().sum());
        let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|x| x.sqrt()).collect());
        (0..self.buffer.ncols())
            .map(|j| {
                let column = self.column_mut(j);
                let pivot = column[0];
                let offset = match weights {
                    None => sum(column.iter().map(|x| x - pivot)),
                    Some(w) => sum(column.iter().zip(w).map(|(x, w)| w * (x - pivot))),
                } / total;
                let mean = pivot + offset;
                column.iter_mut().for_each(|x| *x -= mean);
                if let Some(roots) = &roots {
                    column.iter_mut().zip(roots).for_each(|(x, r)| *x *= r);
                }
                mean
            })
            .collect()
    }

    /// Empties the block.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds one more row behind the others.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = f64>) {
        let at = self.used;
        self.used += 1;
        row.enumerate().for_each(|(j, x)| self.buffer[(at, j)] = x);
    }

    fn column_mut(&mut self, j: usize) -> &mut [f64] {
        let used = self.used;
        let column = self.buffer.as_mut().col_mut(j).try_as_col_major_mut();
        &mut column.expect("an owned matrix has contiguous columns").as_slice_mut()[..used]
    }
}

/// A sum with four independent partial sums: a fixed order that the compiler may vectorise.
fn sum(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let mut partial = [0.0; 4];
    for (k, x) in values.enumerate() {
        partial[k & 3] += x;
    }
    (partial[0] + partial[2]) + (partial[1] + partial[3])
}
