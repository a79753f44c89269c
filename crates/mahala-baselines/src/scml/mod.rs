//! SCML: sparse compositional metric learning (Shi, Bellet and Sha 2014). This file has the global form, [`local`] the one
//! whose weights depend on the row.
//!
//! # Formula
//! ```text
//! A = Σ_k w_k b_k b_kᵀ,   w ≥ 0
//! minimise  1/m Σ_triplets [1 + d_A(x, p) − d_A(x, q)]₊ + β Σ_k w_k
//!
//! dual averaging:  ḡ = the mean of the gradients of t steps,    w_k = −(√t/γ)·min(ḡ_k + β, 0)
//! ```
//! The bases `b_k`, of length 1, are discriminant directions (LDA) of neighbourhoods at two scales: around rows drawn at
//! random, the 10 and the 50 nearest rows of every class. Of triplets without labels they are the directions of the
//! pencil of near and far differences, over random subsets. Columns are standardised first; rows then have length 1 on
//! average, as the margin of 1 and γ suppose. Bases that are given are used as they are, on rows in their own units.

pub(crate) mod features;
pub(crate) mod local;

use crate::online::{nearest_triplets, triplets_of};
use crate::pencil::{Pencil, Standardized, within_and_total};
use crate::start::matrix_of as given_matrix;
use faer::{Mat, MatRef};
use mahala::data::{Dataset, Random, Rows, Stream};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Outcome, Report, Training, fields};
use mahala::pairs::{Triplet, Triplets};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::product;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::ControlFlow;

/// Steps between evaluations of the objective, of which the best is kept.
const EVALUATION: usize = 500;
/// Rows of each class in a neighbourhood, at the two scales.
const SCALES: [usize; 2] = [10, 50];

/// Parameters of SCML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scml {
    /// The number of bases.
    pub bases: usize,
    /// The penalty β on the sum of the weights: the larger, the fewer bases are used.
    pub beta: f64,
    /// γ: the larger, the shorter the steps.
    pub gamma: f64,
    /// Nearest rows of its own class for each row of a labelled table; 3 if None. Refused with triplets.
    pub targets: Option<usize>,
    /// Nearest rows of other classes for each of these; 10 if None. Refused with triplets.
    pub impostors: Option<usize>,
    /// The number of stochastic steps.
    pub max_iterations: usize,
    /// The bases themselves, one list a row, for rows in their own units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_bases: Option<Vec<Vec<f64>>>,
    /// Triplets of a step.
    pub batch: usize,
    /// The seed of the bases and the steps.
    pub seed: u64,
}

impl Default for Scml {
    fn default() -> Self {
        Self {
            bases: 400,
            beta: 1e-5,
            gamma: 5e-3,
            targets: None,
            impostors: None,
            max_iterations: 10_000,
            given_bases: None,
            batch: 10,
            seed: 0,
        }
    }
}

impl Learner for Scml {
    fn name(&self) -> &'static str {
        "scml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let triplets = nearest_triplets(shape, [self.targets, self.impostors]);
        let bases = self.bases as f64 * (4.0 + (2 * shape.columns + shape.rows) as f64);
        shape.matrices(8.0, 4.0) + bases + 6.0 * triplets + 3.0 * shape.pairs as f64
    }

    /// Iterations are steps, reported 500 at a time; the objective is that of the formula, of the best weights seen.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check()?;
        let Scaled { rows, unit, divided } = self.scaled(training.rows())?;
        let (bases, weights, report) =
            training.on_rows(divided, |training| self.solve(training, progress))?;
        let used: Vec<usize> = (0..weights.len()).filter(|&k| weights[k] > 0.0).collect();
        let components = Mat::from_fn(used.len(), bases.ncols(), |i, j| {
            weights[used[i]].sqrt() * bases[(used[i], j)] / unit
        });
        Ok(Learned { report, ..rows.learned(components, None)? })
    }
}

/// Standardised rows, and the same divided by a number so that they have length 1 on average.
struct Scaled {
    rows: Standardized,
    unit: f64,
    divided: Rows,
}

impl Scml {
    /// The rows as the margin of 1 supposes them; in their own units for bases that are given.
    fn scaled(&self, rows: &Rows) -> Result<Scaled> {
        let (rows, unit) = if self.given_bases.is_some() {
            (Standardized::centred(rows)?, 1.0)
        } else {
            (Standardized::of(rows)?, (rows.columns() as f64).sqrt())
        };
        let cells = rows.rows.values().iter().map(|x| x / unit).collect();
        let divided = Rows::new(cells, rows.rows.columns())?;
        Ok(Scaled { rows, unit, divided })
    }

