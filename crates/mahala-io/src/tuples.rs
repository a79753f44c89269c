//! Files of comparisons: triplets `anchor,near,far` and quadruplets `a,b,c,d[,weight]` with d(a, b) < d(c, d), by row
//! numbers from 1.

use std::path::Path;

use mahala::pairs::{Quadruplet, Quadruplets, Triplet, Triplets};

use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::pairs::{PairsError, RowNumbers, weight};
use crate::read::read_records;
use crate::table::{Records, Table};

/// The names of the columns of a file of triplets.
const TRIPLET: [&[&str]; 3] =
    [&["anchor", "a", "query", "first"], &["near", "positive", "second"], &["far", "negative", "third"]];
/// The names of the columns of a file of quadruplets.
const QUADRUPLET: [&[&str]; 4] =
    [&["a", "near1", "first"], &["b", "near2", "second"], &["c", "far1", "third"], &["d", "far2", "fourth"]];
const WEIGHT: &[&str] = &["weight", "w"];

/// Reads triplets of the rows of a table.
///
/// # Errors
/// A file that cannot be read or has other columns, or a row that does not exist.
pub fn read_triplets(path: &Path, table: &Table) -> Result<Triplets, PairsError> {
    let list = read(path, table, TRIPLET, "anchor,near,far", false)?;
    let triplet =
        |([anchor, near, far], _): &([usize; 3], f64)| Triplet { anchor: *anchor, near: *near, far: *far };
    Ok(Triplets::new(list.iter().map(triplet).collect(), table.n)?)
}

/// Reads quadruplets of the rows of a table.
///
/// # Errors
/// A file that cannot be read or has other columns, a row that does not exist, or a bad weight.
pub fn read_quadruplets(path: &Path, table: &Table) -> Result<Quadruplets, PairsError> {
    let list = read(path, table, QUADRUPLET, "a,b,c,d[,weight]", true)?;
    let quadruplet = |([a, b, c, d], weight): &([usize; 4], f64)| Quadruplet {
        near: [*a, *b],
        far: [*c, *d],
        weight: *weight,
    };
    Ok(Quadruplets::new(list.iter().map(quadruplet).collect(), table.n)?)
}

/// The row positions and the weight of every record.
fn read<const N: usize>(
    path: &Path,
    table: &Table,
    names: [&[&str]; N],
    expected: &str,
    weighted: bool,
) -> Result<Vec<([usize; N], f64)>, ReadError> {
    let records = with_names(read_records(path, &ReadOptions::default())?, &names);
    let (columns, weights) = find_columns(&records, names, expected, weighted)?;
    let rows = RowNumbers::of(table);
    let mut list = Vec::with_capacity(records.rows.len());
    for (line, cells) in &records.rows {
        let refused = |message| ReadError::new(format!("{}, line {line}", records.source), message);
        let mut ends = [0; N];
        for (end, &column) in ends.iter_mut().zip(&columns) {
            *end = rows.parse(&cells[column]).map_err(refused)?;
        }
        list.push((ends, weights.map_or(Ok(1.0), |column| weight(&cells[column])).map_err(refused)?));
    }
    if list.is_empty() {
        return Err(ReadError::new(&records.source, "there is no comparison in it"));
    }
    Ok(list)
}

/// A header that does not look like one is known by its names.
fn with_names(mut records: Records, names: &[&[&str]]) -> Records {
    let known = |cell: &String| {
        let cell = cell.to_ascii_lowercase();
        names.iter().any(|names| names.contains(&&*cell)) || WEIGHT.contains(&&*cell)
    };
    let first = records.rows.first().map(|(_, cells)| cells);
    if records.names.is_none() && first.is_some_and(|cells| cells.iter().all(known)) {
        records.names = Some(records.rows.remove(0).1);
    }
    records
}

