//! Graded pairs: a similarity in [0, 1] instead of a kind, such as the Jaccard similarity of label sets.
//!
//! # Formula
//! A pair of similarity s in [0, 1] and weight w counts for both sums:
//! ```text
//! S += w·s·(x_i − x_j)(x_i − x_j)ᵀ,     D += w·(1 − s)·(x_i − x_j)(x_i − x_j)ᵀ
//! Jaccard:  s = |Y_i ∩ Y_j| / |Y_i ∪ Y_j|  for rows with the sets of labels Y_i and Y_j
//! ```
//! The closed form takes any weights that are not negative; with s of 0 and 1 alone it is the paper's.

use crate::data::random::Random;
use crate::error::{Error, Result};
use crate::pairs::{Pair, Pairs};
use std::ops::Range;

impl Pairs {
    /// Pairs (first, second, similarity), over `first_rows` and `second_rows` rows, weighted if weights are given.
    /// In the list a pair of similarity between 0 and 1 stands twice: as similar, and as dissimilar.
    ///
    /// ```
    /// use mahala::pairs::{Pair, Pairs};
    /// let pairs = Pairs::graded(&[(0, 1, 0.75), (1, 2, 0.0)], None, 3, 3)?;
    /// let (near, far) = (Pair::similar(0, 1).weighing(0.75), Pair::dissimilar(0, 1).weighing(0.25));
    /// assert_eq!(pairs.as_slice(), [near, far, Pair::dissimilar(1, 2)]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A similarity outside [0, 1], another number of weights than of pairs, an index that names no row, or a weight that is
    /// negative or not finite.
    pub fn graded(
        pairs: &[(usize, usize, f64)],
        weights: Option<&[f64]>,
        first_rows: usize,
        second_rows: usize,
    ) -> Result<Self> {
        if let Some(weights) = weights
            && weights.len() != pairs.len()
        {
            return Err(Error::Length { what: "weights", seen: weights.len(), expected: pairs.len() });
        }
        let mut list = Vec::with_capacity(pairs.len());
        for (index, &(first, second, similarity)) in pairs.iter().enumerate() {
            if !(0.0..=1.0).contains(&similarity) {
                let value = format!("{similarity} (pair {index})");
                return Err(Error::Parameter { name: "similarity", value, allowed: "between 0 and 1" });
            }
            let weight = weights.map_or(1.0, |weights| weights[index]);
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::Weight { index, value: weight });
            }
            if similarity > 0.0 {
                list.push(Pair::similar(first, second).weighing(weight * similarity));
            }
            if similarity < 1.0 {
                list.push(Pair::dissimilar(first, second).weighing(weight * (1.0 - similarity)));
            }
        }
        Self::new(list, first_rows, second_rows)
    }

    /// At most `budget` pairs of rows that have several labels each, graded by Jaccard's overlap: all pairs if they
    /// are no more than that, else as many at random. Rows without labels are in no pair.
    ///
    /// # Errors
    /// Fewer than two rows with labels.
    pub fn from_label_sets(sets: &[Vec<u32>], budget: usize, random: &mut Random) -> Result<Self> {
        let sets: Vec<Vec<u32>> = sets.iter().map(|set| sorted(set)).collect();
        let labelled: Vec<usize> = (0..sets.len()).filter(|&i| !sets[i].is_empty()).collect();
        let n = labelled.len();
        if n < 2 {
            return Err(Error::TooFewRows { what: "learning from sets of labels", needed: 2, seen: n });
        }
        let pair = |i: usize, j: usize| {
            let (first, second) = (labelled[i], labelled[j]);
            (first, second, overlap(&sets[first], &sets[second]))
        };
        let all = n.saturating_mul(n - 1) / 2;
        let pairs: Vec<(usize, usize, f64)> = if all <= budget {
            (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).collect()
        } else {
            let draw = |_| {
                let (i, j) = (random.below(n), random.below(n - 1));
                pair(i, if j < i { j } else { j + 1 })
            };
            (0..budget).map(draw).collect()
        };
        Self::graded(&pairs, None, sets.len(), sets.len())
    }

    /// Runs of consecutive entries with the same two rows, which folds must not split.
    pub fn units(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let same = |a: &Pair, b: &Pair| (a.first, a.second) == (b.first, b.second);
        let unit = |entries: &[Pair]| {
            start += entries.len();
            start - entries.len()..start
        };
        self.as_slice().chunk_by(same).map(unit).collect()
    }

    /// The entries of the chosen runs.
    pub(crate) fn of_units(&self, units: &[Range<usize>], chosen: &[usize]) -> Self {
        let entries: Vec<usize> = chosen.iter().flat_map(|&unit| units[unit].clone()).collect();
        self.subset(&entries)
    }

    /// Reweights the pairs so that each kind has the weight it has in `whole`: the metric of a part of the pairs
    /// is then on the scale of the metric of all.
    pub(crate) fn weighing_like(&self, whole: &Self) -> Self {
        let weight = |pairs: &Self, kind: bool| -> f64 {
            pairs.as_slice().iter().filter(|pair| pair.similar == kind).map(|pair| pair.weight).sum()
        };
        let ratio = |kind: bool| {
            let part = weight(self, kind);
            if part > 0.0 { weight(whole, kind) / part } else { 1.0 }
        };
        let ratios = [ratio(false), ratio(true)];
        let weighed = |pair: &Pair| pair.weighing(pair.weight * ratios[usize::from(pair.similar)]);
        Self::trusted(self.as_slice().iter().map(weighed).collect())
    }
}

/// The Jaccard similarity of two ascending lists, not both empty.
fn overlap(a: &[u32], b: &[u32]) -> f64 {
    let common = a.iter().filter(|label| b.binary_search(label).is_ok()).count();
    common as f64 / (a.len() + b.len() - common) as f64
}

fn sorted(set: &[u32]) -> Vec<u32> {
    let mut set = set.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_one_pair_stay_together() {
        let pairs = Pairs::graded(&[(0, 1, 0.5), (1, 2, 1.0), (0, 2, 0.2)], None, 3, 3).unwrap();
        let units = pairs.units();
        assert_eq!(units, [0..2, 2..3, 3..5]);
        assert_eq!(pairs.of_units(&units, &[0, 2]), pairs.subset(&[0, 1, 3, 4]));
    }

    #[test]
    fn a_part_weighs_as_much_as_the_whole() {
        let pairs = Pairs::graded(&[(0, 1, 0.5), (1, 2, 0.9), (0, 2, 0.2)], None, 3, 3).unwrap();
        let part = pairs.subset(&[0, 1]).weighing_like(&pairs);
        let weights: Vec<f64> = part.as_slice().iter().map(|pair| pair.weight).collect();
        assert!((weights[0] - 1.6).abs() < 1e-15 && (weights[1] - 1.4).abs() < 1e-15, "{weights:?}");
    }

    #[test]
    fn the_overlap_is_jaccards() {
        assert_eq!(overlap(&[1, 2, 3], &[2, 3, 4]), 0.5);
        assert_eq!(overlap(&[1], &[1]), 1.0);
        assert_eq!(overlap(&[1], &[2]), 0.0);
    }
}
