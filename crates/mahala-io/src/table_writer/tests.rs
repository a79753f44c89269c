//! What is written is read again as it was.

use super::{Columns, Holds, Packing, TableForm, TableWriter};
use crate::{AtomicFile, ReadOptions, Table, read_table};

fn columns() -> Vec<(String, Holds)> {
    let column = |name: &str, holds| (name.to_owned(), holds);
    vec![
        column("row", Holds::Integers),
        column("a", Holds::Numbers),
        column("b", Holds::Numbers),
        column("y", Holds::Text),
    ]
}

/// Three blocks of rows under one name.
fn written(name: &str) -> Table {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    let form = TableForm::of(&path).expect("a form");
    let output = AtomicFile::create(&path).expect("opened");
    let mut writer = TableWriter::new(output, form, &columns()).expect("a writer");
    for first in [1, 3, 5] {
        let x = first as f64;
        let labels = ["p, \"q\"", "tab\there"].map(str::to_owned).to_vec();
        let rows = vec![
            Columns::Integers(vec![first, first + 1]),
            Columns::Numbers(vec![x / 3.0, -x, 1e-300 * x, f64::MAX], 2),
            Columns::Text(labels),
        ];
        writer.write(form.encode(rows).expect("encoded")).expect("written");
    }
    assert!(!path.exists());
    writer.finish().expect("complete");
    let options = ReadOptions { label: "y".parse().ok(), ..ReadOptions::default() };
    read_table(&path, &options).expect("a table")
}

#[test]
fn every_form_holds_the_same_table() {
    let expected = written("t.csv");
    assert_eq!(expected.names, ["row", "a", "b"]);
    assert_eq!(expected.rows[..6], [1.0, 1.0 / 3.0, -1.0, 2.0, 1e-300, f64::MAX]);
    assert_eq!(expected.labels.as_ref().expect("labels")[..2], ["p, \"q\"", "tab\there"]);
    for name in ["t.tsv", "t.csv.gz", "t.csv.zst", "t.tsv.gz", "t.parquet", "t"] {
        let table = written(name);
        assert_eq!((table.names, table.rows), (expected.names.clone(), expected.rows.clone()), "{name}");
        assert_eq!(table.labels, expected.labels, "{name}");
    }
}

#[test]
fn names_tell_forms_and_an_array_refuses_text() {
    let form = |name: &str| TableForm::of(name.as_ref());
    assert_eq!(form("-").ok(), Some(TableForm::Text(b',', Packing::Plain)));
    assert_eq!(form("z.TSV.gz").ok(), Some(TableForm::Text(b'\t', Packing::Gzip)));
    for name in ["z.npy.gz", "z.parquet.zst", "z.npz", "z.json"] {
        let told = form(name).expect_err("not written").to_string();
        assert!(told.starts_with(&format!("{name}: tables are written as .csv or .tsv")), "{told}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let output = AtomicFile::create(&directory.path().join("z.npy")).expect("opened");
    let told = TableWriter::new(output, TableForm::Npy, &columns()).err().expect("text").to_string();
    assert!(told.starts_with("an array (.npy) holds numbers alone, and column 'y' is text"), "{told}");
}
