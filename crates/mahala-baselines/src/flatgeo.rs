//! FlatGeo: regression on fixed-rank matrices in the flat geometry (Meyer, Bonnabel, Sepulchre, JMLR 2011), in
//! one batch.
//!
//! # Formula
//! ```text
//! min_G f(G) = 1/m Σ_ij w_ij ½ max(0, ρ(d_A(x_i, x_j) − y))²,     A = GGᵀ,  G ∈ ℝ^{d×r},  m = Σ w_ij
//! ∇f(G) = 2/m Σ_ij w_ij ρ·max(0, ρ(d_A − y)) · x_ij x_ijᵀ G
//! ```
//! with ρ = +1, y = l for similar pairs (not farther apart than l) and ρ = −1, y = u for dissimilar pairs (not
//! nearer than u). (The GMML paper prints the two the other way round; so printed it would push similar
//! rows apart.) The geometry is flat: the gradient is the Euclidean one, a step is `G − s∇f`. The length s
//! is Armijo's: `f(G − s∇f) ≤ f(G) − ½s‖∇f‖²`, tried at twice the last one and halved until it holds, so
//! that f never rises.

use crate::constraints::{Bounds, Constraints, metric_of};
use faer::Mat;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Outcome, Report, SpanRule, Training, fields};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::eigen::eigen;
use mahala_kernels::reduce::squared_norm;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::ControlFlow;

/// Parameters of FlatGeo. An iteration is a step; the objective is f.
///
/// ```
/// use mahala::learner::{Learner, Training};
/// use mahala_baselines::FlatGeo;
/// use std::ops::ControlFlow;
/// use mahala::{Dataset, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let mut objectives = Vec::new();
/// let progress = &mut |step: mahala::progress::Step| {
///     objectives.extend(step.objective);
///     ControlFlow::Continue(())
/// };
/// FlatGeo::default().learn(&Training::Labelled(&data), progress)?;
/// assert!(objectives.is_sorted_by(|a, b| a >= b));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlatGeo {
    /// The rank r; full if None, and G starts at I. Below the full rank it starts at the principal axes of
    /// the differences.
    pub rank: Option<usize>,
    /// Stop when f, or its decrease as a share of it, is below this.
    pub tolerance: f64,
    /// The least number of iterations; the paper's experiment has 10,000.
    pub min_iterations: usize,
    /// Stop after this many iterations.
    pub max_iterations: usize,
    /// The seed of the pairs and the bounds.
    pub seed: u64,
}

impl Default for FlatGeo {
    fn default() -> Self {
        Self { rank: None, tolerance: 1e-5, min_iterations: 0, max_iterations: 100_000, seed: 0 }
    }
}

impl Learner for FlatGeo {
    fn name(&self) -> &'static str {
        "flatgeo"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let rank = self.rank.unwrap_or(shape.columns) as f64;
        // The differences twice, and four times in the coordinates of G.
        shape.matrices(9.0, 0.0)
            + shape.differences(2.0)
            + rank * (4.0 * shape.pairs as f64 + 3.0 * shape.columns as f64)
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // Below the full rank it starts in the span of the differences, and gradients lie there.
        self.rank.map(|rank| SpanRule { standardize: false, directions: rank })
    }

    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check(training.rows().columns())?;
        let constraints = Constraints::of(training, self.name(), self.seed)?;
        let bounds = Bounds::of(training.rows(), constraints.exponent, self.seed)?;
        let cost = Cost::new(&constraints, bounds);
        let g = start(&constraints, self.rank)?;
        let (g, report) = self.descend(&cost, g, progress);
        let a = weighted_gram(g.as_ref(), &vec![1.0; g.ncols()]);
        Ok(Learned::new(metric_of(a.as_ref(), training.rows())?, report))
    }
}

