//! The automatic mode with kernels allowed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{gaussian, wrong};
use mahala::data::Random;
use mahala::gmml::FitOptions;
use mahala::learner::{Training, learn_standardized};
use mahala::progress::Stop;
use mahala::progress::silent;
use mahala::{Auto, AutoFit, Dataset, Error, Labels, Metric, Model, Rows};
use mahala_baselines::named;
use serde_json::json;
use std::ops::ControlFlow;

fn with_kernels() -> Auto {
    Auto { kernels: true, ..Auto::default() }
}

fn fit(auto: &Auto, data: &Dataset) -> mahala::Result<AutoFit> {
    auto.fit(data)
}

/// Those near the middle and those around them, in six dimensions: no linear map brings either together.
fn shells(n: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let row: Vec<f64> = (0..6).map(|_| gaussian(&mut random)).collect();
        let square: f64 = row.iter().map(|x| x * x).sum();
        // The median of a chi-squared distribution of six degrees is 5.35.
        labels.push(if square < 5.35 { "inner" } else { "outer" });
        values.extend(row);
    }
    Dataset::new(Rows::new(values, 6).unwrap(), Labels::new(labels)).unwrap()
}

/// Two clouds side by side, a share of them with the other's label.
fn clouds(sizes: [usize; 2], share: f64, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (class, size) in sizes.into_iter().enumerate() {
        for _ in 0..size {
            values.push(2.5 * class as f64 + gaussian(&mut random));
            values.extend((1..4).map(|j| f64::from(j) * gaussian(&mut random)));
            let wrong = usize::from(random.uniform() < share);
            labels.push(["left", "right"][class ^ wrong]);
        }
    }
    Dataset::new(Rows::new(values, 4).unwrap(), Labels::new(labels)).unwrap()
}

fn model(fit: AutoFit) -> Model {
    Model { kernel: fit.kernel.map(|kernel| kernel.1), ..Model::new(fit.metric) }
}

#[test]
fn a_kernel_is_chosen_where_no_linear_map_will_do() {
    let (train, test) = (shells(300, 1), shells(400, 2));
    let chosen = fit(&with_kernels(), &train).unwrap();
    let (kernel, map) = chosen.kernel.clone().unwrap();
    // Each fold has four fifths of the rows; the metric is learned with all.
    assert_eq!((kernel.landmarks, map.landmarks().unwrap().len()), (300, 300));
    assert!(chosen.reason.contains("without a kernel"), "{}", chosen.reason);
    assert!(chosen.trials.iter().any(|trial| trial.kernel.is_some_and(|tried| tried != kernel)));
    let linear = model(fit(&Auto::default(), &train).unwrap());
    let (ours, theirs) = (wrong(&model(chosen), &train, &test), wrong(&linear, &train, &test));
    assert!(3 * ours < 2 * theirs, "{ours} against {theirs} of 400");
}

#[test]
fn a_line_is_not_bent() {
    let data = clouds([100, 100], 0.0, 3);
    let (with, without) = (fit(&with_kernels(), &data).unwrap(), fit(&Auto::default(), &data).unwrap());
    assert_eq!(with.kernel, None);
    assert!(with.reason.contains("with the best kernel"), "{}", with.reason);
    assert_eq!((with.metric, with.recipes), (without.metric, without.recipes));
}

#[test]
fn noise_in_labels_and_rare_classes_leave_it_no_worse_than_the_plain_distance() {
    for (name, sizes, share) in [("noise", [120, 120], 0.2), ("rare", [500, 10], 0.0)] {
        let (mut ours, mut plain) = (0, 0);
        for seed in 0..2 {
            let (train, test) = (clouds(sizes, share, 20 + seed), clouds(sizes, 0.0, 40 + seed));
            ours += wrong(&model(fit(&with_kernels(), &train).unwrap()), &train, &test);
            plain += wrong(&Model::new(Metric::euclidean(4)), &train, &test);
        }
        assert!(ours <= plain, "{name}: {ours} against {plain}");
    }
}

#[test]
fn the_choice_is_the_same_with_any_number_of_threads() {
    let data = shells(150, 4);
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(&with_kernels(), &data).unwrap())
    };
    let (one, five) = (of(1), of(5));
    assert!(one.kernel.is_some());
    assert_eq!((one.metric, one.kernel, one.trials), (five.metric, five.kernel, five.trials));
}

