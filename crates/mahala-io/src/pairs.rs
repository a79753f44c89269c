//! Files that mark pairs of rows: `first,second,similar[,weight]`, row numbers from 1. Instead of `similar` a
//! column `similarity` may grade them, from 0 to 1.

use crate::options::ReadOptions;
use crate::read_records;
use crate::table::{Records, Table};
use anyhow::{Context as _, Result, bail};
use mahala::Pairs;
use std::collections::HashMap;
use std::path::Path;

/// The pairs of a file, and whether it said which are similar.
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
pub fn read_pairs(path: &Path, first: &Table, second: &Table, marks_needed: bool) -> Result<PairsFile> {
    let records = with_names(read_records(path, &ReadOptions::default())?);
    let columns = find_columns(&records)?;
    let marked = columns.similar.is_some() || columns.similarity.is_some();
    if marks_needed && !marked {
        bail!(
            "{}: no column says which pairs are similar\nhint: add a column 'similar' with 1 and 0, or 'similarity' from 0 to 1",
            records.source
        );
    }
    if columns.first.is_none() {
        check_aligned(&records, first)?;
        check_aligned(&records, second)?;
    }
    let (first_at, second_at) = (positions(first), positions(second));
    let (mut pairs, mut weights) = (Vec::with_capacity(records.rows.len()), Vec::new());
    for (index, (line, cells)) in records.rows.iter().enumerate() {
        let place = || format!("{}, line {line}", records.source);
        let row = |column: Option<usize>, at: &HashMap<u64, usize>, table: &Table| -> Result<usize> {
            let number = match column {
                Some(column) => cells[column].parse::<u64>().map_err(|_| {
                    anyhow::anyhow!("{}: '{}' is not a row number (1, 2, …)", place(), cells[column])
                })?,
                None => index as u64 + 1,
            };
            at.get(&number).copied().with_context(|| missing_row(&place(), number, table))
        };
        let ends = (row(columns.first, &first_at, first)?, row(columns.second, &second_at, second)?);
        let similarity = match (columns.similar, columns.similarity) {
            (Some(column), _) => f64::from(u8::from(mark(&cells[column]).with_context(place)?)),
            (None, Some(column)) => grade(&cells[column]).with_context(place)?,
            (None, None) => 1.0,
        };
        pairs.push((ends.0, ends.1, similarity));
        weights.push(match columns.weight {
            Some(column) => weight(&cells[column]).with_context(place)?,
            None => 1.0,
        });
    }
    if pairs.is_empty() {
        bail!("{}: there is no pair in it", records.source);
    }
    let entries = |record: usize| 1 + usize::from(pairs[record].2 > 0.0 && pairs[record].2 < 1.0);
    let records = (0..pairs.len()).flat_map(|record| vec![record; entries(record)]).collect();
    Ok(PairsFile { pairs: Pairs::graded(&pairs, Some(&weights), first.n, second.n)?, marked, records })
}

/// The second table with its columns in the order of the first.
pub fn select_aligned(names: &[String], second: Table) -> Result<Table> {
    if second.names == names {
        return Ok(second);
    }
    let order: Option<Vec<usize>> =
        names.iter().map(|name| second.names.iter().position(|other| other == name)).collect();
    let Some(order) = order.filter(|order| order.len() == second.names.len()) else {
        bail!(
            "{} has the columns {}; the first table has {}",
            second.source,
            second.names.join(", "),
            names.join(", ")
        );
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
fn check_aligned(records: &Records, table: &Table) -> Result<()> {
    let (marks, last) = (records.rows.len() as u64, table.row_numbers.last().copied().unwrap_or(0));
    if marks < last {
        bail!(
            "{}: {} for rows 1 to {last} of {}; without row numbers each row needs one",
            records.source,
            grouped_count(marks, "mark"),
            table.source
        );
    }
    Ok(())
}

fn positions(table: &Table) -> HashMap<u64, usize> {
    table.row_numbers.iter().enumerate().map(|(at, &number)| (number, at)).collect()
}

fn missing_row(place: &str, number: u64, table: &Table) -> String {
    let last = table.row_numbers.last().copied().unwrap_or(0);
    if number == 0 || number > last {
        format!(
            "{place}: row {number} does not exist; {} has rows 1 to {last} (the header does not count)",
            table.source
        )
    } else {
        let why = if table.notes.iter().any(|note| note.contains("skipped")) {
            "left out when it was read: a bad row, or one with missing cells"
        } else {
            "dropped for its missing cells"
        };
        format!("{place}: row {number} of {} was {why}", table.source)
    }
}

fn find_columns(records: &Records) -> Result<Columns> {
    let width = records.rows.first().map_or(0, |(_, cells)| cells.len());
    let Some(names) = &records.names else {
        if !(2..=4).contains(&width) {
            let width = grouped_count(width as u64, "column");
            bail!("{}: {width} without names; first,second,similar[,weight] are expected", records.source);
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
        bail!("{}: it has both a column 'similar' and a column 'similarity'; one must go", records.source);
    }
    if columns.first.is_some() != columns.second.is_some()
        || (columns.first.is_none() && columns.similar.is_none() && columns.similarity.is_none())
    {
        bail!(
            "{}: its columns are {}; first,second,similar[,weight] are expected",
            records.source,
            names.join(", ")
        );
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

fn mark(text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "+1" | "1.0" | "true" | "yes" | "same" | "similar" => Ok(true),
        "0" | "-1" | "0.0" | "-1.0" | "false" | "no" | "different" | "dissimilar" => Ok(false),
        _ => bail!(
            "'{text}' does not say whether the pair is similar (1 or 0, true or false, same or different)"
        ),
    }
}

fn grade(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(similarity) if (0.0..=1.0).contains(&similarity) => Ok(similarity),
        _ => bail!("'{text}' is not a similarity; it must be a number from 0 (different) to 1 (the same)"),
    }
}

fn weight(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => bail!("'{text}' is not a weight; weights are finite and not negative"),
    }
}
