//! What the automatic mode chooses by: a loss of every held-out query, under the distance or the cosine.
//!
//! # Formula
//! ```text
//! k-NN error       1 where the vote is wrong; compared by ¼·(k − 2) + ½·k + ¼·(k + 2) neighbours, which is less noisy
//! balanced error   the same, times n/(C·n_c) for a query of class c: the mean over the C classes
//! retrieval        1 − recall@k, 1 − MAP@R, 1 − MRR, 1 − nDCG@k, as crate::retrieval has them
//! ROC-AUC of pairs the share of dissimilar pairs that are nearer than the query's similar ones
//! EER of pairs     the query's rates of false rejection and acceptance, averaged, where the two are equal over all
//! ```
//! Pairs are those of a query with up to [`SIMILAR`] rows of its class and [`DISSIMILAR`] others.

use crate::auto::folds::Fold;
use crate::data::{Labels, Rows};
use crate::error::{Error, Result};
use crate::neighbors::Knn;
use crate::retrieval::{Measure, Ranked, Similarity};
use mahala_kernels::knn::distance::squared_distance;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Similar pairs of a query, at most.
const SIMILAR: usize = 8;
/// Dissimilar pairs of a query, at most.
const DISSIMILAR: usize = 32;
/// Neighbours among which the first relevant row is looked for before all are ranked.
const FIRST_LOOK: usize = 64;

/// What recipes are compared by.
///
/// ```
/// use mahala::auto::Criterion;
/// assert_eq!("map@r".parse::<Criterion>()?.to_string(), "map@r");
/// assert!("accuracy@k".parse::<Criterion>().is_err());
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Criterion {
    /// The share of rows that a vote of `k` neighbours puts into a wrong class.
    #[default]
    KnnError,
    /// The mean over classes of that share.
    BalancedError,
    /// One minus a measure of retrieval, a row being relevant if it has the query's class.
    Retrieval(Measure),
    /// One minus the area under the ROC curve of pairs: does one distance tell similar from dissimilar pairs?
    RocAuc,
    /// The equal error rate of pairs.
    Eer,
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "knn-error" => Self::KnnError,
            "balanced-error" => Self::BalancedError,
            "roc-auc" => Self::RocAuc,
            "eer" => Self::Eer,
            _ => Self::Retrieval(text.parse().map_err(|_| Error::Parameter {
                name: "criterion",
                value: format!("'{text}'"),
                allowed: "knn-error, balanced-error, r@1, recall@5 (or another number), map@r, mrr, ndcg@10 (or another number), \
                          roc-auc or eer",
            })?),
        })
    }
}

impl TryFrom<String> for Criterion {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Criterion> for String {
    fn from(criterion: Criterion) -> Self {
        criterion.to_string()
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KnnError => f.write_str("knn-error"),
            Self::BalancedError => f.write_str("balanced-error"),
            Self::Retrieval(measure) => measure.fmt(f),
            Self::RocAuc => f.write_str("roc-auc"),
            Self::Eer => f.write_str("eer"),
        }
    }
}

/// The loss of each query.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Losses {
    /// What recipes are compared by.
    pub(crate) compared: Vec<f32>,
    /// What is reported.
    pub(crate) reported: Vec<f32>,
}

impl Losses {
    fn equal(values: Vec<f32>) -> Self {
        Self { reported: values.clone(), compared: values }
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.compared.extend_from_slice(&other.compared);
        self.reported.extend_from_slice(&other.reported);
    }

    pub(crate) fn len(&self) -> usize {
        self.compared.len()
    }

    /// The means of what is compared and of what is reported.
    pub(crate) fn means(&self) -> (f64, f64) {
        let mean =
            |values: &[f32]| values.iter().map(|&x| f64::from(x)).sum::<f64>() / values.len().max(1) as f64;
        (mean(&self.compared), mean(&self.reported))
    }
}

/// How queries are judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge {
    pub(crate) criterion: Criterion,
    pub(crate) k: usize,
    pub(crate) similarity: Similarity,
}

