//! Cyclic Bregman projections: the solver of ITML.

use crate::constraints::{Bounds, Constraints};
use faer::MatRef;
use mahala::learner::Outcome;
use mahala::progress::{Progress, Step};
use std::ops::ControlFlow;

/// The state of the cyclic projections.
pub(super) struct Projections<'a> {
    constraints: &'a Constraints,
    bounds: Bounds,
    gamma: f64,
    /// `A`, row by row; exactly symmetric.
    a: Vec<f64>,
    /// `Ax` of the current pair.
    ax: Vec<f64>,
    lambda: Vec<f64>,
    /// `1/ξ` of each pair.
    inverse_xi: Vec<f64>,
    log_det: f64,
    pub(super) done: usize,
}

impl<'a> Projections<'a> {
    pub(super) fn new(constraints: &'a Constraints, bounds: Bounds, gamma: f64) -> Self {
        let (m, d) = (constraints.len(), constraints.columns());
        let mut a = vec![0.0; d * d];
        a.iter_mut().step_by(d + 1).for_each(|x| *x = 1.0);
        let mut state = Self {
            constraints,
            bounds,
            gamma,
            a,
            ax: vec![0.0; d],
            lambda: vec![0.0; m],
            inverse_xi: Vec::new(),
            log_det: 0.0,
            done: 0,
        };
        state.inverse_xi = (0..m).map(|i| 1.0 / state.first_bound(i)).collect();
        state
    }

