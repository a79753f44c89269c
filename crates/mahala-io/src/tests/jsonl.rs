//! JSON Lines: what is read, and what is refused with its line.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

use super::{
    Missing, ReadOptions, gzip, ignoring, labelled, labels, plain, read, refusal, try_read, wanting, with,
};
use crate::stream::Stream;

#[test]
fn keys_name_the_columns_in_the_order_in_which_they_come() {
    let text = "{\"a\": 1, \"class\": \"u\", \"b\": -2.5e1}\n\n { \"b\" : 4 , \"a\" : true, \"class\" : \"v\\u00e9\" }\r\n";
    for (name, bytes) in [
        ("a.jsonl", text.as_bytes().to_vec()),
        ("a.ndjson.gz", gzip(text.as_bytes())),
        ("a.json", [b"\xEF\xBB\xBF", text.as_bytes()].concat()),
        // The name of a table of text, but no table of text begins like that.
        ("a", text.as_bytes().to_vec()),
    ] {
        let table = read(name, bytes, &labelled("class"));
        assert_eq!(table.names, ["a", "b"], "{name}");
        assert_eq!(table.rows, [1.0, -25.0, 1.0, 4.0], "{name}");
        assert_eq!(labels(&table), ["u", "vé"], "{name}");
    }
}

#[test]
fn null_nan_and_keys_that_are_not_there_are_missing_cells() {
    let text =
        "{\"a\":1,\"b\":null}\n{\"a\":3}\n{\"b\":8,\"a\":NaN}\n{\"a\":\"NA\",\"b\":4}\n{\"a\":5,\"b\":6}\n";
    assert_eq!(
        refusal("a.jsonl", text, &plain()),
        "a.jsonl: 4 missing cells in 4 rows: line 1, column 'b'; line 2, column 'b'; line 3, column 'a'; …\n\
         hint: --missing mean fills in column means, --missing drop leaves such rows out, --missing zero fills in 0"
    );
    assert_eq!(read("a.jsonl", text, &with(Missing::Drop)).rows, [5.0, 6.0]);
    let filled = read("a.jsonl", text, &with(Missing::Mean)).rows;
    assert_eq!(filled, [1.0, 6.0, 3.0, 6.0, 3.0, 8.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(
        refusal("a.jsonl", "{\"x\":1,\"y\":\"u\"}\n{\"x\":2,\"y\":null}\n", &labelled("y")),
        "a.jsonl, line 2, column 'y': the label is missing\n\
         hint: labels such as NA, None and ? are missing too; --missing drop leaves these rows out"
    );
}

#[test]
fn labels_are_texts_numbers_and_booleans() {
    let text = "{\"x\":1,\"y\":1.0}\n{\"x\":2,\"y\":1}\n{\"x\":3,\"y\":true}\n{\"x\":4,\"y\":\" a b \"}\n{\"x\":4,\"y\":-0.50}\n";
    assert_eq!(labels(&read("a.jsonl", text, &labelled("y"))), ["1", "1", "true", "a b", "-0.5"]);
}

#[test]
fn lists_of_one_length_become_columns() {
    let text = "{\"id\":1,\"e\":null,\"y\":0}\n{\"id\":2,\"e\":[1,2.5,null],\"y\":0}\n{\"id\":3,\"e\":[4,5,6],\"y\":1}\n";
    let options =
        ReadOptions { missing: Missing::Zero, ignore: vec!["id".parse().expect("a name")], ..labelled("-1") };
    let table = read("a.jsonl", text, &options);
    assert_eq!(table.names, ["e.0", "e.1", "e.2"]);
    assert_eq!(table.rows, [0.0, 0.0, 0.0, 1.0, 2.5, 0.0, 4.0, 5.0, 6.0]);
    assert_eq!(read("a.jsonl", text, &ignoring("e")).names, ["id", "y"]);
    assert_eq!(
        refusal("a.jsonl", "{\"e\":[1,2]}\n{\"e\":[1,2,3]}\n", &plain()),
        "a.jsonl, line 2, column 'e': a list of 3 values, where the first list has 2\n\
         hint: all lists must have one length; else leave the column out with --ignore e"
    );
    assert!(
        refusal("a.jsonl", "{\"e\":[1,2]}\n{\"e\":7}\n", &plain())
            .contains("one value where the first list has 2")
    );
    assert!(
        refusal("a.jsonl", "{\"e\":[1,2]}\n{\"e\":[1,\"x\"]}\n", &plain())
            .contains("line 2, column 'e': \"x\" is not a number")
    );
    assert!(
        refusal("a.jsonl", "{\"e\":[1,2],\"y\":1}\n", &labelled("e"))
            .contains("has lists, and a label is one value")
    );
}

#[test]
fn values_that_are_no_numbers_are_refused_with_place_and_remedy() {
    let first = "{\"a\":1,\"b\":2}\n";
    let of = |line: &str| refusal("a.jsonl", format!("{first}{line}\n"), &plain());
    assert_eq!(
        of("{\"a\":1,\"b\":\"red\"}"),
        "a.jsonl, line 2, column 'b': \"red\" is not a number\n\
         hint: correct the cell, or leave the column out with --ignore b"
    );
    assert_eq!(
        of("{\"a\":1,\"b\":\"2.5\"}"),
        "a.jsonl, line 2, column 'b': \"2.5\" is text, not a number\n\
         hint: numbers stand without quotation marks in JSON"
    );
    assert_eq!(
        of("{\"a\":1,\"b\":-Infinity}"),
        "a.jsonl, line 2, column 'b': \"-Infinity\" is not a finite number\n\
         hint: correct it, or write null and choose --missing mean, drop or zero"
    );
    assert!(of("{\"a\":1,\"b\":1e999}").contains("\"1e999\" is not a finite number"));
    assert!(of("{\"a\":1,\"b\":{\"c\":2}}").contains("column 'b': an object where one value is expected"));
    assert!(of("{\"a\":1,\"b\":[2]}").contains("column 'b': a list where one value is expected"));
    assert_eq!(
        refusal("a.jsonl", "{\"name\":\"Ann\",\"b\":1}\n", &plain()),
        "a.jsonl, line 1, column 'name': \"Ann\" is not a number\n\
         hint: leave the column out with --ignore name, or, if it is the label, --label name\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies"
    );
    assert_eq!(
        read(
            "a.jsonl",
            "{\"a\":{\"b\":[1,{}]},\"c\":[\"x\"],\"d\":2}\n",
            &ReadOptions {
                ignore: ["a", "c"].iter().filter_map(|name| name.parse().ok()).collect(),
                ..plain()
            }
        )
        .rows,
        [2.0]
    );
}

#[test]
fn lines_that_are_no_objects_are_refused() {
    let of = |text: &str| refusal("a.jsonl", text, &plain());
    assert_eq!(
        of("[{\"a\":1},{\"a\":2}]\n"),
        "a.jsonl, line 1: \"[{\"a\":1},{\"a\":2}]\" is not an object\n\
         hint: one object a line is wanted; jq -c '.[]' takes a list apart"
    );
    assert_eq!(
        of("{\n  \"a\": 1\n}\n"),
        "a.jsonl, line 1: the line ends where a key in quotation marks is expected\n\
         hint: each object must stand on one line, such as {\"a\": 1, \"class\": \"x\"}; jq -c . writes it so"
    );
    assert_eq!(
        of("{\"a\":1}\n{\"a\":1,}\n"),
        "a.jsonl, line 2: byte 8 of the line: a key in quotation marks is expected, not \"}\""
    );
    assert_eq!(
        of("{\"a\":1}\n{\"a\":01}\n"),
        "a.jsonl, line 2: byte 6 of the line: a value is expected, not \"01}\""
    );
    assert!(
        of("{\"a\":1}\n{\"a\":1} {\"a\":2}\n")
            .contains("line 2: byte 9 of the line: the end of the line is expected")
    );
    assert_eq!(
        of("{\"a\":1}\n{\"a\":1,\"a\":2}\n"),
        "a.jsonl, line 2: the key \"a\" comes twice\nhint: keep one of them"
    );
    assert_eq!(of(""), "a.jsonl: the file is empty");
    assert_eq!(of("\n \n"), "a.jsonl: the file is empty");
    let deep = format!("{{\"a\":1,\"b\":{}1{}}}\n", "[".repeat(5000), "]".repeat(5000));
    assert!(refusal("a.jsonl", deep, &ignoring("b")).contains("nested more than 128 deep"));
    let latin: &[u8] = b"{\"a\":1,\"b\":\"\xE9\"}\n";
    assert!(
        refusal("a.jsonl", latin, &ignoring("b")).contains("line 1: byte 13 of the line (0xE9) is not UTF-8")
    );
}

#[test]
fn a_key_that_first_comes_behind_the_first_lines_is_refused_unless_a_model_does_not_want_it() {
    let lines: String = (0..1500).map(|i| format!("{{\"a\":{i}}}\n")).collect();
    let text = format!("{lines}{{\"a\":1,\"z\":2}}\n");
    assert_eq!(
        refusal("a.jsonl", &text, &plain()),
        "a.jsonl, line 1501: the key \"z\" is new here: those of the first 1000 lines name the columns\n\
         hint: give the first line this key, too, with null for the value; or take it out"
    );
    assert_eq!(read("a.jsonl", &text, &wanting(&["a"])).n, 1501);
    let early = format!("{{\"a\":1,\"z\":null}}\n{lines}");
    assert_eq!(read("a.jsonl", early, &ignoring("z")).names, ["a"]);
}

#[test]
fn bad_lines_may_be_skipped_and_options_of_tables_of_text_are_refused() {
    let text = "{\"a\":1}\nnonsense\n{\"a\":[]}\n{\"a\":4}\n";
    let table = read("a.jsonl", text, &ReadOptions { skip_bad_rows: Some(2), ..plain() });
    assert_eq!((table.rows, table.row_numbers), (vec![1.0, 4.0], vec![1, 4]));
    assert!(table.notes[0].starts_with("2 bad rows skipped:\n"), "{:?}", table.notes);
    let options = ReadOptions { delimiter: Some(b','), ..plain() };
    assert!(refusal("a.jsonl", text, &options).contains("--delimiter has no effect on a JSON Lines file"));
}

#[test]
fn a_stream_gives_the_rows_of_the_table_and_large_tables_are_refused() {
    let line = |i: u64| format!("{{\"a\":{i},\"e\":[{},{}.5],\"y\":\"c{}\"}}\n", i * 7, i % 100, i % 3);
    let text: String = (0..300_000).map(line).collect();
    assert!(text.len() > 9 << 20, "several blocks: {}", text.len());
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("a.jsonl");
    std::fs::write(&path, &text).expect("a file");
    let table = crate::read_table(&path, &labelled("y")).expect("a table");
    assert_eq!((table.n, table.rows[3 * 299_999 + 1]), (300_000, 2_099_993.0));
    let mut stream = Stream::open(&path, &labelled("y")).expect("a stream");
    let (mut rows, mut blocks) = (Vec::new(), 0);
    let mut take = |block: crate::Block, ()| {
        blocks += 1;
        rows.extend(block.into_row_major());
        Ok::<(), crate::ReadError>(())
    };
    stream.each(|_| (), &mut take).expect("all is read");
    assert!(blocks > 1 && rows == table.rows);
    let few = ReadOptions { most_bytes: Some(1 << 16), ..plain() };
    assert!(
        try_read("a.jsonl", text.as_bytes(), &ReadOptions { label: labelled("y").label, ..few })
            .expect_err("too large")
            .contains("its rows take more than")
    );
}
