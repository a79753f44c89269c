//! Tables in memory: rows of numbers with their labels, and small tables of text.

use mahala::data::{Embeddings, SparseRows};

use crate::error::{ReadError, shell};

/// A table of finite numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file, as the user named it.
    pub source: String,
    /// The names of the features.
    pub names: Vec<String>,
    /// The features of all rows, row after row; empty if they are held in another way.
    pub rows: Vec<f64>,
    /// The rows, if they are sparse.
    pub sparse: Option<SparseRows>,
    /// The rows, if [`RowsHeld::OrSingle`](crate::RowsHeld::OrSingle) was asked for and no cell needs 64 bits.
    pub embeddings: Option<Embeddings>,
    /// Whether the file has all features in single or half precision.
    pub single: bool,
    /// The number of rows.
    pub n: usize,
    /// The number of data rows in the file, with those that were left out.
    pub records: u64,
    /// The label of each row.
    pub labels: Option<Vec<String>>,
    /// The position of each row among the data rows of the file, counted from 1.
    pub row_numbers: Vec<u64>,
    /// The cells, as indices into `rows`, that hold the mean of their column in this file.
    pub gaps: Vec<usize>,
    /// What the user should hear.
    pub notes: Vec<String>,
}

/// A small table of text, such as a file of pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Records {
    /// The file, as the user named it.
    pub source: String,
    /// The names of the columns, if the file has a header.
    pub names: Option<Vec<String>>,
    /// The cells of each record, after the number of the line on which it begins.
    pub rows: Vec<(u64, Vec<String>)>,
}

impl Table {
    /// Takes a column out of the features.
    ///
    /// # Errors
    /// No such column, or no other.
    pub fn take_column(&mut self, name: &str) -> Result<Vec<f64>, ReadError> {
        let d = self.names.len();
        let Some(at) = self.names.iter().position(|other| other == name) else {
            let message = format!("there is no column '{name}'; the columns are {}", self.names.join(", "));
            return Err(ReadError::new(&self.source, message));
        };
        if d == 1 {
            let message = format!("no feature columns are left beside '{name}'");
            return Err(ReadError::new(&self.source, message));
        }
        let column = self.rows.iter().skip(at).step_by(d).copied().collect();
        let mut cell = 0..;
        self.rows.retain(|_| cell.next().is_none_or(|i: usize| i % d != at));
        self.names.remove(at);
        Ok(column)
    }

    /// Keeps these rows of a table whose missing cells are dealt with.
    pub(crate) fn keep_rows(&mut self, kept: &[usize]) {
        let d = self.names.len();
        match (&mut self.sparse, self.embeddings.take()) {
            (Some(sparse), _) => *sparse = sparse.subset(kept),
            (None, Some(rows)) => self.embeddings = rows.subset(kept).ok(),
            (None, None) => {
                self.rows = kept.iter().flat_map(|&i| &self.rows[i * d..][..d]).copied().collect();
            }
        }
        self.row_numbers = kept.iter().map(|&i| self.row_numbers[i]).collect();
        self.n = kept.len();
    }

    /// One cell of rows that are not sparse.
    fn cell(&self, i: usize, j: usize) -> f64 {
        self.embeddings.as_ref().map_or_else(|| self.rows[i * self.names.len() + j], |rows| rows.cell(i, j))
    }

    /// Notes columns that only count the rows: identifiers, which say nothing about likeness.
    pub(crate) fn note_row_counters(&mut self) {
        const FEWEST: usize = 5;
        if self.n < FEWEST || self.sparse.is_some() {
            return;
        }
        for (j, name) in self.names.iter().enumerate() {
            let first = self.cell(0, j) - self.row_numbers[0] as f64;
            // Differences of whole numbers are exact, so that equality is what is meant.
            let numbers = self.row_numbers.iter().enumerate();
            let mut steps = numbers.map(|(i, &row)| self.cell(i, j) - row as f64 - first);
            if [0.0, -1.0].contains(&first) && steps.all(|step| step == 0.0) {
                self.notes.push(format!(
                    "column '{name}' counts the rows; if it is an identifier: --ignore {}",
                    shell(name)
                ));
            }
        }
    }
}

/// Refuses more numbers than may be held.
pub(crate) fn check_bytes(source: &str, numbers: usize, most: Option<u64>) -> Result<(), ReadError> {
    match most {
        Some(most) if 8 * numbers as u64 > most => Err(ReadError::too_large(source, most)),
        _ => Ok(()),
    }
}
