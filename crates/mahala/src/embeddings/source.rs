//! What is learned from: labelled rows, marked pairs, clicks. Each gives its sums without a fold, and what to measure on it.

use crate::data::{Embeddings, Random, Stream};
use crate::embeddings::clicks::Clicks;
use crate::embeddings::map::LinearMap;
use crate::embeddings::sums::{FoldMoments, TwoSums, covariance, mean_outer};
use crate::error::{Error, Result};
use crate::retrieval::{Judgement, Measure, Similarity, by_judgements, by_labels};
use faer::Mat;

/// Folds of held-out rows, pairs or queries; quarters of the classes.
pub(crate) const FOLDS: usize = 4;
/// The quarters of the classes that are held out together: with half of the classes in it, a search is as hard as later.
const HALVES: [[usize; 2]; FOLDS] = [[0, 1], [2, 3], [0, 2], [1, 3]];

/// How much of a fold is measured: the most queries, and the most rows of the gallery.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub queries: usize,
    pub gallery: usize,
}

/// Where something is learned from.
pub(crate) enum Source<'a> {
    Labels(LabelledRows<'a>),
    Pairs(MarkedPairs<'a>),
    Clicks(Clicks),
}

/// The criterion, and what must not be lost.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub criterion: Measure,
    pub guard: Measure,
    pub passes: Passes,
    pub similarity: Similarity,
}

/// Which loss in the guard is let pass: a share, and so many standard errors of the paired difference.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Passes {
    pub loss: f64,
    pub errors: f64,
}

/// The tables of a fold to be mapped, and what is known of them.
pub(crate) struct Probe {
    /// Gallery and queries, documents and queries, or both sides of pairs. One table where rows search among themselves.
    pub tables: Vec<Embeddings>,
    pub known: Known,
    /// Queries that stand or fall together.
    pub groups: Option<Vec<u32>>,
}

/// What decides which rows belong together.
pub(crate) enum Known {
    Codes(Vec<Vec<u32>>),
    Similar(Vec<bool>),
    Judgements(Vec<Judgement>),
}

impl Source<'_> {
    pub(crate) fn has_labels(&self) -> bool {
        matches!(self, Self::Labels(_))
    }

    /// The sums of all but a fold, or of all.
    pub(crate) fn sums(&self, without: Option<usize>) -> Result<TwoSums> {
        match self {
            Self::Labels(rows) => {
                Ok(rows.moments.without(&without.map_or(vec![], |fold| rows.left_out(fold))))
            }
            Self::Pairs(pairs) => Ok(pairs.sums(without)),
            Self::Clicks(clicks) => clicks.sums(without),
        }
    }

    pub(crate) fn probe(&self, fold: usize, look: Look) -> Result<Probe> {
        match self {
            Self::Labels(rows) => rows.probe(fold, look),
            Self::Pairs(pairs) => pairs.probe(fold),
            Self::Clicks(clicks) => clicks.probe(fold, look),
        }
    }
}

impl Probe {
    /// The probe's tables under a map.
    pub(crate) fn mapped(&self, map: &LinearMap) -> Result<Vec<Embeddings>> {
        self.tables.iter().map(|table| map.apply(table, false)).collect()
    }

    /// Criterion and guard of each query, for mapped tables.
    pub(crate) fn measure(&self, tables: &[Embeddings], wanted: Wanted) -> Result<[Vec<f64>; 2]> {
        let measures = [wanted.criterion, wanted.guard];
        let scores = match &self.known {
            Known::Codes(codes) => {
                let queries = tables.get(1).map(|queries| (queries, &codes[1][..]));
                by_labels(&tables[0], &codes[0], queries, &measures, wanted.similarity)?
            }
            Known::Judgements(judged) => {
                by_judgements(&tables[0], &tables[1], judged, &measures, wanted.similarity)?
            }
            Known::Similar(similar) => {
                let won = share_beaten(&pair_scores(tables, wanted.similarity), similar);
                return Ok([won.clone(), won]);
            }
        };
        let mut values = scores.values.into_iter();
        Ok([values.next().unwrap_or_default(), values.next().unwrap_or_default()])
    }
}

