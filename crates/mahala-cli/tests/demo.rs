//! `mahala demo`: the first thing anybody runs.

mod common;

use common::{Place, assert_well_formed};

const FILES: [&str; 5] =
    ["before-after.svg", "error-over-t.svg", "wine.csv", "wine.html", "wine.safetensors"];

#[test]
fn the_demo_compares_three_methods_and_writes_five_files() {
    let place = Place::new();
    let ran = place.ok("demo --runs 3 -o out");
    assert!(ran.stdout.starts_with("Wine: 178 rows, 13 columns, 3 cultivars."), "{}", ran.stdout);
    let error = |method: &str| -> f64 {
        let line = ran.stdout.lines().find(|line| line.trim_start().starts_with(method));
        let cells: Vec<&str> = line.expect("a line of the table").split_whitespace().collect();
        cells[1].parse().expect("an error in percent")
    };
    assert!(
        error("auto") < 0.3 * error("euclidean") && ran.stdout.contains("Learning is worth it"),
        "{}",
        ran.stdout
    );
    for name in FILES {
        assert!(!place.read(&format!("out/{name}")).is_empty(), "{name}");
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
}

#[test]
fn the_figures_of_the_demo_are_well_formed() {
    let place = Place::new();
    place.ok("demo --runs 1");
    for name in ["before-after.svg", "error-over-t.svg"] {
        let svg = place.text(&format!("mahala-demo/{name}"));
        assert!(svg.contains("<svg") && svg.contains("GMML"), "{name}");
        assert_well_formed(&svg);
    }
}

#[test]
fn a_second_demo_writes_the_same_bytes() {
    let place = Place::new();
    place.ok("demo --runs 1 -o one");
    place.ok("demo --runs 1 -o two --threads 1");
    place.ok("demo --runs 1 -o one");
    for name in FILES {
        assert!(place.read(&format!("one/{name}")) == place.read(&format!("two/{name}")), "{name} differs");
    }
}

#[test]
fn what_the_demo_suggests_next_works() {
    let place = Place::new();
    let ran = place.ok("demo --runs 1");
    let next: Vec<&str> = ran.stderr.lines().filter_map(|line| line.trim().strip_prefix("mahala ")).collect();
    assert_eq!(next.len(), 3, "{}", ran.stderr);
    for line in &next[..2] {
        assert!(!place.ok(line).stdout.is_empty(), "{line}");
    }
}

#[test]
fn demo_fit_and_evaluate_are_one_method() {
    let place = Place::new();
    let demo = place.ok("demo --runs 3").stdout;
    place.ok("fit mahala-demo/wine.csv --label label -o same.safetensors");
    assert!(place.read("same.safetensors") == place.read("mahala-demo/wine.safetensors"));
    let evaluated = place.ok("evaluate mahala-demo/wine.csv --label label --runs 3").stdout;
    // Times differ; methods, errors and the verdict do not.
    let numbers = |text: &str| -> Vec<String> {
        let row = |line: &&str| {
            ["euclidean", "lda", "auto", "Learning"].iter().any(|m| line.trim_start().starts_with(m))
        };
        text.lines()
            .filter(row)
            .map(|line| line.split("  –").next().unwrap_or(line).trim().to_owned())
            .collect()
    };
    assert_eq!(numbers(&demo), numbers(&evaluated));
    assert_eq!(numbers(&demo).len(), 4, "{demo}");
}

#[test]
fn a_directory_that_cannot_be_made_is_refused() {
    let place = Place::new();
    let ran = place.run("demo -o iris.csv");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: cannot make iris.csv"), "{}", ran.stderr);
}
