//! Probabilities for distances: against scikit-learn, on held-out pairs, and in the model file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::bundled;
use mahala::data::Random;
use mahala::gmml::{Components, HeldOut, TChoice};
use mahala::metric::{Calibration, best_threshold, squared_pair_distances};
use mahala::pairs::{Pair, Pairs};
use mahala::{Error, Gmml, Metric, Model};
use serde_json::Value;

/// Values of scikit-learn; `reference/make_calibration_references.py` wrote them.
fn references() -> Vec<Value> {
    let text = include_str!("reference/calibration.json");
    let content: Value = serde_json::from_str(text).unwrap();
    content["cases"].as_array().unwrap().clone()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap()).collect()
}

/// The distances and pairs of a reference.
fn marked(case: &Value) -> (Vec<f64>, Pairs) {
    let (similar, weights) = (floats(&case["similar"]), floats(&case["weights"]));
    let pair = |(i, s): (usize, &f64)| Pair {
        first: 0,
        second: 0,
        similar: *s == 1.0,
        weight: weights.get(i).copied().unwrap_or(1.0),
    };
    let pairs = Pairs::new(similar.iter().enumerate().map(pair).collect(), 1, 1).unwrap();
    (floats(&case["distances"]), pairs)
}

#[test]
fn platts_numbers_are_those_of_scikit_learn() {
    for case in references() {
        let (distances, pairs) = marked(&case);
        let Calibration::Platt { a, b } = Calibration::platt(&distances, &pairs).unwrap() else { panic!() };
        let near = |seen: f64, key: &str, tolerance: f64| {
            let wanted = case["platt"][key].as_f64().unwrap();
            assert!(
                (seen - wanted).abs() < tolerance * wanted.abs(),
                "{} {key}: {seen}, {wanted}",
                case["name"]
            );
        };
        // The minimum itself, where rounding of the loss ends the search; scikit-learn's own stops earlier.
        near(a, "a", 1e-7);
        near(b, "b", 1e-7);
        near(a, "sklearn_a", 1e-4);
        near(b, "sklearn_b", 1e-4);
    }
}

#[test]
fn one_distance_out_of_all_proportion_does_not_move_platts_curve() {
    let pairs: Vec<Pair> =
        (0..200).map(|i| if i % 2 == 0 { Pair::similar(0, 0) } else { Pair::dissimilar(0, 0) }).collect();
    let pairs = Pairs::new(pairs, 1, 1).unwrap();
    // Similar pairs at 1 to 3, dissimilar ones at 2 to 4.
    let mut distances: Vec<f64> = (0..200).map(|i| f64::from(i % 2) + 1.0 + f64::from(i) / 100.0).collect();
    let usual = Calibration::platt(&distances, &pairs).unwrap();
    distances[100] = 2000.0;
    let drawn = Calibration::platt(&distances, &pairs).unwrap();
    for distance in [1.0, 2.5, 4.0] {
        // One pair of a hundred is called wrong by whatever curve; it may not cost more than a tenth anywhere.
        let [p, q] = [usual.probability(distance), drawn.probability(distance)];
        assert!((p - q).abs() < 0.1, "at {distance}: {p} without it, {q} with it");
    }
}

#[test]
fn isotonic_regression_is_that_of_scikit_learn() {
    for case in references() {
        let (distances, pairs) = marked(&case);
        let calibration = Calibration::isotonic(&distances, &pairs).unwrap();
        for (query, wanted) in floats(&case["queries"]).into_iter().zip(floats(&case["isotonic"])) {
            let seen = calibration.probability(query);
            assert!((seen - wanted).abs() < 1e-12, "{} at {query}: {seen}, {wanted}", case["name"]);
        }
    }
}

#[test]
fn a_weight_of_two_is_the_pair_twice() {
    let (distances, pairs) = marked(&references()[2]);
    let twice: Vec<usize> =
        (0..pairs.len()).flat_map(|i| vec![i; (2.0 * pairs.as_slice()[i].weight) as usize]).collect();
    let repeated =
        Pairs::new(twice.iter().map(|&i| pairs.as_slice()[i].weighing(0.5)).collect(), 1, 1).unwrap();
    let all: Vec<f64> = twice.iter().map(|&i| distances[i]).collect();
    for fit in [Calibration::platt, Calibration::isotonic] {
        let (one, other) = (fit(&distances, &pairs).unwrap(), fit(&all, &repeated).unwrap());
        for x in [0.0, 0.7, 1.3, 2.9, 6.0] {
            assert!((one.probability(x) - other.probability(x)).abs() < 1e-7);
        }
    }
}

#[test]
fn units_of_the_distance_do_not_matter() {
    let (distances, pairs) = marked(&references()[0]);
    for unit in [1e-150, 1e150] {
        let scaled: Vec<f64> = distances.iter().map(|x| x * unit).collect();
        for fit in [Calibration::platt, Calibration::isotonic] {
            let (one, other) = (fit(&distances, &pairs).unwrap(), fit(&scaled, &pairs).unwrap());
            assert!((one.probability(1.25) - other.probability(1.25 * unit)).abs() < 1e-7);
        }
    }
    // Separated, or all at one place: still probabilities.
    let two = Pairs::new(vec![Pair::similar(0, 0), Pair::dissimilar(0, 0)], 1, 1).unwrap();
    for distances in [[0.0, 0.0], [0.0, 1e300], [3.0, 3.0]] {
        for fit in [Calibration::platt, Calibration::isotonic] {
            let p = fit(&distances, &two).unwrap().probability(1.0);
            assert!((0.0..=1.0).contains(&p), "{p}");
        }
    }
}

