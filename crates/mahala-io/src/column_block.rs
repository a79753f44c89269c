//! Some rows of a file that has columns, checked and made a block.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::block::{Block, Cells, LabelCodes};
use crate::cell::is_infinity;
use crate::columns::Plan;
use crate::error::{ReadError, at_column, shell};
use crate::missing::{RowLabel, RowPolicy};

/// Cells of a block: four megabytes. Measured: with half as many, and a quarter, a fit of ten classes is slower.
const CELLS: usize = 1 << 19;

/// The most rows of a block of so many columns.
pub(crate) fn most_rows(columns: usize) -> usize {
    (CELLS / columns).clamp(512, 1 << 16)
}

/// What the blocks of one file share.
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) plan: Plan,
    pub(crate) policy: Arc<RowPolicy>,
}

/// What one column of the file gives of a block: features with their numbers, and rows whose lists have another length.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) columns: Vec<(usize, Vec<f64>)>,
    pub(crate) wrong: Vec<(usize, ReadError)>,
}

/// Labels as codes, `None` where one is missing.
pub(crate) type CodedLabels = (LabelCodes, Vec<Option<u32>>);

/// Some rows of a file, column after column; NaN for missing cells.
pub(crate) struct ColumnBlock {
    context: Arc<Context>,
    columns: Vec<Vec<f64>>,
    /// Rows that cannot be read, whatever is done about missing cells.
    wrong: BTreeMap<usize, ReadError>,
    /// Whether all cells are finite numbers.
    sound: bool,
    labels: Option<CodedLabels>,
    length: usize,
    first_row: u64,
}

/// Refuses a list of another length than the first.
pub(crate) fn other_length(context: &Context, row: u64, name: &str, seen: usize, width: usize) -> ReadError {
    let place = at_column(&context.name, "row", row, name);
    let message = format!("a list of {seen} values, where the first list has {width}");
    let hint =
        format!("all lists must have one length; else leave the column out with --ignore {}", shell(name));
    ReadError::new(place, message).hint(hint)
}

impl Given {
    /// With the answer to whether all numbers are finite, asked while they are in the cache.
    pub(crate) fn checked(self) -> (Self, bool) {
        // Without a branch, several numbers at a time.
        let sound = |numbers: &Vec<f64>| numbers.iter().fold(true, |sound, x| sound & x.is_finite());
        let sound = self.columns.iter().all(|column| sound(&column.1));
        (self, sound)
    }
}

impl ColumnBlock {
    /// Puts together what the columns give of so many rows, from `first_row` on.
    pub(crate) fn of(
        context: Arc<Context>,
        given: Vec<(Given, bool)>,
        labels: Option<CodedLabels>,
        length: usize,
        first_row: u64,
    ) -> Self {
        let mut columns = vec![Vec::new(); context.plan.features.len()];
        let (mut wrong, mut sound) = (BTreeMap::new(), true);
        for (given, whole) in given {
            given.columns.into_iter().for_each(|(slot, numbers)| columns[slot] = numbers);
            wrong.extend(given.wrong);
            sound &= whole;
        }
        sound &= wrong.is_empty();
        Self { context, columns, wrong, sound, labels, length, first_row }
    }

    /// Checks all cells; rows that are bad or to be dropped are taken out.
    pub(crate) fn parse(self, most_bad: Option<u64>) -> Result<Block, ReadError> {
        let Self { context, mut columns, mut wrong, sound, labels, length, first_row } = self;
        let mut block = Block::new(columns.len(), labels.is_some());
        block.tally.records = length as u64;
        let mut kept = vec![true; length];
        if !sound || labels.as_ref().is_some_and(has_bad_labels) {
            let mut row = vec![0.0; columns.len()];
            for (i, kept) in kept.iter_mut().enumerate() {
                row.iter_mut().zip(&columns).for_each(|(cell, column)| *cell = column[i]);
                let label = match &labels {
                    None => RowLabel::Unread,
                    Some((coded, codes)) => codes[i]
                        .map_or(RowLabel::Missing, |code| RowLabel::Present(&coded.names[code as usize])),
                };
                let outcome = match wrong.remove(&i) {
                    Some(error) => Err(error),
                    None => check_row(&context.policy, &mut row, first_row + i as u64, label, &mut block),
                };
                *kept = match outcome {
                    Ok(kept) => kept,
                    Err(error) => block.tally.skip(error, most_bad).map(|()| false)?,
                };
                row.iter().zip(&mut columns).for_each(|(cell, column)| column[i] = *cell);
            }
            for column in &mut columns {
                let mut keep = kept.iter();
                column.retain(|_| keep.next() == Some(&true));
            }
        }
        if let Some((mut coded, codes)) = labels {
            let codes = codes.into_iter().zip(&kept).filter(|(_, kept)| **kept);
            coded.codes = codes.filter_map(|(code, _)| code).collect();
            block.labels = Some(coded);
        }
        block.positions = (0..length as u32).filter(|&row| kept[row as usize]).collect();
        block.cells = Cells::Columns(columns.concat());
        Ok(block)
    }
}

/// Whether some label is missing or infinite.
fn has_bad_labels((coded, codes): &(LabelCodes, Vec<Option<u32>>)) -> bool {
    codes.contains(&None) || coded.names.iter().any(|name| is_infinity(name.as_bytes()))
}

/// Whether a row is kept; missing cells are filled in if so asked.
fn check_row(
    policy: &RowPolicy,
    row: &mut [f64],
    position: u64,
    label: RowLabel<'_>,
    block: &mut Block,
) -> Result<bool, ReadError> {
    if let Some(slot) = row.iter().position(|cell| cell.is_infinite()) {
        return Err(policy.infinite_cell(position, slot, row[slot]));
    }
    policy.check(row, position, label, &mut block.tally)
}
