//! Reading a whole file: the format is found, and its reader called.

use std::path::Path;

use crate::error::ReadError;
use crate::format::find_format;
use crate::options::{Format, ReadOptions};
use crate::source::Source;
use crate::stream::Stream;
use crate::table::{Records, Table};
use crate::{csv, glob, label_file, libsvm, npy, npz};

/// Reads a table of numbers from a file, from those of a folder or a pattern, one below the other, or from standard
/// input if the path is `-`.
///
/// # Errors
/// A file that cannot be read, rows that cannot be used, or more of them than may be held.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, ReadError> {
    let files = glob::expand(path)?;
    if let Some(progress) = &options.progress {
        progress.begin(&files);
    }
    let mut table = if options.skip_bad_rows.is_some() || files.len() > 1 {
        Stream::open(path, options)?.into_table()?
    } else {
        read_one(&files[0], options)?
    };
    if let Some(labels) = &options.labels {
        label_file::attach(&mut table, labels, options)?;
    }
    if options.features.is_none() {
        table.note_row_counters();
    }
    Ok(table)
}

fn read_one(path: &Path, options: &ReadOptions) -> Result<Table, ReadError> {
    let source = Source::open(path, options.progress.as_ref())?;
    match find_format(path, &source, options)? {
        Format::Npy => npy::read(source, options),
        Format::Npz => npz::read(source, options),
        Format::Libsvm => libsvm::read(source, options),
        format => Stream::of_table(path, source, format, options)?.into_table(),
    }
}

/// Reads a small table of text from a CSV or TSV file, or from standard input.
///
/// # Errors
/// A file that cannot be read, or that is no table of text.
pub fn read_records(path: &Path, options: &ReadOptions) -> Result<Records, ReadError> {
    let source = Source::open(path, options.progress.as_ref())?;
    let delimiter = options.delimiter;
    match find_format(path, &source, options)? {
        Format::Csv => csv::read_records(source, delimiter, options),
        Format::Tsv => csv::read_records(source, delimiter.or(Some(b'\t')), options),
        Format::Npy | Format::Npz | Format::Libsvm | Format::Parquet | Format::Arrow | Format::Jsonl => {
            Err(ReadError::new(source.name, "this table must be CSV or TSV"))
        }
    }
}
