//! Columns in very different units, through the command.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;
#[path = "../../mahala/tests/common/graded.rs"]
mod graded;

use common::Place;
use std::fmt::Write;

/// The rows of `graded::cells` as CSV, in full precision.
fn csv(cells: &[f64], d: usize) -> String {
    let mut text = String::new();
    (0..d).for_each(|j| write!(text, "x{j},").unwrap());
    text.push_str("y\n");
    for (i, row) in cells.chunks(d).enumerate() {
        row.iter().for_each(|x| write!(text, "{x:e},").unwrap());
        writeln!(text, "c{}", i % 3).unwrap();
    }
    text
}

fn reference(d: u64, decades: u64) -> Vec<f64> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../mahala/tests/reference/graded.json");
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let of = |case: &&serde_json::Value| case["columns"] == d && case["decades"] == decades;
    let case = cases.as_array().unwrap().iter().find(of).unwrap();
    case["A"].as_array().unwrap().iter().map(|x| x.as_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_fit_in_units_from_1_to_1e12_keeps_its_digits_and_warns_of_nothing() {
    for decades in [4, 12] {
        let place = Place::new();
        place.write("t.csv", csv(&graded::cells(36, decades as usize), 36));
        let ran = place.ok("fit t.csv --label y --method gmml --t 0.5 -o m.st");
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        let a = place.model("m.st").metric.matrix().unwrap();
        let error = graded::error(|i, j| a[(i, j)], 36, &reference(36, decades));
        assert!(error <= 1e-12, "1e{decades}: {error:e}");
    }
}

#[test]
fn what_rounding_hides_is_a_warning() {
    // The paper's sample of 240 pairs has fewer dissimilar ones than there are columns: D is singular.
    let place = Place::new();
    place.write("t.csv", csv(&graded::cells(200, 4), 200));
    let ran = place.ok("fit t.csv --label y --method gmml --pairs sampled --t 0.5 -o m.st");
    let warned = |line: &&str| {
        line.starts_with("warning: ") && line.contains(" eigenvalues of SD are at or below rounding")
    };
    assert!(ran.stderr.lines().any(|line| warned(&line)), "{}", ran.stderr);
    let inspected = place.ok("inspect m.st").stdout;
    assert!(inspected.contains(" eigenvalues of SD are at or below it"), "{inspected}");
}
