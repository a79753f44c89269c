//! Files of judgements: `query,document[,gain]`, by row numbers from 1.

use std::path::Path;

use mahala::retrieval::Judgement;

use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::pairs::RowNumbers;
use crate::read::read_records;
use crate::table::{Records, Table};

/// The names of the columns.
const COLUMNS: [&[&str]; 3] =
    [&["query", "q"], &["document", "doc", "clicked", "positive"], &["gain", "grade", "relevance", "score"]];

/// Reads clicks or graded judgements. Without a column of gains each counts 1, however often it was clicked.
///
/// # Errors
/// A file that cannot be read or has other columns, a row that does not exist, a gain that is no finite number.
pub fn read_judgements(path: &Path, queries: &Table, documents: &Table) -> Result<Vec<Judgement>, ReadError> {
    let records = with_names(read_records(path, &ReadOptions::default())?);
    let (columns, gains) = find_columns(&records)?;
    let (of_queries, of_documents) = (RowNumbers::of(queries), RowNumbers::of(documents));
    let mut list: Vec<Judgement> = Vec::with_capacity(records.rows.len());
    for (line, cells) in &records.rows {
        let refused = |message| ReadError::new(format!("{}, line {line}", records.source), message);
        let query = of_queries.parse(&cells[columns[0]]).map_err(refused)?;
        let document = of_documents.parse(&cells[columns[1]]).map_err(refused)?;
        let gain = gains.map_or(Ok(1.0), |column| gain(&cells[column])).map_err(refused)?;
        list.push(Judgement { query, document, gain });
    }
    if list.is_empty() {
        return Err(ReadError::new(&records.source, "there is no judgement in it"));
    }
    if gains.is_none() {
        list.sort_by_key(|j| (j.query, j.document));
        list.dedup();
    }
    Ok(list)
}

fn gain(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(gain) if gain.is_finite() => Ok(gain),
        _ => Err(format!("the gain is '{text}'; it must be a finite number")),
    }
}

/// A header that does not look like one is known by its names.
fn with_names(mut records: Records) -> Records {
    let known = |cell: &String| COLUMNS.iter().any(|names| names.contains(&&*cell.to_ascii_lowercase()));
    let first = records.rows.first().map(|(_, cells)| cells);
    if records.names.is_none() && first.is_some_and(|cells| cells.iter().all(known)) {
        records.names = Some(records.rows.remove(0).1);
    }
    records
}

/// The columns of query and document, and that of gains: by name, or in order without names.
fn find_columns(records: &Records) -> Result<([usize; 2], Option<usize>), ReadError> {
    let refused = |seen: String| {
        let message = format!("its columns are {seen}; query,document[,gain] are expected");
        Err(ReadError::new(&records.source, message))
    };
    let Some(names) = &records.names else {
        return match records.rows.first().map_or(0, |(_, cells)| cells.len()) {
            2 => Ok(([0, 1], None)),
            3 => Ok(([0, 1], Some(2))),
            width => refused(format!("{width} without names")),
        };
    };
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&&*name.to_ascii_lowercase()));
    match (find(COLUMNS[0]), find(COLUMNS[1])) {
        (Some(query), Some(document)) => Ok(([query, document], find(COLUMNS[2]))),
        _ => refused(names.join(", ")),
    }
}
