//! SCML, local form: the weights of the bases depend on the row that distances are taken from (Shi, Bellet and Sha 2014).
//!
//! # Formula
//! ```text
//! d_x(x, y) = Σ_k w_k(x) (b_kᵀ(x − y))²,    w_k(x) = (θ_kᵀφ(x))²
//! minimise  1/m Σ_triplets [1 + d_x(x, p) − d_x(x, q)]₊ + β Σ_k ‖θ_k‖
//!
//! forward-backward, by basis:  θ_k ← θ_k − η_k g_k,   θ_k ← [1 − η_kβ/‖θ_k‖]₊ θ_k,   η_k = ηr/√(Σ ‖g_k‖²)
//! g_k = the mean over a batch, where the hinge is above 0, of  2 (θ_kᵀφ) [(b_kᵀ(x − p))² − (b_kᵀ(x − q))²] φ
//!
//! φ(x) = (1, ψ_1(x), …, ψ_q(x)),   ψ: kernel principal components of the rows, of variance 1/q,
//! kernel exp(−‖x − l‖²/2) with landmarks l
//! ```
//! Bases and their first weights are those of the global form: θ is its root for the constant and 0 elsewhere, r the root of the
//! mean weight. The sum in a step is over all steps so far (`AdaGrad`), so that neither the scale of the weights nor the number
//! of bases matters. The objective is not convex, and the result's is never above that of the start. A basis that the global
//! form does not use stays unused: at θ = 0 the gradient is 0. Rows have length 1 on average, so that 2 in the kernel is their mean squared distance.

use crate::online::{nearest_triplets, triplets_of};
use crate::scml::features::KernelFeatures;
use crate::scml::{EVALUATION, Scaled, Scml};
use faer::{Mat, MatRef};
use mahala::data::{Dataset, Labels, Random, Rows, Stream};
use mahala::error::{Error, MemoryRemedy, Result};
use mahala::footprint::{Shape, memory_limit_gb};
use mahala::learner::{Learner, Outcome, Report, Training};
use mahala::metric::Metric;
use mahala::neighbors::Neighbors;
use mahala::pairs::{Triplet, Triplets};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::product;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Parameters of local SCML.
///
/// ```
/// use mahala::progress::silent;
/// use mahala::{Dataset, Labels, Rows};
/// use mahala_baselines::LocalScml;
/// // The second column counts where the first is small, the third where it is large.
/// let cell = |i: usize, j: usize| match j {
///     0 => f64::from(u8::from(i >= 40)),
///     _ => ((i * [0, 7, 11][j]) % 40) as f64 / 40.0,
/// };
/// let cells: Vec<f64> = (0..80 * 3).map(|at| cell(at / 3, at % 3)).collect();
/// let class = |i: usize| if cells[3 * i + 1 + usize::from(i >= 40)] > 0.5 { "high" } else { "low" };
/// let labels = Labels::new((0..80).map(class));
/// let data = Dataset::new(Rows::new(cells.clone(), 3)?, labels)?;
/// let local = LocalScml::default().fit(&data, &mut silent)?;
/// assert!(local.report.objective <= local.global.objective);
/// assert_eq!(local.predict(&Rows::new(vec![0.0, 0.9, 0.1], 3)?, 1)?.len(), 1);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalScml {
    /// The global form, which bases and first weights are taken from; β, batch and seed hold for both.
    pub scml: Scml,
    /// q: the kernel principal components that weights depend on.
    pub components: usize,
    /// The rows that kernels are taken with, drawn at random.
    pub landmarks: usize,
    /// η: the length of a basis's first step, in roots of the mean weight.
    pub step: f64,
    /// The number of stochastic steps.
    pub max_iterations: usize,
}

impl Default for LocalScml {
    fn default() -> Self {
        Self { scml: Scml::default(), components: 8, landmarks: 200, step: 0.3, max_iterations: 10_000 }
    }
}

/// What local SCML learned, with the rows it learned from.
#[derive(Debug, Clone)]
pub struct LocalScmlMetrics {
    /// From rows to those of length 1 on average.
    pub metric: Metric,
    /// The bases in use, one a row, for these.
    pub bases: Mat<f64>,
    /// θ, one row a basis: the constant, then a number for each kernel principal component.
    pub weights: Mat<f64>,
    /// φ.
    pub features: KernelFeatures,
    /// The coordinates of the training rows in the bases, and their labels.
    pub references: (Rows, Labels),
    /// How the global form was reached; the objective is that of the local one at its start.
    pub global: Report,
    /// How the weights were.
    pub report: Report,
}

