//! Sparse rows in compressed sparse row format (CSR).

use crate::data::{Rows, check_row_count};
use crate::error::{Error, Result};
use faer::{Mat, MatRef};
use mahala_kernels::view::column;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of finite numbers of which only the nonzero ones are stored (CSR).
///
/// ```
/// use mahala::data::SparseRows;
/// // 0 5 0
/// // 7 0 1
/// let rows = SparseRows::new(vec![0, 1, 3], vec![1, 0, 2], vec![5.0, 7.0, 1.0], 3)?;
/// assert_eq!(rows.row(1).collect::<Vec<_>>(), [(0, 7.0), (2, 1.0)]);
/// assert_eq!(rows.to_rows()?.row(0), [0.0, 5.0, 0.0]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    columns: usize,
    /// Where each row begins, and where the last one ends.
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// Rows multiplied at a time: fixed, so that the bits do not depend on the number of threads.
const BLOCK: usize = 64;

impl SparseRows {
    /// Builds the rows from the CSR arrays: row `i` has the cells `starts[i]..starts[i + 1]` of `indices`
    /// (columns, ascending) and `values`.
    ///
    /// # Errors
    /// Arrays of inconsistent lengths, columns that do not ascend or are too large, cells not finite.
    pub fn new(starts: Vec<usize>, indices: Vec<u32>, values: Vec<f64>, columns: usize) -> Result<Self> {
        if columns == 0 {
            return Err(Error::Empty { what: "the list of columns" });
        }
        if starts.first() != Some(&0) || starts.windows(2).any(|two| two[0] > two[1]) {
            let allowed = "ascending from 0";
            return Err(Error::Parameter { name: "the list of row starts", value: "not so".into(), allowed });
        }
        check_row_count(starts.len() - 1)?;
        let cells = starts.last().copied().unwrap_or(0);
        for (what, seen) in [("columns of sparse cells", indices.len()), ("sparse cells", values.len())] {
            if seen != cells {
                return Err(Error::Length { what, seen, expected: cells });
            }
        }
        for (row, two) in starts.windows(2).enumerate() {
            let (indices, values) = (&indices[two[0]..two[1]], &values[two[0]..two[1]]);
            if indices.windows(2).any(|two| two[0] >= two[1])
                || indices.last().is_some_and(|&j| j as usize >= columns)
            {
                let value = format!("not so in row index {row}");
                let allowed = "ascending within a row, and below the number of columns";
                return Err(Error::Parameter { name: "the list of sparse columns", value, allowed });
            }
            if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { row, column: indices[at] as usize, value: values[at] });
            }
        }
        Ok(Self { columns, starts, indices, values })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of cells stored.
    pub fn cells(&self) -> usize {
        self.values.len()
    }

    /// The cells of row `i`, as column and value.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.indices[range.clone()].iter().map(|&j| j as usize).zip(self.values[range].iter().copied())
    }

    /// The rows in dense form.
    ///
    /// # Errors
    /// None: the cells are finite.
    pub fn to_rows(&self) -> Result<Rows> {
        let mut values = vec![0.0; self.len() * self.columns];
        for (i, dense) in values.chunks_exact_mut(self.columns).enumerate() {
            self.row(i).for_each(|(j, x)| dense[j] = x);
        }
        Rows::new(values, self.columns)
    }

    /// The rows with these indices, in this order.
    ///
    /// # Panics
    /// If an index names no row.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        let mut part =
            Self { columns: self.columns, starts: vec![0], indices: Vec::new(), values: Vec::new() };
        for &i in rows {
            let range = self.starts[i]..self.starts[i + 1];
            part.indices.extend_from_slice(&self.indices[range.clone()]);
            part.values.extend_from_slice(&self.values[range]);
            part.starts.push(part.values.len());
        }
        part
    }

    /// Mean and standard deviation (over n) of each column.
    pub(crate) fn mean_and_deviation(&self) -> (Vec<f64>, Vec<f64>) {
        let n = self.len() as f64;
        let (mut mean, mut stored) = (vec![0.0; self.columns], vec![0usize; self.columns]);
        for (&j, x) in self.indices.iter().zip(&self.values) {
            mean[j as usize] += x / n;
            stored[j as usize] += 1;
        }
        let mut variance: Vec<f64> =
            mean.iter().zip(&stored).map(|(m, &k)| (n - k as f64) / n * m * m).collect();
        for (&j, x) in self.indices.iter().zip(&self.values) {
            variance[j as usize] += (x - mean[j as usize]).powi(2) / n;
        }
        (mean, variance.into_iter().map(f64::sqrt).collect())
    }

    /// Each column times a factor.
    #[must_use]
    pub(crate) fn scaled(&self, factors: &[f64]) -> Self {
        let values = self.indices.iter().zip(&self.values).map(|(&j, x)| x * factors[j as usize]).collect();
        Self { values, ..self.clone() }
    }

    /// The transpose.
    pub(crate) fn transposed(&self) -> Self {
        let mut starts = vec![0; self.columns + 1];
        self.indices.iter().for_each(|&j| starts[j as usize + 1] += 1);
        (0..self.columns).for_each(|j| starts[j + 1] += starts[j]);
        let mut next = starts.clone();
        let (mut indices, mut values) = (vec![0; self.cells()], vec![0.0; self.cells()]);
        for i in 0..self.len() {
            for (j, x) in self.row(i) {
                indices[next[j]] = i as u32;
                values[next[j]] = x;
                next[j] += 1;
            }
        }
        Self { columns: self.len(), starts, indices, values }
    }

    /// `X·Bᵀ` for a range of rows and `B` of `width × columns()`; row-major.
    pub(crate) fn times(&self, rows: Range<usize>, b: MatRef<'_, f64>) -> Vec<f64> {
        let width = b.nrows();
        let owned = if b.try_as_col_major().is_some() { None } else { Some(b.to_owned()) };
        let b = owned.as_ref().map_or(b, Mat::as_ref);
        let mut out = vec![0.0; rows.len() * width];
        out.par_chunks_mut(BLOCK * width).enumerate().for_each(|(block, out)| {
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                for (j, x) in self.row(rows.start + block * BLOCK + i) {
                    out.iter_mut().zip(column(b, j)).for_each(|(o, b)| *o += x * b);
                }
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SparseRows {
        SparseRows::new(vec![0, 2, 2, 3], vec![0, 3, 1], vec![2.0, -1.0, 4.0], 4).unwrap()
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        assert!(SparseRows::new(vec![0, 1], vec![0], vec![1.0], 0).is_err());
        assert!(SparseRows::new(vec![], vec![], vec![], 1).is_err());
        assert!(SparseRows::new(vec![0, 2, 1], vec![0, 1], vec![1.0, 1.0], 2).is_err());
        assert!(SparseRows::new(vec![0, 3], vec![0, 1], vec![1.0, 1.0], 2).is_err());
        assert!(SparseRows::new(vec![0, 2], vec![1, 1], vec![1.0, 1.0], 2).is_err());
        assert!(SparseRows::new(vec![0, 1], vec![2], vec![1.0], 2).is_err());
        let error = SparseRows::new(vec![0, 0, 1], vec![1], vec![f64::NAN], 2).unwrap_err();
        assert!(matches!(error, Error::NotFinite { row: 1, column: 1, .. }), "{error}");
    }

    #[test]
    fn columns_and_rows_change_places() {
        let rows = example();
        let transposed = rows.transposed();
        assert_eq!(transposed.len(), 4);
        assert_eq!(transposed.row(1).collect::<Vec<_>>(), [(2, 4.0)]);
        assert_eq!(transposed.transposed(), rows);
    }

    #[test]
    fn statistics_and_products_are_those_of_the_dense_rows() {
        let rows = example();
        let dense = rows.to_rows().unwrap();
        let (mean, deviation) = rows.mean_and_deviation();
        let statistics = crate::data::column_stats::ColumnStatistics::of(&dense);
        for j in 0..4 {
            assert!((mean[j] - statistics.mean[j]).abs() < 1e-15);
            let scale = if deviation[j] == 0.0 { 1.0 } else { deviation[j] };
            assert!((scale - statistics.scale[j]).abs() < 1e-15);
        }
        let b = faer::Mat::from_fn(2, 4, |i, j| (2 * j + i) as f64);
        assert_eq!(rows.times(0..3, b.as_ref()), [-6.0, -5.0, 0.0, 0.0, 8.0, 12.0]);
        // For either memory layout.
        let transposed = b.transpose().to_owned();
        assert_eq!(rows.times(0..3, transposed.transpose()), rows.times(0..3, b.as_ref()));
    }
}