    fn check(&self) -> Result<()> {
        for (name, value) in
            [("bases", self.bases), ("max_iterations", self.max_iterations), ("batch", self.batch)]
        {
            if value == 0 {
                return Err(Error::Parameter { name, value: "0".into(), allowed: "at least 1" });
            }
        }
        if !(self.beta >= 0.0 && self.beta.is_finite()) {
            let allowed = "0 or larger, and finite";
            return Err(Error::Parameter { name: "beta", value: self.beta.to_string(), allowed });
        }
        if !(self.gamma > 0.0 && self.gamma.is_finite()) {
            let allowed = "finite and above 0";
            return Err(Error::Parameter { name: "gamma", value: self.gamma.to_string(), allowed });
        }
        Ok(())
    }

    /// The bases, one a row, their weights and the report.
    fn solve(
        &self,
        training: &Training<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<(Mat<f64>, Vec<f64>, Report)> {
        let triplets = triplets_of(training, self.name(), [self.targets, self.impostors])?;
        if triplets.is_empty() {
            return Err(Error::Empty { what: "the list of triplets" });
        }
        let random = &mut Random::of(self.seed, Stream::Visits);
        let bases = match (training, &self.given_bases) {
            (_, Some(given)) => {
                given_matrix("given_bases", given, given.len().max(1), training.rows().columns())?
            }
            (Training::Labelled(data) | Training::Grouped(data, _), None) => {
                local_bases(data, self.bases, random)?
            }
            _ => contrast_bases(training.rows(), &triplets, self.bases, random)?,
        };
        let z = product(bases.as_ref(), training.rows().as_mat().transpose());
        let problem = Problem {
            rows: training.rows(),
            bases: bases.as_ref(),
            z: z.as_ref(),
            triplets: triplets.as_slice(),
            beta: self.beta,
            batch: self.batch,
        };
        let (weights, report) = problem.minimise(self.gamma, self.max_iterations, random, progress);
        Ok((bases, weights, report))
    }
}

/// The objective over the weights.
struct Problem<'a> {
    rows: &'a Rows,
    /// One a row.
    bases: MatRef<'a, f64>,
    /// The coordinate of each row in each basis, one row a column.
    z: MatRef<'a, f64>,
    triplets: &'a [Triplet],
    beta: f64,
    batch: usize,
}

impl Problem<'_> {
    /// `1 + d(x, p) − d(x, q)`; writes the difference of squares in each basis.
    fn margin(&self, t: &Triplet, weights: &[f64], slopes: &mut [f64]) -> f64 {
        let [x, p, q] = [t.anchor, t.near, t.far].map(|i| self.z.col(i));
        let mut sum = 1.0;
        for (k, slope) in slopes.iter_mut().enumerate() {
            let (near, far) = (x[k] - p[k], x[k] - q[k]);
            *slope = near * near - far * far;
            sum += weights[k] * *slope;
        }
        sum
    }

    /// Where there are fewer columns than bases by A itself: d(x, p) = (x − p)ᵀ(Ax − Ap).
    fn objective(&self, weights: &[f64]) -> f64 {
        let (k, d) = (self.bases.nrows(), self.bases.ncols());
        let moved = (d < k).then(|| {
            let weighted = Mat::from_fn(k, d, |k, j| weights[k] * self.bases[(k, j)]);
            let a = product(weighted.transpose(), self.bases);
            product(a.transpose(), self.rows.as_mat().transpose())
        });
        let by_bases = |i: usize, j: usize| -> f64 {
            let each = weights.iter().zip(self.z.col(i).iter().zip(self.z.col(j).iter()));
            each.map(|(w, (x, y))| w * (x - y) * (x - y)).sum()
        };
        let squared = |i: usize, j: usize| -> f64 {
            let Some(moved) = &moved else { return by_bases(i, j) };
            let plain = self.rows.row(i).iter().zip(self.rows.row(j)).map(|(x, y)| x - y);
            let under = moved.col(i).iter().zip(moved.col(j).iter()).map(|(x, y)| x - y);
            plain.zip(under).map(|(v, w)| v * w).sum()
        };
        let hinge = |t: &Triplet| (1.0 + squared(t.anchor, t.near) - squared(t.anchor, t.far)).max(0.0);
        let hinges: Vec<f64> = self.triplets.par_iter().map(hinge).collect();
        hinges.iter().sum::<f64>() / hinges.len() as f64 + self.beta * weights.iter().sum::<f64>()
    }

    fn minimise(
        &self,
        gamma: f64,
        steps: usize,
        random: &mut Random,
        progress: &mut Progress<'_>,
    ) -> (Vec<f64>, Report) {
        let bases = self.z.nrows();
        let (mut weights, mut mean, mut slopes) = (vec![0.0; bases], vec![0.0; bases], vec![0.0; bases]);
        let mut gradient = vec![0.0; bases];
        // All weights 0, where every hinge is 1, would often be better; but that is no metric.
        let mut best = (weights.clone(), f64::INFINITY);
        let mut report = Report { outcome: Outcome::Completed, ..Report::closed_form() };
        for step in 1..=steps {
            gradient.fill(0.0);
            for _ in 0..self.batch {
                let triplet = &self.triplets[random.below(self.triplets.len())];
                if self.margin(triplet, &weights, &mut slopes) > 0.0 {
                    gradient.iter_mut().zip(&slopes).for_each(|(g, s)| *g += s / self.batch as f64);
                }
            }
            let t = step as f64;
            for ((mean, g), w) in mean.iter_mut().zip(&gradient).zip(&mut weights) {
                *mean += (g - *mean) / t;
                *w = -(t.sqrt() / gamma) * (*mean + self.beta).min(0.0);
            }
            if step % EVALUATION == 0 || step == steps {
                let objective = self.objective(&weights);
                if objective < best.1 {
                    best = (weights.clone(), objective);
                }
                report.iterations = step;
                if let ControlFlow::Break(stop) = progress(Step::iteration(step, Some(best.1))) {
                    report.outcome = stop.into();
                    break;
                }
            }
        }
        report.objective = Some(best.1);
        (best.0, report)
    }
}

