//! LSML: least squared-residual metric learning from relative comparisons (Liu, Guo, Wang and Li 2012).
//!
//! # Formula
//! ```text
//! minimise over A ≻ 0   Σ_q w_q [√d_A(near) − √d_A(far)]₊² + tr(A) − log det A,    Σ w = 1
//!
//! ∇_A = Σ_violated w_q [(1 − √(d_far/d_near))·vvᵀ + (1 − √(d_near/d_far))·uuᵀ] + I − A⁻¹
//! ∇_L = 2L∇_A,   A = LᵀL,     v, u the differences of the near and of the far rows
//! ```
//! In units in which a column's mean squared difference is 1 on average, so that the prior I is of the size of the
//! data; with `row_units` in the units of the rows as they are. Every (√a − √b)² is convex in (a, b), so a local minimum is the minimum; L-BFGS over a square L from I.

use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use faer::{Mat, MatRef};
use mahala::data::{ColumnStatistics, Random, Rows, Stream};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::geometry::Spd;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::pairs::{Quadruplet, Quadruplets, pair_budget};
use mahala::progress::Progress;
use mahala::scatter::{check_labels, column_peaks};
use mahala_kernels::blas::{product, weighted_gram};
use mahala_kernels::scaling::{exponent_of, times_power_of_two};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of LSML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lsml {
    /// Quadruplets drawn from labelled rows; 40c(c − 1) for c classes if None.
    pub quadruplets: Option<usize>,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this share.
    pub tolerance: f64,
    /// The prior is I in the units of the rows, whatever the size of their differences.
    pub row_units: bool,
    /// The seed of the quadruplets.
    pub seed: u64,
}

impl Default for Lsml {
    fn default() -> Self {
        Self { quadruplets: None, max_iterations: 1000, tolerance: 1e-6, row_units: false, seed: 0 }
    }
}

impl Learner for Lsml {
    fn name(&self) -> &'static str {
        "lsml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let tuples = self.quadruplets.unwrap_or_else(|| pair_budget(shape.classes)).max(shape.pairs) as f64;
        lbfgs::numbers(shape, shape.columns) + shape.matrices(9.0, 1.0) + 4.0 * tuples * shape.columns as f64
    }

    /// Iterations are L-BFGS's; the objective is that of the formula, in its units.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let rows = training.rows();
        let d = rows.columns();
        let peak = column_peaks(rows.as_mat()).into_iter().fold(0.0, f64::max);
        let exponent = if self.row_units { 0 } else { exponent_of(peak) };
        let [mut near, mut far, weights] = self.differences(training, exponent)?;
        let unit = unit_of(near.as_ref(), far.as_ref());
        if unit <= 0.0 {
            return Err(Error::AllConstant { columns: d });
        }
        let unit = if self.row_units { 1.0 } else { unit };
        for x in [&mut near, &mut far] {
            *x = Mat::from_fn(x.nrows(), d, |i, j| x[(i, j)] / unit);
        }
        let weights: Vec<f64> = weights.col(0).iter().copied().collect();
        let problem = Problem { near: near.as_ref(), far: far.as_ref(), weights: &weights };
        let start: Vec<f64> = (0..d * d).map(|at| f64::from(u8::from(at / d == at % d))).collect();
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let mut function = |l: &[f64], gradient: &mut [f64]| problem.loss(l, gradient);
        let (point, report) = minimise(&mut function, start, &limits, progress)?;
        let l = MatRef::from_row_major_slice(&point, d, d);
        let scaled = Mat::from_fn(d, d, |i, j| times_power_of_two(l[(i, j)] / unit, -exponent));
        Ok(Learned::new(Metric::computed(scaled, ColumnStatistics::of(rows).mean, None)?, report))
    }
}