impl LocalScml {
    /// Learns from the nearest triplets of labelled rows. Steps of the global form come first; both are told to `progress`, 500 at
    /// a time.
    ///
    /// # Errors
    /// Those of [`Scml`], a parameter out of range, or more memory needed than the process may take.
    pub fn fit(&self, data: &Dataset, progress: &mut Progress<'_>) -> Result<LocalScmlMetrics> {
        self.check(data)?;
        let Scaled { rows, unit, divided } = self.scml.scaled(data.rows())?;
        let data = Dataset::new(divided, data.labels().clone())?;
        let training = Training::Labelled(&data);
        let (bases, global, mut first) = self.scml.solve(&training, progress)?;
        let used: Vec<usize> = (0..global.len()).filter(|&k| global[k] > 0.0).collect();
        let bases = Mat::from_fn(used.len(), bases.ncols(), |i, j| bases[(used[i], j)]);
        let random = &mut Random::of(self.scml.seed, Stream::Landmarks);
        let features = KernelFeatures::of(data.rows(), self.components, self.landmarks, random)?;
        let phi = features.of_rows(data.rows());
        let z = product(bases.as_ref(), data.rows().as_mat().transpose());
        let triplets = triplets_of(&training, "local-scml", [self.scml.targets, self.scml.impostors])?;
        let problem = Problem { z: z.as_ref(), phi: phi.as_ref(), triplets: &triplets, beta: self.scml.beta };
        let p = phi.ncols();
        let mut start = vec![0.0; used.len() * p];
        used.iter().enumerate().for_each(|(i, &k)| start[i * p] = global[k].sqrt());
        first.objective = Some(problem.objective(&start));
        let stopped = matches!(first.outcome, Outcome::Cancelled | Outcome::TimeLimit);
        let steps = if stopped { 0 } else { self.max_iterations };
        let (theta, mut report) =
            problem.minimise(start, (self.step, self.scml.batch, steps), random, progress);
        if stopped {
            report.outcome = first.outcome;
        }
        let identity =
            Mat::from_fn(data.columns(), data.columns(), |i, j| f64::from(u8::from(i == j)) / unit);
        let weights = MatRef::from_row_major_slice(&theta, used.len(), p).to_owned();
        let metric = rows.learned(identity, None)?.metric;
        let references = (coordinates(data.rows(), bases.as_ref())?, data.labels().clone());
        Ok(LocalScmlMetrics { metric, bases, weights, features, references, global: first, report })
    }

    fn check(&self, data: &Dataset) -> Result<()> {
        self.scml.check()?;
        let counts = [
            ("components", self.components),
            ("landmarks", self.landmarks),
            ("max_iterations", self.max_iterations),
        ];
        if let Some((name, _)) = counts.into_iter().find(|count| count.1 == 0) {
            return Err(Error::Parameter { name, value: "0".into(), allowed: "at least 1" });
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            let allowed = "finite and above 0";
            return Err(Error::Parameter { name: "step", value: self.step.to_string(), allowed });
        }
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        let (n, m) = (shape.rows as f64, self.landmarks.min(shape.rows) as f64);
        let kernels = 3.0 * n * m + 8.0 * m * m;
        let roots = 3.0 * self.scml.bases as f64 * n
            + nearest_triplets(&shape, [self.scml.targets, self.scml.impostors]);
        let (gigabytes, limit) = (8e-9 * (self.scml.numbers(&shape) + kernels + roots), memory_limit_gb());
        if gigabytes > limit {
            let (what, d, remedy) = ("local SCML", shape.columns, MemoryRemedy::Columns);
            return Err(Error::Memory { what, gigabytes, d, limit, remedy });
        }
        Ok(())
    }
}