/// Rows with labels. Held out are rows (classes seen: the gallery is what was learned from) or whole classes.
pub(crate) struct LabelledRows<'a> {
    table: &'a Embeddings,
    codes: &'a [u32],
    unseen: bool,
    max_gallery: usize,
    folds: Vec<u8>,
    moments: FoldMoments,
    order: Vec<usize>,
}

impl<'a> LabelledRows<'a> {
    pub(crate) fn new(
        table: &'a Embeddings,
        codes: &'a [u32],
        unseen: bool,
        max_gallery: usize,
        seed: u64,
    ) -> Result<Self> {
        let classes = codes.iter().max().map_or(0, |&most| most as usize + 1);
        let mut counts = vec![0usize; classes];
        codes.iter().for_each(|&code| counts[code as usize] += 1);
        let present = counts.iter().filter(|count| **count > 0).count();
        if present < 2 {
            return Err(Error::OneClass { class: "the only one".into(), rows: codes.len() });
        }
        if counts.iter().all(|count| *count < 2) {
            let reason = format!("there are {present} classes of one row each");
            return Err(Error::NoSimilarPair { reason });
        }
        if unseen && present < FOLDS {
            let (value, allowed) = (
                format!("'unseen' with {present} classes"),
                "'seen', or 'unseen' with at least 4 classes: whole classes are held out",
            );
            return Err(Error::Parameter { name: "classes", value, allowed });
        }
        let mut random = Random::of(seed, Stream::Folds);
        let order = random.permutation(codes.len());
        let mut start: Vec<usize> = random.permutation(classes);
        let mut folds = vec![0; codes.len()];
        for &i in &order {
            let class = codes[i] as usize;
            folds[i] = (start[class] % FOLDS) as u8;
            // Row after row of a class to the next fold; a whole class to one.
            start[class] += usize::from(!unseen);
        }
        let moments = FoldMoments::new(table, codes, classes, &folds, FOLDS);
        Ok(Self { table, codes, unseen, max_gallery, folds, moments, order })
    }

    fn left_out(&self, fold: usize) -> Vec<usize> {
        if self.unseen { HALVES[fold].to_vec() } else { vec![fold] }
    }

    /// Queries and gallery of a fold; no gallery where each of few held-out rows is a query among the others.
    fn probe(&self, fold: usize, look: Look) -> Result<Probe> {
        let left_out = self.left_out(fold);
        let mine = |i: &usize| left_out.contains(&usize::from(self.folds[*i]));
        let (held_out, mut rest): (Vec<usize>, Vec<usize>) = self.order.iter().copied().partition(mine);
        let most = self.max_gallery.min(look.gallery);
        let mut parts = if self.unseen && held_out.len() <= 2 * look.queries {
            vec![held_out]
        } else {
            let asked = held_out[..look.queries.min(held_out.len())].to_vec();
            if self.unseen {
                rest = held_out[asked.len()..].to_vec();
            }
            rest.truncate(most);
            vec![rest, asked]
        };
        parts.iter_mut().for_each(|part| part.sort_unstable());
        let codes: Vec<Vec<u32>> =
            parts.iter().map(|part| part.iter().map(|&i| self.codes[i]).collect()).collect();
        let groups = self.unseen.then(|| codes[codes.len() - 1].clone());
        let tables = parts.iter().map(|part| self.table.subset(part)).collect::<Result<_>>()?;
        Ok(Probe { tables, known: Known::Codes(codes), groups })
    }
}

/// Pairs marked similar or dissimilar. Held out are pairs; the measure is the ROC-AUC, as the share of dissimilar held-out
/// pairs that a similar one beats.
pub(crate) struct MarkedPairs<'a> {
    first: &'a Embeddings,
    second: &'a Embeddings,
    similar: &'a [bool],
    folds: Vec<usize>,
    /// Pairs that are measured when their fold is held out: all, or a sample with the same share of similar ones.
    measured: Vec<bool>,
    mean: Vec<f64>,
    total: Mat<f64>,
}

