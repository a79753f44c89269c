//! Tables of text: headers, delimiters, encodings.

use super::{ignoring, labelled, labels, plain, read, refusal};
use crate::options::{Header, ReadOptions};
use crate::read_records;

#[test]
fn a_header_names_the_columns_and_a_label_is_kept_as_text() {
    let table = read("a.csv", "x,y,kind\n1,2,01\n3,4,b c \n", &labelled("kind"));
    assert_eq!(table.names, ["x", "y"]);
    assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(table.n, 2);
    assert_eq!(labels(&table), ["01", "b c"]);
    assert_eq!(table.row_numbers, [1, 2]);
    assert!(table.source.ends_with("a.csv"));
    assert!(table.notes.is_empty());
}

#[test]
fn a_text_label_does_not_make_a_header_of_the_first_row() {
    let table = read("a.csv", "5.1,3.5,setosa\n4.9,3,setosa\n", &labelled("-1"));
    assert_eq!(table.names, ["f1", "f2"]);
    assert_eq!(table.rows, [5.1, 3.5, 4.9, 3.0]);
    assert_eq!(labels(&table), ["setosa", "setosa"]);
}

#[test]
fn a_header_is_seen_above_missing_cells() {
    let options = ReadOptions { missing: super::Missing::Drop, ..labelled("c") };
    let table = read("a.csv", "a,b,c\nNA,,x\n1,2,y\n", &options);
    assert_eq!(table.names, ["a", "b"]);
    assert_eq!(table.row_numbers, [2]);
}

#[test]
fn numbers_alone_are_data_unless_the_user_says_otherwise() {
    assert_eq!(read("a.csv", "1,2\n3,4\n", &plain()).n, 2);
    let options = ReadOptions { header: Header::Yes, ..plain() };
    let table = read("a.csv", "1,2\n3,4\n", &options);
    assert_eq!(table.names, ["1", "2"]);
    assert_eq!(table.rows, [3.0, 4.0]);
}

#[test]
fn a_header_with_a_number_in_it_is_mentioned() {
    let table = read("a.csv", "5.1,oops\n4.9,3\n4.8,3\n", &plain());
    assert_eq!(
        table.notes,
        ["line 1 is taken for a header, although \"5.1\" in it is a number; if it is data: --header no"]
    );
}

#[test]
fn a_header_can_be_denied() {
    let options = ReadOptions { header: Header::No, ..plain() };
    assert_eq!(
        refusal("a.csv", "x,y\n1,2\n", &options),
        "a.csv, line 1, column 'f1': \"x\" is not a number\n\
         hint: leave the column out with --ignore f1, or, if it is the label, --label f1\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies"
    );
}

#[test]
fn every_usual_delimiter_is_found() {
    for delimiter in [",", ";", "\t", "|"] {
        let text = "x,y,z\n1,2,3\n4,5,6\n".replace(',', delimiter);
        let table = read("a.txt", text, &plain());
        assert_eq!(table.names, ["x", "y", "z"], "{delimiter}");
        assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{delimiter}");
    }
}

#[test]
fn a_delimiter_can_be_named() {
    let options = ReadOptions { delimiter: Some(b' '), ..plain() };
    assert_eq!(read("a.txt", "1 2\n3 4\n", &options).rows, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn one_column_needs_no_delimiter() {
    assert_eq!(read("a.csv", "x\n1\n2\n", &plain()).rows, [1.0, 2.0]);
    assert_eq!(read("a.tsv", "x\n1\n2\n", &plain()).rows, [1.0, 2.0]);
}

#[test]
fn byte_order_marks_carriage_returns_blank_lines_and_spaces_do_not_matter() {
    let text = "\u{feff}x , y\r\n\r\n 1 ,2\r\n3, \"4\" \r\n\r\n\r\n";
    let table = read("a.csv", text, &plain());
    assert_eq!(table.names, ["x", "y"]);
    assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn quoted_cells_hold_delimiters_quotes_and_line_ends() {
    let text = "x,\"the \"\"label\"\"\"\n1,\"a,\nb\"\n2,\"\"\"q\"\"\"\nbad,c\n";
    let error = refusal("a.csv", text, &labelled("2"));
    assert!(error.starts_with("a.csv, line 5, column 'x': \"bad\" is not a number"));
    let table = read("a.csv", text.replace("bad", "3"), &labelled("the \"label\""));
    assert_eq!(labels(&table), ["a,\nb", "\"q\"", "c"]);
}

#[test]
fn a_quote_that_never_closes_is_located() {
    assert_eq!(
        refusal("a.csv", "x,y\n1,2\n3,\"4\n5,6\n", &plain()),
        "a.csv, line 3: the quoted cell \"4\\n5,6\\n\" never ends\n\
         hint: close the quotation mark, or remove it"
    );
}

#[test]
fn ragged_rows_are_shown() {
    assert_eq!(
        refusal("a.csv", "x,y,z\r\n1,2,3\r\n\r\n4,5\r\n", &plain()),
        "a.csv, line 4: 2 cells where line 1 has 3: \"4,5\"\n\
         hint: cells are taken to be separated by ','; --delimiter names another separator"
    );
    let long = format!("x,y\n1,2\n1,2,{}\n", "9".repeat(100_000));
    let error = refusal("a.csv", long, &plain());
    assert!(error.starts_with("a.csv, line 3: 3 cells where line 1 has 2: \"1,2,999"));
    assert!(error.len() < 300);
}

#[test]
fn text_in_a_column_of_numbers_is_located() {
    assert_eq!(
        refusal("a.csv", "x,petal length\n1,2\n3,abc\n", &plain()),
        "a.csv, line 3, column 'petal length': \"abc\" is not a number\n\
         hint: correct the cell, or leave the column out with --ignore 'petal length'"
    );
}

#[test]
fn a_column_of_text_is_refused_or_left_out() {
    let text = "x,kind\n1,a\n3,b\n";
    assert_eq!(
        refusal("a.csv", text, &plain()),
        "a.csv, line 2, column 'kind': \"a\" is not a number\n\
         hint: leave the column out with --ignore kind, or, if it is the label, --label kind\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies"
    );
    assert_eq!(read("a.csv", text, &ignoring("kind")).names, ["x"]);
}

#[test]
fn files_without_rows_are_refused_in_words() {
    assert_eq!(refusal("a.csv", "", &plain()), "a.csv: the file is empty");
    assert_eq!(refusal("a.csv", "\n \r\n", &plain()), "a.csv: the file is empty");
    assert_eq!(
        refusal("a.csv", "x,y\n", &plain()),
        "a.csv: the file has a header but no rows\nhint: if the first line is data: --header no"
    );
}

#[test]
fn a_column_that_counts_the_rows_is_mentioned() {
    let table = read("a.csv", "id,x\n1,3\n2,1\n3,4\n4,1\n5,5\n", &plain());
    assert_eq!(table.notes, ["column 'id' counts the rows; if it is an identifier: --ignore id"]);
}

#[test]
fn records_are_text_with_line_numbers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("pairs.csv");
    std::fs::write(&path, "left,right,same\n\n1,2,yes\n3, 4 ,no\n").expect("a file");
    let records = read_records(&path, &plain()).expect("the file can be read");
    let names = records.names.expect("a header");
    assert_eq!(names, ["left", "right", "same"]);
    let cells = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    assert_eq!(records.rows, [(3, cells(["1", "2", "yes"])), (4, cells(["3", "4", "no"]))]);
}