/// The column of each row number, and that of the weights: by name, or in order without names.
fn find_columns<const N: usize>(
    records: &Records,
    known: [&[&str]; N],
    expected: &str,
    weighted: bool,
) -> Result<([usize; N], Option<usize>), ReadError> {
    let refused = |seen: String| {
        Err(ReadError::new(&records.source, format!("its columns are {seen}; {expected} are expected")))
    };
    let Some(names) = &records.names else {
        let width = records.rows.first().map_or(0, |(_, cells)| cells.len());
        return match width {
            width if width == N => Ok((std::array::from_fn(|i| i), None)),
            width if weighted && width == N + 1 => Ok((std::array::from_fn(|i| i), Some(N))),
            width => refused(format!("{width} without names")),
        };
    };
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&&*name.to_ascii_lowercase()));
    let mut columns = [0; N];
    for (column, known) in columns.iter_mut().zip(known) {
        match find(known) {
            Some(at) => *column = at,
            None => return refused(names.join(", ")),
        }
    }
    match find(WEIGHT) {
        Some(_) if !weighted => refused(names.join(", ")),
        weights => Ok((columns, weights)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_table;
    use std::fs;

    /// What a reader of tuples makes of a file's text, for a table of four rows.
    fn with<T>(
        name: &str,
        text: &str,
        read: impl Fn(&Path, &Table) -> Result<T, PairsError>,
    ) -> Result<T, String> {
        let folder = std::env::temp_dir().join(format!("mahala-tuples-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (rows, tuples) = (folder.join("rows.csv"), folder.join("tuples.csv"));
        fs::write(&rows, "x,y\n1,2\n3,4\n5,6\n7,8\n").unwrap();
        fs::write(&tuples, text).unwrap();
        let table = read_table(&rows, &ReadOptions::default()).unwrap();
        let answer = read(&tuples, &table).map_err(|error| error.to_string());
        fs::remove_dir_all(&folder).unwrap();
        answer
    }

    #[test]
    fn triplets_are_read_by_name_or_in_order() {
        let expected = [Triplet { anchor: 0, near: 1, far: 2 }, Triplet { anchor: 3, near: 2, far: 0 }];
        for (name, text) in [
            ("plain", "1,2,3\n4,3,1\n"),
            ("named", "anchor,near,far\n1,2,3\n4,3,1\n"),
            ("turned", "far,anchor,near\n3,1,2\n1,4,3\n"),
            ("other", "query,positive,negative\n1,2,3\n4,3,1\n"),
        ] {
            assert_eq!(with(name, text, read_triplets).unwrap().as_slice(), expected, "{name}");
        }
    }

    #[test]
    fn quadruplets_may_have_weights() {
        let plain = with("quadruplets", "a,b,c,d\n1,2,3,4\n", read_quadruplets).unwrap();
        assert_eq!(plain.as_slice(), [Quadruplet { near: [0, 1], far: [2, 3], weight: 1.0 }]);
        let weighted = with("weighted", "1,2,3,4,0.5\n", read_quadruplets).unwrap();
        assert_eq!(weighted.as_slice()[0].weight, 0.5);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let told = |name: &str, text: &str| with(name, text, read_triplets).unwrap_err();
        let far = told("beyond", "1,2,3\n1,2,9\n");
        assert!(far.contains("line 2") && far.contains('9') && far.contains('4'), "{far}");
        let zero = told("zero", "0,2,3\n");
        assert!(zero.contains("line 1") && zero.contains('0'), "{zero}");
        let columns = told("columns", "1,2\n3,4\n");
        assert!(columns.contains("2 without names") && columns.contains("anchor,near,far"), "{columns}");
        let weight = told("weight", "anchor,near,far,weight\n1,2,3,1\n");
        assert!(weight.contains("anchor, near, far, weight"), "{weight}");
        let empty = told("empty", "anchor,near,far\n");
        assert!(empty.contains("header but no rows"), "{empty}");
        let negative = with("negative", "1,2,3,4,-1\n", read_quadruplets).unwrap_err();
        assert!(negative.contains("-1"), "{negative}");
    }
}
