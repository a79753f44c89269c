//! Robust GMML: the closed form of two Tyler estimators (Tyler 1987; Collas et al.).
//!
//! # Formula
//! ```text
//! S ← (1 − ρ)·(d/m) Σ_similar vvᵀ/(vᵀS⁻¹v) + ρI,   tr S = d;    D likewise over dissimilar pairs; to a fixed point
//! A = (S + λI)⁻¹ ♯_t (D + λI)
//! ```
//! A pair weighs d/(vᵀS⁻¹v) instead of 1: how long its difference is does not matter, only its direction does, so a
//! few mislabelled rows do less harm. Both matrices are defined up to their scale, and their traces are fixed. ρ > 0
//! makes the fixed point exist whatever the number of pairs. The report lists the similar pairs of the least weight,
//! which are the suspicious ones.

use crate::constraints::exponent_of_rows;
use crate::online::{dot, times};
use faer::{Mat, MatRef};
use mahala::data::{ColumnStatistics, Rows};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::geometry::{Geodesic, Spd};
use mahala::learner::{Learned, Learner, Outcome, Report, Training, fields};
use mahala::metric::Metric;
use mahala::pairs::Pair;
use mahala::progress::{Progress, Step};
use mahala::scatter::check_labels;
use mahala_kernels::blas::weighted_gram;
use mahala_kernels::scaling::times_power_of_two;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Suspicious pairs in the report.
const SUSPECTS: usize = 10;

/// Parameters of robust GMML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobustGmml {
    /// The place on the geodesic from S⁻¹ to D.
    pub t: f64,
    /// λ, beside eigenvalues of 1 on average.
    pub lambda: f64,
    /// ρ, above 0 and at most 1.
    pub shrinkage: f64,
    /// The most iterations of the two fixed points.
    pub max_iterations: usize,
    /// Converged when no entry of S or D changes by more.
    pub tolerance: f64,
    /// The seed of the pairs.
    pub seed: u64,
}

impl Default for RobustGmml {
    fn default() -> Self {
        Self { t: 0.5, lambda: 0.0, shrinkage: 0.05, max_iterations: 500, tolerance: 1e-9, seed: 0 }
    }
}

impl Learner for RobustGmml {
    fn name(&self) -> &'static str {
        "robust-gmml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(12.0, 1.0) + shape.differences(3.0)
    }

    /// An iteration updates S and D; the objective reported is the largest change of an entry.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check()?;
        if let Training::Labelled(data) | Training::Grouped(data, _) = training {
            check_labels(data.labels())?;
        }
        let (rows, pairs) = (training.rows(), training.pairs(self.name(), self.seed)?);
        pairs.check(rows.len(), rows.len())?;
        let (exponent, d) = (exponent_of_rows(rows), rows.columns());
        let [similar, dissimilar] =
            [true, false].map(|kind| Directions::of(rows, pairs.as_slice(), kind, exponent));
        if similar.pairs.is_empty() {
            return Err(Error::NoSimilarPair { reason: "none whose rows differ".into() });
        }
        if dissimilar.pairs.is_empty() {
            return Err(Error::NoDissimilarPair { reason: "none whose rows differ".into() });
        }
        let (estimates, mut report) = self.fixed_points(&similar, &dissimilar, progress)?;
        report.choice = Some(json!({"suspicious_pairs": suspects(&similar, estimates.inverse.as_mat())}));
        let ridged = |m: &Mat<f64>, what| {
            let ridge = |i, j| if i == j { self.lambda } else { 0.0 };
            Spd::named(Mat::from_fn(d, d, |i, j| m[(i, j)] + ridge(i, j)), what)
        };
        let a =
            Geodesic::from_inverse(&ridged(&estimates.s, "S")?, &ridged(&estimates.d, "D")?)?.at(self.t)?;
        let metric = Metric::from_matrix(&a)?;
        let unit = dissimilar.lengths.iter().sum::<f64>() / dissimilar.lengths.len() as f64;
        let l = metric.components();
        let scaled = Mat::from_fn(l.nrows(), d, |i, j| times_power_of_two(l[(i, j)] / unit, -exponent));
        Ok(Learned::new(Metric::computed(scaled, ColumnStatistics::of(rows).mean, None)?, report))
    }
}