    pub(super) fn a(&self) -> MatRef<'_, f64> {
        let d = self.constraints.columns();
        MatRef::from_row_major_slice(&self.a, d, d)
    }

    /// The initial bound `ξ⁰` of pair i.
    fn first_bound(&self, i: usize) -> f64 {
        if self.constraints.similar[i] { self.bounds.lower } else { self.bounds.upper }
    }

    /// Sweeps until λ converges or the progress stops it.
    pub(super) fn run(&mut self, limit: usize, tolerance: f64, progress: &mut Progress<'_>) -> Outcome {
        loop {
            let before = self.lambda.clone();
            for i in 0..self.constraints.len() {
                if self.done >= limit {
                    return Outcome::IterationLimit;
                }
                self.project(i);
                self.done += 1;
                let last = i + 1 == self.constraints.len();
                if last || self.done.is_multiple_of(1000) {
                    let step = Step::iteration(self.done, last.then(|| self.objective()));
                    if let ControlFlow::Break(stop) = progress(step) {
                        let outcome = Outcome::from(stop);
                        return outcome;
                    }
                }
            }
            let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let size = norm(&before) + norm(&self.lambda);
            let change: f64 = before.iter().zip(&self.lambda).map(|(a, b)| (a - b).abs()).sum();
            if change <= tolerance * size {
                return Outcome::Converged;
            }
        }
    }

    /// One Bregman projection.
    fn project(&mut self, i: usize) {
        let x = self.constraints.difference(i);
        let d = x.len();
        let delta = if self.constraints.similar[i] { 1.0 } else { -1.0 };
        let gamma = self.gamma * self.constraints.weights[i];
        // A is symmetric: rows serve as columns, and the sums run along memory.
        self.ax.fill(0.0);
        for (row, x) in self.a.chunks_exact(d).zip(x) {
            self.ax.iter_mut().zip(row).for_each(|(ax, a)| *ax += x * a);
        }
        let p: f64 = x.iter().zip(&self.ax).map(|(x, ax)| x * ax).sum();
        let alpha = self.lambda[i].min(gamma / (gamma + 1.0) * delta * (1.0 / p - self.inverse_xi[i]));
        let shrunk = 1.0 - delta * alpha * p;
        let beta = delta * alpha / shrunk;
        // Rounding may leave a direction of length 0, which no projection can restore.
        if alpha == 0.0 || p <= 0.0 || !beta.is_finite() {
            return;
        }
        self.lambda[i] -= alpha;
        self.inverse_xi[i] += delta * alpha / gamma;
        self.log_det -= shrunk.ln();
        // Scaled by √|β|, so that A stays symmetric to the bit.
        let root = beta.abs().sqrt();
        self.ax.iter_mut().for_each(|ax| *ax *= root);
        for (row, &left) in self.a.chunks_exact_mut(d).zip(&self.ax) {
            let left = left.copysign(left * beta);
            row.iter_mut().zip(&self.ax).for_each(|(a, right)| *a += left * right);
        }
    }

    /// `D_ld(A, I) + γ Σ w D_ld(ξ, ξ⁰)`
    pub(super) fn objective(&self) -> f64 {
        let d = self.constraints.columns();
        let trace: f64 = self.a.iter().step_by(d + 1).sum();
        let slack = |i: usize| {
            let ratio = 1.0 / (self.inverse_xi[i] * self.first_bound(i));
            self.constraints.weights[i] * (ratio - ratio.ln() - 1.0)
        };
        let slacks: f64 = (0..self.lambda.len()).map(slack).sum();
        trace - self.log_det - d as f64 + self.gamma * slacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::itml::tests::example;
    use faer::Mat;
    use mahala::geometry::Spd;
    use mahala::learner::Training;
    use mahala::progress::silent;

    /// Stationarity in A and ξ, dual and primal feasibility, complementary slackness.
    #[test]
    fn the_converged_metric_meets_the_conditions_of_optimality() {
        let (rows, pairs) = example();
        let constraints = Constraints::of(&Training::Paired(&rows, &pairs), "test", 0).unwrap();
        let bounds = Bounds { lower: 1.0, upper: 1.5 };
        for gamma in [0.01, 1.0, 10.0] {
            let mut state = Projections::new(&constraints, bounds, gamma);
            let outcome = state.run(10_000_000, 1e-12, &mut silent);
            assert_eq!(outcome, Outcome::Converged);
            let inverse = Spd::new(state.a().to_owned()).unwrap().inverse().unwrap();
            let mut expected = Mat::<f64>::identity(3, 3);
            let (mut active, mut idle) = (0, 0);
            for i in 0..constraints.len() {
                let (x, lambda) = (constraints.difference(i), state.lambda[i]);
                let delta = if constraints.similar[i] { 1.0 } else { -1.0 };
                let weight = gamma * constraints.weights[i];
                for (row, column) in (0..9).map(|at| (at / 3, at % 3)) {
                    expected[(row, column)] += delta * lambda * x[row] * x[column];
                }
                let xi = 1.0 / (1.0 / state.first_bound(i) - delta * lambda / weight);
                assert!((xi * state.inverse_xi[i] - 1.0).abs() < 1e-9, "stationary in xi");
                assert!(lambda >= 0.0 && xi > 0.0, "dual feasible");
                let p: f64 = (0..9).map(|at| x[at / 3] * state.a()[(at / 3, at % 3)] * x[at % 3]).sum();
                // The dual moves by 1e-12 a sweep at the end; what is left to go is some thousand times that.
                assert!(delta * (p / xi - 1.0) < 1e-7, "feasible: {p} {xi}");
                if lambda > 1e-7 {
                    active += 1;
                    assert!((p / xi - 1.0).abs() < 1e-7, "slack only without a multiplier: {p} {xi}");
                } else {
                    idle += 1;
                }
            }
            assert!(
                (inverse.as_mat() - &expected).norm_max() < 1e-9 * expected.norm_max(),
                "stationary in A"
            );
            assert!(active > 5 && idle > 5, "both kinds occur: {active} {idle}");
        }
    }

    #[test]
    fn the_objective_kept_along_the_way_is_that_of_the_matrix() {
        let (rows, pairs) = example();
        let constraints = Constraints::of(&Training::Paired(&rows, &pairs), "test", 0).unwrap();
        let mut state = Projections::new(&constraints, Bounds { lower: 0.3, upper: 4.0 }, 1.0);
        state.run(5000, 0.0, &mut silent);
        let log_det = Spd::new(state.a().to_owned()).unwrap().log_det();
        assert!((log_det - state.log_det).abs() < 1e-10, "{log_det} {}", state.log_det);
    }
}