impl LocalScmlMetrics {
    /// The weight of each basis at each row: one row a row.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn weights_at(&self, rows: &Rows) -> Result<Mat<f64>> {
        let phi = self.features.of_rows(&self.metric.transform(rows)?);
        let roots = product(phi.as_ref(), self.weights.transpose());
        Ok(Mat::from_fn(roots.nrows(), roots.ncols(), |i, k| roots[(i, k)] * roots[(i, k)]))
    }

    /// The `k` nearest training rows of each row, by the metric at that row; of equally near ones the first.
    ///
    /// # Errors
    /// Rows with other columns, or `k` that is 0 or above the number of training rows.
    pub fn search(&self, rows: &Rows, k: usize) -> Result<Neighbors> {
        let kept = &self.references.0;
        if k == 0 || k > kept.len() {
            let value = k.to_string();
            return Err(Error::Parameter { name: "k", value, allowed: "1 to the number of training rows" });
        }
        let weights = self.weights_at(rows)?;
        let z = coordinates(&self.metric.transform(rows)?, self.bases.as_ref())?;
        let nearest = |query: usize| {
            let at: Vec<f64> = (0..weights.ncols()).map(|b| weights[(query, b)]).collect();
            let squared = |row: usize| -> f64 {
                let difference = z.row(query).iter().zip(kept.row(row)).map(|(x, y)| (x - y) * (x - y));
                at.iter().zip(difference).map(|(w, square)| w * square).sum()
            };
            let mut all: Vec<(f64, usize)> = (0..kept.len()).map(|row| (squared(row), row)).collect();
            let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if k < all.len() {
                all.select_nth_unstable_by(k, order);
                all.truncate(k);
            }
            all.sort_unstable_by(order);
            all
        };
        let found: Vec<(f64, usize)> = (0..rows.len()).into_par_iter().flat_map_iter(nearest).collect();
        let (squared, indices): (Vec<f64>, Vec<usize>) = found.into_iter().unzip();
        Neighbors::from_parts(k, indices, squared.into_iter().map(f64::sqrt).collect())
    }

    /// The class of each row, by a vote of its `k` nearest training rows.
    ///
    /// # Errors
    /// Those of [`LocalScmlMetrics::search`].
    pub fn predict(&self, rows: &Rows, k: usize) -> Result<Vec<u32>> {
        Ok(self.search(rows, k)?.vote(&self.references.1))
    }
}

/// The coordinates of rows in the bases; 0 in one direction, if there is no basis.
fn coordinates(rows: &Rows, bases: MatRef<'_, f64>) -> Result<Rows> {
    if bases.nrows() == 0 {
        return Rows::new(vec![0.0; rows.len()], 1);
    }
    let z = product(bases, rows.as_mat().transpose());
    Rows::new(z.col_iter().flat_map(|row| row.iter().copied()).collect(), bases.nrows())
}

/// The objective over θ, one row a basis, in one slice.
struct Problem<'a> {
    /// The coordinate of each row in each basis, one row a column.
    z: MatRef<'a, f64>,
    /// φ of each row, one a row.
    phi: MatRef<'a, f64>,
    triplets: &'a Triplets,
    beta: f64,
}

