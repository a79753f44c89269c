//! The rows divided for the automatic mode, and the vote on those held out.

use crate::data::folds::Folds;
use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels, Rows};
use crate::error::Result;
use crate::gmml::select_t::choose_rows;
use crate::neighbors::Knn;
use crate::neighbors::found::Neighbors;

/// Small data are partitioned again until this many rows were tested.
const REPEATED_ROWS: usize = 2000;
/// At most this many rows of a fold are tested.
const QUERIES: usize = 3000;

/// One division of the rows: what is learned on, what is tested, and what votes on it.
pub(crate) struct Fold {
    pub(crate) train: Dataset,
    /// The groups of those, if there are some.
    pub(crate) groups: Option<Labels>,
    pub(crate) test: Dataset,
    /// The voters: all rows, each test row but itself; or the rows learned on, where groups must not meet.
    pub(crate) voters: Dataset,
    /// The place of each test row among the voters, if it is there.
    pub(crate) own: Option<Vec<usize>>,
}

impl Fold {
    /// How wrong the vote on each test row is, in [`quarters`], with voters and test rows as a metric sees them.
    pub(crate) fn wrong(&self, voters: Rows, test: &Rows, k: usize) -> Result<Vec<u8>> {
        // For k + 2 voters, and one more where a row finds itself.
        let count = (k + 2 + usize::from(self.own.is_some())).min(voters.len());
        Ok(quarters(&Knn::new(voters)?.search(test, count)?, self, k))
    }
}

/// The bit of a row that k neighbours get wrong.
pub(crate) const WRONG_AT_K: u8 = 8;

/// The most folds that [`divide`] makes.
pub(crate) fn most_folds(n: usize, columns: usize) -> usize {
    let k = if n > 3000 || n.saturating_mul(columns) > 1_000_000 { 3 } else { 5 };
    // Groups: eight.
    (k * (REPEATED_ROWS / n.max(1)).clamp(1, 5)).max(8)
}

/// Few rows: five folds, drawn again until some two thousand rows were tested. Many: three. Groups: whole.
pub(crate) fn divide(data: &Dataset, groups: Option<&Labels>, seed: u64) -> Result<Vec<Fold>> {
    let n = data.len();
    let k = if n > 3000 || n * data.columns() > 1_000_000 { 3 } else { 5.min(n) };
    // Groups are dealt out without chance: there is nothing to repeat.
    let repeats = if groups.is_some() { 1 } else { (REPEATED_ROWS / n.max(1)).clamp(1, 5) };
    let partitions = (0..repeats as u32)
        .map(|r| {
            let stratified =
                || Folds::stratified(data.labels(), k, &mut Random::of(seed, Stream::AutoFolds(r)));
            Folds::choosing(groups, 8, stratified)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut folds = Vec::new();
    for partition in &partitions {
        for fold in 0..partition.len() {
            let (train, test) = partition.split(fold);
            let kept = choose_rows(test.len(), QUERIES, seed);
            let test = kept.map_or(test.clone(), |kept| kept.iter().map(|&i| test[i]).collect());
            let own_groups = groups.map(|groups| groups.subset(&train));
            let train = data.subset(&train);
            let voters = if groups.is_some() { train.clone() } else { data.clone() };
            let own = groups.is_none().then(|| test.clone());
            folds.push(Fold { train, groups: own_groups, test: data.subset(&test), voters, own });
        }
    }
    Ok(folds)
}

/// How wrong the vote on each row is, in quarters: two for k neighbours, one each for k − 2 and k + 2.
fn quarters(found: &Neighbors, fold: &Fold, k: usize) -> Vec<u8> {
    let (labels, truth) = (fold.voters.labels(), fold.test.labels());
    let sizes = [(k.saturating_sub(2).max(1), 1), (k, 2 | WRONG_AT_K), (k + 2, 1)];
    let mut votes = vec![0u32; labels.class_count()];
    let mut wrong = Vec::with_capacity(found.len());
    for query in 0..found.len() {
        votes.fill(0);
        let own = fold.own.as_ref().map(|own| own[query]);
        let mut near = found.indices(query).iter().filter(|&&i| Some(i) != own);
        let (mut counted, mut quarters) = (0, 0);
        for (size, weight) in sizes {
            for &i in near.by_ref().take(size - counted) {
                votes[labels.codes()[i] as usize] += 1;
            }
            counted = size;
            let most = votes.iter().copied().max().unwrap_or(0);
            let winner = votes.iter().position(|&v| v == most).unwrap_or(0) as u32;
            if winner != truth.codes()[query] {
                quarters += weight;
            }
        }
        wrong.push(quarters);
    }
    wrong
}

/// How much more of the rows that both were tested on is wrong in one than in the other, and the standard error of that.
/// Of `rows` rows, one that was tested several times counts once.
pub(crate) fn difference(one: &[u8], other: &[u8], rows: usize) -> (f64, f64) {
    let n = one.len().min(other.len()).max(1) as f64;
    let repeats = (n / rows as f64).max(1.0);
    let differences = one.iter().zip(other).map(|(&x, &y)| (f64::from(x) - f64::from(y)) / 4.0);
    let (sum, squares) = differences.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (sum / n, ((squares - sum * sum / n).max(0.0) * repeats).sqrt() / n)
}
