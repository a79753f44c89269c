//! MLKR: what holds for a method that learns from targets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::data::Random;
use mahala::learner::{Learner, Outcome, Training};
use mahala::progress::{Step, Stop, silent};
use mahala::{Dataset, Error, Labels, Rows};
use mahala_baselines::{Mlkr, NAMES, named};
use serde_json::json;
use std::ops::ControlFlow;

/// The target is a function of two of four columns.
fn example(n: usize) -> (Rows, Vec<f64>) {
    let mut random = Random::new(8, 0);
    let rows = Rows::new((0..4 * n).map(|_| random.uniform()).collect(), 4).unwrap();
    let targets = (0..n).map(|i| (6.0 * rows.row(i)[0]).sin() + 2.0 * rows.row(i)[2]).collect();
    (rows, targets)
}

#[test]
fn the_error_falls_at_every_iteration_and_the_columns_that_matter_are_found() {
    let (rows, targets) = example(150);
    let mut seen = Vec::new();
    let progress = &mut |step: Step| {
        seen.extend(step.objective);
        ControlFlow::Continue(())
    };
    let learned = Mlkr::default().learn(&Training::Targets(&rows, &targets), progress).unwrap();
    assert!(seen.len() > 3 && seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
    assert_eq!(learned.report.objective, seen.last().copied());
    let a = learned.metric.diagonal();
    assert!(a[0].min(a[2]) > 5.0 * a[1].max(a[3]), "{a:?}");
}

#[test]
fn neither_threads_nor_units_change_the_metric() {
    let (rows, targets) = example(120);
    let method = Mlkr { rank: Some(2), max_iterations: 10, ..Mlkr::default() };
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| method.learn(&Training::Targets(&rows, &targets), &mut silent).unwrap().metric)
    };
    let one = in_pool(1);
    assert!([2, 5].into_iter().all(|threads| in_pool(threads) == one));
    // Powers of two are exact: columns are standardised, and targets too.
    let cells = rows.values().iter().enumerate().map(|(at, x)| x * [8.0, 0.25, 1024.0, 2.0][at % 4]);
    let scaled = Rows::new(cells.collect(), 4).unwrap();
    let larger: Vec<f64> = targets.iter().map(|y| 64.0 * y).collect();
    let other = method.learn(&Training::Targets(&scaled, &larger), &mut silent).unwrap().metric;
    assert_eq!(other.transform(&scaled).unwrap(), one.transform(&rows).unwrap());
}

#[test]
fn a_stop_and_a_limit_give_the_best_so_far() {
    let (rows, targets) = example(60);
    let training = Training::Targets(&rows, &targets);
    let stopped = Mlkr::default().learn(&training, &mut |_| ControlFlow::Break(Stop::Cancelled)).unwrap();
    assert_eq!((stopped.report.outcome, stopped.report.iterations), (Outcome::Cancelled, 1));
    let limited = Mlkr { max_iterations: 1, ..Mlkr::default() }.learn(&training, &mut silent).unwrap();
    assert_eq!((limited.report.outcome, limited.report.iterations), (Outcome::IterationLimit, 1));
}

#[test]
fn ten_thousand_rows_need_no_square_matrix() {
    let shape = mahala::footprint::Shape { rows: 10_000, columns: 10, classes: 0, pairs: 0 };
    // 10,000² numbers are 800 MB.
    assert!(8e-9 * Mlkr::default().numbers(&shape) < 0.1);
}

#[test]
fn bad_parameters_and_other_data_are_refused() {
    let (rows, targets) = example(20);
    let training = Training::Targets(&rows, &targets);
    for parameters in [json!({"rank": 0}), json!({"rank": 5}), json!({"tolerance": -1.0})] {
        let error = named("mlkr", parameters).unwrap().learn(&training, &mut silent).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. }), "{error}");
    }
    let two = Training::Targets(&rows, &targets[..2]);
    assert!(Mlkr::default().learn(&two, &mut silent).is_err());
    let data = Dataset::new(rows.clone(), Labels::new((0..20).map(|i| (i % 2).to_string()))).unwrap();
    let told = Mlkr::default().learn(&Training::Labelled(&data), &mut silent).unwrap_err().to_string();
    assert!(told.contains("mlkr, with labels") && told.contains("regression"), "{told}");
    for name in NAMES
        .into_iter()
        .filter(|name| !["mlkr", "gmml-regression", "euclidean", "covariance"].contains(name))
    {
        let error = named(name, json!({})).unwrap().learn(&training, &mut silent).unwrap_err();
        assert!(error.to_string().contains("with targets"), "{name}: {error}");
    }
}
