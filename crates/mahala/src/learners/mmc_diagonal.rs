//! MMC with one weight a column.
//!
//! # Formula
//! ```text
//! min_{w ≥ 0}  h(w) = sᵀw − log g,     g = Σ_𝒟 √(wᵀx²),     s = diag(W)
//! ∇h = s − ∇g/g,     ∇²h = ∇g∇gᵀ/g² − ∇²g/g
//! ```
//! h is convex. Newton's steps on the columns that are not held at 0 by a positive slope, each halved until h
//! falls enough; the start is the multiple of (1, …, 1) at which h is least.

use super::mmc::Sides;
use super::{Observer, Outcome, Report, Step};
use crate::linalg::{cholesky, product, weighted_gram};
use crate::memory::Spare;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};

/// The diagonal A, and how it was reached.
pub(super) fn learn_diagonal(
    sides: &Sides,
    tolerance: f64,
    max_iterations: usize,
    observer: &mut Observer<'_>,
) -> (Mat<f64>, Report) {
    let problem = Problem::new(sides);
    let d = problem.s.len();
    let mut w = vec![0.5 / problem.s.iter().sum::<f64>(); d];
    let (mut h, mut iterations) = (problem.value(&w), 0);
    let outcome = loop {
        let (gradient, hessian) = problem.derivatives(&w);
        let free: Vec<usize> = (0..d).filter(|&j| w[j] > 0.0 || gradient[j] < 0.0).collect();
        let step = newton_step(&gradient, &hessian, &free);
        let Some((next, lower)) = problem.halved(&w, h, &gradient, &step) else { break Outcome::NoDescent };
        iterations += 1;
        let settled = h - lower <= tolerance * lower.abs();
        (w, h) = (next, lower);
        if let Some(outcome) = observer(Step { iteration: iterations, objective: Some(h) }).outcome() {
            break outcome;
        }
        if settled {
            break Outcome::Converged;
        }
        if iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
    };
    let a = Mat::from_fn(d, d, |i, j| if i == j { w[i] } else { 0.0 });
    (a, Report { iterations, objective: Some(h), outcome })
}

struct Problem<'a> {
    s: Vec<f64>,
    /// The squared differences of dissimilar pairs, one a row.
    squares: Mat<f64>,
    weights: &'a [f64],
}

impl<'a> Problem<'a> {
    fn new(sides: &'a Sides) -> Self {
        let s = (0..sides.similar.ncols())
            // A column in which no pair differs changes nothing; its weight goes to 0.
            .map(|j| if sides.similar[(j, j)] > 0.0 { sides.similar[(j, j)] } else { 1.0 })
            .collect();
        let squares = Mat::from_fn(sides.x.nrows(), sides.x.ncols(), |i, j| sides.x[(i, j)].powi(2));
        Self { s, squares, weights: &sides.weights }
    }

    /// `√(wᵀx²)` of every dissimilar pair.
    fn distances(&self, w: &[f64]) -> Vec<f64> {
        let w = Mat::from_fn(w.len(), 1, |j, _| w[j]);
        product(self.squares.as_ref(), w.as_ref()).col(0).iter().map(|x| x.sqrt()).collect()
    }

    fn value(&self, w: &[f64]) -> f64 {
        let g: f64 = self.distances(w).iter().zip(self.weights).map(|(x, weight)| weight * x).sum();
        self.s.iter().zip(w).map(|(s, w)| s * w).sum::<f64>() - g.ln()
    }

    /// `∇h` and `∇²h`
    fn derivatives(&self, w: &[f64]) -> (Vec<f64>, Mat<f64>) {
        let distances = self.distances(w);
        let g: f64 = distances.iter().zip(self.weights).map(|(x, weight)| weight * x).sum();
        // A pair without any length would have an infinite slope.
        let least = 1e-6 * g / self.weights.iter().sum::<f64>();
        let scaled = |power: i32, factor: f64| -> Vec<f64> {
            let each = distances.iter().zip(self.weights);
            each.map(|(x, weight)| factor * weight / x.max(least).powi(power) / g).collect()
        };
        let first = scaled(1, 0.5);
        let slope = Mat::from_fn(first.len(), 1, |i, _| first[i]);
        let slope = product(self.squares.transpose(), slope.as_ref());
        let mut hessian = weighted_gram(self.squares.transpose(), &scaled(3, 0.25));
        for i in 0..w.len() {
            for j in 0..w.len() {
                hessian[(i, j)] += slope[(i, 0)] * slope[(j, 0)];
            }
        }
        ((0..w.len()).map(|j| self.s[j] - slope[(j, 0)]).collect(), hessian)
    }

    /// The first of `max(0, w − step/2ⁱ)` at which h is lower by a ten-thousandth of what its slope promises.
    fn halved(&self, w: &[f64], h: f64, gradient: &[f64], step: &[f64]) -> Option<(Vec<f64>, f64)> {
        let mut length = 1.0;
        for _ in 0..60 {
            let next: Vec<f64> = w.iter().zip(step).map(|(w, p)| (w - length * p).max(0.0)).collect();
            let promised: f64 = (0..w.len()).map(|j| gradient[j] * (w[j] - next[j])).sum();
            let lower = self.value(&next);
            if lower < h && lower <= h - 1e-4 * promised {
                return Some((next, lower));
            }
            length *= 0.5;
        }
        None
    }
}

/// `H⁻¹∇h` over the free columns, 0 in the others; `∇h` alone where H cannot be factorised.
fn newton_step(gradient: &[f64], hessian: &Mat<f64>, free: &[usize]) -> Vec<f64> {
    let mut step = vec![0.0; gradient.len()];
    if free.is_empty() {
        return step;
    }
    // A ridge of rounding's size, for pairs may be fewer than columns.
    let entry = |i: usize, j: usize| {
        let ridge = if i == j { 1.0 + 1e-10 } else { 1.0 };
        ridge * hessian[(free[i], free[j])]
    };
    let part = Mat::from_fn(free.len(), free.len(), entry);
    let mut solution = Mat::from_fn(free.len(), 1, |i, _| gradient[free[i]]);
    if let Ok(factor) = cholesky(part.as_ref(), "the Hessian", &mut Spare::default()) {
        solve_lower_triangular_in_place(factor.as_ref(), solution.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(factor.transpose(), solution.as_mut(), Par::Seq);
    }
    free.iter().enumerate().for_each(|(i, &j)| step[j] = solution[(i, 0)]);
    step
}
