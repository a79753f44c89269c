//! Accuracy of the eigensolvers at every order from 1 to 70 and at every switch of algorithm.
//!
//! The ratios are those of LAPACK's test suite (`dsyt21`, 1-norms): residual `‖AV − VΛ‖/(n·eps·‖A‖)` and orthogonality
//! `‖VᵀV − I‖/(n·eps)`. LAPACK accepts ratios up to 30; a backward stable solver stays below 10, a single wrong rotation or
//! reflector gives 1e10 and more.

use crate::blas::product;
use crate::eigen::graded::{LogEigen, of_gram, of_product, of_quotient};
use crate::eigen::{Eigen, eigen};
use crate::random::Random;
use crate::scaling::times_power_of_two;
use crate::workspace::Workspace;
use faer::{Mat, MatRef};

/// The worst ratios seen with AVX-512 are 1.3 (residual, order 4) and 2.1 (orthogonality, order 14).
const LARGEST_RATIO: f64 = 5.0;

/// Orders 1 to 70: 2 → 3 (one Jacobi rotation to QR iteration), 32 → 33 (to divide and conquer), 64 → 65 (one split to two).
fn small_orders() -> impl Iterator<Item = usize> {
    1..=70
}

/// The larger switches: two threads from 128, a parallel merge from 256, a parallel pass of the tridiagonalisation from 500,
/// and four pieces of it from 1024.
const LARGE_ORDERS: [usize; 10] = [127, 128, 129, 255, 256, 257, 499, 501, 1023, 1025];

fn uniform(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed, 7);
    Mat::from_fn(rows, columns, |_, _| random.uniform() - 0.5)
}

fn symmetric(n: usize, entry: impl Fn(usize, usize) -> f64) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| entry(i.max(j), i.min(j)))
}

fn random(n: usize) -> Mat<f64> {
    let m = uniform(n, n, n as u64);
    symmetric(n, |i, j| m[(i, j)])
}

/// Three distinct eigenvalues, each repeated about n/3 times, in a random basis: `HDH` with `H = I − 2vvᵀ/vᵀv`.
fn clustered(n: usize) -> Mat<f64> {
    let v = uniform(n, 1, 100 + n as u64);
    let norm: f64 = (0..n).map(|i| v[(i, 0)] * v[(i, 0)]).sum();
    let value = |k: usize| [1.0, -2.0, 3.0][k % 3];
    let along: f64 = (0..n).map(|k| value(k) * v[(k, 0)] * v[(k, 0)]).sum::<f64>() / norm;
    let rank_two = |i: usize, j: usize| {
        let both = 4.0 * along - 2.0 * (value(i) + value(j));
        both * v[(i, 0)] * v[(j, 0)] / norm
    };
    symmetric(n, |i, j| rank_two(i, j) + if i == j { value(i) } else { 0.0 })
}

fn rank_deficient(n: usize) -> Mat<f64> {
    let g = uniform(n, n.div_ceil(3), 200 + n as u64);
    let gram = product(g.as_ref(), g.transpose());
    symmetric(n, |i, j| gram[(i, j)])
}

/// Diagonally dominant, in units from 1 to 1e-12 in no order.
fn graded(n: usize) -> Mat<f64> {
    let m = uniform(n, n, 300 + n as u64);
    let unit = |i: usize| 10f64.powf(-12.0 * ((i * 17) % n) as f64 / n as f64);
    symmetric(n, |i, j| unit(i) * unit(j) * if i == j { 1.0 } else { m[(i, j)] / n as f64 })
}

/// Equal and negative entries among them.
fn diagonal(n: usize) -> Mat<f64> {
    let m = uniform(n, 1, 400 + n as u64);
    symmetric(
        n,
        |i, j| if i == j { (8.0 * m[(i, 0)]).round() + f64::from(u8::from(i % 5 == 0)) * 0.1 } else { 0.0 },
    )
}

fn norm_1(m: MatRef<'_, f64>) -> f64 {
    m.col_iter().map(|column| column.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max)
}

/// The residual and the orthogonality, over `n·eps`.
fn ratios(a: &Mat<f64>, solved: &Eigen) -> [f64; 2] {
    let (n, v) = (a.nrows(), solved.vectors.as_ref());
    let mut residual = product(a.as_ref(), v);
    residual.col_iter_mut().zip(v.col_iter()).zip(&solved.values).for_each(|((to, v), value)| {
        to.iter_mut().zip(v.iter()).for_each(|(to, v)| *to -= value * v);
    });
    let mut gram = product(v.transpose(), v);
    (0..n).for_each(|i| gram[(i, i)] -= 1.0);
    let rounding = n as f64 * f64::EPSILON;
    let size = norm_1(a.as_ref()).max(f64::MIN_POSITIVE);
    [norm_1(residual.as_ref()) / size / rounding, norm_1(gram.as_ref()) / rounding]
}

