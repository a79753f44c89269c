//! Tables that are wrong, or odd: each with the message a person reads.

#![allow(clippy::format_collect, reason = "small texts read best where they are made")]

mod common;

use common::Place;

/// Twenty rows of two columns and two classes, with each value written by `cell`.
fn table(cell: impl Fn(u32, u32) -> String) -> String {
    let row =
        |i: u32| format!("{},{},{}\n", cell(i * i % 7, 0), cell(i * 3 % 8, 1), ["x", "y"][i as usize % 2]);
    let rows: String = (0..20).map(row).collect();
    format!("a,b,y\n{rows}")
}

fn refuses(content: &str, message: &str) {
    let place = Place::new();
    place.write("t.csv", content);
    place.refuses("fit t.csv --label y --method gmml -o m.st", message);
    assert_eq!(place.names(), ["iris.csv", "t.csv", "wine.csv"]);
}

/// The notes of a fit that works, without what else it says.
fn notes(content: &str, options: &str) -> Vec<String> {
    let place = Place::new();
    place.write("t.csv", content);
    let ran = place.ok(&format!("fit t.csv --label y --method gmml -o m.st {options}"));
    let predicted = place.ok("predict m.st t.csv --label y -k 1");
    assert!(predicted.stderr.contains(" wrong ("), "{}", predicted.stderr);
    place.ok("inspect m.st");
    ran.stderr.lines().filter_map(|line| line.strip_prefix("note: ")).map(str::to_owned).collect()
}

#[test]
fn cells_that_are_no_finite_numbers_are_located() {
    let infinite = "hint: correct the cell, or leave it empty and choose --missing mean, drop or zero";
    refuses(
        "a,b,y\n1,2,x\n2,inf,z\n",
        &format!("error: t.csv, line 3, column 'b': \"inf\" is not a finite number\n{infinite}"),
    );
    refuses(
        "a,b,y\n1,2,x\n-1e999,2,z\n",
        &format!("error: t.csv, line 3, column 'a': \"-1e999\" is not a finite number\n{infinite}"),
    );
    refuses(
        "a,b,y\n1,2,x\n2,two,z\n",
        "error: t.csv, line 3, column 'b': \"two\" is not a number\n\
         hint: correct the cell, or leave the column out with --ignore b",
    );
    refuses(
        "a,b,y\n1,first,x\n2,second,z\n",
        "error: t.csv, line 2, column 'b': \"first\" is not a number\n\
         hint: leave the column out with --ignore b\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies",
    );
    refuses(
        "a,b,y\n1,\"1,000.5\",x\n2,3,z\n",
        "error: t.csv, line 2, column 'b': \"1,000.5\" seems to have thousands separators\n\
         hint: write the numbers with a decimal point and without thousands separators",
    );
}

#[test]
fn missing_cells_are_counted_and_located() {
    let remedy = "hint: --missing mean fills in column means, --missing drop leaves such rows out, \
                  --missing zero fills in 0";
    refuses(
        "a,b,y\n1,NaN,x\n2,,z\n3,5,z\n4,?,z\nNA,null,x\n",
        &format!(
            "error: t.csv: 5 missing cells in 4 rows: line 2, column 'b'; line 3, column 'b'; \
             line 5, column 'b'; …\n{remedy}"
        ),
    );
    refuses(
        "a,b,y\n1,,x\n2,3,z\n",
        &format!("error: t.csv: 1 missing cell in 1 row: line 2, column 'b'\n{remedy}"),
    );
    refuses(
        "a,b,y\n1,2,x\n2,3,\n",
        "error: t.csv, line 3, column 'y': the label is missing\n\
         hint: labels such as NA, None and ? are missing too; --missing drop leaves these rows out",
    );
}

