//! The automatic mode and its parts: leading directions, neighbourhoods, recipes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{gaussian, repeated, wrong};
use mahala::auto::{Recipe, Round};
use mahala::data::{ColumnStatistics, Random};
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, Curve, Order, Regularization, Solution, TChoice, analytic_shrinkage};
use mahala::learner::{Learner as _, Training};
use mahala::pairs::Pairs;
use mahala::progress::{Stop, silent};
use mahala::scatter::Scatter;
use mahala::{Auto, Dataset, Error, Gmml, Labels, Mat, Metric, Model, Rows};
use std::ops::ControlFlow;

/// Classes that differ in the first two columns; the others are noise of growing width.
fn clouds(sizes: &[usize], columns: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (class, &size) in sizes.iter().enumerate() {
        for _ in 0..size {
            for j in 0..columns {
                let centre = if j < 2 { 3.0 * ((class >> j) & 1) as f64 } else { 0.0 };
                values.push(centre + gaussian(&mut random) * (1.0 + if j < 2 { 0.0 } else { j as f64 }));
            }
            labels.push(class.to_string());
        }
    }
    Dataset::new(Rows::new(values, columns).unwrap(), Labels::new(labels)).unwrap()
}

/// The same rows, a share of them with another's label.
fn mislabelled(data: &Dataset, share: f64) -> Dataset {
    let mut random = Random::new(9, 9);
    let names = data.labels().names();
    let labels = data.labels().codes().iter().map(|&code| {
        let wrong = random.uniform() < share;
        let step = 1 + random.below(names.len() - 1);
        names[(code as usize + if wrong { step } else { 0 }) % names.len()].clone()
    });
    Dataset::new(data.rows().clone(), Labels::new(labels.collect::<Vec<_>>())).unwrap()
}

#[test]
fn the_directions_of_the_pencil_diagonalise_both_sums() {
    let data = clouds(&[30, 40, 20], 5, 1);
    let (scatter, _) = Scatter::all_pairs_of(&data).unwrap();
    let pencil = Solution::of_pencil(&scatter, Regularization::None).unwrap();
    let v = pencil.directions();
    let (s, d) = (v.transpose() * scatter.s() * v, v.transpose() * scatter.d() * v);
    for i in 0..5 {
        for j in 0..5 {
            // In the sums, not in their means.
            let weights = scatter.dissimilar().weight / scatter.similar().weight;
            let (one, mu) =
                if i == j { (1.0, weights * pencil.log_eigenvalues()[i].exp()) } else { (0.0, 0.0) };
            assert!((s[(i, j)] - one).abs() < 1e-10, "S {i} {j}: {}", s[(i, j)]);
            assert!((d[(i, j)] - mu).abs() < 1e-8, "D {i} {j}: {}", d[(i, j)]);
        }
    }
    assert!(pencil.log_eigenvalues().is_sorted_by(|a, b| a >= b));
    assert_eq!(pencil.count(Components::Count(3)), Ok(3));
    assert_eq!(pencil.count(Components::Share(0.9)), Ok(2), "three classes differ in two directions");
    assert!(pencil.count(Components::Count(6)).is_err() && pencil.count(Components::Share(0.0)).is_err());
}

#[test]
fn a_recipe_of_all_pairs_is_the_plain_fit() {
    let data = clouds(&[25, 25], 4, 2);
    let fit = Gmml { t: TChoice::Fixed(0.3), ..Gmml::default() }.fit(&data).unwrap();
    let recipe = Recipe::all_pairs(0.3).fit(&data).unwrap();
    let (a, b) = (fit.metric.matrix().unwrap(), recipe.matrix().unwrap());
    let ratio = a[(0, 0)] / b[(0, 0)];
    for i in 0..4 {
        for j in 0..4 {
            assert!((a[(i, j)] - ratio * b[(i, j)]).abs() < 1e-10 * a.norm_max());
        }
    }
}

