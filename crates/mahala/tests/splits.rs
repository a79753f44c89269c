//! Splits given from outside: t is chosen on them, whole and as they are.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::data::{Folds, Random, SparseRows};
use mahala::gmml::FitOptions;
use mahala::local::LocalGmml;
use mahala::progress::silent;
use mahala::{Dataset, Gmml, Labels, Rows};

/// Two classes in four columns, in pairs of nearly equal rows: 2i and 2i + 1 are one group.
fn twins() -> (Dataset, Labels) {
    let mut random = Random::new(3, 0);
    let mut cells = Vec::new();
    for i in 0..40 {
        let noise: Vec<f64> = (0..4).map(|_| random.uniform()).collect();
        for copy in 0..2 {
            cells.extend(noise.iter().map(|x| x + 1e-3 * f64::from(copy)));
            let last = cells.len() - 1;
            cells[last] += 0.3 * f64::from(i % 2);
        }
    }
    let labels = Labels::new((0..80).map(|row| ["a", "b"][row / 2 % 2]));
    let groups = Labels::new((0..80).map(|row| (row / 2).to_string()));
    (Dataset::new(Rows::new(cells, 4).unwrap(), labels).unwrap(), groups)
}

fn curve(gmml: &Gmml, data: &Dataset) -> Vec<(f64, f64)> {
    gmml.fit(data).unwrap().diagnostics.selection.unwrap().curve
}

fn listed(folds: &Folds) -> Vec<(Vec<usize>, Vec<usize>)> {
    (0..folds.len()).map(|fold| folds.split(fold)).collect()
}

#[test]
fn the_random_folds_given_as_splits_choose_the_same() {
    let (data, _) = twins();
    let gmml = Gmml { k: 1, ..Gmml::default() };
    let folds = Folds::new(data.len(), 5, &mut Random::new(0, 0)).unwrap();
    let splits = Folds::given(data.len(), listed(&folds)).unwrap();
    let given = Gmml { splits: Some(splits), ..gmml.clone() };
    assert_eq!(curve(&gmml, &data), curve(&given, &data));
    assert_eq!(given.to_json()["splits"], "given");
}

#[test]
fn whole_groups_are_held_out_where_random_folds_see_the_twin_of_a_row() {
    let (data, groups) = twins();
    let random = Gmml { k: 1, ..Gmml::default() };
    let splits = Folds::by_group(&groups, 5).unwrap();
    let grouped = Gmml { splits: Some(splits), ..random.clone() };
    // At t = 0 the nearest row is the twin, wherever it may vote: four times out of five.
    let at_zero = |gmml: &Gmml| curve(gmml, &data)[0].1;
    assert!(at_zero(&random) < 0.15, "{}", at_zero(&random));
    assert!(at_zero(&grouped) > 0.2, "{}", at_zero(&grouped));
}

#[test]
fn splits_reach_every_way_of_fitting() {
    let (data, groups) = twins();
    let splits = Folds::by_group(&groups, 4).unwrap();
    let random = Gmml { k: 1, folds: 4, ..Gmml::default() };
    let given = Gmml { splits: Some(splits), ..random.clone() };
    let ones = vec![1.0; data.len()];
    let (starts, columns) = ((0..=data.len()).map(|i| 4 * i).collect(), (0..4).collect::<Vec<u32>>());
    let sparse =
        SparseRows::new(starts, columns.repeat(data.len()), data.rows().values().to_vec(), 4).unwrap();
    let whole = curve(&given, &data);
    let weighted = given.fit_with(&data, &FitOptions::weighted(&ones), &mut silent).unwrap();
    let from_sparse = given.fit_sparse(&sparse, data.labels(), &mut silent).unwrap();
    for fit in [weighted, from_sparse] {
        let curve = fit.diagnostics.selection.unwrap().curve;
        assert!(curve.iter().zip(&whole).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12));
    }
    let local =
        |gmml: &Gmml| LocalGmml { gmml: gmml.clone(), ..LocalGmml::default() }.fit(&data).unwrap().curve;
    assert_ne!(local(&given), local(&random));
}

#[test]
fn rows_without_weight_leave_their_splits() {
    let (data, groups) = twins();
    let splits = Folds::by_group(&groups, 4).unwrap();
    let gmml = Gmml { k: 1, splits: Some(splits.clone()), ..Gmml::default() };
    let weights: Vec<f64> = (0..data.len()).map(|row| if row < 8 { 0.0 } else { 1.0 }).collect();
    let kept: Vec<usize> = (8..data.len()).collect();
    let weighted = gmml.fit_with(&data, &FitOptions::weighted(&weights), &mut silent).unwrap();
    let shifted = |part: Vec<usize>| part.into_iter().filter(|row| *row >= 8).map(|row| row - 8).collect();
    let splits = listed(&splits).into_iter().map(|(train, test)| (shifted(train), shifted(test))).collect();
    let splits = Folds::given(kept.len(), splits).unwrap();
    let without = curve(&Gmml { splits: Some(splits), ..gmml }, &data.subset(&kept));
    assert_eq!(weighted.diagnostics.selection.unwrap().curve, without);
}

#[test]
fn splits_of_more_rows_than_there_are_are_refused() {
    let (data, _) = twins();
    let splits = Folds::given(81, vec![((0..80).collect(), vec![80])]).unwrap();
    let error = Gmml { splits: Some(splits), ..Gmml::default() }.fit(&data).unwrap_err().to_string();
    assert!(error.contains("81 given, 80 expected"), "{error}");
}
