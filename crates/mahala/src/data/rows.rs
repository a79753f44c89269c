//! Dense rows: a row-major matrix of finite numbers.

use crate::error::{Error, Result};
use faer::MatRef;
use mahala_kernels::reduce::sum_by_lanes;
use mahala_kernels::rows::RowsRef;
use std::sync::Arc;

/// Rows of finite numbers, `len() × columns()`, each row contiguous.
///
/// ```
/// use mahala::Rows;
/// let rows = Rows::new(vec![1.0, 2.0, 3.0, 4.0], 2)?;
/// assert_eq!(rows.row(1), [3.0, 4.0]);
/// assert!(Rows::new(vec![1.0, f64::NAN], 2).is_err());
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Clone)]
pub struct Rows {
    values: Values,
    columns: usize,
}

/// Cells that the library owns, or that it borrows without a copy. Both are shared: a clone copies no cell.
#[derive(Clone)]
enum Values {
    Owned(Arc<Vec<f64>>),
    Shared(Arc<dyn AsRef<[f64]> + Send + Sync>),
}

impl Rows {
    /// Takes row-major values.
    ///
    /// # Errors
    /// A NaN or an infinity, no column, or a number of values that is no multiple of `columns`.
    pub fn new(values: Vec<f64>, columns: usize) -> Result<Self> {
        check_cells(&values, columns)?;
        Ok(Self { values: Values::Owned(Arc::new(values)), columns })
    }

    /// Borrows row-major values without a copy. They must not change while the rows are in use.
    ///
    /// # Errors
    /// A NaN or an infinity, no column, or a number of values that is no multiple of `columns`.
    pub fn shared(values: Arc<dyn AsRef<[f64]> + Send + Sync>, columns: usize) -> Result<Self> {
        check_cells((*values).as_ref(), columns)?;
        Ok(Self { values: Values::Shared(values), columns })
    }

    /// Copies a matrix of any layout.
    ///
    /// # Errors
    /// A NaN or an infinity, no column, or a number of values that is no multiple of `columns`.
    pub fn from_mat(matrix: MatRef<'_, f64>) -> Result<Self> {
        let mut values = Vec::with_capacity(matrix.nrows() * matrix.ncols());
        for i in 0..matrix.nrows() {
            values.extend((0..matrix.ncols()).map(|j| matrix[(i, j)]));
        }
        Self::new(values, matrix.ncols())
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.values().len() / self.columns
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values()[i * self.columns..(i + 1) * self.columns]
    }

    /// All cells, row by row.
    pub fn values(&self) -> &[f64] {
        match &self.values {
            Values::Owned(values) => values,
            Values::Shared(values) => (**values).as_ref(),
        }
    }

    /// All cells, row by row; copied if they are borrowed, or shared with a clone.
    pub fn into_values(self) -> Vec<f64> {
        match self.values {
            Values::Owned(values) => Arc::unwrap_or_clone(values),
            Values::Shared(values) => (*values).as_ref().to_vec(),
        }
    }

    /// The rows as a view for the kernels.
    pub(crate) fn view(&self) -> RowsRef<'_> {
        RowsRef::new(self.values(), self.columns)
    }

    /// The rows as a matrix, `len() × columns()`.
    pub fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(self.values(), self.len(), self.columns)
    }

    /// The chosen rows, in the order given.
    ///
    /// # Panics
    /// If an index is not below `len()`.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i)));
        Self { values: Values::Owned(Arc::new(values)), columns: self.columns }
    }

    /// Row `i` of `self` minus row `i` of `other`: pairs given as two tables of equal shape.
    ///
    /// # Errors
    /// Different shapes, or a difference beyond the range of 64-bit numbers.
    pub fn minus(&self, other: &Self) -> Result<Self> {
        if self.columns != other.columns {
            return Err(Error::Length {
                what: "columns of the second table",
                seen: other.columns,
                expected: self.columns,
            });
        }
        if self.len() != other.len() {
            return Err(Error::Length {
                what: "rows of the second table",
                seen: other.len(),
                expected: self.len(),
            });
        }
        let values = self.values().iter().zip(other.values()).map(|(a, b)| a - b).collect();
        Self::new(values, self.columns).map_err(|_| Error::OutOfRange { what: "the difference of two rows" })
    }

    /// Every row with column `j` divided by `scale[j]`.
    ///
    /// # Errors
    /// A quotient beyond the range of 64-bit numbers.
    pub(crate) fn divided_by(&self, scale: &[f64]) -> Result<Self> {
        let values = self.values().chunks_exact(self.columns).flat_map(|row| row.iter().zip(scale));
        Self::new(values.map(|(x, s)| x / s).collect(), self.columns)
            .map_err(|_| Error::OutOfRange { what: "a standardised cell" })
    }

    /// Wraps values that are finite by construction.
    pub(crate) fn from_finite(values: Vec<f64>, columns: usize) -> Self {
        debug_assert!(values.iter().all(|v| v.is_finite()));
        Self { values: Values::Owned(Arc::new(values)), columns }
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns && self.values() == other.values()
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("columns", &self.columns).field("values", &self.values()).finish()
    }
}

/// Row indices have 32 bits in the neighbour search, in the pairs of a learner and in compressed columns.
pub(crate) fn check_row_count(rows: usize) -> Result<()> {
    if u32::try_from(rows).is_ok() {
        return Ok(());
    }
    let allowed = "at most 4294967295 (learn on some of them, or on moments)";
    Err(Error::Parameter { name: "the number of rows", value: rows.to_string(), allowed })
}

/// Row-major cells must fill their rows, and be finite.
pub(crate) fn check_cells(values: &[f64], columns: usize) -> Result<()> {
    if columns == 0 {
        return Err(Error::Empty { what: "the list of columns" });
    }
    if !values.len().is_multiple_of(columns) {
        let expected = values.len().next_multiple_of(columns);
        return Err(Error::Length { what: "cells of a table", seen: values.len(), expected });
    }
    check_row_count(values.len() / columns)?;
    // v·0 is 0 for a finite number only; the sum needs no branch, and most tables are finite.
    let finite = values.chunks(1024).all(|chunk| sum_by_lanes(chunk, chunk, |v, _| v * 0.0) == 0.0);
    if !finite && let Some(at) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::NotFinite { row: at / columns, column: at % columns, value: values[at] });
    }
    Ok(())
}