#[test]
fn s_alone_is_shrunk_to_the_identity() {
    let data = clouds(&[25, 30], 4, 5);
    let (scatter, _) = Scatter::all_pairs_of(&data).unwrap();
    let (s, d) = (scatter.s(), scatter.d());
    let mean = (0..4).map(|j| s[(j, j)]).sum::<f64>() / 4.0;
    let shrunk = Mat::from_fn(4, 4, |i, j| 0.3 * s[(i, j)] + if i == j { 0.7 * mean } else { 0.0 });
    let regularization = Regularization::ShrinkSimilarToIdentity(0.7);
    let fit = Gmml { regularization, t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&data).unwrap();
    // Half-way A solves ASA = D; A is known up to a factor, and so is D.
    let a = fit.metric.matrix().unwrap();
    let back = &a * &shrunk * &a;
    let ratio = back[(0, 0)] / d[(0, 0)];
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        assert!((back[(i, j)] - ratio * d[(i, j)]).abs() < 1e-10 * back.norm_max(), "{i} {j}");
    }
    let recipe = Recipe { shrinkage: 0.7, towards_identity: true, ..Recipe::all_pairs(0.5) };
    assert_eq!(recipe.to_string(), "S shrunk by 0.7 to the identity, all pairs at t = 0.5");
    let same = recipe.fit(&data).unwrap().matrix().unwrap();
    let ratio = same[(0, 0)] / a[(0, 0)];
    for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
        assert!((same[(i, j)] - ratio * a[(i, j)]).abs() < 1e-10 * same.norm_max(), "{i} {j}");
    }
}

#[test]
fn a_recipe_is_a_method_with_parameters_in_a_file() {
    let named = |parameters: serde_json::Value| serde_json::from_value::<Recipe>(parameters);
    let data = clouds(&[40, 40], 4, 6);
    let parameters = serde_json::json!({"t": 0.25, "rounds": [[3, 0.5]], "directions": 2, "shrinkage": 0.1});
    let method = named(parameters).unwrap();
    assert_eq!(method.parameters()["rounds"], serde_json::json!([[3, 0.5]]));
    let learned = method.learn(&Training::Labelled(&data), &mut silent).unwrap();
    let recipe = Recipe {
        shrinkage: 0.1,
        directions: Some(2),
        rounds: vec![Round { neighbors: 3, t: 0.5 }],
        ..Recipe::all_pairs(0.25)
    };
    assert_eq!(learned.metric.matrix().unwrap(), recipe.fit(&data).unwrap().matrix().unwrap());
    for wrong in [
        serde_json::json!({"rounds": [[0, 0.5]]}),
        serde_json::json!({"directions": 0}),
        serde_json::json!({"t": 2.0}),
        serde_json::json!({"rounds": [[3, -1.0]]}),
        serde_json::json!({"shrinkage": 1.5}),
        serde_json::json!({"beta": 2.0}),
        serde_json::json!({"t": null, "beta": 0.5}),
        serde_json::json!({"t": null, "shrinkage": 0.5}),
        serde_json::json!({"order": "divergence"}),
    ] {
        let method = named(wrong.clone()).unwrap();
        assert!(method.learn(&Training::Labelled(&data), &mut silent).is_err(), "{wrong}");
    }
    assert!(named(serde_json::json!({"rounds": 3})).is_err());
    assert!(named(serde_json::json!({"curve": "steep"})).is_err());
}

