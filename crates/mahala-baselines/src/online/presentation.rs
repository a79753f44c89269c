//! The presentation of a table to an online learner: centred and scaled rows, in passes over pairs or triplets.

use crate::online::Online;
use faer::Mat;
use mahala::data::{ColumnStatistics, Random, Rows, Stream};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Outcome, Report, Training};
use mahala::metric::Metric;
use mahala::pairs::Triplets;
use mahala::progress::{Progress, Step};
use mahala::scatter::{check_labels, column_peaks};
use mahala_kernels::scaling::{exponent_of, times_power_of_two};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// One example, by row index.
enum Example {
    Pair(usize, usize, bool),
    Triplet(usize, usize, usize),
}

/// A table as an online learner sees it.
pub(super) struct Presentation {
    /// Rows around their mean; the longest has the given length.
    pub(super) rows: Rows,
    mean: Vec<f64>,
    /// A cell is `2^exponent · unit` of its difference to the mean.
    exponent: i32,
    unit: f64,
    examples: Vec<Example>,
}

impl Presentation {
    /// The pairs given, or the paper's sample of labelled rows; rows within a ball of diameter 1.
    pub(super) fn of_pairs(training: &Training<'_>, method: &'static str, seed: u64) -> Result<Self> {
        if let Training::Labelled(data) | Training::Grouped(data, _) = training {
            check_labels(data.labels())?;
        }
        let (rows, pairs) = (training.rows(), training.pairs(method, seed)?);
        pairs.check(rows.len(), rows.len())?;
        if let Some(pair) = pairs.as_slice().iter().find(|pair| pair.weight != 0.0 && pair.weight != 1.0) {
            return Err(Error::Parameter {
                name: "weight",
                value: pair.weight.to_string(),
                allowed: "0 or 1 for an online learner: repeat a pair that should count more",
            });
        }
        let kept = pairs.as_slice().iter().filter(|pair| pair.weight > 0.0);
        let examples = kept
            .filter(|pair| rows.row(pair.first) != rows.row(pair.second))
            .map(|pair| Example::Pair(pair.first, pair.second, pair.similar));
        Self::new(rows, examples.collect(), 0.5)
    }

    /// The triplets given, or the nearest ones of labelled rows; rows within a ball of radius 1.
    pub(super) fn of_triplets(
        training: &Training<'_>,
        method: &'static str,
        nearest: [Option<usize>; 2],
    ) -> Result<Self> {
        let rows = training.rows();
        let triplets = triplets_of(training, method, nearest)?;
        let examples = triplets
            .as_slice()
            .iter()
            .filter(|t| rows.row(t.near) != rows.row(t.far))
            .map(|t| Example::Triplet(t.anchor, t.near, t.far));
        Self::new(rows, examples.collect(), 1.0)
    }

    fn new(rows: &Rows, examples: Vec<Example>, radius: f64) -> Result<Self> {
        let columns = rows.columns();
        if examples.is_empty() {
            return Err(Error::Empty { what: "the list of pairs or triplets whose rows differ" });
        }
        let mean = ColumnStatistics::of(rows).mean;
        let exponent = exponent_of(column_peaks(rows.as_mat()).into_iter().fold(0.0, f64::max));
        let scaled = |x: f64| times_power_of_two(x, -exponent);
        let mut values: Vec<f64> =
            rows.values().iter().enumerate().map(|(at, &x)| scaled(x) - scaled(mean[at % columns])).collect();
        let longest = values.chunks_exact(columns).map(|x| x.iter().map(|x| x * x).sum::<f64>());
        let unit = longest.fold(0.0, f64::max).sqrt() / radius;
        if unit <= 0.0 {
            return Err(Error::AllConstant { columns });
        }
        values.iter_mut().for_each(|x| *x /= unit);
        let rows = Rows::new(values, columns).map_err(|_| Error::OutOfRange { what: "a centred cell" })?;
        Ok(Self { rows, mean, exponent, unit, examples })
    }

    /// Presents every example once a pass, in an order drawn from the seed. An iteration is a pass, its objective
    /// the mean loss of the examples before their updates.
    pub(super) fn learned(
        self,
        state: &mut dyn Online,
        passes: usize,
        seed: u64,
        progress: &mut Progress<'_>,
    ) -> Result<Learned> {
        if passes == 0 {
            return Err(Error::Parameter { name: "passes", value: "0".into(), allowed: "at least 1" });
        }
        let mut random = Random::of(seed, Stream::Visits);
        let mut report = Report { outcome: Outcome::Completed, ..Report::closed_form() };
        for pass in 1..=passes {
            let mut sum = 0.0;
            for at in random.permutation(self.examples.len()) {
                sum += match self.examples[at] {
                    Example::Pair(i, j, similar) => {
                        state.update_pair(self.rows.row(i), self.rows.row(j), similar)?
                    }
                    Example::Triplet(i, near, far) => {
                        state.update_triplet(self.rows.row(i), self.rows.row(near), self.rows.row(far))?
                    }
                };
            }
            (report.iterations, report.objective) = (pass, Some(sum / self.examples.len() as f64));
            if let ControlFlow::Break(stop) = progress(Step::iteration(pass, report.objective)) {
                report.outcome = stop.into();
                break;
            }
        }
        let metric = state.metric()?;
        let l = metric.components();
        let in_units_of_the_rows = Mat::from_fn(l.nrows(), l.ncols(), |i, j| {
            times_power_of_two(l[(i, j)] / self.unit, -self.exponent)
        });
        Ok(Learned::new(Metric::computed(in_units_of_the_rows, self.mean, None)?, report))
    }
}

/// Targets and impostors of a labelled row, where none are given.
const NEAREST: [usize; 2] = [3, 10];

/// The number of nearest triplets of a table.
pub(crate) fn nearest_triplets(shape: &Shape, nearest: [Option<usize>; 2]) -> f64 {
    let [targets, impostors] = counts(nearest);
    (shape.rows * targets).saturating_mul(impostors) as f64
}

fn counts([targets, impostors]: [Option<usize>; 2]) -> [usize; 2] {
    [targets.unwrap_or(NEAREST[0]), impostors.unwrap_or(NEAREST[1])]
}

/// The triplets given, or those of each labelled row's nearest rows.
///
/// # Errors
/// Something else than labels or triplets was given.
pub(crate) fn triplets_of<'a>(
    training: &Training<'a>,
    method: &'static str,
    nearest: [Option<usize>; 2],
) -> Result<Cow<'a, Triplets>> {
    match training {
        Training::Triplets(rows, triplets) => {
            for (name, value) in ["targets", "impostors"].into_iter().zip(nearest) {
                if let Some(value) = value {
                    let allowed = "left out: the triplets themselves were given";
                    return Err(Error::Parameter { name, value: value.to_string(), allowed });
                }
            }
            triplets.check(rows.len())?;
            Ok(Cow::Borrowed(triplets))
        }
        Training::Labelled(data) | Training::Grouped(data, _) => {
            check_labels(data.labels())?;
            let [targets, impostors] = counts(nearest);
            Ok(Cow::Owned(Triplets::nearest(data.rows(), data.labels(), targets, impostors)?))
        }
        _ => Err(training.refused(method, "given labels or triplets")),
    }
}
