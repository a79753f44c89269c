//! The closed form is the minimiser: the paper's conditions, at the computed metric.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, gaussian, relative_difference, scatter_of, spd};
use mahala::data::Random;
use mahala::geometry::{Geodesic, Spd, geometric_mean, gradient_of_h, h, h_t, regularized_objective};
use mahala::gmml::{Prior, Regularization};
use mahala::{Gmml, Mat, MatRef};

/// ‖ASA − D‖_F / (‖A‖_F² ‖S‖_F d eps): a backward stable answer has it near or below 1.
fn scaled_residual(a: MatRef<'_, f64>, s: MatRef<'_, f64>, d: MatRef<'_, f64>) -> f64 {
    let residual = a * s * a - d;
    residual.norm_l2() / (a.norm_l2().powi(2) * s.norm_l2() * a.nrows() as f64 * EPS)
}

/// `A + size·‖A‖·E` with a random symmetric E of norm 1, small enough to stay positive definite.
fn perturbed(a: &Spd, size: f64, seed: u64) -> Spd {
    let (d, mut random) = (a.dimension(), Random::new(seed, 5));
    let e: Mat<f64> = Mat::from_fn(d, d, |_, _| gaussian(&mut random));
    let e = &e + e.transpose();
    // Relative to A itself, so that small directions move as much as large ones: L(I + E)Lᵀ.
    let (l, e) = (a.cholesky(), &e * (size / e.norm_l2()));
    Spd::new(a.as_mat() + l * e * l.transpose()).unwrap()
}

#[test]
fn asa_equals_d_for_conditions_up_to_1e12() {
    for (d, seed) in [(1, 1), (2, 2), (3, 3), (6, 4), (20, 5), (60, 6)] {
        for condition in [1.0, 1e3, 1e6, 1e9, 1e12] {
            let (s, target) = (spd(d, condition, seed), spd(d, 100.0, seed + 50));
            let a = Geodesic::from_inverse(&s, &target).unwrap().at(0.5).unwrap();
            let residual = scaled_residual(a.as_mat(), s.as_mat(), target.as_mat());
            // For d = 1 what is left is exp(½·log λ), with a rounding for each unit of the logarithm.
            assert!(
                residual < if d == 1 { 28.0 } else { 4.0 },
                "d = {d}, condition {condition:e}: {residual}"
            );
        }
    }
}

#[test]
fn asa_equals_d_for_the_metric_of_a_fit() {
    for (d, seed) in [(2, 2), (6, 4), (20, 5)] {
        // Above 1e10 the fit adds a ridge, and solves another problem.
        for condition in [1.0, 1e3, 1e6, 1e8] {
            let (s, target) = (spd(d, condition, seed), spd(d, 100.0, seed + 50));
            let scatter = scatter_of(&s, &target);
            let solution = Gmml::default().solve(&scatter).unwrap();
            assert_eq!(solution.diagnostics().ridge, 0.0);
            let a = solution.metric(0.5).unwrap().matrix().unwrap();
            let residual = scaled_residual(a.as_ref(), scatter.s(), scatter.d());
            assert!(residual < 4.0, "d = {d}, condition {condition:e}: {residual}");
        }
    }
}

#[test]
fn the_gradient_of_h_vanishes_at_the_solution() {
    for (d, seed) in [(1, 1), (3, 3), (12, 4)] {
        for condition in [1.0, 1e4, 1e8] {
            let (s, target) = (spd(d, condition, seed), spd(d, 100.0, seed + 50));
            let a = Geodesic::from_inverse(&s, &target).unwrap().at(0.5).unwrap();
            let gradient = gradient_of_h(&a, s.as_mat(), target.as_mat()).unwrap();
            let inverse = a.inverse().unwrap();
            // The size of the terms that cancel; the inverse brings the condition of A = √(κ(S)·κ(D)).
            let scale = inverse.as_mat().norm_l2().powi(2) * target.as_mat().norm_l2();
            let residual = gradient.norm_l2() / (scale * d as f64 * EPS * a.condition().unwrap());
            assert!(residual < 4.0, "d = {d}, condition {condition:e}: {residual}");
        }
    }
}

#[test]
fn h_is_larger_at_every_perturbed_point() {
    let (s, target) = (spd(5, 1e4, 1), spd(5, 1e2, 2));
    let a = Geodesic::from_inverse(&s, &target).unwrap().at(0.5).unwrap();
    let at_solution = h(&a, s.as_mat(), target.as_mat()).unwrap();
    // tr(AS) = tr(A⁻¹D) at the solution, since ASA = D; κ(A) = 1e3 in the traces' rounding.
    let half = (a.as_mat() * s.as_mat()).diagonal().column_vector().iter().sum::<f64>();
    assert!((at_solution / (2.0 * half) - 1.0).abs() < 5.0 * EPS * 1e4);
    for seed in 0..50 {
        for size in [1e-3, 1e-2, 0.3] {
            let elsewhere = h(&perturbed(&a, size, seed), s.as_mat(), target.as_mat()).unwrap();
            assert!(elsewhere > at_solution, "size {size}, seed {seed}: {elsewhere} <= {at_solution}");
        }
    }
}

