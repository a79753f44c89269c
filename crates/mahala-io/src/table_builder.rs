//! Blocks of rows put together to a table in memory.

use crate::block::Block;
use crate::error::{ReadError, count, shell};
use crate::missing::{RowPolicy, Tally};
use crate::options::{Missing, ReadOptions};
use crate::table::{Table, check_bytes};

/// A table under way.
pub(crate) struct TableBuilder {
    table: Table,
    most_bytes: Option<u64>,
}

impl TableBuilder {
    /// A table without rows.
    pub(crate) fn new(source: &str, names: Vec<String>, labelled: bool, options: &ReadOptions) -> Self {
        let table = Table {
            source: source.to_owned(),
            names,
            rows: Vec::new(),
            sparse: None,
            n: 0,
            records: 0,
            labels: labelled.then(Vec::new),
            row_numbers: Vec::new(),
            gaps: Vec::new(),
            notes: Vec::new(),
        };
        Self { table, most_bytes: options.most_bytes }
    }

    /// Makes room for rows whose number is known, and known to be honest.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.table.rows.reserve(rows.saturating_mul(self.table.names.len()));
    }

    /// Appends the rows of a block.
    pub(crate) fn add(&mut self, block: Block) -> Result<(), ReadError> {
        let table = &mut self.table;
        table.n += block.len();
        table.row_numbers.extend(block.numbers());
        if let Some(labels) = &mut table.labels {
            labels.extend((0..block.len()).map(|i| block.label(i).to_owned()));
        }
        let rows = block.into_row_major();
        if table.rows.capacity() == 0 {
            table.rows = rows;
        } else {
            table.rows.extend(rows);
        }
        check_bytes(&table.source, table.rows.len(), self.most_bytes)
    }

    /// The table, with the missing cells that were left for the end dealt with.
    pub(crate) fn finish(
        mut self,
        policy: &RowPolicy,
        tally: &Tally,
        missing: Missing,
        notes: Vec<String>,
    ) -> Result<Table, ReadError> {
        let gaps = &tally.gaps;
        self.table.notes = notes;
        self.table.records = tally.records;
        if gaps.cells > 0 {
            if missing == Missing::Refuse {
                return Err(policy.refuse(gaps));
            }
            fill_means(&mut self.table)?;
            let seen = count(gaps.cells, "missing cell");
            self.table.notes.push(format!("{seen} replaced by column means"));
        }
        Ok(self.table)
    }
}

/// Refuses a file of which no row is left.
pub(crate) fn check_rows(source: &str, tally: &Tally) -> Result<(), ReadError> {
    match tally.lost() {
        lost if lost < tally.records => Ok(()),
        0 => Err(ReadError::new(source, "the file has no rows")),
        lost => {
            let message = format!("no rows are left: all {lost} have missing cells");
            Err(ReadError::new(source, message)
                .hint("leave the emptiest columns out with --ignore, or choose --missing mean"))
        }
    }
}

/// Replaces every NaN by the mean of its column.
fn fill_means(table: &mut Table) -> Result<(), ReadError> {
    let d = table.names.len();
    let gaps: Vec<usize> = (0..table.rows.len()).filter(|&cell| table.rows[cell].is_nan()).collect();
    let mut means = vec![None; d];
    for &cell in &gaps {
        let j = cell % d;
        if means[j].is_none() {
            let column = table.rows.iter().skip(j).step_by(d).copied();
            means[j] = mean(column.filter(|cell| !cell.is_nan()));
        }
        let Some(mean) = means[j] else {
            let message = format!("column '{}' has no value in any row", table.names[j]);
            return Err(ReadError::new(&table.source, message)
                .hint(format!("leave it out with --ignore {}", shell(&table.names[j]))));
        };
        table.rows[cell] = mean;
    }
    table.gaps = gaps;
    Ok(())
}

/// The mean of numbers; `None` if there are none.
pub fn mean(numbers: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = numbers.clone().count();
    let sum: f64 = numbers.clone().sum();
    // Dividing first keeps the sum of large numbers finite.
    let mean = if sum.is_finite() { sum / count as f64 } else { numbers.map(|x| x / count as f64).sum() };
    (count > 0).then_some(mean)
}
