//! JSON: every key that is printed is documented, every key that is documented is printed, and errors are objects, too.

use crate::common::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Of each schema the lines that print it.
const LINES: &[(&str, &[&str])] = &[
    (
        "fit",
        &[
            "fit iris.csv --label label -o auto.st --json",
            "fit iris.csv --label label --method gmml -o m.st --json",
        ],
    ),
    (
        "evaluate",
        &[
            "evaluate iris.csv --label label --runs 2 --json --method euclidean,gmml",
            "evaluate iris.csv --ignore label --pairs pairs.csv --test-folds 2 --json --method euclidean,gmml --t 0.5",
            "evaluate iris.csv --ignore label --triplets triplets.csv --test-folds 2 --json --method euclidean,gmml --t 0.5",
            "evaluate iris.csv --ignore label --quadruplets quadruplets.csv --test-folds 2 --json --method euclidean,gmml --t 0.5",
            "evaluate iris.csv --label 1 --ignore label --regression --runs 2 --json --method euclidean,mlkr",
        ],
    ),
    (
        "evaluate-model",
        &[
            "evaluate m.st iris.csv --label label --json",
            "evaluate numbers.st iris.csv --label 1 --ignore label --json",
        ],
    ),
    ("tune", &["tune iris.csv --label label --steps 4 --json"]),
    (
        "predict",
        &[
            "predict m.st iris.csv --label label --json",
            "predict numbers.st iris.csv --label 1 --ignore label --json",
        ],
    ),
    ("neighbors", &["neighbors m.st iris.csv -o out.csv --json"]),
    ("transform", &["transform m.st iris.csv -o out.csv --json"]),
    ("pairs", &["pairs calibrated.st iris.csv --pairs pairs.csv --probabilities --json --each"]),
    ("retrieval", &["retrieval iris.csv --label label --model m.st --json"]),
    ("adapt", &["adapt iris.csv --label label --json"]),
    ("moments", &["moments iris.csv --label label -o one.moments --json"]),
    ("merge", &["merge one.moments one.moments -o two.moments --json"]),
    ("methods", &["methods --json"]),
    ("inspect", &["inspect calibrated.st --json"]),
    ("export", &["export m.st -o out.npy --json"]),
    ("demo", &["demo --runs 2 -o demo --json"]),
    ("error", &["inspect nowhere --json"]),
];

fn place() -> Place {
    let place = Place::new();
    let pair = |i: usize| {
        format!("{},{},{}\n", i + 1, (7 * i + 3) % 150 + 1, u8::from(i / 50 == (7 * i + 3) % 150 / 50))
    };
    place.write("pairs.csv", format!("first,second,similar\n{}", (0..150).map(pair).collect::<String>()));
    let triplet =
        |i: usize| format!("{},{},{}\n", i + 1, (i + 1) % 50 + 50 * (i / 50) + 1, (i + 50) % 150 + 1);
    place.write("triplets.csv", format!("anchor,near,far\n{}", (0..150).map(triplet).collect::<String>()));
    let quadruplet = |i: usize| {
        format!("{},{},{},{}\n", i + 1, (i + 1) % 50 + 50 * (i / 50) + 1, i + 1, (i + 50) % 150 + 1)
    };
    place.write("quadruplets.csv", format!("a,b,c,d\n{}", (0..150).map(quadruplet).collect::<String>()));
    place.ok("fit iris.csv --label label --method gmml --calibrate platt -o calibrated.st");
    place.ok("fit iris.csv --label 1 --ignore label --regression -o numbers.st");
    place
}

