//! Which format a file has: as the user says, or by its first bytes, or by its name.

use std::path::Path;

use crate::error::ReadError;
use crate::options::{Format, Header, ReadOptions};
use crate::source::{Magic, Source};

/// The format the user named, or else the one the first bytes or the name give away.
pub(crate) fn find_format(path: &Path, source: &Source, options: &ReadOptions) -> Result<Format, ReadError> {
    let seen = match source.magic {
        None => None,
        Some(Magic::Npy) => Some((Format::Npy, "an NPY")),
        Some(Magic::Zip) => Some((Format::Npz, "an NPZ")),
        Some(Magic::Parquet) => Some((Format::Parquet, "a Parquet")),
        Some(Magic::Arrow) => Some((Format::Arrow, "an Arrow")),
        Some(Magic::Other(name, remedy)) => {
            let message = format!("this is {name}, which is not read as a table");
            return Err(ReadError::new(&source.name, message).hint(remedy));
        }
    };
    let format = match (options.format, seen) {
        (Some(told), Some((seen, name))) if told != seen => {
            let message = format!("this is {name} file, but --format says otherwise");
            return Err(ReadError::new(&source.name, message).hint("leave --format out"));
        }
        (Some(told), _) => told,
        (None, Some((seen, _))) => seen,
        (None, None) if source.begins_with_object => Format::Jsonl,
        (None, None) => format_of_name(path),
    };
    check_options(format, source, options)?;
    Ok(format)
}

/// Refuses options that mean nothing in a file of this format.
fn check_options(format: Format, source: &Source, options: &ReadOptions) -> Result<(), ReadError> {
    check_arrays(format, source, options)?;
    let name = match format {
        Format::Csv | Format::Tsv => return Ok(()),
        Format::Npy => "an NPY",
        Format::Npz => "an NPZ",
        Format::Libsvm => "a LIBSVM",
        Format::Parquet => "a Parquet",
        Format::Arrow => "an Arrow",
        Format::Jsonl => "a JSON Lines",
    };
    let text_only =
        [("--delimiter", options.delimiter.is_some()), ("--header", options.header != Header::Auto)];
    if let Some((option, _)) = text_only.iter().find(|option| option.1) {
        let message = format!("{option} has no effect on {name} file; it is for tables of text");
        return Err(ReadError::new(&source.name, message).hint(format!("leave {option} out")));
    }
    if format == Format::Libsvm && options.label.is_some() {
        let message = "the label of a LIBSVM file stands first in each line, and is read from there";
        return Err(ReadError::new(&source.name, message).hint("leave --label out"));
    }
    Ok(())
}

/// Refuses what only archives of arrays and sparse text have, in other files.
fn check_arrays(format: Format, source: &Source, options: &ReadOptions) -> Result<(), ReadError> {
    let only = [
        ("--array", options.array.is_some() && format != Format::Npz, "archives of arrays (NPZ)"),
        ("--zero-based", options.zero_based && format != Format::Libsvm, "sparse text (LIBSVM)"),
    ];
    match only.iter().find(|one| one.1) {
        Some((option, _, files)) => {
            let message = format!("{option} has no effect on this file; it is for {files}");
            Err(ReadError::new(&source.name, message).hint(format!("leave {option} out")))
        }
        None => Ok(()),
    }
}

pub(crate) fn format_of_name(path: &Path) -> Format {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match name.rsplit('.').next() {
        Some("tsv" | "tab") => Format::Tsv,
        Some("npy") => Format::Npy,
        Some("npz") => Format::Npz,
        Some("svm" | "libsvm" | "svmlight") => Format::Libsvm,
        Some("parquet" | "pq") => Format::Parquet,
        Some("arrow" | "arrows" | "feather" | "ipc") => Format::Arrow,
        Some("jsonl" | "ndjson" | "json") => Format::Jsonl,
        _ => Format::Csv,
    }
}
