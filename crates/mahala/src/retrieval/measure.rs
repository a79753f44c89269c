//! Measures of one ranking, and their values for all queries.

use crate::error::{Error, Result};

/// A measure of the ranking of a gallery for one query.
///
/// With `R` relevant rows in the gallery, `h_i` whether the row at place i is relevant and `g_i` its gain:
///
/// # Formula
/// ```text
/// recall@k     1 if some h_i = 1, i ≤ k (as metric learning has it; R@1 is precision at 1)
/// ir_recall@k  Σ_{i≤k} h_i / R (as information retrieval has it)
/// precision@k  Σ_{i≤k} h_i / k
/// mrr          1 / the place of the first relevant row
/// ndcg@k       Σ_{i≤k} g_i / log₂(i + 1), over the same of the best ranking
/// map@r        1/R Σ_{i≤R} h_i · precision@i
/// ```
///
/// ```
/// use mahala::retrieval::Measure;
/// assert_eq!("ndcg@10".parse(), Ok(Measure::NdcgAt(10)));
/// assert_eq!(Measure::RecallAt(1).to_string(), "r@1");
/// assert!("map".parse::<Measure>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Whether one of the first k rows is relevant.
    RecallAt(usize),
    /// The share of relevant rows that are among the first k.
    IrRecallAt(usize),
    /// The share of the first k rows that are relevant.
    PrecisionAt(usize),
    /// The reciprocal of the place of the first relevant row.
    Mrr,
    /// Normalised discounted cumulative gain of the first k rows.
    NdcgAt(usize),
    /// Mean over the first R places of the precision there, counted at relevant ones.
    MapAtR,
}

impl std::str::FromStr for Measure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let allowed = "'r@1', 'recall@5' (or another number), 'ir_recall@5', 'precision@5', 'mrr', 'ndcg@10' or 'map@r'";
        let refused = || Error::Parameter { name: "the measure", value: format!("'{text}'"), allowed };
        match text {
            "r@1" => return Ok(Self::RecallAt(1)),
            "mrr" => return Ok(Self::Mrr),
            "map@r" => return Ok(Self::MapAtR),
            _ => {}
        }
        let (name, k) = text.split_once('@').ok_or_else(refused)?;
        if !k.bytes().all(|byte| byte.is_ascii_digit()) || k.starts_with('0') {
            return Err(refused());
        }
        let k = k.parse().map_err(|_| refused())?;
        match name {
            "recall" => Ok(Self::RecallAt(k)),
            "ir_recall" => Ok(Self::IrRecallAt(k)),
            "precision" => Ok(Self::PrecisionAt(k)),
            "ndcg" => Ok(Self::NdcgAt(k)),
            _ => Err(refused()),
        }
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RecallAt(1) => f.write_str("r@1"),
            Self::RecallAt(k) => write!(f, "recall@{k}"),
            Self::IrRecallAt(k) => write!(f, "ir_recall@{k}"),
            Self::PrecisionAt(k) => write!(f, "precision@{k}"),
            Self::Mrr => f.write_str("mrr"),
            Self::NdcgAt(k) => write!(f, "ndcg@{k}"),
            Self::MapAtR => f.write_str("map@r"),
        }
    }
}

/// What is known of one query's ranking.
pub(crate) struct Ranked<'a> {
    /// The gains of the first rows, best first.
    pub gains: &'a [f64],
    /// The largest gains in the gallery, descending, as many as there are relevant rows.
    pub ideal: &'a [f64],
    /// The number of relevant rows.
    pub relevant: usize,
    /// The place of the first relevant row, from 1; 0 where it was not asked for.
    pub first: usize,
}

impl Measure {
    /// How many rows of a ranking the measure needs, where at most `relevant` rows are relevant.
    pub(crate) fn depth(self, relevant: usize) -> usize {
        match self {
            Self::RecallAt(k) | Self::IrRecallAt(k) | Self::PrecisionAt(k) | Self::NdcgAt(k) => k,
            Self::MapAtR => relevant,
            Self::Mrr => 1,
        }
    }

    /// The value for one query; NaN if nothing is relevant to it.
    pub(crate) fn of(self, ranked: &Ranked<'_>) -> f64 {
        if ranked.relevant == 0 {
            return f64::NAN;
        }
        let hits = |k: usize| ranked.gains.iter().take(k).filter(|gain| **gain > 0.0).count() as f64;
        match self {
            Self::RecallAt(k) => f64::from(hits(k) > 0.0),
            Self::IrRecallAt(k) => hits(k) / ranked.relevant as f64,
            Self::PrecisionAt(k) => hits(k) / k as f64,
            Self::Mrr => 1.0 / ranked.first as f64,
            Self::NdcgAt(k) => discounted(ranked.gains, k) / discounted(ranked.ideal, k),
            Self::MapAtR => {
                let (mut found, mut sum) = (0.0, 0.0);
                for (place, gain) in ranked.gains.iter().take(ranked.relevant).enumerate() {
                    if *gain > 0.0 {
                        found += 1.0;
                        sum += found / (place + 1) as f64;
                    }
                }
                sum / ranked.relevant as f64
            }
        }
    }
}

fn discounted(gains: &[f64], k: usize) -> f64 {
    gains.iter().take(k).enumerate().map(|(place, gain)| gain / ((place + 2) as f64).log2()).sum()
}

/// Measures of every query. A query without a relevant row in the gallery has NaN.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scores {
    /// The measures, in the order asked for.
    pub measures: Vec<Measure>,
    /// For each measure, its value for each query.
    pub values: Vec<Vec<f64>>,
}

impl Scores {
    /// The mean of a measure over the queries that have a relevant row; NaN if none has.
    pub fn mean(&self, measure: usize) -> f64 {
        mean_known(&self.values[measure])
    }
}

/// The mean of the numbers that are not NaN.
pub(crate) fn mean_known(values: &[f64]) -> f64 {
    let known = values.iter().filter(|value| !value.is_nan());
    known.clone().sum::<f64>() / known.count() as f64
}