#[test]
fn one_kind_of_pairs_is_no_ground_for_probabilities() {
    let pairs = Pairs::new(vec![Pair::similar(0, 0); 3], 1, 1).unwrap();
    let error = Calibration::platt(&[1.0, 2.0, 3.0], &pairs).unwrap_err();
    assert!(matches!(error, Error::NoDissimilarPair { .. }));
    assert!(matches!(Calibration::isotonic(&[1.0], &pairs), Err(Error::Length { .. })));
    assert!(matches!(Calibration::isotonic(&[1.0, 2.0, f64::NAN], &pairs), Err(Error::Parameter { .. })));
}

/// The mean log loss of probabilities.
fn log_loss(calibration: &Calibration, held: &HeldOut) -> f64 {
    let loss = |(x, pair): (&f64, &Pair)| {
        let p = calibration.probability(*x).clamp(1e-6, 1.0 - 1e-6);
        if pair.similar { -p.ln() } else { -(1.0 - p).ln() }
    };
    held.distances.iter().zip(held.pairs.as_slice()).map(loss).sum::<f64>() / held.distances.len() as f64
}

#[test]
fn held_out_pairs_are_on_the_scale_of_the_whole_metric() {
    let data = bundled("wine.csv");
    let mut random = Random::new(1, 0);
    let pairs = Pairs::sampled(data.labels(), &mut random);
    for (t, standardize, rank) in
        [(0.1, false, None), (0.5, true, None), (0.9, true, Some(Components::Count(4)))]
    {
        let gmml = Gmml { t: TChoice::Fixed(t), standardize, rank, ..Gmml::default() };
        let whole = gmml.fit_pairs(data.rows(), &pairs).unwrap().metric;
        let squared = squared_pair_distances(&whole, data.rows(), data.rows(), &pairs).unwrap();
        let mean = |xs: &mut dyn Iterator<Item = f64>| xs.sum::<f64>() / pairs.len() as f64;
        let held = gmml.held_out_pairs(data.rows(), data.rows(), &pairs, t).unwrap();
        assert_eq!(held.pairs.len(), pairs.len());
        let ratio = mean(&mut held.distances.iter().map(|x| x * x)) / mean(&mut squared.into_iter());
        // Four fifths of the pairs, were they not weighed, would be off by 0.8^(2t−1): 20 % at t = 0 and 1.
        assert!((ratio - 1.0).abs() < 0.1, "{t}: {ratio}");
    }
}

#[test]
fn probabilities_of_held_out_rows_are_honest() {
    let data = bundled("wine.csv");
    let (learn, test): (Vec<usize>, Vec<usize>) = (0..data.len()).partition(|i| i % 3 == 0);
    let (learn, test) = (data.subset(&learn), data.subset(&test));
    let gmml = Gmml { t: TChoice::Fixed(0.1), standardize: true, ..Gmml::default() };
    let fit = gmml.fit(&learn).unwrap();
    let held = gmml.held_out_rows(&learn, fit.t).unwrap();
    let measured = |data: &mahala::Dataset| {
        let pairs = Pairs::all(data.labels());
        let squared = squared_pair_distances(&fit.metric, data.rows(), data.rows(), &pairs).unwrap();
        HeldOut { distances: squared.into_iter().map(f64::sqrt).collect(), pairs }
    };
    let (trained, tested) = (measured(&learn), measured(&test));
    // Under the metric they taught, training pairs are nearer and farther than new ones.
    for method in [Calibration::platt, Calibration::isotonic] {
        let on = |held: &HeldOut| log_loss(&method(&held.distances, &held.pairs).unwrap(), &tested);
        assert!(on(&held) < on(&trained), "{} {}", on(&held), on(&trained));
    }
    assert!(best_threshold(&held.distances, &held.pairs) > 0.0);
}

#[test]
fn sampled_pairs_are_calibrated_too() {
    let data = bundled("wine.csv");
    let gmml = Gmml { standardize: true, ..Gmml::paper() };
    let held = gmml.held_out_rows(&data, 0.1).unwrap();
    let near = Calibration::platt(&held.distances, &held.pairs).unwrap();
    assert!(near.probability(0.0) > 0.5, "{near:?}");
    assert_eq!(held, gmml.held_out_rows(&data, 0.1).unwrap());
}

#[test]
fn the_model_file_keeps_a_calibration() {
    let knots = (vec![0.1, 0.1 + 0.2, 2.0], vec![1.0, 2.0 / 3.0, 0.1]);
    for calibration in [
        Calibration::Platt { a: 1.0 / 3.0, b: -2e-17 },
        Calibration::Isotonic { distances: knots.0.clone(), probabilities: knots.1.clone() },
    ] {
        let model = Model { calibration: Some(calibration), ..Model::new(Metric::euclidean(2)) };
        assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap(), model);
    }
    let rising = Calibration::Isotonic { distances: knots.0, probabilities: vec![0.1, 0.2, 0.3] };
    let model = Model { calibration: Some(rising), ..Model::new(Metric::euclidean(2)) };
    let error = Model::from_bytes(&model.to_bytes()).unwrap_err();
    assert!(error.to_string().contains("probabilities fall"), "{error}");
}

#[test]
fn too_few_pairs_to_hold_any_out_are_refused() {
    let data = bundled("iris.csv").subset(&[0, 50]);
    let pairs = Pairs::new(vec![Pair::similar(0, 0), Pair::dissimilar(0, 1)], 2, 2).unwrap();
    let error = Gmml::default().held_out_pairs(data.rows(), data.rows(), &pairs, 0.5).unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "calibration", .. }), "{error}");
}
