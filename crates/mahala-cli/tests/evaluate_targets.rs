//! `mahala evaluate` covers what `mahala fit` can do: kernels, local metrics, weights, several labels, pairs, tuples, chunks,
//! groups; and it judges a model.

mod common;

use common::Place;
use serde_json::Value;
use std::fmt::Write as _;

/// A ring around a disc: no linear metric tells them apart as well as a kernel does. Columns a, b, noise, weight, who, y.
fn rings() -> String {
    let mut text = String::from("a,b,noise,weight,who,y\n");
    for i in 0..120u32 {
        let angle = f64::from(i) * 2.399_963;
        let radius = if i.is_multiple_of(2) { 1.0 } else { 3.0 };
        let noise = f64::from((i * 7919) % 101) / 10.0;
        let (a, b) = (radius * angle.cos(), radius * angle.sin());
        writeln!(text, "{a:.4},{b:.4},{noise},{},{},{}", 1 + i % 3, i / 4, i % 2).expect("memory");
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    place.write("rings.csv", rings());
    let mut pairs = String::from("first,second,similar\n");
    let mut triplets = String::from("anchor,near,far\n");
    let mut quadruplets = String::from("a,b,c,d\n");
    for i in 1..=110u32 {
        writeln!(pairs, "{i},{},1\n{i},{},0", i + 2, i + 1).expect("memory");
        writeln!(triplets, "{i},{},{}", i + 2, i + 1).expect("memory");
        writeln!(quadruplets, "{i},{},{},{}", i + 2, i, i + 1).expect("memory");
    }
    place.write("pairs.csv", pairs);
    place.write("triplets.csv", triplets);
    place.write("quadruplets.csv", quadruplets);
    place
}

fn results(json: &Value) -> Vec<(String, f64)> {
    let one = |result: &Value| {
        (
            result["name"].as_str().expect("a name").to_owned(),
            result["error_mean"].as_f64().expect("an error"),
        )
    };
    json["results"].as_array().expect("results").iter().map(one).collect()
}

const ROWS: &str = "evaluate rings.csv --label y --ignore who --runs 4 --json";

#[test]
fn a_kernel_is_learned_and_tested_in_its_feature_space() {
    let place = place();
    let json = place.json(&format!(
        "{ROWS} --ignore weight --method euclidean,gmml --kernel rbf --gamma 0.5 --shrinkage 0.1"
    ));
    let errors = results(&json);
    assert_eq!(errors[1].0, "gmml, rbf kernel");
    let plain = place.json(&format!("{ROWS} --ignore weight --method gmml --shrinkage 0.1"));
    assert_ne!(errors[1].1, results(&plain)[0].1);
    // Fixed folds: the error is that of fit and predict on the same rows.
    let split = "--ignore who --ignore weight --method gmml --kernel rbf --gamma 0.5";
    let json = place
        .json(&format!("evaluate rings.csv --label y {split} --train-rows 1-80 --test-rows 81-120 --json"));
    let lines: Vec<String> = rings().lines().map(str::to_owned).collect();
    place.write("train.csv", lines[..81].join("\n"));
    place.write("test.csv", [&lines[..1], &lines[81..]].concat().join("\n"));
    place.ok(&format!("fit train.csv --label y {split} -o m.st"));
    let ran = place.ok("predict m.st test.csv --label y");
    let wrong = &json["results"][0]["wrong"];
    assert!(ran.stderr.contains(&format!("{wrong} of 40 wrong")), "{wrong}: {}", ran.stderr);
}

#[test]
fn local_metrics_and_weights_are_what_fit_learns() {
    let place = place();
    let lines: Vec<String> = rings().lines().map(str::to_owned).collect();
    place.write("train.csv", lines[..81].join("\n"));
    place.write("test.csv", [&lines[..1], &lines[81..]].concat().join("\n"));
    for (options, fitted) in
        [("--ignore weight --local class --share 0.5", "gmml, local by class"), ("--weights weight", "gmml")]
    {
        let options = format!("--label y --ignore who --method gmml {options}");
        let json =
            place.json(&format!("evaluate rings.csv {options} --train-rows 1-80 --test-rows 81-120 --json"));
        assert_eq!(json["results"][0]["name"], fitted);
        place.ok(&format!("fit train.csv {options} -o m.st"));
        let predicted = place.ok("predict m.st test.csv").stdout;
        let truth = lines[81..].iter().map(|line| line.rsplit(',').next().expect("a class"));
        let weights = lines[81..]
            .iter()
            .map(|line| line.split(',').nth(3).expect("a weight").parse::<f64>().expect("1"));
        let wrong: f64 = predicted
            .lines()
            .skip(1)
            .zip(truth.zip(weights))
            .filter(|(line, (truth, _))| line.split(',').nth(1) != Some(truth))
            .map(|(_, (_, weight))| if options.contains("--weights") { weight } else { 1.0 })
            .sum();
        assert_eq!(json["results"][0]["wrong"].as_f64(), Some(wrong), "{options}");
    }
}

#[test]
fn pairs_are_held_out_and_ranked() {
    let place = place();
    let json = place.json("evaluate rings.csv --pairs pairs.csv --ignore who --ignore y --runs 3 --json");
    assert_eq!(json["pairs"], 220);
    assert_eq!(json["measure"], "1 - area under the ROC curve");
    let names: Vec<String> = results(&json).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["euclidean", "gmml"]);
    for result in json["results"].as_array().expect("results") {
        let (auc, error) = (result["auc_mean"].as_f64().unwrap(), result["error_mean"].as_f64().unwrap());
        assert!((100.0 * (1.0 - auc) - error).abs() < 1e-9 && auc > 0.4, "{result}");
        assert!((0.0..=100.0).contains(&result["error_at_threshold_mean"].as_f64().unwrap()));
    }
    assert!(json["verdict"]["sentence"].as_str().is_some_and(|text| text.starts_with("Learning ")));
    let text = place.ok("evaluate rings.csv --pairs pairs.csv --ignore who --ignore y --runs 2").stdout;
    assert!(text.contains("220 pairs") && text.contains("AUC"), "{text}");
    // Groups: no row of a test pair was in a pair learned on.
    let grouped = place.json("evaluate rings.csv --pairs pairs.csv --groups who --ignore y --runs 2 --json");
    assert!(grouped["results"][0]["tested"].as_f64() < json["results"][0]["tested"].as_f64());
    let refused = place.run("evaluate rings.csv --pairs pairs.csv --ignore who --ignore y --method lmnn");
    assert!(refused.stderr.contains("lmnn does not learn from pairs"), "{}", refused.stderr);
}

