//! Regression by neighbours under a learned metric: `fit`, `evaluate` and `predict` with labels that are numbers.

mod common;

use common::Place;
use mahala::evaluation::SquaredErrors;
use mahala::learner::{Learner, Training};
use mahala::progress::silent;
use mahala::{Knn, Model, Rows};
use mahala_baselines::{GmmlRegression, Mlkr};
use std::fmt::Write as _;

/// Rows of five columns, two of which decide the target.
fn draw(n: usize, seed: u64) -> (Vec<[f64; 5]>, Vec<f64>) {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1u64 << 53) as f64 * 1000.0).round() / 1000.0
    };
    let rows: Vec<[f64; 5]> = (0..n).map(|_| [(); 5].map(|()| uniform())).collect();
    let targets = rows.iter().map(|row| ((3.0 * row[0]).sin() + row[1] * row[1]) * 10.0).collect();
    (rows, targets)
}

fn table(rows: &[[f64; 5]], targets: &[f64]) -> String {
    let mut text = String::from("a,b,c,d,e,y\n");
    for (row, y) in rows.iter().zip(targets) {
        row.iter().for_each(|x| write!(text, "{x},").expect("memory"));
        writeln!(text, "{y}").expect("memory");
    }
    text
}

fn place() -> Place {
    let place = Place::new();
    for (name, n, seed) in [("train.csv", 240, 3), ("test.csv", 160, 4)] {
        let (rows, targets) = draw(n, seed);
        place.write(name, table(&rows, &targets));
    }
    place
}

fn rows_of(rows: &[[f64; 5]]) -> Rows {
    Rows::new(rows.concat(), 5).expect("rows")
}

/// The predictions of a file that was written.
fn predictions(text: &str) -> Vec<f64> {
    text.lines()
        .skip(1)
        .map(|line| line.split(',').next_back().expect("a cell").parse().expect("a number"))
        .collect()
}

/// What the library predicts for the test rows.
fn by_the_library(method: &dyn Learner, k: usize) -> Vec<f64> {
    let ((train, y), (test, _)) = (draw(240, 3), draw(160, 4));
    let train = rows_of(&train);
    let learned = method.learn(&Training::Targets(&train, &y), &mut silent).expect("a metric");
    let knn = Knn::new(learned.transform(&train).expect("rows")).expect("rows");
    let found = knn.search(&learned.transform(&rows_of(&test)).expect("rows"), k).expect("neighbours");
    found.mean_targets(&y).expect("targets")
}

#[test]
fn a_model_predicts_what_the_library_does_and_better_than_the_plain_distance() {
    let place = place();
    let learners: [(&str, Box<dyn Learner>); 2] =
        [("gmml-regression", Box::new(GmmlRegression::default())), ("mlkr", Box::new(Mlkr::default()))];
    let truth = draw(160, 4).1;
    place.ok("fit train.csv --label y --regression --method euclidean -o plain.st");
    let plain = place.json("predict plain.st test.csv --label y --json -o plain.csv");
    for (name, learner) in learners {
        place.ok(&format!("fit train.csv --label y --regression --method {name} -o m.st"));
        let ran = place.ok("predict m.st test.csv");
        assert_eq!(ran.stdout.lines().next(), Some("row,prediction"));
        let expected = by_the_library(&*learner, 5);
        assert_eq!(predictions(&ran.stdout), expected, "{name}");
        let told = place.json("predict m.st test.csv --label y --json -o p.csv");
        let errors = SquaredErrors::of(&truth, &expected);
        assert_eq!(told["score"]["r2"].as_f64(), errors.r_squared(), "{name}");
        assert_eq!(told["score"]["rmse"].as_f64(), Some(errors.rmse()), "{name}");
        let (r2, of_plain) = (errors.r_squared().expect("R²"), plain["score"]["r2"].as_f64().expect("R²"));
        assert!(r2 > of_plain + 0.02, "{name}: {r2} against {of_plain}");
    }
}

