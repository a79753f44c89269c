//! Weights of rows, and classes of unequal size that count the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{bundled, gaussian, relative_difference};
use mahala::data::Random;
use mahala::gmml::FitOptions;
use mahala::gmml::{Criterion, CrossValidation, PairRule, Regularization, TChoice};
use mahala::pairs::Pairs;
use mahala::progress::silent;
use mahala::scatter::{Balance, Moments, Scatter};
use mahala::{Dataset, Error, Gmml, Labels, Mat, Rows};

/// Rounding of sums of some thousand terms.
const ROUNDING: f64 = 1e-12;

/// Three classes of 40, 12 and 4 rows around different centres.
fn imbalanced() -> Dataset {
    let mut random = Random::new(3, 0);
    let codes: Vec<usize> = [(0, 40), (1, 12), (2, 4)].iter().flat_map(|&(c, n)| vec![c; n]).collect();
    let centres = [[0.0, 0.0, 0.0], [2.0, 0.5, 0.0], [9.0, 9.0, 0.0]];
    let cells = codes.iter().flat_map(|&c| centres[c].map(|m| m + gaussian(&mut random)));
    let rows = Rows::new(cells.collect(), 3).unwrap();
    Dataset::new(rows, Labels::new(codes.iter().map(|c| ["a", "b", "c"][*c]))).unwrap()
}

/// The scatter over all listed pairs, the pair (i, j) of classes (a, b) weighted `weight(a, b)`.
fn listed(data: &Dataset, weight: impl Fn(usize, usize) -> f64) -> Scatter {
    let codes = data.labels().codes();
    let all = Pairs::all(data.labels());
    let pairs = all.as_slice().iter().map(|pair| {
        let (a, b) = (codes[pair.first] as usize, codes[pair.second] as usize);
        pair.weighing(weight(a.min(b), a.max(b)))
    });
    Scatter::from_pairs(data.rows(), &Pairs::new(pairs.collect(), data.len(), data.len()).unwrap()).unwrap()
}

fn assert_same(a: &Scatter, b: &Scatter) {
    assert!(relative_difference(a.s(), b.s()) < ROUNDING);
    assert!(relative_difference(a.d(), b.d()) < ROUNDING);
}

#[test]
fn balanced_classes_are_row_weights() {
    let data = imbalanced();
    let sizes = [40.0, 12.0, 4.0];
    let weights: Vec<f64> = data.labels().codes().iter().map(|&c| 56.0 / (3.0 * sizes[c as usize])).collect();
    let mut moments = Moments::new(3).unwrap();
    moments.update(data.rows().as_mat(), data.labels(), Some(&weights)).unwrap();
    let balanced = Scatter::balanced(&Moments::of(&data).unwrap(), Balance::Classes).unwrap();
    assert_same(&balanced, &Scatter::all_pairs(&moments).unwrap());
    // And the pairs listed, each with the product of its rows' weights.
    assert_same(&balanced, &listed(&data, |a, b| (56f64 / 3.0).powi(2) / (sizes[a] * sizes[b])));
    assert_eq!(balanced.similar().pairs, 40 * 39 / 2 + 12 * 11 / 2 + 6);
    assert!((balanced.dissimilar().weight - 3.0 * (56f64 / 3.0).powi(2)).abs() < 1e-9);
}

#[test]
fn classes_of_one_size_are_shrunk_analytically_as_without_balance() {
    let iris = bundled("iris.csv");
    let fit = |balance: Balance| {
        let (regularization, t) = (Regularization::Analytic, TChoice::Fixed(0.5));
        Gmml { regularization, t, balance, ..Gmml::default() }.fit(&iris).unwrap().metric.matrix().unwrap()
    };
    assert!(relative_difference(fit(Balance::Classes).as_ref(), fit(Balance::None).as_ref()) < ROUNDING);
    // Rows less classes, whatever counts the same.
    let moments = Moments::of(&iris).unwrap();
    for balance in [Balance::None, Balance::Classes, Balance::ClassPairs] {
        assert_eq!(Scatter::balanced(&moments, balance).unwrap().samples(), 147.0);
    }
}

#[test]
fn each_pair_of_classes_adds_the_same_amount() {
    let data = imbalanced();
    let sizes = [40.0, 12.0, 4.0];
    let plain = Scatter::balanced(&Moments::of(&data).unwrap(), Balance::Classes).unwrap();
    let pairs = Scatter::balanced(&Moments::of(&data).unwrap(), Balance::ClassPairs).unwrap();
    assert!(relative_difference(plain.s(), pairs.s()) < ROUNDING);
    // The part of D between two classes, from the pairs listed.
    let each = (56f64 / 3.0).powi(2);
    let part = |x: usize, y: usize| {
        let only = |a: usize, b: usize| if (a, b) == (x, y) { each / (sizes[a] * sizes[b]) } else { 0.0 };
        listed(&data, |a, b| if a == b { 1.0 } else { only(a, b) }).d().to_owned()
    };
    let parts = [part(0, 1), part(0, 2), part(1, 2)];
    let amounts = parts.each_ref().map(|d| (0..3).map(|j| d[(j, j)] / pairs.s()[(j, j)]).sum::<f64>());
    let mean = amounts.iter().map(|x| 1.0 / x).sum::<f64>() / 3.0;
    let d = Mat::from_fn(3, 3, |i, j| (0..3).map(|p| parts[p][(i, j)] / amounts[p] / mean).sum::<f64>());
    assert!(relative_difference(pairs.d(), d.as_ref()) < ROUNDING);
    // Classes a and b are near each other: their part of D has grown.
    assert!(1.0 / amounts[0] / mean > 2.0);
}

