//! Verification: is this pair alike? Measures of scored pairs.

use crate::error::{Error, Result};

/// Measures of scored pairs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// The probability that a similar pair has a larger score than a dissimilar one; equal scores count one half.
    pub roc_auc: f64,
    /// The rate at which false acceptances and false rejections are equal, by linear interpolation of the ROC curve.
    pub equal_error_rate: f64,
    /// For each rate of false acceptances asked for: the largest rate of true acceptances of a threshold that does not
    /// exceed it.
    pub true_acceptance: Vec<f64>,
}

/// ROC-AUC, equal error rate and TAR@FAR of scored pairs; the larger the score, the more alike.
///
/// ```
/// use mahala::retrieval::verification;
/// let similar = [true, true, true, false, false, false];
/// let measured = verification(&[0.9, 0.8, 0.4, 0.3, 0.5, 0.1], &similar, &[0.1])?;
/// assert!((measured.roc_auc - 8.0 / 9.0).abs() < 1e-15);
/// assert_eq!(measured.true_acceptance, [2.0 / 3.0]);
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// Other lengths, a score that is NaN, pairs of one kind alone, a rate outside (0, 1).
pub fn verification(scores: &[f64], similar: &[bool], far: &[f64]) -> Result<Verification> {
    if scores.len() != similar.len() {
        return Err(Error::Length { what: "marks of pairs", seen: similar.len(), expected: scores.len() });
    }
    if let Some(at) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::NotFinite { row: at, column: 0, value: f64::NAN });
    }
    if let Some(rate) = far.iter().find(|rate| !(**rate > 0.0 && **rate < 1.0)) {
        return Err(Error::Parameter {
            name: "far",
            value: rate.to_string(),
            allowed: "above 0 and below 1",
        });
    }
    let curve = roc_curve(scores, similar)?;
    let area =
        curve.windows(2).map(|ends| (ends[1].0 - ends[0].0) * f64::midpoint(ends[0].1, ends[1].1)).sum();
    let tar = |rate: &f64| curve.iter().filter(|(f, _)| f <= rate).map(|(_, t)| *t).fold(0.0, f64::max);
    Ok(Verification {
        roc_auc: area,
        equal_error_rate: equal_error_rate(&curve),
        true_acceptance: far.iter().map(tar).collect(),
    })
}

/// Rates of false and true acceptances at every threshold, from the strictest.
fn roc_curve(scores: &[f64], similar: &[bool]) -> Result<Vec<(f64, f64)>> {
    let same = similar.iter().filter(|same| **same).count();
    if same == 0 {
        return Err(Error::NoSimilarPair { reason: format!("all {} pairs are dissimilar", scores.len()) });
    }
    if same == scores.len() {
        return Err(Error::NoDissimilarPair { reason: format!("all {same} pairs are similar") });
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let (mut accepted, mut curve) = ([0usize; 2], vec![(0.0, 0.0)]);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        tied.iter().for_each(|&pair| accepted[usize::from(similar[pair])] += 1);
        curve.push((accepted[0] as f64 / (scores.len() - same) as f64, accepted[1] as f64 / same as f64));
    }
    Ok(curve)
}

/// Where the ROC curve meets the line true = 1 − false acceptances.
fn equal_error_rate(curve: &[(f64, f64)]) -> f64 {
    let gap = |point: (f64, f64)| point.0 + point.1 - 1.0; // rises from −1 to 1
    let after = curve.iter().position(|&point| gap(point) >= 0.0).unwrap_or(curve.len() - 1);
    let (before, after) = (curve[after.saturating_sub(1)], curve[after]);
    let step = gap(after) - gap(before);
    let share = if step > 0.0 { -gap(before) / step } else { 0.0 };
    before.0 + share * (after.0 - before.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_and_reversed_scores_are_the_extremes() {
        let similar = [true, true, false, false];
        let best = verification(&[3.0, 2.0, 1.0, 0.0], &similar, &[0.1]).unwrap();
        assert_eq!((best.roc_auc, best.equal_error_rate, best.true_acceptance[0]), (1.0, 0.0, 1.0));
        let worst = verification(&[0.0, 1.0, 2.0, 3.0], &similar, &[0.1]).unwrap();
        assert_eq!((worst.roc_auc, worst.equal_error_rate, worst.true_acceptance[0]), (0.0, 1.0, 0.0));
        let tied = verification(&[1.0; 4], &similar, &[0.1]).unwrap();
        assert_eq!((tied.roc_auc, tied.equal_error_rate, tied.true_acceptance[0]), (0.5, 0.5, 0.0));
    }

    #[test]
    fn pairs_of_one_kind_and_scores_that_are_no_numbers_are_refused() {
        assert!(matches!(verification(&[1.0], &[true], &[]), Err(Error::NoDissimilarPair { .. })));
        assert!(matches!(verification(&[1.0], &[false], &[]), Err(Error::NoSimilarPair { .. })));
        assert!(verification(&[f64::NAN, 1.0], &[true, false], &[]).is_err());
        assert!(verification(&[0.0, 1.0], &[true, false], &[1.0]).is_err());
        assert!(verification(&[0.0], &[true, false], &[]).is_err());
    }
}
