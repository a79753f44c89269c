//! Every method on the same data: what holds for all of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../mahala/tests/common/mod.rs"]
mod common;
mod hopeless;

use common::{blobs, bundled, reference, rescaled};
use mahala::geometry::Spd;
use mahala::learner::{Learned, Learner, Outcome, Training, learn_standardized};
use mahala::pairs::{Pair, Pairs};
use mahala::progress::{Stop, silent};
use mahala::{Dataset, Error, Mat, Model, Rows};
use mahala_baselines::{
    Covariance, Dmlmj, Embedding, Euclidean, FlatGeo, GammaChoice, Hinge, Itml, Kissme, Lda, Ldml, Lego,
    Lfda, Lmnn, Loreta, LoretaForm, Lsml, Mcml, Mmc, Moml, NAMES, Nca, Ncmml, Oasis, Pola, Rca, RobustGmml,
    Scml, Sdml, Xqda, named,
};
use serde_json::json;
use std::ops::ControlFlow;

/// Every method, in each of its forms. A new one joins here.
fn every_method() -> Vec<Box<dyn Learner>> {
    vec![
        Box::new(Euclidean::default()),
        Box::new(Covariance::default()),
        Box::new(Itml::default()),
        Box::new(Itml { gamma: GammaChoice::CrossValidated, ..Itml::default() }),
        Box::new(FlatGeo { max_iterations: 3000, ..FlatGeo::default() }),
        Box::new(FlatGeo { rank: Some(1), max_iterations: 3000, ..FlatGeo::default() }),
        Box::new(Mmc::default()),
        Box::new(Mmc { diagonal: true, ..Mmc::default() }),
        Box::new(Lmnn::default()),
        Box::new(Lmnn { hinge: Hinge::Classic, rank: Some(1), ..Lmnn::default() }),
        Box::new(Nca::default()),
        Box::new(Nca { rank: Some(1), ..Nca::default() }),
        Box::new(Mcml::default()),
        Box::new(Rca::default()),
        Box::new(Rca { chunklets: Some(5), rank: Some(1), ..Rca::default() }),
        Box::new(Lda::default()),
        Box::new(Lda { shrinkage: Some(0.3), ..Lda::default() }),
        Box::new(Lfda::default()),
        Box::new(Lfda { embedding: Embedding::Orthonormal, rank: Some(1), ..Lfda::default() }),
        Box::new(Kissme::default()),
        Box::new(Xqda::default()),
        Box::new(Dmlmj::default()),
        Box::new(Dmlmj { rank: Some(1), ..Dmlmj::default() }),
        Box::new(Ncmml::default()),
        Box::new(Ncmml { rank: Some(1), ..Ncmml::default() }),
        Box::new(Ldml::default()),
        Box::new(Ldml { rank: Some(1), ..Ldml::default() }),
        Box::new(Lego::default()),
        Box::new(Pola::default()),
        Box::new(Oasis::default()),
        Box::new(Loreta::default()),
        Box::new(Loreta { rank: Some(1), ..Loreta::default() }),
        Box::new(Loreta { form: LoretaForm::General, rank: Some(1), ..Loreta::default() }),
        Box::new(Moml::default()),
        Box::new(Scml { max_iterations: 1000, ..Scml::default() }),
        Box::new(Lsml::default()),
        Box::new(Sdml::default()),
        Box::new(Sdml { similar_only: true, sparsity: 0.1, ..Sdml::default() }),
        Box::new(RobustGmml::default()),
    ]
}

/// Those that iterate, ended after one iteration.
fn limited_to_one() -> Vec<Box<dyn Learner>> {
    vec![
        Box::new(Itml { max_projections: 1, ..Itml::default() }),
        Box::new(FlatGeo { max_iterations: 1, ..FlatGeo::default() }),
        Box::new(Mmc { max_iterations: 1, ..Mmc::default() }),
        Box::new(Mmc { diagonal: true, max_iterations: 1, ..Mmc::default() }),
        Box::new(Lmnn { max_iterations: 1, ..Lmnn::default() }),
        Box::new(Nca { max_iterations: 1, ..Nca::default() }),
        Box::new(Mcml { max_iterations: 1, ..Mcml::default() }),
        Box::new(Ncmml { max_iterations: 1, ..Ncmml::default() }),
        Box::new(Ldml { max_iterations: 1, ..Ldml::default() }),
        Box::new(Lsml { max_iterations: 1, ..Lsml::default() }),
        Box::new(RobustGmml { max_iterations: 1, ..RobustGmml::default() }),
    ]
}