impl Problem<'_> {
    /// `θ_kᵀφ(x)` of every basis.
    fn roots(&self, theta: &[f64], row: usize) -> Vec<f64> {
        let p = self.phi.ncols();
        let root = |of: &[f64]| of.iter().enumerate().map(|(j, x)| x * self.phi[(row, j)]).sum();
        theta.chunks_exact(p).map(root).collect()
    }

    /// `1 + d_x(x, p) − d_x(x, q)`.
    fn margin(&self, t: &Triplet, roots: &[f64]) -> f64 {
        1.0 + roots.iter().enumerate().map(|(k, root)| root * root * self.slope(t, k)).sum::<f64>()
    }

    /// `(b_kᵀ(x − p))² − (b_kᵀ(x − q))²`.
    fn slope(&self, t: &Triplet, k: usize) -> f64 {
        let [x, p, q] = [t.anchor, t.near, t.far].map(|row| self.z[(k, row)]);
        (x - p) * (x - p) - (x - q) * (x - q)
    }

    fn penalty(&self, theta: &[f64]) -> f64 {
        self.beta * theta.chunks_exact(self.phi.ncols()).map(length).sum::<f64>()
    }

    fn objective(&self, theta: &[f64]) -> f64 {
        let rows = self.phi.nrows();
        let roots: Vec<Vec<f64>> = (0..rows).into_par_iter().map(|row| self.roots(theta, row)).collect();
        let hinge = |t: &Triplet| self.margin(t, &roots[t.anchor]).max(0.0);
        let hinges: Vec<f64> = self.triplets.as_slice().par_iter().map(hinge).collect();
        hinges.iter().sum::<f64>() / hinges.len() as f64 + self.penalty(theta)
    }

    /// Adds `share` times the gradient of one hinge.
    fn add_gradient(&self, t: &Triplet, theta: &[f64], share: f64, gradient: &mut [f64]) {
        let roots = self.roots(theta, t.anchor);
        if self.margin(t, &roots) <= 0.0 {
            return;
        }
        for ((k, root), gradient) in roots.iter().enumerate().zip(gradient.chunks_exact_mut(self.phi.ncols()))
        {
            let factor = 2.0 * share * root * self.slope(t, k);
            gradient.iter_mut().enumerate().for_each(|(j, g)| *g += factor * self.phi[(t.anchor, j)]);
        }
    }

    /// The best point seen, the start included.
    fn minimise(
        &self,
        start: Vec<f64>,
        (step, batch, steps): (f64, usize, usize),
        random: &mut Random,
        progress: &mut Progress<'_>,
    ) -> (Vec<f64>, Report) {
        let p = self.phi.ncols();
        let (mut theta, mut gradient) = (start.clone(), vec![0.0; start.len()]);
        let mut squares = vec![0.0; start.len() / p];
        let reach = step * (start.iter().map(|x| x * x).sum::<f64>() / squares.len().max(1) as f64).sqrt();
        let mut best = (self.objective(&start), start);
        let mut report = Report { outcome: Outcome::Completed, ..Report::closed_form() };
        let triplets = self.triplets.as_slice();
        for t in 1..=steps {
            gradient.fill(0.0);
            for _ in 0..batch {
                let triplet = &triplets[random.below(triplets.len())];
                self.add_gradient(triplet, &theta, 1.0 / batch as f64, &mut gradient);
            }
            for ((x, g), sum) in theta.chunks_exact_mut(p).zip(gradient.chunks_exact(p)).zip(&mut squares) {
                *sum += g.iter().map(|g| g * g).sum::<f64>();
                // A basis that no triplet has moved yet stays where it is.
                let eta = if *sum > 0.0 { reach / sum.sqrt() } else { 0.0 };
                x.iter_mut().zip(g).for_each(|(x, g)| *x -= eta * g);
                let kept = (1.0 - eta * self.beta / length(x).max(f64::MIN_POSITIVE)).max(0.0);
                x.iter_mut().for_each(|x| *x *= kept);
            }
            if t % EVALUATION == 0 || t == steps {
                let objective = self.objective(&theta);
                if objective < best.0 {
                    best = (objective, theta.clone());
                }
                report.iterations = t;
                if let ControlFlow::Break(stop) = progress(Step::iteration(t, Some(best.0))) {
                    report.outcome = stop.into();
                    break;
                }
            }
        }
        report.objective = Some(best.0);
        (best.1, report)
    }
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::progress::silent;

    /// Two regions along the first column: in one the second column decides the class, in the other the third.
    fn example(n: usize, seed: u64) -> Dataset {
        let mut random = Random::new(seed, 0);
        let (mut cells, mut labels) = (Vec::new(), Vec::new());
        for i in 0..n {
            let [a, b] = [random.uniform(), random.uniform()];
            cells.extend([6.0 * f64::from(u8::from(i % 2 == 0)) + random.uniform(), a, b]);
            labels.push(if (if i % 2 == 0 { a } else { b }) > 0.5 { "high" } else { "low" });
        }
        Dataset::new(Rows::new(cells, 3).unwrap(), Labels::new(labels)).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let data = example(40, 1);
        let triplets = Triplets::nearest(data.rows(), data.labels(), 2, 3).unwrap();
        let random = &mut Random::new(5, 0);
        let features = KernelFeatures::of(data.rows(), 3, 20, random).unwrap();
        let phi = features.of_rows(data.rows());
        let bases = Mat::from_fn(4, 3, |_, _| random.uniform() - 0.5);
        let z = product(bases.as_ref(), data.rows().as_mat().transpose());
        let problem = Problem { z: z.as_ref(), phi: phi.as_ref(), triplets: &triplets, beta: 0.0 };
        let theta: Vec<f64> = (0..4 * phi.ncols()).map(|_| random.uniform() - 0.3).collect();
        let mut gradient = vec![0.0; theta.len()];
        for t in triplets.as_slice() {
            problem.add_gradient(t, &theta, 1.0 / triplets.len() as f64, &mut gradient);
        }
        for at in 0..theta.len() {
            let moved = |by: f64| {
                let mut theta = theta.clone();
                theta[at] += by;
                problem.objective(&theta)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            // Central differences of a quadratic between kinks: exact but for rounding.
            assert!(
                (slope - gradient[at]).abs() < 1e-7 * (1.0 + slope.abs()),
                "{at}: {slope} {}",
                gradient[at]
            );
        }
    }

    #[test]
    fn weights_that_depend_on_the_row_decide_what_one_matrix_cannot() {
        let (train, test) = (example(300, 3), example(300, 4));
        let method =
            LocalScml { scml: Scml { max_iterations: 2000, ..Scml::default() }, ..LocalScml::default() };
        let local = method.fit(&train, &mut silent).unwrap();
        let (before, after) = (local.global.objective.unwrap(), local.report.objective.unwrap());
        assert!(after < 0.9 * before, "{before} {after}");
        let right = |classes: Vec<u32>| {
            let name = |labels: &Labels, code: u32| labels.names()[code as usize].clone();
            let of = |(i, &code): (usize, &u32)| {
                name(train.labels(), code) == name(test.labels(), test.labels().codes()[i])
            };
            classes.iter().enumerate().filter(|one| of((one.0, one.1))).count()
        };
        let by_local = right(local.predict(test.rows(), 5).unwrap());
        let global = LocalScmlMetrics {
            weights: Mat::from_fn(local.weights.nrows(), local.weights.ncols(), |k, j| {
                if j == 0 { local.weights[(k, 0)] } else { 0.0 }
            }),
            ..local.clone()
        };
        let by_constants = right(global.predict(test.rows(), 5).unwrap());
        assert!(by_local > by_constants, "{by_local} {by_constants} of 300");
        // The second column weighs more where it decides: Σ_k w_k(x) b_k1² against Σ_k w_k(x) b_k2².
        let at = Rows::new(vec![6.5, 0.5, 0.5, 0.5, 0.5, 0.5], 3).unwrap();
        let weights = local.weights_at(&at).unwrap();
        let share = |row: usize| {
            let of = |j: usize| -> f64 {
                (0..weights.ncols()).map(|k| weights[(row, k)] * local.bases[(k, j)].powi(2)).sum()
            };
            of(1) / of(2)
        };
        assert!(share(0) > share(1), "{} {}", share(0), share(1));
    }

    #[test]
    fn neighbours_are_those_of_the_formula_and_a_stop_is_kept_to() {
        let data = example(80, 6);
        let method = LocalScml { scml: Scml { bases: 30, ..Scml::default() }, ..LocalScml::default() };
        let stop = &mut |_: Step| ControlFlow::Break(mahala::progress::Stop::Cancelled);
        let local = method.fit(&data, stop).unwrap();
        assert_eq!((local.report.outcome, local.report.iterations), (Outcome::Cancelled, 0));
        let both = [&local.report, &local.global].map(|report| report.objective.unwrap());
        assert_eq!(both[0], both[1]);
        let found = local.search(data.rows(), 3).unwrap();
        let (weights, z) = (local.weights_at(data.rows()).unwrap(), &local.references.0);
        for i in 0..80 {
            let squared = |j: usize| -> f64 {
                (0..weights.ncols()).map(|k| weights[(i, k)] * (z.row(i)[k] - z.row(j)[k]).powi(2)).sum()
            };
            let third = found.distances(i)[2].powi(2);
            // Products of few and of many rows round differently.
            assert!(found.distances(i)[0] < 1e-12);
            assert_eq!((0..80).filter(|&j| squared(j) < third * (1.0 - 1e-9)).count(), 2);
        }
        assert!(local.search(data.rows(), 81).is_err());
        let bad = LocalScml { components: 0, ..LocalScml::default() };
        assert!(bad.fit(&data, &mut silent).is_err());
    }
}
