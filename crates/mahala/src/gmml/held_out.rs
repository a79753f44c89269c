//! Held-out pairs, measured by metrics learned without them: the training data of calibration curves.

use crate::data::centered::Cells;
use crate::data::column_stats::ColumnStatistics;
use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Rows};
use crate::error::{Error, Result};
use crate::gmml::Gmml;
use crate::gmml::low_rank::Reduced;
use crate::gmml::select_t::is_lack_of_pairs;
use crate::gmml::solution::Solution;
use crate::metric::Metric;
use crate::metric::verification::{random_pairs, squared_pair_distances};
use crate::pairs::{Pair, Pairs};
use crate::scatter::Scatter;

/// Pairs that a metric was not learned from, with their distances under it.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The distance of each pair.
    pub distances: Vec<f64>,
    /// The pairs, with their kinds and weights.
    pub pairs: Pairs,
}

/// Pairs drawn from held-out rows, over all folds.
const MOST_PAIRS: usize = 20_000;

impl Gmml {
    /// The distances of all pairs, each under the metric at `t` that was learned from the other folds' pairs.
    ///
    /// # Errors
    /// A parameter out of range, no similar pair, no dissimilar pair, no column that varies, columns too far apart in
    /// scale, or too much memory needed; too few pairs for any fold to learn from the others.
    pub fn held_out_pairs(&self, first: &Rows, second: &Rows, pairs: &Pairs, t: f64) -> Result<HeldOut> {
        self.check(first.columns(), 0)?;
        let scale =
            self.standardize.then(|| ColumnStatistics::of(first).merged(&ColumnStatistics::of(second)));
        let scale = scale.map(|statistics| statistics.scale);
        let units = pairs.units();
        self.held_out(units.len(), |_, train, test| {
            let part = pairs.of_units(&units, train).weighing_like(pairs);
            let solution = self.solve_scaled(Scatter::between(first, second, &part)?, scale.clone())?;
            let test = pairs.of_units(&units, test);
            let squared = squared_pair_distances(&self.metric_at(&solution, t)?, first, second, &test)?;
            Ok((squared, test))
        })
    }

    /// The distances of random pairs of labelled rows (20,000, or all if they are fewer), each under the metric at
    /// `t` that was learned without the fold that both rows are in.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; too few rows for any fold to learn from the others.
    pub fn held_out_rows(&self, data: &Dataset, t: f64) -> Result<HeldOut> {
        if let Some(reduced) = Reduced::of(self, Cells::Dense(data.rows()), data.labels())? {
            return reduced.gmml.held_out_rows(&reduced.data, t);
        }
        self.check(data.columns(), 0)?;
        let most = MOST_PAIRS / self.folds.max(1);
        self.held_out(data.len(), |fold, train, test| {
            let stream = Stream::PairsBesideHeldOut(fold);
            let (solution, _) = self.solve_labelled(&data.subset(train), stream)?;
            let part = data.subset(test);
            let listed = part.len() * (part.len() - 1) / 2 <= most;
            let pairs = if listed {
                Pairs::all(part.labels())
            } else {
                random_pairs(part.labels(), most, &mut Random::of(self.seed, Stream::HeldOutPairs(fold)))?
            };
            let metric = self.metric_at(&solution, t)?;
            Ok((squared_pair_distances(&metric, part.rows(), part.rows(), &pairs)?, pairs))
        })
    }

    fn metric_at(&self, solution: &Solution, t: f64) -> Result<Metric> {
        self.rank.map_or_else(|| solution.metric(t), |rank| solution.leading(t, rank))
    }

    /// Measures what each fold of `n` holds out; `measure` gets the fold's number, the others and the fold, and
    /// returns squared distances.
    fn held_out(
        &self,
        n: usize,
        measure: impl Fn(u32, &[usize], &[usize]) -> Result<(Vec<f64>, Pairs)>,
    ) -> Result<HeldOut> {
        let folds = self.divide(n, None, None)?;
        let (mut distances, mut pairs): (Vec<f64>, Vec<Pair>) = Default::default();
        for fold in 0..folds.len() {
            let (train, test) = folds.split(fold);
            match measure(fold as u32, &train, &test) {
                Ok((squared, measured)) => {
                    distances.extend(squared.into_iter().map(f64::sqrt));
                    pairs.extend_from_slice(measured.as_slice());
                }
                Err(error) if is_lack_of_pairs(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if pairs.is_empty() {
            let value = format!("to be fitted on {n} held-out rows or pairs");
            let allowed = "left out when they are too few to learn from a part of them";
            return Err(Error::Parameter { name: "calibration", value, allowed });
        }
        Ok(HeldOut { distances, pairs: Pairs::trusted(pairs) })
    }
}
