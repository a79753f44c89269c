//! Arrow files that pyarrow wrote (`tests/reference/arrow/make_arrow_files.py`), beside the same table as CSV.

use std::path::{Path, PathBuf};

use super::{labels, plain, without_directory};
use crate::{Block, Missing, ReadError, ReadOptions, Stream, Table, read_table};

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/arrow").join(name)
}

/// Without the columns that are refused as features.
fn options(label: &str) -> ReadOptions {
    let not_read: &[&str] = &["when", "nested", "text", "large", "view", "category"];
    let ignore = not_read.iter().filter(|name| **name != label).filter_map(|name| name.parse().ok());
    ReadOptions { label: label.parse().ok(), ignore: ignore.collect(), missing: Missing::Zero, ..plain() }
}

fn of_csv() -> Table {
    let options = ReadOptions { label: "text".parse().ok(), missing: Missing::Zero, ..plain() };
    read_table(&reference("table.csv"), &options).expect("a table")
}

fn refusal(name: &str, options: &ReadOptions) -> String {
    let path = reference(name);
    let error = read_table(&path, options).expect_err("the file is refused");
    without_directory(&error, path.parent().expect("a folder"))
}

#[test]
fn every_type_and_compression_gives_the_numbers_and_labels_of_the_text() {
    let csv = of_csv();
    for name in ["uncompressed.arrow", "lz4.arrow", "zstd.arrow"] {
        for label in ["text", "large", "view", "category"] {
            let table = read_table(&reference(name), &options(label)).expect("a table");
            assert_eq!((&table.names, table.n), (&csv.names, 40), "{name}");
            assert_eq!(table.rows, csv.rows, "{name}");
            assert_eq!(table.labels, csv.labels, "{name} {label}");
        }
    }
}

#[test]
fn a_stream_of_rows_and_standard_input_s_messages_give_the_same() {
    let bytes = std::fs::read(reference("lz4.arrow")).expect("a file");
    // The messages stand behind eight bytes of magic; what follows their end is not read.
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("messages.arrows");
    std::fs::write(&path, &bytes[8..]).expect("a file");
    let csv = of_csv();
    assert_eq!(read_table(&path, &options("text")).expect("a table").rows, csv.rows);
    let mut stream = Stream::open(&path, &options("category")).expect("a stream");
    let (mut rows, mut blocks) = (Vec::new(), 0);
    let taken: Result<(), ReadError> = stream.each(
        |_| (),
        |block: Block, ()| {
            blocks += 1;
            rows.extend(block.into_row_major());
            Ok(())
        },
    );
    taken.expect("all is read");
    assert_eq!((rows, blocks), (csv.rows, 3));
}

#[test]
fn dictionaries_grow_or_are_replaced_between_batches() {
    let of = |name: &str| {
        let table = read_table(&reference(name), &ReadOptions { label: "y".parse().ok(), ..plain() });
        let table = table.expect("a table");
        assert_eq!(table.rows, [0.0, 2.0, 3.0, 1.0, 2.0, 3.0, 2.0, 2.0, 3.0]);
        labels(&table).join(" ")
    };
    let long = "a longer name than twelve bytes";
    assert_eq!(of("deltas.arrows"), format!("red red red red green red red {long} red"));
    assert_eq!(of("replaced.arrows"), format!("red red red green green green {long} red {long}"));
}

#[test]
fn a_file_whose_messages_only_its_index_finds_is_read() {
    let options = ReadOptions { label: "y".parse().ok(), missing: Missing::Zero, ..plain() };
    let table = read_table(&reference("polars.arrow"), &options).expect("a table");
    assert_eq!(table.names, ["x", "n"]);
    assert_eq!(table.rows, [1.5, 1.0, 0.0, 2.0, -2.0, 3.0, 4.0, 4.0]);
    assert_eq!(labels(&table), ["red", "green", "a longer name than twelve bytes", "red"]);
}

#[test]
fn columns_that_are_no_numbers_are_refused_by_name() {
    assert_eq!(
        refusal("lz4.arrow", &plain()),
        "lz4.arrow: column 'when' has dates or times, not numbers\n\
         hint: leave it out with --ignore when, or, if it is the label, --label when"
    );
    let without = |names: &[&str]| ReadOptions {
        ignore: names.iter().filter_map(|name| name.parse().ok()).collect(),
        ..plain()
    };
    assert!(refusal("lz4.arrow", &without(&["when"])).contains("column 'nested' has nested values"));
    assert!(refusal("lz4.arrow", &without(&["when", "nested"])).contains("column 'text' has text"));
    let lists = ReadOptions { label: "lists".parse().ok(), ..plain() };
    assert!(refusal("lz4.arrow", &lists).contains("column 'lists' has lists, and a label is one value"));
    let gaps = ReadOptions { missing: Missing::Refuse, ..options("text") };
    assert!(
        refusal("zstd.arrow", &gaps)
            .contains("5 missing cells in 4 rows: row 4, column 'fixed.1'; row 8, column 'double'")
    );
}

#[test]
fn a_batch_larger_than_what_may_be_held_is_refused_before_it_is_read() {
    let few = ReadOptions { most_bytes: Some(500), ..options("text") };
    let error = read_table(&reference("uncompressed.arrow"), &few).expect_err("too large");
    assert!(error.is_too_large(), "{error}");
}

#[test]
fn cut_and_damaged_files_are_refused_in_words() {
    let bytes = std::fs::read(reference("lz4.arrow")).expect("a file");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("cut.arrow");
    for end in (9..bytes.len()).step_by(97) {
        std::fs::write(&path, &bytes[..end]).expect("a file");
        let error = read_table(&path, &options("text")).expect_err("a cut file").to_string();
        assert!(error.contains("the Arrow data end too early"), "{end}: {error}");
    }
    for at in (8..bytes.len()).step_by(11) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        std::fs::write(&path, &damaged).expect("a file");
        // Some bytes are padding, some are numbers.
        if let Err(error) = read_table(&path, &options("text")) {
            assert!(!error.to_string().is_empty());
        }
    }
}
