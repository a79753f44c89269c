//! Files that mark pairs of rows: `first,second,similar[,weight]`, row numbers from 1. Instead of `similar` a
//! column `similarity` may grade them, from 0 to 1.

use std::collections::HashMap;
use std::path::Path;

use mahala::pairs::Pairs;

use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::read::read_records;
use crate::table::{Records, Table};

/// A file of pairs that cannot be read, or whose pairs are none of the tables.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairsError {
    /// The file or one of its cells.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The pairs as a whole.
    #[error(transparent)]
    Pairs(#[from] mahala::Error),
}

/// The pairs of a file, and whether it said which are similar.
#[non_exhaustive]
pub struct PairsFile {
    /// The pairs, by position in the tables.
    pub pairs: Pairs,
    /// Whether the file says which pairs are similar.
    pub marked: bool,
    /// The record, from 0, that each entry of the pairs is from: a graded pair has two entries.
    pub records: Vec<usize>,
}

struct Columns {
    first: Option<usize>,
    second: Option<usize>,
    similar: Option<usize>,
    similarity: Option<usize>,
    weight: Option<usize>,
}

/// Reads the pairs between two tables (or within one, given twice).
///
/// Without columns for the row numbers, row i of one table belongs to row i of the other.
///
/// # Errors
/// A file that cannot be read, a row that does not exist, a mark that is none; without marks, if they are needed.
pub fn read_pairs(
    path: &Path,
    first: &Table,
    second: &Table,
    marks_needed: bool,
) -> Result<PairsFile, PairsError> {
    let records = with_names(read_records(path, &ReadOptions::default())?);
    let columns = find_columns(&records)?;
    let marked = columns.similar.is_some() || columns.similarity.is_some();
    if marks_needed && !marked {
        let error = ReadError::new(&records.source, "no column says which pairs are similar");
        let hint = "add a column 'similar' with 1 and 0, or 'similarity' from 0 to 1";
        return Err(error.hint(hint).into());
    }
    if columns.first.is_none() {
        check_aligned(&records, first)?;
        check_aligned(&records, second)?;
    }
    let (first, second) = (RowNumbers::of(first), RowNumbers::of(second));
    let (mut pairs, mut weights) = (Vec::with_capacity(records.rows.len()), Vec::new());
    for (index, (line, cells)) in records.rows.iter().enumerate() {
        let refused = |message| ReadError::new(format!("{}, line {line}", records.source), message);
        let row = |column: Option<usize>, rows: &RowNumbers<'_>| match column {
            Some(column) => rows.parse(&cells[column]),
            None => rows.position(index as u64 + 1),
        };
        let ends = row(columns.first, &first).and_then(|a| Ok((a, row(columns.second, &second)?)));
        let ends = ends.map_err(refused)?;
        pairs.push((ends.0, ends.1, columns.similarity_of(cells).map_err(refused)?));
        weights.push(columns.weight_of(cells).map_err(refused)?);
    }
    if pairs.is_empty() {
        return Err(ReadError::new(&records.source, "there is no pair in it").into());
    }
    let entries = |record: usize| 1 + usize::from(pairs[record].2 > 0.0 && pairs[record].2 < 1.0);
    let records = (0..pairs.len()).flat_map(|record| vec![record; entries(record)]).collect();
    let pairs = Pairs::graded(&pairs, Some(&weights), first.table.n, second.table.n)?;
    Ok(PairsFile { pairs, marked, records })
}

/// The second table with its columns in the order of the first.
///
/// # Errors
/// Other columns.
pub fn select_aligned(names: &[String], second: Table) -> Result<Table, ReadError> {
    if second.names == names {
        return Ok(second);
    }
    let order: Option<Vec<usize>> =
        names.iter().map(|name| second.names.iter().position(|other| other == name)).collect();
    let Some(order) = order.filter(|order| order.len() == second.names.len()) else {
        // There is no place in the file to point at: the message is a sentence about the table.
        return Err(ReadError::of_table(format!(
            "{} has the columns {}; the first table has {}",
            second.source,
            second.names.join(", "),
            names.join(", ")
        )));
    };
    let d = names.len();
    let rows = second.rows.chunks_exact(d).flat_map(|row| order.iter().map(|&j| row[j])).collect();
    Ok(Table { rows, names: names.to_vec(), ..second })
}

/// The names of each column, in lower case.
const FIRST: &[&str] = &["first", "left", "a", "i", "row1", "first_row"];
const SECOND: &[&str] = &["second", "right", "b", "j", "row2", "second_row"];
const SIMILAR: &[&str] = &["similar", "same", "label", "y", "match"];
const SIMILARITY: &[&str] = &["similarity"];
const WEIGHT: &[&str] = &["weight", "w"];