#[test]
fn every_recipe_of_the_family_prints_as_a_line_and_survives_a_file() {
    let data = clouds(&[40, 25, 30], 4, 6);
    let kissme = Recipe { curve: Curve::Kissme, ..Recipe::all_pairs(1.0) };
    let between = Recipe { beta: 0.1, pooled: true, ..Recipe::all_pairs(0.3) };
    let cut = Recipe { directions: Some(2), order: Order::Divergence, ..between.clone() };
    let near = Recipe { rounds: vec![Round { neighbors: 3, t: 0.5 }], ..Recipe::euclidean(true) };
    for (recipe, line) in [
        (kissme, "KISSME's curve at t = 1"),
        (between, "S pooled, D's part within classes times 0.1, all pairs at t = 0.3"),
        (
            cut,
            "2 leading directions by divergence, S pooled, D's part within classes times 0.1, \
             all pairs at t = 0.3",
        ),
        (near, "standardised, plain distance, then 3 neighbours at t = 0.5"),
    ] {
        assert_eq!(recipe.to_string(), line);
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe, "{text}");
        assert!(recipe.fit(&data).unwrap().rank() >= 1, "{recipe}");
    }
    // Groups leave pairs out that the parts of D are not known without.
    let groups = Labels::new((0..95).map(|i| (i % 7).to_string()));
    let grouped = Training::Grouped(&data, &groups);
    let one = Recipe { pooled: true, ..Recipe::all_pairs(0.3) };
    assert!(matches!(one.learn(&grouped, &mut silent), Err(Error::Parameter { .. })));
    assert!(Recipe::all_pairs(0.3).learn(&grouped, &mut silent).is_ok());
}

#[test]
fn the_metric_of_means_alone_sees_nothing_else() {
    // Classes differ in the first two columns only.
    let data = clouds(&[60, 60, 60], 4, 3);
    let means = Recipe { beta: 0.0, directions: Some(2), ..Recipe::all_pairs(0.5) }.fit(&data).unwrap();
    let a = means.matrix().unwrap();
    assert!(a[(0, 0)].min(a[(1, 1)]) > 10.0 * a[(2, 2)].max(a[(3, 3)]), "{a:?}");
}

#[test]
fn neighbours_are_those_of_the_plain_formula() {
    let data = clouds(&[12, 7, 1], 3, 3);
    let pairs = Pairs::nearest(data.rows(), data.labels(), 3).unwrap();
    for i in 0..data.len() {
        for similar in [true, false] {
            let distance = |j: &usize| -> f64 {
                data.rows().row(i).iter().zip(data.rows().row(*j)).map(|(x, y)| (x - y) * (x - y)).sum()
            };
            let same = |j: &usize| data.labels().codes()[*j] == data.labels().codes()[i];
            let mut others: Vec<usize> = (0..data.len()).filter(|&j| j != i && same(&j) == similar).collect();
            others.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
            others.truncate(3);
            let found: Vec<usize> = pairs
                .as_slice()
                .iter()
                .filter(|pair| pair.first == i && pair.similar == similar)
                .map(|pair| pair.second)
                .collect();
            assert_eq!(found, others, "row {i}, similar {similar}");
        }
    }
}

