//! Archives of `NumPy` arrays: one of them holds the rows, another perhaps the labels.

mod archive;

use crate::error::{ReadError, excerpt, list, shell};
use crate::label_file::LabelFile;
use crate::npy::{self, read_header};
use crate::npz::archive::{Archive, Member};
use crate::options::ReadOptions;
use crate::source::Source;
use crate::table::Table;

/// An array of the archive, before its numbers are read.
struct Array<'a> {
    name: &'a str,
    member: &'a Member,
    shape: Vec<u64>,
}

/// Reads the array of two dimensions, or the one the user named; the label may be a column of it or another array.
pub(crate) fn read(source: Source, options: &ReadOptions) -> Result<Table, ReadError> {
    let name = source.name.clone();
    let progress = source.progress.clone();
    let archive = Archive::open(&name, source.into_file()?, progress)?;
    let arrays = arrays(&name, &archive)?;
    let wanted = options.label.as_ref().map(|label| label.0.as_str());
    let labels = wanted.and_then(|wanted| arrays.iter().find(|array| array.name == wanted));
    let rows = choose(&name, &arrays, labels.map(|labels| labels.name), options)?;
    if labels.is_some_and(|labels| labels.name == rows.name) {
        let message = format!("the array '{}' cannot be both the rows and the labels", rows.name);
        return Err(ReadError::new(name, message).hint("name another with --array or --label"));
    }
    if labels.is_none()
        && let Some(label) = &options.label
        && label.is_name()
    {
        let names: Vec<&str> = arrays.iter().map(|array| array.name).collect();
        let message = format!("there is no array '{}'; the arrays are {}", label.0, list(&names));
        return Err(ReadError::new(name, message).hint("--label -1 takes the last column of the rows"));
    }
    let of_rows =
        ReadOptions { label: options.label.clone().filter(|_| labels.is_none()), ..options.clone() };
    let mut table = npy::read(open(&name, &archive, rows)?, &of_rows)?;
    table.source.clone_from(&name);
    if let Some(labels) = labels {
        LabelFile::of_array(open(&name, &archive, labels)?, options)?.give(&mut table, options.missing)?;
    }
    Ok(table)
}

fn open(source: &str, archive: &Archive, array: &Array<'_>) -> Result<Source, ReadError> {
    let name = format!("{source}, array '{}'", array.name);
    Ok(Source::of_member(name, archive.reader(array.member)?, array.member.length))
}

/// Every member that is an array, with its shape.
fn arrays<'a>(source: &str, archive: &'a Archive) -> Result<Vec<Array<'a>>, ReadError> {
    let mut arrays = Vec::new();
    for member in &archive.members {
        let Some(name) = member.name.strip_suffix(".npy") else { continue };
        let place = format!("{source}, array {}", excerpt(name.as_bytes()));
        let shape = read_header(&place, &mut archive.reader(member)?)?.shape;
        arrays.push(Array { name, member, shape });
    }
    if arrays.is_empty() {
        return Err(ReadError::new(
            source,
            "this is a ZIP archive without NumPy arrays, which is not read as a table",
        )
        .hint("unpack it; save a sheet of an XLSX file as CSV"));
    }
    Ok(arrays)
}

/// The array with the rows: the one that is named, or the only one of two dimensions.
fn choose<'a>(
    source: &str,
    arrays: &'a [Array<'a>],
    labels: Option<&str>,
    options: &ReadOptions,
) -> Result<&'a Array<'a>, ReadError> {
    let described: Vec<String> = arrays
        .iter()
        .map(|array| {
            let sides: Vec<String> = array.shape.iter().map(u64::to_string).collect();
            format!("{} ({})", array.name, sides.join(" × "))
        })
        .collect();
    if let Some(wanted) = &options.array {
        let found = arrays.iter().find(|array| array.name == wanted);
        return found.ok_or_else(|| {
            let message = format!("there is no array '{wanted}'; the arrays are {}", list(&described));
            ReadError::new(source, message).hint("name one of them with --array")
        });
    }
    let tables: Vec<&Array<'_>> =
        arrays.iter().filter(|array| array.shape.len() == 2 && labels != Some(array.name)).collect();
    match tables[..] {
        [only] => Ok(only),
        [] => Err(ReadError::new(source, format!("no array has two dimensions: {}", list(&described)))
            .hint("rows are an array of two dimensions; --array NAME takes one of another shape")),
        [first, ..] => {
            let message = format!("{} arrays have two dimensions: {}", tables.len(), list(&described));
            Err(ReadError::new(source, message)
                .hint(format!("say which one holds the rows, such as --array {}", shell(first.name))))
        }
    }
}
