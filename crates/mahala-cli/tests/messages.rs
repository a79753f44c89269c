//! Messages blame what is to blame, and say what to do.

mod common;

use common::Place;
use std::fmt::Write as _;

/// Forty rows of two classes, every cell through `cell`.
fn table(cell: impl Fn(f64) -> f64) -> String {
    let mut state = 3u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text = String::from("a,b,c,d,y\n");
    for i in 0..40 {
        (0..4).for_each(|_| write!(text, "{:e},", cell(uniform() + f64::from(i % 2))).expect("memory"));
        writeln!(text, "{}", ["p", "q"][i as usize % 2]).expect("memory");
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    place.write("t.csv", table(|x| x));
    place
}

/// Runs what must fail, and returns what it says.
fn refusal(place: &Place, line: &str) -> String {
    let ran = place.run(line);
    assert_ne!(ran.code, 0, "mahala {line}");
    ran.stderr
}

#[test]
fn parameters_are_named_as_they_were_typed() {
    let place = place();
    place.refuses(
        "fit t.csv --label y --method gmml --local class --rank 2 -o m.st",
        "error: --rank and --local cannot be combined: local metrics need all coordinates\nhint: leave one of them out",
    );
    place.refuses(
        "fit t.csv --label y --method recipe --set t=3 -o m.st",
        "error: --set t: t is 3; it must be between 0 and 1",
    );
    place.refuses(
        "evaluate t.csv --label y --method recipe --runs 1 --set t=3",
        "error: --set t: t is 3; it must be between 0 and 1",
    );
    place.refuses(
        "fit t.csv --label y --method itml --set gamma=1 --set gamma=2 -o m.st",
        "error: --set gamma is given twice\nhint: leave one of them out",
    );
    place.refuses(
        "fit t.csv --label y --method itml --set k=3 -k 4 -o m.st",
        "error: --set k and -k say the same\nhint: leave one of them out",
    );
    for line in ["fit t.csv --label y --method gmml -o m.st", "tune t.csv --label y"] {
        place.refuses(
            &format!("{line} --folds 41"),
            "error: --folds is 41, but there are only 40 rows to divide\nhint: --folds 5",
        );
    }
    place.misuse("fit t.csv --label y --folds 1 -o m.st", "it must be a whole number, at least 2");
    place.misuse("fit t.csv --label y --selection-rows 1 -o m.st", "it must be a whole number, at least 4");
    for threshold in ["nan", "inf", "-1"] {
        let line = format!("pairs wine.st t.csv --pairs p.csv --threshold {threshold}");
        place.misuse(&line, "it must be a distance: a finite number, at least 0");
    }
}

#[test]
fn numbers_that_overflow_are_not_blamed_on_a_cell() {
    let place = place();
    place.write("large.csv", table(|x| x * 1e160));
    for method in ["lmnn", "mcml", "nca"] {
        let said = refusal(&place, &format!("fit large.csv --label y --method {method} -o m.st"));
        assert!(said.contains("outside the range of 64-bit numbers") && !said.contains("cell at"), "{said}");
        place.ok(&format!("fit large.csv --label y --method {method} --standardize -o m.st"));
    }
    place.write("small.csv", table(|x| x * 1e-300));
    let ran = place.run("fit small.csv --label y --set budget=1 -o m.st");
    assert!(ran.code == 0 || !ran.stderr.contains("is empty"), "{}", ran.stderr);
    for kernel in ["rbf", "polynomial", "rbf --landmarks 9"] {
        let line = format!("fit t.csv --label y --method gmml --kernel {kernel} --gamma 1e-300 -o m.st");
        place.refuses(
            &line,
            "error: --gamma is 1e-300; it must be so large that the kernel values of different rows differ",
        );
    }
}

#[test]
fn files_that_are_no_tables_are_called_what_they_are() {
    let place = place();
    let utf32: Vec<u8> = "a,b,y\n1,2,p\n".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    let marked: Vec<u8> = [b"\xFF\xFE\0\0", &utf32[..]].concat();
    for (name, bytes, what) in [
        ("plain.csv", &utf32[..], "the file is UTF-32, not UTF-8"),
        ("marked.csv", &marked[..], "the file is UTF-32, not UTF-8"),
        ("t.arrow", b"ARROW1\0\0\xff\xff\xff\xff", "the Arrow data end too early"),
        ("t.feather", b"FEA1\0\0\0\0....", "this is a Feather file"),
        ("t.pkl", b"\x80\x04\x95\x10\0\0\0\0", "this is a pickle"),
        ("t.h5", b"\x89HDF\r\n\x1a\n", "this is an HDF5 file"),
    ] {
        place.write(name, bytes);
        for line in
            [format!("fit {name} --label y -o m.st"), format!("moments {name} --label y -o m.moments")]
        {
            let said = refusal(&place, &line);
            assert!(said.starts_with(&format!("error: {name}: {what}")), "{said}");
            assert!(said.contains("\nhint: "), "{said}");
        }
    }
    // Text that happens to begin with such letters is text.
    place.write("text.csv", table(|x| x).replacen("a,b,c,d", "BZh,FEA1,c,d", 1));
    place.ok("fit text.csv --label y --method gmml -o m.st");
}

#[test]
fn folders_and_separators_are_seen_through() {
    let place = place();
    std::fs::create_dir_all(place.path("years/2026")).expect("a folder");
    let said = refusal(&place, "fit years --label y -o m.st");
    assert!(said.contains("it has only folders in it, which are not looked into: 2026/"), "{said}");
    place.write("colons.csv", place.text("t.csv").replace(',', ":"));
    let said = refusal(&place, "fit colons.csv --label y -o m.st");
    assert!(said.contains("--delimiter names it"), "{said}");
    place.ok("fit colons.csv --label y --method gmml --delimiter : -o m.st");
    place.write("big.svm", "1 1:2 99999999:1\n2 1:3 2:1\n");
    let said = refusal(&place, "fit big.svm -o m.st");
    assert!(said.contains("larger than 16777216") && !said.contains("densely"), "{said}");
}

#[test]
fn a_model_and_a_file_of_sums_are_told_apart() {
    let place = place();
    place.ok("fit t.csv --label y --method gmml -o m.st");
    place.ok("moments t.csv --label y -o t.moments");
    let said = refusal(&place, "predict t.moments t.csv");
    assert!(
        said.starts_with("error: t.moments: this file holds sums of mahala moments, not a model"),
        "{said}"
    );
    for line in ["fit --moments m.st --t 0.5 -o n.st", "merge m.st m.st -o n.moments"] {
        let said = refusal(&place, line);
        assert!(said.starts_with("error: m.st: this is a model, not a file of sums"), "{said}");
    }
}

#[test]
fn rows_that_were_skipped_are_not_said_to_have_gaps() {
    let place = place();
    let text = place.text("t.csv");
    let mut lines: Vec<&str> = text.lines().collect();
    lines[3] = "x,1,1,1,p";
    place.write("bad.csv", lines.join("\n"));
    place.write("pairs.csv", "first,second,similar\n1,2,0\n3,1,1\n5,7,1\n");
    let said = refusal(&place, "fit bad.csv --label y --pairs pairs.csv --skip-bad-rows 3 -o m.st");
    assert!(said.contains("row 3 of bad.csv was left out when it was read: a bad row"), "{said}");
}

#[test]
fn control_characters_in_names_are_shown_and_not_obeyed() {
    let place = place();
    let red = "\u{1b}[31m";
    place.write(
        "t.csv",
        place
            .text("t.csv")
            .replacen("a,b", &format!("a{red},b\u{202e}"), 1)
            .replace(",p\n", &format!(",p{red}\n")),
    );
    place.write(&format!("x{red}.csv"), place.text("t.csv"));
    let name = format!("x{red}.csv");
    let runs = [
        vec!["fit", "t.csv", "--label", "nothing", "-o", "m.st"],
        vec!["fit", &name, "--label", "y", "--method", "gmml", "-o", "m.st"],
        vec!["inspect", "m.st"],
        vec!["evaluate", &name, "--label", "y", "--method", "gmml", "--runs", "1"],
        vec!["fit", &name, "--label", "y", "--method", "gmml", "--t", "0.5", "-o", &name],
    ];
    for arguments in runs {
        let ran = place.run_arguments(&arguments, b"");
        for said in [&ran.stdout, &ran.stderr] {
            assert!(!said.contains(['\u{1b}', '\u{202e}']), "{arguments:?}: {said:?}");
        }
        assert!(ran.stdout.len() + ran.stderr.len() > 0);
    }
    let shown = place.ok("inspect m.st").stdout;
    assert!(shown.contains("a\\u{1b}[31m"), "{shown}");
    // What is data stays as it is.
    assert!(place.ok("predict m.st t.csv").stdout.contains(red));
}
