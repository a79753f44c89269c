//! What becomes of a row with missing cells or without a label: one policy for every format.

use crate::columns::Plan;
use crate::error::{ReadError, at_column, count, infinite_label};
use crate::options::{Missing, ReadOptions};

/// How many bad rows or missing cells a message points at.
const POINTED_AT: usize = 3;

const REMEDY: &str = "--missing mean fills in column means, --missing drop leaves such rows out, \
                      --missing zero fills in 0";

/// The policy for the rows of one file.
pub(crate) struct RowPolicy {
    source: String,
    /// What positions count: lines of text, or rows.
    unit: &'static str,
    names: Vec<String>,
    label_name: Option<String>,
    missing: Missing,
    means: Option<Vec<f64>>,
    /// Missing cells stay NaN: what fills them in, or refuses them, needs all rows.
    keeps_gaps: bool,
}

/// The label of a row, as far as the policy looks at it.
#[derive(Clone, Copy)]
pub(crate) enum RowLabel<'a> {
    /// The file is read without labels.
    Unread,
    Missing,
    Present(&'a str),
}

impl<'a> RowLabel<'a> {
    /// The label that was read, if the file has labels and this one is not missing.
    pub(crate) fn of(label: Option<&'a Option<String>>) -> Self {
        match label {
            None => Self::Unread,
            Some(None) => Self::Missing,
            Some(Some(label)) => Self::Present(label),
        }
    }
}

/// What was met on the way through some rows.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    /// All records, bad ones too.
    pub(crate) records: u64,
    pub(crate) bad: u64,
    /// What was wrong with the first bad rows.
    places: Vec<String>,
    /// Rows dropped for a missing cell, and for a missing label.
    pub(crate) dropped: u64,
    pub(crate) unlabelled: u64,
    /// Missing cells that were filled in.
    filled: u64,
    pub(crate) gaps: Gaps,
}

/// Missing cells that stay NaN until all rows are there.
#[derive(Clone, Default)]
pub(crate) struct Gaps {
    pub(crate) cells: u64,
    rows: u64,
    /// Position and feature of the first.
    first: Vec<(u64, usize)>,
}

impl RowPolicy {
    /// `keeps_gaps` says that all rows will be in memory when the missing cells are dealt with.
    pub(crate) fn new(
        source: &str,
        unit: &'static str,
        plan: &Plan,
        options: &ReadOptions,
        keeps_gaps: bool,
    ) -> Self {
        Self {
            source: source.to_owned(),
            unit,
            names: plan.names.clone(),
            label_name: plan.label_name.clone(),
            missing: options.missing,
            means: options.means.clone(),
            keeps_gaps,
        }
    }

    /// Whether a row is kept; its missing cells, which are NaN, are filled in if so asked.
    ///
    /// # Errors
    /// A row that can be neither kept nor dropped.
    pub(crate) fn check(
        &self,
        row: &mut [f64],
        position: u64,
        label: RowLabel<'_>,
        tally: &mut Tally,
    ) -> Result<bool, ReadError> {
        let mut filled = 0;
        if let Some(slot) = row.iter().position(|cell| cell.is_nan()) {
            match (self.missing, &self.means) {
                (Missing::Drop, _) => {
                    tally.dropped += 1;
                    return Ok(false);
                }
                (Missing::Zero, _) => filled = fill(row, |_| 0.0),
                (Missing::Mean, Some(means)) => filled = fill(row, |slot| means[slot]),
                (Missing::Refuse | Missing::Mean, _) if self.keeps_gaps => tally.gaps.meet(row, position),
                (Missing::Refuse | Missing::Mean, _) => {
                    return Err(missing_cell(self.place(position, &self.names[slot])));
                }
            }
        }
        let label_name = self.label_name.as_deref().unwrap_or_default();
        match label {
            RowLabel::Missing if self.missing == Missing::Drop => {
                tally.unlabelled += 1;
                return Ok(false);
            }
            RowLabel::Missing => return Err(missing_label(self.place(position, label_name))),
            RowLabel::Present(label) if crate::cell::is_infinity(label.as_bytes()) => {
                return Err(infinite_label(self.place(position, label_name), label));
            }
            RowLabel::Present(_) | RowLabel::Unread => {}
        }
        tally.filled += filled;
        Ok(true)
    }

