//! Collecting rows into a table, with a policy for missing cells.

use crate::cell::is_infinity;
use crate::columns::Plan;
use crate::error::{ReadError, at_column, count, infinite_label, shell};
use crate::options::{Missing, ReadOptions};
use crate::table::{Table, check_bytes};

/// Rows on their way into a table. A missing cell is NaN until its row is complete.
pub(crate) struct Collector {
    pub(crate) notes: Vec<String>,
    source: String,
    /// What positions count: lines of text, or rows.
    unit: &'static str,
    names: Vec<String>,
    label_name: Option<String>,
    policy: Missing,
    means: Option<Vec<f64>>,
    gaps: Vec<usize>,
    most_bytes: Option<u64>,
    rows: Vec<f64>,
    labels: Vec<String>,
    row_numbers: Vec<u64>,
    missing: Tally,
}

#[derive(Default)]
struct Tally {
    cells: u64,
    rows: u64,
    labels: u64,
    first: Vec<(u64, usize)>,
}

const REMEDY: &str = "--missing mean fills in column means, --missing drop leaves such rows out, \
                      --missing zero fills in 0";
/// How many missing cells a message points at.
const POINTED_AT: usize = 3;

impl Collector {
    pub(crate) fn new(source: &str, unit: &'static str, plan: &Plan, options: &ReadOptions) -> Self {
        Self {
            notes: Vec::new(),
            source: source.to_owned(),
            unit,
            names: plan.names.clone(),
            label_name: plan.label_name.clone(),
            policy: options.missing,
            means: options.means.clone(),
            gaps: Vec::new(),
            most_bytes: options.most_bytes,
            rows: Vec::new(),
            labels: Vec::new(),
            row_numbers: Vec::new(),
            missing: Tally::default(),
        }
    }

