//! Exported models map rows as `transform` does, whatever their form; and `inspect` says what is so.
#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test that cannot go on should stop; small texts"
)]

mod common;

use common::{Place, cells, npy_numbers, numbers};
use mahala::data::Random;

type Table = Vec<Vec<f64>>;

fn table(text: &str) -> Table {
    numbers(text, cells(text)[0].len())
}

/// `map·(x − mean)` of each row.
fn mapped(map: &Table, mean: &[f64], rows: &Table) -> Table {
    let coordinate = |l: &Vec<f64>, x: &Vec<f64>| (0..x.len()).map(|j| l[j] * (x[j] - mean[j])).sum::<f64>();
    rows.iter().map(|x| map.iter().map(|l| coordinate(l, x)).collect()).collect()
}

fn assert_close(seen: &Table, expected: &Table, what: &str) {
    let largest = expected.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs()));
    assert_eq!((seen.len(), seen[0].len()), (expected.len(), expected[0].len()), "{what}");
    for (seen, expected) in seen.iter().flatten().zip(expected.iter().flatten()) {
        assert!((seen - expected).abs() < 1e-9 * largest, "{what}: {seen} {expected}");
    }
}

/// The map in every form but ONNX, with its mean.
fn exported_maps(place: &Place, model: &str) -> Vec<(&'static str, Table)> {
    for form in ["npy", "csv", "json"] {
        place.ok(&format!("export {model} -o map.{form}"));
    }
    let d = place.model(model).columns();
    let json: serde_json::Value = serde_json::from_str(&place.text("map.json")).unwrap();
    let flat = npy_numbers(&place.read("map.npy"));
    vec![
        ("npy", flat.chunks(d).map(<[f64]>::to_vec).collect()),
        ("csv", table(&place.text("map.csv"))),
        ("json", serde_json::from_value(json["components"].clone()).unwrap()),
    ]
}

