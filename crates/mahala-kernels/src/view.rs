//! Contiguous columns as slices, and checks for NaN and infinity.

use crate::error::{Error, Result};
use crate::reduce::sum_by_lanes;
use faer::{MatMut, MatRef};

/// One column of an owned matrix, or of a submatrix of one, as a slice.
pub fn column(matrix: MatRef<'_, f64>, j: usize) -> &[f64] {
    matrix.col(j).try_as_col_major().expect("an owned matrix has contiguous columns").as_slice()
}

/// One column of an owned matrix, or of a submatrix of one, as a mutable slice.
pub fn column_mut(matrix: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    matrix.col_mut(j).try_as_col_major_mut().expect("an owned matrix has contiguous columns").as_slice_mut()
}

/// Fails at the first entry of the lower triangle that is NaN or infinite.
pub(crate) fn check_finite_lower(matrix: MatRef<'_, f64>) -> Result<()> {
    (0..matrix.ncols()).try_for_each(|column| check_finite_column(matrix, column, column))
}

/// Fails at the first entry that is NaN or infinite.
pub fn check_finite(matrix: MatRef<'_, f64>) -> Result<()> {
    (0..matrix.ncols()).try_for_each(|column| check_finite_column(matrix, column, 0))
}

fn check_finite_column(matrix: MatRef<'_, f64>, column: usize, from: usize) -> Result<()> {
    let below = matrix.col(column).subrows(from, matrix.nrows() - from);
    // x·0 is 0 for a finite number only; the sum needs no branch.
    let products = match below.try_as_col_major() {
        Some(below) => sum_by_lanes(below.as_slice(), below.as_slice(), |x, _| x * 0.0),
        None => below.iter().map(|x| x * 0.0).sum(),
    };
    if products == 0.0 {
        return Ok(());
    }
    let row = (from..matrix.nrows()).find(|&row| !matrix[(row, column)].is_finite()).unwrap_or(from);
    Err(Error::NotFinite { row, column, value: matrix[(row, column)] })
}
