//! A class is one class, however its label is spelled and whichever file it comes from.
#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test that cannot go on should stop; small texts"
)]

mod common;

use common::{Place, npy};
use parquet::data_type::{BoolType, DataType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Two classes, a and b, of six rows each, two columns.
fn rows() -> Vec<(f64, f64)> {
    (0..12).map(|i| (f64::from(i % 2) * 4.0 + f64::from(i * 7 % 5), f64::from(i * 3 % 7))).collect()
}

/// The rows as CSV, the class of row i by `label(i)`.
fn csv(label: impl Fn(usize) -> &'static str) -> String {
    let line = |(i, (a, b)): (usize, (f64, f64))| format!("{a},{b},{}\n", label(i));
    "f1,f2,y\n".to_owned() + &rows().into_iter().enumerate().map(line).collect::<String>()
}

/// The rows as Parquet, labels of one physical type.
fn parquet<T: DataType>(name: &str, label: impl Fn(usize) -> T::T) -> Vec<u8> {
    let schema = format!("message m {{ required double f1; required double f2; required {name} y; }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for pick in [|r: &(f64, f64)| r.0, |r: &(f64, f64)| r.1] {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<f64> = rows().iter().map(pick).collect();
        column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let values: Vec<T::T> = (0..12).map(label).collect();
    column.typed::<T>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn libsvm(labels: [&str; 2]) -> String {
    let line = |(i, (a, b)): (usize, (f64, f64))| format!("{} 1:{a} 2:{b}\n", labels[i % 2]);
    rows().into_iter().enumerate().map(line).collect()
}

/// Files with the same rows, whose labels are 0 and 1 in every way a file can say so.
fn place() -> Place {
    let place = Place::new();
    place.write("text.csv", csv(|i| ["0", "1"][i % 2]));
    place.write("mixed.csv", csv(|i| [["0", "1"], ["0.0", "+1"], ["-0", "1.00e+00"]][i % 3][i % 2]));
    let numbers = |i: usize, &(a, b): &(f64, f64)| vec![a, b, (i % 2) as f64];
    place.write(
        "array.npy",
        npy(&rows().iter().enumerate().map(|(i, row)| numbers(i, row)).collect::<Vec<_>>()),
    );
    place.write("doubles.parquet", parquet::<DoubleType>("double", |i| (i % 2) as f64));
    place.write("integers.parquet", parquet::<Int64Type>("int64", |i| i64::from(i % 2 == 1)));
    place.write("sparse.svm", libsvm(["0", "+1"]));
    place.write("zeros.svm", libsvm(["00", "01.0"]));
    place
}

const FILES: [&str; 7] =
    ["text.csv", "mixed.csv", "array.npy", "doubles.parquet", "integers.parquet", "sparse.svm", "zeros.svm"];

fn label_of(file: &str) -> &'static str {
    if file.ends_with("svm") { "" } else { "--label 3" }
}

#[test]
fn every_format_gives_the_same_classes_and_the_same_predictions() {
    let place = place();
    place.ok("fit text.csv --label y --method gmml --t 0.5 --keep-rows always -o text.st");
    let expected = place.ok("predict text.st text.csv --label y -k 1");
    assert!(expected.stderr.contains("0 of 12 wrong"), "{}", expected.stderr);
    for file in FILES {
        place.ok(&format!("fit {file} {} --method gmml --t 0.5 --keep-rows always -o m.st", label_of(file)));
        let model = place.model("m.st");
        assert_eq!(model.references.unwrap().1.names(), ["0", "1"], "{file}");
        // Each model on each file's labels: LIBSVM labels are read without --label.
        for other in FILES.iter().filter(|other| !other.ends_with("svm")) {
            let ran = place.ok(&format!("predict m.st {other} --label 3 -k 1"));
            assert_eq!(ran.stdout, expected.stdout, "{file} {other}");
            assert!(ran.stderr.contains("0 of 12 wrong"), "{file} {other}: {}", ran.stderr);
        }
    }
}

#[test]
fn streams_and_memory_agree_on_the_classes() {
    let place = place();
    for file in ["mixed.csv", "doubles.parquet", "integers.parquet"] {
        place.ok(&format!("fit {file} --label y --method gmml --t 0.5 -o memory.st"));
        let ran = place.ok(&format!("fit {file} --label y --method gmml --t 0.5 --stream -o stream.st"));
        let (memory, stream) = (place.model("memory.st"), place.model("stream.st"));
        let difference = (memory.metric.matrix().unwrap() - stream.metric.matrix().unwrap()).norm_max();
        assert!(difference < 1e-12 * memory.metric.matrix().unwrap().norm_max(), "{file}: {}", ran.stderr);
        let ran = place.ok(&format!("predict memory.st {file} --label y --stream -k 1"));
        assert!(ran.stderr.contains("0 of 12 wrong"), "{file}: {}", ran.stderr);
    }
}

#[test]
fn parts_of_different_formats_are_merged_class_by_class() {
    let place = place();
    let parts = ["text.csv", "mixed.csv", "doubles.parquet", "integers.parquet"];
    for (i, part) in parts.iter().enumerate() {
        let told = place.ok(&format!("moments {part} --label y -o {i}.moments")).stderr;
        assert!(told.contains("summed 12 rows of 2 classes"), "{told}");
    }
    let told = place.ok("merge 0.moments 1.moments 2.moments 3.moments -o all.moments").stderr;
    assert!(!told.contains("note"), "{told}");
    let all = mahala::scatter::Moments::from_bytes(&place.read("all.moments")).unwrap();
    let classes: Vec<(&str, u64)> = all.classes().iter().map(|class| (class.name(), class.rows())).collect();
    assert_eq!(classes, [("0", 24), ("1", 24)]);
}

#[test]
fn booleans_are_one_thing_and_not_the_numbers() {
    let place = place();
    place.write("bool.parquet", parquet::<BoolType>("boolean", |i| i % 2 == 1));
    place.write("bool.csv", csv(|i| [["false", "true"], ["False", "True"], ["FALSE", "TRUE"]][i % 3][i % 2]));
    place.ok("fit bool.parquet --label y --method gmml --t 0.5 --keep-rows always -o bool.st");
    let ran = place.ok("predict bool.st bool.csv --label y -k 1");
    assert!(ran.stderr.contains("0 of 12 wrong"), "{}", ran.stderr);
    place.refuses(
        "predict bool.st text.csv --label y -k 1",
        "error: none of the labels is a class of the rows that vote: the labels are 0, 1; the classes are false, true\n\
         hint: is --label the right column? Without --label, rows are predicted and no errors are counted",
    );
    place.ok("moments bool.parquet --label y -o bool.moments");
    place.ok("moments text.csv --label y -o text.moments");
    let told = place.ok("merge bool.moments text.moments -o both.moments").stderr;
    let note =
        "note: text.moments: none of its classes (0, 1) is among those of the parts before it (false, true)";
    assert!(told.contains(note), "{told}");
}

#[test]
fn labels_that_no_voter_has_are_counted_and_named() {
    let place = place();
    place.write("some.csv", csv(|i| if i < 3 { "2" } else { ["0", "1"][i % 2] }));
    place.write("none.csv", csv(|_| "lions"));
    place.ok("fit text.csv --label y --method gmml --t 0.5 --keep-rows always -o m.st");
    for stream in ["", "--stream"] {
        let told = place.ok(&format!("predict m.st some.csv --label y -k 1 {stream}")).stderr;
        let note = "note: 3 rows with a label that is no class of the rows that vote (2): counted as wrong";
        assert!(told.contains(note), "{told}");
        assert!(told.contains("3 of 12 wrong"), "{told}");
        let ran = place.run(&format!("predict m.st none.csv --label y -k 1 {stream} -o p.csv"));
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("the labels are lions; the classes are 0, 1"), "{}", ran.stderr);
        assert!(!place.names().contains(&"p.csv".to_owned()));
    }
}

#[test]
fn codes_with_leading_zeros_and_long_identifiers_stay_apart() {
    let place = place();
    let codes = ["01", "1", "9007199254740992", "9007199254740993"];
    place.write("codes.csv", csv(|i| codes[i % 4]));
    place.ok("fit codes.csv --label y --method gmml --t 0.5 --keep-rows always -o m.st");
    assert_eq!(place.model("m.st").references.unwrap().1.class_count(), 4);
    place.write("ids.svm", libsvm(["9007199254740992", "9007199254740993"]));
    place.ok("fit ids.svm --method gmml --t 0.5 --keep-rows always -o ids.st");
    assert_eq!(place.model("ids.st").references.unwrap().1.names(), ["9007199254740992", "9007199254740993"]);
}

#[test]
fn a_label_that_is_infinite_is_refused_with_its_place() {
    let place = place();
    place.write("inf.csv", csv(|i| if i == 3 { "inf" } else { "a" }));
    place.write("inf.parquet", parquet::<DoubleType>("double", |i| if i == 3 { f64::INFINITY } else { 1.0 }));
    for (file, unit) in [("inf.csv", "line 5"), ("inf.parquet", "row 4")] {
        for stream in ["", "--stream"] {
            let ran = place.run(&format!("fit {file} --label y --method gmml --t 0.5 {stream} -o m.st"));
            let message = format!("{file}, {unit}, column 'y': the label \"inf\" is not a finite number");
            assert!(ran.code == 1 && ran.stderr.contains(&message), "{}", ran.stderr);
        }
    }
    place.write("inf.svm", libsvm(["1", "-inf"]));
    let ran = place.run("fit inf.svm --method gmml --t 0.5 -o m.st");
    assert!(
        ran.stderr.contains("inf.svm, line 2: the label \"-inf\" is not a finite number"),
        "{}",
        ran.stderr
    );
}

#[test]
fn groups_that_spell_one_number_are_one_group() {
    let place = place();
    let table = |group: fn(usize) -> &'static str| {
        let lines = rows().into_iter().enumerate();
        let line = |(i, (a, b)): (usize, (f64, f64))| format!("{a},{b},{},{}\n", i % 2, group(i));
        "f1,f2,y,g\n".to_owned() + &lines.map(line).collect::<String>()
    };
    place.write("one.csv", table(|i| ["1", "2", "3"][i % 3]));
    place.write("two.csv", table(|i| [["1", "2", "3"], ["1.0", "+2", "3."]][i / 6][i % 3]));
    for file in ["one.csv", "two.csv"] {
        place.ok(&format!("fit {file} --label y --groups g --keep-rows never -o {file}.st"));
    }
    assert!(place.read("one.csv.st") == place.read("two.csv.st"));
}
