//! Multi-metric LMNN: the optimum of a convex solver, laws, and the model file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{blobs, number, reference};
use mahala::learner::{Learner, Outcome, Training};
use mahala::progress::{Stop, silent};
use mahala::{Dataset, Labels, Model, Rows};
use mahala_baselines::{Hinge, Lmnn, MultiLmnn, MultiMetrics};
use std::ops::ControlFlow;

fn fit(lmnn: Lmnn, data: &Dataset) -> MultiMetrics {
    MultiLmnn { lmnn }.fit(data, &mut silent).unwrap()
}

#[test]
fn the_optimum_of_a_convex_solver_is_reached() {
    let expected = reference("multi_metric.json");
    let cells =
        expected["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap()).map(number);
    let rows = Rows::new(cells.collect(), 2).unwrap();
    let labels = Labels::new(expected["labels"].as_array().unwrap().iter().map(ToString::to_string));
    let data = Dataset::new(rows, labels).unwrap();
    let targets = number(&expected["targets"]) as usize;
    // The classic hinge has kinks, near which L-BFGS makes small steps.
    for (hinge, name, slack) in [(Hinge::Squared, "squared", 1e-4), (Hinge::Classic, "classic", 1e-2)] {
        let lmnn = Lmnn { hinge, targets, tolerance: 1e-9, max_iterations: 3000, ..Lmnn::default() };
        let learned = fit(lmnn.clone(), &data);
        let (found, optimum) = (learned.report.objective.unwrap(), number(&expected[name]));
        assert!((found / optimum - 1.0).abs() < slack, "{name}: {found}, CVXPY {optimum}");
        // Three metrics reach what one cannot.
        let one = lmnn.learn(&Training::Labelled(&data), &mut silent).unwrap().report.objective.unwrap();
        assert!(found < 0.99 * one, "{name}: {found}, one metric {one}");
    }
}

#[test]
fn classes_of_different_shapes_are_told_apart() {
    // Long in x, long in y: around one centre, which no global metric separates.
    let mut random = mahala::data::Random::new(2, 0);
    let mut cell = |width: f64| width * (random.uniform() - 0.5);
    let mut sample = |n: usize| {
        let cells =
            (0..n).flat_map(|i| if i % 2 == 0 { [cell(10.0), cell(0.4)] } else { [cell(0.4), cell(10.0)] });
        let rows = Rows::new(cells.collect(), 2).unwrap();
        Dataset::new(rows, Labels::new((0..n).map(|i| ["x", "y"][i % 2]))).unwrap()
    };
    let (train, test) = (sample(60), sample(400));
    let learned = fit(Lmnn::default(), &train);
    let wrong =
        |predicted: Vec<u32>| predicted.iter().zip(test.labels().codes()).filter(|(p, y)| p != y).count();
    let local = wrong(learned.predict(test.rows(), 3).unwrap());
    let one = Lmnn::default().learn(&Training::Labelled(&train), &mut silent).unwrap().metric;
    let knn = mahala::Knn::new(one.transform(train.rows()).unwrap()).unwrap();
    let found = knn.search(&one.transform(test.rows()).unwrap(), 3).unwrap();
    let global = wrong(found.vote(train.labels()));
    assert!(local < global, "{local} with a metric a class, {global} with one");
}

#[test]
fn the_objective_is_never_above_the_global_one_and_threads_change_no_bit() {
    let data = blobs(120, 4, 3, 3);
    let lmnn = Lmnn { max_iterations: 40, ..Lmnn::default() };
    let in_pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(lmnn.clone(), &data))
    };
    let one = in_pool(1);
    assert!(one.report.objective.unwrap() <= one.global.objective.unwrap() * (1.0 + 1e-12));
    for threads in [2, 5] {
        let other = in_pool(threads);
        assert_eq!((other.maps, other.report), (one.maps.clone(), one.report.clone()));
    }
}

#[test]
fn the_model_file_gives_the_predictions_back() {
    let data = blobs(90, 3, 3, 5);
    let learned = fit(Lmnn { max_iterations: 20, ..Lmnn::default() }, &data);
    let model = Model {
        local: Some(learned.maps.clone()),
        references: Some(learned.references.clone()),
        ..Model::new(learned.metric.clone())
    };
    let again = Model::from_bytes(&model.to_bytes()).unwrap();
    let (rows, labels) = again.references.unwrap();
    let z = again.metric.transform(data.rows()).unwrap();
    let predicted = again.local.unwrap().search(&rows, &z, 5).unwrap().vote(&labels);
    assert_eq!(predicted, learned.predict(data.rows(), 5).unwrap());
}

#[test]
fn a_stop_keeps_the_best_so_far_and_other_columns_are_refused() {
    let data = blobs(60, 3, 3, 5);
    let stopped = MultiLmnn::default().fit(&data, &mut |_| ControlFlow::Break(Stop::Cancelled)).unwrap();
    assert_eq!((stopped.report.outcome, stopped.report.iterations), (Outcome::Cancelled, 0));
    let mut calls = 0;
    let late = MultiLmnn::default()
        .fit(&data, &mut |step| {
            calls += usize::from(step.done == 1);
            if calls == 2 { ControlFlow::Break(Stop::TimeUp) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((late.report.outcome, late.report.iterations), (Outcome::TimeLimit, 1));
    assert!(late.predict(&Rows::new(vec![0.0; 4], 4).unwrap(), 1).is_err());
    assert!(MultiLmnn { lmnn: Lmnn { targets: 0, ..Lmnn::default() } }.fit(&data, &mut silent).is_err());
    assert!(MultiLmnn::default().fit(&data.subset(&[0]), &mut silent).is_err());
}
