//! Numbers as they are written in text.

use super::{plain, read, refusal};
use crate::cell::{Cell, parse_cell};

#[test]
fn cells_are_numbers_missing_or_text() {
    let cases: [(&str, Cell); 17] = [
        ("1", Cell::Number(1.0)),
        ("-1.5e3", Cell::Number(-1500.0)),
        ("+.5", Cell::Number(0.5)),
        ("1e-400", Cell::Number(0.0)),
        ("1,5", Cell::Comma(1.5)),
        ("-0,25e2", Cell::Comma(-25.0)),
        ("nan", Cell::Missing),
        ("NaN", Cell::Missing),
        (".", Cell::Missing),
        ("inf", Cell::Infinite),
        ("-Infinity", Cell::Infinite),
        ("1e999", Cell::Infinite),
        ("1,234.5", Cell::Thousands),
        ("1.234,5", Cell::Thousands),
        ("1,234,567", Cell::Thousands),
        ("1.2.3", Cell::Text),
        ("a,b", Cell::Text),
    ];
    for (text, cell) in cases {
        assert_eq!(parse_cell(text.as_bytes()), cell, "{text}");
    }
}

#[test]
fn decimal_commas_are_read_beside_other_delimiters() {
    let table = read("a.csv", "x;y\n1,5;2\n-0,25;3,125\n", &plain());
    assert_eq!(table.rows, [1.5, 2.0, -0.25, 3.125]);
    assert_eq!(table.notes, ["column 'y': \"3,125\" is read as 3.125"]);
    assert_eq!(read("a.tsv", "1,5\t2\n2,5\t3\n", &plain()).rows, [1.5, 2.0, 2.5, 3.0]);
}

#[test]
fn quoted_decimal_commas_are_read_between_commas() {
    let table = read("a.csv", "x,y\n\"1,5\",2\n\"2,5\",3\n", &plain());
    assert_eq!(table.rows, [1.5, 2.0, 2.5, 3.0]);
}

#[test]
fn thousands_separators_are_refused() {
    assert_eq!(
        refusal("a.csv", "x,y\n\"1,234.5\",2\n", &plain()),
        "a.csv, line 2, column 'x': \"1,234.5\" seems to have thousands separators\n\
         hint: write the numbers with a decimal point and without thousands separators"
    );
    assert_eq!(
        refusal("a.csv", "x,y\n512,1\n\"1,234\",2\n", &plain()),
        "a.csv, line 3, column 'x': \"1,234\" may mean 1.234 or 1234, and no other cell tells which\n\
         hint: write the numbers with a decimal point and without thousands separators"
    );
}

#[test]
fn a_column_has_one_decimal_mark() {
    assert_eq!(
        refusal("a.csv", "x;y\n1.5;2\n1,5;2\n", &plain()),
        "a.csv, line 3, column 'x': \"1,5\" has a decimal comma, \
         but \"1.5\" in line 2 of the same column has a point\n\
         hint: write the column with one decimal mark and without thousands separators"
    );
}

#[test]
fn different_decimal_marks_in_different_columns_are_mentioned() {
    let table = read("a.csv", "x;y\n1.234;2,5\n", &plain());
    assert_eq!(
        table.notes,
        ["column 'y' has decimal commas and column 'x' decimal points; \
          check that neither is a thousands separator"]
    );
}

#[test]
fn infinite_numbers_are_refused() {
    for cell in ["inf", "-Infinity", "1e999"] {
        assert_eq!(
            refusal("a.csv", format!("x,y\n1,2\n3,{cell}\n"), &plain()),
            format!(
                "a.csv, line 3, column 'y': \"{cell}\" is not a finite number\n\
                 hint: correct the cell, or leave it empty and choose --missing mean, drop or zero"
            )
        );
    }
}
