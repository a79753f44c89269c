//! Sparse text.

use super::{Missing, ReadOptions, ignoring, labels, plain, read, refusal, wanting, with};

#[test]
fn sparse_rows_become_dense() {
    let table = read("a.svm", "+1 1:2 3:4.5\n\n-1 2:1 # note\n# only a note\n2.50\n", &plain());
    assert_eq!(table.names, ["f1", "f2", "f3"]);
    assert_eq!(table.rows, [2.0, 0.0, 4.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(labels(&table), ["1", "-1", "2.5"]);
    assert_eq!(table.row_numbers, [1, 2, 3]);
}

#[test]
fn labels_may_be_absent_or_text() {
    let table = read("a.svm", "1:2 2:3\n2:1\n", &plain());
    assert_eq!(table.labels, None);
    assert_eq!(labels(&read("a.svm", "spam 1:2\n1,3 1:1\n", &plain())), ["spam", "1,3"]);
    assert_eq!(
        refusal("a.svm", "1 1:2\n2:1\n", &plain()),
        "a.svm, line 2: this line has no label, unlike the lines before it"
    );
}

#[test]
fn a_model_says_how_many_columns_there_are() {
    let table = read("a.svm", "1 1:2\n", &wanting(&["a", "b"]));
    assert_eq!(table.rows, [2.0, 0.0]);
    assert_eq!(table.names, ["a", "b"]);
    assert!(
        refusal("a.svm", "1 3:2\n", &wanting(&["a", "b"]))
            .contains("the model has 2 features, but the file has 3")
    );
}

#[test]
fn columns_can_be_left_out_and_cells_can_be_missing() {
    assert_eq!(read("a.svm", "1 1:2 2:3\n", &ignoring("1")).rows, [3.0]);
    let options = ReadOptions { missing: Missing::Zero, ..plain() };
    assert_eq!(read("a.svm", "1 1:nan 2:3\n", &options).rows, [0.0, 3.0]);
    assert!(
        refusal("a.svm", "1 1:nan 2:3\n", &plain())
            .starts_with("a.svm: 1 missing cell in 1 row: line 1, column 'f1'")
    );
    assert_eq!(read("a.svm", "NA 1:2\n1 1:3\n", &with(Missing::Drop)).rows, [3.0]);
}

#[test]
fn wrong_pairs_are_located() {
    let cases = [
        (
            "1 0:5",
            "\"0:5\": indices begin at 1, not at 0\nhint: if the first feature has index 0: --zero-based",
        ),
        (
            "1 2:5 2:6",
            "\"2:6\" follows index 2: indices must ascend\nhint: sort the pairs of each line by index",
        ),
        ("1 qid:3 1:2", "\"qid:3\" is not of the form index:value"),
        ("1 2", "\"2\" is not of the form index:value"),
        ("1 1:x", "\"1:x\": the value is not a number"),
        ("1 1:1e999", "\"1:1e999\": the value is not finite"),
        (
            "1 99999999999:1",
            "\"99999999999:1\": the index is larger than 16777216\n\
             hint: is it an index? Number the features from 1; hashed ones can be taken modulo 2^20, say",
        ),
    ];
    for (line, message) in cases {
        let text = format!("1 1:1\n{line}\n");
        assert_eq!(refusal("a.svm", text, &plain()), format!("a.svm, line 2: {message}"));
    }
}

#[test]
fn a_table_beyond_memory_is_refused_with_an_estimate() {
    let text = "1 16777216:1\n".repeat(100);
    assert_eq!(
        refusal("a.svm", text, &plain()),
        "a.svm: 100 rows and 16777216 columns need about 13 GiB as a dense table; 8 GiB is the most\n\
         hint: reduce the number of features, e.g. by feature selection or a random projection"
    );
}

#[test]
fn files_without_rows_or_columns_are_refused() {
    assert_eq!(refusal("a.svm", "# nothing\n", &plain()), "a.svm: the file is empty");
    assert_eq!(refusal("a.svm", "1\n-1\n", &plain()), "a.svm: the file has no columns");
}
