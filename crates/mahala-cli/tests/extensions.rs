//! Beyond the paper: weights and balance, probabilities, graded pairs and sets of labels, local metrics.

mod common;

use common::{Place, cells, numbers};
use mahala::metric::Calibration;
use std::fmt::Write as _;

/// The irises with a column of weights, 0 to 3, as `weighted.csv`, and each row that often as `repeated.csv`.
fn weighted() -> Place {
    let place = Place::new();
    let iris = place.text("iris.csv");
    let mut lines = iris.lines();
    let header = lines.next().expect("a header");
    let (mut weights, mut repeated) = (format!("count,{header}\n"), format!("{header}\n"));
    for (i, line) in lines.enumerate() {
        let times = i * 7 % 4;
        writeln!(weights, "{times},{line}").expect("memory");
        (0..times).for_each(|_| writeln!(repeated, "{line}").expect("memory"));
    }
    place.write("weighted.csv", weights);
    place.write("repeated.csv", repeated);
    place
}

#[test]
fn a_weight_counts_as_that_many_rows() {
    let place = weighted();
    place.ok("fit weighted.csv --label label --method gmml --weights count --t 0.4 -o weighted.st");
    place.ok("fit repeated.csv --label label --method gmml --t 0.4 -o repeated.st");
    let (one, other) = (place.model("weighted.st"), place.model("repeated.st"));
    assert_eq!(one.feature_names, other.feature_names);
    let (one, other) = (one.metric.matrix().expect("A"), other.metric.matrix().expect("A"));
    let difference = (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).map(|c| (one[c] - other[c]).abs());
    assert!(difference.fold(0.0, f64::max) < 1e-10 * one.norm_max());
    // The column is not looked for in new rows.
    place.ok("predict weighted.st iris.csv --label label");
}

#[test]
fn weights_are_checked() {
    let place = weighted();
    place.refuses(
        "fit weighted.csv --label label --method gmml --weights mass -o m.st",
        "error: weighted.csv: there is no column 'mass'; the columns are count, sepal_length_(cm), sepal_width_(cm), \
         petal_length_(cm), petal_width_(cm)",
    );
    place.refuses(
        "fit weighted.csv --label label --method gmml --weights count --standardize -o m.st",
        "error: --weights and --standardize cannot be combined\nhint: leave one of them out",
    );
    place.write("negative.csv", place.text("weighted.csv").replacen("\n1,", "\n-1,", 1));
    let ran = place.run("fit negative.csv --label label --method gmml --weights count -o m.st");
    assert!(ran.stderr.contains("is -1; weights must be finite and not negative"), "{}", ran.stderr);
    assert_eq!(place.names().iter().filter(|name| name.contains(".st")).count(), 0);
}

#[test]
fn balance_changes_the_metric_of_unequal_classes_alone() {
    let place = Place::new();
    let iris = place.text("iris.csv");
    let fewer: Vec<&str> = iris.lines().take(112).collect();
    place.write("fewer.csv", fewer.join("\n"));
    for (file, equal) in [("iris.csv", true), ("fewer.csv", false)] {
        let matrix = |balance: &str| {
            place.ok(&format!("fit {file} --label label --method gmml --t 0.5 --balance {balance} -o m.st"));
            place.model("m.st").metric.matrix().expect("A")
        };
        let (plain, classes, pairs) = (matrix("none"), matrix("classes"), matrix("class-pairs"));
        let near = (plain[(0, 0)] - classes[(0, 0)]).abs() < 1e-9 * plain[(0, 0)];
        assert_eq!(near, equal, "{file}");
        assert!((pairs[(0, 0)] / classes[(0, 0)] - 1.0).abs() > 1e-4);
    }
    let ran = place.ok("fit fewer.csv --label label --method gmml --balance classes -o m.st");
    assert!(ran.stderr.contains("(mean error of the classes "), "{}", ran.stderr);
    assert!(place.ok("inspect m.st").stdout.contains("balance  classes\n"));
    place.ok("tune fewer.csv --label label --balance class-pairs");
    place.refuses(
        "fit fewer.csv --label label --method gmml --pairs sampled --balance classes -o m.st",
        "error: --balance needs all pairs\nhint: leave --pairs sampled out",
    );
}

