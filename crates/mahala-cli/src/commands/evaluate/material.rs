//! What is divided into parts to learn on and parts to test: labelled rows, rows with several labels, pairs, tuples.

use crate::commands::configured::{Answer, Configured};
use crate::commands::evaluate::impute::Gaps;
use crate::commands::evaluate::splits::{Split, Units};
use crate::commands::evaluate::targets::Targeted;
use crate::commands::label_sets::LabelSets;
use anyhow::Result;
use mahala::learner::Training;
use mahala::metric::{area_under_curve, best_threshold};
use mahala::pairs::{Chunklets, Pairs, Quadruplets, Triplets};
use mahala::{Dataset, Labels, Rows};
use std::ops::Range;

/// How good a metric is, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The error of nearest neighbours.
    Votes,
    /// The area under the ROC curve of pairs, and their error at the threshold of the training pairs.
    Ranking,
    /// The share of tuples in the wrong order.
    Order,
    /// R² and the root mean squared error of predicted numbers.
    Squares,
}

/// What is divided.
pub(super) enum Material {
    Labelled(Labelled),
    /// Rows with a number each.
    Targeted(Targeted),
    /// Rows with several labels each: pairs of them are drawn on either side.
    Sets(Rows, LabelSets),
    /// Pairs, by runs of entries that stand for one graded pair.
    Pairs(Rows, Pairs, Vec<Range<usize>>),
    Triplets(Rows, Triplets),
    Quadruplets(Rows, Quadruplets),
}

/// Labelled rows with all that may stand beside them.
pub(super) struct Labelled {
    pub data: Dataset,
    pub groups: Option<Labels>,
    pub weights: Option<Vec<f64>>,
    pub chunks: Option<Vec<Option<u64>>>,
    pub gaps: Gaps,
    /// The columns are kernel values with all rows, so that those with rows learned on are to be picked.
    pub precomputed: bool,
}

/// What one split gave.
pub(super) struct Judged {
    /// Sums over what was tested; with rows of weights, theirs.
    pub wrong: f64,
    pub tested: f64,
    /// The loss of each unit that has one, where units are decided one by one: 1 for a wrong one.
    pub units: Option<Vec<(usize, f64)>>,
    /// The error at the threshold of the training pairs, in percent.
    pub at_threshold: Option<f64>,
    /// The root mean squared error of predicted numbers.
    pub rmse: Option<f64>,
    pub answer: Answer,
}

impl Material {
    pub(super) fn measure(&self) -> Measure {
        match self {
            Self::Labelled(_) => Measure::Votes,
            Self::Targeted(_) => Measure::Squares,
            Self::Sets(..) | Self::Pairs(..) => Measure::Ranking,
            Self::Triplets(..) | Self::Quadruplets(..) => Measure::Order,
        }
    }

