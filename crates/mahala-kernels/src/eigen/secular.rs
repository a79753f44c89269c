//! The secular equation `1/ρ + Σ z_i²/(d_i − λ) = 0`, whose roots are the eigenvalues of `diag(d) + ρ·zzᵀ`.
//!
//! Between two neighbouring poles the function rises from −∞ to ∞ and has one root. A root is stored as its distance τ from
//! the nearer pole, so that every difference `d_i − λ = (d_i − pole) − τ` has full relative accuracy, however close the root is
//! to the pole: the eigenvectors are computed from these differences (Li 1993, LAPACK's `laed4`).
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::simd::{as_lanes, as_lanes_mut, sum_lanes, with_lanes};
use crate::view::{column, column_mut};
use faer::MatMut;
use pulp::{Arch, Simd, WithSimd};

const EPSILON: f64 = f64::EPSILON / 2.0;
/// The limit of steps for one root: they converge superlinearly, with bisection as the fallback.
const MAX_STEPS: usize = 100;

/// The secular equation, to be solved for the roots `first..`.
pub struct Roots<'a> {
    /// The poles, ascending, distinct.
    pub d: &'a [f64],
    /// The vector of the rank-one update; no entry is 0.
    pub z: &'a [f64],
    /// The weight of the rank-one update.
    pub rho: f64,
    /// The first root to be found.
    pub first: usize,
}

impl Roots<'_> {
    /// Finds as many roots as there are `values`: writes `d_i − λ_j` into column `j − first`, and returns for each i the factor
    /// of these roots in `−ẑ_i² = Π_j (d_i − λ_j) / Π_{j≠i} (d_i − d_j)`. `None` if an iteration did not converge.
    pub fn solve(self, differences: MatMut<'_, f64>, values: &mut [f64]) -> Option<Vec<f64>> {
        Arch::new().dispatch(Solve { roots: self, differences, values })
    }
}

struct Solve<'a> {
    roots: Roots<'a>,
    differences: MatMut<'a, f64>,
    values: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = Option<Vec<f64>>;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Option<Vec<f64>> {
        let Roots { d, z, rho, first } = self.roots;
        let mut products = vec![1.0; d.len()];
        for (column, value) in self.values.iter_mut().enumerate() {
            let differences = &mut column_mut(self.differences.as_mut(), column)[..d.len()];
            *value = root(simd, d, z, rho, first + column, differences)?;
        }
        let (count, batched) = (self.values.len(), self.values.len() / BATCH * BATCH);
        for column in (0..batched).step_by(BATCH) {
            self.multiply::<BATCH>(&mut products, column);
        }
        for column in batched..count {
            self.multiply::<1>(&mut products, column);
        }
        Some(products)
    }
}

impl Solve<'_> {
    /// Multiplies each product by `(d_i − λ_j)/(d_i − d_j)` for `N` roots, or by the numerator alone where `i = j`.
    #[inline(always)]
    fn multiply<const N: usize>(&self, products: &mut [f64], first_column: usize) {
        let Roots { d, first, .. } = self.roots;
        let j = first + first_column;
        let poles: &[f64; N] = d[j..].first_chunk().expect("as many poles as roots");
        let mut columns: [&[f64]; N] = [&[]; N];
        for (k, to) in (first_column..).zip(&mut columns) {
            *to = &column(self.differences.as_ref(), k)[..d.len()];
        }
        let mut own = [0.0; N];
        for (k, own) in own.iter_mut().enumerate() {
            *own = products[j + k];
            for (l, column) in columns.iter().enumerate() {
                *own *= if l == k { column[j + k] } else { column[j + k] / (poles[k] - poles[l]) };
            }
        }
        for (i, product) in products[..d.len()].iter_mut().enumerate() {
            let (mut above, mut below) = (columns[0][i], d[i] - poles[0]);
            for k in 1..N {
                above *= columns[k][i];
                below *= d[i] - poles[k];
            }
            *product *= above / below;
        }
        products[j..j + N].copy_from_slice(&own);
    }
}

/// The unit eigenvector `z_i/(d_i − λ)` from the differences (overwritten), its entries in the order `grouped`.
pub fn eigenvector(z: &[f64], differences: &mut [f64], grouped: &[usize], to: &mut [f64]) {
    Arch::new().dispatch(Vector { z, differences: &mut differences[..z.len()], grouped, to });
}

struct Vector<'a> {
    z: &'a [f64],
    differences: &'a mut [f64],
    grouped: &'a [usize],
    to: &'a mut [f64],
}

impl WithSimd for Vector<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { z, differences, grouped, to } = self;
        let square = with_lanes!(S, divide(simd, z, &mut *differences));
        let scale = 1.0 / square.sqrt();
        to.iter_mut().zip(grouped).for_each(|(to, &i)| *to = scale * differences[i]);
    }
}

