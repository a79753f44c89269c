//! `mahala methods`.

use crate::common::Place;
use serde_json::Value;

#[test]
fn every_method_that_fit_knows_is_listed_with_what_it_learns_from() {
    let place = Place::new();
    let json = place.json("methods --json");
    let names: Vec<&str> = json["methods"]
        .as_array()
        .expect("methods")
        .iter()
        .map(|one| one["name"].as_str().expect("a name"))
        .collect();
    let table = place.ok("methods").stdout;
    // Clap says which there are where a name is wrong.
    let wrong = place.run("fit iris.csv --label label --method nothing -o m.st").stderr;
    let (_, known) = wrong.split_once("[possible values: ").expect("the list");
    let known: Vec<&str> = known.split(']').next().expect("its end").split(", ").collect();
    assert_eq!(names, known);
    for name in &names {
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    place.write("pairs.csv", "first,second,similar\n1,2,1\n3,4,1\n60,110,0\n1,90,0\n5,120,0\n70,75,1\n");
    for one in json["methods"].as_array().expect("methods") {
        let name = one["name"].as_str().expect("a name");
        let listed = one["learns_from"].as_array().expect("a list").contains(&"pairs".into());
        let ran =
            place.run(&format!("fit iris.csv --ignore label --pairs pairs.csv --method {name} -o m.st"));
        assert_eq!(listed, !ran.stderr.contains("does not learn from pairs"), "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_value_outside_the_range_that_is_shown_is_refused() {
    let place = Place::new();
    let json = place.json("methods --json");
    let (mut tried, mut wrong) = (0, Vec::new());
    for method in json["methods"].as_array().expect("methods") {
        let name = method["name"].as_str().expect("a name");
        for parameter in method["parameters"].as_array().expect("parameters") {
            let (key, allowed) = (parameter["name"].as_str().expect("a key"), parameter["allowed"].as_str());
            let outside: &[&str] = match allowed.expect("what is allowed") {
                "at least 0" | "0 or above" => &["-1"],
                "at least 1" | "above 0" | "1 to the number of columns" => &["0", "-1"],
                "at least 2" => &["1"],
                "at least 4" => &["3"],
                "between 0 and 1" => &["1.5", "-0.5"],
                "above 0 and at most 1" => &["0", "1.5"],
                "true or false" => &["7"],
                _ => &[],
            };
            for value in outside {
                let set =
                    if name == "gmml" { format!("{key}={value}") } else { format!("--set {key}={value}") };
                // What else goes with it, for it to be looked at.
                let beside = match (name, key) {
                    ("lmnn", "push") => "--set hinge=classic",
                    ("rca", "chunklet_size") => "--set chunklets=5",
                    ("gmml", "--standardize") => continue,
                    _ => "",
                };
                let ran =
                    place.run(&format!("fit iris.csv --label label --method {name} {beside} {set} -o m.st"));
                tried += 1;
                if ran.code == 0 {
                    wrong.push(format!("{name} {key}={value}"));
                }
            }
        }
    }
    assert!(tried > 150 && wrong.is_empty(), "{tried} tried; taken, though outside what is shown: {wrong:?}");
}

#[test]
fn one_method_is_shown_with_its_parameters_a_line_each() {
    let place = Place::new();
    let shown = place.ok("methods lda").stdout;
    assert_eq!(
        shown,
        "lda: Linear discriminant analysis\n\
         learns from labels\n\
         minimises closed form: scatter within over between classes\n\n\
         parameters, each set by --set NAME=VALUE:\n  \
         rank       integer or null  default null  1 to the number of columns; coordinates to keep; null: one less than classes\n  \
         seed       integer          default 0     at least 0; decides all random draws\n  \
         shrinkage  number or null   default null  between 0 and 1; how far the inner matrix is shrunk; null: only where it is singular\n"
    );
    assert!(place.ok("methods euclidean").stdout.ends_with("\nno parameters\n"));
    let gmml = place.ok("methods gmml").stdout;
    assert!(
        gmml.contains("  --t ") && gmml.contains("default auto") && gmml.contains("default 20000"),
        "{gmml}"
    );
    let json = place.json("methods itml --json");
    let of: Vec<&Value> = json["methods"][0]["parameters"].as_array().expect("parameters").iter().collect();
    let gamma = of.iter().find(|one| one["name"] == "gamma").expect("gamma");
    assert_eq!((&gamma["default"], &gamma["allowed"]), (&1.0.into(), &"auto, or above 0".into()));
    place.misuse("methods itlm", "a similar value exists: 'itml'");
}