#[test]
fn the_default_of_a_regression_is_the_closed_form() {
    let place = place();
    place.ok("fit train.csv --label y --regression -o m.st");
    let model = place.model("m.st");
    assert_eq!(model.params["method"], "gmml-regression");
    let (z, targets) = model.targets.as_ref().expect("targets");
    assert_eq!((z.len(), targets), (240, &draw(240, 3).1));
    assert!(model.references.is_none() && model.threshold.is_none());
    let shown = place.ok("inspect m.st").stdout;
    assert!(shown.contains("numbers from ") && shown.contains("240"), "{shown}");
}

#[test]
fn a_stream_and_parquet_predict_the_same_numbers() {
    let place = place();
    place.ok("fit train.csv --label y --regression --method mlkr -k 3 -o m.st");
    let plain = place.ok("predict m.st test.csv --label y");
    let stream = place.ok("predict m.st test.csv --label y --stream");
    assert_eq!(plain.stdout, stream.stdout);
    let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    assert_eq!(last(&plain.stderr), last(&stream.stderr));
    assert!(last(&plain.stderr).starts_with("R² 0."), "{}", plain.stderr);
    assert_eq!(predictions(&plain.stdout), by_the_library(&Mlkr::default(), 3));
    place.ok("predict m.st test.csv -o p.parquet");
    place.refuses(
        "predict m.st test.csv --probabilities",
        "error: --probabilities goes with classes, and this model predicts numbers\nhint: leave it out",
    );
}

#[test]
fn rows_that_are_not_kept_are_given_again() {
    let place = place();
    place.ok("fit train.csv --label y --regression --set t=0.3 -o kept.st");
    place.ok("fit train.csv --label y --regression --set t=0.3 --keep-rows never -o bare.st");
    let ran = place.run("predict bare.st test.csv");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("holds no training rows whose targets could be averaged"), "{}", ran.stderr);
    let again = place.ok("predict bare.st test.csv --train train.csv --train-label y").stdout;
    assert_eq!(again, place.ok("predict kept.st test.csv").stdout);
}

#[test]
fn labels_in_a_file_of_their_own_are_numbers_too() {
    let place = place();
    let (rows, targets) = draw(240, 3);
    let lines: Vec<String> = targets.iter().map(f64::to_string).collect();
    place.write("y.txt", lines.join("\n") + "\n");
    let mut features = String::from("a,b,c,d,e\n");
    for row in &rows {
        features += &(row.map(|x| x.to_string()).join(",") + "\n");
    }
    place.write("x.csv", features);
    place.ok("fit x.csv --labels y.txt --regression --set t=0.3 -o file.st");
    place.ok("fit train.csv --label y --regression --set t=0.3 -o column.st");
    assert_eq!(place.model("file.st").targets, place.model("column.st").targets);
}

#[test]
fn evaluate_says_how_much_more_of_the_variance_a_metric_explains() {
    let place = place();
    let told = place.json("evaluate train.csv --label y --regression --runs 3 --json");
    let names: Vec<&str> =
        told["results"].as_array().expect("results").iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["euclidean", "gmml-regression", "mlkr"]);
    let [plain, closed, mlkr] = [0, 1, 2].map(|i| told["results"][i]["r2_mean"].as_f64().expect("R²"));
    assert!(plain < closed && plain < mlkr && mlkr < 1.0, "{plain} {closed} {mlkr}");
    let sentence = told["verdict"]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("Learning is worth it on this data: ") && sentence.contains("(R²)"),
        "{sentence}"
    );
    let text = place.ok("evaluate train.csv --label y --regression --runs 3 --method euclidean,mlkr").stdout;
    assert!(text.contains("R²") && text.contains("RMSE") && text.contains("a number each"), "{text}");
}

#[test]
fn one_split_of_evaluate_is_the_fit_and_the_predictions_of_its_sides() {
    let place = place();
    let ((mut rows, mut y), (more, of_more)) = (draw(240, 3), draw(160, 4));
    rows.extend(more);
    y.extend(of_more);
    place.write("all.csv", table(&rows, &y));
    let told = place.json(
        "evaluate all.csv --label y --regression --method euclidean,mlkr --train-rows 1-240 --test-rows 241-400 --json",
    );
    let errors = SquaredErrors::of(&y[240..], &by_the_library(&Mlkr::default(), 5));
    let of = |key: &str| told["results"][1][key].as_f64().expect("a number");
    assert!((of("r2_mean") - errors.r_squared().expect("R²")).abs() < 1e-12, "rounding of percents");
    assert_eq!(of("rmse_mean"), errors.rmse());
    // Over rows the gain is the difference of both R².
    let gain = told["verdict"]["gains"][0]["gain"].as_f64().expect("a gain");
    let r2 = |i: usize| told["results"][i]["r2_mean"].as_f64().expect("R²");
    assert!((gain - 100.0 * (r2(1) - r2(0))).abs() < 1e-9, "{gain}");
}