fn learns_from_pairs(method: &dyn Learner) -> bool {
    [
        "euclidean",
        "covariance",
        "itml",
        "flatgeo",
        "mmc",
        "kissme",
        "xqda",
        "ldml",
        "lego",
        "pola",
        "sdml",
        "robust-gmml",
    ]
    .contains(&method.name())
}

fn learn(method: &dyn Learner, training: &Training<'_>) -> mahala::Result<Learned> {
    method.learn(training, &mut silent)
}

/// Finite, symmetric, positive semidefinite up to rounding.
fn assert_is_a_metric(learned: &Learned, what: &str) {
    let a = learned.metric.matrix().unwrap();
    let d = a.ncols();
    let largest = (0..d).map(|j| a[(j, j)]).fold(0.0, f64::max);
    assert!(largest.is_finite(), "{what}: {largest}");
    assert!((0..d * d).all(|at| a[(at / d, at % d)] == a[(at % d, at / d)]), "{what}: symmetric");
    // A + εI must have a Cholesky factor for an ε of rounding's size.
    // (On hopeless data, the best metric may be 0.)
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let ridged = Mat::from_fn(d, d, |i, j| a[(i, j)] / unit + if i == j { 1e-12 } else { 0.0 });
    assert!(Spd::new(ridged).is_ok(), "{what}: positive semidefinite");
    assert!(learned.report.objective.is_none_or(f64::is_finite), "{what}: {:?}", learned.report);
}

fn bits(learned: &Learned) -> (Vec<u8>, String) {
    (Model::new(learned.metric.clone()).to_bytes(), format!("{:?}", learned.report))
}

#[test]
fn every_method_returns_a_metric_and_says_how_it_got_there() {
    let data = blobs(90, 4, 3, 1);
    for method in every_method() {
        let learned = learn(&*method, &Training::Labelled(&data)).unwrap();
        assert_is_a_metric(&learned, method.name());
        assert!(learned.metric.components().norm_max() > 0.0, "{}", method.name());
        assert!(learned.report.outcome.is_final(), "{}: {:?}", method.name(), learned.report);
    }
}

#[test]
fn every_method_has_the_same_bits_in_any_pool_and_for_the_same_seed() {
    for (n, d) in [(90, 4), (200, 140)] {
        let data = blobs(n, d, 3, 1);
        for method in every_method() {
            if d > 100 && method.parameters()["gamma"] == "auto" {
                continue; // eighteen fits of what is tested at the side
            }
            let in_pool = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                bits(&pool.install(|| learn(&*method, &Training::Labelled(&data)).unwrap()))
            };
            let one = in_pool(1);
            assert!([2, 5].into_iter().all(|threads| in_pool(threads) == one), "{}", method.name());
        }
    }
}

#[test]
fn whoever_is_told_to_stop_returns_a_metric_and_says_so() {
    let data = blobs(60, 4, 3, 1);
    for (order, outcome) in [
        (ControlFlow::Break(Stop::Cancelled), Outcome::Cancelled),
        (ControlFlow::Break(Stop::TimeUp), Outcome::TimeLimit),
    ] {
        for method in every_method() {
            let mut calls = 0;
            let progress = &mut |_| {
                calls += 1;
                order
            };
            let learned = method.learn(&Training::Labelled(&data), progress).unwrap();
            assert_is_a_metric(&learned, method.name());
            let expected = if calls == 0 { Outcome::ClosedForm } else { outcome };
            assert_eq!(learned.report.outcome, expected, "{}", method.name());
            assert!(calls <= 1, "{} went on after {order:?}", method.name());
        }
    }
}

#[test]
fn a_limit_of_one_iteration_is_kept_and_named() {
    let data = blobs(60, 4, 3, 1);
    for method in limited_to_one() {
        let learned = learn(&*method, &Training::Labelled(&data)).unwrap();
        assert_is_a_metric(&learned, method.name());
        assert_eq!(learned.report.outcome, Outcome::IterationLimit, "{}", method.name());
        assert_eq!(learned.report.iterations, 1, "{}", method.name());
    }
}

