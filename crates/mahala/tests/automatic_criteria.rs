//! What the automatic mode chooses by, what it holds out, and what it returns when it is cut short.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::gaussian;
use mahala::auto::{Criterion, FoldsOver, Recipe};
use mahala::data::{Embeddings, Folds, Random};
use mahala::gmml::FitOptions;
use mahala::learner::{Learner, Training};
use mahala::progress::{Stop, silent};
use mahala::retrieval::{Measure, Similarity, by_labels};
use mahala::{Auto, Dataset, Error, Gmml, Labels, Model, Rows};
use std::ops::ControlFlow;

/// Classes around their own centres in the first columns, among columns of wide noise.
fn table(classes: usize, size: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for class in 0..classes {
        let centre: Vec<f64> = (0..4).map(|_| 1.5 * gaussian(&mut random)).collect();
        for _ in 0..size {
            values.extend((0..4).map(|j| centre[j] + gaussian(&mut random)));
            values.extend((0..4).map(|_| 4.0 * gaussian(&mut random)));
            labels.push(class.to_string());
        }
    }
    Dataset::new(Rows::new(values, 8).unwrap(), Labels::new(labels)).unwrap()
}

fn criteria() -> Vec<Criterion> {
    let names = "knn-error balanced-error r@1 recall@5 map@r mrr ndcg@10 roc-auc eer";
    names.split(' ').map(|name| name.parse().unwrap()).collect()
}

#[test]
fn every_criterion_chooses_a_metric_that_is_better_by_it_than_the_plain_distance() {
    let data = table(5, 30, 1);
    for similarity in [Similarity::L2, Similarity::Cosine] {
        for criterion in criteria() {
            let fit = Auto { criterion, similarity, ..Auto::default() }.fit(&data).unwrap();
            let plain = &fit.references[0];
            assert_eq!(plain.name, "Euclidean");
            assert!(fit.error < plain.error, "{criterion} {similarity}: {} {}", fit.error, plain.error);
            let gain = fit.gain.unwrap();
            assert!(gain.is_beyond_chance() && fit.verdict().starts_with("worth it"), "{}", fit.verdict());
        }
    }
}

#[test]
fn the_criterion_of_the_plain_distance_is_that_of_the_measures_of_retrieval() {
    // One fold's queries are ranked among all other rows, so that over all folds every row is asked for once.
    let data = table(4, 25, 2);
    let rows = Embeddings::double(data.rows().values().to_vec(), 8).unwrap();
    for similarity in [Similarity::L2, Similarity::Cosine] {
        for measure in
            [Measure::RecallAt(1), Measure::RecallAt(5), Measure::MapAtR, Measure::Mrr, Measure::NdcgAt(10)]
        {
            let auto = Auto { criterion: Criterion::Retrieval(measure), similarity, ..Auto::default() };
            let plain = auto.fit(&data).unwrap().references[0].clone();
            assert!(plain.recipe == Recipe::euclidean(false) && plain.queries.is_multiple_of(data.len()));
            let scores = by_labels(&rows, data.labels().codes(), None, &[measure], similarity).unwrap();
            let all = 1.0 - scores.mean(0);
            // Losses are kept in single precision.
            assert!((plain.error - all).abs() < 1e-6, "{measure} {similarity}: {} {all}", plain.error);
        }
    }
}

#[test]
fn unseen_classes_are_searched_for_among_each_other() {
    let data = table(12, 12, 3);
    let auto = Auto {
        criterion: Criterion::Retrieval(Measure::MapAtR),
        folds_over: Some(FoldsOver::Classes),
        ..Auto::default()
    };
    let (unseen, seen) =
        (auto.fit(&data).unwrap(), Auto { folds_over: None, ..auto.clone() }.fit(&data).unwrap());
    assert_eq!(unseen.folds, 5);
    // Two or three classes among each other are easier to tell apart than twelve.
    assert!(unseen.references[0].error < seen.references[0].error);
    // Two classes leave none to learn from.
    let two = table(2, 20, 4);
    assert!(matches!(auto.fit(&two), Err(Error::NoUsableFold { .. } | Error::OneClass { .. })));
}

#[test]
fn splits_and_numbers_of_folds_are_those_given() {
    let data = table(3, 20, 5);
    let splits =
        Folds::given(60, vec![((0..60).step_by(2).collect(), (1..60).step_by(2).collect())]).unwrap();
    let fit = Auto { splits: Some(splits.clone()), ..Auto::default() }.fit(&data).unwrap();
    assert_eq!(fit.folds, 1);
    let fit = Auto { folds: Some(3), ..Auto::default() }.fit(&data).unwrap();
    assert_eq!(fit.folds % 3, 0);
    let groups = Labels::new((0..60).map(|i| (i % 6).to_string()));
    let refused = |auto: Auto, groups: Option<&Labels>| {
        let options = FitOptions { weights: None, groups };
        assert!(matches!(auto.fit_with(&data, &options, &mut silent), Err(Error::Parameter { .. })));
    };
    refused(Auto { splits: Some(splits), ..Auto::default() }, Some(&groups));
    refused(Auto { folds: Some(1), ..Auto::default() }, None);
    refused(Auto { folds_over: Some(FoldsOver::Groups), ..Auto::default() }, None);
    refused(Auto { folds_over: Some(FoldsOver::Classes), ..Auto::default() }, Some(&groups));
    refused(Auto { similarity: Similarity::Dot, ..Auto::default() }, None);
}

