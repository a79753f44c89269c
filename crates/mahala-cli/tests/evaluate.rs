//! `mahala evaluate` and `mahala tune`: errors on held-out rows.

mod common;

use common::{Place, assert_well_formed};
use serde_json::Value;

/// The results without what depends on the machine.
fn timeless(mut json: Value) -> Value {
    for result in json["results"].as_array_mut().expect("results") {
        let result = result.as_object_mut().expect("an object");
        for key in ["fit_seconds", "selection_seconds"] {
            let seconds = result.remove(key).and_then(|value| value.as_f64());
            assert!(seconds.is_some_and(|seconds| seconds >= 0.0), "{key}");
        }
    }
    json
}

#[test]
fn the_json_of_halves_has_every_number() {
    let place = Place::new();
    let json =
        timeless(place.json("evaluate wine.csv --label label --runs 4 --method euclidean,gmml --json"));
    assert_eq!(json["dataset"], "wine.csv");
    assert_eq!((&json["n"], &json["d"], &json["c"]), (&178.into(), &13.into(), &3.into()));
    assert_eq!(json["protocol"], "4 runs of random halves, each tested against the other");
    let [euclidean, gmml] = &json["results"].as_array().expect("results")[..] else { panic!("{json}") };
    assert_eq!((&euclidean["method"], &gmml["method"]), (&"euclidean".into(), &"gmml".into()));
    assert_eq!((&euclidean["t_mean"], gmml["t_mean"].is_f64()), (&Value::Null, true));
    for result in [euclidean, gmml] {
        let errors: Vec<f64> = serde_json::from_value(result["errors"].clone()).expect("numbers");
        let mean = errors.iter().sum::<f64>() / 4.0;
        let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 3.0;
        let near = |key: &str, value: f64| {
            let written = result[key].as_f64().expect("a number");
            // Sums of four numbers below 100, in any order.
            assert!((written - value).abs() < 1e-10, "{key}: {written} is not {value}");
        };
        near("error_mean", mean);
        near("error_std", variance.sqrt());
        let (wrong, tested) = (result["wrong"].as_f64(), result["tested"].as_f64());
        assert_eq!(tested, Some(4.0 * 178.0));
        near("error_mean", 100.0 * wrong.expect("a count") / (4.0 * 178.0));
    }
    assert!(gmml["error_mean"].as_f64() < euclidean["error_mean"].as_f64());
}

#[test]
fn results_depend_on_the_seed_and_not_on_the_threads() {
    let place = Place::new();
    for pairs in ["all", "sampled"] {
        let evaluate = |options: &str| {
            let line = format!(
                "evaluate iris.csv --label label --runs 3 --method euclidean,gmml --pairs {pairs} --json {options}"
            );
            timeless(place.json(&line))
        };
        let one = evaluate("--threads 1 --seed 7");
        assert_eq!(one, evaluate("--threads 2 --seed 7"));
        assert_ne!(one["results"], evaluate("--seed 8")["results"]);
    }
}

#[test]
fn a_fixed_split_counts_the_errors() {
    let place = Place::new();
    let split = "evaluate wine.csv --label label --method euclidean,gmml --train-rows 1-40,60-110,131-160 --test-rows 41-59,111-130";
    let json = timeless(place.json(&format!("{split} --json")));
    assert_eq!(json["protocol"], "rows 1-40,60-110,131-160 against rows 41-59,111-130");
    for result in json["results"].as_array().expect("results") {
        assert_eq!(result["tested"], 39);
        let wrong = result["wrong"].as_u64().expect("a count");
        let text = place.ok(split).stdout;
        let row = text.lines().find(|line| line.contains(result["method"].as_str().expect("a name")));
        let cell = format!(" {wrong}/39 = {:.2} ", 100.0 * wrong as f64 / 39.0);
        assert!(row.is_some_and(|row| row.contains(&cell)), "{cell} in\n{text}");
    }
}

#[test]
fn a_fixed_split_agrees_with_fit_and_predict() {
    let place = Place::new();
    let iris = place.text("iris.csv");
    let lines: Vec<&str> = iris.lines().collect();
    let part = |keep: fn(usize) -> bool| -> String {
        let rows = lines[1..].iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, line)| *line);
        std::iter::once(lines[0]).chain(rows).collect::<Vec<_>>().join("\n")
    };
    place.write("train.csv", part(|i| i % 50 < 30));
    place.write("test.csv", part(|i| i % 50 >= 30));
    place.ok("fit train.csv --label label --method gmml -o train.st");
    let stderr = place.ok("predict train.st test.csv --label label").stderr;
    let json = place.json(
        "evaluate iris.csv --label label --method gmml --json --train-rows 1-30,51-80,101-130 \
         --test-rows 31-50,81-100,131-150",
    );
    let wrong = &json["results"][0]["wrong"];
    assert!(stderr.starts_with(&format!("{wrong} of 60 wrong")), "{wrong}: {stderr}");
    assert_eq!(json["results"][0]["t_mean"], place.model("train.st").params["t_used"]);
}

