//! Pair verification: distances of pairs, ROC area, and decision thresholds.

use crate::data::random::{Random, Stream};
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::pairs::{Pair, Pairs};

/// The squared distances of the pairs, the first ends in one table and the second in another.
///
/// # Errors
/// A pair that names no row, columns that do not fit the metric, or a distance outside the range of
/// 64-bit numbers.
pub fn squared_pair_distances(
    metric: &Metric,
    first: &Rows,
    second: &Rows,
    pairs: &Pairs,
) -> Result<Vec<f64>> {
    pairs.check(first.len(), second.len())?;
    let transformed_first = metric.transform(first)?;
    let z_second = metric.transform(second)?;
    let squared = |pair: &Pair| {
        let ends = transformed_first.row(pair.first).iter().zip(z_second.row(pair.second));
        let z: Vec<f64> = ends.map(|(a, b)| a - b).collect();
        let inside: f64 = z.iter().map(|z| z * z).sum();
        if metric.weight_outside().is_none() {
            return inside;
        }
        let cells = first.row(pair.first).iter().zip(second.row(pair.second)).enumerate();
        let v: Vec<f64> = cells.map(|(j, (x, y))| (x - y) / metric.scale_of(j)).collect();
        inside + metric.squared_outside(&z, &v)
    };
    let distances: Vec<f64> = pairs.as_slice().iter().map(squared).collect();
    if distances.iter().all(|x| x.is_finite()) {
        Ok(distances)
    } else {
        Err(Error::OutOfRange { what: "the distance" })
    }
}

/// The area under the ROC curve: the (weighted) chance that a similar pair is nearer than a dissimilar
/// one, ties counted half. 0.5 if one kind is missing.
pub fn area_under_curve(distances: &[f64], pairs: &Pairs) -> f64 {
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
    let (mut similar, mut dissimilar, mut area) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| distances[a] == distances[b]) {
        let weight_of = |kind: bool| -> f64 {
            tied.iter().map(|&i| &pairs.as_slice()[i]).filter(|p| p.similar == kind).map(|p| p.weight).sum()
        };
        let (s, d) = (weight_of(true), weight_of(false));
        area += d * (similar + 0.5 * s);
        similar += s;
        dissimilar += d;
    }
    if similar * dissimilar > 0.0 { area / (similar * dissimilar) } else { 0.5 }
}

/// The distance at or below which a pair is called similar: the one with the best balanced accuracy
/// (mean of the shares decided right among similar and among dissimilar pairs) on these pairs, half way
/// to the next distance.
pub fn best_threshold(distances: &[f64], pairs: &Pairs) -> f64 {
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
    let total = |kind: bool| -> f64 {
        pairs
            .as_slice()
            .iter()
            .filter(|p| p.similar == kind)
            .map(|p| p.weight)
            .sum::<f64>()
            .max(f64::MIN_POSITIVE)
    };
    let (all_similar, all_dissimilar) = (total(true), total(false));
    let (mut similar, mut dissimilar) = (0.0, 0.0);
    let (mut best, mut threshold) = (1.0, 0.0);
    for (position, &i) in order.iter().enumerate() {
        let pair = &pairs.as_slice()[i];
        *(if pair.similar { &mut similar } else { &mut dissimilar }) += pair.weight;
        let next = order.get(position + 1).map(|&j| distances[j]);
        if next == Some(distances[i]) {
            continue;
        }
        let score = similar / all_similar + 1.0 - dissimilar / all_dissimilar;
        if score > best {
            (best, threshold) = (score, next.map_or(distances[i], |next| 0.5 * (distances[i] + next)));
        }
    }
    threshold
}

/// A threshold for labelled rows: [`best_threshold`] over at most 20,000 random pairs of them.
///
/// # Errors
/// Columns that do not fit the metric, or no similar or no dissimilar pair among those drawn.
pub fn threshold_for_labels(metric: &Metric, data: &Dataset, seed: u64) -> Result<f64> {
    let pairs = random_pairs(data.labels(), 20_000, &mut Random::of(seed, Stream::Threshold))?;
    let squared = squared_pair_distances(metric, data.rows(), data.rows(), &pairs)?;
    Ok(best_threshold(&squared.into_iter().map(f64::sqrt).collect::<Vec<_>>(), &pairs))
}

/// A threshold for labelled rows in coordinates where the metric is Euclidean: [`best_threshold`] over at most
/// 20,000 random pairs of them.
///
/// # Errors
/// Columns that do not fit the metric, or no similar or no dissimilar pair among those drawn.
pub fn threshold_in_coordinates(z: &Rows, labels: &Labels, seed: u64) -> Result<f64> {
    let pairs = random_pairs(labels, 20_000, &mut Random::of(seed, Stream::Threshold))?;
    pairs.check(z.len(), z.len())?;
    let distance = |pair: &Pair| {
        let ends = z.row(pair.first).iter().zip(z.row(pair.second));
        ends.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    Ok(best_threshold(&pairs.as_slice().iter().map(distance).collect::<Vec<_>>(), &pairs))
}

/// Random pairs of labelled rows, without pairs of a row with itself.
pub(crate) fn random_pairs(labels: &Labels, draws: usize, random: &mut Random) -> Result<Pairs> {
    let (codes, n) = (labels.codes(), labels.len());
    let drawn = (0..draws).map(|_| (random.below(n), random.below(n))).filter(|(i, j)| i != j);
    let pairs =
        drawn.map(|(i, j)| if codes[i] == codes[j] { Pair::similar(i, j) } else { Pair::dissimilar(i, j) });
    Pairs::new(pairs.collect(), n, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(kinds: &[bool]) -> Pairs {
        let list = kinds.iter().map(|&similar| Pair { first: 0, second: 0, similar, weight: 1.0 });
        Pairs::new(list.collect(), 1, 1).unwrap()
    }

    #[test]
    fn the_area_counts_ordered_pairs_and_halves_ties() {
        let kinds = pairs(&[true, true, false, false]);
        assert_eq!(area_under_curve(&[1.0, 2.0, 3.0, 4.0], &kinds), 1.0);
        assert_eq!(area_under_curve(&[3.0, 4.0, 1.0, 2.0], &kinds), 0.0);
        assert_eq!(area_under_curve(&[1.0, 3.0, 3.0, 4.0], &kinds), (2.0 + 1.5) / 4.0);
        assert_eq!(area_under_curve(&[1.0], &pairs(&[true])), 0.5);
    }

    #[test]
    fn the_threshold_lies_between_the_kinds() {
        assert_eq!(best_threshold(&[1.0, 2.0, 4.0, 5.0], &pairs(&[true, true, false, false])), 3.0);
        assert_eq!(best_threshold(&[1.0, 2.0, 2.0, 5.0], &pairs(&[true, true, false, false])), 1.5);
    }
}
