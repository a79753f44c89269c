//! Columns of lists: each list is a row of numbers, such as an embedding, and becomes as many columns.

use parquet::column::reader::ColumnReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::FileReader;
use parquet::schema::types::Type;

use crate::fields::LONGEST_LIST;
use crate::parquet::column::{Kind, read_levels};

/// The definition levels that tell null lists, empty ones, and null values apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Levels {
    /// From this level on there is a value, or a null, in the list; one below it the list is empty.
    element: i16,
    /// At this level the value is there.
    value: i16,
}

/// A column of lists that all have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) levels: Levels,
    pub(crate) width: usize,
}

/// The levels of a field that is a list of single values; `None` if it is anything else.
pub(crate) fn levels(field: &Type) -> Option<Levels> {
    let (mut level, mut element, mut node) = (0, None, field);
    loop {
        let info = node.get_basic_info();
        if info.has_repetition() {
            match info.repetition() {
                parquet::basic::Repetition::REQUIRED => {}
                parquet::basic::Repetition::OPTIONAL => level += 1,
                parquet::basic::Repetition::REPEATED => {
                    level += 1;
                    if element.replace(level).is_some() {
                        return None;
                    }
                }
            }
        }
        if node.is_primitive() {
            return Some(Levels { element: element?, value: level });
        }
        let [only] = node.get_fields() else { return None };
        node = only;
    }
}

/// The length of the first list that is not null; `None` if there is none.
///
/// # Errors
/// Data that cannot be read, or lists that are longer than any row.
pub(crate) fn width(file: &dyn FileReader, leaf: usize, kind: Kind, levels: Levels) -> Result<Option<usize>> {
    const AT_ONCE: usize = 16;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let (rows, values) = (group.metadata().num_rows(), group.metadata().column(leaf).num_values());
        if values > rows.saturating_mul(i64::from(LONGEST_LIST)) {
            let message =
                format!("{values} values for {rows} rows: lists of more than {LONGEST_LIST} are no rows");
            return Err(ParquetError::General(message));
        }
        let mut reader = group.get_column_reader(leaf)?;
        loop {
            let lists = read_lists(&mut reader, kind, levels, AT_ONCE, &mut |_, _, _| {})?;
            if let Some(width) = lists.iter().flatten().find(|width| **width > 0) {
                return Ok(Some(*width));
            }
            if lists.is_empty() {
                break;
            }
        }
    }
    Ok(None)
}

/// Calls `take` with row, place and number of each value of at most `length` lists, NaN for null; returns the length
/// of each list, `None` for a null one.
pub(crate) fn read_lists(
    reader: &mut ColumnReader,
    kind: Kind,
    levels: Levels,
    length: usize,
    take: &mut dyn FnMut(usize, usize, f64),
) -> Result<Vec<Option<usize>>> {
    let mut lists: Vec<Option<usize>> = Vec::new();
    read_levels(reader, kind, length, levels.value, &mut |repetition, definition, value| {
        if repetition == 0 {
            lists.push((definition >= levels.element - 1).then_some(0));
        }
        if definition < levels.element {
            return;
        }
        let row = lists.len().saturating_sub(1);
        if let Some(Some(place)) = lists.last_mut() {
            take(row, *place, value.and_then(|value| value.number()).unwrap_or(f64::NAN));
            *place += 1;
        }
    })?;
    Ok(lists)
}
