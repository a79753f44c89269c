//! GMML for regression: what it becomes for targets that are classes, and laws.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{blobs, relative_difference};
use mahala::data::Random;
use mahala::gmml::TChoice;
use mahala::learner::{Learner, Outcome, Training};
use mahala::progress::{Stop, silent};
use mahala::{Dataset, Error, Gmml, Labels, Metric, Rows};
use mahala_baselines::{GmmlRegression, named};
use serde_json::json;
use std::ops::ControlFlow;

fn learn(method: &GmmlRegression, rows: &Rows, targets: &[f64]) -> Metric {
    method.learn(&Training::Targets(rows, targets), &mut silent).unwrap().metric
}

#[test]
fn targets_far_apart_are_the_classes_of_gmml() {
    let data = blobs(90, 3, 3, 4);
    let targets: Vec<f64> = data.labels().codes().iter().map(|&code| f64::from(code)).collect();
    // The nearest two values are 1.2 standard deviations apart: k is e⁻⁷² there.
    let method = GmmlRegression { t: Some(0.3), bandwidth: 0.1, shrinkage: 0.0, ..GmmlRegression::default() };
    let found = learn(&method, data.rows(), &targets).matrix().unwrap();
    // In units of the standard deviations, where the geodesic of the sums is another than in the rows' own.
    let gmml = Gmml { t: TChoice::Fixed(0.3), standardize: true, ..Gmml::default() };
    let expected = gmml.fit(&data).unwrap().metric.matrix().unwrap();
    let factor = expected[(0, 0)] / found[(0, 0)];
    let off = relative_difference((&found * faer::Scale(factor)).as_ref(), expected.as_ref());
    // 1e-9 of the mean is added to the diagonals.
    assert!(off < 1e-6, "{off}");
}

fn example(n: usize) -> (Rows, Vec<f64>) {
    let mut random = Random::new(8, 0);
    let rows = Rows::new((0..4 * n).map(|_| random.uniform()).collect(), 4).unwrap();
    let targets = (0..n).map(|i| (6.0 * rows.row(i)[0]).sin() + 2.0 * rows.row(i)[2]).collect();
    (rows, targets)
}

#[test]
fn neither_threads_nor_units_change_the_metric() {
    let (rows, targets) = example(150);
    let method = GmmlRegression::default();
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn(&method, &rows, &targets))
    };
    let one = in_pool(1);
    assert!([2, 5].into_iter().all(|threads| in_pool(threads) == one));
    // Powers of two are exact: columns are standardised, and targets too.
    let cells = rows.values().iter().enumerate().map(|(at, x)| x * [8.0, 0.25, 1024.0, 2.0][at % 4]);
    let scaled = Rows::new(cells.collect(), 4).unwrap();
    let larger: Vec<f64> = targets.iter().map(|y| 64.0 * y).collect();
    let other = learn(&method, &scaled, &larger);
    assert_eq!(other.transform(&scaled).unwrap(), one.transform(&rows).unwrap());
    let a = one.diagonal();
    assert!(a[0].min(a[2]) > 1.5 * a[1].max(a[3]), "{a:?}");
}

#[test]
fn a_constant_column_and_more_columns_than_rows_are_survived() {
    let (rows, targets) = example(30);
    let cells = (0..30).flat_map(|i| [rows.row(i), &[3.0][..]].concat()).collect();
    let constant = learn(&GmmlRegression::default(), &Rows::new(cells, 5).unwrap(), &targets);
    assert!(constant.map().norm_max().is_finite());
    let mut random = Random::new(1, 0);
    let wide = Rows::new((0..12 * 40).map(|_| random.uniform()).collect(), 40).unwrap();
    let learned =
        learn(&GmmlRegression { shrinkage: 0.1, ..GmmlRegression::default() }, &wide, &targets[..12]);
    assert!(learned.map().norm_max().is_finite());
}

#[test]
fn parameters_out_of_range_are_refused_and_a_stop_keeps_the_best_t() {
    let (rows, targets) = example(40);
    let training = Training::Targets(&rows, &targets);
    for parameters in [
        json!({"t": 1.5}),
        json!({"bandwidth": 0.0}),
        json!({"slices": 1}),
        json!({"shrinkage": -0.1}),
        json!({"k": 0}),
        json!({"selection_rows": 3}),
    ] {
        let method = named("gmml-regression", parameters.clone()).unwrap();
        let error = method.learn(&training, &mut silent).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. }), "{parameters}: {error}");
    }
    let method = GmmlRegression::default();
    let mut calls = 0;
    let stop = &mut |_| {
        calls += 1;
        if calls < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(Stop::TimeUp) }
    };
    let report = method.learn(&training, stop).unwrap().report;
    let choice = report.choice.unwrap();
    let tried = choice["rmse"].as_array().unwrap();
    let least = tried.iter().map(|pair| pair[1].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert_eq!((report.outcome, tried.len()), (Outcome::TimeLimit, 3));
    assert!(tried.iter().any(|pair| pair[0] == choice["t"] && pair[1].as_f64() == Some(least)), "{choice}");
    let equal = method.learn(&Training::Targets(&rows, &[2.0; 40]), &mut silent).unwrap_err().to_string();
    assert!(equal.contains("all 40 targets are 2"), "{equal}");
    assert!(method.learn(&Training::Targets(&rows, &targets[..2]), &mut silent).is_err());
    let data = Dataset::new(rows.clone(), Labels::new((0..40).map(|i| (i % 2).to_string()))).unwrap();
    let told = method.learn(&Training::Labelled(&data), &mut silent).unwrap_err().to_string();
    assert!(told.contains("gmml-regression, with labels"), "{told}");
}
