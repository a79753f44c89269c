//! Online learners: what holds for all of them, and the exact sums of GMML beside them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{blobs, relative_difference};
use mahala::gmml::{Regularization, TChoice};
use mahala::learner::{Learner, Outcome, Training};
use mahala::pairs::{Pair, Pairs, Triplets};
use mahala::progress::silent;
use mahala::{Error, Gmml};
use mahala_baselines::online::{
    Online, OnlineBilinearLoreta, OnlineGmml, OnlineLego, OnlineLoreta, OnlineMoml, OnlineOasis, OnlinePola,
};
use mahala_baselines::{Lego, Moml, Oasis, Pola};

fn every_state(columns: usize) -> Vec<Box<dyn Online>> {
    vec![
        Box::new(OnlineLego::new(columns, 1.0, (0.1, 0.8)).unwrap()),
        Box::new(OnlinePola::new(columns).unwrap()),
        Box::new(OnlineOasis::new(columns, 0.1).unwrap()),
        Box::new(OnlineLoreta::new(columns, columns, 0.01, 0).unwrap()),
        Box::new(OnlineBilinearLoreta::new(columns, columns, 0.01, 0).unwrap()),
        Box::new(OnlineMoml::new(columns, 0.01).unwrap()),
        Box::new(OnlineGmml::new(columns, 0.5, 0.1).unwrap()),
    ]
}

#[test]
fn the_sums_of_gmml_give_the_closed_form_in_any_order() {
    let data = blobs(40, 3, 3, 2);
    let codes = data.labels().codes();
    let pair = |i: usize| {
        let j = (i * 7 + 1) % 40;
        if codes[i] == codes[j] { Pair::similar(i, j) } else { Pair::dissimilar(i, j) }
    };
    let list: Vec<Pair> = (0..40).map(pair).filter(|pair| pair.first != pair.second).collect();
    let batch =
        Gmml { t: TChoice::Fixed(0.3), regularization: Regularization::Lambda(0.2), ..Gmml::default() };
    let pairs = Pairs::new(list.clone(), 40, 40).unwrap();
    let expected = batch.fit_pairs(data.rows(), &pairs).unwrap().metric.matrix().unwrap();
    for reversed in [false, true] {
        let mut state = OnlineGmml::new(3, 0.3, 0.2).unwrap();
        let order: Vec<&Pair> = if reversed { list.iter().rev().collect() } else { list.iter().collect() };
        for pair in order {
            let [first, second] = [pair.first, pair.second].map(|i| data.rows().row(i));
            state.update_pair(first, second, pair.similar).unwrap();
        }
        let seen = state.metric().unwrap().matrix().unwrap();
        assert!(relative_difference(seen.as_ref(), expected.as_ref()) < 1e-12);
    }
    assert!(OnlineGmml::new(3, 0.3, 0.0).unwrap().metric().is_err());
}

#[test]
fn every_state_learns_from_triplets_or_says_what_it_needs() {
    let data = blobs(30, 3, 2, 3);
    let triplets = Triplets::nearest(data.rows(), data.labels(), 2, 2).unwrap();
    for mut state in every_state(3) {
        for t in triplets.as_slice() {
            let [anchor, near, far] = [t.anchor, t.near, t.far].map(|i| data.rows().row(i));
            let loss = state.update_triplet(anchor, near, far).unwrap();
            assert!(loss >= 0.0 && loss.is_finite(), "{}", state.name());
        }
        let metric = state.metric().unwrap();
        assert!(metric.columns() == 3 && metric.map().norm_max() > 0.0, "{}", state.name());
        let (x, y) = (data.rows().row(0), data.rows().row(1));
        match state.update_pair(x, y, true) {
            Ok(loss) => assert!(loss >= 0.0),
            Err(error) => assert!(error.to_string().contains("learns from triplets"), "{error}"),
        }
        // Rows of another length, cells that are no numbers and cells without a square.
        let told = state.update_triplet(x, y, &[1.0]).unwrap_err();
        assert!(matches!(told, Error::Length { seen: 1, expected: 3, .. }), "{}: {told}", state.name());
        assert!(state.update_triplet(x, y, &[f64::NAN, 0.0, 0.0]).is_err());
        assert!(state.update_triplet(x, y, &[1e300, 0.0, 0.0]).is_err());
        assert!(state.metric().unwrap().map().norm_max().is_finite());
    }
}

#[test]
fn a_pass_over_given_triplets_is_the_pass_over_those_of_the_labels() {
    let data = blobs(40, 3, 2, 4);
    let triplets = Triplets::nearest(data.rows(), data.labels(), 3, 10).unwrap();
    for method in [&Oasis::default() as &dyn Learner, &Moml::default()] {
        let a = method.learn(&Training::Labelled(&data), &mut silent).unwrap();
        let b = method.learn(&Training::Triplets(data.rows(), &triplets), &mut silent).unwrap();
        assert_eq!(a.metric, b.metric, "{}", method.name());
        assert_eq!((a.report.outcome, a.report.iterations), (Outcome::Completed, 1));
    }
}

#[test]
fn more_passes_lower_the_loss_and_another_seed_changes_the_order_only() {
    let data = blobs(60, 4, 3, 5);
    let pairs = Pairs::all(data.labels());
    let loss = |method: &dyn Learner| {
        let learned = method.learn(&Training::Paired(data.rows(), &pairs), &mut silent).unwrap();
        (learned.report.objective.unwrap(), learned.metric)
    };
    let one = loss(&Lego { passes: 1, ..Lego::default() });
    let ten = loss(&Lego { passes: 10, ..Lego::default() });
    assert!(ten.0 < one.0, "{} {}", ten.0, one.0);
    let other = loss(&Pola { seed: 1, ..Pola::default() });
    let same = loss(&Pola { seed: 0, ..Pola::default() });
    assert!(other.1 != same.1);
    assert_eq!(same.1, loss(&Pola::default()).1);
}

#[test]
fn a_weight_that_an_online_learner_cannot_use_is_refused() {
    let data = blobs(10, 2, 2, 1);
    let pairs = Pairs::new(vec![Pair::similar(0, 1).weighing(2.5), Pair::dissimilar(0, 2)], 10, 10).unwrap();
    let error = Pola::default().learn(&Training::Paired(data.rows(), &pairs), &mut silent).unwrap_err();
    assert!(error.to_string().contains("weight is 2.5; it must be 0 or 1"), "{error}");
}
