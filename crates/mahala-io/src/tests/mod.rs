//! Files that are read, and what is said about those that cannot be.

mod arrow;
mod columns;
mod csv;
mod jsonl;
mod libsvm;
mod missing;
mod npy;
mod numbers;
#[cfg(feature = "parquet")]
mod parquet;
mod progress;
mod record;
mod source;

use std::io::Write;

use super::{Missing, ReadError, ReadOptions, Table, read_table};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// Writes a file into a directory of its own and reads it.
fn try_read(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).expect("a temporary file");
    read_table(&path, options).map_err(|error| without_directory(&error, directory.path()))
}

fn without_directory(error: &ReadError, directory: &std::path::Path) -> String {
    let directory = format!("{}/", directory.display());
    error.to_string().replace(&directory, "")
}

fn read(name: &str, text: impl AsRef<[u8]>, options: &ReadOptions) -> Table {
    try_read(name, text.as_ref(), options).expect("the file can be read")
}

fn refusal(name: &str, text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    try_read(name, text.as_ref(), options).expect_err("the file is refused")
}

fn plain() -> ReadOptions {
    ReadOptions::default()
}

fn labelled(column: &str) -> ReadOptions {
    ReadOptions { label: column.parse().ok(), ..ReadOptions::default() }
}

fn ignoring(column: &str) -> ReadOptions {
    ReadOptions { ignore: column.parse().into_iter().collect(), ..ReadOptions::default() }
}

fn wanting(features: &[&str]) -> ReadOptions {
    ReadOptions {
        features: Some(features.iter().map(ToString::to_string).collect()),
        ..ReadOptions::default()
    }
}

fn with(missing: Missing) -> ReadOptions {
    ReadOptions { missing, ..ReadOptions::default() }
}

fn labels(table: &Table) -> Vec<&str> {
    table.labels.iter().flatten().map(String::as_str).collect()
}
