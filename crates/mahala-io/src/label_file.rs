//! Labels in a file of their own, one a row: an array, or text with one column.

use std::path::Path;

use crate::cell::{is_infinity, is_missing};
use crate::csv;
use crate::error::{ReadError, at, count, excerpt, infinite_label};
use crate::format::find_format;
use crate::npy;
use crate::options::{Format, Missing, ReadOptions};
use crate::source::Source;
use crate::table::Table;

/// The labels of all rows, and what may be a name above them.
pub(crate) struct LabelFile {
    source: String,
    labels: Vec<Option<String>>,
    /// Whether the first one stands on the first line of a text and in no other.
    first_may_be_name: bool,
}

/// Gives each row of a table the label that stands at its place in a file.
///
/// # Errors
/// A file that is no list of labels, or one of another length.
pub(crate) fn attach(table: &mut Table, path: &Path, options: &ReadOptions) -> Result<(), ReadError> {
    LabelFile::read(path, options)?.give(table, options.missing)
}

impl LabelFile {
    /// The labels of an array in an archive.
    pub(crate) fn of_array(source: Source, options: &ReadOptions) -> Result<Self, ReadError> {
        let name = source.name.clone();
        let labels = npy::read_labels(source, options)?;
        Ok(Self { source: name, labels, first_may_be_name: false })
    }

    fn read(path: &Path, options: &ReadOptions) -> Result<Self, ReadError> {
        let source = Source::open(path, None)?;
        let name = source.name.clone();
        let plain = ReadOptions { most_bytes: options.most_bytes, ..ReadOptions::default() };
        let delimiter = match find_format(path, &source, &plain)? {
            Format::Npy => return Self::of_array(source, &plain),
            Format::Csv => None,
            Format::Tsv => Some(b'\t'),
            Format::Npz | Format::Libsvm | Format::Parquet | Format::Arrow | Format::Jsonl => {
                return Err(ReadError::new(
                    name,
                    "labels are read from NPY files and from text with one column",
                )
                .hint("a table that has them in a column takes --label COLUMN"));
            }
        };
        let records = csv::read_records(source, delimiter, &plain)?;
        let mut labels = Vec::with_capacity(records.rows.len());
        for (line, mut cells) in records.rows {
            match (cells.pop(), cells.len()) {
                (Some(cell), 0) => labels.push((!is_missing(cell.as_bytes())).then_some(cell)),
                (_, more) => {
                    let message = format!("{} where one label is expected", count(more as u64 + 1, "cell"));
                    return Err(ReadError::new(at(&name, "line", line), message).hint(
                        "keep the column of labels alone, and put quotation marks around labels with a comma",
                    ));
                }
            }
        }
        let first_may_be_name = records.names.is_none()
            && labels.first().is_some_and(|first| first.is_some() && !labels[1..].contains(first));
        Ok(Self { source: name, labels, first_may_be_name })
    }

    /// Gives each row the label at its place among all rows of the table's file.
    ///
    /// # Errors
    /// Another number of labels than of rows, or labels that are missing or infinite.
    pub(crate) fn give(mut self, table: &mut Table, missing: Missing) -> Result<(), ReadError> {
        self.check_count(table)?;
        let (mut kept, mut labels) = (Vec::with_capacity(table.n), Vec::with_capacity(table.n));
        for (i, &number) in table.row_numbers.iter().enumerate() {
            let place = || at(&self.source, "label", number);
            match self.labels.get_mut(number as usize - 1).and_then(Option::take) {
                Some(label) if is_infinity(label.as_bytes()) => return Err(infinite_label(place(), &label)),
                Some(label) => {
                    kept.push(i);
                    labels.push(label);
                }
                None if missing == Missing::Drop => {}
                None => {
                    return Err(ReadError::new(place(), "the label is missing").hint(
                        "labels such as NA, NaN and ? are missing; --missing drop leaves these rows out",
                    ));
                }
            }
        }
        let dropped = table.n - kept.len();
        if kept.is_empty() {
            return Err(ReadError::new(
                &self.source,
                format!("no rows are left: all {dropped} have no label"),
            ));
        }
        if dropped > 0 {
            table.keep_rows(&kept);
            table.notes.push(format!("{} dropped: missing label", count(dropped as u64, "row")));
        }
        table.labels = Some(labels);
        Ok(())
    }

    /// As many labels as rows; one more only if the first is the name of the column.
    fn check_count(&mut self, table: &mut Table) -> Result<(), ReadError> {
        let (labels, rows) = (self.labels.len() as u64, table.records);
        if labels == rows {
            return Ok(());
        }
        if labels == rows + 1 && self.first_may_be_name {
            let name = self.labels.remove(0).unwrap_or_default();
            let shown = excerpt(name.as_bytes());
            table
                .notes
                .push(format!("the first line of {}, {shown}, is taken for the column's name", self.source));
            return Ok(());
        }
        let message =
            format!("{} for the {} of {}", count(labels, "label"), count(rows, "row"), table.source);
        Err(ReadError::new(&self.source, message)
            .hint("one label a row is wanted, in the order of the rows; where one is missing, write NA"))
    }
}
