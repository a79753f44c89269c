//! L-BFGS: limited-memory quasi-Newton minimisation (Broyden, Fletcher, Goldfarb, Shanno).
//!
//! # Formula
//! ```text
//! x₊ = x − α·H·∇f        H ≈ (∇²f)⁻¹ from the last pairs s = x₊ − x, y = ∇f₊ − ∇f  (two-loop recursion)
//! f(x₊) ≤ f(x) + c₁·α·∇fᵀp,   ∇f₊ᵀp ≥ c₂·∇fᵀp                                 (Wolfe's weak conditions)
//! ```
//!
//! The step α is bracketed and the bracket shrunk by cubic interpolation. Under the weak conditions the
//! search also ends on functions with kinks, such as the hinge, and the objective falls at every iteration,
//! so the last point is the best. Every sum has a fixed order.

use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Outcome, Report};
use mahala::progress::{Progress, Step};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Pairs (s, y) remembered.
const MEMORY: usize = 20;
/// Trials of one line search.
const TRIALS: usize = 30;
/// c₁ of Wolfe's sufficient-decrease condition.
const DECREASE: f64 = 1e-4;
/// c₂ of Wolfe's curvature condition.
const CURVATURE: f64 = 0.9;

/// Iterations whose total decrease must be small: a short step is often followed by a long one.
const WINDOW: usize = 5;

/// When to stop.
pub(crate) struct Limits {
    pub(crate) max_iterations: usize,
    /// On the largest entry of the gradient, and on the decrease of `f` over the last [`WINDOW`] iterations,
    /// divided by `max(|f|, 1)`.
    pub(crate) tolerance: f64,
}

/// Returns `f` and writes its gradient.
pub(crate) type Function<'a> = dyn FnMut(&[f64], &mut [f64]) -> f64 + 'a;

