//! Similarity by degrees, and rows with several labels.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{bundled, gaussian, relative_difference};
use mahala::data::Random;
use mahala::gmml::TChoice;
use mahala::pairs::{Pair, Pairs};
use mahala::scatter::Scatter;
use mahala::{Error, Gmml, Labels, Rows};

#[test]
fn zero_and_one_are_the_plain_marks() {
    let labels = Labels::new(["a", "b", "a", "c"]);
    let list: Vec<(usize, usize, f64)> = Pairs::all(&labels)
        .as_slice()
        .iter()
        .map(|pair| (pair.first, pair.second, f64::from(u8::from(pair.similar))))
        .collect();
    assert_eq!(Pairs::graded(&list, None, 4, 4).unwrap(), Pairs::all(&labels));
}

#[test]
fn a_graded_pair_counts_in_both_sums() {
    let rows = Rows::new(vec![0.0, 0.0, 1.0, 2.0, 4.0, 1.0], 2).unwrap();
    let pairs =
        Pairs::graded(&[(0, 1, 0.25), (0, 2, 1.0), (1, 2, 0.0)], Some(&[2.0, 1.0, 3.0]), 3, 3).unwrap();
    let scatter = Scatter::from_pairs(&rows, &pairs).unwrap();
    // Differences (1, 2), (4, 1) and (3, -1): weights of S 2·¼ and 1, of D 2·¾ and 3.
    assert_eq!(scatter.s()[(0, 0)], 0.5 * 1.0 + 16.0);
    assert_eq!(scatter.s()[(1, 0)], 0.5 * 2.0 + 4.0);
    assert!((scatter.d()[(1, 0)] - (1.5 * 2.0 - 3.0 * 3.0)).abs() < 1e-14);
    assert_eq!((scatter.similar().weight, scatter.dissimilar().weight), (1.5, 4.5));
}

#[test]
fn what_is_no_similarity_is_refused_with_its_place() {
    let error = Pairs::graded(&[(0, 1, 0.5), (0, 1, 1.5)], None, 2, 2).unwrap_err();
    assert_eq!(error.to_string(), "similarity is 1.5 (pair 1); it must be between 0 and 1");
    assert!(Pairs::graded(&[(0, 1, f64::NAN)], None, 2, 2).is_err());
    assert!(matches!(Pairs::graded(&[(0, 5, 0.5)], None, 2, 2), Err(Error::PairOutOfRange { .. })));
    let error = Pairs::graded(&[(0, 1, 0.5), (0, 1, 1.0)], Some(&[1.0, -2.0]), 2, 2).unwrap_err();
    assert_eq!(error, Error::Weight { index: 1, value: -2.0 });
    assert!(matches!(Pairs::graded(&[(0, 1, 0.5)], Some(&[]), 2, 2), Err(Error::Length { .. })));
}

#[test]
fn one_label_a_row_is_the_fit_of_all_pairs() {
    let data = bundled("iris.csv");
    let sets: Vec<Vec<u32>> = data.labels().codes().iter().map(|&code| vec![code]).collect();
    let pairs = Pairs::from_label_sets(&sets, usize::MAX, &mut Random::new(0, 0)).unwrap();
    assert_eq!(pairs, Pairs::all(data.labels()));
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let (a, b) = (gmml.fit(&data).unwrap(), gmml.fit_pairs(data.rows(), &pairs).unwrap());
    let (a, b) = (a.metric.matrix().unwrap(), b.metric.matrix().unwrap());
    // At t = ½ a common factor of S and D cancels.
    assert!(relative_difference(a.as_ref(), b.as_ref()) < 1e-11);
}

#[test]
fn pairs_of_label_sets_are_drawn_by_seed_within_the_budget() {
    let sets: Vec<Vec<u32>> = vec![vec![0, 1], vec![], vec![1, 1, 0], vec![2], vec![0, 2]];
    let draw = |budget, seed| Pairs::from_label_sets(&sets, budget, &mut Random::new(seed, 0)).unwrap();
    let all = draw(6, 0);
    let similarity = |first: usize, second: usize| {
        let of = |p: &&Pair| (p.first, p.second) == (first, second) && p.similar;
        all.as_slice().iter().find(of).map(|p| p.weight)
    };
    assert_eq!(similarity(0, 2), Some(1.0)); // the same labels, one of them twice
    assert_eq!((similarity(0, 3), similarity(3, 4)), (None, Some(0.5)));
    assert!((similarity(0, 4).unwrap() - 1.0 / 3.0).abs() < 1e-15);
    assert!(all.as_slice().iter().all(|p| p.first != 1 && p.second != 1)); // no labels, no pair
    let (some, again, other) = (draw(5, 1), draw(5, 1), draw(5, 2));
    assert!(some == again && some != other);
    let ends: std::collections::HashSet<(usize, usize)> =
        some.as_slice().iter().map(|p| (p.first, p.second)).collect();
    assert!(ends.len() <= 5 && ends.iter().all(|(i, j)| i != j));
    let error = Pairs::from_label_sets(&sets[..2], 9, &mut Random::new(0, 0)).unwrap_err();
    assert_eq!(error.to_string(), "learning from sets of labels needs at least 2 rows; 1 given");
}

/// Rows whose first two columns carry one label each, among four columns of louder noise.
fn multilabel(n: usize, seed: u64) -> (Rows, Vec<Vec<u32>>) {
    let mut random = Random::new(seed, 0);
    let (mut cells, mut sets) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let set: Vec<u32> = (0..2).filter(|_| random.uniform() < 0.6).collect();
        for j in 0..6 {
            let signal = f64::from(u8::from(set.contains(&j)));
            cells.push(if j < 2 {
                2.0 * signal + 0.5 * gaussian(&mut random)
            } else {
                3.0 * gaussian(&mut random)
            });
        }
        sets.push(set);
    }
    (Rows::new(cells, 6).unwrap(), sets)
}

#[test]
fn near_rows_share_labels_after_a_fit_on_overlaps() {
    let (rows, sets) = multilabel(300, 5);
    let pairs = Pairs::from_label_sets(&sets, 5_000, &mut Random::new(0, 0)).unwrap();
    let fit = Gmml::default().fit_pairs(&rows, &pairs).unwrap();
    let (new, truth) = multilabel(200, 6);
    let shared = |metric: &mahala::Metric| {
        let knn = mahala::Knn::new(metric.transform(&rows).unwrap()).unwrap();
        let found = knn.search(&metric.transform(&new).unwrap(), 1).unwrap();
        (0..200).filter(|&i| sets[found.indices(i)[0]] == truth[i]).count()
    };
    let (plain, learned) = (shared(&mahala::Metric::euclidean(6)), shared(&fit.metric));
    assert!(learned > 150 && plain < 120, "{plain} of 200 before, {learned} after");
    // The two halves of a graded pair are never in different folds: 5000 pairs were told apart.
    assert_eq!(fit.diagnostics.selection.unwrap().rows, pairs_drawn(&pairs));
}

fn pairs_drawn(pairs: &Pairs) -> usize {
    pairs.as_slice().chunk_by(|a, b| (a.first, a.second) == (b.first, b.second)).count()
}