/// `x ← z/x`, entry by entry; returns the sum of the squares.
#[inline(always)]
fn divide<S: Simd, const R: usize>(simd: S, z: &[f64], x: &mut [f64]) -> f64 {
    let mut squares = [simd.splat_f64s(0.0); R];
    let ((xs, x_rest), (zs, z_rest)) = (as_lanes_mut::<S, R>(x), as_lanes::<S, R>(z));
    let ((x_batches, x_left), (z_batches, z_left)) = (xs.as_chunks_mut::<BATCH>(), zs.as_chunks::<BATCH>());
    for (x, z) in x_batches.iter_mut().zip(z_batches) {
        *x = batch_divide(simd, *z, *x);
        for x in x {
            for r in 0..R {
                squares[r] = simd.mul_add_e_f64s(x[r], x[r], squares[r]);
            }
        }
    }
    for (x, z) in x_left.iter_mut().zip(z_left) {
        for r in 0..R {
            x[r] = simd.div_f64s(z[r], x[r]);
            squares[r] = simd.mul_add_e_f64s(x[r], x[r], squares[r]);
        }
    }
    let mut square = sum_lanes(simd, squares);
    for (x, z) in x_rest.iter_mut().zip(z_rest) {
        *x = z / *x;
        square += *x * *x;
    }
    square
}

/// `Σ z²/(d − λ)` and its derivative, over the poles below the root and over those above.
#[derive(Clone, Copy)]
struct Sums {
    below: f64,
    below_slope: f64,
    above: f64,
    above_slope: f64,
}

#[inline(always)]
fn evaluate<S: Simd>(simd: S, d: &[f64], z: &[f64], j: usize, pole: f64, tau: f64) -> Sums {
    let (below, below_slope) = with_lanes!(S, sums(simd, &d[..=j], &z[..=j], pole, tau));
    let (above, above_slope) = with_lanes!(S, sums(simd, &d[j + 1..], &z[j + 1..], pole, tau));
    Sums { below, below_slope, above, above_slope }
}

/// Quotients of one batch inversion: a division takes as long as a dozen products.
const BATCH: usize = 4;

/// Four quotients `z/x` with one division (batch inversion, Montgomery's trick), for differences x. After deflation the poles
/// are at most 2 in size, at least some 1e-15 apart, each with a z at least that large, so a root is 1e-31 or more from its
/// pole, and a product of four differences neither overflows nor underflows.
#[inline(always)]
fn batch_divide<S: Simd, const R: usize>(
    simd: S,
    z: [[S::f64s; R]; BATCH],
    x: [[S::f64s; R]; BATCH],
) -> [[S::f64s; R]; BATCH] {
    let mut all = x;
    for r in 0..R {
        let (low, high) = (simd.mul_f64s(x[0][r], x[1][r]), simd.mul_f64s(x[2][r], x[3][r]));
        let inverse = simd.div_f64s(simd.splat_f64s(1.0), simd.mul_f64s(low, high));
        let (of_low, of_high) = (simd.mul_f64s(inverse, high), simd.mul_f64s(inverse, low));
        all[0][r] = simd.mul_f64s(z[0][r], simd.mul_f64s(of_low, x[1][r]));
        all[1][r] = simd.mul_f64s(z[1][r], simd.mul_f64s(of_low, x[0][r]));
        all[2][r] = simd.mul_f64s(z[2][r], simd.mul_f64s(of_high, x[3][r]));
        all[3][r] = simd.mul_f64s(z[3][r], simd.mul_f64s(of_high, x[2][r]));
    }
    all
}

/// `Σ z²/((d − pole) − τ)` and its derivative.
#[inline(always)]
fn sums<S: Simd, const R: usize>(simd: S, d: &[f64], z: &[f64], pole: f64, tau: f64) -> (f64, f64) {
    let (poles, taus) = (simd.splat_f64s(pole), simd.splat_f64s(tau));
    let zero = simd.splat_f64s(0.0);
    let (mut values, mut slopes) = ([[zero; R]; 2], [[zero; R]; 2]);
    let ((ds, d_rest), (zs, z_rest)) = (as_lanes::<S, R>(d), as_lanes::<S, R>(z));
    let ((d_batches, d_left), (z_batches, z_left)) = (ds.as_chunks::<BATCH>(), zs.as_chunks::<BATCH>());
    for (d, z) in d_batches.iter().zip(z_batches) {
        let mut x = *d;
        for x in x.as_flattened_mut() {
            *x = simd.sub_f64s(simd.sub_f64s(*x, poles), taus);
        }
        let quotients = batch_divide(simd, *z, x);
        for k in 0..BATCH {
            for r in 0..R {
                let quotient = quotients[k][r];
                values[k % 2][r] = simd.mul_add_e_f64s(z[k][r], quotient, values[k % 2][r]);
                slopes[k % 2][r] = simd.mul_add_e_f64s(quotient, quotient, slopes[k % 2][r]);
            }
        }
    }
    for (d, z) in d_left.iter().zip(z_left) {
        for r in 0..R {
            let quotient = simd.div_f64s(z[r], simd.sub_f64s(simd.sub_f64s(d[r], poles), taus));
            values[0][r] = simd.mul_add_e_f64s(z[r], quotient, values[0][r]);
            slopes[0][r] = simd.mul_add_e_f64s(quotient, quotient, slopes[0][r]);
        }
    }
    for r in 0..R {
        values[0][r] = simd.add_f64s(values[0][r], values[1][r]);
        slopes[0][r] = simd.add_f64s(slopes[0][r], slopes[1][r]);
    }
    let (mut value, mut slope) = (sum_lanes(simd, values[0]), sum_lanes(simd, slopes[0]));
    for (d, z) in d_rest.iter().zip(z_rest) {
        let quotient = z / ((d - pole) - tau);
        value += z * quotient;
        slope += quotient * quotient;
    }
    (value, slope)
}

