//! Data types: rows, labels, data sets. All input is validated here: finite and consistent.

pub(crate) mod centered;
pub(crate) mod column_stats;
mod convert;
pub(crate) mod embeddings;
pub(crate) mod folds;
pub(crate) mod label_spelling;
mod labels;
pub(crate) mod random;
mod rows;
pub(crate) mod sparse;

pub use column_stats::ColumnStatistics;
pub use embeddings::{Cells, Embeddings, SharedCells};
pub use folds::Folds;
pub use label_spelling::{canonical_label, same_label};
pub use labels::Labels;
pub use random::{Random, Stream};
pub use rows::Rows;
pub use sparse::SparseRows;

pub(crate) use embeddings::Real;
pub(crate) use labels::{members_by_class, sort_class_names};
pub(crate) use rows::{check_cells, check_row_count};

use crate::error::{Error, Result};

/// Rows with a label each.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 1.0, 5.0, 6.0], 1)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "b", "b"]))?;
/// assert_eq!((data.len(), data.columns(), data.labels().class_count()), (4, 1, 2));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    rows: Rows,
    labels: Labels,
}

impl Dataset {
    /// Joins rows and labels.
    ///
    /// # Errors
    /// No row, or another number of labels than of rows.
    pub fn new(rows: Rows, labels: Labels) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::Empty { what: "the table of rows" });
        }
        if rows.len() != labels.len() {
            return Err(Error::Length { what: "labels", seen: labels.len(), expected: rows.len() });
        }
        Ok(Self { rows, labels })
    }

    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Always false: a data set has at least one row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }

    /// The chosen rows with their labels; the classes stay the same.
    ///
    /// # Panics
    /// If an index is not below `len()`.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        Self { rows: self.rows.subset(rows), labels: self.labels.subset(rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_cell_that_is_not_finite_is_located() {
        let error = Rows::new(vec![1.0, 2.0, 3.0, f64::INFINITY], 2).unwrap_err();
        assert_eq!(error, Error::NotFinite { row: 1, column: 1, value: f64::INFINITY });
        assert!(error.to_string().contains("row index 1, column index 1 is inf"), "{error}");
    }

    #[test]
    fn shared_rows_are_read_where_they_lie() {
        let cells = Arc::new(vec![1.0, 2.0, 3.0, 4.0]);
        let rows = Rows::shared(cells.clone(), 2).unwrap();
        assert_eq!(rows.values().as_ptr(), cells.as_ptr());
        assert_eq!(rows, Rows::new(cells.to_vec(), 2).unwrap());
        assert_eq!(rows.into_values(), *cells);
        assert!(Rows::shared(Arc::new([f64::NAN]), 1).is_err());
    }

    #[test]
    fn mixed_labels_are_ordered_as_text() {
        assert_eq!(Labels::new(["10", "9", "x"]).names(), ["10", "9", "x"]);
        assert_eq!(Labels::new(["-2", "10", "9"]).names(), ["-2", "9", "10"]);
    }

    #[test]
    fn a_subset_keeps_the_classes() {
        let labels = Labels::new(["a", "b", "c"]).subset(&[2, 2]);
        assert_eq!(labels.codes(), [2, 2]);
        assert_eq!(labels.class_sizes(), [0, 0, 2]);
    }

    #[test]
    fn more_rows_than_numbers_of_32_bits_are_refused() {
        check_row_count(u32::MAX as usize).unwrap();
        let error = check_row_count(1 << 32).unwrap_err().to_string();
        assert!(
            error.contains("the number of rows is 4294967296") && error.contains("4294967295"),
            "{error}"
        );
    }

    #[test]
    fn lengths_must_agree() {
        let rows = Rows::new(vec![1.0, 2.0], 1).unwrap();
        let error = Dataset::new(rows, Labels::new(["a"])).unwrap_err();
        assert_eq!(error.to_string(), "labels: 1 given, 2 expected");
        assert!(Rows::new(vec![1.0; 3], 2).is_err());
        assert!(Rows::new(vec![], 0).is_err());
    }
}