#[test]
fn folds_test_every_row_once() {
    let place = Place::new();
    let json = place.json("evaluate iris.csv --label label --test-folds 10 --json --method gmml");
    assert_eq!(json["protocol"], "10-fold cross-validation");
    assert_eq!(json["results"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["results"][0]["tested"], 150);
    assert_eq!(json["results"][0]["t"].as_array().map(Vec::len), Some(10));
}

#[test]
fn the_text_is_a_table_and_the_figure_well_formed() {
    let place = Place::new();
    let ran =
        place.ok("evaluate iris.csv --label label --test-folds 5 --method euclidean,gmml --svg bars.svg");
    assert!(ran.stderr.starts_with("wrote bars.svg: a figure, "), "{}", ran.stderr);
    assert_well_formed(&place.text("bars.svg"));
    let time = |word: &str| matches!(word, "µs" | "ms" | "s");
    let words = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let shown = words.iter().enumerate().filter(|(i, word)| {
            !time(word) && !words.get(i + 1).is_some_and(|next| time(next)) && !word.contains('─')
        });
        shown.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    };
    let text: Vec<String> = ran.stdout.lines().map(words).collect();
    insta::assert_snapshot!("evaluate_iris", text.join("\n"));
}

#[test]
fn rows_that_are_learned_on_and_tested_are_pointed_out() {
    let place = Place::new();
    let ran = place
        .ok("evaluate iris.csv --label label --method euclidean,gmml --train-rows 1-150 --test-rows 50-51");
    assert_eq!(ran.stderr, "note: 2 rows both learned on and tested: the error comes out too small\n");
}

#[test]
fn splits_that_cannot_be_are_refused() {
    let place = Place::new();
    let evaluate =
        |options: &str| format!("evaluate iris.csv --label label --method euclidean,gmml {options}");
    place.refuses(
        &evaluate("--train-rows 1-100 --test-rows 101-151"),
        "error: row 151 does not exist; the file has rows 1 to 150 (the header does not count)",
    );
    place.refuses(
        &evaluate("--train-rows 1-50 --test-rows 51-150"),
        "error: all 50 rows belong to one class ('setosa'); at least two are needed\n\
         hint: is --label the right column? Without classes, mark pairs of rows as similar or not: --pairs FILE",
    );
    place.refuses(&evaluate("-k 76"), "error: -k is 76, but only 75 rows can vote");
    place.refuses(
        &evaluate("--test-folds 151"),
        "error: cross-validation with that many folds needs at least 151 rows; 150 given",
    );
    place.misuse(&evaluate("--train-rows 1-9"), "--test-rows <ROWS>");
    place.misuse(&evaluate("--train-rows 9-1 --test-rows 10"), "9-1 runs backwards");
    place.misuse(&evaluate("--train-rows 0-9 --test-rows 10"), "'0' is not a row number (rows count from 1)");
    place.misuse(&evaluate("--test-folds 1"), "at least 2");
    place.misuse(&evaluate("--runs 0"), "at least 1");
    place.misuse(&evaluate("--method svm"), "[possible values: euclidean, covariance, gmml");
}

#[test]
fn tune_draws_the_curve_three_ways() {
    let place = Place::new();
    let text = place.ok("tune iris.csv --label label --steps 10").stdout;
    insta::assert_snapshot!("tune_iris", text);
    let ran = place.ok("tune iris.csv --label label --steps 10 --json --svg curve.svg");
    assert!(ran.stderr.starts_with("wrote curve.svg: a figure, "), "{}", ran.stderr);
    assert_well_formed(&place.text("curve.svg"));
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&json["dataset"], &json["folds"]), (&"iris.csv".into(), &5.into()));
    let curve: Vec<(f64, f64)> = serde_json::from_value(json["curve"].clone()).expect("points");
    assert_eq!(curve.len(), 11);
    assert!(curve.iter().all(|(_, error)| (0.0..=1.0).contains(error)));
    let (t, error) = (json["t"].as_f64().expect("t"), json["error"].as_f64().expect("error"));
    assert!(
        text.ends_with(&format!("\nchosen in two steps: t = {t} with {:.2} %\n", 100.0 * error)),
        "{text}"
    );
}