    /// What a unit is called.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Labelled(_) | Self::Targeted(_) | Self::Sets(..) => "row",
            Self::Pairs(..) => "pair",
            Self::Triplets(..) => "triplet",
            Self::Quadruplets(..) => "quadruplet",
        }
    }

    pub(super) fn rows(&self) -> &Rows {
        match self {
            Self::Labelled(labelled) => labelled.data.rows(),
            Self::Targeted(targeted) => &targeted.rows,
            Self::Sets(rows, _)
            | Self::Pairs(rows, ..)
            | Self::Triplets(rows, _)
            | Self::Quadruplets(rows, _) => rows,
        }
    }

    /// The rows of each unit, where units are not rows.
    pub(super) fn members(&self) -> Option<Vec<Vec<usize>>> {
        Some(match self {
            Self::Labelled(_) | Self::Targeted(_) | Self::Sets(..) => return None,
            Self::Pairs(_, pairs, units) => {
                let of = |unit: &Range<usize>| {
                    let pair = pairs.as_slice()[unit.start];
                    vec![pair.first, pair.second]
                };
                units.iter().map(of).collect()
            }
            Self::Triplets(_, triplets) => {
                triplets.as_slice().iter().map(|one| vec![one.anchor, one.near, one.far]).collect()
            }
            Self::Quadruplets(_, quadruplets) => {
                quadruplets.as_slice().iter().map(|one| [one.near, one.far].concat()).collect()
            }
        })
    }

    /// How many units there are.
    pub(super) fn len(&self) -> usize {
        self.members().map_or(self.rows().len(), |members| members.len())
    }

    /// Learns on one side of a split.
    pub(super) fn learn(&self, method: &Configured, train: &[usize]) -> Result<Answer> {
        match self {
            Self::Labelled(labelled) => labelled.part(train, None)?.learn(method),
            Self::Targeted(targeted) => targeted.learn(method, train),
            Self::Sets(rows, sets) => {
                let (part, pairs) = (rows.subset(train), sets.pairs(train, method.gmml.seed)?);
                Ok(method.answer(&Training::Paired(&part, &pairs), None)?)
            }
            Self::Pairs(rows, pairs, units) => {
                let part = of_units(pairs, units, train);
                Ok(method.answer(&Training::Paired(rows, &part), None)?)
            }
            Self::Triplets(rows, triplets) => {
                let part = train.iter().map(|&i| triplets.as_slice()[i]).collect();
                Ok(method.answer(&Training::Triplets(rows, &Triplets::new(part, rows.len())?), None)?)
            }
            Self::Quadruplets(rows, quadruplets) => {
                let part = train.iter().map(|&i| quadruplets.as_slice()[i]).collect();
                Ok(method.answer(&Training::Quadruplets(rows, &Quadruplets::new(part, rows.len())?), None)?)
            }
        }
    }

    /// Learns on one side of a split and tests on the other.
    pub(super) fn judge(&self, method: &Configured, split: &Split) -> Result<Judged> {
        if let Self::Labelled(labelled) = self {
            return labelled.judge(method, split);
        }
        if let Self::Targeted(targeted) = self {
            return targeted.judge(method, split);
        }
        let answer = self.learn(method, &split.train)?;
        match self {
            Self::Labelled(_) | Self::Targeted(_) | Self::Sets(..) | Self::Pairs(..) => {
                self.judge_pairs(answer, split, method.gmml.seed)
            }
            Self::Triplets(rows, triplets) => {
                let tuples = split.test.iter().map(|&i| triplets.as_slice()[i]);
                order(
                    answer,
                    rows,
                    split,
                    tuples.map(|one| ([one.anchor, one.near], [one.anchor, one.far], 1.0)),
                )
            }
            Self::Quadruplets(rows, quadruplets) => {
                let tuples = split.test.iter().map(|&i| quadruplets.as_slice()[i]);
                order(answer, rows, split, tuples.map(|one| (one.near, one.far, one.weight)))
            }
        }
    }

    fn judge_pairs(&self, answer: Answer, split: &Split, seed: u64) -> Result<Judged> {
        let side = |units: &[usize]| -> Result<(Rows, Pairs)> {
            Ok(match self {
                Self::Sets(rows, sets) => (rows.subset(units), sets.pairs(units, seed)?),
                Self::Pairs(rows, pairs, ranges) => (rows.clone(), of_units(pairs, ranges, units)),
                _ => (self.rows().clone(), Pairs::new(Vec::new(), 0, 0)?),
            })
        };
        let (rows, pairs) = side(&split.train)?;
        let threshold = best_threshold(&distances(&answer, &rows, &pairs)?, &pairs);
        let (rows, pairs) = side(&split.test)?;
        let measured = distances(&answer, &rows, &pairs)?;
        let tested: f64 = pairs.as_slice().iter().map(|pair| pair.weight).sum();
        let (wrong, at_threshold) = judge_pairs(&measured, &pairs, threshold);
        let at_threshold = Some(at_threshold);
        Ok(Judged { wrong: wrong * tested, tested, units: None, at_threshold, rmse: None, answer })
    }
}

/// 1 − the area under the ROC curve, and the error at a threshold in percent.
pub(super) fn judge_pairs(distances: &[f64], pairs: &Pairs, threshold: f64) -> (f64, f64) {
    let weight = |wrong: bool| -> f64 {
        let entries = pairs.as_slice().iter().zip(distances);
        entries
            .filter(|(pair, d)| !wrong || pair.similar != (**d <= threshold))
            .map(|(pair, _)| pair.weight)
            .sum()
    };
    (1.0 - area_under_curve(distances, pairs), 100.0 * weight(true) / weight(false).max(f64::MIN_POSITIVE))
}

/// The entries of some units.
fn of_units(pairs: &Pairs, units: &[Range<usize>], chosen: &[usize]) -> Pairs {
    let entries: Vec<usize> = chosen.iter().flat_map(|&unit| units[unit].clone()).collect();
    pairs.subset(&entries)
}

/// The distance of each pair.
fn distances(answer: &Answer, rows: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
    let squared = answer.global().squared_pair_distances(rows, rows, pairs)?;
    Ok(squared.into_iter().map(f64::sqrt).collect())
}

/// Near and far rows of a tuple, and its weight.
type Tuple = ([usize; 2], [usize; 2], f64);