#[test]
fn parameters_go_out_and_come_back_by_name() {
    for method in every_method() {
        let again = named(method.name(), method.parameters()).unwrap();
        assert_eq!((again.name(), again.parameters()), (method.name(), method.parameters()));
    }
    for name in NAMES {
        assert_eq!(named(name, json!({})).unwrap().name(), name);
        assert!(named(name, json!({"no_such": 1})).is_err());
    }
    assert!(named("none", json!({})).is_err());
}

#[test]
fn parameters_out_of_range_are_refused() {
    let data = blobs(30, 2, 2, 1);
    for (name, parameters) in [
        ("itml", json!({"gamma": 0.0})),
        ("itml", json!({"gamma": -1})),
        ("itml", json!({"max_projections": 0})),
        ("itml", json!({"tolerance": -1.0})),
        ("itml", json!({"k": 0})),
        ("flatgeo", json!({"rank": 0})),
        ("flatgeo", json!({"rank": 3})),
        ("flatgeo", json!({"max_iterations": 0})),
        ("flatgeo", json!({"min_iterations": 10, "max_iterations": 9})),
        ("flatgeo", json!({"tolerance": -1.0})),
        ("lmnn", json!({"rank": 3})),
        ("lmnn", json!({"targets": 0})),
        ("nca", json!({"rank": 0})),
        ("mcml", json!({"tolerance": -1.0})),
        ("mmc", json!({"max_iterations": 0})),
        ("mmc", json!({"tolerance": -1.0})),
        ("rca", json!({"rank": 0})),
        ("rca", json!({"shrinkage": 1.5})),
        ("rca", json!({"chunklets": 0})),
        ("rca", json!({"chunklets": 3, "chunklet_size": 1})),
        ("lda", json!({"rank": 3})),
        ("lda", json!({"shrinkage": -0.1})),
        ("lfda", json!({"neighbors": 0})),
        ("lfda", json!({"rank": 0})),
        ("kissme", json!({"shrinkage": 2})),
        ("xqda", json!({"ridge": 0})),
        ("ncmml", json!({"rank": 3})),
        ("ldml", json!({"rank": 0})),
        ("ldml", json!({"tolerance": -1})),
        ("dmlmj", json!({"neighbors": 0})),
        ("lego", json!({"step": 0})),
        ("lego", json!({"passes": 0})),
        ("pola", json!({"passes": 0})),
        ("oasis", json!({"aggressiveness": -1})),
        ("oasis", json!({"targets": 0})),
        ("loreta", json!({"rank": 0})),
        ("loreta", json!({"impostors": 0})),
        ("moml", json!({"step": -1})),
        ("scml", json!({"bases": 0})),
        ("scml", json!({"beta": -1})),
        ("scml", json!({"gamma": 0})),
        ("scml", json!({"max_iterations": 0})),
        ("lsml", json!({"quadruplets": 0})),
        ("lsml", json!({"tolerance": -1})),
        ("sdml", json!({"sparsity": -1})),
        ("sdml", json!({"max_iterations": 0})),
        ("robust-gmml", json!({"t": 1.5})),
        ("robust-gmml", json!({"shrinkage": 0})),
        ("robust-gmml", json!({"lambda": -1})),
    ] {
        let method = named(name, parameters.clone()).unwrap();
        let error = learn(&*method, &Training::Labelled(&data)).unwrap_err();
        assert!(matches!(error, mahala::Error::Parameter { .. }), "{name} {parameters}: {error}");
    }
}

#[test]
fn only_similar_pairs_shrink_what_they_differ_in() {
    let rows = Rows::new(vec![0.0, 0.0, 3.0, 0.1, 1.0, 0.2, 5.0, 0.15], 2).unwrap();
    let pairs = Pairs::new((0..3).map(|i| Pair::similar(i, i + 1)).collect(), 4, 4).unwrap();
    for method in [&Itml::default() as &dyn Learner, &FlatGeo::default()] {
        let a = learn(method, &Training::Paired(&rows, &pairs)).unwrap().metric.matrix().unwrap();
        assert!(a[(0, 0)] < 0.9 && a[(1, 1)] > 0.9, "{}: {a:?}", method.name());
    }
    assert!(learn(&Mmc::default(), &Training::Paired(&rows, &pairs)).is_err());
}