#[inline(always)]
fn root<S: Simd>(simd: S, d: &[f64], z: &[f64], rho: f64, j: usize, differences: &mut [f64]) -> Option<f64> {
    let k = d.len();
    let constant = 1.0 / rho;
    // The nearer pole, the bracket and the initial guess.
    let (pole, mut low, mut high, mut tau);
    if j + 1 == k {
        pole = d[j];
        (low, high) = (0.0, rho * z.iter().map(|z| z * z).sum::<f64>());
        tau = if k == 1 { high } else { 0.5 * high };
        if k == 1 {
            differences[0] = -tau;
            return Some(pole + tau);
        }
    } else {
        let gap = d[j + 1] - d[j];
        let middle = 0.5 * gap;
        let at = evaluate(simd, d, z, j, d[j], middle);
        let (s, t) = (z[j] * z[j], z[j + 1] * z[j + 1]);
        // The terms of all other poles, evaluated in the middle of the interval.
        let rest = constant + (at.below + s / middle) + (at.above - t / middle);
        let f = constant + at.below + at.above;
        if f >= 0.0 {
            pole = d[j];
            (low, high) = (0.0, middle);
            // rest·τ² − a·τ + s·gap = 0
            let a = rest * gap + s + t;
            let discriminant = (a * a - 4.0 * rest * s * gap).max(0.0).sqrt();
            tau =
                if a > 0.0 { 2.0 * s * gap / (a + discriminant) } else { (a - discriminant) / (2.0 * rest) };
        } else {
            pole = d[j + 1];
            (low, high) = (-middle, 0.0);
            let a = -rest * gap + s + t;
            let discriminant = (a * a + 4.0 * rest * t * gap).max(0.0).sqrt();
            tau =
                if a < 0.0 { 2.0 * t * gap / (a - discriminant) } else { -(a + discriminant) / (2.0 * rest) };
        }
    }
    let (left, right) = (d[j] - pole, if j + 1 < k { d[j + 1] - pole } else { f64::INFINITY });
    let mut found = false;
    for _ in 0..MAX_STEPS {
        if !(tau > low && tau < high) {
            tau = low + 0.5 * (high - low);
            if tau == low || tau == high {
                found = true;
                break;
            }
        }
        let at = evaluate(simd, d, z, j, pole, tau);
        let f = constant + at.below + at.above;
        let slope = at.below_slope + at.above_slope;
        let rounding = 8.0 * (at.above - at.below) + constant + f.abs() + tau.abs() * slope;
        if f.abs() <= EPSILON * rounding {
            found = true;
            break;
        }
        if f < 0.0 {
            low = tau;
        } else {
            high = tau;
        }
        // Li's middle way: a rational interpolant with the two adjacent poles and the derivatives of both sums.
        let step = if j + 1 < k {
            let (to_left, to_right) = (left - tau, right - tau);
            let c = f - to_left * at.below_slope - to_right * at.above_slope;
            let a = (to_left + to_right) * f - to_left * to_right * slope;
            let b = to_left * to_right * f;
            let discriminant = (a * a - 4.0 * b * c).max(0.0).sqrt();
            if a <= 0.0 { (a - discriminant) / (2.0 * c) } else { 2.0 * b / (a + discriminant) }
        } else {
            let to_left = left - tau;
            let c = f - to_left * at.below_slope;
            // c + s/(δ − x) = 0 with s = to_left²·slope
            let s = to_left * to_left * at.below_slope;
            (to_left + s / c).max(low - tau)
        };
        let step = if f * step < 0.0 { step } else { -f / slope };
        let next = tau + step;
        if next == tau {
            found = true;
            break;
        }
        tau = next;
    }
    differences.iter_mut().zip(d).for_each(|(difference, d)| *difference = (d - pole) - tau);
    found.then_some(pole + tau)
}
