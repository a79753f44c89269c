//! Files, streams, compression and what is no table.

use super::{gzip, plain, read, refusal, try_read, without_directory};
use crate::format::format_of_name;
use crate::options::{Format, ReadOptions};
use crate::{read_records, read_table};

#[test]
fn names_tell_formats() {
    let cases = [
        ("a.csv", Format::Csv),
        ("a.CSV.gz", Format::Csv),
        ("a.txt", Format::Csv),
        ("-", Format::Csv),
        ("a.tsv.gz", Format::Tsv),
        ("a.npy", Format::Npy),
        ("a.svm", Format::Libsvm),
        ("a.libsvm.gz", Format::Libsvm),
        ("a.parquet", Format::Parquet),
        ("a.arrow", Format::Arrow),
        ("a.feather", Format::Arrow),
        ("a.jsonl", Format::Jsonl),
        ("a.ndjson.gz", Format::Jsonl),
        ("a.json", Format::Jsonl),
    ];
    for (name, format) in cases {
        assert_eq!(format_of_name(name.as_ref()), format, "{name}");
    }
}

#[test]
fn gzip_is_read_whatever_the_name() {
    let zipped = gzip(b"x,y\n1,2\n");
    for name in ["a.csv.gz", "a.csv"] {
        assert_eq!(read(name, &zipped, &plain()).rows, [1.0, 2.0]);
    }
    assert_eq!(read("a.csv.gz", "x,y\n1,2\n", &plain()).rows, [1.0, 2.0]);
    assert_eq!(read("a.svm.gz", gzip(b"1 1:5\n"), &plain()).rows, [5.0]);
}

#[test]
fn truncated_and_damaged_gzip_are_refused() {
    let lines = (0..50_000).map(|i| format!("{i},{}", i * 7 % 1001));
    let lines: Vec<String> = lines.collect();
    let zipped = gzip(
        lines
            .join(
                "
",
            )
            .as_bytes(),
    );
    let cut = refusal("a.csv.gz", &zipped[..zipped.len() / 2], &plain());
    assert_eq!(
        cut,
        "a.csv.gz: the compressed data end too early\n\
         hint: the file is truncated; copy or download it again"
    );
    let mut wrong_sum = zipped.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 0xFF;
    assert!(refusal("a.csv.gz", &wrong_sum, &plain()).contains("the compressed data are damaged"));
}

#[test]
fn directories_and_absent_files_are_refused_in_words() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let message = |path: &std::path::Path| {
        let error = read_table(path, &plain()).expect_err("this is no file");
        without_directory(&error, directory.path())
    };
    let inner = directory.path().join("folder");
    std::fs::create_dir(&inner).expect("a directory");
    assert_eq!(
        message(&inner),
        "folder: the folder has no tables: it is empty\n\
         hint: files of a folder must end with .csv, .tsv, .txt, .parquet, .arrow or .jsonl, or with .gz or .zst after that"
    );
    let absent = directory.path().join("absent.csv");
    assert_eq!(message(&absent), "absent.csv: there is no such file");
}

#[test]
fn other_encodings_are_named() {
    assert_eq!(
        refusal("a.csv", b"x,y\n1,2\n\xE9,3\n", &plain()),
        "a.csv, line 3: byte 1 of the line (0xE9) is not UTF-8\n\
         hint: convert the file, e.g. with iconv -f latin1 -t utf-8"
    );
    assert_eq!(
        refusal("a.csv", b"\xFF\xFEx\0,\0y\0", &plain()),
        "a.csv: the file is UTF-16, not UTF-8\n\
         hint: convert it, e.g. with iconv -f utf-16 -t utf-8"
    );
    assert_eq!(
        refusal("a.csv", "x,y\r1,2\r", &plain()),
        "a.csv: the lines end with a carriage return alone, which is not read\n\
         hint: convert it, e.g. with tr '\\r' '\\n'"
    );
}

#[test]
fn binary_files_are_refused() {
    assert_eq!(
        refusal("a.csv", b"\x7fELF\0\0\0", &plain()),
        "a.csv: byte 5 is zero: this is not a text table\n\
         hint: if it is another format, name it with --format"
    );
    let noise: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for name in ["a.csv", "a.tsv", "a.npy", "a.svm", "a.parquet"] {
        let error = refusal(name, &noise, &plain());
        assert!(error.len() < 500, "{error}");
    }
}

#[test]
fn a_huge_cell_is_refused_in_few_words() {
    let text = format!("x,y\n1,{}\n", "a".repeat(5_000_000));
    assert!(refusal("a.csv", text, &plain()).len() < 300);
    let digits = format!("x,y\n1,{}\n", "9".repeat(5_000_000));
    assert!(refusal("a.csv", digits, &plain()).contains("is not a finite number"));
}

#[test]
fn a_very_wide_table_is_read() {
    let header: Vec<String> = (0..30_000).map(|j| format!("column {j}")).collect();
    let row: Vec<String> = (0..30_000).map(|j| j.to_string()).collect();
    let text = format!("{}\n{}\n", header.join(","), row.join(","));
    let table = read("a.csv", text, &plain());
    assert_eq!(table.names, header);
    assert_eq!(table.n, 1);
}

#[test]
fn a_format_that_the_file_contradicts_is_refused() {
    let options = ReadOptions { format: Some(Format::Csv), ..plain() };
    assert_eq!(
        refusal("a.npy", b"\x93NUMPY\x01\0", &options),
        "a.npy: this is an NPY file, but --format says otherwise\nhint: leave --format out"
    );
    assert_eq!(try_read("a.csv", b"PAR1,b\n1,2\n", &plain()).map(|table| table.n), Ok(1));
}

#[test]
fn records_are_read_from_text_only() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("pairs.npy");
    std::fs::write(&path, b"\x93NUMPY\x01\0").expect("a file");
    let error = read_records(&path, &plain()).expect_err("this is no text");
    assert_eq!(without_directory(&error, directory.path()), "pairs.npy: this table must be CSV or TSV");
}