#[test]
fn a_round_looks_at_near_rows_only() {
    // Each class has two clusters far apart in the first column. Over all pairs S sees their distance and gives that
    // column next to no weight; near rows see the width of a cluster.
    let mut random = Random::new(4, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for i in 0..200 {
        let class = i % 2;
        values.extend([
            if i % 4 < 2 { -50.0 } else { 50.0 } + 4.0 * gaussian(&mut random),
            f64::from(class) + 0.2 * gaussian(&mut random),
        ]);
        labels.push(class.to_string());
    }
    let data = Dataset::new(Rows::new(values, 2).unwrap(), Labels::new(labels)).unwrap();
    let share = |metric: &Metric| {
        let a = metric.matrix().unwrap();
        a[(1, 1)] / a[(0, 0)]
    };
    let plain = Recipe::all_pairs(0.0).fit(&data).unwrap();
    let rounds = vec![Round { neighbors: 3, t: 0.0 }];
    let near = Recipe { rounds, ..Recipe::all_pairs(0.5) }.fit(&data).unwrap();
    // Variances 2516 against at most 16.
    assert!(share(&near) < share(&plain) / 100.0, "{} {}", share(&near), share(&plain));
}

#[test]
fn columns_that_depend_on_others_get_no_weight_from_rounding() {
    // Five columns in units from 10⁻² to 10², and three sums of them.
    let data = clouds(&[60, 60, 60], 5, 21);
    let mut values = Vec::new();
    for i in 0..data.len() {
        let x = data.rows().row(i);
        let row = [x[0], x[1], x[2], x[3], x[4], x[0] - 2.0 * x[1], 0.3 * x[2] + x[4], x[0] + x[1] + x[3]];
        values.extend(row.iter().enumerate().map(|(j, x)| x * 10f64.powf(4.0 * j as f64 / 7.0 - 2.0)));
    }
    let data = Dataset::new(Rows::new(values, 8).unwrap(), data.labels().clone()).unwrap();
    let statistics = ColumnStatistics::of(data.rows());
    let rounds = vec![Round { neighbors: 10, t: 0.1 }; 2];
    for shrinkage in [0.0, 0.1] {
        for (directions, towards_identity) in [(Some(8), true), (Some(8), false), (None, true), (None, false)]
        {
            let rounds = rounds.clone();
            let recipe = Recipe { shrinkage, towards_identity, directions, rounds, ..Recipe::all_pairs(0.0) };
            let a = recipe.fit(&data).unwrap().matrix().unwrap();
            // In columns of variance 1: the trace is the mean squared distance if columns were independent. Along
            // directions in which the rows vary it is at most the condition of the data.
            let variance = |i: usize| statistics.scale[i].powi(2);
            let trace: f64 = (0..8).map(|j| a[(j, j)] * variance(j)).sum();
            let seen = recipe.fit(&data).unwrap().transform(data.rows()).unwrap();
            let spread: f64 = ColumnStatistics::of(&seen).scale.iter().map(|x| x * x).sum();
            assert!(trace < 100.0 * spread, "{recipe}: {trace:e} against {spread:e}");
        }
    }
}

#[test]
fn noise_in_labels_and_rare_classes_leave_it_no_worse_than_the_plain_distance() {
    for (name, sizes, share) in [("noise", vec![120, 120, 120], 0.2), ("rare", vec![500, 10], 0.0)] {
        let (mut ours, mut plain, mut tested) = (0, 0, 0);
        for seed in 0..3 {
            let data = clouds(&sizes, 6, 50 + seed);
            let test = clouds(&sizes, 6, 80 + seed);
            let train = mislabelled(&data, share);
            let fit = Gmml::auto().fit(&train).unwrap();
            ours += wrong(&Model::new(fit.metric), &train, &test);
            plain += wrong(&Model::new(Metric::euclidean(6)), &train, &test);
            tested += test.len();
        }
        assert!(ours <= plain, "{name}: {ours} against {plain} of {tested}");
    }
}

#[test]
fn the_choice_is_the_same_with_any_number_of_threads() {
    let data = clouds(&[60, 60, 30], 5, 5);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Gmml::auto().fit(&data).unwrap())
    };
    let (one, five) = (fit(1), fit(5));
    assert_eq!(one.recipes, five.recipes);
    assert_eq!(one.metric, five.metric);
    assert_eq!(one.trials, five.trials);
}

#[test]
fn folds_keep_groups_whole() {
    // A row's own group tells its class for sure, another group nothing.
    let (data, groups) = repeated(40, 6, 12);
    let error = |groups| {
        Gmml::auto().fit_with(&data, &FitOptions { weights: None, groups }, &mut silent).unwrap().error
    };
    assert!(error(None) < 0.02, "{}", error(None));
    // The best of some two hundred recipes on forty coins that were tossed.
    assert!(error(Some(&groups)) > 0.2, "{}", error(Some(&groups)));
}

#[test]
fn the_budget_is_kept() {
    let (small, large) = (Auto { budget: 1.0, ..Auto::default() }, Auto { budget: 40.0, ..Auto::default() });
    let rows = clouds(&[1200, 1200], 30, 7);
    let (small, large) = (small.fit(&rows).unwrap(), large.fit(&rows).unwrap());
    assert!(small.cost <= 1.0 && small.trials.len() < large.trials.len(), "{} {}", small.cost, large.cost);
    assert!(large.cost <= 40.0);
}