/// A point, the function there and its gradient.
#[derive(Clone)]
struct Iterate {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// Minimises `function` from `start`; returns the best point, and how it was reached.
pub(crate) fn minimise(
    function: &mut Function<'_>,
    start: Vec<f64>,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<(Vec<f64>, Report)> {
    check_limits(limits)?;
    let mut here = Iterate { gradient: vec![0.0; start.len()], point: start, value: 0.0 };
    here.value = function(&here.point, &mut here.gradient);
    if !here.value.is_finite() || here.gradient.iter().any(|g| !g.is_finite()) {
        return Err(Error::OutOfRange { what: "the objective at the start" });
    }
    let mut memory = Memory::default();
    let mut iterations = 0;
    let mut earlier = VecDeque::from([here.value]);
    let outcome = loop {
        if here.gradient.iter().all(|g| g.abs() <= limits.tolerance) {
            break Outcome::Converged;
        }
        if iterations == limits.max_iterations {
            break Outcome::IterationLimit;
        }
        let Some(next) = step(function, &here, &mut memory) else { break Outcome::NoDescent };
        iterations += 1;
        here = next;
        let order = progress(Step::iteration(iterations, Some(here.value)));
        if let ControlFlow::Break(stop) = order {
            let outcome = Outcome::from(stop);
            break outcome;
        }
        earlier.push_back(here.value);
        if earlier.len() > WINDOW {
            let before = earlier.pop_front().unwrap_or(here.value);
            if before - here.value <= limits.tolerance * here.value.abs().max(1.0) {
                break Outcome::Converged;
            }
        }
    };
    Ok((here.point, Report { iterations, objective: Some(here.value), outcome, choice: None }))
}

/// Peak memory of a minimisation over an L of this rank, in 64-bit numbers: the steps stored and their gradients, the points
/// of a line search, and the rows under L a few times.
pub(crate) fn numbers(shape: &Shape, rank: usize) -> f64 {
    let (d, r) = (shape.columns as f64, rank as f64);
    (2.0 * MEMORY as f64 + 12.0) * r * d + 6.0 * shape.rows as f64 * r
}

/// Refuses a tolerance below 0 or NaN, which would never be met.
pub(crate) fn check_limits(limits: &Limits) -> Result<()> {
    if limits.tolerance >= 0.0 && limits.tolerance.is_finite() {
        return Ok(());
    }
    let value = limits.tolerance.to_string();
    Err(Error::Parameter { name: "tolerance", value, allowed: "a finite number, 0 or above" })
}

/// One iteration; None if no step lowers the function, not even along the gradient.
fn step(function: &mut Function<'_>, here: &Iterate, memory: &mut Memory) -> Option<Iterate> {
    let direction = memory.direction(&here.gradient);
    let first = if memory.0.is_empty() { 1.0 / norm(&here.gradient) } else { 1.0 };
    let mut next = search(function, here, &direction, first);
    if next.is_none() && !memory.0.is_empty() {
        memory.0.clear();
        let direction: Vec<f64> = here.gradient.iter().map(|g| -g).collect();
        next = search(function, here, &direction, 1.0 / norm(&here.gradient));
    }
    if let Some(next) = &next {
        memory.store(here, next);
    }
    next
}

/// A point along `direction` that meets Wolfe's weak conditions, or the lowest seen if none does in time.
fn search(function: &mut Function<'_>, here: &Iterate, direction: &[f64], first: f64) -> Option<Iterate> {
    let slope = dot(&here.gradient, direction);
    if slope >= 0.0 || !slope.is_finite() || !first.is_finite() {
        return None;
    }
    let mut low = Probe { step: 0.0, value: here.value, slope };
    let mut high: Option<Probe> = None;
    let mut best: Option<Iterate> = None;
    let mut length = first;
    for _ in 0..TRIALS {
        let mut place = Iterate { gradient: vec![0.0; direction.len()], point: Vec::new(), value: 0.0 };
        place.point = here.point.iter().zip(direction).map(|(x, p)| x + length * p).collect();
        place.value = function(&place.point, &mut place.gradient);
        let probe = Probe { step: length, value: place.value, slope: dot(&place.gradient, direction) };
        let usable = probe.value.is_finite() && probe.slope.is_finite();
        if !usable || probe.value >= here.value || probe.value > here.value + DECREASE * length * slope {
            high = Some(probe);
        } else {
            low = probe;
            let done = probe.slope >= CURVATURE * slope;
            if best.as_ref().is_none_or(|best| place.value < best.value) {
                best = Some(place);
            }
            if done {
                break;
            }
        }
        length = match &high {
            None => 2.0 * length.max(low.step),
            Some(high) => between(&low, high),
        };
    }
    best
}

/// The function along the line.
#[derive(Clone, Copy)]
struct Probe {
    step: f64,
    value: f64,
    slope: f64,
}

/// The minimum of the cubic through both ends, kept a tenth of the bracket away from them.
fn between(low: &Probe, high: &Probe) -> f64 {
    let width = high.step - low.step;
    let cubic = {
        let a = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
        let root = (a * a - low.slope * high.slope).max(0.0).sqrt();
        high.step - width * (high.slope + root - a) / (high.slope - low.slope + 2.0 * root)
    };
    if cubic.is_finite() {
        cubic.clamp(low.step + 0.1 * width, high.step - 0.1 * width)
    } else {
        low.step + 0.5 * width
    }
}

/// The last pairs s and y, with `1 / sᵀy`.
#[derive(Default)]
struct Memory(VecDeque<(Vec<f64>, Vec<f64>, f64)>);

impl Memory {
    fn store(&mut self, from: &Iterate, to: &Iterate) {
        let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let (s, y) = (minus(&to.point, &from.point), minus(&to.gradient, &from.gradient));
        let curvature = dot(&s, &y);
        // Without positive curvature H would not be positive definite.
        if curvature > f64::EPSILON * norm(&s) * norm(&y) {
            if self.0.len() == MEMORY {
                self.0.pop_front();
            }
            self.0.push_back((s, y, 1.0 / curvature));
        }
    }

    /// `−H·∇f`.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.0.len());
        for (s, y, rho) in self.0.iter().rev() {
            let a = rho * dot(s, &q);
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= a * y);
            shares.push(a);
        }
        if let Some((_, y, rho)) = self.0.back() {
            let scale = 1.0 / (rho * dot(y, y));
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for ((s, y, rho), a) in self.0.iter().zip(shares.iter().rev()) {
            let b = rho * dot(y, &q);
            q.iter_mut().zip(s).for_each(|(q, s)| *q += (a - b) * s);
        }
        q
    }
}

/// `aᵀb` in eight lanes, which the compiler keeps in registers.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::progress::{Stop, silent};

