//! Columns in different units: every entry of the metric keeps its digits, against references with 200 digits.
//!
//! Errors are entry by entry over `√(A_ii·A_jj)`: a column in small units counts as much as one in large units.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::cast_possible_wrap, reason = "small numbers")]

mod common;
#[path = "common/graded.rs"]
mod graded;

use common::{numbers, reference, spd};
use mahala::geometry::{Geodesic, Spd, riemannian_distance};
use mahala::gmml::{Components, Regularization, Solution, TChoice};
use mahala::local::{LocalGmml, Locality, Share};
use mahala::pairs::{Pair, Pairs};
use mahala::scatter::{Moments, Scatter};
use mahala::{Dataset, Gmml, Labels, Mat, MatRef, Metric, Rows};

fn gmml() -> Gmml {
    Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }
}

fn table(d: usize, decades: usize) -> Dataset {
    let labels = Labels::new((0..4 * d).map(|i| format!("c{}", i % 3)));
    Dataset::new(Rows::new(graded::cells(d, decades), d).unwrap(), labels).unwrap()
}

fn expected(d: usize, decades: usize) -> Vec<f64> {
    let cases = reference("graded.json");
    let of = |case: &&serde_json::Value| case["columns"] == d && case["decades"] == decades;
    numbers(&cases.as_array().unwrap().iter().find(of).unwrap()["A"])
}

fn error_of(metric: &Metric, exact: &[f64]) -> f64 {
    let a = metric.matrix().unwrap();
    graded::error(|i, j| a[(i, j)], a.ncols(), exact)
}

/// The largest difference of two symmetric matrices over `√(A_ii·A_jj)`.
fn scaled_difference(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    let n = a.ncols();
    let size = |i: usize, j: usize| (a[(i, i)].sqrt() * a[(j, j)].sqrt()).abs();
    let difference = |i: usize, j: usize| (a[(i, j)] - b[(i, j)]).abs() / size(i, j);
    (0..n * n).map(|at| difference(at / n, at % n)).fold(0.0, f64::max)
}

/// Powers of two from 2^-40 to 2^40, in no order.
fn unit(i: usize) -> f64 {
    2f64.powi((i as i32 * 29) % 81 - 40)
}

/// `PMP` with `P = diag(unit)^power`.
fn in_units(m: &Spd, power: i32) -> Spd {
    let n = m.dimension();
    Spd::new(Mat::from_fn(n, n, |i, j| m.as_mat()[(i, j)] * unit(i).powi(power) * unit(j).powi(power)))
        .unwrap()
}

#[test]
fn every_entry_keeps_its_digits_whatever_the_units() {
    let mut errors = Vec::new();
    for case in reference("graded.json").as_array().unwrap() {
        let size = |name: &str| case[name].as_u64().unwrap() as usize;
        let (d, decades) = (size("columns"), size("decades"));
        let fit = gmml().fit(&table(d, decades)).unwrap();
        assert_eq!((fit.diagnostics.clamped, fit.diagnostics.ridge), (0, 0.0), "{d} columns, 1e{decades}");
        errors.push((d, decades, error_of(&fit.metric, &numbers(&case["A"]))));
    }
    let list: Vec<String> = errors.iter().map(|(d, e, x)| format!("{d} columns, 1e{e}: {x:.1e}")).collect();
    println!("{}", list.join("\n"));
    // Reached: 1e-14. With the solver accurate to the norm: 0.1 to 1e20.
    assert!(errors.len() == 21 && errors.iter().all(|(_, _, error)| *error <= 1e-12), "{list:#?}");
}

#[test]
fn local_metrics_keep_them_too() {
    // One cluster is the whole: its own metric is the global one, by way of a path between the two.
    let local = LocalGmml { gmml: gmml(), by: Locality::Cluster(1), share: Share::Fixed(1.0) };
    let found = local.fit(&table(36, 8)).unwrap();
    let error = error_of(&found.metric(0).unwrap(), &expected(36, 8));
    assert!(error <= 1e-12, "{error:e}");
}

#[test]
fn a_reduced_metric_has_the_directions_of_small_units() {
    let data = table(36, 8);
    let d = Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap();
    let d = d.d();
    let fit = Gmml { rank: Some(Components::Count(35)), ..gmml() }.fit(&data).unwrap();
    let l = fit.metric.components();
    // Its coordinates are eigenvectors of LDLᵀ: dissimilar pairs are uncorrelated in them, each in its own units.
    let spread = |i: usize, j: usize| -> f64 {
        (0..36 * 36).map(|at| l[(i, at / 36)] * d[(at / 36, at % 36)] * l[(j, at % 36)]).sum()
    };
    for (i, j) in (0..35).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let correlation = spread(i, j) / (spread(i, i) * spread(j, j)).sqrt();
        assert!(correlation.abs() < 1e-9, "({i}, {j}): {correlation:e}");
    }
}