#[test]
fn h_t_is_smallest_at_the_point_t_of_the_path() {
    let (s, target) = (spd(4, 1e3, 3), spd(4, 1e2, 4));
    let path = Geodesic::from_inverse(&s, &target).unwrap();
    for t in [0.02, 0.25, 0.5, 0.9] {
        let a = path.at(t).unwrap();
        let at_solution = h_t(&a, &s, &target, t).unwrap();
        // On the path δ_R(A, S⁻¹) = tδ and δ_R(A, D) = (1−t)δ, so h_t = t(1−t)δ²; κ(S)κ(D) = 1e5.
        let expected = t * (1.0 - t) * path.length().powi(2);
        assert!((at_solution / expected - 1.0).abs() < 8.0 * EPS * 1e5, "{at_solution} {expected}");
        for seed in 0..20 {
            for size in [1e-3, 1e-2, 0.3] {
                assert!(h_t(&perturbed(&a, size, seed), &s, &target, t).unwrap() > at_solution);
            }
        }
        for other in [t - 0.01, t + 0.01] {
            assert!(h_t(&path.at(other).unwrap(), &s, &target, t).unwrap() > at_solution);
        }
    }
}

#[test]
fn the_regularised_solution_is_stationary_for_the_regularised_objective() {
    let (s, target, prior) = (spd(4, 1e3, 5), spd(4, 1e2, 6), spd(4, 10.0, 7));
    let scatter = scatter_of(&s, &target);
    for lambda in [0.1, 3.0, 100.0] {
        let gmml = Gmml {
            regularization: Regularization::Lambda(lambda),
            prior: Prior::Matrix(prior.clone()),
            ..Gmml::default()
        };
        let a = Spd::new(gmml.solve(&scatter).unwrap().metric(0.5).unwrap().matrix().unwrap()).unwrap();
        let objective = |a: &Spd| regularized_objective(a, scatter.s(), scatter.d(), lambda, &prior).unwrap();
        for seed in 0..50 {
            for size in [1e-3, 1e-2, 0.3] {
                assert!(objective(&perturbed(&a, size, seed)) > objective(&a), "lambda {lambda}");
            }
        }
        // Its gradient S + λA₀⁻¹ − A⁻¹(D + λA₀)A⁻¹ is that of h for the regularised sums.
        let s = scatter.s() + prior.inverse().unwrap().as_mat() * lambda;
        let d = scatter.d() + prior.as_mat() * lambda;
        assert!(scaled_residual(a.as_mat(), s.as_ref(), d.as_ref()) < 4.0);
    }
}

#[test]
fn a_very_large_lambda_gives_the_prior() {
    let (s, target, prior) = (spd(4, 1e3, 5), spd(4, 1e2, 6), spd(4, 10.0, 7));
    for (t, lambda) in [(0.5, 1e18), (0.5, 1e100), (0.5, 1e250)] {
        let gmml = Gmml {
            regularization: Regularization::Lambda(lambda),
            prior: Prior::Matrix(prior.clone()),
            ..Gmml::default()
        };
        let a = gmml.solve(&scatter_of(&s, &target)).unwrap().metric(t).unwrap().matrix().unwrap();
        // S and D are below rounding beside λ = 1e18; what remains is the rounding of A₀⁻¹ (κ = 10).
        let error = relative_difference(a.as_ref(), prior.as_mat());
        assert!(error < 40.0 * EPS * 10.0, "lambda {lambda:e}: {error:e}");
    }
}

#[test]
fn lambda_zero_is_the_basic_form() {
    let scatter = scatter_of(&spd(4, 1e3, 5), &spd(4, 1e2, 6));
    let zero = Gmml { regularization: Regularization::Lambda(0.0), ..Gmml::default() };
    let with = |gmml: &Gmml| gmml.solve(&scatter).unwrap().metric(0.3).unwrap();
    assert_eq!(with(&zero), with(&Gmml::default()));
    let shrunk = Gmml { regularization: Regularization::Shrinkage(0.0), ..Gmml::default() };
    assert_eq!(with(&shrunk), with(&Gmml::default()));
}

#[test]
fn full_shrinkage_leaves_the_mean_of_the_diagonals() {
    let scatter = scatter_of(&spd(4, 1e3, 5), &spd(4, 1e2, 6));
    let gmml = Gmml { regularization: Regularization::Shrinkage(1.0), ..Gmml::default() };
    let a = gmml.solve(&scatter).unwrap().metric(0.25).unwrap().matrix().unwrap();
    let expected = Mat::from_fn(4, 4, |i, j| {
        if i == j { scatter.s()[(i, i)].powf(-0.75) * scatter.d()[(i, i)].powf(0.25) } else { 0.0 }
    });
    // Nothing but the four numbers' own rounding.
    assert!(relative_difference(a.as_ref(), expected.as_ref()) < 16.0 * EPS);
}

#[test]
fn the_solution_of_a_fit_is_the_point_of_the_geodesic_for_every_t() {
    let (s, target) = (spd(5, 1e4, 8), spd(5, 1e2, 9));
    let scatter = scatter_of(&s, &target);
    let solution = Gmml::default().solve(&scatter).unwrap();
    for t in [0.0, 0.02, 0.3, 0.5, 0.77, 1.0] {
        let a = solution.metric(t).unwrap().matrix().unwrap();
        let mean = geometric_mean(&s.inverse().unwrap(), &target, t).unwrap();
        // κ(S) = 1e4 enters through the inverse.
        assert!(relative_difference(a.as_ref(), mean.as_mat()) < 40.0 * EPS * 1e4, "t = {t}");
    }
    assert!(solution.metric(-0.1).is_err() && solution.metric(f64::NAN).is_err());
}