impl RobustGmml {
    fn check(&self) -> Result<()> {
        let bad =
            |name, value: f64, allowed| Err(Error::Parameter { name, value: value.to_string(), allowed });
        if !(0.0..=1.0).contains(&self.t) {
            return bad("t", self.t, "between 0 and 1");
        }
        if !(self.shrinkage > 0.0 && self.shrinkage <= 1.0) {
            return bad("shrinkage", self.shrinkage, "above 0 and at most 1");
        }
        for (name, value) in [("lambda", self.lambda), ("tolerance", self.tolerance)] {
            if !(0.0..=f64::MAX).contains(&value) {
                return bad(name, value, "0 or larger, and finite");
            }
        }
        if self.max_iterations == 0 {
            return bad("max_iterations", 0.0, "at least 1");
        }
        Ok(())
    }

    fn fixed_points(
        &self,
        similar: &Directions,
        dissimilar: &Directions,
        progress: &mut Progress<'_>,
    ) -> Result<(Estimates, Report)> {
        let d = similar.v.ncols();
        let (mut s, mut de) = (Mat::<f64>::identity(d, d), Mat::<f64>::identity(d, d));
        let mut report = Report { outcome: Outcome::IterationLimit, ..Report::closed_form() };
        for iteration in 1..=self.max_iterations {
            let next = similar.step(&s, self.shrinkage)?;
            let next_d = dissimilar.step(&de, self.shrinkage)?;
            let change = (&next - &s).norm_max().max((&next_d - &de).norm_max());
            (s, de) = (next, next_d);
            (report.iterations, report.objective) = (iteration, Some(change));
            if let ControlFlow::Break(stop) = progress(Step::iteration(iteration, Some(change))) {
                report.outcome = stop.into();
                break;
            }
            if change <= self.tolerance {
                report.outcome = Outcome::Converged;
                break;
            }
        }
        let inverse = Spd::named(s.clone(), "S")?.inverse()?;
        Ok((Estimates { s, inverse, d: de }, report))
    }
}

/// The two fixed points.
struct Estimates {
    s: Mat<f64>,
    /// S⁻¹.
    inverse: Spd,
    d: Mat<f64>,
}

/// The directions of the differences of one kind, of length 1: the estimator does not see their length.
struct Directions {
    /// One a row.
    v: Mat<f64>,
    weights: Vec<f64>,
    pairs: Vec<[usize; 2]>,
    /// The length of each difference.
    lengths: Vec<f64>,
}