/// Pairs all over the irises, one class apart or none.
fn pairs(mark: impl Fn(usize, usize) -> String) -> String {
    let mut text = String::new();
    for i in 0..400usize {
        let (first, second) = (1 + (i * 37) % 150, 1 + (i * i * 59 + 11) % 150);
        writeln!(text, "{first},{second},{}", mark((first - 1) / 50, (second - 1) / 50)).expect("memory");
    }
    text
}

#[test]
fn probabilities_come_from_held_out_pairs_and_stay_with_the_model() {
    let place = Place::new();
    let marked = pairs(|a, b| u8::from(a == b).to_string());
    place.write("pairs.csv", format!("first,second,similar\n{marked}"));
    for method in ["platt", "isotonic"] {
        place.ok(&format!(
            "fit iris.csv --label label --method gmml --pairs pairs.csv --calibrate {method} -o m.st"
        ));
        let model = place.model("m.st");
        let calibration = model.calibration.expect("a calibration");
        let ran = place.ok("pairs m.st iris.csv --pairs pairs.csv --probabilities --ignore label");
        assert_eq!(cells(&ran.stdout)[0], ["first", "second", "distance", "decision", "probability"]);
        for row in &cells(&ran.stdout)[1..] {
            let (distance, p): (f64, f64) = (row[2].parse().expect("x"), row[4].parse().expect("p"));
            assert!(p == calibration.probability(distance) && (0.0..=1.0).contains(&p));
        }
        let json =
            place.json("pairs m.st iris.csv --pairs pairs.csv --probabilities --json --each --ignore label");
        assert_eq!(json["probabilities"].as_array().map(Vec::len), Some(400));
        assert!(place.ok("inspect m.st").stdout.contains("probabilities  "));
    }
    // From labels, too; and the threshold is another than that of the training pairs.
    place.ok("fit wine.csv --label label --method gmml --calibrate platt -o held.st");
    place.ok("fit wine.csv --label label --method gmml -o plain.st");
    let (held, plain) = (place.model("held.st"), place.model("plain.st"));
    assert!(matches!(held.calibration, Some(Calibration::Platt { a, .. }) if a > 0.0));
    assert!(held.metric == plain.metric && held.threshold != plain.threshold);
    place.refuses(
        "pairs plain.st wine.csv --pairs pairs.csv --probabilities",
        "error: --probabilities: the model has none\nhint: fit it with --calibrate platt, or --calibrate isotonic",
    );
}

#[test]
fn pairs_may_be_graded() {
    let place = Place::new();
    // Zero and one are the plain marks.
    place
        .write("marked.csv", format!("first,second,similar\n{}", pairs(|a, b| u8::from(a == b).to_string())));
    let ends = pairs(|a, b| if a == b { "1.0" } else { "0" }.to_owned());
    place.write("ends.csv", format!("first,second,similarity\n{ends}"));
    place.ok("fit iris.csv --label label --method gmml --pairs marked.csv -o marked.st");
    place.ok("fit iris.csv --label label --method gmml --pairs ends.csv -o ends.st");
    assert!(place.read("marked.st") == place.read("ends.st"));
    // By degrees: neighbouring classes are alike by 0.4.
    let graded = pairs(|a, b| ["1", "0.4", "0"][a.abs_diff(b)].to_owned());
    place.write("graded.csv", format!("first,second,similarity\n{graded}"));
    place.ok("fit iris.csv --label label --method gmml --pairs graded.csv -o graded.st");
    assert!(place.model("graded.st").metric != place.model("marked.st").metric);
    // Every pair is written once.
    let ran = place.ok("pairs graded.st iris.csv --pairs graded.csv --ignore label");
    assert_eq!(ran.stdout.lines().count(), 401);
    let json = place.json("pairs graded.st iris.csv --pairs graded.csv --ignore label --json --each");
    assert_eq!((json["pairs"].as_u64(), json["distances"].as_array().map(Vec::len)), (Some(400), Some(400)));
    assert!(json["auc"].as_f64().expect("auc") > 0.7);
    place.write("p.csv", "first,second,similarity\n1,2,1.5\n");
    place.refuses(
        "fit iris.csv --label label --method gmml --pairs p.csv -o m.st",
        "error: p.csv, line 2: '1.5' is not a similarity; it must be a number from 0 (different) to 1 (the same)",
    );
    place.write("p.csv", "first,second,similarity,similar\n1,2,1,1\n");
    place.refuses(
        "fit iris.csv --label label --method gmml --pairs p.csv -o m.st",
        "error: p.csv: it has both a column 'similar' and a column 'similarity'; one must go",
    );
}