#[test]
fn files_that_are_no_tables_are_refused() {
    refuses("", "error: t.csv: the file is empty");
    refuses("\n\n", "error: t.csv: the file is empty");
    refuses(
        "a,b,y\n",
        "error: t.csv: the file has a header but no rows\nhint: if the first line is data: --header no",
    );
    refuses(
        "a,b,y\n1,2,x\n1,2\n",
        "error: t.csv, line 3: 2 cells where line 1 has 3: \"1,2\"\n\
         hint: cells are taken to be separated by ','; --delimiter names another separator",
    );
    refuses(
        "a,a,y\n1,2,x\n1,2,z\n",
        "error: t.csv: columns 1 and 2 are both named 'a'\n\
         hint: rename one of them, or leave one out with --ignore 2",
    );
    refuses("y\nx\nz\n", "error: t.csv: no feature columns are left of y\nhint: check --label and --ignore");
}

#[test]
fn a_label_that_is_not_there_is_refused_with_the_columns() {
    let place = Place::new();
    let columns = "sepal_length_(cm), sepal_width_(cm), petal_length_(cm), petal_width_(cm), label";
    place.refuses(
        "fit iris.csv --label species --method gmml -o m.st",
        &format!("error: iris.csv: there is no column 'species'; the columns are {columns}"),
    );
    place.refuses(
        "fit iris.csv --label Label --method gmml -o m.st",
        &format!("error: iris.csv: there is no column 'Label'; the columns are {columns}\nhint: did you mean 'label'?"),
    );
    place.refuses(
        "fit iris.csv --label 6 --method gmml -o m.st",
        "error: iris.csv: there is no column 6: the file has 5 columns\n\
         hint: positions count from 1, or from -1 at the end",
    );
    place.refuses(
        "fit iris.csv --label label --method gmml --ignore label -o m.st",
        "error: iris.csv: column 'label' is both the label and left out\nhint: drop either --label or --ignore",
    );
    place.refuses(
        "evaluate iris.csv",
        "error: iris.csv, line 2, column 'label': \"setosa\" is not a number\n\
         hint: leave the column out with --ignore label, or, if it is the label, --label label\n\
         hint: to learn from its categories, write a column of 0 and 1 for each, e.g. with pandas.get_dummies",
    );
}

#[test]
fn classes_that_teach_nothing_are_refused() {
    refuses(
        "a,b,y\n1,2,x\n2,3,x\n3,5,x\n",
        "error: all 3 rows belong to one class ('x'); at least two are needed\n\
         hint: is --label the right column? Without classes, mark pairs of rows as similar or not: --pairs FILE",
    );
    refuses(
        "a,b,y\n1,2,x\n2,3,z\n3,5,w\n",
        "error: no similar pair: each of the 3 classes has one row; the similarity matrix S would be empty \
         (give a class at least two rows, or mark a pair as similar)",
    );
    refuses(
        "a,b,y\n1,2,x\n1,2,x\n1,2,z\n1,2,z\n",
        "error: none of the 2 columns varies between rows; there is no distance to learn",
    );
}

#[test]
fn a_label_that_is_a_measured_number_is_pointed_out() {
    let place = Place::new();
    let ran = place.ok("fit wine.csv --label proline --method gmml --t 0.5 -o m.st");
    let note =
        "note: 178 rows have 121 classes; is the label a measured number? Then --regression predicts it\n";
    assert!(ran.stderr.starts_with(note), "{}", ran.stderr);
}

#[test]
fn too_few_rows_to_choose_t_on_say_so() {
    let place = Place::new();
    place.write("t.csv", "a,y\n1,x\n2,z\n3,z\n");
    let message = "error: t cannot be chosen by cross-validation: 3 rows are too few, or too alike, for a fold to \
                   learn from\nhint: give t instead: --t 0.5";
    place.refuses("fit t.csv --label y --method gmml -o m.st", message);
    place.refuses("tune t.csv --label y", message);
    place.ok("fit t.csv --label y --method gmml --t 0.5 -o m.st");
    place.write("one.csv", "a,y\n1,x\n");
    assert_eq!(place.run("tune one.csv --label y").code, 1);
}

