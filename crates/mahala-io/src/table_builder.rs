//! Blocks of rows put together to a table in memory.

use mahala::data::Embeddings;

use crate::block::Block;
use crate::error::{ReadError, count, shell};
use crate::missing::{RowPolicy, Tally};
use crate::options::{Missing, ReadOptions, RowsHeld};
use crate::table::{Table, check_bytes};

/// A table under way.
pub(crate) struct TableBuilder {
    table: Table,
    /// The cells, as long as none loses a digit in single precision, where that is wanted.
    single: Option<Vec<f32>>,
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
            embeddings: None,
            single: false,
            n: 0,
            records: 0,
            labels: labelled.then(Vec::new),
            row_numbers: Vec::new(),
            gaps: Vec::new(),
            notes: Vec::new(),
        };
        // Means that are filled in need double precision.
        let narrow = options.rows_held == RowsHeld::OrSingle && options.missing != Missing::Mean;
        Self { table, single: narrow.then(Vec::new), most_bytes: options.most_bytes }
    }

    /// Says that the file has all features in single precision.
    pub(crate) fn has_single(&mut self, single: bool) {
        self.table.single = single;
    }

    /// Makes room for as many rows as the file claims, if they may be held: a vector that grows is copied on the way.
    pub(crate) fn expect(&mut self, rows: usize) {
        let cells = rows.saturating_mul(self.table.names.len());
        let numbers = if self.single.is_some() { cells.div_ceil(2) } else { cells };
        if self.most_bytes.is_some_and(|most| (numbers as u64).saturating_mul(8) > most) {
            return;
        }
        // Pages that are not written to take no memory, so that a wrong claim costs nothing.
        let _ = match &mut self.single {
            Some(single) => single.try_reserve_exact(cells),
            None => self.table.rows.try_reserve_exact(cells),
        };
    }

    /// The table of rows that are read where they lie.
    pub(crate) fn in_place(mut self, rows: Embeddings) -> Table {
        self.table.n = rows.len();
        self.table.records = rows.len() as u64;
        self.table.row_numbers = (1..=rows.len() as u64).collect();
        self.table.single = true;
        self.table.embeddings = Some(rows);
        self.table
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
        match self.single.take() {
            Some(mut single) if rows.iter().all(|&x| is_single(x)) => {
                single.extend(rows.iter().map(|&x| x as f32));
                self.single = Some(single);
            }
            before => {
                table.rows.extend(before.into_iter().flatten().map(f64::from));
                if table.rows.capacity() == 0 {
                    table.rows = rows;
                } else {
                    table.rows.extend(rows);
                }
            }
        }
        let narrow = self.single.as_ref().map_or(0, |single| single.len().div_ceil(2));
        check_bytes(&self.table.source, self.table.rows.len() + narrow, self.most_bytes)
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
        if let Some(single) = self.single {
            let rows = Embeddings::single(single, self.table.names.len());
            self.table.embeddings =
                Some(rows.map_err(|error| ReadError::new(&self.table.source, error.to_string()))?);
        }
        Ok(self.table)
    }
}

/// Whether single precision holds a number; a missing cell is in both.
fn is_single(x: f64) -> bool {
    f64::from(x as f32) == x || x.is_nan()
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
