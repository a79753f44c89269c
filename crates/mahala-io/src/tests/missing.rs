//! Missing cells and labels.

use super::{Missing, ReadOptions, labelled, labels, plain, read, refusal, with};

const GAPS: &str = "a,b\n1,\nNA,4\n5,6\n?,null\n";

#[test]
fn missing_cells_are_counted_and_located() {
    assert_eq!(
        refusal("a.csv", GAPS, &plain()),
        "a.csv: 4 missing cells in 3 rows: \
         line 2, column 'b'; line 3, column 'a'; line 5, column 'a'; …\n\
         hint: --missing mean fills in column means, --missing drop leaves such rows out, \
         --missing zero fills in 0"
    );
}

#[test]
fn every_usual_word_for_missing_is_known() {
    for word in ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", ".", "\"\"", "-nan"] {
        let table = read("a.csv", format!("a,b\n1,{word}\n"), &with(Missing::Zero));
        assert_eq!(table.rows, [1.0, 0.0], "{word}");
    }
}

#[test]
fn means_are_taken_over_the_cells_that_are_present() {
    let table = read("a.csv", GAPS, &with(Missing::Mean));
    assert_eq!(table.rows, [1.0, 5.0, 3.0, 4.0, 5.0, 6.0, 3.0, 5.0]);
    assert_eq!(table.notes, ["4 missing cells replaced by column means"]);
}

#[test]
fn means_of_huge_numbers_stay_finite() {
    let table = read("a.csv", "a,b\n1.5e308,1\n1.5e308,1\n,1\n", &with(Missing::Mean));
    assert!((table.rows[4] / 1.5e308 - 1.0).abs() < 1e-15);
}

#[test]
fn a_column_without_values_has_no_mean() {
    assert_eq!(
        refusal("a.csv", "a,b\n1,\n2,NA\n", &with(Missing::Mean)),
        "a.csv: column 'b' has no value in any row\nhint: leave it out with --ignore b"
    );
}

#[test]
fn rows_are_dropped_and_the_others_keep_their_numbers() {
    let table = read("a.csv", GAPS, &with(Missing::Drop));
    assert_eq!(table.rows, [5.0, 6.0]);
    assert_eq!(table.row_numbers, [3]);
    assert_eq!(table.notes, ["3 rows dropped: missing cells"]);
    assert_eq!(
        refusal("a.csv", "a,b\n1,\n,2\n", &with(Missing::Drop)),
        "a.csv: no rows are left: all 2 have missing cells\n\
         hint: leave the emptiest columns out with --ignore, or choose --missing mean"
    );
}

#[test]
fn zeros_are_filled_in() {
    let table = read("a.csv", GAPS, &with(Missing::Zero));
    assert_eq!(table.rows, [1.0, 0.0, 0.0, 4.0, 5.0, 6.0, 0.0, 0.0]);
    assert_eq!(table.notes, ["4 missing cells replaced by 0"]);
}

#[test]
fn a_missing_label_is_located_or_dropped() {
    let text = "a,kind\n1,x\n2,\n3,y\n";
    assert_eq!(
        refusal("a.csv", text, &labelled("kind")),
        "a.csv, line 3, column 'kind': the label is missing\n\
         hint: labels such as NA, None and ? are missing too; --missing drop leaves these rows out"
    );
    let options = ReadOptions { missing: Missing::Drop, ..labelled("kind") };
    let table = read("a.csv", text, &options);
    assert_eq!(labels(&table), ["x", "y"]);
    assert_eq!(table.row_numbers, [1, 3]);
    assert_eq!(table.rows, [1.0, 3.0]);
    assert_eq!(table.notes, ["1 row dropped: missing label"]);
}