/// The paths of the keys of a value.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                found.insert(inner.clone());
                paths(value, &inner, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| paths(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// Of each schema the paths in the reference.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut schema = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## mahala/") {
            name.clone_into(&mut schema);
            all.entry(schema.clone()).or_default();
        }
        if let Some((key, _)) = line.strip_prefix("| `").and_then(|line| line.split_once('`')) {
            all.entry(schema.clone()).or_default().insert(key.to_owned());
        }
    }
    all
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_printed() {
    let (place, documented) = (place(), documented());
    assert_eq!(
        documented.keys().map(String::as_str).collect::<BTreeSet<_>>(),
        LINES.iter().map(|one| one.0).collect()
    );
    for (schema, lines) in LINES {
        let mut printed = BTreeSet::new();
        for line in *lines {
            let ran = place.run(line);
            let text = if *schema == "error" { &ran.stderr } else { &ran.stdout };
            let value: Value =
                serde_json::from_str(text).unwrap_or_else(|_| panic!("{line}: {} {text}", ran.stderr));
            assert_eq!(value["schema"], format!("mahala/{schema}"), "{line}");
            assert_eq!(value["schema_version"], 1, "{line}");
            paths(&value, "", &mut printed);
        }
        printed.retain(|path| !path.starts_with("schema"));
        let of_page = &documented[*schema];
        let open: Vec<&str> = of_page.iter().filter_map(|key| key.strip_suffix(".*")).collect();
        let inside = |path: &str| {
            open.iter().any(|key| {
                path == *key || path.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
            })
        };
        let strange: Vec<&String> =
            printed.iter().filter(|path| !of_page.contains(*path) && !inside(path)).collect();
        assert!(strange.is_empty(), "{schema}: printed, not documented: {strange:?}");
        let gone: Vec<&String> =
            of_page.iter().filter(|key| !printed.contains(key.strip_suffix(".*").unwrap_or(key))).collect();
        assert!(gone.is_empty(), "{schema}: documented, not printed: {gone:?}");
    }
}

#[test]
fn an_error_is_an_object_with_its_kind_message_hint_and_exit_code() {
    let place = place();
    place.write("text.csv", "a,label\nx,1\n");
    place.write("one.csv", "a,label\n1,x\n2,x\n3,x\n");
    for (line, kind, code) in [
        ("fit iris.csv --label label --json", "usage", 2),
        ("predict --jsn --json", "usage", 2),
        ("evaluate iris.csv --label label --runs many --json", "usage", 2),
        ("fit iris.csv --label label --method itml --lambda 1 -o x.st --json", "options", 1),
        ("inspect nowhere --json", "input", 1),
        ("evaluate text.csv --label label --json", "input", 1),
        ("predict calibrated.st nowhere.csv --json", "input", 1),
        ("fit iris.csv --label label --method gmml --t 0.5 -o nowhere/x.st --json", "output", 1),
        ("fit one.csv --label label --method gmml -o x.st --json", "learning", 1),
    ] {
        let ran = place.run(line);
        assert_eq!((ran.code, &*ran.stdout), (code, ""), "{line}: {}", ran.stderr);
        let value: Value =
            serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{line}: {}", ran.stderr));
        let error = &value["error"];
        assert_eq!((&error["kind"], &error["exit_code"]), (&kind.into(), &code.into()), "{line}: {error}");
        let plain = place.run(&line.replace(" --json", "")).stderr;
        let message = error["message"].as_str().expect("a message");
        let first = message.lines().next().unwrap_or_default();
        assert!(plain.contains(first) && !message.contains("hint:"), "{line}: {message}\n{plain}");
        if let Some(hint) = error["hint"].as_str() {
            assert!(plain.contains(hint.lines().next().unwrap_or_default()), "{line}: {hint}");
        }
    }
    let hint = "mahala fit";
    let value: Value = serde_json::from_str(&place.run("inspect nowhere --json").stderr).expect("JSON");
    assert!(value["error"]["hint"].as_str().is_some_and(|text| text.contains(hint)), "{value}");
    // Help is no error.
    assert!(place.ok("fit --json --help").stdout.contains("Usage: mahala fit"));
}

#[test]
fn rows_and_json_do_not_share_standard_output() {
    let place = place();
    for command in ["neighbors", "transform"] {
        let ran = place.run(&format!("{command} calibrated.st iris.csv --json"));
        assert!(ran.code == 1 && ran.stderr.contains("cannot both go to standard output"), "{}", ran.stderr);
    }
    let rows = place.ok("predict calibrated.st iris.csv").stdout;
    let json = place.json("predict calibrated.st iris.csv --json -o out.csv");
    assert_eq!((place.text("out.csv"), &json["output"]), (rows, &"out.csv".into()));
}