#[test]
fn standardised_columns_make_units_irrelevant() {
    let plain = blobs(60, 3, 3, 1);
    let values = plain.rows().values().iter().enumerate();
    let values: Vec<f64> = values.map(|(i, x)| x * [8.0, 0.25, 1024.0][i % 3]).collect();
    let scaled = Dataset::new(Rows::new(values, 3).unwrap(), plain.labels().clone()).unwrap();
    for method in every_method() {
        let go = &mut silent;
        let a = learn_standardized(&*method, &Training::Labelled(&plain), go).unwrap().metric;
        let b = learn_standardized(&*method, &Training::Labelled(&scaled), go).unwrap().metric;
        let (x, y) = (a.transform(plain.rows()).unwrap(), b.transform(scaled.rows()).unwrap());
        assert_eq!(x, y, "{}", method.name());
    }
}

/// The objectives of metric-learn's MMC on pairs of the bundled sets (`reference/make_mmc_references.py`).
#[test]
fn itmls_bounds_are_squared_distances_in_the_units_of_the_rows() {
    let data = bundled("iris.csv");
    let of = |bounds| {
        let itml =
            Itml { bounds: Some(bounds), max_projections: 1_000_000, tolerance: 1e-3, ..Itml::default() };
        learn(&itml, &Training::Labelled(&data)).unwrap().report.objective.unwrap()
    };
    // No pair is farther apart than 100 or nearer than 1e-9: nothing is violated, and A stays I.
    assert!(of((100.0, 1e-9)).abs() < 1e-12);
    assert!(of((0.1, 10.0)) > 1.0);
    // Beside rows of 1e100 it is no distance at all.
    let far = Itml { bounds: Some((1e-250, 1.0)), ..Itml::default() };
    let huge = rescaled(&data, &[1e100; 4]);
    let error = learn(&far, &Training::Labelled(&huge)).unwrap_err().to_string();
    assert!(error.contains("bounds is 0.000"), "{error}");
}

#[test]
fn mmc_is_not_worse_than_metric_learn_on_the_same_pairs() {
    for case in reference("mmc.json")["cases"].as_array().unwrap() {
        let data = bundled(&format!("{}.csv", case["data"].as_str().unwrap()));
        let (n, codes) = (data.len(), data.labels().codes());
        let pair = |i: usize| {
            let j = (7 * i + 3) % n;
            if codes[i] == codes[j] { Pair::similar(i, j) } else { Pair::dissimilar(i, j) }
        };
        let pairs = Pairs::new((0..n).map(pair).filter(|p| p.first != p.second).collect(), n, n).unwrap();
        for (diagonal, key) in [(false, "full"), (true, "diagonal")] {
            let method = Mmc { diagonal, ..Mmc::default() };
            let report = learn(&method, &Training::Paired(data.rows(), &pairs)).unwrap().report;
            let (ours, theirs) = (report.objective.unwrap(), case[key].as_f64().unwrap());
            // The full form is maximised, the diagonal one minimised.
            let gain = if diagonal { theirs - ours } else { ours - theirs };
            assert!(gain > 0.0, "{} {key}: {ours} {theirs} {report:?}", case["data"]);
        }
    }
}

#[test]
fn what_overflows_on_the_way_is_not_taken_for_a_cell_of_the_table() {
    for scale in [1e300, 1e160, 1e-160, 1e-300] {
        let data = rescaled(&blobs(30, 3, 2, 4), &[scale; 3]);
        for method in every_method() {
            if let Err(error) = learn(method.as_ref(), &Training::Labelled(&data)) {
                assert!(!matches!(error, Error::NotFinite { .. }), "{} at {scale:e}: {error}", method.name());
            }
        }
    }
}

#[test]
fn targets_and_impostors_are_refused_where_triplets_are_given() {
    use mahala::pairs::{Triplet, Triplets};
    let rows = Rows::new(vec![0.0, 0.1, 1.0, 0.9, 3.0, 2.0], 2).unwrap();
    let list = vec![Triplet { anchor: 0, near: 1, far: 2 }, Triplet { anchor: 1, near: 0, far: 2 }];
    let triplets = Triplets::new(list, 3).unwrap();
    for method in ["scml", "oasis", "loreta", "moml"] {
        for name in ["targets", "impostors"] {
            let learner = named(method, json!({name: 4})).unwrap();
            let told =
                learner.learn(&Training::Triplets(&rows, &triplets), &mut silent).err().unwrap().to_string();
            assert!(
                told.contains(name) && told.contains('4') && told.contains("left out"),
                "{method}: {told}"
            );
        }
        named(method, json!({})).unwrap().learn(&Training::Triplets(&rows, &triplets), &mut silent).unwrap();
    }
}