impl Lsml {
    /// The differences of near and of far rows, one a row, in units of `2^exponent`, and the weights.
    fn differences(&self, training: &Training<'_>, exponent: i32) -> Result<[Mat<f64>; 3]> {
        let (rows, list) = (training.rows(), self.quadruplets_of(training)?);
        let list: Vec<&Quadruplet> = list.as_slice().iter().filter(|q| q.weight > 0.0).collect();
        let total: f64 = list.iter().map(|q| q.weight).sum();
        if list.is_empty() {
            return Err(Error::Empty { what: "the list of quadruplets of a weight above 0" });
        }
        if !total.is_finite() {
            return Err(Error::OutOfRange { what: "the sum of the weights" });
        }
        let cell = |[a, b]: [usize; 2], j: usize| difference(rows, [a, b], j, exponent);
        let near = Mat::from_fn(list.len(), rows.columns(), |i, j| cell(list[i].near, j));
        let far = Mat::from_fn(list.len(), rows.columns(), |i, j| cell(list[i].far, j));
        Ok([near, far, Mat::from_fn(list.len(), 1, |i, _| list[i].weight / total)])
    }

    fn quadruplets_of(&self, training: &Training<'_>) -> Result<Quadruplets> {
        let n = training.rows().len();
        let given = matches!(training, Training::Quadruplets(..) | Training::Triplets(..));
        if let (true, Some(count)) = (given, self.quadruplets) {
            return Err(Error::Parameter {
                name: "quadruplets",
                value: count.to_string(),
                allowed: "left out: the quadruplets or triplets themselves were given",
            });
        }
        match training {
            Training::Quadruplets(_, quadruplets) => {
                quadruplets.check(n)?;
                Ok((*quadruplets).clone())
            }
            Training::Triplets(_, triplets) => {
                triplets.check(n)?;
                let quadruplet = |t: &mahala::pairs::Triplet| Quadruplet {
                    near: [t.anchor, t.near],
                    far: [t.anchor, t.far],
                    weight: 1.0,
                };
                Quadruplets::new(triplets.as_slice().iter().map(quadruplet).collect(), n)
            }
            Training::Labelled(data) | Training::Grouped(data, _) => {
                check_labels(data.labels())?;
                let present = data.labels().class_sizes().iter().filter(|&&size| size > 0).count();
                let count = self.quadruplets.unwrap_or_else(|| pair_budget(present));
                if count == 0 {
                    let (value, allowed) = ("0".to_owned(), "at least 1");
                    return Err(Error::Parameter { name: "quadruplets", value, allowed });
                }
                let random = &mut Random::of(self.seed, Stream::Quadruplets);
                Quadruplets::sampled(data.labels(), count, random)
            }
            _ => Err(training.refused(self.name(), "given labels, triplets or quadruplets")),
        }
    }
}

/// A cell of the difference of two rows, scaled before the subtraction so that nothing overflows.
fn difference(rows: &Rows, [a, b]: [usize; 2], j: usize, exponent: i32) -> f64 {
    times_power_of_two(rows.row(a)[j], -exponent) - times_power_of_two(rows.row(b)[j], -exponent)
}

/// The root of the mean square of the cells.
fn unit_of(near: MatRef<'_, f64>, far: MatRef<'_, f64>) -> f64 {
    let cells = 2.0 * near.nrows() as f64 * near.ncols() as f64;
    (near.norm_l2() / cells.sqrt()).hypot(far.norm_l2() / cells.sqrt())
}

struct Problem<'a> {
    near: MatRef<'a, f64>,
    far: MatRef<'a, f64>,
    weights: &'a [f64],
}

impl Problem<'_> {
    /// The objective at `L`, and its gradient; infinite where A has no Cholesky factor.
    fn loss(&self, l: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.near.ncols();
        let l = MatRef::from_row_major_slice(l, d, d);
        let a = product(l.transpose(), l);
        let Ok(a) = Spd::new(Mat::from_fn(d, d, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))) else {
            return f64::INFINITY;
        };
        let Ok(inverse) = a.inverse() else { return f64::INFINITY };
        let [near, far] = [self.near, self.far].map(|x| lengths(product(x, l.transpose()).as_ref()));
        let trace: f64 = (0..d).map(|j| a.as_mat()[(j, j)]).sum();
        let mut value = trace - a.log_det();
        let (mut of_near, mut of_far) = (vec![0.0; near.len()], vec![0.0; near.len()]);
        for (i, (&n, &f)) in near.iter().zip(&far).enumerate() {
            if n > f {
                value += self.weights[i] * (n - f) * (n - f);
                of_near[i] = self.weights[i] * (1.0 - f / n);
                // Rows that coincide have no distance to lengthen.
                of_far[i] = if f > 0.0 { self.weights[i] * (1.0 - n / f) } else { 0.0 };
            }
        }
        let sums = [(self.near, &of_near), (self.far, &of_far)].map(|(x, w)| weighted_gram(x.transpose(), w));
        let slope = Mat::from_fn(d, d, |i, j| {
            let unit = f64::from(u8::from(i == j));
            sums[0][(i, j)] + sums[1][(i, j)] + unit - inverse.as_mat()[(i, j)]
        });
        let slope = product(l, slope.as_ref());
        gradient.iter_mut().enumerate().for_each(|(at, g)| *g = 2.0 * slope[(at / d, at % d)]);
        if gradient.iter().all(|g| g.is_finite()) { value } else { f64::INFINITY }
    }
}

