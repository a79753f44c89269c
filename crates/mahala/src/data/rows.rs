//! Rows and labels: the only door for data. What passes it is finite and consistent.

use crate::canonical::canonical_label;
use crate::error::{Error, Result};
use crate::linalg::sum_of_eights;
use faer::MatRef;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
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

/// Cells of the library's own, or somebody else's, read where they lie.
#[derive(Clone)]
enum Values {
    Owned(Vec<f64>),
    Shared(Arc<dyn AsRef<[f64]> + Send + Sync>),
}

/// A label for each row: class names in order, and each row's class as a code into them.
///
/// Labels that spell one number are one class, see [`canonical_label`]. Names that are all integers are ordered as
/// numbers, others as text; the order decides ties in a vote of neighbours.
///
/// ```
/// use mahala::Labels;
/// let labels = Labels::new(["10", "9", "9.0"]);
/// assert_eq!(labels.names(), ["9", "10"]);
/// assert_eq!(labels.codes(), [1, 0, 0]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
    codes: Vec<u32>,
}

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

impl Rows {
    /// Takes row-major values.
    ///
    /// # Errors
    /// A NaN or an infinity, no column, or a number of values that is no multiple of `columns`.
    pub fn new(values: Vec<f64>, columns: usize) -> Result<Self> {
        check_cells(&values, columns)?;
        Ok(Self { values: Values::Owned(values), columns })
    }

    /// Takes row-major values that belong to somebody else, without a copy. They must not change while the
    /// rows are in use.
    ///
    /// # Errors
    /// As [`Rows::new`].
    pub fn shared(values: Arc<dyn AsRef<[f64]> + Send + Sync>, columns: usize) -> Result<Self> {
        check_cells((*values).as_ref(), columns)?;
        Ok(Self { values: Values::Shared(values), columns })
    }

    /// Copies a matrix of any layout.
    ///
    /// # Errors
    /// As [`Rows::new`].
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

    /// All cells, row by row; copied if they are somebody else's.
    pub fn into_values(self) -> Vec<f64> {
        match self.values {
            Values::Owned(values) => values,
            Values::Shared(values) => (*values).as_ref().to_vec(),
        }
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
        Self { values: Values::Owned(values), columns: self.columns }
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

    /// Wraps values that are finite by the way they were made.
    pub(crate) fn from_finite(values: Vec<f64>, columns: usize) -> Self {
        debug_assert!(values.iter().all(|v| v.is_finite()));
        Self { values: Values::Owned(values), columns }
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

/// Rows are numbered in 32 bits by the neighbour search, the pairs of a learner and compressed columns.
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
    let finite = values.chunks(1024).all(|chunk| sum_of_eights(chunk, chunk, |v, _| v * 0.0) == 0.0);
    if !finite && let Some(at) = values.iter().position(|v| !v.is_finite()) {
        return Err(Error::NotFinite { row: at / columns, column: at % columns, value: values[at] });
    }
    Ok(())
}

impl Labels {
    /// Labels as text; see the type for what is one class, and for their order.
    pub fn new<T: AsRef<str>>(labels: impl IntoIterator<Item = T>) -> Self {
        let mut spelled: BTreeMap<String, u32> = BTreeMap::new();
        let mut codes = Vec::new();
        for label in labels {
            let label = label.as_ref();
            let next = spelled.len() as u32;
            let code = match spelled.get(label) {
                Some(&code) => code,
                None => *spelled.entry(label.to_owned()).or_insert(next),
            };
            codes.push(code);
        }
        let mut spellings = vec![String::new(); spelled.len()];
        spelled.into_iter().for_each(|(label, code)| spellings[code as usize] = label);
        Self::merged(&spellings, codes)
    }

    /// Labels as codes into a list of spellings, of which several may be of one class: read block by block, or
    /// from a source with codes of its own.
    ///
    /// ```
    /// use mahala::Labels;
    /// let labels = Labels::from_spellings(&["2.0".into(), "2".into(), "1".into()], vec![0, 1, 2])?;
    /// assert_eq!(labels, Labels::new(["2", "2", "1"]));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A code beyond the list.
    pub fn from_spellings(spellings: &[String], codes: Vec<u32>) -> Result<Self> {
        check_codes(&codes, spellings.len())?;
        Ok(Self::merged(spellings, codes))
    }

    /// Spellings of one class become its canonical name. The codes must be below the number of spellings.
    fn merged(spellings: &[String], mut codes: Vec<u32>) -> Self {
        let mut named: Vec<(Cow<'_, str>, usize)> =
            spellings.iter().map(|label| canonical_label(label)).zip(0..).collect();
        sort_class_names(&mut named, |(name, _)| name);
        let mut names: Vec<String> = Vec::new();
        let mut class_of = vec![0u32; spellings.len()];
        for (name, spelling) in named {
            if names.last().is_none_or(|last| *last != *name) {
                names.push(name.into_owned());
            }
            class_of[spelling] = names.len() as u32 - 1;
        }
        codes.iter_mut().for_each(|code| *code = class_of[*code as usize]);
        Self { names, codes }
    }

    /// Labels as whole numbers.
    pub fn from_integers(labels: &[i64]) -> Self {
        Self::new(labels.iter().map(i64::to_string))
    }

    /// Labels as codes into a list of classes, whose names and order are kept: those of a model file.
    ///
    /// # Errors
    /// A code beyond the list, or a name that is there twice.
    pub fn from_parts(names: Vec<String>, codes: Vec<u32>) -> Result<Self> {
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some([name, ..]) = sorted.windows(2).find(|two| two[0] == two[1]) {
            let value = format!("'{name}' twice");
            return Err(Error::Parameter { name: "class name", value, allowed: "there only once" });
        }
        check_codes(&codes, names.len())?;
        Ok(Self { names, codes })
    }

    /// The class names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Each row's class, as an index into [`Labels::names`].
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The number of classes, those included that no row of a subset has.
    pub fn class_count(&self) -> usize {
        self.names.len()
    }

    /// How many rows each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.names.len()];
        self.codes.iter().for_each(|&code| sizes[code as usize] += 1);
        sizes
    }

    /// Refuses another number of labels than this.
    pub(crate) fn check_length(&self, what: &'static str, expected: usize) -> Result<()> {
        let seen = self.len();
        if seen == expected { Ok(()) } else { Err(Error::Length { what, seen, expected }) }
    }

    /// The labels of the chosen rows; the classes stay the same.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        Self { names: self.names.clone(), codes: rows.iter().map(|&i| self.codes[i]).collect() }
    }
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

fn check_codes(codes: &[u32], classes: usize) -> Result<()> {
    match codes.iter().find(|&&code| code as usize >= classes) {
        Some(code) => {
            let value = code.to_string();
            Err(Error::Parameter { name: "class code", value, allowed: "below the number of classes" })
        }
        None => Ok(()),
    }
}

/// Orders class names: as numbers if all are integers, else as text.
pub(crate) fn sort_class_names<T>(items: &mut [T], name: impl Fn(&T) -> &str) {
    let integers = items.iter().all(|item| name(item).parse::<i128>().is_ok());
    items.sort_by(|a, b| {
        let (a, b) = (name(a), name(b));
        let by_number = match (a.parse::<i128>(), b.parse::<i128>()) {
            (Ok(a), Ok(b)) if integers => a.cmp(&b),
            _ => Ordering::Equal,
        };
        by_number.then_with(|| a.cmp(b))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
