//! Missing cells are replaced by means of the rows a metric was learned on, and of no others.
#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test that cannot go on should stop; small texts"
)]

mod common;

use common::{Place, cells, numbers};
use std::path::PathBuf;

/// The first rows of Iris: as they are with means in place of some cells, and with these cells empty.
fn write_gaps(place: &Place) {
    let iris = place.text("iris.csv");
    let table = cells(&iris);
    let values = numbers(&iris, 4);
    let mean = |j: usize| values.iter().map(|row| row[j]).sum::<f64>() / values.len() as f64;
    let line = |fill: &dyn Fn(usize) -> String, i: usize| {
        let cell = |j: usize| if (i + j).is_multiple_of(3) { fill(j) } else { table[i + 1][j].to_owned() };
        (0..4).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    let header = table[0][..4].join(",") + "\n";
    let file = |fill: &dyn Fn(usize) -> String, rows: usize| {
        header.clone() + &(0..rows).map(|i| line(fill, i)).collect::<String>()
    };
    place.write("gaps.csv", file(&|_| String::new(), 7));
    place.write("one.csv", file(&|_| String::new(), 1));
    place.write("filled.csv", file(&|j| format!("{:e}", mean(j)), 7));
}

fn assert_close(seen: &[Vec<f64>], expected: &[Vec<f64>], what: &str) {
    let largest = expected.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    assert_eq!(seen.len(), expected.len(), "{what}");
    for (seen, expected) in seen.iter().flatten().zip(expected.iter().flatten()) {
        assert!((seen - expected).abs() < 1e-10 * largest, "{what}: {seen} {expected}");
    }
}

#[test]
fn models_fill_in_the_means_they_were_learned_on() {
    let place = Place::new();
    write_gaps(&place);
    for options in [
        "--method gmml --t 0.3",
        "--method gmml --t 0.3 --standardize --rank 2",
        "--method gmml --t 0.3 --kernel rbf --landmarks 20",
        "--method gmml --t 0.3 --local class --share 0.5",
        "--method auto --set budget=2",
        "--method euclidean",
        "--method covariance --standardize",
        "--method itml --max-iterations 5",
    ] {
        place.ok(&format!("fit iris.csv --label -1 {options} -o m.st"));
        let transformed = |rows: &str| {
            let text = place.ok(&format!("transform m.st {rows}")).stdout;
            numbers(&text, cells(&text)[0].len())
        };
        let expected = transformed("filled.csv");
        assert_close(&transformed("gaps.csv --missing mean"), &expected, options);
        assert_close(&transformed("gaps.csv --missing mean --stream"), &expected, options);
        assert_close(&transformed("one.csv --missing mean"), &expected[..1], options);
        let predicted = place.ok("predict m.st gaps.csv --missing mean");
        assert_eq!(predicted.stdout, place.ok("predict m.st filled.csv").stdout, "{options}");
        assert!(
            predicted.stderr.contains("10 missing cells replaced by the means of the training rows"),
            "{options}"
        );
    }
}

#[test]
fn neighbors_and_pairs_fill_in_the_same_means() {
    let place = Place::new();
    write_gaps(&place);
    place.ok("fit iris.csv --label -1 --method gmml --t 0.3 -o m.st");
    let near = |rows: &str| numbers(&place.ok(&format!("neighbors m.st {rows} --among iris.csv")).stdout, 4);
    assert_close(&near("gaps.csv --missing mean"), &near("filled.csv"), "neighbors");
    place.write("pairs.csv", "first,second\n1,2\n3,7\n");
    let measured = |rows: &str| numbers(&place.ok(&format!("pairs m.st {rows} --pairs pairs.csv")).stdout, 3);
    assert_close(&measured("gaps.csv --missing mean"), &measured("filled.csv"), "pairs");
}

#[test]
fn a_model_file_without_means_refuses_in_words() {
    let place = Place::new();
    write_gaps(&place);
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1.0");
    std::fs::copy(fixtures.join("kernel.safetensors"), place.path("old.st")).unwrap();
    let message = "error: --missing mean fills in the means of the training rows, and this model does not hold them\n\
                   hint: --missing drop or --missing zero, or fit the model again";
    place.refuses("transform old.st gaps.csv --missing mean", message);
    place.refuses("transform old.st gaps.csv --missing mean --stream", message);
    assert_eq!(place.ok("predict old.st gaps.csv --missing zero").stdout.lines().count(), 8);
}

/// Eleven rows to learn on, one whose cell is missing, and one of another world.
fn table(stranger: &str) -> String {
    let train: String = (0..11)
        .map(|i| match i {
            0..8 => format!("0.{i},{},u\n", i % 3),
            _ => format!("10.{i},{},v\n", i % 3),
        })
        .collect();
    format!("a,b,y\n{train},1,u\n{stranger},1,v\n")
}

#[test]
fn evaluate_fills_in_means_of_the_rows_it_learns_on_alone() {
    let place = Place::new();
    // The mean of column a is near class u; a single stranger would move it to class v.
    for stranger in ["10", "1e6"] {
        place.write("t.csv", table(stranger));
        for method in ["euclidean", "gmml", "itml"] {
            let line = "evaluate t.csv --label y --missing mean --train-rows 1-11 --test-rows 12 -k 3";
            let json = place.json(&format!("{line} --method {method} --json"));
            let result = &json["results"][0];
            assert_eq!((&result["wrong"], &result["tested"]), (&0.into(), &1.into()), "{stranger} {method}");
        }
    }
    // A row to test may lack what no row to learn on has.
    place.write("none.csv", table("3").replace("0.", ",0.").replace("a,b,y", "c,a,b,y"));
    let ran = place.run("evaluate none.csv --label y --missing mean --train-rows 1-8 --test-rows 12 -k 3");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}