/// The Euclidean length of each row.
fn lengths(x: MatRef<'_, f64>) -> Vec<f64> {
    (0..x.nrows()).map(|i| x.row(i).iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::pairs::{Triplet, Triplets};
    use mahala::progress::silent;

    fn example(random: &mut Random) -> (Mat<f64>, Mat<f64>, Vec<f64>) {
        let near = Mat::from_fn(40, 3, |_, j| (random.uniform() - 0.5) * [4.0, 1.0, 1.0][j]);
        let far = Mat::from_fn(40, 3, |_, j| (random.uniform() - 0.5) * [1.0, 2.0, 2.0][j]);
        (near, far, (0..40).map(|i| f64::from(1 + i % 3) / 79.0).collect())
    }

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let mut random = Random::new(5, 0);
        let (near, far, weights) = example(&mut random);
        let problem = Problem { near: near.as_ref(), far: far.as_ref(), weights: &weights };
        let mut l: Vec<f64> =
            (0..9).map(|at| random.uniform() + 2.0 * f64::from(u8::from(at % 4 == 0))).collect();
        let (mut gradient, mut unused) = (vec![0.0; 9], vec![0.0; 9]);
        problem.loss(&l, &mut gradient);
        for at in 0..9 {
            let (here, h) = (l[at], 1e-5);
            l[at] = here + h;
            let above = problem.loss(&l, &mut unused);
            l[at] = here - h;
            let below = problem.loss(&l, &mut unused);
            l[at] = here;
            let slope = (above - below) / (2.0 * h);
            assert!((slope - gradient[at]).abs() < 1e-7 * slope.abs().max(1.0), "{slope} {}", gradient[at]);
        }
    }

    #[test]
    fn every_start_leads_to_the_same_minimum() {
        let mut random = Random::new(6, 0);
        let (near, far, weights) = example(&mut random);
        let problem = Problem { near: near.as_ref(), far: far.as_ref(), weights: &weights };
        let limits = Limits { max_iterations: 2000, tolerance: 1e-12 };
        let found: Vec<f64> = (0..4)
            .map(|_| {
                let start = (0..9).map(|_| 2.0 * random.uniform() - 1.0).collect();
                let mut function = |l: &[f64], gradient: &mut [f64]| problem.loss(l, gradient);
                minimise(&mut function, start, &limits, &mut silent).unwrap().1.objective.unwrap()
            })
            .collect();
        assert!(found.iter().all(|f| (f - found[0]).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn a_triplet_is_the_quadruplet_with_a_common_row_and_weights_are_relative() {
        let mut random = Random::new(7, 0);
        let rows = Rows::new((0..60).map(|_| random.uniform()).collect(), 3).unwrap();
        let list: Vec<Triplet> = (0..18).map(|i| Triplet { anchor: i, near: i + 1, far: i + 2 }).collect();
        let quadruplet = |weight| {
            let of = |t: &Triplet| Quadruplet { near: [t.anchor, t.near], far: [t.anchor, t.far], weight };
            Quadruplets::new(list.iter().map(of).collect(), 20).unwrap()
        };
        let triplets = Triplets::new(list.clone(), 20).unwrap();
        let learn = |training: Training<'_>| Lsml::default().learn(&training, &mut silent).unwrap().metric;
        let expected = learn(Training::Triplets(&rows, &triplets));
        for weight in [1.0, 4.0] {
            assert_eq!(learn(Training::Quadruplets(&rows, &quadruplet(weight))), expected);
        }
        let none = Lsml::default().learn(&Training::Quadruplets(&rows, &quadruplet(0.0)), &mut silent);
        assert!(matches!(none, Err(Error::Empty { .. })));
    }
}