impl Directions {
    fn of(rows: &Rows, pairs: &[Pair], similar: bool, exponent: i32) -> Self {
        let scaled = |x: f64| times_power_of_two(x, -exponent);
        let (mut v, mut weights, mut kept, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for pair in pairs.iter().filter(|pair| pair.similar == similar && pair.weight > 0.0) {
            let cells = rows.row(pair.first).iter().zip(rows.row(pair.second));
            let x: Vec<f64> = cells.map(|(&a, &b)| scaled(a) - scaled(b)).collect();
            let length = x.iter().fold(0.0, |sum: f64, x| sum.hypot(*x));
            if length > 0.0 {
                v.extend(x.iter().map(|x| x / length));
                weights.push(pair.weight);
                kept.push([pair.first, pair.second]);
                lengths.push(length);
            }
        }
        let v = MatRef::from_row_major_slice(&v, kept.len(), rows.columns()).to_owned();
        Self { v, weights, pairs: kept, lengths }
    }

    /// `vᵀM⁻¹v` of every direction.
    fn squared_lengths(&self, inverse: MatRef<'_, f64>) -> Vec<f64> {
        let row = |i: usize| self.v.row(i).iter().copied().collect::<Vec<f64>>();
        (0..self.v.nrows()).map(|i| dot(&row(i), &times(inverse, &row(i)))).collect()
    }

    /// One iteration of the estimator.
    fn step(&self, m: &Mat<f64>, shrinkage: f64) -> Result<Mat<f64>> {
        let d = m.ncols();
        let inverse = Spd::named(m.clone(), "Tyler's estimate")?.inverse()?;
        let lengths = self.squared_lengths(inverse.as_mat());
        let weights: Vec<f64> = self.weights.iter().zip(&lengths).map(|(w, q)| w / q).collect();
        let sum = weighted_gram(self.v.transpose(), &weights);
        let factor = (1.0 - shrinkage) * d as f64 / self.weights.iter().sum::<f64>();
        let next = Mat::from_fn(d, d, |i, j| {
            factor * 0.5 * (sum[(i, j)] + sum[(j, i)]) + if i == j { shrinkage } else { 0.0 }
        });
        let trace: f64 = (0..d).map(|j| next[(j, j)]).sum();
        Ok(Mat::from_fn(d, d, |i, j| next[(i, j)] * d as f64 / trace))
    }
}

/// The similar pairs of the least weight `1/(vᵀS⁻¹v)`: `[first, second, weight]`, the median weight being 1.
fn suspects(similar: &Directions, inverse: MatRef<'_, f64>) -> Vec<Value> {
    let along = similar.squared_lengths(inverse);
    let squares: Vec<f64> =
        along.iter().zip(&similar.lengths).map(|(q, length)| q * length * length).collect();
    let mut order: Vec<usize> = (0..squares.len()).collect();
    order.sort_by(|&i, &j| squares[j].total_cmp(&squares[i]).then(i.cmp(&j)));
    let median = squares[order[order.len() / 2]];
    let entry = |&i: &usize| json!([similar.pairs[i][0], similar.pairs[i][1], median / squares[i]]);
    order.iter().take(SUSPECTS).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::pairs::Pairs;
    use mahala::progress::silent;
    use mahala::{Dataset, Gmml, Labels};

    /// Two classes apart in the first column, noise of other sizes in the others; four labels are wrong.
    fn example(wrong: bool) -> (Dataset, Labels) {
        let mut random = Random::new(3, 0);
        let mut noise = || (0..6).map(|_| random.uniform() - 0.5).sum::<f64>();
        let cells = (0..120).flat_map(|i| {
            let class = f64::from(u8::from(i % 2 == 0));
            [4.0 * class + 0.3 * noise(), 2.0 * noise(), noise()]
        });
        let rows = Rows::new(cells.collect(), 3).unwrap();
        let truth = Labels::new((0..120).map(|i| ["a", "b"][i % 2]));
        let given =
            Labels::new((0..120).map(|i| ["a", "b"][if wrong && i % 30 == 3 { 1 - i % 2 } else { i % 2 }]));
        (Dataset::new(rows, given).unwrap(), truth)
    }

    #[test]
    fn both_estimates_are_fixed_points_of_the_formula() {
        let (data, _) = example(true);
        let pairs = Pairs::all(data.labels());
        let method = RobustGmml { tolerance: 1e-13, ..RobustGmml::default() };
        let of = |kind| Directions::of(data.rows(), pairs.as_slice(), kind, 0);
        let (similar, dissimilar) = (of(true), of(false));
        let (Estimates { s, inverse, .. }, report) =
            method.fixed_points(&similar, &dissimilar, &mut silent).unwrap();
        assert_eq!(report.outcome, Outcome::Converged);
        let m = similar.pairs.len() as f64;
        let mut expected = Mat::from_fn(3, 3, |i, j| if i == j { 0.05 } else { 0.0 });
        for [a, b] in &similar.pairs {
            let v: Vec<f64> =
                data.rows().row(*a).iter().zip(data.rows().row(*b)).map(|(a, b)| a - b).collect();
            let q = dot(&v, &times(inverse.as_mat(), &v));
            (0..9).for_each(|at| expected[(at / 3, at % 3)] += 0.95 * 3.0 / m * v[at / 3] * v[at % 3] / q);
        }
        let trace: f64 = (0..3).map(|j| expected[(j, j)]).sum();
        assert!(
            (0..9).all(|at| (expected[(at / 3, at % 3)] * 3.0 / trace - s[(at / 3, at % 3)]).abs() < 1e-10)
        );
    }

    #[test]
    fn wrong_labels_move_it_less_than_the_plain_sums_and_are_named() {
        let [(clean, _), (wrong, _)] = [example(false), example(true)];
        let shape = |metric: &Metric| {
            let a = metric.matrix().unwrap();
            // The weight of the discriminant column beside the others, whatever the scale.
            (a[(0, 0)] / a[(1, 1)]).ln()
        };
        let robust = |data: &Dataset| {
            let pairs = Pairs::all(data.labels());
            RobustGmml::default().learn(&Training::Paired(data.rows(), &pairs), &mut silent).unwrap()
        };
        let plain = |data: &Dataset| {
            let gmml = Gmml { t: mahala::gmml::TChoice::Fixed(0.5), ..Gmml::default() };
            gmml.fit(data).unwrap().metric
        };
        let moved = (shape(&robust(&clean).metric) - shape(&robust(&wrong).metric)).abs();
        let moved_plain = (shape(&plain(&clean)) - shape(&plain(&wrong))).abs();
        assert!(moved < 0.9 * moved_plain, "{moved} {moved_plain}");
        let report = robust(&wrong).report.choice.unwrap();
        let named = report["suspicious_pairs"].as_array().unwrap();
        assert_eq!(named.len(), SUSPECTS);
        for pair in named {
            let is_wrong = |at: usize| pair[at].as_u64().unwrap() % 30 == 3;
            assert!(is_wrong(0) != is_wrong(1), "{pair}");
        }
    }
}
