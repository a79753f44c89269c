//! What becomes of input from which nothing can be learned: one class, equal rows, extreme scales, bad pairs.

use crate::common::blobs;
use crate::{assert_is_a_metric, bits, every_method, learn, learns_from_pairs};
use mahala::learner::{Learner, Training};
use mahala::pairs::{Pair, Pairs};
use mahala::{Dataset, Labels, Rows};
use mahala_baselines::{Covariance, Itml, Mmc};

/// A metric, or an error in words; never a panic, never NaN.
fn assert_survives(training: &Training<'_>, what: &str, allow_error: bool) {
    for method in every_method() {
        if matches!(training, Training::Paired(..)) && !learns_from_pairs(&*method) {
            continue;
        }
        let what = format!("{} {:?} on {what}", method.name(), method.parameters());
        match learn(&*method, training) {
            Ok(learned) => assert_is_a_metric(&learned, &what),
            Err(error) => assert!(allow_error, "{what}: {error}"),
        }
    }
}

fn dataset(values: Vec<f64>, columns: usize, labels: &[i64]) -> Dataset {
    Dataset::new(Rows::new(values, columns).unwrap(), Labels::from_integers(labels)).unwrap()
}

#[test]
fn hopeless_labels_get_an_error_or_a_metric() {
    let rows = blobs(12, 3, 2, 1).rows().clone();
    let with = |labels: &[i64]| Dataset::new(rows.clone(), Labels::from_integers(labels)).unwrap();
    assert_survives(&Training::Labelled(&with(&[7; 12])), "one class", true);
    let single: Vec<i64> = (0..12).collect();
    assert_survives(&Training::Labelled(&with(&single)), "classes of one row", true);
    assert_survives(&Training::Labelled(&with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])), "a lone row", true);
    for labels in [&[7; 12][..], &single[..]] {
        for method in every_method() {
            let needs_classes = !["euclidean", "covariance"].contains(&method.name());
            let refused = learn(&*method, &Training::Labelled(&with(labels))).is_err();
            assert_eq!(refused, needs_classes, "{}", method.name());
        }
    }
}

#[test]
fn hopeless_rows_get_an_error_or_a_metric() {
    let labels: Vec<i64> = (0..10).map(|i| i % 2).collect();
    let equal = dataset(vec![1.5; 30], 3, &labels);
    assert_survives(&Training::Labelled(&equal), "equal rows", true);
    let two = dataset([[0.0, 1.0], [3.0, 5.0]].repeat(5).concat(), 2, &labels);
    assert_survives(&Training::Labelled(&two), "two distinct rows", true);
    let halves: Vec<i64> = (0..10).map(|i| i / 5).collect();
    let line = dataset((0..10).map(|i| f64::from(i) / 9.0).collect(), 1, &halves);
    assert_survives(&Training::Labelled(&line), "one column", false);
    let constant = dataset((0..10).flat_map(|i| [f64::from(i * i % 7), 4.0]).collect(), 2, &labels);
    assert_survives(&Training::Labelled(&constant), "a constant column", false);
    let wide = blobs(10, 30, 2, 1);
    assert_survives(&Training::Labelled(&wide), "more columns than rows", false);
}

#[test]
fn extreme_scales_are_survived() {
    let plain = blobs(40, 3, 2, 1);
    for scale in [1e-150, 1e-30, 1e30, 1e150] {
        let values: Vec<f64> = plain.rows().values().iter().map(|x| x * scale).collect();
        let labels = plain.labels().clone();
        let data = Dataset::new(Rows::new(values, 3).unwrap(), labels.clone()).unwrap();
        for method in every_method() {
            let learned = match learn(&*method, &Training::Labelled(&data)) {
                Ok(learned) => learned,
                Err(error) => {
                    assert!(matches!(error, mahala::Error::OutOfRange { .. }), "{}: {error}", method.name());
                    continue;
                }
            };
            // A metric of 1e±150 may not have a matrix in range; its map has.
            let map = learned.metric.map();
            let largest = map.norm_max();
            assert!(largest > 0.0 && largest.is_finite(), "{} at {scale}: {largest}", method.name());
        }
        let values = plain.rows().values().iter().enumerate();
        let mixed: Vec<f64> = values.map(|(i, x)| if i % 3 == 0 { x * scale } else { *x }).collect();
        let data = Dataset::new(Rows::new(mixed, 3).unwrap(), labels).unwrap();
        for method in every_method() {
            if let Ok(learned) = learn(&*method, &Training::Labelled(&data)) {
                // Where only the wide column is seen, and tells nothing, the best metric may be 0.
                assert!(learned.metric.map().norm_max().is_finite(), "{} at {scale}, mixed", method.name());
            }
        }
    }
}

#[test]
fn a_common_scale_changes_no_neighbour() {
    let plain = blobs(60, 3, 3, 1);
    let values: Vec<f64> = plain.rows().values().iter().map(|x| x * 2f64.powi(400)).collect();
    let scaled = Dataset::new(Rows::new(values, 3).unwrap(), plain.labels().clone()).unwrap();
    for method in [&Itml::default() as &dyn Learner, &Mmc::default(), &Covariance::default()] {
        let a = learn(method, &Training::Labelled(&plain)).unwrap().metric.map();
        let b = learn(method, &Training::Labelled(&scaled)).unwrap().metric.map();
        let (a, b) = (&a * faer::Scale(1.0 / a.norm_max()), &b * faer::Scale(1.0 / b.norm_max()));
        // Powers of two are exact, but for what is smaller than 1e-9 of the longest difference.
        assert!((&a - &b).norm_max() < 1e-9, "{}", method.name());
    }
}

#[test]
fn hopeless_pairs_get_an_error_or_a_metric() {
    let rows = blobs(20, 3, 2, 1).rows().clone();
    let with = |pairs: Vec<Pair>| Pairs::new(pairs, 20, 20).unwrap();
    let survive = |pairs: Vec<Pair>, what: &str| {
        assert_survives(&Training::Paired(&rows, &with(pairs)), what, true);
    };
    survive(Vec::new(), "no pair");
    survive(vec![Pair::similar(0, 1)], "one pair");
    survive((0..19).map(|i| Pair::similar(i, i + 1)).collect(), "only similar pairs");
    survive((0..19).map(|i| Pair::dissimilar(i, i + 1)).collect(), "only dissimilar pairs");
    survive((0..20).map(|i| Pair::similar(i, i)).collect(), "rows paired with themselves");
    survive((0..19).map(|i| Pair::similar(i, i + 1).weighing(0.0)).collect(), "weights of 0");
    survive([Pair::similar(0, 1), Pair::dissimilar(0, 1)].repeat(50), "contradictions");
    let mixed: Vec<Pair> = (0..19)
        .map(|i| if i % 2 == 0 { Pair::similar(i, i + 1) } else { Pair::dissimilar(i, i + 1) })
        .collect();
    survive(mixed.repeat(30), "duplicate pairs");
    let zero: Vec<Pair> = mixed.iter().copied().chain((0..20).map(|i| Pair::dissimilar(i, i))).collect();
    for method in every_method() {
        if learns_from_pairs(&*method) && method.parameters()["gamma"] != "auto" {
            let without = learn(&*method, &Training::Paired(&rows, &with(mixed.clone()))).unwrap();
            let within = learn(&*method, &Training::Paired(&rows, &with(zero.clone()))).unwrap();
            assert_eq!(bits(&without), bits(&within), "{}: pairs without difference", method.name());
        }
    }
}
