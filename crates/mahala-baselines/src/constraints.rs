//! Pair constraints: differences, distance bounds, and the conversion of `A` to a metric.

use faer::{Mat, MatRef};
use mahala::data::ColumnStatistics;
use mahala::data::Rows;
use mahala::data::{Random, Stream};
use mahala::error::{Error, Result};
use mahala::learner::Training;
use mahala::metric::Metric;
use mahala::scatter::check_labels;
use mahala::scatter::column_peaks;
use mahala_kernels::eigen::eigen;
use mahala_kernels::scaling::{exponent_of, times_power_of_two};
use mahala_kernels::workspace::Workspace;

/// Differences shorter than this share of the longest count as 0.
const SHORTEST: f64 = 1e-9;

/// Rows beyond 2^±30 are scaled by a power of two: eighth powers then stay in range.
const PLAIN: i32 = 30;

/// The differences `x_ij = x_i − x_j` of pairs, in units of `2^exponent`.
#[derive(Debug, Clone)]
pub(crate) struct Constraints {
    pub(crate) exponent: i32,
    pub(crate) similar: Vec<bool>,
    pub(crate) weights: Vec<f64>,
    differences: Vec<f64>,
    columns: usize,
}

/// Distances that similar pairs should not exceed, and dissimilar ones should reach; both squared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Constraints {
    /// The given pairs, or the paper's sample; without pairs of weight 0 or difference 0.
    ///
    /// # Errors
    /// One class, no class of two rows, a pair that names no row, or no pair whose rows differ.
    pub(crate) fn of(training: &Training<'_>, method: &'static str, seed: u64) -> Result<Self> {
        if let Training::Labelled(data) | Training::Grouped(data, _) = training {
            check_labels(data.labels())?;
        }
        let (rows, pairs) = (training.rows(), training.pairs(method, seed)?);
        pairs.check(rows.len(), rows.len())?;
        if pairs.is_empty() {
            return Err(Error::Empty { what: "the list of pairs" });
        }
        let (exponent, columns) = (exponent_of_rows(rows), rows.columns());
        let all: Vec<Vec<f64>> =
            pairs.as_slice().iter().map(|p| difference(rows, p.first, p.second, exponent)).collect();
        let longest = all.iter().map(|x| squared_norm(x)).fold(0.0, f64::max);
        let mut kept = Self {
            exponent,
            similar: Vec::new(),
            weights: Vec::new(),
            differences: Vec::with_capacity(all.len() * columns),
            columns,
        };
        for (x, pair) in all.iter().zip(pairs.as_slice()) {
            if pair.weight > 0.0 && squared_norm(x).sqrt() > SHORTEST * longest.sqrt() {
                kept.differences.extend_from_slice(x);
                kept.similar.push(pair.similar);
                kept.weights.push(pair.weight);
            }
        }
        if kept.similar.is_empty() { Err(Error::AllConstant { columns }) } else { Ok(kept) }
    }

    pub(crate) fn len(&self) -> usize {
        self.similar.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The differences, one a row.
    pub(crate) fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.differences, self.len(), self.columns)
    }

    pub(crate) fn difference(&self, i: usize) -> &[f64] {
        &self.differences[i * self.columns..(i + 1) * self.columns]
    }

    /// The differences of one kind, one a row, and their weights.
    pub(crate) fn of_kind(&self, similar: bool) -> (Mat<f64>, Vec<f64>) {
        let chosen: Vec<usize> = (0..self.len()).filter(|&i| self.similar[i] == similar).collect();
        let x = Mat::from_fn(chosen.len(), self.columns, |i, j| self.difference(chosen[i])[j]);
        (x, chosen.iter().map(|&i| self.weights[i]).collect())
    }
}

impl Bounds {
    /// The squared distances of at most 100 random pairs of rows, in a histogram of 100 bins of equal
    /// width; the bounds are the centres of the 5th and of the 95th bin. In units of `4^exponent`.
    ///
    /// # Errors
    /// No two of the rows drawn differ.
    pub(crate) fn of(rows: &Rows, exponent: i32, seed: u64) -> Result<Self> {
        let n = rows.len();
        let draws = 100.min(n * n.saturating_sub(1) / 2);
        let mut random = Random::of(seed, Stream::ItmlBounds);
        let squared: Vec<f64> = (0..draws)
            .map(|_| squared_norm(&difference(rows, random.below(n), random.below(n), exponent)))
            .collect();
        let least = squared.iter().copied().fold(f64::INFINITY, f64::min);
        let most = squared.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return Err(Error::AllConstant { columns: rows.columns() });
        }
        let centre = |bin: f64| least + (most - least) * (bin - 0.5) / 100.0;
        Ok(Self { lower: centre(5.0), upper: centre(95.0) })
    }

    /// Converts bounds in the units of the rows to units of `4^exponent`.
    ///
    /// # Errors
    /// They are too far from the scale of the rows.
    pub(crate) fn given((lower, upper): (f64, f64), exponent: i32) -> Result<Self> {
        let scaled = |bound: f64| times_power_of_two(bound, -2 * exponent);
        let bounds = Self { lower: scaled(lower), upper: scaled(upper) };
        if [bounds.lower, bounds.upper].iter().all(|bound| bound.is_normal()) {
            return Ok(bounds);
        }
        let value = format!("{lower}, {upper}");
        Err(Error::Parameter {
            name: "bounds",
            value,
            allowed: "of the scale of the rows' squared distances",
        })
    }
}

/// The metric of a positive semidefinite `A`, centred at the mean of the rows.
///
/// # Errors
/// `A` is not finite, or 0.
pub(crate) fn metric_of(a: MatRef<'_, f64>, rows: &Rows) -> Result<Metric> {
    let d = a.nrows();
    let e = eigen(a, "A", &mut Workspace::default())?;
    let least = d as f64 * f64::EPSILON * e.values[d - 1];
    let kept: Vec<usize> = (0..d).rev().filter(|&j| e.values[j] > least.max(0.0)).collect();
    if kept.is_empty() {
        return Err(Error::OutOfRange { what: "the matrix A" });
    }
    let components = Mat::from_fn(kept.len(), d, |i, j| e.values[kept[i]].sqrt() * e.vectors[(j, kept[i])]);
    Metric::computed(components, ColumnStatistics::of(rows).mean, None)
}

/// The exponent of two by which rows are scaled: 0 unless their scale is extreme.
pub(crate) fn exponent_of_rows(rows: &Rows) -> i32 {
    let exponent = exponent_of(column_peaks(rows.as_mat()).into_iter().fold(0.0, f64::max));
    if exponent.abs() <= PLAIN { 0 } else { exponent }
}

/// `(x_i − x_j) / 2^exponent`, scaled before the subtraction so that nothing overflows.
fn difference(rows: &Rows, i: usize, j: usize, exponent: i32) -> Vec<f64> {
    let cells = rows.row(i).iter().zip(rows.row(j));
    cells.map(|(&a, &b)| times_power_of_two(a, -exponent) - times_power_of_two(b, -exponent)).collect()
}

fn squared_norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}