    /// Makes room for rows whose number is known, and known to be honest.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows.saturating_mul(self.names.len()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.row_numbers.is_empty()
    }

    /// Adds the next cell of the row; NaN if it is missing.
    pub(crate) fn push(&mut self, cell: f64) {
        self.rows.push(cell);
    }

    /// Ends a row: the `number`-th of the file, at line or row `position`, with its label, if the
    /// file has labels and this one is not missing.
    pub(crate) fn end_row(
        &mut self,
        number: u64,
        position: u64,
        label: Option<String>,
    ) -> Result<(), ReadError> {
        let start = self.rows.len() - self.names.len();
        if self.rows[start..].iter().any(|cell| cell.is_nan()) {
            self.meet_missing(start, position);
        }
        if self.rows.len() == start {
            return Ok(());
        }
        match (label, &self.label_name) {
            (Some(label), name) if is_infinity(label.as_bytes()) => {
                let name = name.as_deref().unwrap_or_default();
                return Err(infinite_label(at_column(&self.source, self.unit, position, name), &label));
            }
            (Some(label), _) => self.labels.push(label),
            (None, Some(_)) if self.policy == Missing::Drop => {
                self.missing.labels += 1;
                self.rows.truncate(start);
                return Ok(());
            }
            (None, Some(name)) => return Err(self.missing_label(position, name)),
            (None, None) => {}
        }
        self.row_numbers.push(number);
        check_bytes(&self.source, self.rows.len(), self.most_bytes)
    }

    fn meet_missing(&mut self, start: usize, position: u64) {
        self.missing.rows += 1;
        for j in 0..self.names.len() {
            if self.rows[start + j].is_nan() {
                self.missing.cells += 1;
                if self.missing.first.len() < POINTED_AT {
                    self.missing.first.push((position, j));
                }
                if self.policy == Missing::Zero {
                    self.rows[start + j] = 0.0;
                }
            }
        }
        if self.policy == Missing::Drop {
            self.rows.truncate(start);
        }
    }

    /// The table, with the missing cells dealt with.
    pub(crate) fn finish(mut self) -> Result<Table, ReadError> {
        self.deal_with_missing()?;
        if self.row_numbers.is_empty() {
            return Err(self.no_rows());
        }
        Ok(Table {
            source: self.source,
            n: self.row_numbers.len(),
            names: self.names,
            rows: self.rows,
            sparse: None,
            labels: self.label_name.map(|_| self.labels),
            row_numbers: self.row_numbers,
            gaps: self.gaps,
            notes: self.notes,
        })
    }

    fn deal_with_missing(&mut self) -> Result<(), ReadError> {
        let Tally { cells, rows, labels, .. } = self.missing;
        if labels > 0 {
            self.notes.push(format!("{} dropped: missing label", count(labels, "row")));
        }
        if cells == 0 {
            return Ok(());
        }
        let seen = count(cells, "missing cell");
        match self.policy {
            Missing::Refuse => return Err(self.refused()),
            Missing::Drop => {
                self.notes.push(format!("{} dropped: missing cells", count(rows, "row")));
            }
            Missing::Zero => self.notes.push(format!("{seen} replaced by 0")),
            Missing::Mean => {
                let whose =
                    if self.means.is_some() { "the means of the training rows" } else { "column means" };
                self.fill_means()?;
                self.notes.push(format!("{seen} replaced by {whose}"));
            }
        }
        Ok(())
    }

    fn fill_means(&mut self) -> Result<(), ReadError> {
        let d = self.names.len();
        let gaps: Vec<usize> = (0..self.rows.len()).filter(|&cell| self.rows[cell].is_nan()).collect();
        if let Some(means) = &self.means {
            gaps.iter().for_each(|&cell| self.rows[cell] = means[cell % d]);
            return Ok(());
        }
        let mut means = vec![None; d];
        for &cell in &gaps {
            let j = cell % d;
            if means[j].is_none() {
                let column = self.rows.iter().skip(j).step_by(d).copied();
                means[j] = mean(column.filter(|cell| !cell.is_nan()));
            }
            let Some(mean) = means[j] else {
                let message = format!("column '{}' has no value in any row", self.names[j]);
                return Err(ReadError::new(&self.source, message)
                    .hint(format!("leave it out with --ignore {}", shell(&self.names[j]))));
            };
            self.rows[cell] = mean;
        }
        self.gaps = gaps;
        Ok(())
    }

    fn refused(&self) -> ReadError {
        let places = self.missing.first.iter();
        let places =
            places.map(|&(position, j)| format!("{} {position}, column '{}'", self.unit, self.names[j]));
        let places: Vec<String> = places.collect();
        let more = if self.missing.cells > POINTED_AT as u64 { "; …" } else { "" };
        let message = format!(
            "{} in {}: {}{more}",
            count(self.missing.cells, "missing cell"),
            count(self.missing.rows, "row"),
            places.join("; ")
        );
        ReadError::new(&self.source, message).hint(REMEDY)
    }

    fn missing_label(&self, position: u64, name: &str) -> ReadError {
        let place = at_column(&self.source, self.unit, position, name);
        ReadError::new(place, "the label is missing")
            .hint("labels such as NA, None and ? are missing too; --missing drop leaves these rows out")
    }

    fn no_rows(&self) -> ReadError {
        let dropped = self.missing.rows + self.missing.labels;
        if dropped == 0 {
            ReadError::new(&self.source, "the file has no rows")
        } else {
            let message = format!("no rows are left: all {dropped} have missing cells");
            ReadError::new(&self.source, message)
                .hint("leave the emptiest columns out with --ignore, or choose --missing mean")
        }
    }
}

/// The mean of numbers; `None` if there are none.
pub fn mean(numbers: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = numbers.clone().count();
    let sum: f64 = numbers.clone().sum();
    // Dividing first keeps the sum of large numbers finite.
    let mean = if sum.is_finite() { sum / count as f64 } else { numbers.map(|x| x / count as f64).sum() };
    (count > 0).then_some(mean)
}
