//! Groups of rows: kept whole wherever something is chosen by held-out rows.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::repeated;
use mahala::data::Folds;
use mahala::gmml::FitOptions;
use mahala::gmml::{CrossValidation, Regularization};
use mahala::learner::{Learner, Training};
use mahala::neighbors::wrong_votes;
use mahala::progress::silent;
use mahala::{Dataset, Error, Gmml, Labels, Rows};
use mahala_baselines::{GammaChoice, Itml};

/// The least cross-validated error of a fit that chose t.
fn least(fit: &mahala::Fit) -> f64 {
    let curve = &fit.diagnostics.selection.as_ref().unwrap().curve;
    curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min)
}

#[test]
fn t_is_chosen_on_folds_that_keep_groups_whole() {
    let (data, groups) = repeated(40, 6, 1);
    // One neighbour: it is of the same group, unless that is held out.
    let plain = Gmml { k: 1, ..Gmml::default() };
    let subset = Gmml { selection_rows: 150, ..plain.clone() };
    let lambda = Gmml { regularization: Regularization::Lambda(0.1), ..plain.clone() };
    for gmml in [plain, Gmml { k: 1, ..Gmml::paper() }, subset, lambda] {
        assert!(least(&gmml.fit(&data).unwrap()) < 0.05);
        let fit = gmml.fit_with(&data, &FitOptions::grouped(&groups), &mut silent).unwrap();
        // Nothing but chance is left.
        assert!(least(&fit) > 0.25, "{}", least(&fit));
        let search = CrossValidation::with(&gmml, &data, &FitOptions::grouped(&groups)).unwrap();
        assert!(search.errors(&[0.5], &mut silent).unwrap()[0] > 0.25);
    }
}

#[test]
fn with_more_columns_than_rows_too() {
    let (data, groups) = repeated(12, 4, 2);
    let widened = data.rows().values().chunks_exact(3).enumerate().flat_map(|(i, row)| {
        (0..60).map(move |j| row[j % 3] + 1e-3 * f64::from(u32::try_from((i * j) % 7).unwrap()))
    });
    let data = Dataset::new(Rows::new(widened.collect(), 60).unwrap(), data.labels().clone()).unwrap();
    let gmml = Gmml { k: 1, ..Gmml::default() };
    assert_eq!(least(&gmml.fit(&data).unwrap()), 0.0);
    assert!(least(&gmml.fit_with(&data, &FitOptions::grouped(&groups), &mut silent).unwrap()) > 0.15);
}

#[test]
fn itmls_gamma_is_chosen_on_folds_that_keep_groups_whole() {
    for seed in 0..3 {
        let (data, groups) = repeated(30, 4, 10 + seed);
        let folds = Folds::by_group(&groups, 2).unwrap();
        let error = |gamma: f64| -> f64 {
            let wrong = |fold: usize| {
                let (train, test) = folds.split(fold);
                let (train, test) = (data.subset(&train), data.subset(&test));
                let itml = Itml { gamma: GammaChoice::Fixed(gamma), ..Itml::default() };
                let metric = itml.learn(&Training::Labelled(&train), &mut silent).unwrap().metric;
                let seen = |part: &Dataset| {
                    Dataset::new(metric.transform(part.rows()).unwrap(), part.labels().clone()).unwrap()
                };
                wrong_votes(&seen(&train), &seen(&test), 5).unwrap() as f64 / test.len() as f64
            };
            wrong(0) + wrong(1)
        };
        let gammas: Vec<f64> = (-4..=4).map(|power| 10f64.powi(power)).collect();
        let errors: Vec<f64> = gammas.iter().map(|&gamma| error(gamma)).collect();
        let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
        let wanted = gammas[errors.iter().position(|&error| error == best).unwrap()];
        let itml = Itml { gamma: GammaChoice::CrossValidated, ..Itml::default() };
        let learned = itml.learn(&Training::Grouped(&data, &groups), &mut silent).unwrap();
        assert_eq!(learned.report.choice.unwrap()["gamma"], wanted, "{errors:?}");
    }
}

#[test]
fn groups_that_cannot_be_kept_whole_are_refused() {
    let (data, groups) = repeated(6, 4, 3);
    let one = Labels::new(vec!["x"; data.len()]);
    let itml = Itml { gamma: GammaChoice::CrossValidated, ..Itml::default() };
    let methods: [&dyn Learner; 3] = [&Gmml::default(), &itml, &Gmml::auto()];
    for method in methods {
        let learned = method.learn(&Training::Grouped(&data, &one), &mut silent);
        assert!(matches!(learned, Err(Error::TooFewGroups { .. })), "{}: {learned:?}", method.name());
    }
    let short = groups.subset(&[0, 5]);
    let refused = Gmml::default().fit_with(&data, &FitOptions::grouped(&short), &mut silent);
    assert!(matches!(refused, Err(Error::Length { what: "groups", .. })));
    assert!(CrossValidation::with(&Gmml::default(), &data, &FitOptions::grouped(&short)).is_err());
}