/// Discriminant directions of neighbourhoods, of length 1, one a row.
fn local_bases(data: &Dataset, count: usize, random: &mut Random) -> Result<Mat<f64>> {
    let rows = data.rows();
    let mut classes = vec![Vec::new(); data.labels().class_count()];
    data.labels().codes().iter().enumerate().for_each(|(i, &code)| classes[code as usize].push(i));
    classes.retain(|members| !members.is_empty());
    let wanted = rows.columns().min(classes.len().saturating_sub(1));
    let mut bases: Vec<Vec<f64>> = Vec::with_capacity(count);
    let order = random.permutation(rows.len());
    for (&centre, scale) in order.iter().flat_map(|i| SCALES.map(|scale| (i, scale))) {
        let (mut members, mut groups) = (Vec::new(), Vec::new());
        for (code, class) in classes.iter().enumerate() {
            let mut near = class.clone();
            let squared = |i: &usize| squared_distance(rows.row(centre), rows.row(*i));
            near.sort_by(|i, j| squared(i).total_cmp(&squared(j)).then(i.cmp(j)));
            near.truncate(scale);
            groups.extend(near.iter().map(|_| Some(code as u32)));
            members.extend(near);
        }
        let [within, total] = within_and_total(&rows.subset(&members), &groups, classes.len());
        // Rows of a neighbourhood may all be equal.
        let Ok(pencil) = Pencil::of(within.as_ref(), total.as_ref(), members.len()) else { continue };
        bases.extend(directions(&pencil, wanted));
        if bases.len() >= count {
            break;
        }
    }
    matrix_of(&bases, count, rows.columns())
}

/// Directions that tell near from far differences of random subsets of triplets, of length 1, one a row.
fn contrast_bases(rows: &Rows, triplets: &Triplets, count: usize, random: &mut Random) -> Result<Mat<f64>> {
    let d = rows.columns();
    let size = (4 * d).min(triplets.len());
    let mut bases = Vec::with_capacity(count);
    for _ in 0..count.div_ceil(d) {
        let drawn: Vec<Triplet> =
            (0..size).map(|_| triplets.as_slice()[random.below(triplets.len())]).collect();
        let gram = |end: fn(&Triplet) -> usize| {
            let v = Mat::from_fn(size, d, |i, j| rows.row(drawn[i].anchor)[j] - rows.row(end(&drawn[i]))[j]);
            let sum = product(v.transpose(), v.as_ref());
            Mat::from_fn(d, d, |i, j| 0.5 * (sum[(i, j)] + sum[(j, i)]) / size as f64)
        };
        let Ok(pencil) = Pencil::of(gram(|t| t.near).as_ref(), gram(|t| t.far).as_ref(), size) else {
            continue;
        };
        bases.extend(directions(&pencil, d));
    }
    matrix_of(&bases, count, d)
}

/// The first directions of a pencil, of length 1.
fn directions(pencil: &Pencil, most: usize) -> Vec<Vec<f64>> {
    let direction = |k: usize| {
        let v: Vec<f64> = pencil.directions.col(k).iter().copied().collect();
        let length = v.iter().fold(0.0, |sum: f64, v| sum.hypot(*v));
        v.into_iter().map(|v| v / length).collect()
    };
    (0..most.min(pencil.shares.len())).map(direction).collect()
}