/// Solves a matrix of which the upper triangle is hidden, and checks order, residual and orthogonality.
fn solved(name: &str, a: &Mat<f64>) -> Eigen {
    let n = a.nrows();
    let lower = Mat::from_fn(n, n, |i, j| if i < j { f64::NAN } else { a[(i, j)] });
    let solved = eigen(lower.as_ref(), "A", &mut Workspace::default()).unwrap();
    assert!(solved.values.is_sorted(), "{name} of order {n}: ascending");
    let [residual, orthogonality] = ratios(a, &solved);
    assert!(residual < LARGEST_RATIO, "{name} of order {n}: residual {residual}");
    assert!(orthogonality < LARGEST_RATIO, "{name} of order {n}: orthogonality {orthogonality}");
    solved
}

#[test]
fn random_matrices_of_every_order_are_solved_to_rounding() {
    small_orders().chain(LARGE_ORDERS).for_each(|n| drop(solved("random", &random(n))));
}

#[test]
fn repeated_eigenvalues_are_found_with_orthogonal_vectors() {
    for n in small_orders().chain(LARGE_ORDERS) {
        let found = solved("clustered", &clustered(n)).values;
        let mut exact: Vec<f64> = (0..n).map(|k| [1.0, -2.0, 3.0][k % 3]).collect();
        exact.sort_by(f64::total_cmp);
        // Weyl: as far off as the backward error, n·eps·‖A‖ times the ratio, and the rounding of the entries themselves.
        let bound = 2.0 * LARGEST_RATIO * n as f64 * f64::EPSILON * 3.0;
        let error = found.iter().zip(&exact).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(error < bound, "{n}: {error:e}");
    }
}

#[test]
fn diagonal_matrices_are_solved_without_rounding() {
    for n in small_orders().chain([127, 257, 1025]) {
        let a = diagonal(n);
        let mut exact: Vec<f64> = (0..n).map(|i| a[(i, i)]).collect();
        exact.sort_by(f64::total_cmp);
        assert!(solved("diagonal", &a).values.iter().zip(&exact).all(|(x, y)| x == y), "{n}");
    }
}

#[test]
fn rank_deficient_matrices_have_eigenvalues_at_rounding() {
    for n in small_orders().chain([128, 257]) {
        let a = rank_deficient(n);
        let Eigen { values, .. } = solved("rank-deficient", &a);
        let rounding = LARGEST_RATIO * n as f64 * f64::EPSILON * norm_1(a.as_ref());
        let (zero, positive) = values.split_at(n - n.div_ceil(3));
        assert!(zero.iter().all(|x| x.abs() < rounding), "{n}: {zero:?}");
        assert!(positive.iter().all(|x| *x > rounding), "{n}: {positive:?}");
    }
}

#[test]
fn graded_and_zero_matrices_are_solved_to_the_norm() {
    for n in small_orders().chain([128, 257, 501]) {
        solved("graded", &graded(n));
        assert!(solved("zero", &Mat::zeros(n, n)).values.iter().all(|x| *x == 0.0), "{n}");
    }
}

/// An orthogonal matrix whose entries are dyadic fractions: a product of reflections `I − (2/k)·vvᵀ`, `v` of ±1 on k = 2^m
/// positions. No product rounds, so it is orthogonal exactly.
fn exact_orthogonal(n: usize) -> Mat<f64> {
    let mut random = Random::new(500 + n as u64, 0);
    let mut q = Mat::<f64>::identity(n, n);
    // Four reflections of up to 16 positions: entries are multiples of 2⁻¹², far from 53 bits.
    let k = 1 << n.ilog2().min(4);
    for round in 0..4 {
        let v: Vec<(usize, f64)> = (0..k)
            .map(|i| ((i * n / k + round * 5) % n, if random.uniform() < 0.5 { 1.0 } else { -1.0 }))
            .collect();
        for j in 0..n {
            let along: f64 = v.iter().map(|&(i, sign)| sign * q[(i, j)]).sum();
            v.iter().for_each(|&(i, sign)| q[(i, j)] -= 2.0 / k as f64 * along * sign);
        }
    }
    q
}