impl FlatGeo {
    fn check(&self, d: usize) -> Result<()> {
        let refuse = |name, value: String, allowed| Err(Error::Parameter { name, value, allowed });
        match self.rank {
            Some(rank) if !(1..=d).contains(&rank) => {
                refuse("rank", rank.to_string(), "at least 1 and at most the number of columns")
            }
            _ if self.max_iterations == 0 => refuse("max_iterations", "0".into(), "at least 1"),
            _ if self.min_iterations > self.max_iterations => {
                refuse("min_iterations", self.min_iterations.to_string(), "at most max_iterations")
            }
            _ if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) => {
                refuse("tolerance", self.tolerance.to_string(), "finite and at least 0")
            }
            _ => Ok(()),
        }
    }

    fn descend(&self, cost: &Cost<'_>, mut g: Mat<f64>, progress: &mut Progress<'_>) -> (Mat<f64>, Report) {
        let mut z = product(cost.constraints.as_mat(), g.as_ref());
        let (mut f, mut s, mut iterations) = (cost.value(&z), 1.0, 0);
        let outcome = loop {
            let gradient = cost.gradient(&z);
            let q = product(cost.constraints.as_mat(), gradient.as_ref());
            let Some((step, next, lower)) = cost.armijo(&z, &q, f, squared_norm(gradient.as_ref()), 2.0 * s)
            else {
                // No constraint is violated: converged.
                break if f == 0.0 { Outcome::Converged } else { Outcome::NoDescent };
            };
            add_scaled(&mut g, -step, &gradient);
            iterations += 1;
            let settled = cost.in_units_of_rows(lower) <= self.tolerance || f - lower <= self.tolerance * f;
            // Recomputed now and then, because sums of steps accumulate rounding errors.
            (z, s) = if iterations % 100 == 0 {
                (product(cost.constraints.as_mat(), g.as_ref()), step)
            } else {
                (next, step)
            };
            f = lower;
            let objective = Some(cost.in_units_of_rows(f)).filter(|f| f.is_finite());
            if let ControlFlow::Break(stop) = progress(Step::iteration(iterations, objective)) {
                let outcome = Outcome::from(stop);
                break outcome;
            }
            if settled && iterations >= self.min_iterations {
                break Outcome::Converged;
            }
            if iterations >= self.max_iterations {
                break Outcome::IterationLimit;
            }
        };
        let objective = Some(cost.in_units_of_rows(f)).filter(|f| f.is_finite());
        (g, Report { iterations, objective, outcome, choice: None })
    }
}

/// f, as a function of `Z = XG` with the differences in the rows of X.
struct Cost<'a> {
    constraints: &'a Constraints,
    bounds: Bounds,
    total: f64,
}

impl<'a> Cost<'a> {
    fn new(constraints: &'a Constraints, bounds: Bounds) -> Self {
        Self { constraints, bounds, total: constraints.weights.iter().sum() }
    }

    /// `ρ·max(0, ρ(d_A − y))` of every pair.
    fn violations(&self, z: &Mat<f64>) -> Vec<f64> {
        let mut squared = vec![0.0; z.nrows()];
        for j in 0..z.ncols() {
            squared.iter_mut().zip(z.col(j).iter()).for_each(|(sum, z)| *sum += z * z);
        }
        let violation = |(squared, &similar): (f64, &bool)| {
            let bound = if similar { self.bounds.lower } else { self.bounds.upper };
            if similar { (squared - bound).max(0.0) } else { (squared - bound).min(0.0) }
        };
        squared.into_iter().zip(&self.constraints.similar).map(violation).collect()
    }

    fn value(&self, z: &Mat<f64>) -> f64 {
        let violations = self.violations(z);
        let terms = violations.iter().zip(&self.constraints.weights);
        terms.map(|(violation, weight)| weight * 0.5 * violation * violation).sum::<f64>() / self.total
    }

    fn gradient(&self, z: &Mat<f64>) -> Mat<f64> {
        let violations = self.violations(z);
        let terms = violations.iter().zip(&self.constraints.weights);
        let factors: Vec<f64> =
            terms.map(|(violation, weight)| 2.0 * weight * violation / self.total).collect();
        let weighted = Mat::from_fn(z.nrows(), z.ncols(), |i, j| factors[i] * z[(i, j)]);
        product(self.constraints.as_mat().transpose(), weighted.as_ref())
    }

    /// The first of `s, s/2, s/4, …` that lowers f enough, with the Z and the f it leads to. `q` is X∇f, so
    /// that a trial costs no product.
    fn armijo(
        &self,
        z: &Mat<f64>,
        q: &Mat<f64>,
        f: f64,
        slope: f64,
        mut s: f64,
    ) -> Option<(f64, Mat<f64>, f64)> {
        if slope <= 0.0 {
            return None;
        }
        for _ in 0..1100 {
            let mut next = z.clone();
            add_scaled(&mut next, -s, q);
            let lower = self.value(&next);
            if lower <= f - 0.5 * s * slope && lower < f {
                return Some((s, next, lower));
            }
            s *= 0.5;
            if s * slope.sqrt() <= f64::MIN_POSITIVE {
                break;
            }
        }
        None
    }