impl Judge {
    /// The loss of each query of a fold, with voters and queries as a metric sees them.
    pub(crate) fn losses(&self, fold: &Fold, voters: Rows, queries: &Rows) -> Result<Losses> {
        let voters = self.seen(voters)?;
        let queries = &self.seen(queries.clone())?;
        match self.criterion {
            Criterion::KnnError => self.votes(fold, voters, queries),
            Criterion::BalancedError => {
                let mut losses = self.votes(fold, voters, queries)?;
                for values in [&mut losses.compared, &mut losses.reported] {
                    let codes = fold.test.labels().codes();
                    values.iter_mut().zip(codes).for_each(|(x, &code)| *x *= fold.balance[code as usize]);
                }
                Ok(losses)
            }
            Criterion::Retrieval(measure) => retrieval(measure, fold, voters, queries),
            Criterion::RocAuc => Ok(Losses::equal(areas(&Distances::of(fold, &voters, queries)))),
            Criterion::Eer => Ok(Losses::equal(equal_errors(&Distances::of(fold, &voters, queries)))),
        }
    }

    /// Rows as neighbours are searched among: as they are, or of length 1.
    pub(crate) fn seen(&self, rows: Rows) -> Result<Rows> {
        self.similarity.coordinates(rows)
    }

    fn votes(&self, fold: &Fold, voters: Rows, queries: &Rows) -> Result<Losses> {
        let k = self.k;
        let count = (k + 2 + usize::from(fold.own.is_some())).min(voters.len());
        let found = Knn::new(voters)?.search(queries, count)?;
        let (labels, truth) = (fold.voters.labels(), fold.test.labels());
        let sizes = [(k.saturating_sub(2).max(1), 0.25), (k, 0.5), (k + 2, 0.25)];
        let mut votes = vec![0u32; labels.class_count()];
        let mut losses = Losses::default();
        for query in 0..found.len() {
            votes.fill(0);
            let own = fold.own.as_ref().map(|own| own[query]);
            let mut near = found.indices(query).iter().filter(|&&i| Some(i) != own);
            let (mut counted, mut smooth, mut at_k) = (0, 0.0, 0.0);
            for (at, (size, weight)) in sizes.into_iter().enumerate() {
                near.by_ref().take(size - counted).for_each(|&i| votes[labels.codes()[i] as usize] += 1);
                counted = size;
                let most = votes.iter().copied().max().unwrap_or(0);
                let winner = votes.iter().position(|&v| v == most).unwrap_or(0) as u32;
                if winner != truth.codes()[query] {
                    smooth += weight;
                    at_k = if at == 1 { 1.0 } else { at_k };
                }
            }
            losses.compared.push(smooth);
            losses.reported.push(at_k);
        }
        Ok(losses)
    }
}

/// One minus a measure of the ranking of the voters for each query.
fn retrieval(measure: Measure, fold: &Fold, voters: Rows, queries: &Rows) -> Result<Losses> {
    let (codes, asked) = (fold.voters.labels().codes(), fold.test.labels().codes());
    let sizes = fold.voters.labels().class_sizes();
    let itself = usize::from(fold.own.is_some());
    let relevant = |q: usize| sizes[asked[q] as usize].saturating_sub(itself);
    let most = (0..queries.len()).map(relevant).max().unwrap_or(0);
    let ones = vec![1.0; most];
    let all = voters.len();
    let depth = if measure == Measure::Mrr { FIRST_LOOK } else { measure.depth(most) };
    let knn = Knn::new(voters)?;
    let search = |q: usize, indices: &[usize]| {
        let own = fold.own.as_ref().map(|own| own[q]);
        let others = indices.iter().filter(|&&i| Some(i) != own);
        others.map(|&i| f64::from(u8::from(codes[i] == asked[q]))).collect::<Vec<f64>>()
    };
    let found = knn.search(queries, (depth + itself).min(all))?;
    let mut losses = Vec::with_capacity(queries.len());
    for q in 0..queries.len() {
        let mut gains = search(q, found.indices(q));
        let place = |gains: &[f64]| gains.iter().position(|&gain| gain > 0.0).map_or(0, |at| at + 1);
        if measure == Measure::Mrr && place(&gains) == 0 {
            gains = search(q, knn.search(&queries.subset(&[q]), all)?.indices(0));
        }
        let relevant = relevant(q);
        let first = place(&gains);
        let value = measure.of(&Ranked { gains: &gains, ideal: &ones[..relevant], relevant, first });
        losses.push(if value.is_finite() { (1.0 - value) as f32 } else { 0.0 });
    }
    Ok(Losses::equal(losses))
}