#[test]
fn tune_and_fit_choose_the_same_t() {
    let place = Place::new();
    for options in ["--seed 3", "--standardize", "--pairs sampled --seed 1", "--lambda 0.5 -k 3 --folds 4"] {
        let tune = place.json(&format!("tune iris.csv --label label --steps 1 --json {options}"));
        let fit = place.json(&format!("fit iris.csv --label label --method gmml -o m.st --json {options}"));
        assert_eq!(tune["t"], fit["t"], "{options}");
    }
}

#[test]
fn tune_needs_labels() {
    let place = Place::new();
    place.refuses(
        "tune iris.csv --ignore label",
        "error: iris.csv was read without labels\nhint: name the label column with --label COLUMN",
    );
    place.refuses(
        "tune iris.csv --label label --pairs p.csv",
        "error: --pairs must be all or sampled here: the curve needs labels",
    );
    place.misuse("tune iris.csv --label label --steps 0", "0 is not in 1..=1000");
}

/// Thirty groups of six rows that are nearly alike; the class of a group is as good as chance.
fn groups_of_rows() -> String {
    let mut text = String::from("a,b,y,who\n");
    for group in 0..30u32 {
        let (a, b) = ((group * 37) % 101, (group * 53) % 97);
        for row in 0..6 {
            text += &format!("{a}.{row},{b}.{row},{},g{group}\n", (group * group + group / 3) % 2);
        }
    }
    text
}

#[test]
fn no_group_is_both_learned_on_and_tested() {
    let place = Place::new();
    place.write("g.csv", groups_of_rows());
    // Of those that choose something and of those that do not.
    let methods = "euclidean,gmml,itml,auto,lmnn";
    for protocol in ["--runs 2", "--test-folds 3"] {
        let line = format!("evaluate g.csv --label y -k 1 {protocol} --method {methods} --json");
        let alone = place.json(&format!("{line} --ignore who"));
        let grouped = place.json(&format!("{line} --groups who"));
        let of = |json: &Value| json["results"].as_array().expect("results").clone();
        for (alone, grouped) in of(&alone).into_iter().zip(of(&grouped)) {
            let error = |result: &Value| result["error_mean"].as_f64().expect("a number");
            assert!(error(&alone) < 15.0, "{alone}");
            assert!(error(&grouped) > 30.0, "{grouped}");
        }
        let said = grouped["protocol"].as_str().expect("text");
        assert!(said.ends_with("; groups are kept whole"), "{said}");
    }
}

#[test]
fn a_split_of_ones_own_must_keep_groups_whole_too() {
    let place = Place::new();
    place.write("g.csv", groups_of_rows());
    let split = "evaluate g.csv --label y --groups who --method euclidean";
    place.ok(&format!("{split} --train-rows 1-60 --test-rows 61-180"));
    let torn = place.run(&format!("{split} --train-rows 1-63 --test-rows 64-180"));
    assert!(torn.stderr.contains("group 'g10' is in --train-rows and in --test-rows"), "{}", torn.stderr);
    let few = place.run(&format!("{split} --test-folds 31"));
    assert!(few.stderr.contains("--groups names 30 groups, too few for 31 folds"), "{}", few.stderr);
}

#[test]
fn groups_are_used_by_fit_or_refused() {
    let place = Place::new();
    place.write("g.csv", groups_of_rows());
    let least = |options: &str| {
        let fit = place.json(&format!("fit g.csv --label y -k 1 --method gmml {options} -o m.st --json"));
        let curve = fit["diagnostics"]["selection"]["curve"].as_array().cloned().unwrap_or_default();
        curve.iter().filter_map(|point| point[1].as_f64()).fold(f64::INFINITY, f64::min)
    };
    assert!(least("--ignore who") < 0.15 && least("--groups who").clamp(0.3, 1.0) == least("--groups who"));
    place.ok("fit g.csv --label y --groups who --method itml --set gamma=auto -o m.st");
    place.ok("fit g.csv --label y --groups who --method recipe -o m.st");
    for refused in ["--method gmml --t 0.5", "--method itml", "--method nca", "--method euclidean"] {
        let run = place.run(&format!("fit g.csv --label y --groups who {refused} -o m.st"));
        assert!(run.stderr.starts_with("error: --groups has no effect "), "{refused}: {}", run.stderr);
    }
    for refused in ["--local class", "--kernel rbf", "--calibrate platt", "--weights a", "--stream"] {
        let run = place.run(&format!("fit g.csv --label y --groups who --method gmml {refused} -o m.st"));
        let reason = if refused == "--stream" { "needs all rows at once" } else { "cannot be combined" };
        assert!(run.stderr.contains("error: --groups ") && run.stderr.contains(reason), "{}", run.stderr);
    }
}
