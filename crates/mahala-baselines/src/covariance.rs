//! The inverse covariance: the classic Mahalanobis distance, which ignores classes.

use faer::Mat;
use mahala::data::ColumnStatistics;
use mahala::data::Rows;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Report, SpanRule, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The inverse covariance of the rows.
///
/// # Formula
/// ```text
/// A = Σ⁺,     Σ = 1/(n−1) Σ_i (x_i − m)(x_i − m)ᵀ
/// ```
///
/// If `Σ` is singular, `Σ⁺` is its pseudo-inverse, taken with every column in units of its standard deviation:
/// directions in which rows do not vary have weight 0. Between training rows all pseudo-inverses give the same
/// distance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Covariance {}

impl Learner for Covariance {
    fn name(&self) -> &'static str {
        "covariance"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let block = (shape.rows.min(BLOCK) + 1) * shape.columns;
        shape.matrices(8.0, 0.0) + block as f64
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        Some(SpanRule { standardize: true, directions: 1 })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        let rows = training.rows();
        if rows.len() < 2 {
            return Err(Error::TooFewRows { what: "the covariance", needed: 2, seen: rows.len() });
        }
        let statistics = ColumnStatistics::of(rows);
        let (n, d) = (rows.len(), rows.columns());
        let correlation =
            eigen(scatter(rows, &statistics).as_ref(), "the covariance", &mut Workspace::default())?;
        let least = (n.max(d)) as f64 * f64::EPSILON * correlation.values[d - 1];
        let kept: Vec<usize> = (0..d).filter(|&j| correlation.values[j] > least.max(0.0)).collect();
        if kept.is_empty() {
            return Err(Error::AllConstant { columns: d });
        }
        let weight = |j: usize| ((n - 1) as f64 / correlation.values[j]).sqrt();
        let components =
            Mat::from_fn(kept.len(), d, |i, j| weight(kept[i]) * correlation.vectors[(j, kept[i])]);
        let metric = Metric::computed(components, statistics.mean, Some(statistics.scale))?;
        Ok(Learned::new(metric, Report::closed_form()))
    }
}

/// `Σ_i z_i z_iᵀ` of standardised rows, lower triangle.
fn scatter(rows: &Rows, statistics: &ColumnStatistics) -> Mat<f64> {
    let d = rows.columns();
    let mut sum = Mat::zeros(d, d);
    let mut block = Block::new(d, rows.len());
    for first in (0..rows.len()).step_by(BLOCK) {
        for i in first..rows.len().min(first + BLOCK) {
            let cell =
                |(j, x): (usize, &f64)| x / statistics.scale[j] - statistics.mean[j] / statistics.scale[j];
            block.push(rows.row(i).iter().enumerate().map(cell));
        }
        block.flush_into(sum.as_mut());
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::progress::silent;

    fn learn(rows: &Rows) -> Result<Metric> {
        let pairs = mahala::pairs::Pairs::new(Vec::new(), rows.len(), rows.len())?;
        Ok(Covariance::default().learn(&Training::Paired(rows, &pairs), &mut silent)?.metric)
    }

    #[test]
    fn the_inverse_of_a_covariance_known_by_hand_comes_out() {
        // Σ = [[10, 8], [8, 8]] / 3 by hand.
        let rows = Rows::new(vec![-2.0, -2.0, -1.0, 0.0, 1.0, 0.0, 2.0, 2.0], 2).unwrap();
        let a = learn(&rows).unwrap().matrix().unwrap();
        let (p, q, r) = (10.0 / 3.0, 8.0 / 3.0, 8.0 / 3.0);
        let det = p * r - q * q;
        for (seen, expected) in
            [(a[(0, 0)], r / det), (a[(0, 1)], -q / det), (a[(1, 1)], p / det), (a[(1, 0)], -q / det)]
        {
            assert!((seen - expected).abs() < 1e-13, "{seen} {expected}");
        }
    }

    #[test]
    fn a_singular_covariance_measures_what_its_regular_part_does() {
        let values = [0.3, 1.0, 2.0, -0.5, 0.7, 1.9, 4.0, 0.1];
        let plain = Rows::new(values.to_vec(), 2).unwrap();
        // A third column that is the sum of the others, and a fourth that is constant.
        let singular: Vec<f64> = values.chunks(2).flat_map(|x| [x[0], x[1], x[0] + x[1], 7.0]).collect();
        let singular = Rows::new(singular, 4).unwrap();
        let (a, b) = (learn(&plain).unwrap(), learn(&singular).unwrap());
        assert_eq!(b.rank(), 2);
        let seen = b.squared_distance(singular.row(0), singular.row(3)).unwrap();
        let expected = a.squared_distance(plain.row(0), plain.row(3)).unwrap();
        assert!((seen / expected - 1.0).abs() < 1e-12);
    }
}
