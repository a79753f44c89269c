//! The laws of the geometric mean and of the two distances, on random matrices.
//!
//! Each law is an identity between two ways of computing one matrix, so both sides carry rounding. The
//! mean of A and B is computed through the pencil (B, A), whose eigenvectors are as accurate as
//! κ(A)·κ(B) allows; `allowed` is that, times d and a small factor.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, gaussian, orthogonal, relative_difference, spd, with_spectrum};
use mahala::Mat;
use mahala::data::Random;
use mahala::geometry::{
    Geodesic, Spd, geometric_mean, logdet_divergence, riemannian_distance, symmetrized_logdet_divergence,
};
use proptest::prelude::*;

/// Two matrices of one dimension with condition numbers up to 1e4, and a place on the path.
fn two_matrices() -> impl Strategy<Value = (Spd, Spd, f64)> {
    (1usize..=6, any::<u64>(), 0.0..4.0f64, 0.0..4.0f64, 0.0..=1.0f64).prop_map(|(d, seed, a, b, t)| {
        (spd(d, 10f64.powf(a), seed), spd(d, 10f64.powf(b), seed.wrapping_add(1)), t)
    })
}

/// What rounding may change, relative to the norm: d·eps·κ(A)·κ(B), times 8 for the steps of both sides.
fn allowed(a: &Spd, b: &Spd) -> f64 {
    8.0 * a.dimension() as f64 * EPS * a.condition().unwrap() * b.condition().unwrap()
}

fn assert_close(left: &Spd, right: &Spd, allowed: f64) -> Result<(), TestCaseError> {
    let error = relative_difference(left.as_mat(), right.as_mat());
    prop_assert!(error <= allowed, "{error:e} is above {allowed:e}");
    Ok(())
}

fn assert_same_number(left: f64, right: f64, allowed: f64) -> Result<(), TestCaseError> {
    prop_assert!((left - right).abs() <= allowed, "{left} and {right} differ by more than {allowed:e}");
    Ok(())
}

fn times(factor: f64, a: &Spd) -> Spd {
    let d = a.dimension();
    Spd::new(Mat::from_fn(d, d, |i, j| factor * a.as_mat()[(i, j)])).unwrap()
}

/// `MᵀAM`
fn congruent(m: &Mat<f64>, a: &Spd) -> Spd {
    Spd::new(m.transpose() * a.as_mat() * m).unwrap()
}

/// A matrix with singular values between 1 and 3.
fn mild(d: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed, 11);
    let (u, v) = (orthogonal(d, &mut random), orthogonal(d, &mut random));
    let stretch: Vec<f64> = (0..d).map(|_| 1.0 + 2.0 * random.uniform()).collect();
    Mat::from_fn(d, d, |i, j| (0..d).map(|k| u[(i, k)] * stretch[k] * v[(j, k)]).sum())
}

