//! Which rows may be among a query's `k` best, while scores are known up to rounding.
//!
//! If `k` scores are at least τ, and each is off by at most E, then the true k-th best is at least τ − E,
//! and a row that belongs to the best has a computed score of at least τ − 2E. What is below that is never
//! stored.

use crate::knn_kernel::{QUERIES, Scores};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The candidates of one query: all rows whose score may still be among the `k` best.
pub(crate) struct Candidates {
    k: usize,
    pub(crate) error: f32,
    /// Scores below this cannot be among the `k` best: the k-th best so far minus twice the error.
    pub(crate) bound: f32,
    /// The `k` best scores so far, the worst of them on top.
    best: BinaryHeap<Reverse<i32>>,
    found: Vec<(f32, u32)>,
    prune_at: usize,
}

impl Candidates {
    pub(crate) fn new(k: usize, error: f32) -> Self {
        // Every finite score reaches the first bound; the −∞ of rows that only fill a panel does not.
        let (best, found) = (BinaryHeap::with_capacity(k + 1), Vec::with_capacity(2 * k));
        Self { k, error, bound: f32::MIN, best, found, prune_at: 4 * k + 64 }
    }

    fn push(&mut self, score: f32, row: usize) {
        self.found.push((score, row as u32));
        self.best.push(Reverse(ordered(score)));
        if self.best.len() > self.k {
            self.best.pop();
        }
        if let Some(Reverse(kth)) = self.best.peek().filter(|_| self.best.len() == self.k) {
            let bound = from_ordered(*kth) - 2.0 * self.error;
            // Rounded down, so that the bound stays one.
            self.bound = (bound - bound.abs() * f32::EPSILON).max(f32::MIN);
        }
        if self.found.len() >= self.prune_at {
            self.prune();
            self.prune_at = (2 * self.found.len()).max(4 * self.k + 64);
        }
    }

    fn prune(&mut self) {
        let bound = self.bound;
        self.found.retain(|candidate| candidate.0 >= bound);
    }

    pub(crate) fn into_indices(mut self) -> Vec<usize> {
        self.prune();
        self.found.into_iter().map(|(_, i)| i as usize).collect()
    }
}

/// Stores the scores that reach their bounds, and raises the bounds.
pub(crate) fn take(
    candidates: &mut [Candidates],
    scores: &Scores,
    first: usize,
    bounds: &mut [f32; QUERIES],
) {
    for ((candidates, scores), bound) in candidates.iter_mut().zip(scores).zip(bounds) {
        let highest =
            scores.iter().fold(f32::NEG_INFINITY, |high, &score| if score > high { score } else { high });
        if highest < *bound {
            continue;
        }
        for (r, &score) in scores.iter().enumerate() {
            if score >= candidates.bound {
                candidates.push(score, first + r);
            }
        }
        *bound = candidates.bound;
    }
}

/// An integer that orders as the number does.
fn ordered(x: f32) -> i32 {
    let bits = x.to_bits().cast_signed();
    bits ^ ((bits >> 31) & i32::MAX)
}

fn from_ordered(key: i32) -> f32 {
    f32::from_bits((key ^ ((key >> 31) & i32::MAX)).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integers_order_as_the_numbers_do() {
        let numbers = [f32::NEG_INFINITY, -3.0, -1e-40, -0.0, 0.0, 1e-40, 2.5, f32::INFINITY];
        assert!(numbers.map(ordered).is_sorted());
        assert!(numbers.iter().all(|&x| from_ordered(ordered(x)).to_bits() == x.to_bits()));
    }

    #[test]
    fn what_may_be_among_the_best_is_kept_and_nothing_else() {
        let mut candidates = Candidates::new(2, 0.25);
        for (row, score) in [1.0, 5.0, 4.6, 4.4, 4.0, 9.0].into_iter().enumerate() {
            if score >= candidates.bound {
                candidates.push(score, row);
            }
        }
        // The second best is 5, so all from 4.5 on may be.
        assert_eq!(candidates.into_indices(), [1, 2, 5]);
    }
}