#[test]
fn a_model_is_judged_by_the_means_of_its_rows() {
    let place = place();
    place.ok("fit train.csv --label y --regression --method mlkr -o m.st");
    let told = place.json("evaluate m.st test.csv --label y --json");
    let errors = SquaredErrors::of(&draw(160, 4).1, &by_the_library(&Mlkr::default(), 5));
    assert_eq!(told["means_of_the_model"]["r2"].as_f64(), errors.r_squared());
    assert_eq!(told["means_of_the_model"]["rmse"].as_f64(), Some(errors.rmse()));
    let r2 = &told["results"][0];
    assert!(r2["model"].as_f64() > r2["euclidean"].as_f64(), "{r2}");
    assert!(told["verdict"]["sentence"].as_str().expect("a sentence").contains("variance"));
}

#[test]
fn what_is_no_regression_is_refused_in_words() {
    let place = place();
    place.refuses(
        "fit wine.csv --label label --method mlkr -o m.st",
        "error: mlkr predicts numbers, and the labels are taken for classes\nhint: --regression",
    );
    let ran = place.run("fit train.csv --label y --regression --method gmml -o m.st");
    assert!(ran.code == 1 && ran.stderr.contains("--regression has no effect on gmml"), "{}", ran.stderr);
    let ran = place.run("evaluate train.csv --label y --regression --method mlkr,lmnn");
    assert!(ran.code == 1 && ran.stderr.contains("--regression has no effect on lmnn"), "{}", ran.stderr);
    let ran = place.run("fit train.csv --label y --regression --weights e -o m.st");
    assert!(ran.code == 1 && ran.stderr.contains("--weights has no effect"), "{}", ran.stderr);
    place.write("text.csv", "a,y\n1,2\n2,high\n3,4\n");
    let ran = place.run("fit text.csv --label y --regression -o m.st");
    assert!(
        ran.code == 1
            && ran.stderr.contains("row 2 of text.csv has the label 'high', which is no finite number"),
        "{}",
        ran.stderr
    );
    place.write("same.csv", "a,y\n1,2\n2,2\n3,2\n4,2\n");
    let ran = place.run("evaluate same.csv --label y --regression -k 1 --runs 2 --method euclidean");
    assert!(ran.code == 1 && ran.stderr.contains("R² is not defined"), "{}", ran.stderr);
}

#[test]
fn parameters_of_a_model_ask_for_the_same_regression_again() {
    let place = place();
    place.ok("fit train.csv --label y --regression --method mlkr --set standardize=false -k 7 -o m.st");
    place.ok("fit train.csv --label y --params m.st -o again.st");
    assert_eq!(place.read("m.st"), place.read("again.st"));
}

#[test]
fn missing_cells_get_the_means_of_the_rows_learned_on() {
    let place = place();
    let (rows, targets) = draw(240, 3);
    let mut text = table(&rows, &targets);
    text = text.replacen(&format!("\n{},", rows[0][0]), "\n,", 1);
    place.write("gaps.csv", text);
    place.ok("fit gaps.csv --label y --regression --missing mean -o m.st");
    place.ok(
        "evaluate gaps.csv --label y --regression --missing mean --runs 2 --method euclidean,gmml-regression",
    );
    place.ok("predict m.st gaps.csv --label y --missing mean");
}

#[test]
fn a_damaged_list_of_targets_is_no_model() {
    let place = place();
    place.ok("fit train.csv --label y --regression --set t=0.3 -o m.st");
    let mut model = place.model("m.st");
    let (_, targets) = model.targets.as_mut().expect("targets");
    targets.pop();
    assert!(Model::from_bytes(&model.to_bytes()).is_err());
    let (_, targets) = model.targets.as_mut().expect("targets");
    targets.push(f64::NAN);
    assert!(Model::from_bytes(&model.to_bytes()).is_err());
}
