//! Reading tables from files: CSV and TSV, NPY, LIBSVM and Parquet.
//!
//! Every reader finds the columns of its file, asks [`columns`] which part each of them plays, and
//! hands row after row to [`collect`], which deals with missing cells. Whatever is wrong with a
//! file is said with its place and, where there is one, the remedy.

mod atomic_file;
mod block;
mod catch_panic;
mod cell;
mod collect;
mod column_ref;
mod columns;
mod csv;
mod decimal_mark;
mod error;
mod format;
mod glob;
mod libsvm;
pub mod npy;
mod options;
pub mod pairs;
mod parquet;
mod part_file;
mod scalar;
mod source;
mod stream;
mod table;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use atomic_file::{AtomicFile, remove_unfinished, write_atomic};
pub use block::Parsed;
pub use collect::mean;
pub use column_ref::ColumnRef;
pub use error::InputError;
use format::find_format;
pub use options::{Format, Header, Missing, ReadOptions};
use source::Source;
pub use stream::{Stream, estimated_bytes};
pub use table::{Records, Table};

/// Reads a table of numbers from a file, from those of a folder or a pattern, one below the other, or from standard
/// input if the path is `-`.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, InputError> {
    let files = glob::expand(path)?;
    let mut table = if options.skip_bad_rows.is_some() || files.len() > 1 {
        Stream::open(path, options)?.into_table()?
    } else {
        read_one(&files[0], options)?
    };
    if options.features.is_none() {
        table.note_row_counters();
    }
    Ok(table)
}

fn read_one(path: &Path, options: &ReadOptions) -> Result<Table, InputError> {
    let source = Source::open(path)?;
    let delimiter = options.delimiter;
    match find_format(path, &source, options)? {
        Format::Csv => csv::read(source, delimiter, options),
        Format::Tsv => csv::read(source, delimiter.or(Some(b'\t')), options),
        Format::Npy => npy::read(source, options),
        Format::Libsvm => libsvm::read(source, options),
        Format::Parquet => parquet::read(source, options),
    }
}

/// Reads a small table of text from a CSV or TSV file, or from standard input.
pub fn read_records(path: &Path, options: &ReadOptions) -> Result<Records, InputError> {
    let source = Source::open(path)?;
    let delimiter = options.delimiter;
    match find_format(path, &source, options)? {
        Format::Csv => csv::read_records(source, delimiter, options),
        Format::Tsv => csv::read_records(source, delimiter.or(Some(b'\t')), options),
        Format::Npy | Format::Libsvm | Format::Parquet => {
            Err(InputError::new(source.name, "this table must be CSV or TSV"))
        }
    }
}
