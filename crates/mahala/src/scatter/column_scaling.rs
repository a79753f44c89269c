//! Column scaling by powers of two: columns of extreme scale get a power of two of their own, which is exact and
//! keeps squares of 1e±150 in range.

use faer::{Mat, MatRef};
use mahala_kernels::scaling::{exponent_of, times_power_of_two};

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

    /// The units for columns with these largest absolute values.
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

    /// The units after values with these peaks are added.
    pub(crate) fn widened(&self, peaks: &[f64]) -> Self {
        Self::from_peaks(self.peaks.iter().zip(peaks).map(|(a, b)| a.max(*b)).collect())
    }

    /// The exponents by which sums in the units `self` are shifted to the units `other`; None if all are 0.
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
pub fn column_peaks<T: Copy + Into<f64>>(rows: MatRef<'_, T>) -> Vec<f64> {
    let mut peaks = vec![0.0f64; rows.ncols()];
    // x·0 is 0 for a finite number only; sums need no branch.
    let mut checks = vec![0.0f64; rows.ncols()];
    let see = |peak: &mut f64, check: &mut f64, x: T| {
        let x: f64 = x.into();
        *peak = if x.abs() > *peak { x.abs() } else { *peak };
        *check += x * 0.0;
    };
    let merge_lane = |peak: &mut f64, check: &mut f64, other: f64, checked: f64| {
        *peak = peak.max(other);
        *check += checked;
    };
    if let Some(rows) = rows.try_as_row_major() {
        for i in 0..rows.nrows() {
            let cells = peaks.iter_mut().zip(&mut checks).zip(rows.row(i).as_slice());
            cells.for_each(|((peak, check), x)| see(peak, check, *x));
        }
    } else {
        for (j, (peak, check)) in peaks.iter_mut().zip(&mut checks).enumerate() {
            let column = rows.col(j);
            let Some(cells) = column.try_as_col_major() else {
                column.iter().for_each(|x| see(peak, check, *x));
                continue;
            };
            // Eight lanes, for SIMD.
            let (mut lanes, mut checked) = ([0.0; 8], [0.0; 8]);
            let (chunks, rest) = cells.as_slice().as_chunks::<8>();
            for chunk in chunks {
                (0..8).for_each(|k| see(&mut lanes[k], &mut checked[k], chunk[k]));
            }
            rest.iter().for_each(|x| see(peak, check, *x));
            (0..8).for_each(|k| merge_lane(peak, check, lanes[k], checked[k]));
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