#[test]
fn every_form_is_the_map_of_transform_for_rows_as_they_are() {
    let place = Place::new();
    let wine = numbers(&place.text("wine.csv"), 13);
    for options in [
        "--method gmml --t 0.3",
        "--method gmml --t 0.3 --standardize",
        "--method gmml --t 0.3 --rank 2 --standardize",
        "--method auto --set budget=2",
        "--method covariance",
        "--method lmnn --max-iterations 5 --standardize",
    ] {
        place.ok(&format!("fit wine.csv --label label {options} -o m.st"));
        let expected = table(&place.ok("transform m.st wine.csv --ignore label").stdout);
        let mean = place.model("m.st").metric.mean().to_vec();
        for (form, map) in exported_maps(&place, "m.st") {
            assert_close(&mapped(&map, &mean, &wine), &expected, &format!("{form} {options}"));
        }
        let json: serde_json::Value = serde_json::from_str(&place.text("map.json")).unwrap();
        assert_eq!(serde_json::from_value::<Vec<f64>>(json["mean"].clone()).unwrap(), mean);
        assert!(json.get("scale").is_none());
        place.ok("export m.st -o m.onnx");
        let metric = place.model("m.st").metric;
        let bytes = |values: &[f64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let l = metric.components();
        let turned: Vec<f64> = (0..13).flat_map(|j| (0..l.nrows()).map(move |i| l[(i, j)])).collect();
        let onnx = place.read("m.onnx");
        for part in [Some(&turned[..]), Some(metric.mean()), metric.scale()].into_iter().flatten() {
            let part = bytes(part);
            assert!(onnx.windows(part.len()).any(|window| window == part), "{options}");
        }
    }
}

/// 12 rows of 20 columns to learn on, and 6 more.
fn write_wide(place: &Place) {
    let mut random = Random::new(5, 0);
    let mut line = |i: usize| {
        let row: String =
            (0..20).map(|j| format!("{},", random.uniform() + f64::from(u8::from(j == i % 2)))).collect();
        format!("{row}{}\n", i % 2)
    };
    let header = (1..=20).map(|j| format!("f{j},")).collect::<String>() + "y\n";
    place.write("wide.csv", header.clone() + &(0..12).map(&mut line).collect::<String>());
    place.write("new.csv", header + &(0..6).map(&mut line).collect::<String>());
}

/// The learned distances between all pairs of the new rows.
fn measured(place: &Place) -> Vec<f64> {
    let pairs: String = (1..=6).flat_map(|i| (1..=6).map(move |j| format!("{i},{j}\n"))).collect();
    place.write("pairs.csv", "first,second\n".to_owned() + &pairs);
    let text = place.ok("pairs m.st new.csv --pairs pairs.csv --ignore y").stdout;
    numbers(&text, 3).into_iter().map(|row| row[2]).collect()
}

/// The new row that is nearest to each row of the wide table, by the whole distance.
fn nearest_new(place: &Place) -> Vec<usize> {
    let pairs: String = (1..=12).flat_map(|i| (1..=6).map(move |j| format!("{i},{j}\n"))).collect();
    place.write("pairs.csv", "first,second\n".to_owned() + &pairs);
    let text = place.ok("pairs m.st wide.csv --second new.csv --pairs pairs.csv --ignore y").stdout;
    let all: Vec<f64> = numbers(&text, 3).into_iter().map(|row| row[2]).collect();
    all.chunks(6).map(|row| (0..6).min_by(|&i, &j| row[i].total_cmp(&row[j])).unwrap()).collect()
}

fn distances(z: &Table) -> Vec<f64> {
    let distance =
        |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    z.iter().flat_map(|a| z.iter().map(move |b| distance(a, b))).collect()
}

fn assert_same(seen: &[f64], expected: &[f64], what: &str) {
    let largest = expected.iter().fold(0.0f64, |m, x| m.max(*x));
    assert_eq!(seen.len(), expected.len(), "{what}");
    // The part outside comes from a difference of squares: half the digits where rows are equal.
    for (a, b) in seen.iter().zip(expected) {
        assert!((a - b).abs() < 1e-7 * largest, "{what}: {a} {b}");
    }
}

#[test]
fn what_is_weighed_outside_the_span_is_in_every_export_and_search() {
    let place = Place::new();
    write_wide(&place);
    for standardize in ["", "--standardize"] {
        place.ok(&format!("fit wide.csv --label y --method gmml --t 0.2 --lambda 0.3 {standardize} -o m.st"));
        let weight = place.model("m.st").metric.weight_outside().unwrap();
        assert!(weight > 0.0);
        let (expected, new) = (measured(&place), numbers(&place.text("new.csv"), 20));
        let inside = place.ok("transform m.st new.csv --ignore y");
        assert!(inside.stderr.contains("note: what lies outside the span of the training rows (weight"));
        let short = distances(&table(&inside.stdout));
        assert!(short[1] < 0.99 * expected[1], "the part outside counts: {} {}", short[1], expected[1]);
        for (form, map) in exported_maps(&place, "m.st") {
            assert_eq!(map.len(), 20, "{form}");
            assert_same(&distances(&mapped(&map, &[0.0; 20], &new)), &expected, form);
        }
        let told = place.ok("export m.st -o m.onnx").stderr;
        assert!(told.contains("note: 20 coordinates: 11 inside the span of the training rows"), "{told}");
        // Rows the metric was not learned on find each other by the whole distance.
        let near = numbers(&place.ok("neighbors m.st new.csv --ignore y -k 5").stdout, 4);
        for row in near {
            let (i, j) = (row[0] as usize - 1, row[2] as usize - 1);
            assert!((row[3] - expected[6 * i + j]).abs() < 1e-7 * row[3]);
        }
        let predicted =
            numbers(&place.ok("predict m.st wide.csv --train new.csv --train-label y -k 1").stdout, 2);
        for (row, nearest) in predicted.iter().zip(nearest_new(&place)) {
            assert_eq!(row[1], f64::from(u8::from(nearest % 2 == 1)), "row {}", row[0]);
        }
    }
}

#[test]
fn without_lambda_the_fit_says_that_nothing_outside_counts() {
    let place = Place::new();
    write_wide(&place);
    let told = place.ok("fit wide.csv --label y --method gmml --t 0.2 -o m.st").stderr;
    let note = "note: learned inside the 11 directions that the rows span; what lies outside has weight 0";
    assert!(told.contains(note), "{told}");
    let (expected, new) = (measured(&place), numbers(&place.text("new.csv"), 20));
    for (form, map) in exported_maps(&place, "m.st") {
        assert_eq!(map.len(), 11, "{form}");
        assert_same(&distances(&mapped(&map, &[0.0; 20], &new)), &expected, form);
    }
}

#[test]
fn inspect_tells_how_a_metric_was_regularised_and_standardised() {
    let place = Place::new();
    let line = |text: &str, key: &str| -> String {
        let found = text.lines().find(|line| line.trim_start().starts_with(key)).unwrap();
        found.trim_start().trim_start_matches(key).trim().to_owned()
    };
    for (options, expected) in [
        ("", "none"),
        ("--lambda 0.5", "lambda 0.5, prior identity"),
        ("--shrinkage 0.2", "shrinkage 0.2 of S and D towards their diagonals"),
        ("--shrinkage 0.2 --shrink-towards similar", "shrinkage 0.2 of S towards its diagonal"),
        ("--shrinkage 0.2 --shrink-towards similar-identity", "shrinkage 0.2 of S towards the identity"),
        ("--shrinkage 0.2 --shrink-towards identity", "shrinkage 0.2 of S and D towards the identity"),
        ("--shrinkage analytic", "analytic shrinkage of S towards its diagonal"),
    ] {
        for (standardize, yes) in [("", "no"), ("--standardize", "yes")] {
            place.ok(&format!(
                "fit wine.csv --label label --method gmml --t 0.3 {options} {standardize} -o m.st"
            ));
            let told = place.ok("inspect m.st").stdout;
            assert_eq!(line(&told, "regularisation"), expected);
            assert_eq!(line(&told, "standardised"), yes, "{options}");
        }
    }
    for (set, yes) in [("", "no"), ("--set standardize=true", "yes")] {
        place.ok(&format!("fit wine.csv --label label --method recipe --set t=0.3 {set} -o recipe.st"));
        assert_eq!(line(&place.ok("inspect recipe.st").stdout, "standardised"), yes);
    }
    for table in ["iris.csv", "wine.csv"] {
        place.ok(&format!("fit {table} --label -1 --method auto --set budget=2 -o auto.st"));
        let told = place.ok("inspect auto.st").stdout;
        let recipes: Vec<&str> =
            told.lines().filter(|line| line.trim_start().starts_with("recipe ")).collect();
        let yes = recipes.iter().filter(|recipe| recipe.contains("standardised")).count();
        let expected = match (recipes.len(), yes) {
            (_, 0) => "no".to_owned(),
            (all, yes) if all == yes => "yes".to_owned(),
            (all, yes) => format!("in {yes} of {all} recipes"),
        };
        assert_eq!(line(&told, "standardised"), expected, "{told}");
    }
}