fn matrix_of(bases: &[Vec<f64>], count: usize, columns: usize) -> Result<Mat<f64>> {
    if bases.is_empty() {
        return Err(Error::AllConstant { columns });
    }
    Ok(Mat::from_fn(bases.len().min(count), columns, |k, j| bases[k][j]))
}

fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::Labels;
    use mahala::progress::silent;

    fn example() -> Dataset {
        let mut random = Random::new(12, 0);
        let shift = |i: usize, j: usize| if j == 0 && i % 2 == 1 { 0.6 } else { 0.0 };
        let cells = (0..60 * 3).map(|at| 0.5 * random.uniform() + shift(at / 3, at % 3));
        let rows = Rows::new(cells.collect(), 3).unwrap();
        Dataset::new(rows, Labels::new((0..60).map(|i| ["a", "b"][i % 2]))).unwrap()
    }

    #[test]
    fn dual_averaging_comes_near_the_minimum_that_subgradients_find() {
        let data = example();
        let triplets = Triplets::nearest(data.rows(), data.labels(), 3, 5).unwrap();
        let bases = local_bases(&data, 12, &mut Random::new(0, 0)).unwrap();
        let z = product(bases.as_ref(), data.rows().as_mat().transpose());
        let (rows, triplets) = (data.rows(), triplets.as_slice());
        let problem = Problem { rows, bases: bases.as_ref(), z: z.as_ref(), triplets, beta: 1e-3, batch: 10 };
        // By A where there are more bases than columns, else basis by basis: the same sum in another order.
        for count in [2, 12] {
            let (bases, z) = (bases.as_ref().subrows(0, count), z.as_ref().subrows(0, count));
            let part = Problem { rows, bases, z, triplets, beta: 1e-3, batch: 10 };
            let some: Vec<f64> = (0..count).map(|k| 3.0 * (1 + k % 5) as f64).collect();
            let mut unused = vec![0.0; count];
            let hinges = triplets.iter().map(|t| part.margin(t, &some, &mut unused).max(0.0)).sum::<f64>();
            let expected = hinges / triplets.len() as f64 + 1e-3 * some.iter().sum::<f64>();
            assert!((part.objective(&some) - expected).abs() < 1e-12 * expected);
        }
        let (weights, report) = problem.minimise(1e-3, 20_000, &mut Random::new(1, 0), &mut silent);
        assert!(weights.iter().all(|w| *w >= 0.0));
        assert_eq!(report.objective, Some(problem.objective(&weights)));
        // Projected subgradients over all triplets, with steps that shrink.
        let (mut w, mut best) = (vec![0.0; 12], f64::INFINITY);
        let mut slopes = vec![0.0; 12];
        for step in 1..6000 {
            let mut gradient = vec![problem.beta; 12];
            for t in problem.triplets {
                if problem.margin(t, &w, &mut slopes) > 0.0 {
                    let share = 1.0 / problem.triplets.len() as f64;
                    gradient.iter_mut().zip(&slopes).for_each(|(g, s)| *g += share * s);
                }
            }
            let length = gradient.iter().fold(0.0, |sum: f64, g| sum.hypot(*g)) * f64::from(step).sqrt();
            w.iter_mut().zip(&gradient).for_each(|(w, g)| *w = (*w - 20.0 * g / length).max(0.0));
            best = best.min(problem.objective(&w));
        }
        let seen = report.objective.unwrap();
        assert!(seen < 1.02 * best && seen > 0.98 * best, "{seen} {best}");
    }

    #[test]
    fn bases_are_of_length_1_and_a_large_penalty_leaves_none() {
        let data = example();
        let bases = local_bases(&data, 7, &mut Random::new(0, 0)).unwrap();
        assert_eq!(bases.nrows(), 7);
        assert!((0..7).all(|k| (bases.row(k).norm_l2() - 1.0).abs() < 1e-14));
        let none = Scml { beta: 1e3, ..Scml::default() };
        let learned = none.learn(&Training::Labelled(&data), &mut silent).unwrap();
        assert_eq!((learned.metric.map().norm_max(), learned.report.objective), (0.0, Some(1.0)));
        let triplets = Triplets::nearest(data.rows(), data.labels(), 3, 5).unwrap();
        let learned =
            Scml::default().learn(&Training::Triplets(data.rows(), &triplets), &mut silent).unwrap();
        let a = learned.metric.matrix().unwrap();
        assert!(a[(0, 0)] > 1.5 * a[(1, 1)].max(a[(2, 2)]), "{a:?}");
    }
}