#[test]
fn tuples_are_tested_by_their_order_and_chunks_by_labels() {
    let place = place();
    for (option, noun) in
        [("--triplets triplets.csv", "triplets"), ("--quadruplets quadruplets.csv", "quadruplets")]
    {
        let json =
            place.json(&format!("evaluate rings.csv {option} --ignore who --ignore y --runs 2 --json"));
        assert_eq!((&json[noun], &json["measure"]), (&110.into(), &"tuples in wrong order".into()));
        assert_eq!(json["results"][0]["tested"], 220);
    }
    let json = place.json("evaluate rings.csv --label y --chunks who --runs 2 --json");
    let names: Vec<String> = results(&json).into_iter().map(|one| one.0).collect();
    assert_eq!(names, ["euclidean", "rca"]);
    place.refuses(
        "evaluate rings.csv --chunks who --ignore y",
        "error: --chunks is tested by labels\nhint: --label COLUMN",
    );
}

#[test]
fn rows_with_several_labels_are_tested_by_held_out_pairs() {
    let place = place();
    place.write("sets.csv", rings().replace(",0\n", ",0;2\n"));
    let line =
        "evaluate sets.csv --label y --ignore who --multilabel ; --pair-budget 400 --method euclidean,gmml";
    let json = place.json(&format!("{line} --runs 3 --json"));
    assert_eq!(json["c"], Value::Null);
    assert!(json["results"][1]["auc_mean"].as_f64().is_some_and(|auc| auc > 0.4), "{json}");
}

