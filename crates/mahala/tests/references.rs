//! Values from elsewhere: 80-digit geodesics, exact sums, plain neighbours (see `reference/README.md`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, bundled, matrix, number, numbers, reference, relative_difference, scatter_of};
use mahala::geometry::{
    Geodesic, Spd, h, h_t, logdet_divergence, regularized_objective, riemannian_distance,
    symmetrized_logdet_divergence,
};
use mahala::gmml::{Prior, Regularization};
use mahala::pairs::Pairs;
use mahala::scatter::{Moments, Scatter};
use mahala::{Gmml, Knn, Labels, Rows};

/// How far each case of `geodesic.json` may be off, some four times what was reached: for the points of
/// the geodesic (‖Â − A‖_F / ‖A‖_F, largest over t), and for distances and objectives, which need the
/// inverse of an end and so feel its condition twice.
fn reached(case: &str) -> (f64, f64) {
    match case {
        "hilbert_4" => (2e-13, 2e-12),
        "nearly_singular_d_3" => (1e-8, 1e-5),
        "hilbert_6_condition_1e9" => (1e-9, 5e-8),
        "hilbert_6_condition_1e12" => (2e-7, 3e-5),
        "both_hilbert_6" => (1e-9, 2e-2), // the eigenvalues of SD span 8e13
        "large_d_3" => (3e-14, 1e-12),    // exp(t·log 1e101) costs up to 230 roundings
        _ => (1e-14, 1e-14),
    }
}

#[test]
fn the_geodesic_meets_its_references() {
    for case in reference("geodesic.json")["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (s, d) = (Spd::new(matrix(&case["S"])).unwrap(), Spd::new(matrix(&case["D"])).unwrap());
        let path = Geodesic::from_inverse(&s, &d).unwrap();
        let mut worst = 0f64;
        for at in case["at"].as_array().unwrap() {
            let a = path.at(number(&at["t"])).unwrap();
            worst = worst.max(relative_difference(a.as_mat(), matrix(&at["A"]).as_ref()));
        }
        assert!(worst <= reached(name).0, "{name}: {worst:e}");
        let logs: Vec<f64> = numbers(&case["eigenvalues_SD"]).iter().rev().map(|x: &f64| x.ln()).collect();
        for (computed, expected) in path.log_eigenvalues().iter().zip(&logs) {
            assert!((computed - expected).abs() <= 10.0 * reached(name).1, "{name}: {computed} {expected}");
        }
    }
}

#[test]
fn distances_and_objectives_meet_their_references() {
    for case in reference("geodesic.json")["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (s, d) = (Spd::new(matrix(&case["S"])).unwrap(), Spd::new(matrix(&case["D"])).unwrap());
        let x = s.inverse().unwrap();
        let allowed = reached(name).1;
        let check = |what: &str, computed: f64, expected: f64| {
            let error = (computed - expected).abs() / expected.abs().max(1.0);
            assert!(error <= allowed, "{name}, {what}: {computed} for {expected} ({error:e})");
        };
        check("delta_R", riemannian_distance(&x, &d).unwrap(), number(&case["delta_R"]));
        check("D_ld", logdet_divergence(&x, &d).unwrap(), number(&case["D_ld"]));
        check("D_sld", symmetrized_logdet_divergence(&x, &d).unwrap(), number(&case["D_sld"]));
        let path = Geodesic::from_inverse(&s, &d).unwrap();
        for at in case["at"].as_array().unwrap() {
            let t = number(&at["t"]);
            let a = path.at(t).unwrap();
            check("h", h(&a, s.as_mat(), d.as_mat()).unwrap(), number(&at["h"]));
            if at.get("h_t").is_some() {
                check("h_t", h_t(&a, &s, &d, t).unwrap(), number(&at["h_t"]));
                let identity = Spd::identity(s.dimension());
                let elsewhere = h_t(&identity, &s, &d, t).unwrap();
                check("h_t of I", elsewhere, number(&at["h_t_of_identity"]));
            }
        }
    }
}

#[test]
fn the_regularised_form_meets_its_references() {
    for case in reference("geodesic.json")["regularised"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (lambda, prior) = (number(&case["lambda"]), Spd::new(matrix(&case["A0"])).unwrap());
        let scatter = if name == "singular_s_3" {
            // S is the outer product of one difference.
            let d = Spd::new(matrix(&case["D"])).unwrap();
            let columns = (0..3).flat_map(|k| (0..3).map(move |i| (i, k)));
            let of_d: Vec<f64> = columns.map(|cell| d.cholesky()[cell]).collect();
            let rows = Rows::new([vec![1.0, 2.0, -1.0], of_d].concat(), 3).unwrap();
            Scatter::from_differences(&rows, &[true, false, false, false], None).unwrap()
        } else {
            scatter_of(&Spd::new(matrix(&case["S"])).unwrap(), &Spd::new(matrix(&case["D"])).unwrap())
        };
        let gmml = Gmml {
            regularization: Regularization::Lambda(lambda),
            prior: Prior::Matrix(prior.clone()),
            ..Gmml::default()
        };
        let solution = gmml.solve(&scatter).unwrap();
        for at in case["at"].as_array().unwrap() {
            let a = solution.metric(number(&at["t"])).unwrap().matrix().unwrap();
            let error = relative_difference(a.as_ref(), matrix(&at["A"]).as_ref());
            // λ keeps all of these well conditioned: at most κ = 1e3 (hilbert_4 with λ = 0.1).
            assert!(error <= 4.0 * EPS * 1e3, "{name}, lambda {lambda}: {error:e}");
            let a = Spd::new(a).unwrap();
            let objective = regularized_objective(&a, scatter.s(), scatter.d(), lambda, &prior).unwrap();
            assert!((objective / number(&at["h_reg"]) - 1.0).abs() <= 4.0 * EPS * 1e3, "{name}");
        }
    }
}