proptest! {
    #[test]
    fn the_path_begins_at_a_and_ends_at_b((a, b, _) in two_matrices()) {
        let path = Geodesic::between(&a, &b).unwrap();
        // At t = 0 and t = 1 the pencil's eigenvectors cancel: only κ(A) remains.
        let allowed = 8.0 * a.dimension() as f64 * EPS * a.condition().unwrap();
        assert_close(&path.at(0.0).unwrap(), &a, allowed)?;
        assert_close(&path.at(1.0).unwrap(), &b, allowed)?;
    }

    #[test]
    fn the_path_from_an_inverse_is_the_path_from_the_inverse((s, d, t) in two_matrices()) {
        let direct = Geodesic::from_inverse(&s, &d).unwrap().at(t).unwrap();
        let inverted = geometric_mean(&s.inverse().unwrap(), &d, t).unwrap();
        assert_close(&direct, &inverted, allowed(&s, &d))?;
    }

    #[test]
    fn swapping_the_ends_turns_the_path_around((a, b, t) in two_matrices()) {
        let swapped = geometric_mean(&b, &a, 1.0 - t).unwrap();
        assert_close(&geometric_mean(&a, &b, t).unwrap(), &swapped, allowed(&a, &b))?;
    }

    #[test]
    fn the_inverse_of_a_mean_is_the_mean_of_the_inverses((a, b, t) in two_matrices()) {
        let inverse = geometric_mean(&a, &b, t).unwrap().inverse().unwrap();
        let of_inverses = geometric_mean(&a.inverse().unwrap(), &b.inverse().unwrap(), t).unwrap();
        assert_close(&inverse, &of_inverses, allowed(&a, &b))?;
    }

    #[test]
    fn a_congruence_passes_through_the_mean((a, b, t) in two_matrices(), seed in any::<u64>()) {
        let m = mild(a.dimension(), seed);
        let outside = congruent(&m, &geometric_mean(&a, &b, t).unwrap());
        let inside = geometric_mean(&congruent(&m, &a), &congruent(&m, &b), t).unwrap();
        // The congruence multiplies each condition number by up to 9.
        assert_close(&outside, &inside, 81.0 * allowed(&a, &b))?;
    }

    #[test]
    fn the_determinant_is_the_weighted_product_of_determinants((a, b, t) in two_matrices()) {
        let mean = geometric_mean(&a, &b, t).unwrap();
        let expected = (1.0 - t) * a.log_det() + t * b.log_det();
        // log det of a computed matrix is off by d·(relative error of the matrix)·(its condition).
        let allowed = a.dimension() as f64 * allowed(&a, &b);
        assert_same_number(mean.log_det(), expected, allowed)?;
    }

    #[test]
    fn factors_come_out_with_their_share((a, b, t) in two_matrices(), p in -20.0..20.0f64, q in -20.0..20.0f64) {
        let (alpha, beta) = (10f64.powf(p), 10f64.powf(q));
        let inside = geometric_mean(&times(alpha, &a), &times(beta, &b), t).unwrap();
        let outside = times(alpha.powf(1.0 - t) * beta.powf(t), &geometric_mean(&a, &b, t).unwrap());
        // exp(t·log λ) with |log λ| up to 100 adds 100 roundings.
        assert_close(&inside, &outside, allowed(&a, &b) + 200.0 * EPS)?;
    }

    #[test]
    fn a_path_between_points_of_a_path_stays_on_it(
        (a, b, t) in two_matrices(), s in 0.0..=1.0f64, u in 0.0..=1.0f64,
    ) {
        let path = Geodesic::between(&a, &b).unwrap();
        let nested = geometric_mean(&path.at(s).unwrap(), &path.at(u).unwrap(), t).unwrap();
        let direct = path.at((1.0 - t) * s + t * u).unwrap();
        // The points between are no worse conditioned than the product of the ends.
        assert_close(&nested, &direct, 4.0 * allowed(&a, &b))?;
    }

    #[test]
    fn commuting_matrices_have_the_mean_of_numbers(
        d in 1usize..=6, seed in any::<u64>(), t in 0.0..=1.0f64,
    ) {
        let mut random = Random::new(seed, 0);
        let q = orthogonal(d, &mut random);
        let mut draw = || -> Vec<f64> { (0..d).map(|_| (2.0 * gaussian(&mut random)).exp()).collect() };
        let (x, y) = (draw(), draw());
        let mean: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x.powf(1.0 - t) * y.powf(t)).collect();
        let (a, b) = (with_spectrum(&q, &x), with_spectrum(&q, &y));
        let computed = geometric_mean(&a, &b, t).unwrap();
        assert_close(&computed, &with_spectrum(&q, &mean), allowed(&a, &b))?;
        // The same through powers: A^(1−t)·B^t.
        let product = a.power(1.0 - t).unwrap().as_mat() * b.power(t).unwrap().as_mat();
        prop_assert!(relative_difference(computed.as_mat(), product.as_ref()) <= allowed(&a, &b));
    }

    #[test]
    fn the_riemannian_distance_is_symmetric_and_invariant((a, b, _) in two_matrices(), seed in any::<u64>()) {
        let distance = riemannian_distance(&a, &b).unwrap();
        // A logarithm of an eigenvalue moves by the eigenvalue's relative error.
        let rounding = a.dimension() as f64 * allowed(&a, &b);
        assert_same_number(distance, riemannian_distance(&b, &a).unwrap(), rounding)?;
        let of_inverses = riemannian_distance(&a.inverse().unwrap(), &b.inverse().unwrap()).unwrap();
        assert_same_number(distance, of_inverses, rounding)?;
        let m = mild(a.dimension(), seed);
        let moved = riemannian_distance(&congruent(&m, &a), &congruent(&m, &b)).unwrap();
        assert_same_number(distance, moved, 81.0 * rounding)?;
    }

    #[test]
    fn the_riemannian_distance_obeys_the_triangle_inequality((a, b, _) in two_matrices(), seed in any::<u64>()) {
        let c = spd(a.dimension(), 100.0, seed);
        let direct = riemannian_distance(&a, &b).unwrap();
        let detour = riemannian_distance(&a, &c).unwrap() + riemannian_distance(&c, &b).unwrap();
        prop_assert!(direct <= detour + a.dimension() as f64 * allowed(&a, &b));
    }

    #[test]
    fn a_point_at_t_has_gone_the_share_t_of_the_way((a, b, t) in two_matrices()) {
        let path = Geodesic::between(&a, &b).unwrap();
        let rounding = a.dimension() as f64 * allowed(&a, &b);
        let gone = riemannian_distance(&a, &path.at(t).unwrap()).unwrap();
        assert_same_number(gone, t * path.length(), rounding)?;
    }

    #[test]
    fn the_divergences_are_not_negative_and_add_up((a, b, _) in two_matrices()) {
        let (ab, ba) = (logdet_divergence(&a, &b).unwrap(), logdet_divergence(&b, &a).unwrap());
        prop_assert!(ab >= 0.0 && ba >= 0.0);
        let both = symmetrized_logdet_divergence(&a, &b).unwrap();
        // Near μ = 1 a term is about ½log²μ, so an error of log μ counts with its square root.
        let size = ab + ba + (ab + ba).sqrt();
        assert_same_number(both, ab + ba, a.dimension() as f64 * allowed(&a, &b) * size)?;
        prop_assert!(logdet_divergence(&a, &a).unwrap() <= allowed(&a, &a));
    }
}

#[test]
fn small_eigenvalues_beside_large_ones_keep_their_logarithm() {
    // δ_R(I, diag(1, x)) = |log x| exactly, however far apart the two eigenvalues are.
    for x in [1e-20, 1e20, 1e100, 1e-100] {
        let distance = riemannian_distance(&Spd::identity(2), &Spd::diagonal(&[1.0, x]).unwrap()).unwrap();
        assert!((distance / x.ln().abs() - 1.0).abs() < 4.0 * EPS, "{x}: {distance}");
    }
}

#[test]
fn matrices_of_different_size_are_refused() {
    let error = Geodesic::between(&Spd::identity(2), &Spd::identity(3)).unwrap_err();
    assert_eq!(error.to_string(), "rows of the second matrix: 3 given, 2 expected");
    assert!(Geodesic::from_inverse(&Spd::identity(2), &Spd::identity(3)).is_err());
}