/// Above words such as `same` a header does not look like one, but its names tell. No pair is made of
/// names alone: it has row numbers, or else a header is required.
fn with_names(mut records: Records) -> Records {
    let known = [FIRST, SECOND, SIMILAR, SIMILARITY, WEIGHT].concat();
    let is_name = |cell: &String| known.contains(&&*cell.to_ascii_lowercase());
    let first = records.rows.first().map(|(_, cells)| cells);
    if records.names.is_none() && first.is_some_and(|cells| cells.iter().all(is_name)) {
        records.names = Some(records.rows.remove(0).1);
    }
    records
}

/// Without row numbers each row needs a mark: with fewer, one may be lost, and all others shifted.
fn check_aligned(records: &Records, table: &Table) -> Result<(), ReadError> {
    let (marks, last) = (records.rows.len() as u64, table.row_numbers.last().copied().unwrap_or(0));
    if marks < last {
        let message = format!(
            "{} for rows 1 to {last} of {}; without row numbers each row needs one",
            grouped_count(marks, "mark"),
            table.source
        );
        return Err(ReadError::new(&records.source, message));
    }
    Ok(())
}

/// The position of each row of a table by its number in the file.
pub(crate) struct RowNumbers<'a> {
    table: &'a Table,
    positions: HashMap<u64, usize>,
}

impl<'a> RowNumbers<'a> {
    pub(crate) fn of(table: &'a Table) -> Self {
        let positions = table.row_numbers.iter().enumerate().map(|(at, &number)| (number, at)).collect();
        Self { table, positions }
    }

    pub(crate) fn parse(&self, cell: &str) -> Result<usize, String> {
        let number = cell.parse::<u64>().map_err(|_| format!("'{cell}' is not a row number (1, 2, …)"))?;
        self.position(number)
    }

    fn position(&self, number: u64) -> Result<usize, String> {
        self.positions.get(&number).copied().ok_or_else(|| self.missing(number))
    }

    fn missing(&self, number: u64) -> String {
        let table = self.table;
        let last = table.row_numbers.last().copied().unwrap_or(0);
        if number == 0 || number > last {
            return format!(
                "row {number} does not exist; {} has rows 1 to {last} (the header does not count)",
                table.source
            );
        }
        let why = if table.notes.iter().any(|note| note.contains("skipped")) {
            "left out when it was read: a bad row, or one with missing cells"
        } else {
            "dropped for its missing cells"
        };
        format!("row {number} of {} was {why}", table.source)
    }
}

impl Columns {
    fn similarity_of(&self, cells: &[String]) -> Result<f64, String> {
        match (self.similar, self.similarity) {
            (Some(column), _) => Ok(f64::from(u8::from(mark(&cells[column])?))),
            (None, Some(column)) => grade(&cells[column]),
            (None, None) => Ok(1.0),
        }
    }

    fn weight_of(&self, cells: &[String]) -> Result<f64, String> {
        self.weight.map_or(Ok(1.0), |column| weight(&cells[column]))
    }
}

fn find_columns(records: &Records) -> Result<Columns, ReadError> {
    let refused = |message: String| Err(ReadError::new(&records.source, message));
    let width = records.rows.first().map_or(0, |(_, cells)| cells.len());
    let Some(names) = &records.names else {
        if !(2..=4).contains(&width) {
            let width = grouped_count(width as u64, "column");
            return refused(format!("{width} without names; first,second,similar[,weight] are expected"));
        }
        let at = |column: usize| (column < width).then_some(column);
        return Ok(Columns { first: at(0), second: at(1), similar: at(2), similarity: None, weight: at(3) });
    };
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&&*name.to_ascii_lowercase()));
    let columns = Columns {
        first: find(FIRST),
        second: find(SECOND),
        similar: find(SIMILAR),
        similarity: find(SIMILARITY),
        weight: find(WEIGHT),
    };
    if columns.similar.is_some() && columns.similarity.is_some() {
        return refused("it has both a column 'similar' and a column 'similarity'; one must go".to_owned());
    }
    if columns.first.is_some() != columns.second.is_some()
        || (columns.first.is_none() && columns.similar.is_none() && columns.similarity.is_none())
    {
        return refused(format!(
            "its columns are {}; first,second,similar[,weight] are expected",
            names.join(", ")
        ));
    }
    Ok(columns)
}

/// `1 mark`, `12 345 marks`
fn grouped_count(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    format!("{text} {noun}{}", if number == 1 { "" } else { "s" })
}

fn mark(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "+1" | "1.0" | "true" | "yes" | "same" | "similar" => Ok(true),
        "0" | "-1" | "0.0" | "-1.0" | "false" | "no" | "different" | "dissimilar" => Ok(false),
        _ => Err(format!(
            "'{text}' does not say whether the pair is similar (1 or 0, true or false, same or different)"
        )),
    }
}

fn grade(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(similarity) if (0.0..=1.0).contains(&similarity) => Ok(similarity),
        _ => Err(format!(
            "'{text}' is not a similarity; it must be a number from 0 (different) to 1 (the same)"
        )),
    }
}

pub(crate) fn weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(format!("'{text}' is not a weight; weights are finite and not negative")),
    }
}