#[test]
fn a_class_of_one_row_takes_part() {
    let mut content = table(|x, _| x.to_string());
    content.push_str("3,4,alone\n");
    assert_eq!(notes(&content, ""), [""; 0]);
}

#[test]
fn fewer_rows_than_columns_are_helped_by_a_ridge() {
    let header: String = (0..10).map(|j| format!("c{j},")).collect();
    let row = |i: usize| -> String {
        (0..10).map(|j| format!("{},", (i * 7 + j * j * 3 + i * i * j) % 11)).collect()
    };
    let rows: String = (0..8).map(|i| format!("{}{}\n", row(i), ["x", "z"][i % 2])).collect();
    let content = format!("{header}y\n{rows}");
    let [span, note] = &notes(&content, "")[..] else { panic!("two notes") };
    assert_eq!(span, "learned inside the 7 directions that the rows span; what lies outside has weight 0");
    assert!(note.starts_with("S was singular or nearly so; "), "{note}");
    assert!(note.ends_with("(more rows, shrinkage or lambda would make it regular)"), "{note}");
    assert_eq!(notes(&content, "--shrinkage 0.1"), [""; 0]);
}

#[test]
fn duplicate_columns_are_learned_on_in_the_span_of_the_rows() {
    let rows: String = (0..20).map(|i| format!("{0},{0},{1}\n", i * i % 7, ["x", "z"][i % 2])).collect();
    let note = "learned inside the 1 direction that the rows span; what lies outside has weight 0";
    assert_eq!(notes(&format!("a,b,y\n{rows}"), ""), [note]);
}

#[test]
fn constant_columns_are_named() {
    let rows: String =
        (0..20).map(|i| format!("{},3,{},0,{}\n", i * i % 7, i * 5 % 11, ["x", "z"][i % 2])).collect();
    assert_eq!(notes(&format!("a,k,b,l,y\n{rows}"), ""), ["constant columns have weight 0: k, l"]);
}

#[test]
fn one_column_is_enough() {
    let rows: String =
        (0..20).map(|i| format!("{},{}\n", i * i % 7 + 10 * (i % 2), ["x", "z"][i % 2])).collect();
    let place = Place::new();
    place.write("t.csv", format!("a,y\n{rows}"));
    let ran = place.ok("fit t.csv --label y --method gmml -o m.st");
    assert!(ran.stderr.starts_with("learned from 20 rows x 1 column: 90 similar and 100 dissimilar pairs\n"));
    assert!(place.ok("inspect m.st").stdout.contains("1 column to 1 coordinate\n"));
    assert!(place.ok("predict m.st t.csv --label y").stderr.contains("0 of 20 wrong"));
}

#[test]
fn columns_of_any_one_scale_are_learned_from() {
    for exponent in [150, -150] {
        let content = table(|x, _| format!("{x}e{exponent}"));
        assert_eq!(notes(&content, ""), [""; 0]);
        let place = Place::new();
        place.write("t.csv", content);
        place.ok("fit t.csv --label y --method gmml -o m.st");
        for line in [
            "neighbors m.st t.csv -k 2",
            "transform m.st t.csv",
            "inspect m.st",
            "export m.st -o - --format csv",
        ] {
            let ran = place.ok(line);
            assert!(ran.stdout.lines().all(|line| line.chars().count() < 100), "{line}\n{}", ran.stdout);
        }
    }
}

#[test]
fn columns_of_two_extreme_scales_are_refused_by_name() {
    let content = table(|x, column| format!("{x}e{}", if column == 0 { 150 } else { -150 }));
    refuses(
        &content,
        "error: columns 'a' and 'b' differ in scale by a factor of 1e300; at most 1e70 can be represented \
         in one metric\nhint: --standardize, or rescale one of them",
    );
    assert_eq!(notes(&content, "--standardize"), [""; 0]);
}
