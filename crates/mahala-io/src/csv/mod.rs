//! Tables of text: CSV, TSV and their relatives.

pub(crate) mod blocks;
pub(crate) mod dialect;
pub(crate) mod parse_float;
pub(crate) mod record;

use crate::cell::{Cell, parse_cell};
use crate::columns::Plan;
use crate::csv::dialect::TextTable;
use crate::csv::record::RecordReader;
use crate::decimal_mark::DecimalMarks;
use crate::error::{ReadError, at_column, excerpt, shell};
use crate::options::ReadOptions;
use crate::source::Source;
use crate::table::Records;
use std::io::BufRead;

/// Reads a small table as text.
pub(crate) fn read_records(
    source: Source,
    delimiter: Option<u8>,
    options: &ReadOptions,
) -> Result<Records, ReadError> {
    let mut text = TextTable::open(source, delimiter, options)?;
    let mut rows = Vec::new();
    while text.advance()? {
        let cells = (0..text.width).map(|j| text.records.text(j));
        rows.push((text.records.line(), cells.collect()));
    }
    let source = text.records.source;
    if rows.is_empty() {
        return Err(header_only(&source));
    }
    Ok(Records { source, names: text.names, rows })
}

/// Reads the features of a record; NaN where one is missing. `first` says that no row came before.
pub(crate) fn read_row<R: BufRead>(
    records: &RecordReader<R>,
    plan: &Plan,
    marks: &mut DecimalMarks,
    first: bool,
    options: &ReadOptions,
    mut push: impl FnMut(f64),
) -> Result<(), ReadError> {
    let line = records.line();
    for (slot, &column) in plan.features.iter().enumerate() {
        let cell = records.cell(column);
        let value = match parse_cell(cell) {
            Cell::Number(value) => {
                marks.plain(slot, line, cell);
                value
            }
            Cell::Comma(value) => {
                marks.comma(slot, line, cell);
                value
            }
            Cell::Boolean(value) => f64::from(u8::from(value)),
            Cell::Missing => f64::NAN,
            bad => {
                let place = at_column(&records.source, "line", line, &plan.names[slot]);
                let error = refuse(bad, place, cell);
                return Err(match bad {
                    Cell::Text => error.hint(remedy(&plan.names[slot], first, options)),
                    _ => error,
                });
            }
        };
        push(value);
    }
    Ok(())
}

fn refuse(bad: Cell, place: String, cell: &[u8]) -> ReadError {
    let cell = excerpt(cell);
    match bad {
        Cell::Infinite => ReadError::new(place, format!("{cell} is not a finite number"))
            .hint("correct the cell, or leave it empty and choose --missing mean, drop or zero"),
        Cell::Thousands => ReadError::new(place, format!("{cell} seems to have thousands separators"))
            .hint("write the numbers with a decimal point and without thousands separators"),
        _ => ReadError::new(place, format!("{cell} is not a number")),
    }
}

/// What to do with a column of text that says something about the rows.
pub(crate) const CATEGORIES: &str =
    "hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies";

/// What to do about text: a column that begins with text is probably text altogether.
pub(crate) fn remedy(name: &str, first_row: bool, options: &ReadOptions) -> String {
    let name = shell(name);
    if options.features.is_some() {
        "the model needs numbers in this column".to_owned()
    } else if !first_row {
        format!("correct the cell, or leave the column out with --ignore {name}")
    } else if options.label.is_none() {
        format!(
            "leave the column out with --ignore {name}, or, if it is the label, --label {name}\n{CATEGORIES}"
        )
    } else {
        format!("leave the column out with --ignore {name}\n{CATEGORIES}")
    }
}

pub(crate) fn header_only(name: &str) -> ReadError {
    ReadError::new(name, "the file has a header but no rows").hint("if the first line is data: --header no")
}