impl<'a> MarkedPairs<'a> {
    pub(crate) fn new(
        first: &'a Embeddings,
        second: &'a Embeddings,
        similar: &'a [bool],
        most: usize,
        seed: u64,
    ) -> Result<Self> {
        first.check_columns(second, "columns of the second rows of pairs")?;
        for (what, seen) in [("second rows of pairs", second.len()), ("marks of pairs", similar.len())] {
            if seen != first.len() {
                return Err(Error::Length { what, seen, expected: first.len() });
            }
        }
        let mut random = Random::of(seed, Stream::Folds);
        let (mut folds, mut measured) = (vec![0; similar.len()], vec![false; similar.len()]);
        for kind in [true, false] {
            let places: Vec<usize> = (0..similar.len()).filter(|&i| similar[i] == kind).collect();
            if places.len() < FOLDS {
                let reason = format!(
                    "{} of {} pairs; at least {FOLDS} of each kind are needed, for some are held out",
                    places.len(),
                    similar.len()
                );
                return Err(if kind {
                    Error::NoSimilarPair { reason }
                } else {
                    Error::NoDissimilarPair { reason }
                });
            }
            let order = random.permutation(places.len());
            let share = places.len() as f64 / similar.len() as f64;
            let most = (share * most as f64).round_ties_even().max(1.0) as usize;
            for (at, &place) in order.iter().enumerate() {
                folds[places[place]] = at % FOLDS;
                measured[places[place]] = at / FOLDS < most;
            }
        }
        let ((mean, total), (mean_2, total_2)) = (covariance(first), covariance(second));
        let apart: Vec<f64> = mean.iter().zip(&mean_2).map(|(a, b)| (a - b) / 2.0).collect();
        let d = mean.len();
        let total =
            Mat::from_fn(d, d, |i, j| f64::midpoint(total[(i, j)], total_2[(i, j)]) + apart[i] * apart[j]);
        let mean = mean.iter().zip(&mean_2).map(|(a, b)| f64::midpoint(*a, *b)).collect();
        Ok(Self { first, second, similar, folds, measured, mean, total })
    }

    fn sums(&self, without: Option<usize>) -> TwoSums {
        let of = |kind: bool| -> Vec<(usize, usize, f64)> {
            let used = |i: &usize| self.similar[*i] == kind && without != Some(self.folds[*i]);
            (0..self.similar.len()).filter(used).map(|i| (i, i, 1.0)).collect()
        };
        let (same, other, d) = (of(true), of(false), self.mean.len());
        TwoSums {
            similar: mean_outer(self.first, self.second, &same),
            dissimilar: mean_outer(self.first, self.second, &other),
            between: None,
            total: self.total.clone(),
            mean: self.mean.clone(),
            directions: d,
            rank: d.min(same.len()),
        }
    }

    fn probe(&self, fold: usize) -> Result<Probe> {
        let mine: Vec<usize> =
            (0..self.folds.len()).filter(|&i| self.folds[i] == fold && self.measured[i]).collect();
        let tables = vec![self.first.subset(&mine)?, self.second.subset(&mine)?];
        let similar = mine.iter().map(|&i| self.similar[i]).collect();
        Ok(Probe { tables, known: Known::Similar(similar), groups: None })
    }
}

fn pair_scores(tables: &[Embeddings], similarity: Similarity) -> Vec<f64> {
    let score = |i: usize| {
        let (u, v) = (tables[0].row(i), tables[1].row(i));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        if similarity == Similarity::Cosine {
            let lengths = (dot(&u, &u) * dot(&v, &v)).sqrt();
            dot(&u, &v) / if lengths > 0.0 { lengths } else { 1.0 }
        } else {
            -u.iter().zip(&v).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        }
    };
    (0..tables[0].len()).map(score).collect()
}

/// Of each similar pair, the share of dissimilar pairs with a smaller score; equal ones count one half.
fn share_beaten(scores: &[f64], similar: &[bool]) -> Vec<f64> {
    let of = |kind: bool| (0..scores.len()).filter(move |&i| similar[i] == kind).map(|i| scores[i]);
    let mut others: Vec<f64> = of(false).collect();
    others.sort_by(f64::total_cmp);
    let share = |score: f64| {
        let (below, up_to) =
            (others.partition_point(|&o| o < score), others.partition_point(|&o| o <= score));
        (below + up_to) as f64 / (2 * others.len()) as f64
    };
    of(true).map(share).collect()
}