#[test]
fn the_pencil_does_not_see_the_units() {
    let scatter = |power: i32| {
        let cells = graded::cells(40, 0);
        let cells = cells.iter().enumerate().map(|(at, x)| x * unit(at % 40).powi(power)).collect();
        let labels = table(40, 0).labels().clone();
        let data = Dataset::new(Rows::new(cells, 40).unwrap(), labels).unwrap();
        Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap()
    };
    let [plain, graded] =
        [0, 1].map(|power| Solution::of_pencil(&scatter(power), Regularization::None).unwrap());
    for (k, (a, b)) in plain.log_eigenvalues().iter().zip(graded.log_eigenvalues()).enumerate() {
        assert!((a - b).abs() < 1e-12, "{k}: {a} {b}");
        let (v, w) = (plain.directions().col(k), graded.directions().col(k));
        let cosine: f64 = (0..40).map(|i| v[i] * w[i] * unit(i)).sum::<f64>() / v.squared_norm_l2();
        let largest = v.norm_max();
        let gap =
            (0..40).map(|i| (v[i] - w[i] * unit(i) * cosine.signum()).abs() / largest).fold(0.0, f64::max);
        assert!(gap < 1e-10, "{k}: {gap:e}");
    }
}

#[test]
fn a_change_of_units_is_a_congruence_of_the_path() {
    // PᵀAP = (P⁻¹SP⁻ᵀ)⁻¹ ♯_t (PᵀDP), without a rounding in P.
    let (s, d) = (spd(40, 1e2, 1), spd(40, 1e2, 2));
    let (plain, graded) = (
        Geodesic::from_inverse(&s, &d).unwrap(),
        Geodesic::from_inverse(&in_units(&s, -1), &in_units(&d, 1)).unwrap(),
    );
    // S and D change in opposite ways: LᵀDL is the same, and so are the eigenvalues.
    for (a, b) in plain.log_eigenvalues().iter().zip(graded.log_eigenvalues()) {
        assert!((a - b).abs() < 1e-12);
    }
    for t in [0.0, 0.3, 0.5, 1.0] {
        let difference =
            scaled_difference(in_units(&plain.at(t).unwrap(), 1).as_mat(), graded.at(t).unwrap().as_mat());
        assert!(difference < 1e-12, "t = {t}: {difference:e}");
    }
}

#[test]
fn ends_graded_in_opposite_ways_have_one_distance_and_one_mean() {
    for n in [7, 20, 40] {
        let (a, b) = (in_units(&spd(n, 1e2, 3), 1), in_units(&spd(n, 1e2, 4), -1));
        let there = riemannian_distance(&a, &b).unwrap();
        let (back, inverse) = (
            riemannian_distance(&b, &a).unwrap(),
            riemannian_distance(&a.inverse().unwrap(), &b.inverse().unwrap()).unwrap(),
        );
        assert!((there / back - 1.0).abs() < 1e-13 && (there / inverse - 1.0).abs() < 1e-13, "{n}");
        let (one, other) = (Geodesic::between(&a, &b).unwrap(), Geodesic::between(&b, &a).unwrap());
        for t in [0.25, 0.5, 0.9] {
            let difference =
                scaled_difference(one.at(t).unwrap().as_mat(), other.at(1.0 - t).unwrap().as_mat());
            assert!(difference < 1e-12, "{n}, t = {t}: {difference:e}");
        }
        let ends = [(0.0, &a), (1.0, &b)];
        for (t, end) in ends {
            let difference = scaled_difference(end.as_mat(), one.at(t).unwrap().as_mat());
            assert!(difference < 1e-12, "{n}, t = {t}: {difference:e}");
        }
    }
}

#[test]
fn what_rounding_hides_is_counted() {
    // Ten dissimilar pairs leave 26 of 36 directions in which D is 0, in whatever units.
    let data = table(36, 8);
    let similar = (0..141).map(|i| Pair::similar(i, i + 3));
    let pairs = similar.chain((0..10).map(|i| Pair::dissimilar(i, i + 1))).collect();
    let fit = gmml().fit_pairs(data.rows(), &Pairs::new(pairs, 144, 144).unwrap()).unwrap();
    assert_eq!(fit.diagnostics.ridge, 0.0);
    let lost = fit.diagnostics.clamped;
    assert!((20..=26).contains(&lost), "{lost}");
    let reason = fit.diagnostics.rounding_reason().unwrap();
    assert!(reason.starts_with(&format!("{lost} of 36 eigenvalues")), "{reason}");
    let a = fit.metric.matrix().unwrap();
    assert!((0..36).all(|j| a[(j, j)].is_finite() && a[(j, j)] > 0.0));
}