    /// Refuses a cell that is no finite number.
    pub(crate) fn infinite_cell(&self, position: u64, slot: usize, value: f64) -> ReadError {
        ReadError::new(self.place(position, &self.names[slot]), format!("{value} is not a finite number"))
    }

    /// Refuses the missing cells of a whole table.
    pub(crate) fn refuse(&self, gaps: &Gaps) -> ReadError {
        let place =
            |&(position, j): &(u64, usize)| format!("{} {position}, column '{}'", self.unit, self.names[j]);
        let places: Vec<String> = gaps.first.iter().map(place).collect();
        let more = if gaps.cells > POINTED_AT as u64 { "; …" } else { "" };
        let message = format!(
            "{} in {}: {}{more}",
            count(gaps.cells, "missing cell"),
            count(gaps.rows, "row"),
            places.join("; ")
        );
        ReadError::new(&self.source, message).hint(REMEDY)
    }

    fn place(&self, position: u64, column: &str) -> String {
        at_column(&self.source, self.unit, position, column)
    }
}

/// Replaces NaN; returns how many there were.
fn fill(row: &mut [f64], value: impl Fn(usize) -> f64) -> u64 {
    let mut filled = 0;
    for (slot, cell) in row.iter_mut().enumerate().filter(|(_, cell)| cell.is_nan()) {
        *cell = value(slot);
        filled += 1;
    }
    filled
}

impl Tally {
    /// Counts a bad row; an error if none is allowed.
    pub(crate) fn skip(&mut self, error: ReadError, most: Option<u64>) -> Result<(), ReadError> {
        if most.is_none() {
            return Err(error);
        }
        self.bad += 1;
        if self.places.len() < POINTED_AT {
            self.places.push(error.in_one_line());
        }
        Ok(())
    }

    /// Adds what was met further down.
    pub(crate) fn merge(&mut self, later: Self) {
        self.records += later.records;
        self.bad += later.bad;
        self.dropped += later.dropped;
        self.unlabelled += later.unlabelled;
        self.filled += later.filled;
        let room = POINTED_AT.saturating_sub(self.places.len());
        self.places.extend(later.places.into_iter().take(room));
        self.gaps.merge(later.gaps);
    }

    /// Records that became no row.
    pub(crate) fn lost(&self) -> u64 {
        self.bad + self.dropped + self.unlabelled
    }

    /// Where the first bad rows are, one below the other.
    pub(crate) fn bad_places(&self) -> String {
        self.places.join("\n  ")
    }

    /// What the user should hear.
    pub(crate) fn notes(&self, missing: Missing) -> Vec<String> {
        let mut notes = Vec::new();
        if self.bad > 0 {
            let more = if self.bad > POINTED_AT as u64 { "\n  …" } else { "" };
            notes.push(format!("{} skipped:\n  {}{more}", count(self.bad, "bad row"), self.bad_places()));
        }
        if self.unlabelled > 0 {
            notes.push(format!("{} dropped: missing label", count(self.unlabelled, "row")));
        }
        if self.dropped > 0 {
            notes.push(format!("{} dropped: missing cells", count(self.dropped, "row")));
        }
        if self.filled > 0 {
            let by = if missing == Missing::Mean { "the means of the training rows" } else { "0" };
            notes.push(format!("{} replaced by {by}", count(self.filled, "missing cell")));
        }
        notes
    }
}

impl Gaps {
    fn meet(&mut self, row: &[f64], position: u64) {
        self.rows += 1;
        for (slot, _) in row.iter().enumerate().filter(|(_, cell)| cell.is_nan()) {
            self.cells += 1;
            if self.first.len() < POINTED_AT {
                self.first.push((position, slot));
            }
        }
    }

    fn merge(&mut self, later: Self) {
        self.cells += later.cells;
        self.rows += later.rows;
        let room = POINTED_AT.saturating_sub(self.first.len());
        self.first.extend(later.first.into_iter().take(room));
    }
}

fn missing_cell(place: String) -> ReadError {
    ReadError::new(place, "the cell is missing")
        .hint("--missing drop leaves such rows out, --missing zero fills in 0, --skip-bad-rows N allows some")
}

fn missing_label(place: String) -> ReadError {
    ReadError::new(place, "the label is missing")
        .hint("labels such as NA, None and ? are missing too; --missing drop leaves these rows out")
}
