//! No method allocates what its estimate refuses, and none is without an estimate.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use faer::Mat;
use mahala::auto::Recipe;
use mahala::data::Random;
use mahala::footprint::{memory_limit_gb, set_memory_limit_gb};
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, CrossValidation, Regularization, TChoice};
use mahala::kernel::{Kernel, KernelGmml};
use mahala::learner::{Learner, Training};
use mahala::local::{LocalGmml, Locality};
use mahala::pairs::{Pair, Pairs};
use mahala::progress::silent;
use mahala::{Dataset, Error, Gmml, Labels, Metric, Result, Rows};
use mahala_baselines::{Covariance, FlatGeo, Lmnn, Mcml, MultiLmnn, NAMES, Nca, Plda, Start, named};
use serde_json::json;
use std::sync::Mutex;

/// The limit belongs to the process: one test at a time sets it.
static LIMIT: Mutex<()> = Mutex::new(());

fn limited<T>(gigabytes: f64, work: impl FnOnce() -> T) -> T {
    let _one = LIMIT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = memory_limit_gb();
    set_memory_limit_gb(gigabytes);
    let result = work();
    set_memory_limit_gb(before);
    result
}

fn table(n: usize, d: usize) -> Dataset {
    let mut random = Random::new(3, 0);
    let values = (0..n * d).map(|i| random.uniform() + if (i / d) % 2 == i % 2 { 0.3 } else { 0.0 });
    let rows = Rows::new(values.collect(), d).unwrap();
    Dataset::new(rows, Labels::new((0..n).map(|i| ["a", "b"][i % 2]))).unwrap()
}

/// Every way to learn there is, by name.
fn everything(data: &Dataset) -> Vec<(String, Result<()>)> {
    let (rows, n) = (data.rows(), data.len());
    let learn =
        |method: &dyn Learner, training: &Training<'_>| method.learn(training, &mut silent).map(|_| ());
    let method =
        |name: &str, parameters| learn(&*named(name, parameters).unwrap(), &Training::Labelled(data));
    let mut all: Vec<(String, Result<()>)> =
        NAMES.iter().map(|name| ((*name).to_owned(), method(name, json!({})))).collect();
    for name in ["lmnn", "nca", "flatgeo"] {
        all.push((format!("{name} of rank 2"), method(name, json!({"rank": 2}))));
    }
    all.push(("mmc, diagonal".into(), method("mmc", json!({"diagonal": true}))));
    all.push(("recipe, shrunk".into(), method("recipe", json!({"shrinkage": 0.1}))));
    all.push(("recipe, plain".into(), method("recipe", json!({"t": null}))));
    let listed = (0..n - 2).flat_map(|i| [Pair::similar(i, i + 2), Pair::dissimilar(i, i + 1)]);
    let pairs = Pairs::new(listed.collect(), n, n).unwrap();
    for name in ["itml", "mmc", "flatgeo"] {
        let method = named(name, json!({})).unwrap();
        all.push((format!("{name} from pairs"), learn(&*method, &Training::Paired(rows, &pairs))));
    }
    let t = TChoice::Fixed(0.5);
    let shrinkage = Regularization::Shrinkage(0.1);
    for (kind, gmml) in [
        ("", Gmml::default()),
        (" at t", Gmml { t, ..Gmml::default() }),
        (" with lambda", Gmml { regularization: Regularization::Lambda(0.1), ..Gmml::default() }),
        (" shrunk", Gmml { regularization: shrinkage, ..Gmml::default() }),
        (" of rank 2", Gmml { rank: Some(Components::Count(2)), ..Gmml::default() }),
        (" in directions", Gmml { principal: Some(3), ..Gmml::default() }),
    ] {
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let of = |by| LocalGmml { gmml: gmml.clone(), by, ..LocalGmml::default() };
        let kernel = KernelGmml { gmml: gmml.clone(), kernel: Kernel::Rbf { gamma: 0.01 }, landmarks: None };
        all.extend([
            (format!("gmml{kind}"), gmml.fit(data).map(|_| ())),
            (
                format!("weighted gmml{kind}"),
                gmml.fit_with(data, &FitOptions::weighted(&weights), &mut silent).map(|_| ()),
            ),
            (format!("gmml{kind} from pairs"), gmml.fit_pairs(rows, &pairs).map(|_| ())),
            (format!("t of gmml{kind}"), CrossValidation::new(&gmml, data).map(|_| ())),
            (format!("calibrated gmml{kind}"), gmml.held_out_rows(data, 0.5).map(|_| ())),
            (format!("calibrated pairs{kind}"), gmml.held_out_pairs(rows, rows, &pairs, 0.5).map(|_| ())),
        ]);
        // Refused with these, whatever the memory.
        if gmml.rank.is_none() && gmml.principal.is_none() {
            all.extend([
                (format!("local gmml{kind}"), of(Locality::Class).fit(data).map(|_| ())),
                (format!("clustered gmml{kind}"), of(Locality::Cluster(2)).fit(data).map(|_| ())),
                (format!("kernel gmml{kind}"), kernel.fit(data).map(|_| ())),
            ]);
        }
    }
    all.push(("plda".into(), Plda::default().fit(data).map(|_| ())));
    all.push(("multi-metric lmnn".into(), MultiLmnn::default().fit(data, &mut silent).map(|_| ())));
    all.push(("principal axes".into(), Metric::principal_axes(rows).map(|_| ())));
    all
}