#[test]
fn rows_may_have_several_labels() {
    let place = Place::new();
    let mut text = String::from("x,y,noise,tags\n");
    for i in 0..120u32 {
        let tags = ["red", "red; round", "round", ""][(i % 4) as usize];
        let (red, round) =
            (f64::from(u8::from(tags.contains("red"))), f64::from(u8::from(tags.contains("ound"))));
        let wobble = |k: u32| f64::from((i * k) % 17) / 17.0;
        let tags = if tags.is_empty() { "square" } else { tags };
        writeln!(text, "{},{},{},{tags}", red + 0.3 * wobble(5), round + 0.3 * wobble(7), 9.0 * wobble(3))
            .expect("memory");
    }
    place.write("posts.csv", text);
    let fit = |more: &str| {
        let line = format!("fit posts.csv --label tags --method gmml -o m.st --multilabel ; {more}");
        place.ok(&line);
        place.model("m.st")
    };
    let model = fit("");
    let a = model.metric.matrix().expect("A");
    assert!(a[(0, 0)] > 20.0 * a[(2, 2)] && a[(1, 1)] > 20.0 * a[(2, 2)]);
    assert_eq!(
        (model.params["multilabel"].as_str(), model.params["pairs"].as_str()),
        (Some(";"), Some("given"))
    );
    // The draw is the seed's, within the budget.
    let drawn = |seed: u32| fit(&format!("--pair-budget 500 --seed {seed}")).metric;
    assert!(drawn(1) == drawn(1) && drawn(1) != drawn(2));
    assert!(fit("--calibrate isotonic").calibration.is_some());
    place.refuses(
        "fit posts.csv --label tags --method gmml --multilabel ; --weights noise -o m.st",
        "error: --weights and --multilabel cannot be combined\nhint: leave one of them out",
    );
    place.refuses(
        "fit posts.csv --method gmml --ignore tags --multilabel ; -o m.st",
        "error: there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE",
    );
}

#[test]
fn each_class_may_have_a_metric_of_its_own() {
    let place = Place::new();
    for by in ["class", "cluster:3"] {
        let ran = place
            .ok(&format!("fit wine.csv --label label --method gmml --local {by} --standardize -o local.st"));
        assert!(ran.stderr.contains("3 local metrics: share "), "{}", ran.stderr);
        let ran = place.ok("predict local.st wine.csv --label label");
        assert!(ran.stderr.contains(" of 178 wrong"), "{}", ran.stderr);
        assert!(place.ok("inspect local.st").stdout.contains("local metrics  3, share "));
    }
    // Nothing of their own: the plain predictions.
    place.ok("fit wine.csv --label label --method gmml --local class --share 0 -o zero.st");
    place.ok("fit wine.csv --label label --method gmml -o plain.st");
    assert_eq!(place.ok("predict zero.st wine.csv").stdout, place.ok("predict plain.st wine.csv").stdout);
    place.ok("fit wine.csv --label label --method gmml --local class --share 1 -o own.st");
    let votes = |model: &str| numbers(&place.ok(&format!("predict {model} wine.csv")).stdout, 3);
    assert_ne!(votes("own.st"), votes("plain.st"));
    place.refuses(
        "predict own.st wine.csv --train wine.csv --train-label label",
        "error: this model has local metrics, which go with the rows they were learned on\nhint: leave --train out",
    );
    place.refuses(
        "fit wine.csv --label label --method gmml --local class --keep-rows never -o m.st",
        "error: --local needs the training rows in the model\nhint: leave --keep-rows never out",
    );
    place.misuse("fit wine.csv --label label --method gmml --local cluster:0 -o m.st", "cluster:8");
    place.misuse(
        "fit wine.csv --label label --method gmml --local class --share 2 -o m.st",
        "between 0 and 1",
    );
}