#[test]
fn repeating_the_rows_of_small_classes_is_balance() {
    let data = imbalanced();
    let times = [3, 10, 30];
    let rows: Vec<usize> =
        (0..data.len()).flat_map(|i| vec![i; times[data.labels().codes()[i] as usize]]).collect();
    let gmml = Gmml { t: TChoice::Fixed(0.4), balance: Balance::Classes, ..Gmml::default() };
    let plain = Gmml { balance: Balance::None, ..gmml.clone() };
    let (balanced, repeated) = (gmml.fit(&data).unwrap(), plain.fit(&data.subset(&rows)).unwrap());
    let (a, b) = (balanced.metric.matrix().unwrap(), repeated.metric.matrix().unwrap());
    assert!(relative_difference(a.as_ref(), b.as_ref()) < 1e-10); // rounding times the condition of S
    assert!(gmml.fit_moments(&Moments::of(&data).unwrap()).unwrap().metric.matrix().unwrap() == a);
    let unbalanced = plain.fit(&data).unwrap().metric.matrix().unwrap();
    assert!(relative_difference(a.as_ref(), unbalanced.as_ref()) > 1e-2);
}

#[test]
fn the_error_counts_each_class_the_same() {
    // Nine tenths of the rows are of one class; the others lie in its midst and are always outvoted.
    let rows = Rows::new((0..40).map(f64::from).collect(), 1).unwrap();
    let labels = Labels::new((0..40).map(|i| if i % 10 == 5 { "rare" } else { "common" }));
    let data = Dataset::new(rows, labels).unwrap();
    let error = |balance| {
        let search = CrossValidation::new(&Gmml { balance, ..Gmml::default() }, &data).unwrap();
        let selection = search.select(&mut silent).unwrap();
        (search.errors(&[0.5], &mut silent).unwrap()[0], selection.criterion)
    };
    assert_eq!(error(Balance::None), (0.1, Criterion::KnnError));
    let (balanced, criterion) = error(Balance::Classes);
    assert!((balanced - 0.5).abs() < 1e-15 && criterion == Criterion::BalancedKnnError);
}

#[test]
fn rows_without_weight_do_not_count() {
    let data = imbalanced();
    let kept: Vec<usize> = (0..data.len()).filter(|i| i % 3 != 0).collect();
    let weights: Vec<f64> = (0..data.len()).map(|i| f64::from(u8::from(i % 3 != 0))).collect();
    let gmml = Gmml::default();
    let weighted = gmml.fit_with(&data, &FitOptions::weighted(&weights), &mut silent).unwrap();
    let without = gmml.fit(&data.subset(&kept)).unwrap();
    assert_eq!(weighted.diagnostics.selection, without.diagnostics.selection);
    let (a, b) = (weighted.metric.matrix().unwrap(), without.metric.matrix().unwrap());
    assert!(relative_difference(a.as_ref(), b.as_ref()) < 1e-11);
}

#[test]
fn the_error_by_which_t_is_chosen_counts_weights() {
    let data = imbalanced();
    let heavy: Vec<f64> = data.labels().codes().iter().map(|&c| if c == 2 { 1e9 } else { 1.0 }).collect();
    let fit = Gmml::default().fit_with(&data, &FitOptions::weighted(&heavy), &mut silent).unwrap();
    // Class c lies apart: beside its weight no other row's error is seen.
    let selection = fit.diagnostics.selection.unwrap();
    assert!(selection.curve.iter().any(|point| point.1 > 0.0 && point.1 < 1e-6), "{:?}", selection.curve);
}

#[test]
fn what_cannot_be_is_refused() {
    let data = imbalanced();
    let n = data.len();
    let fit = |gmml: &Gmml, weights: &[f64]| {
        gmml.fit_with(&data, &FitOptions::weighted(weights), &mut silent).unwrap_err()
    };
    let gmml = Gmml::default();
    assert_eq!(fit(&gmml, &[1.0]), Error::Length { what: "weights", seen: 1, expected: n });
    assert!(matches!(fit(&gmml, &vec![-1.0; n]), Error::Weight { index: 0, .. }));
    assert!(matches!(fit(&gmml, &vec![0.0; n]), Error::Empty { .. }));
    for refused in [Gmml { standardize: true, ..gmml.clone() }, Gmml::paper()] {
        assert!(matches!(fit(&refused, &vec![1.0; n]), Error::Parameter { name: "pairs", .. }));
    }
    let sampled = Gmml { pairs: PairRule::Sampled, balance: Balance::Classes, ..gmml };
    let error = sampled.fit(&data).unwrap_err();
    assert_eq!(
        error.to_string(),
        "balance is set, with sampled pairs; it must be none, or used with all pairs"
    );
}

#[test]
fn one_class_is_refused_under_balance_too() {
    let rows = Rows::new(vec![0.0, 1.0], 1).unwrap();
    let data = Dataset::new(rows, Labels::new(["a", "a"])).unwrap();
    let error = Scatter::balanced(&Moments::of(&data).unwrap(), Balance::ClassPairs).unwrap_err();
    assert!(matches!(error, Error::OneClass { .. }));
}