/// Distinct exponents in no order, from −5n/2 to 5n/2: singular values 2^e that span up to 105 orders of magnitude.
#[allow(clippy::cast_possible_wrap, reason = "indices of small matrices")]
fn exponents(n: usize) -> Vec<i32> {
    // A prime that does not divide n makes a permutation; n is below 3·7·11.
    let step = [3, 7, 11].into_iter().find(|prime| !n.is_multiple_of(*prime)).unwrap_or(1);
    (0..n).map(|i| 5 * (((i * step) % n) as i32) - 5 * n as i32 / 2).collect()
}

/// A singular value has a relative error of some `n·eps·cond(B)` for `G = D₁BD₂` (here `cond(B)` is 1 or 3), its square twice
/// that; the logarithm itself is rounded to `eps·|log λ|`. The worst error seen is 0.6·n·eps above that.
fn tolerance(n: usize, log: f64) -> f64 {
    f64::EPSILON * (2.0 * (n as f64 + 8.0) + log.abs())
}

fn assert_logs(name: &str, found: &LogEigen, mut exact: Vec<f64>) {
    exact.sort_by(f64::total_cmp);
    let n = exact.len();
    for (found, exact) in found.log_values.iter().zip(&exact) {
        let error = (found - exact).abs();
        assert!(error <= tolerance(n, *exact), "{name} of order {n}: {found} for {exact}, off by {error:e}");
    }
}

#[test]
fn eigenvalues_known_exactly_keep_all_their_digits() {
    for n in small_orders() {
        let (q, exponents) = (exact_orthogonal(n), exponents(n));
        let identity = Mat::<f64>::identity(n, n);
        assert_eq!(q.transpose() * &q, identity, "no rounding");
        let logs: Vec<f64> = exponents.iter().map(|&e| 2.0 * f64::from(e) * std::f64::consts::LN_2).collect();
        // G = DQ has the singular values D and the right singular vectors Qᵀ.
        let g = Mat::from_fn(n, n, |i, j| times_power_of_two(q[(i, j)], exponents[i]));
        let rows = of_gram(g.as_ref(), "G").unwrap();
        assert_logs("GᵀG", &rows, logs.clone());
        let order = crate::order::ascending(&logs);
        let vectors = product(q.as_ref(), rows.vectors.as_ref());
        for (k, &i) in order.iter().enumerate() {
            // Neighbouring values differ by a factor of 32, so vectors are as accurate as values.
            let along = vectors[(i, k)].abs();
            assert!((along - 1.0).abs() < tolerance(n, 0.0), "vector {k} of order {n}: {along}");
        }
        assert_logs("GGᵀ", &of_gram(g.transpose(), "G").unwrap(), logs.clone());
        assert_logs("LᵀRRᵀL", &of_product(identity.as_ref(), g.transpose(), "M").unwrap(), logs.clone());
        let l = Mat::from_fn(n, n, |i, j| if i == j { times_power_of_two(1.0, -exponents[i]) } else { 0.0 });
        assert_logs("L⁻¹RRᵀL⁻ᵀ", &of_quotient(l.as_ref(), q.as_ref(), "M").unwrap(), logs);
    }
}

#[test]
#[allow(clippy::cast_possible_wrap, reason = "indices of small matrices")]
fn eigenvalues_of_a_graded_matrix_and_of_its_inverse_are_reciprocal() {
    // G = BD, B bidiagonal with ones and halves (cond < 3), D of powers of two; G⁻¹ has entries ±2^k: both are exact.
    for n in small_orders() {
        let exponents = exponents(n);
        let g = Mat::from_fn(n, n, |i, j| match i.wrapping_sub(j) {
            0 => times_power_of_two(1.0, exponents[j]),
            1 => times_power_of_two(0.5, exponents[j]),
            _ => 0.0,
        });
        let inverse = Mat::from_fn(n, n, |i, j| {
            let sign = if (i + j).is_multiple_of(2) { 1.0 } else { -1.0 };
            if i < j { 0.0 } else { times_power_of_two(sign, j as i32 - i as i32 - exponents[i]) }
        });
        let of_inverse = of_gram(inverse.as_ref(), "G⁻¹").unwrap().log_values;
        let reciprocal = of_inverse.iter().map(|log| -log).collect();
        assert_logs("a matrix with inverse", &of_gram(g.as_ref(), "G").unwrap(), reciprocal);
    }
}
