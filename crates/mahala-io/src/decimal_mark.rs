//! Decimal points, decimal commas, and thousands separators that look like either.

use crate::error::{ReadError, at_column, excerpt};

/// The decimal marks seen so far in each column.
///
/// `1,234` is 1.234 to one writer and 1234 to another. A column is believed to have decimal commas
/// when one of its cells can be nothing else (`1,5`, `0,123`, `12,3456`), when another column of
/// the file has such a cell, or when cells are separated by `;`, as only writers of decimal commas do.
pub(crate) struct DecimalMarks {
    columns: Vec<Marks>,
    semicolons: bool,
}

#[derive(Clone, Default)]
struct Marks {
    point: Option<Seen>,
    comma: Option<Seen>,
    sure: bool,
}

#[derive(Clone)]
struct Seen {
    line: u64,
    cell: Vec<u8>,
}

impl DecimalMarks {
    pub(crate) fn new(columns: usize, delimiter: u8) -> Self {
        Self { columns: vec![Marks::default(); columns], semicolons: delimiter == b';' }
    }

    /// Records a number without a comma.
    pub(crate) fn plain(&mut self, column: usize, line: u64, cell: &[u8]) {
        let marks = &mut self.columns[column];
        if marks.point.is_none() && cell.contains(&b'.') {
            marks.point = Some(Seen::new(line, cell));
        }
    }

    /// Records a number with a decimal comma.
    pub(crate) fn comma(&mut self, column: usize, line: u64, cell: &[u8]) {
        let marks = &mut self.columns[column];
        marks.comma.get_or_insert_with(|| Seen::new(line, cell));
        marks.sure = marks.sure || !may_be_thousands(cell);
    }

    /// Whether a column's next number with a point would be news.
    pub(crate) fn lacks_point(&self, column: usize) -> bool {
        self.columns[column].point.is_none()
    }

    /// Adds what was seen further down.
    pub(crate) fn merge(&mut self, later: Self) {
        for (mine, theirs) in self.columns.iter_mut().zip(later.columns) {
            mine.point = mine.point.take().or(theirs.point);
            mine.comma = mine.comma.take().or(theirs.comma);
            mine.sure = mine.sure || theirs.sure;
        }
    }

    /// Refuses columns that cannot be read in one way only; returns what the user should hear.
    pub(crate) fn check(&self, source: &str, names: &[String]) -> Result<Vec<String>, ReadError> {
        let sure = self.semicolons || self.columns.iter().any(|marks| marks.sure);
        for (marks, name) in self.columns.iter().zip(names) {
            let Some(comma) = &marks.comma else { continue };
            if let Some(point) = &marks.point {
                return Err(mixed(source, name, comma, point));
            }
            if !sure {
                return Err(ambiguous(source, name, comma));
            }
        }
        Ok(self.notes(names))
    }

    fn notes(&self, names: &[String]) -> Vec<String> {
        let with = |pick: fn(&Marks) -> bool| {
            let found = self.columns.iter().position(pick);
            found.map(|column| names[column].as_str())
        };
        let (Some(comma), point) = (with(|m| m.comma.is_some()), with(|m| m.point.is_some())) else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        if let Some(point) = point {
            notes.push(format!(
                "column '{comma}' has decimal commas and column '{point}' decimal points; \
                 check that neither is a thousands separator"
            ));
        }
        for (marks, name) in self.columns.iter().zip(names) {
            if let (Some(seen), false) = (&marks.comma, marks.sure) {
                let cell = String::from_utf8_lossy(&seen.cell);
                notes.push(format!("column '{name}': \"{cell}\" is read as {}", cell.replace(',', ".")));
            }
        }
        notes
    }
}

impl Seen {
    fn new(line: u64, cell: &[u8]) -> Self {
        Self { line, cell: cell.to_vec() }
    }
}

fn mixed(source: &str, name: &str, comma: &Seen, point: &Seen) -> ReadError {
    let message = format!(
        "{} has a decimal comma, but {} in line {} of the same column has a point",
        excerpt(&comma.cell),
        excerpt(&point.cell),
        point.line
    );
    ReadError::new(at_column(source, "line", comma.line, name), message)
        .hint("write the column with one decimal mark and without thousands separators")
}

fn ambiguous(source: &str, name: &str, comma: &Seen) -> ReadError {
    let cell = String::from_utf8_lossy(&comma.cell);
    let message = format!(
        "\"{cell}\" may mean {} or {}, and no other cell tells which",
        cell.replace(',', "."),
        cell.replace(',', "")
    );
    ReadError::new(at_column(source, "line", comma.line, name), message)
        .hint("write the numbers with a decimal point and without thousands separators")
}

/// Whether the comma of a number could separate thousands: one to three digits, the first not
/// zero, before it, and exactly three after it.
fn may_be_thousands(cell: &[u8]) -> bool {
    let digits = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    let mut parts = digits.split(|&byte| byte == b',');
    let (Some(whole), Some(rest)) = (parts.next(), parts.next()) else {
        return false;
    };
    (1..=3).contains(&whole.len())
        && whole[0] != b'0'
        && rest.len() == 3
        && rest.iter().all(u8::is_ascii_digit)
}
