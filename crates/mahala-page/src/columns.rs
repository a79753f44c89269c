//! The weights of columns for every t: the diagonal of `A(t) = W Λᵗ Wᵀ`.

use crate::Source;
use crate::block::{doubles, singles, visible};
use mahala::Dataset;
use mahala::data::ColumnStatistics;
use mahala::gmml::Solution;
use serde_json::{Value, json};

/// Columns in a page, at most.
pub(crate) const MOST: usize = 40;

/// The values of t at which columns and coordinates are compared to choose which are shown.
pub(crate) const LOOKED_AT: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The squares of `W`, in raw units, for the columns that weigh most, and their sums over all columns.
#[derive(Debug, Clone)]
pub(crate) struct ColumnWeights {
    /// In the order of the table.
    kept: Vec<usize>,
    /// One list a kept column, one number a coordinate.
    squares: Vec<Vec<f64>>,
    deviations: Vec<f64>,
    /// Over all columns, one number a coordinate: in raw units, and in standard deviations.
    sums: [Vec<f64>; 2],
}

impl ColumnWeights {
    pub(crate) fn of(data: &Dataset, path: &Solution) -> Self {
        let (w, r) = (path.directions(), path.log_eigenvalues().len());
        let deviations = ColumnStatistics::of(data.rows()).scale;
        let scale = |j: usize| path.scale().map_or(1.0, |scale| scale[j]);
        let square = |j: usize, k: usize| (w[(j, k)] / scale(j)).powi(2);
        let d = data.columns();
        let over_columns =
            |k: usize, factor: &dyn Fn(usize) -> f64| (0..d).map(|j| square(j, k) * factor(j)).sum::<f64>();
        let sums: [Vec<f64>; 2] = [
            (0..r).map(|k| over_columns(k, &|_| 1.0)).collect(),
            (0..r).map(|k| over_columns(k, &|j| deviations[j].powi(2))).collect(),
        ];
        let weights = LOOKED_AT.map(|t| weights(path.log_eigenvalues(), t));
        let largest_share = |j: usize| -> f64 {
            let share = |at: &Vec<f64>, unit: usize| {
                let factor = if unit == 0 { 1.0 } else { deviations[j].powi(2) };
                let own: f64 = (0..r).map(|k| at[k] * square(j, k) * factor).sum();
                own / (0..r).map(|k| at[k] * sums[unit][k]).sum::<f64>()
            };
            weights.iter().flat_map(|at| [share(at, 0), share(at, 1)]).fold(0.0, f64::max)
        };
        let kept = leading(d, MOST, largest_share);
        let squares = kept.iter().map(|&j| (0..r).map(|k| square(j, k)).collect()).collect();
        Self { squares, deviations: kept.iter().map(|&j| deviations[j]).collect(), kept, sums }
    }

    pub(crate) fn to_json(&self, data: &Dataset, source: &Source<'_>, rows: &[usize]) -> Value {
        let values = rows.iter().flat_map(|&i| self.kept.iter().map(move |&j| data.rows().row(i)[j]));
        json!({
            "names": self.kept.iter().map(|&j| visible(&source.column(j))).collect::<Vec<_>>(),
            "squares": doubles(self.squares.iter().flatten().copied()),
            "deviations": doubles(self.deviations.iter().copied()),
            "sums": doubles(self.sums[0].iter().copied()),
            "standardSums": doubles(self.sums[1].iter().copied()),
            "values": singles(values),
        })
    }
}

/// `λᵗ`, up to a common factor.
pub(crate) fn weights(log_lambda: &[f64], t: f64) -> Vec<f64> {
    let top = log_lambda.iter().map(|l| t * l).fold(f64::NEG_INFINITY, f64::max);
    log_lambda.iter().map(|l| (t * l - top).exp()).collect()
}

/// The `most` of `0..n` with the largest scores, in ascending order; of equal scores the first.
pub(crate) fn leading(n: usize, most: usize, score: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    if n > most {
        let scores: Vec<f64> = order.iter().map(|&j| score(j)).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}