#[test]
fn families_budget_and_orders_are_obeyed() {
    let data = shells(200, 5);
    let families = Labels::new((0..200).map(|i| (i % 10).to_string()));
    let grouped = with_kernels().fit_with(&data, &FitOptions::grouped(&families), &mut silent).unwrap();
    assert_eq!(grouped.folds, 8);
    assert!(grouped.kernel.is_some() && grouped.cost <= 20.0, "{}", grouped.cost);
    let narrow = fit(&Auto { budget: 2.0, ..with_kernels() }, &shells(600, 6)).unwrap();
    assert!(narrow.cost <= 2.0, "{}", narrow.cost);
    // Kernels come last: an order to stop at the end stops them.
    let data = shells(100, 7);
    let mut last = 0;
    with_kernels()
        .fit_with(&data, &FitOptions::default(), &mut |step| {
            last = step.done;
            ControlFlow::Continue(())
        })
        .unwrap();
    let stopped = with_kernels().fit_with(&data, &FitOptions::default(), &mut |step| {
        if step.done < last { ControlFlow::Continue(()) } else { ControlFlow::Break(Stop::Cancelled) }
    });
    assert!(matches!(stopped, Err(Error::Cancelled)), "at {last}");
}

#[test]
fn what_was_chosen_on_some_rows_is_learned_on_all() {
    let auto = Auto { selection_rows: 120, ..with_kernels() };
    let chosen = fit(&auto, &shells(1000, 10)).unwrap();
    let (kernel, map) = chosen.kernel.clone().unwrap();
    assert_eq!((chosen.rows, kernel.landmarks, map.landmarks().unwrap().len()), (120, 1000, 1000));
    let z = model(chosen).transform(shells(500, 11).rows()).unwrap();
    assert_eq!(z.len(), 500);
}

#[test]
fn tiny_equal_and_extreme_rows_are_survived() {
    let alternating = |n: usize| Labels::new((0..n).map(|i| ["a", "b"][i % 2]));
    let equal = Dataset::new(Rows::new(vec![1.0; 40], 2).unwrap(), alternating(20)).unwrap();
    assert!(matches!(
        fit(&with_kernels(), &equal),
        Err(Error::NoUsableFold { .. } | Error::AllConstant { .. })
    ));
    for unit in [1e-150, 1e150] {
        let data = shells(60, 7);
        let rows = Rows::new(data.rows().values().iter().map(|x| x * unit).collect(), 6).unwrap();
        let scaled = Dataset::new(rows, data.labels().clone()).unwrap();
        let fit = fit(&with_kernels(), &scaled);
        let z = fit.and_then(|fit| model(fit).transform(scaled.rows()));
        assert!(z.is_ok(), "{unit:e}: {z:?}");
    }
    // Duplicates: the kernel among landmarks is singular.
    let rows = Rows::new((0..240).map(|i| f64::from((i * i) % 5)).collect(), 2).unwrap();
    assert!(fit(&with_kernels(), &Dataset::new(rows, alternating(120)).unwrap()).is_ok());
    let constant = Rows::new((0..120).flat_map(|i| [f64::from(i % 7), 4.0]).collect(), 2).unwrap();
    assert!(fit(&with_kernels(), &Dataset::new(constant, alternating(120)).unwrap()).is_ok());
}

#[test]
fn as_a_method_it_has_a_name_and_its_model_comes_back_from_a_file() {
    let method = named("auto-kernel", json!({"seed": 3})).unwrap();
    assert_eq!((method.name(), method.parameters()["kernels"].as_bool()), ("auto-kernel", Some(true)));
    assert!(named("auto-kernel", json!({"sead": 3})).is_err());
    // What is said is done, not silently undone.
    assert_eq!(named("auto-kernel", json!({"kernels": false})).unwrap().name(), "auto");
    let data = shells(150, 8);
    let go = &mut silent;
    let learned = method.learn(&Training::Labelled(&data), go).unwrap();
    assert!(learned.kernel.is_some());
    let z = learned.transform(data.rows()).unwrap();
    let references = Some((data.rows(), data.labels()));
    let model = learned.into_model(&*method, false, Vec::new(), references, None).unwrap();
    assert_eq!(model.references.as_ref().unwrap().0, z);
    let back = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.transform(data.rows()).unwrap(), z);
}

#[test]
fn standardised_columns_make_units_irrelevant() {
    let plain = shells(150, 9);
    let values = plain.rows().values().iter().enumerate();
    let values: Vec<f64> = values.map(|(i, x)| x * [8.0, 0.25, 1024.0][i % 3]).collect();
    let scaled = Dataset::new(Rows::new(values, 6).unwrap(), plain.labels().clone()).unwrap();
    let of = |data: &Dataset| {
        let learned = learn_standardized(&with_kernels(), &Training::Labelled(data), &mut silent).unwrap();
        assert!(learned.kernel.is_some());
        learned.transform(data.rows()).unwrap()
    };
    assert_eq!(of(&plain), of(&scaled));
}
