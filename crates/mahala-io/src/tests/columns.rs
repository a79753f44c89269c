//! Features, labels and columns left out.

use super::{ReadOptions, ignoring, labelled, labels, plain, read, refusal, wanting};

const TABLE: &str = "a,2,label\n10,20,x\n30,40,y\n";

#[test]
fn a_column_is_found_by_name_by_position_and_from_the_end() {
    for column in ["label", "3", "-1"] {
        let table = read("a.csv", TABLE, &labelled(column));
        assert_eq!(labels(&table), ["x", "y"], "{column}");
        assert_eq!(table.names, ["a", "2"], "{column}");
    }
}

#[test]
fn a_name_that_exists_wins_over_a_position() {
    let table =
        read("a.csv", "2,a\n1,5\n3,7\n", &ReadOptions { header: crate::Header::Yes, ..labelled("2") });
    assert_eq!(table.names, ["a"]);
    assert_eq!(labels(&table), ["1", "3"]);
}

#[test]
fn an_unknown_column_is_answered_with_those_there_are() {
    assert_eq!(
        refusal("a.csv", TABLE, &labelled("Label")),
        "a.csv: there is no column 'Label'; the columns are a, 2, label\n\
         hint: did you mean 'label'?"
    );
    for position in ["0", "4", "-4", "-9223372036854775808"] {
        assert_eq!(
            refusal("a.csv", TABLE, &ignoring(position)),
            format!(
                "a.csv: there is no column {position}: the file has 3 columns\n\
                 hint: positions count from 1, or from -1 at the end"
            )
        );
    }
}

#[test]
fn the_label_cannot_be_left_out() {
    let options = ReadOptions { label: "label".parse().ok(), ..ignoring("3") };
    assert_eq!(
        refusal("a.csv", TABLE, &options),
        "a.csv: column 'label' is both the label and left out\nhint: drop either --label or --ignore"
    );
}

#[test]
fn a_file_of_labels_has_no_features() {
    assert_eq!(
        refusal("a.csv", "label\n1\n2\n", &labelled("label")),
        "a.csv: no feature columns are left of label\nhint: check --label and --ignore"
    );
}

#[test]
fn columns_of_one_name_are_refused_unless_one_is_left_out() {
    let text = "x,y,x\n1,2,3\n";
    assert_eq!(
        refusal("a.csv", text, &plain()),
        "a.csv: columns 1 and 3 are both named 'x'\n\
         hint: rename one of them, or leave one out with --ignore 3"
    );
    assert_eq!(read("a.csv", text, &ignoring("3")).rows, [1.0, 2.0]);
    assert_eq!(read("a.csv", text, &wanting(&["y"])).rows, [2.0]);
    assert!(refusal("a.csv", text, &wanting(&["x"])).contains("columns 1 and 3"));
}

#[test]
fn a_column_without_a_name_is_named_by_its_position() {
    let table = read("a.csv", ",x\n7,1\n9,2\n", &plain());
    assert_eq!(table.names, ["f1", "x"]);
}

#[test]
fn features_of_a_model_are_picked_by_name_in_its_order() {
    let table = read("a.csv", "kind,b,a\nu,1,2\nv,3,4\n", &wanting(&["a", "b"]));
    assert_eq!(table.names, ["a", "b"]);
    assert_eq!(table.rows, [2.0, 1.0, 4.0, 3.0]);
}

#[test]
fn features_of_a_model_that_are_not_there_are_listed() {
    assert_eq!(
        refusal("a.csv", "a,b\n1,2\n", &wanting(&["b", "c", "d"])),
        "a.csv: the model needs columns that the file does not have: c, d; the file has a, b"
    );
}

#[test]
fn columns_without_names_serve_a_model_by_position() {
    let options = ReadOptions { label: "1".parse().ok(), ..wanting(&["a", "b"]) };
    let table = read("a.csv", "x,1,2\ny,3,4\n", &options);
    assert_eq!(table.names, ["a", "b"]);
    assert_eq!(table.rows, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        refusal("a.csv", "1,2,3\n", &wanting(&["a", "b"])),
        "a.csv: the model has 2 features, but the file has 3 columns beside the label, without names\n\
         hint: name the label with --label, leave columns out with --ignore, or add a header"
    );
}

#[test]
fn names_that_are_known_make_a_header_of_text_alone() {
    let table =
        read("a.csv", "kind,a\nu,NA\n", &ReadOptions { missing: super::Missing::Zero, ..labelled("kind") });
    assert_eq!(table.names, ["a"]);
    assert_eq!(table.rows, [0.0]);
}

#[test]
fn a_feature_of_the_model_is_no_label() {
    let options = ReadOptions { label: "y".parse().ok(), ..wanting(&["x", "y"]) };
    for text in ["x,y\n1,2\n", "x,y\n1, 2\n"] {
        assert_eq!(
            refusal("a.csv", text, &options),
            "a.csv: column 'y' is a feature of the model, and cannot name or label the rows\n\
             hint: give another column with --label or --id"
        );
    }
}