#[test]
fn no_more_is_spent_than_the_budget_on_tables_small_and_large() {
    for (size, columns, kernels) in [(12, 3, true), (50, 9, false), (250, 30, false)] {
        let data = clouds(&[size, size, size], columns, 8);
        for budget in [1.0, 4.0] {
            for kernels in [false, kernels] {
                let auto = Auto { budget, kernels, ..Auto::default() };
                let cost = auto.fit(&data).unwrap().cost;
                assert!(cost > 0.0 && cost <= budget, "{size} x {columns}, {budget}, {kernels}: {cost}");
            }
        }
    }
}

#[test]
fn what_cannot_be_chosen_on_is_refused() {
    let data = clouds(&[10, 10], 2, 8);
    let auto = Gmml::auto();
    let one = Labels::new(vec!["x"; 20]);
    assert!(matches!(
        auto.fit_with(&data, &FitOptions::grouped(&one), &mut silent),
        Err(Error::TooFewGroups { .. })
    ));
    assert!(matches!(
        auto.fit_with(&data, &FitOptions::grouped(&Labels::new(["x"])), &mut silent),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        auto.fit_with(&data, &FitOptions::default(), &mut |_| ControlFlow::Break(Stop::Cancelled)),
        Err(Error::Cancelled)
    ));
    for auto in [
        Auto { k: 0, ..auto.clone() },
        Auto { budget: 0.5, ..auto.clone() },
        Auto { budget: f64::NAN, ..auto.clone() },
    ] {
        assert!(matches!(auto.fit(&data), Err(Error::Parameter { .. })));
    }
    let alone = Dataset::new(Rows::new(vec![1.0, 2.0], 1).unwrap(), Labels::new(["a", "b"])).unwrap();
    assert!(matches!(auto.fit(&alone), Err(Error::NoSimilarPair { .. })));
}

#[test]
fn tiny_equal_and_extreme_rows_are_survived() {
    let auto = Gmml::auto();
    let equal =
        Dataset::new(Rows::new(vec![1.0; 40], 2).unwrap(), Labels::new((0..20).map(|i| ["a", "b"][i % 2])))
            .unwrap();
    assert!(matches!(auto.fit(&equal), Err(Error::NoUsableFold { .. } | Error::AllConstant { .. })));
    let few = clouds(&[2, 2], 3, 10);
    let _ = auto.fit(&few);
    for unit in [1e-150, 1e150] {
        let data = clouds(&[20, 20], 3, 11);
        let rows = Rows::new(data.rows().values().iter().map(|x| x * unit).collect(), 3).unwrap();
        let fit = auto.fit(&Dataset::new(rows, data.labels().clone()).unwrap());
        assert!(fit.is_ok(), "{unit:e}: {fit:?}");
    }
    // Whole numbers with many ties and duplicates.
    let rows = Rows::new((0..120).map(|i| f64::from((i * i) % 3)).collect(), 2).unwrap();
    let ties = Dataset::new(rows, Labels::new((0..60).map(|i| ["a", "b", "c"][i % 3]))).unwrap();
    assert!(auto.fit(&ties).is_ok());
}

#[test]
fn the_analytic_shrinkage_is_that_of_the_formula() {
    let r = Mat::from_fn(3, 3, |i, j| [[1.0, 0.8, 0.2], [0.8, 1.0, 0.4], [0.2, 0.4, 1.0]][i][j]);
    let by_hand = ((1.0 - 2.0 / 3.0) * (3.0 + 2.0 * 0.84) + 9.0) / ((10.0 + 1.0 - 2.0 / 3.0) * (2.0 * 0.84));
    assert!((analytic_shrinkage(r.as_ref(), 10.0) - by_hand).abs() < 1e-15);
    // The diagonal's units do not matter.
    let scaled = Mat::from_fn(3, 3, |i, j| r[(i, j)] * [1.0, 1e3, 1e-4][i] * [1.0, 1e3, 1e-4][j]);
    assert!((analytic_shrinkage(scaled.as_ref(), 10.0) - by_hand).abs() < 1e-14);
    // More rows, less shrinkage; no correlation at all, all of it.
    assert!(analytic_shrinkage(r.as_ref(), 1e6) < 1e-4);
    assert_eq!(analytic_shrinkage(Mat::identity(3, 3).as_ref(), 10.0), 1.0);
}
