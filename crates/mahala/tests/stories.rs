//! What the library is for, in short stories.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{bundled, gaussian, halves, labelled};
use mahala::data::Random;
use mahala::gmml::{Components, TChoice};
use mahala::metric::{area_under_curve, squared_pair_distances};
use mahala::neighbors::wrong_votes;
use mahala::pairs::{Pair, Pairs};
use mahala::{Dataset, Gmml, Labels, Metric, Rows};

fn transformed(metric: &Metric, data: &Dataset) -> Dataset {
    Dataset::new(metric.transform(data.rows()).unwrap(), data.labels().clone()).unwrap()
}

fn wrong_with(metric: &Metric, train: &Dataset, test: &Dataset) -> usize {
    wrong_votes(&transformed(metric, train), &transformed(metric, test), 5).unwrap()
}

#[test]
fn the_axis_that_separates_the_classes_weighs_more_than_the_noise() {
    let mut random = Random::new(1, 0);
    // Column 0 is wide noise; column 1 tells the classes apart.
    let values =
        (0..200).flat_map(|i| [10.0 * gaussian(&mut random), f64::from(i % 2) + 0.1 * gaussian(&mut random)]);
    let rows = Rows::new(values.collect(), 2).unwrap();
    let data = Dataset::new(rows, Labels::new((0..200).map(|i| ["a", "b"][i % 2]))).unwrap();
    // Per column D/S is 1 and 50, and 1/S has a ratio of 1e4: A's is (1e4)^(1−t) at the most, and √50 at ½.
    for (t, ratio) in [(0.0, 5000.0), (0.1, 1500.0), (0.5, 5.0)] {
        let a = Gmml { t: TChoice::Fixed(t), ..Gmml::default() }.fit(&data).unwrap().metric.matrix().unwrap();
        assert!(a[(1, 1)] > ratio * a[(0, 0)], "t = {t}: {a:?}");
        // The two axes are independent, so is the metric: the correlation is that of 200 random rows.
        assert!(a[(0, 1)].abs() < 0.3 * (a[(0, 0)] * a[(1, 1)]).sqrt(), "t = {t}: {a:?}");
    }
}

#[test]
fn four_points_are_enough() {
    // Two classes, each stretched along (1, 1) and apart along (1, −1).
    let data = labelled(&[[0.0, 0.0], [4.0, 4.1], [1.0, -1.0], [5.0, 2.9]], &["a", "a", "b", "b"]);
    let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&data).unwrap();
    let within = fit.metric.distance(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
    let across = fit.metric.distance(&[0.0, 0.0], &[1.0, -1.0]).unwrap();
    assert!(across > 5.0 * within, "{across} {within}");
}

#[test]
fn on_wine_the_learned_metric_errs_far_less_than_the_euclidean() {
    let wine = bundled("wine.csv");
    let (mut learned, mut euclidean) = (0, 0);
    for seed in 0..4 {
        let (train, test) = halves(&wine, seed);
        let fit = Gmml::default().fit(&train).unwrap();
        learned += wrong_with(&fit.metric, &train, &test);
        euclidean += wrong_with(&Metric::euclidean(13), &train, &test);
    }
    // Some 30 % of 356 are wrong with the raw units, some 5 % with the metric.
    assert!(3 * learned < euclidean, "{learned} wrong against {euclidean}");
}

#[test]
fn on_raw_wine_the_chosen_t_is_small() {
    let wine = bundled("wine.csv");
    for seed in 0..3 {
        let fit = Gmml { seed, ..Gmml::default() }.fit(&wine).unwrap();
        assert!(fit.t < 0.15, "seed {seed}: t = {}", fit.t);
        let selection = fit.diagnostics.selection.unwrap();
        assert_eq!((selection.t, selection.folds, selection.rows), (fit.t, 5, 178));
        assert!(selection.curve.iter().any(|&(t, error)| t == fit.t && error < 0.08));
    }
}

#[test]
fn on_iris_two_coordinates_are_as_good_as_four() {
    let iris = bundled("iris.csv");
    let (mut all, mut two) = (0, 0);
    for seed in 0..4 {
        let (train, test) = halves(&iris, seed);
        let gmml = Gmml { t: TChoice::Fixed(0.1), ..Gmml::default() };
        all += wrong_with(&gmml.fit(&train).unwrap().metric, &train, &test);
        let reduced = Gmml { rank: Some(Components::Count(2)), ..gmml }.fit(&train).unwrap();
        assert_eq!((reduced.metric.rank(), reduced.metric.columns()), (2, 4));
        two += wrong_with(&reduced.metric, &train, &test);
    }
    // 300 rows are tested; at most two percent more may go wrong.
    assert!(two <= all + 6, "{two} wrong with two coordinates, {all} with four");
}

#[test]
fn pairs_alone_teach_a_metric_that_ranks_new_pairs_better() {
    let iris = bundled("iris.csv");
    let mut random = Random::new(5, 0);
    let mut drawn = |from: &[usize]| -> Pairs {
        let codes = iris.labels().codes();
        let pair = |i: usize, j: usize| {
            if codes[i] == codes[j] { Pair::similar(i, j) } else { Pair::dissimilar(i, j) }
        };
        let pick = |random: &mut Random| from[random.below(from.len())];
        let list = (0..300).map(|_| pair(pick(&mut random), pick(&mut random))).collect();
        Pairs::new(list, iris.len(), iris.len()).unwrap()
    };
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..150).partition(|i| i % 2 == 0);
    let (known, new) = (drawn(&even), drawn(&odd));
    let fit = Gmml::default().fit_pairs(iris.rows(), &known).unwrap();
    let area = |metric: &Metric| {
        let distances = squared_pair_distances(metric, iris.rows(), iris.rows(), &new).unwrap();
        area_under_curve(&distances, &new)
    };
    let (learned, euclidean) = (area(&fit.metric), area(&Metric::euclidean(4)));
    assert!(learned > euclidean, "{learned} against {euclidean}");
    assert!(learned > 0.95, "{learned}");
}

#[test]
fn a_common_unit_changes_no_neighbour_but_single_units_do() {
    let wine = bundled("wine.csv");
    let (train, test) = halves(&wine, 1);
    let wrong = |factors: &[f64]| {
        let (train, test) = (common::rescaled(&train, factors), common::rescaled(&test, factors));
        let fit = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit(&train).unwrap();
        wrong_with(&fit.metric, &train, &test)
    };
    let mut one_column = [1.0; 13];
    one_column[12] = 1e-3;
    assert_eq!(wrong(&[1.0; 13]), wrong(&[1024.0; 13]));
    assert!(wrong(&one_column) < wrong(&[1.0; 13]));
}