#[test]
fn the_sums_over_all_pairs_of_wine_meet_the_exact_ones() {
    let (wine, expected) = (bundled("wine.csv"), reference("scatter_wine.json"));
    let listed = Scatter::from_pairs(wine.rows(), &Pairs::all(wine.labels())).unwrap();
    let summed = Scatter::all_pairs(&Moments::of(&wine).unwrap()).unwrap();
    for scatter in [listed, summed] {
        for (kind, sum, count) in
            [("similar", scatter.s(), scatter.similar()), ("dissimilar", scatter.d(), scatter.dissimilar())]
        {
            let expected = &expected[kind];
            assert_eq!(count.pairs, expected["pairs"].as_u64().unwrap());
            let diagonal = numbers(&expected["diagonal"]);
            let entry = |i: usize, j: usize, exact: f64| {
                // Each term has a rounding or two, relative to the diagonal; sums of 10⁴ positive terms
                // lose a few more.
                let error = (sum[(i, j)] - exact).abs() / (diagonal[i] * diagonal[j]).sqrt();
                assert!(error <= 40.0 * EPS, "{kind} ({i}, {j}): {error:e}");
            };
            (0..13).for_each(|i| entry(i, i, diagonal[i]));
            let corner = matrix(&expected["first_3x3"]);
            (0..9).for_each(|cell| entry(cell / 3, cell % 3, corner[(cell / 3, cell % 3)]));
            let trace: f64 = (0..13).map(|i| sum[(i, i)]).sum();
            assert!((trace / number(&expected["trace"]) - 1.0).abs() <= 40.0 * EPS);
        }
    }
}

#[test]
fn the_metric_of_raw_wine_keeps_its_digits() {
    let (wine, expected) = (bundled("wine.csv"), reference("metric_wine.json"));
    let scatter = Scatter::all_pairs(&Moments::of(&wine).unwrap()).unwrap();
    let solution = Gmml::default().solve(&scatter).unwrap();
    assert_eq!((solution.diagnostics().ridge, solution.diagnostics().clamped), (0.0, 0));
    let (s, d) = (Spd::new(scatter.s().to_owned()).unwrap(), Spd::new(scatter.d().to_owned()).unwrap());
    let path = Geodesic::from_inverse(&s, &d).unwrap();
    for at in expected["at"].as_array().unwrap() {
        let (t, a) = (number(&at["t"]), matrix(&at["A"]));
        let fitted = solution.metric(t).unwrap().matrix().unwrap();
        let by_fit = relative_difference(fitted.as_ref(), a.as_ref());
        let by_path = relative_difference(path.at(t).unwrap().as_mat(), a.as_ref());
        // Reached: 3e-15. In the file's order of columns it would be 3.5e-6 (see the README).
        assert!(by_fit <= 1e-14 && by_path <= 1e-14, "t = {t}: {by_fit:e} {by_path:e}");
    }
    let logs = numbers(&expected["eigenvalues_SD"]);
    for (computed, exact) in path.log_eigenvalues().iter().zip(logs.iter().rev()) {
        // Logarithms of 1e4 to 1e18, with a rounding or two each: every eigenvalue keeps its digits.
        assert!((computed - exact.ln()).abs() <= 4e-14, "{computed} {}", exact.ln());
    }
}

#[test]
fn neighbours_and_votes_meet_the_plain_search() {
    for name in ["iris", "wine"] {
        let (data, expected) = (bundled(&format!("{name}.csv")), reference(&format!("knn_{name}.json")));
        let training: Vec<usize> = (0..data.len()).step_by(2).collect();
        let train = data.subset(&training);
        let knn = Knn::new(train.rows().clone()).unwrap();
        let mut wrong = 0;
        for query in expected["queries"].as_array().unwrap() {
            let row = query["row"].as_u64().unwrap() as usize;
            let found = knn.search(&data.rows().subset(&[row]), 5).unwrap();
            let labels: &Labels = train.labels();
            let predicted = found.vote(labels)[0];
            assert_eq!(labels.names()[predicted as usize], query["predicted"].as_str().unwrap());
            wrong += u64::from(predicted != data.labels().codes()[row]);
            for (computed, exact) in found.distances(0).iter().zip(numbers(&query["distances"])) {
                // A sum of at most 13 squares, and a root.
                assert!((computed - exact).abs() <= 13.0 * EPS * exact, "{name}, row {row}");
            }
            if !query["order_depends_on_rounding"].as_bool().unwrap() {
                let indices: Vec<f64> = found.indices(0).iter().map(|&i| i as f64).collect();
                assert_eq!(indices, numbers(&query["neighbours"]), "{name}, row {row}");
            }
        }
        assert_eq!(wrong, expected["errors"].as_u64().unwrap(), "{name}");
    }
}