/// Which tuples are in the wrong order; a tie is.
fn order(answer: Answer, rows: &Rows, split: &Split, tuples: impl Iterator<Item = Tuple>) -> Result<Judged> {
    let (wrong, weights) = wrong_order(&answer.global().transform(rows)?, tuples);
    let units =
        split.test.iter().zip(&wrong).filter(|(_, wrong)| **wrong).map(|(&unit, _)| (unit, 1.0)).collect();
    let sum = wrong.iter().zip(&weights).filter(|(wrong, _)| **wrong).map(|(_, weight)| weight).sum();
    let tested = weights.iter().sum();
    Ok(Judged { wrong: sum, tested, units: Some(units), at_threshold: None, rmse: None, answer })
}

/// For each tuple whether its order is wrong in these coordinates, and its weight.
pub(super) fn wrong_order(z: &Rows, tuples: impl Iterator<Item = Tuple>) -> (Vec<bool>, Vec<f64>) {
    let squared =
        |[a, b]: [usize; 2]| -> f64 { z.row(a).iter().zip(z.row(b)).map(|(x, y)| (x - y).powi(2)).sum() };
    tuples.map(|(near, far, weight)| (squared(near) >= squared(far), weight)).unzip()
}

/// One side of a split of labelled rows.
pub(super) struct Part {
    pub data: Dataset,
    groups: Option<Labels>,
    weights: Option<Vec<f64>>,
    chunks: Option<Chunklets>,
}

impl Part {
    pub(super) fn learn(&self, method: &Configured) -> Result<Answer> {
        let training = match (&self.chunks, &self.groups) {
            (Some(chunks), _) => Training::Chunklets(self.data.rows(), chunks),
            (None, Some(groups)) => Training::Grouped(&self.data, groups),
            (None, None) => Training::Labelled(&self.data),
        };
        Ok(method.answer(&training, self.weights.as_deref())?)
    }
}

impl Labelled {
    /// These rows, missing cells filled in with the means given or else their own.
    pub(super) fn part(&self, rows: &[usize], means: Option<&[f64]>) -> Result<Part> {
        let own = if means.is_none() { self.gaps.means(self.data.rows(), rows)? } else { None };
        let data = self.filled(rows, means.or(own.as_deref()), rows)?;
        let chunks = self.chunks.as_ref().map(|chunks| rows.iter().map(|&i| chunks[i]).collect::<Vec<_>>());
        Ok(Part {
            data,
            groups: self.groups.as_ref().map(|groups| groups.subset(rows)),
            weights: self.weights.as_ref().map(|weights| rows.iter().map(|&i| weights[i]).collect()),
            chunks: chunks.map(|chunks| Chunklets::new(&chunks)).transpose()?,
        })
    }

    /// These rows, missing cells filled in; of kernel values only those with the rows learned on.
    fn filled(&self, rows: &[usize], means: Option<&[f64]>, learned_on: &[usize]) -> Result<Dataset> {
        let filled = self.gaps.filled(self.data.rows(), rows, means)?;
        let filled = if self.precomputed { picked(&filled, learned_on)? } else { filled };
        Ok(Dataset::new(filled, self.data.labels().subset(rows))?)
    }

    fn judge(&self, method: &Configured, split: &Split) -> Result<Judged> {
        let means = self.gaps.means(self.data.rows(), &split.train)?;
        let train = self.part(&split.train, means.as_deref())?;
        let test = self.filled(&split.test, means.as_deref(), &split.train)?;
        let answer = train.learn(method)?;
        let wrong = answer.misclassified(&train.data, &test, method.gmml.k)?;
        let weight = |row: usize| self.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let units: Vec<usize> =
            split.test.iter().zip(wrong).filter(|(_, wrong)| *wrong).map(|(&row, _)| row).collect();
        Ok(Judged {
            wrong: units.iter().map(|&row| weight(row)).sum(),
            tested: split.test.iter().map(|&row| weight(row)).sum(),
            units: Some(units.into_iter().map(|row| (row, 1.0)).collect()),
            at_threshold: None,
            rmse: None,
            answer,
        })
    }
}

/// Columns picked by position.
fn picked(rows: &Rows, columns: &[usize]) -> Result<Rows> {
    let cells = (0..rows.len()).flat_map(|i| columns.iter().map(move |&j| rows.row(i)[j])).collect();
    Ok(Rows::new(cells, columns.len())?)
}

impl<'a> Units<'a> {
    /// The units of a material.
    pub(super) fn of(
        material: &'a Material,
        members: Option<&'a [Vec<usize>]>,
        groups: Option<&'a Labels>,
        row_numbers: &'a [u64],
    ) -> Self {
        Self { members, rows: material.rows().len(), groups, row_numbers, noun: material.noun() }
    }
}
