//! Files written by released versions are read for ever after, and mean what they meant.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::Place;
use std::fs;
use std::path::PathBuf;

/// The versions whose files are kept in `tests/fixtures`.
const VERSIONS: [&str; 1] = ["0.1.0"];

fn fixture(version: &str, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version).join(name)
}

/// A directory with all files of a version.
fn place(version: &str) -> Place {
    let place = Place::new();
    for entry in fs::read_dir(fixture(version, "")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, place.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    place
}

fn numbers(csv: &str) -> Vec<Vec<f64>> {
    csv.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect()
}

/// Coordinates agree to 1e-12 of the largest: products may be summed in another order.
fn assert_same_coordinates(seen: &str, expected: &str, what: &str) {
    let (seen, expected) = (numbers(seen), numbers(expected));
    assert_eq!(seen.len(), expected.len(), "{what}");
    let largest = expected.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    for (seen, expected) in seen.iter().zip(&expected) {
        assert_eq!(seen.len(), expected.len(), "{what}");
        for (a, b) in seen.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-12 * largest, "{what}: {a} where {b} was written");
        }
    }
}

#[test]
fn models_of_older_versions_transform_and_predict_as_they_did() {
    for version in VERSIONS {
        let place = place(version);
        let iris = ["gmml", "auto", "gmml-rank-calibrated", "local", "kernel", "itml"];
        for (name, rows) in iris
            .map(|name| (name, "iris-5-rows.csv"))
            .into_iter()
            .chain([("gmml-standardized", "wine-5-rows.csv"), ("wide", "wine-5-rows.csv")])
        {
            place.ok(&format!("transform {name}.safetensors {rows} -o seen.csv"));
            let what = format!("{version}, {name}");
            assert_same_coordinates(&place.text("seen.csv"), &place.text(&format!("{name}.csv")), &what);
        }
        for name in iris {
            let predicted = place.ok(&format!("predict {name}.safetensors iris-5-rows.csv")).stdout;
            assert_eq!(predicted, place.text(&format!("{name}.predicted.csv")), "{version}, {name}");
        }
    }
}

#[test]
fn moments_of_older_versions_are_learned_from_as_they_were() {
    for version in VERSIONS {
        let place = place(version);
        place.ok("fit --moments iris.moments --t 0.5 -o m.safetensors");
        place.ok("transform m.safetensors iris-5-rows.csv -o seen.csv");
        assert_same_coordinates(&place.text("seen.csv"), &place.text("moments.csv"), version);
    }
}
