//! Diagonal MMC: one weight for each column, by projected Newton steps.
//!
//! # Formula
//! ```text
//! min_{w ≥ 0}  h(w) = sᵀw − log g,     g = Σ_𝒟 √(wᵀx²),     s = diag(W)
//! ∇h = s − ∇g/g,     ∇²h = ∇g∇gᵀ/g² − ∇²g/g
//! ```
//! with w the weights of the columns; a pair's own weight multiplies its terms of W and g. h is convex. Newton's
//! step goes to the least point of the quadratic model whose weights are not negative (columns that would fall
//! below 0 are held there, one round after the other), and is halved until h falls enough. The start is the
//! multiple of (1, …, 1) at which h is least.

use crate::mmc::Sides;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Mat, Par};
use mahala::learner::{Outcome, Report};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::workspace::Workspace;
use std::ops::ControlFlow;

/// The diagonal A, and how it was reached.
pub(crate) fn learn_diagonal(
    sides: &Sides,
    tolerance: f64,
    max_iterations: usize,
    progress: &mut Progress<'_>,
) -> (Mat<f64>, Report) {
    let problem = Problem::new(sides);
    let d = problem.s.len();
    let mut w = vec![0.5 / problem.s.iter().sum::<f64>(); d];
    let (mut h, mut iterations) = (problem.value(&w), 0);
    let outcome = loop {
        let (gradient, hessian) = problem.derivatives(&w);
        let step = newton_step(&w, &gradient, &hessian);
        let Some((next, lower)) = problem.halved(&w, h, &gradient, &step) else { break Outcome::NoDescent };
        iterations += 1;
        let settled = h - lower <= tolerance * lower.abs();
        (w, h) = (next, lower);
        if let ControlFlow::Break(stop) = progress(Step::iteration(iterations, Some(h))) {
            let outcome = Outcome::from(stop);
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
    (a, Report { iterations, objective: Some(h), outcome, choice: None })
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
        // A pair of distance 0 would have an infinite derivative.
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

    /// Backtracking: the first of `w − step/2ⁱ` at which h is lower by 1e-4 of the decrease its slope predicts.
    fn halved(&self, w: &[f64], h: f64, gradient: &[f64], step: &[f64]) -> Option<(Vec<f64>, f64)> {
        let promised: f64 = gradient.iter().zip(step).map(|(g, p)| g * p).sum();
        let mut length = 1.0;
        for _ in 0..60 {
            let next: Vec<f64> = w.iter().zip(step).map(|(w, p)| (w - length * p).max(0.0)).collect();
            let lower = self.value(&next);
            if lower < h && lower <= h - 1e-4 * length * promised {
                return Some((next, lower));
            }
            length *= 0.5;
        }
        None
    }
}

/// The projected Newton step p, with `w − p ≥ 0`; a descent direction in any case.
fn newton_step(w: &[f64], gradient: &[f64], hessian: &Mat<f64>) -> Vec<f64> {
    let d = w.len();
    // A column whose weight is held at 0 moves by all it has.
    let mut held: Vec<bool> = (0..d).map(|j| w[j] <= 0.0 && gradient[j] >= 0.0).collect();
    for _ in 0..=d {
        let step = held_step(w, gradient, hessian, &held);
        let below: Vec<usize> = (0..d).filter(|&j| !held[j] && step[j] > w[j]).collect();
        if below.is_empty() {
            let downhill = gradient.iter().zip(&step).map(|(g, p)| g * p).sum::<f64>() > 0.0;
            if downhill {
                return step;
            }
            break;
        }
        below.into_iter().for_each(|j| held[j] = true);
    }
    // Column by column: each to the least point of its own parabola.
    (0..d).map(|j| (gradient[j] / hessian[(j, j)].max(f64::MIN_POSITIVE)).min(w[j])).collect()
}

/// The step to the least point of the quadratic model with the held columns at 0.
fn held_step(w: &[f64], gradient: &[f64], hessian: &Mat<f64>, held: &[bool]) -> Vec<f64> {
    let free: Vec<usize> = (0..w.len()).filter(|&j| !held[j]).collect();
    let mut step: Vec<f64> = (0..w.len()).map(|j| if held[j] { w[j] } else { 0.0 }).collect();
    if free.is_empty() {
        return step;
    }
    let pull = |i: usize| (0..w.len()).filter(|&j| held[j]).map(|j| hessian[(i, j)] * w[j]).sum::<f64>();
    // A ridge of the size of rounding, because pairs may be fewer than columns.
    let ridged = |i: usize, j: usize| {
        let ridge = if i == j { 1.0 + 1e-10 } else { 1.0 };
        ridge * hessian[(free[i], free[j])]
    };
    let part = Mat::from_fn(free.len(), free.len(), ridged);
    let mut solution = Mat::from_fn(free.len(), 1, |i, _| gradient[free[i]] - pull(free[i]));
    if let Ok(factor) = cholesky(part.as_ref(), "the Hessian", &mut Workspace::default()) {
        solve_lower_triangular_in_place(factor.as_ref(), solution.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(factor.transpose(), solution.as_mut(), Par::Seq);
    }
    free.iter().enumerate().for_each(|(i, &j)| step[j] = solution[(i, 0)]);
    step
}
