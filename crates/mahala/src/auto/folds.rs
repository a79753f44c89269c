//! The rows divided for the automatic mode: what is learned on, what is held out, and what it is compared with.

use crate::auto::criterion::{Criterion, balance};
use crate::data::folds::Folds;
use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels};
use crate::error::{Error, Result};
use crate::gmml::select_t::choose_rows;
use serde::{Deserialize, Serialize};

/// Small data are partitioned again until this many rows were tested.
const REPEATED_ROWS: usize = 1000;
/// Small data are partitioned at most so often.
const REPEATS: usize = 5;
/// At most this many rows of a partition are tested, about.
const QUERIES: usize = 2000;
/// Folds of whole groups, at most.
const GROUP_FOLDS: usize = 8;

/// What is held out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FoldsOver {
    /// Single rows; all other rows vote on them.
    Rows,
    /// Whole groups; the rows learned on vote.
    Groups,
    /// Whole classes, for classes that are not known yet: rows of held-out classes are searched for among each other.
    Classes,
}

/// One division of the rows: what is learned on, what is tested, and what votes on it.
pub(crate) struct Fold {
    pub(crate) train: Dataset,
    /// The groups of those, if there are some.
    pub(crate) groups: Option<Labels>,
    pub(crate) test: Dataset,
    /// The voters: all rows, or those held out, each test row but itself; or the rows learned on, where groups must not meet.
    pub(crate) voters: Dataset,
    /// The place of each test row among the voters, if it is there.
    pub(crate) own: Option<Vec<usize>>,
    /// What a query of each class counts for in the balanced error.
    pub(crate) balance: Vec<f32>,
}

/// How rows are divided.
pub(crate) struct Division<'a> {
    pub(crate) over: FoldsOver,
    pub(crate) groups: Option<&'a Labels>,
    pub(crate) splits: Option<&'a Folds>,
    pub(crate) folds: Option<usize>,
    pub(crate) criterion: Criterion,
    pub(crate) seed: u64,
}

/// Three folds for large tables, else five.
fn fold_count(n: usize, columns: usize) -> usize {
    if n > 3000 || n.saturating_mul(columns) > 1_000_000 { 3 } else { 5 }
}

/// How often the rows are partitioned.
pub(crate) fn repeats(n: usize) -> usize {
    (REPEATED_ROWS / n.max(1)).clamp(1, REPEATS)
}

/// The most folds that [`Division::of`] makes, unless it is told how many.
pub(crate) fn most_folds(n: usize, columns: usize) -> usize {
    (fold_count(n, columns) * repeats(n)).max(GROUP_FOLDS)
}

impl Division<'_> {
    /// Few rows: five folds, drawn again until some thousand rows were tested. Many: three. Groups and classes: whole.
    pub(crate) fn of(&self, data: &Dataset) -> Result<Vec<Fold>> {
        let n = data.len();
        let k = self.folds.unwrap_or_else(|| fold_count(n, data.columns())).min(n);
        let partitions = match (self.splits, self.over) {
            (Some(splits), _) => vec![splits.clone()],
            (None, FoldsOver::Groups) => {
                let groups = self.groups.ok_or(Error::TooFewGroups { what: "folds over groups", seen: 0 })?;
                vec![Folds::by_group(groups, self.folds.unwrap_or(GROUP_FOLDS))?]
            }
            (None, FoldsOver::Classes) => {
                let random = &mut Random::of(self.seed, Stream::AutoFolds(0));
                vec![Folds::by_shuffled_group(data.labels(), self.folds.unwrap_or(5), random)?]
            }
            (None, FoldsOver::Rows) => {
                let random = |repeat: u32| Random::of(self.seed, Stream::AutoFolds(repeat));
                let stratified = |repeat| Folds::stratified(data.labels(), k, &mut random(repeat));
                (0..repeats(n) as u32).map(stratified).collect::<Result<Vec<_>>>()?
            }
        };
        let of_partition = |partition: &Folds| -> Vec<Fold> {
            (0..partition.len())
                .filter_map(|fold| self.fold(data, partition.len(), partition.split(fold)))
                .collect()
        };
        let folds: Vec<Fold> = partitions.iter().flat_map(of_partition).collect();
        if folds.is_empty() { Err(Error::NoUsableFold { rows: n }) } else { Ok(folds) }
    }

    fn fold(
        &self,
        data: &Dataset,
        folds: usize,
        (train, mut test): (Vec<usize>, Vec<usize>),
    ) -> Option<Fold> {
        let most = QUERIES.div_ceil(folds.max(1)).max(QUERIES / 5);
        if let Some(kept) = choose_rows(test.len(), most, self.seed) {
            test = kept.iter().map(|&i| test[i]).collect();
        }
        let train_rows = data.subset(&train);
        let (voters, mut own) = match (self.splits, self.over) {
            (Some(_), _) | (None, FoldsOver::Groups) => (train_rows.clone(), None),
            (None, FoldsOver::Classes) => (data.subset(&test), Some((0..test.len()).collect())),
            (None, FoldsOver::Rows) => (data.clone(), Some(test.clone())),
        };
        if !matches!(self.criterion, Criterion::KnnError | Criterion::BalancedError) {
            // A query to which nothing is relevant tells nothing.
            let sizes = voters.labels().class_sizes();
            let least = if own.is_some() { 2 } else { 1 };
            let code = |row: usize| data.labels().codes()[row] as usize;
            let asked: Vec<usize> = (0..test.len()).filter(|&i| sizes[code(test[i])] >= least).collect();
            test = asked.iter().map(|&i| test[i]).collect();
            own = own.map(|own: Vec<usize>| asked.iter().map(|&i| own[i]).collect());
        }
        let groups = self.groups.map(|groups| groups.subset(&train));
        let balance = balance(data.labels());
        let test = data.subset(&test);
        (!test.is_empty()).then_some(Fold { train: train_rows, groups, test, voters, own, balance })
    }
}

/// How much larger one's losses are than the other's on the queries of both, and the standard error of that.
/// Of `rows` rows, one that was tested several times counts once.
pub(crate) fn difference(one: &[f32], other: &[f32], rows: usize) -> (f64, f64) {
    let n = one.len().min(other.len()).max(1) as f64;
    let repeats = (n / rows as f64).max(1.0);
    let differences = one.iter().zip(other).map(|(&x, &y)| f64::from(x) - f64::from(y));
    let (sum, squares) = differences.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (sum / n, ((squares - sum * sum / n).max(0.0) * repeats).sqrt() / n)
}
