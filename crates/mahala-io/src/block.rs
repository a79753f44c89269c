//! The rows of one block of a file, and what was met on the way.

use std::collections::HashMap;

use mahala::{Labels, MatRef, Rows};

use crate::decimal_mark::DecimalMarks;
use crate::missing::Tally;
use crate::scalar::Scalar;

/// The rows of one block.
///
/// All cells are finite, except in the blocks of a table whose missing cells are dealt with at the end: there they are NaN.
pub struct Block {
    pub(crate) cells: Cells,
    pub(crate) columns: usize,
    pub(crate) labels: Option<LabelCodes>,
    /// The position of each row among the records of the block.
    pub(crate) positions: Vec<u32>,
    /// The records in the files before this block.
    pub(crate) before: u64,
    /// All records of the block, and what became of those that are no rows.
    pub(crate) tally: Tally,
    pub(crate) marks: Option<DecimalMarks>,
}

/// The numbers, in the order in which their file has them.
pub(crate) enum Cells {
    /// Row after row.
    Rows(Vec<f64>),
    /// Column after column.
    Columns(Vec<f64>),
}

impl Block {
    pub(crate) fn new(columns: usize, labelled: bool) -> Self {
        Self {
            cells: Cells::Rows(Vec::new()),
            columns,
            labels: labelled.then(LabelCodes::default),
            positions: Vec::new(),
            before: 0,
            tally: Tally::default(),
            marks: None,
        }
    }

    /// Counts a record that becomes a row, whose cells are added elsewhere.
    pub(crate) fn push_row(&mut self, label: Option<&str>) {
        if let (Some(labels), Some(label)) = (&mut self.labels, label) {
            let code = labels.of_text(label.as_bytes());
            labels.codes.push(code);
        }
        self.positions.push(self.tally.records as u32);
        self.tally.records += 1;
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether no record of the block became a row.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The rows as a matrix.
    pub fn matrix(&self) -> MatRef<'_, f64> {
        match &self.cells {
            Cells::Rows(cells) => MatRef::from_row_major_slice(cells, self.len(), self.columns),
            Cells::Columns(cells) => MatRef::from_column_major_slice(cells, self.len(), self.columns),
        }
    }

    /// Appends one row to others.
    pub fn append_row(&self, i: usize, to: &mut Vec<f64>) {
        match &self.cells {
            Cells::Rows(cells) => to.extend_from_slice(&cells[i * self.columns..][..self.columns]),
            Cells::Columns(cells) => to.extend(cells.iter().skip(i).step_by(self.len())),
        }
    }

    /// The cells row after row.
    pub fn into_row_major(self) -> Vec<f64> {
        match self.cells {
            Cells::Rows(cells) => cells,
            Cells::Columns(ref cells) => {
                let n = self.positions.len();
                let mut rows = vec![0.0; cells.len()];
                // A few columns at a time, so that cache lines are filled before they are evicted.
                for (first, columns) in (0..).step_by(8).zip(cells.chunks(8 * n.max(1))) {
                    for i in 0..n {
                        for (j, column) in (first..).zip(columns.chunks_exact(n)) {
                            rows[i * self.columns + j] = column[i];
                        }
                    }
                }
                rows
            }
        }
    }

    /// The rows, for the library.
    ///
    /// # Errors
    /// None that rows can have that were read.
    pub fn to_rows(&self) -> mahala::Result<Rows> {
        match &self.cells {
            Cells::Rows(cells) => Rows::new(cells.clone(), self.columns),
            Cells::Columns(_) => Rows::from_mat(self.matrix()),
        }
    }

    /// The labels, for the library; none if the table was read without.
    pub fn labels(&self) -> Option<mahala::Result<Labels>> {
        let labels = self.labels.as_ref()?;
        Some(Labels::from_spellings(&labels.names, labels.codes.clone()))
    }

    /// The label of a row; empty if there are none.
    pub fn label(&self, i: usize) -> &str {
        self.labels.as_ref().map_or("", |labels| &labels.names[labels.codes[i] as usize])
    }

    /// How many different labels there are.
    pub fn class_count(&self) -> usize {
        self.labels.as_ref().map_or(0, |labels| labels.names.len())
    }

    /// The position of each row among the records of all files, counted from 1.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.positions.iter().map(|&place| self.before + u64::from(place) + 1)
    }
}

/// Labels as codes, in the order in which they come.
#[derive(Default)]
pub(crate) struct LabelCodes {
    pub(crate) names: Vec<String>,
    pub(crate) codes: Vec<u32>,
    by_name: HashMap<Vec<u8>, u32>,
    by_integer: HashMap<i128, u32>,
    /// The codes of the integers from 0 on, of which most labels are; [`NEW`] for those not seen.
    by_small_integer: Vec<u32>,
}

const NEW: u32 = u32::MAX;
/// Integers below this are looked up by position.
const SMALL: usize = 4096;

impl LabelCodes {
    /// The code of a label as it is written.
    pub(crate) fn of_text(&mut self, text: &[u8]) -> u32 {
        // Rows of a class often follow each other.
        if let Some(&last) = self.codes.last()
            && self.names[last as usize].as_bytes() == text
        {
            return last;
        }
        if let Some(&code) = self.by_name.get(text) {
            return code;
        }
        let code = self.names.len() as u32;
        self.names.push(String::from_utf8_lossy(text).into_owned());
        self.by_name.insert(text.to_vec(), code);
        code
    }

    /// The code of a typed label; `None` if it is missing.
    pub(crate) fn of_scalar(&mut self, value: Scalar<'_>) -> Option<u32> {
        if let Scalar::Int(integer) = value
            && let Some(code) = self.of_integer(integer)
        {
            return Some(code);
        }
        if let Scalar::Text(text) = value
            && let Some(&code) = self.by_name.get(text)
        {
            return Some(code);
        }
        let code = self.of_text(value.label()?.as_bytes());
        if let Scalar::Int(integer) = value {
            self.remember(integer, code);
        }
        Some(code)
    }

    fn of_integer(&self, integer: i128) -> Option<u32> {
        match usize::try_from(integer) {
            Ok(small) if small < SMALL => {
                self.by_small_integer.get(small).copied().filter(|&code| code != NEW)
            }
            _ => self.by_integer.get(&integer).copied(),
        }
    }

    fn remember(&mut self, integer: i128, code: u32) {
        match usize::try_from(integer) {
            Ok(small) if small < SMALL => {
                let length = self.by_small_integer.len().max(small + 1);
                self.by_small_integer.resize(length, NEW);
                self.by_small_integer[small] = code;
            }
            _ => {
                self.by_integer.insert(integer, code);
            }
        }
    }
}