#[test]
fn a_model_is_judged_on_labelled_rows_beside_the_plain_distance() {
    let place = Place::new();
    let lines: Vec<String> = place.text("wine.csv").lines().map(str::to_owned).collect();
    let half = |odd: usize| {
        let rows = lines[1..].iter().enumerate().filter(|(i, _)| i % 2 == odd).map(|(_, line)| line.clone());
        [vec![lines[0].clone()], rows.collect()].concat().join("\n")
    };
    place.write("train.csv", half(0));
    place.write("test.csv", half(1));
    place.ok("fit train.csv --label label --method gmml -o m.st");
    let json = place.json("evaluate m.st test.csv --label label --json");
    assert_eq!(json["schema"], "mahala/evaluate-model");
    let (model, plain) = (&json["results"][0]["model"], &json["results"][0]["euclidean"]);
    assert!(model.as_f64() < plain.as_f64(), "{json}");
    assert_eq!(json["verdict"]["worth_it"], true);
    let predicted = place.ok("predict m.st test.csv --label label").stderr;
    let votes = &json["votes_of_the_model"];
    assert!(
        predicted.contains(&format!("{} of {} wrong", votes["wrong"], votes["tested"])),
        "{predicted}{votes}"
    );
    let text = place.ok("evaluate m.st test.csv --label label").stdout;
    assert!(text.contains("Learning is worth it on this data: the model has"), "{text}");
    place.refuses(
        "evaluate m.st test.csv --label label --runs 3",
        "error: --runs has no effect on a model that is judged\nhint: leave it out, or name the rows alone, without a model",
    );
}

#[test]
fn a_model_is_judged_on_pairs_and_tuples() {
    let place = place();
    place.ok("fit rings.csv --pairs pairs.csv --ignore who --ignore y -o m.st");
    let json = place.json("evaluate m.st rings.csv --pairs pairs.csv --json");
    let ran = place.json("pairs m.st rings.csv --pairs pairs.csv --json");
    assert_eq!(json["results"][0]["model"], ran["auc"]);
    let accuracy = ran["accuracy"].as_f64().expect("accuracy");
    assert!((1.0 - json["results"][1]["model"].as_f64().expect("an error") - accuracy).abs() < 1e-12);
    let json = place.json("evaluate m.st rings.csv --triplets triplets.csv --json");
    assert_eq!(json["results"][0]["measure"], "triplets in wrong order");
}

#[test]
fn what_only_gmml_can_do_is_compared_with_the_plain_distance_unless_methods_are_named() {
    let place = place();
    place.write("sets.csv", place.text("rings.csv").replace(",0\n", ",u;x\n").replace(",1\n", ",v;x\n"));
    for (rows, options) in [
        (ROWS, "--ignore weight --kernel rbf --gamma 0.5 --shrinkage 0.1"),
        (ROWS, "--ignore weight --local class"),
        (ROWS, "--weights weight"),
        ("evaluate sets.csv --label y --ignore who --ignore weight --runs 4 --json", "--multilabel ;"),
    ] {
        let json = place.json(&format!("{rows} {options}"));
        let errors = results(&json);
        assert_eq!(errors.len(), 2, "{options}");
        assert!(errors[0].0 == "euclidean" && errors[1].0.starts_with("gmml"), "{options}: {errors:?}");
        let named = place.json(&format!("{rows} {options} --method euclidean,gmml"));
        assert_eq!(results(&named), errors, "{options}");
    }
}

#[test]
fn a_model_is_judged_over_groups_in_a_table_with_other_columns_than_its_own() {
    let place = place();
    place
        .write("named.csv", place.text("rings.csv").replace('\n', ",text\n").replacen(",text", ",remark", 1));
    place.ok("fit rings.csv --label y --ignore who --ignore weight --method gmml --t 0.3 -o m.st");
    let with = place.json("evaluate m.st rings.csv --label y --groups who --json");
    let beside = place.json("evaluate m.st named.csv --label y --groups who --json");
    assert_eq!(with["verdict"], beside["verdict"]);
    assert_eq!(beside["verdict"]["over"], "groups", "{beside:#}");
}