#[test]
fn thirty_thousand_columns_are_learned_on_or_refused_with_the_numbers() {
    let data = table(12, 30_000);
    let mut learned = Vec::new();
    for (name, outcome) in limited(1.0, || everything(&data)) {
        match outcome {
            Ok(()) => learned.push(name),
            Err(Error::Memory { gigabytes, d: 30_000, limit: 1.0, .. }) if gigabytes > 1.0 => {}
            Err(other) => panic!("{name}: {other}"),
        }
    }
    // Where the metric lies in the span of the rows, nothing is as large as columns x columns.
    for name in
        ["auto", "recipe", "covariance", "mcml", "lmnn of rank 2", "nca of rank 2", "gmml", "local gmml"]
    {
        assert!(learned.iter().any(|learned| learned == name), "{name} was refused");
    }
}

#[test]
fn every_method_is_refused_where_there_is_no_memory() {
    for data in [table(12, 40), table(60, 5)] {
        for (name, outcome) in limited(1e-7, || everything(&data)) {
            assert!(matches!(outcome, Err(Error::Memory { .. })), "{name}: {outcome:?}");
        }
    }
}

#[test]
fn the_refusal_names_what_is_needed_what_is_allowed_and_a_remedy() {
    let data = table(4, 200);
    let told = limited(0.002, || {
        let learned = named("itml", json!({})).unwrap().learn(&Training::Labelled(&data), &mut silent);
        learned.expect_err("200 x 200 numbers nine times are 2.9 MB").to_string()
    });
    let expected = "itml needs 3.1 MB for 200 columns, above the limit of 2 MB; reduce the number of columns first, or \
                    learn by gmml inside the leading principal directions of the rows (principal)";
    assert_eq!(told, expected);
}

/// Squared distances of all pairs of rows.
fn distances(metric: &Metric, rows: &Rows) -> Mat<f64> {
    Mat::from_fn(rows.len(), rows.len(), |i, j| metric.squared_distance(rows.row(i), rows.row(j)).unwrap())
}

/// Rows of 40 columns that lie in 5 dimensions: more columns than rows, and a problem with one answer.
fn flat() -> Dataset {
    let (data, mut random) = (table(24, 5), Random::new(4, 0));
    let turn = Mat::from_fn(5, 40, |_, _| random.uniform() - 0.5);
    let rows = Rows::from_mat((data.rows().as_mat() * &turn).as_ref()).unwrap();
    Dataset::new(rows, data.labels().clone()).unwrap()
}

#[test]
fn in_the_span_of_the_rows_distances_are_those_learned_on_all_columns() {
    let _one = LIMIT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let data = flat();
    let stop = 1e-9;
    let methods: [Box<dyn Learner>; 5] = [
        Box::new(Covariance::default()),
        Box::new(Mcml { max_iterations: 3, ..Mcml::default() }),
        Box::new(Lmnn { rank: Some(3), max_iterations: 5, tolerance: stop, ..Lmnn::default() }),
        Box::new(Nca {
            rank: Some(3),
            start: Start::Pca,
            max_iterations: 5,
            tolerance: stop,
            ..Nca::default()
        }),
        Box::new(FlatGeo { rank: Some(3), max_iterations: 20, tolerance: stop, ..FlatGeo::default() }),
    ];
    for method in methods {
        let training = Training::Labelled(&data);
        let reduced = method.learn(&training, &mut silent).unwrap().metric;
        let whole = method.run(&training, &mut silent).unwrap().metric;
        assert_eq!(reduced.columns(), 40);
        let (reduced, whole) = (distances(&reduced, data.rows()), distances(&whole, data.rows()));
        // A few iterations multiply rounding by the condition of their steps.
        let off = (&reduced - &whole).norm_max() / whole.norm_max();
        assert!(off < 1e-8, "{}: {off}", method.name());
    }
}

#[test]
fn a_recipe_without_shrinkage_is_that_of_gmml_in_the_span() {
    let _one = LIMIT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let data = flat();
    let recipe = Recipe::all_pairs(0.3).fit(&data).unwrap();
    let gmml = Gmml { t: TChoice::Fixed(0.3), ..Gmml::default() }.fit(&data).unwrap().metric;
    let (a, b) = (distances(&recipe, data.rows()), distances(&gmml, data.rows()));
    // All pairs are on the paper's scale in one and not in the other: t < 1/2 makes it a factor.
    let factor = a[(0, 1)] / b[(0, 1)];
    assert!((&a - &b * factor).norm_max() < 1e-8 * a.norm_max());
}