    fn run(function: &mut Function<'_>, start: &[f64], tolerance: f64) -> (Vec<f64>, Report) {
        let limits = Limits { max_iterations: 2000, tolerance };
        minimise(function, start.to_vec(), &limits, &mut silent).unwrap()
    }

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        g[0] = -2.0 * a - 400.0 * x[0] * b;
        g[1] = 200.0 * b;
        a * a + 100.0 * b * b
    }

    #[test]
    fn the_valley_of_rosenbrock_is_followed_to_its_end() {
        let (point, report) = run(&mut rosenbrock, &[-1.2, 1.0], 1e-14);
        assert!(report.outcome.is_final() && report.iterations < 60, "{report:?}");
        assert!(point.iter().all(|x| (x - 1.0).abs() < 1e-5), "{point:?}");
    }

    #[test]
    fn an_ill_conditioned_bowl_is_solved() {
        // Curvatures from 1 to 1e4: SciPy needs some 500 iterations for as much.
        let curvature = |i: usize| 10f64.powf(4.0 * i as f64 / 19.0);
        let mut bowl = |x: &[f64], g: &mut [f64]| {
            (0..20).for_each(|i| g[i] = curvature(i) * (x[i] - 1.0));
            (0..20).map(|i| 0.5 * curvature(i) * (x[i] - 1.0).powi(2)).sum()
        };
        let (_, report) = run(&mut bowl, &[0.0; 20], 0.0);
        assert!(report.objective.unwrap() < 1e-12, "{report:?}");
    }

    #[test]
    fn a_kink_is_no_obstacle() {
        let mut kink = |x: &[f64], g: &mut [f64]| {
            g[0] = x[0].signum();
            g[1] = 2.0 * x[1];
            x[0].abs() + x[1] * x[1]
        };
        assert!(run(&mut kink, &[3.0, -2.0], 1e-9).1.objective.unwrap() < 1e-3);
    }

    #[test]
    fn the_objective_falls_at_every_iteration_and_the_observer_ends_the_work() {
        let mut seen = Vec::new();
        let limits = Limits { max_iterations: 100, tolerance: 0.0 };
        let mut progress = |step: Step| {
            seen.push(step.objective.unwrap());
            if step.done == 7 { ControlFlow::Break(Stop::TimeUp) } else { ControlFlow::Continue(()) }
        };
        let (_, found) = minimise(&mut rosenbrock, vec![-1.2, 1.0], &limits, &mut progress).unwrap();
        assert_eq!((found.iterations, found.outcome, seen.len()), (7, Outcome::TimeLimit, 7));
        assert!(seen.windows(2).all(|two| two[1] < two[0]), "{seen:?}");
        assert_eq!(found.objective, Some(seen[6]));
    }

    #[test]
    fn the_limit_of_iterations_is_told() {
        let limits = Limits { max_iterations: 3, tolerance: 0.0 };
        let (_, found) = minimise(&mut rosenbrock, vec![-1.2, 1.0], &limits, &mut silent).unwrap();
        assert_eq!((found.iterations, found.outcome), (3, Outcome::IterationLimit));
    }

    #[test]
    fn a_step_out_of_the_domain_is_taken_back() {
        // −log x + x: infinite at 0 and below, smallest at 1.
        let mut barrier = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0 - 1.0 / x[0];
            if x[0] > 0.0 { x[0] - x[0].ln() } else { f64::INFINITY }
        };
        assert!((run(&mut barrier, &[0.01], 1e-12).0[0] - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_cannot_begin_is_refused() {
        let limits = Limits { max_iterations: 3, tolerance: 0.0 };
        let mut nan = |_: &[f64], _: &mut [f64]| f64::NAN;
        assert!(minimise(&mut nan, vec![0.0], &limits, &mut silent).is_err());
        let limits = Limits { max_iterations: 3, tolerance: f64::NAN };
        assert!(minimise(&mut rosenbrock, vec![0.0; 2], &limits, &mut silent).is_err());
    }
}