#[test]
fn what_is_cut_short_returns_the_best_so_far_and_as_many_trials_give_the_same() {
    let data = table(4, 30, 6);
    for calls in [0, 1, 3, 20, 60] {
        let mut left: usize = calls;
        let mut deadline = |_| match left.checked_sub(1) {
            None => ControlFlow::Break(Stop::TimeUp),
            Some(fewer) => {
                left = fewer;
                ControlFlow::Continue(())
            }
        };
        let fit = Auto::default().fit_with(&data, &FitOptions::default(), &mut deadline).unwrap();
        assert!(fit.cut_short && fit.trials_done == calls, "{calls}: {}", fit.trials_done);
        let again = Auto { max_trials: Some(fit.trials_done), ..Auto::default() }.fit(&data).unwrap();
        assert_eq!((again.metric, again.recipes, again.trials), (fit.metric, fit.recipes, fit.trials));
    }
    // Before anything was tried it is the closed form half-way.
    let none = Auto { max_trials: Some(0), ..Auto::default() }.fit(&data).unwrap();
    assert_eq!((none.recipes, none.trials.len()), (vec![Recipe::all_pairs(0.5)], 0));
    let cancelled =
        Gmml::auto().fit_with(&data, &FitOptions::default(), &mut |_| ControlFlow::Break(Stop::Cancelled));
    assert!(matches!(cancelled, Err(Error::Cancelled)));
    let whole = Gmml::auto().fit(&data).unwrap();
    let as_many = Auto { max_trials: Some(whole.trials_done), ..Auto::default() }.fit(&data).unwrap();
    assert_eq!(as_many.metric, whole.metric);
}

#[test]
fn progress_tells_what_is_tried_and_the_best_so_far() {
    let (mut stages, mut best) = (Vec::new(), Vec::new());
    let mut watch = |step: mahala::progress::Step| {
        stages.extend(step.trying);
        best.extend(step.objective);
        ControlFlow::Continue(())
    };
    let data = table(4, 30, 7);
    Gmml::auto().fit_with(&data, &FitOptions::default(), &mut watch).unwrap();
    stages.dedup();
    assert!(stages.starts_with(&["all pairs"]) && stages.contains(&"neighbourhood rounds"), "{stages:?}");
    assert!(best.iter().all(|loss| (0.0..=1.0).contains(loss)) && !best.is_empty());
}

#[test]
fn a_fit_has_the_diagnostics_of_a_plain_one_and_names_the_methods_beside_it() {
    let mut data = table(4, 30, 8);
    // A constant column.
    let values = (0..data.len()).flat_map(|i| [data.rows().row(i), &[7.0]].concat()).collect();
    data = Dataset::new(Rows::new(values, 9).unwrap(), data.labels().clone()).unwrap();
    let fit = Gmml::auto().fit(&data).unwrap();
    let diagnostics = fit.diagnostics.clone().unwrap();
    assert_eq!(diagnostics.constant_columns, [8]);
    assert!(
        diagnostics.condition_s >= 1.0 && diagnostics.condition_d >= 1.0 && diagnostics.similar.pairs > 0
    );
    let names: Vec<&str> = fit.references.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["Euclidean", "GMML, t = 0.5", "GMML, t chosen", "LDA"]);
    let half = &fit.references[1];
    let chosen = &fit.references[2];
    assert!(half.queries >= data.len() && chosen.error.is_finite());
}

#[test]
fn where_nothing_can_be_learned_it_says_so() {
    // Labels that have nothing to do with the rows.
    let mut random = Random::new(11, 0);
    let rows = Rows::new((0..900).map(|_| gaussian(&mut random)).collect(), 3).unwrap();
    let data = Dataset::new(rows, Labels::new((0..300).map(|i| ["a", "b"][i % 2]))).unwrap();
    let fit = Gmml::auto().fit(&data).unwrap();
    assert!(fit.verdict().starts_with("not worth it"), "{}", fit.verdict());
    assert!(!fit.gain.unwrap().is_beyond_chance());
}

#[test]
fn a_model_for_the_cosine_has_rows_of_norm_one_and_reads_files_that_had_not() {
    let data = table(3, 20, 1);
    let auto = Auto { similarity: Similarity::Cosine, max_trials: Some(0), ..Auto::default() };
    let learned = auto.learn(&Training::Labelled(&data), &mut silent).unwrap();
    let references = Some((data.rows(), data.labels()));
    let model = learned.clone().into_model(&auto, false, Vec::new(), references, None).unwrap();
    assert_eq!(model.similarity(), Similarity::Cosine);
    let z = model.transform(data.rows()).unwrap();
    let square = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>();
    assert!((0..z.len()).all(|i| (square(z.row(i)) - 1.0).abs() < 1e-12));
    assert_eq!(learned.transform(data.rows()).unwrap(), z);
    assert_eq!(model.references.as_ref().unwrap().0, z);
    assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
    // Neighbours by the cosine: the largest inner products of rows of norm 1.
    let found = model.search(&z, 3).unwrap();
    for i in 0..z.len() {
        let cosine = |j: usize| z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum::<f64>();
        let worst = found.indices(i).iter().map(|&j| cosine(j)).fold(f64::INFINITY, f64::min);
        let beyond = (0..z.len()).filter(|j| !found.indices(i).contains(j));
        assert!(beyond.map(cosine).all(|other| other <= worst + 1e-12), "row {i}");
    }
    // Files of earlier versions keep the rows as the linear map leaves them.
    let mut old = model.clone();
    old.references = Some((learned.metric.transform(data.rows()).unwrap(), data.labels().clone()));
    let read = Model::from_bytes(&old.to_bytes()).unwrap();
    assert_eq!(read.references.unwrap().0, z);
}