    /// f has the fourth power of the rows' unit.
    fn in_units_of_rows(&self, f: f64) -> f64 {
        times_power_of_two(f, 4 * self.constraints.exponent)
    }
}

/// The identity, or the leading principal axes of the differences.
fn start(constraints: &Constraints, rank: Option<usize>) -> Result<Mat<f64>> {
    let d = constraints.columns();
    let r = rank.unwrap_or(d);
    if r == d {
        return Ok(Mat::identity(d, d));
    }
    let scatter = weighted_gram(constraints.as_mat().transpose(), &constraints.weights);
    let axes = eigen(scatter.as_ref(), "the scatter of the differences", &mut Workspace::default())?.vectors;
    Ok(Mat::from_fn(d, r, |i, j| axes[(i, d - 1 - j)]))
}

/// `to += factor · by`
fn add_scaled(to: &mut Mat<f64>, factor: f64, by: &Mat<f64>) {
    for j in 0..to.ncols() {
        to.as_mut().col_mut(j).iter_mut().zip(by.col(j).iter()).for_each(|(x, y)| *x += factor * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::progress::silent;

    use mahala::pairs::{Pair, Pairs};
    use mahala::{Dataset, Labels, Rows};

    fn random_rows(n: usize, d: usize) -> Rows {
        let mut random = Random::new(5, 0);
        Rows::new((0..n * d).map(|_| random.uniform()).collect(), d).unwrap()
    }

    fn pairs(n: usize) -> Pairs {
        let pair = |i: usize| Pair {
            first: i,
            second: (3 * i + 1) % n,
            similar: i.is_multiple_of(2),
            weight: 1.0 + i as f64,
        };
        Pairs::new((0..n).map(pair).collect(), n, n).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (rows, pairs) = (random_rows(12, 4), pairs(12));
        let constraints = Constraints::of(&Training::Paired(&rows, &pairs), "test", 0).unwrap();
        let cost = Cost::new(&constraints, Bounds { lower: 0.2, upper: 0.9 });
        let x = constraints.as_mat();
        let mut random = Random::new(6, 0);
        let g = Mat::from_fn(4, 3, |_, _| random.uniform() - 0.3);
        let gradient = cost.gradient(&product(x, g.as_ref()));
        assert!(gradient.norm_max() > 0.01);
        for i in 0..4 {
            for j in 0..3 {
                let moved = |h: f64| {
                    let mut g = g.clone();
                    g[(i, j)] += h;
                    cost.value(&product(x, g.as_ref()))
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                // The third derivative times h² is some 1e-9.
                assert!((slope - gradient[(i, j)]).abs() < 1e-8, "({i}, {j}): {slope} {}", gradient[(i, j)]);
            }
        }
    }

    #[test]
    fn the_objective_never_rises_and_a_longer_run_ends_no_higher() {
        let codes: Vec<i64> = (0..40).map(|i| i % 3).collect();
        let data = Dataset::new(random_rows(40, 5), Labels::from_integers(&codes)).unwrap();
        let learn = |method: &FlatGeo| {
            let mut seen = Vec::new();
            let progress = &mut |step: Step| {
                seen.extend(step.objective);
                ControlFlow::Continue(())
            };
            let report = method.learn(&Training::Labelled(&data), progress).unwrap().report;
            (seen, report)
        };
        let (seen, short) = learn(&FlatGeo::default());
        assert!(seen.len() > 5 && seen.is_sorted_by(|a, b| a > b), "{seen:?}");
        let (_, long) = learn(&FlatGeo { min_iterations: 2000, ..FlatGeo::default() });
        assert!(long.iterations >= 2000 || long.outcome == Outcome::NoDescent, "{long:?}");
        assert!(long.objective <= short.objective);
    }

    #[test]
    fn a_lower_rank_is_kept() {
        let codes: Vec<i64> = (0..40).map(|i| i % 3).collect();
        let data = Dataset::new(random_rows(40, 5), Labels::from_integers(&codes)).unwrap();
        let method = FlatGeo { rank: Some(2), ..FlatGeo::default() };
        let learned = method.learn(&Training::Labelled(&data), &mut silent).unwrap();
        assert_eq!(learned.metric.rank(), 2);
        assert!(FlatGeo { rank: Some(6), ..method }.learn(&Training::Labelled(&data), &mut silent).is_err());
    }
}