/// Squared distances of pairs, query after query.
struct Distances {
    similar: Vec<Vec<f64>>,
    dissimilar: Vec<Vec<f64>>,
}

impl Distances {
    fn of(fold: &Fold, voters: &Rows, queries: &Rows) -> Self {
        let (codes, asked) = (fold.voters.labels().codes(), fold.test.labels().codes());
        let measured = |q: usize, like: bool, most: usize| -> Vec<f64> {
            let own = fold.own.as_ref().map(|own| own[q]);
            let wanted = |i: &usize| Some(*i) != own && (codes[*i] == asked[q]) == like;
            let n = codes.len();
            // From another row on for each query, so that all rows take part.
            let order = (0..n).map(|step| (q.wrapping_mul(7919) + step) % n);
            let all: Vec<usize> = order.filter(wanted).collect();
            let step = all.len().div_ceil(most).max(1);
            all.into_iter().step_by(step).map(|i| squared_distance(queries.row(q), voters.row(i))).collect()
        };
        let each = |like: bool, most: usize| (0..queries.len()).map(|q| measured(q, like, most)).collect();
        Self { similar: each(true, SIMILAR), dissimilar: each(false, DISSIMILAR) }
    }

    fn sorted(list: &[Vec<f64>]) -> Vec<f64> {
        let mut all: Vec<f64> = list.iter().flatten().copied().collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }
}

/// Of each query, the share of all dissimilar pairs that are nearer than its similar ones; equal ones count one half.
fn areas(distances: &Distances) -> Vec<f32> {
    let others = Distances::sorted(&distances.dissimilar);
    let share = |x: f64| {
        let (below, up_to) = (others.partition_point(|&y| y < x), others.partition_point(|&y| y <= x));
        0.5 * (below + up_to) as f64 / others.len().max(1) as f64
    };
    let mean = |own: &Vec<f64>| own.iter().map(|&x| share(x)).sum::<f64>() / own.len().max(1) as f64;
    distances.similar.iter().map(|own| mean(own) as f32).collect()
}

/// Of each query, the mean of its two error rates at the threshold where they are equal over all.
fn equal_errors(distances: &Distances) -> Vec<f32> {
    let (similar, others) = (Distances::sorted(&distances.similar), Distances::sorted(&distances.dissimilar));
    let rate = |list: &[f64], count: usize| count as f64 / list.len().max(1) as f64;
    let rejected = |x: f64| rate(&similar, similar.len() - similar.partition_point(|&y| y <= x));
    let accepted = |x: f64| rate(&others, others.partition_point(|&y| y <= x));
    // Rejections fall and acceptances rise with the threshold.
    let at = similar.partition_point(|&x| accepted(x) < rejected(x));
    let threshold = similar.get(at).or(similar.last()).copied().unwrap_or(0.0);
    let share = |list: &Vec<f64>, wrong: &dyn Fn(f64) -> bool| {
        list.iter().filter(|&&x| wrong(x)).count() as f64 / list.len().max(1) as f64
    };
    let both = distances.similar.iter().zip(&distances.dissimilar);
    both.map(|(own, other)| {
        (0.5 * (share(own, &|x| x > threshold) + share(other, &|x| x <= threshold))) as f32
    })
    .collect()
}

/// What a query of each class counts for in the balanced error.
pub(crate) fn balance(labels: &Labels) -> Vec<f32> {
    let sizes = labels.class_sizes();
    let present = sizes.iter().filter(|&&size| size > 0).count() as f64;
    let weight = |&size: &usize| (labels.len() as f64 / (present * size.max(1) as f64)) as f32;
    sizes.iter().map(weight).collect()
}
