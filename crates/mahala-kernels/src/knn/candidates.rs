//! The candidate list of a query: all rows that may be among its `k` best, given approximate scores.
//!
//! If `k` scores are at least τ, each with an error of at most E, then the true k-th best is at least τ − E, and a row that
//! belongs to the `k` best has a computed score of at least τ − 2E. Lower scores are never stored.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The candidates of one query: all rows whose score may still be among the `k` best.
pub struct Candidates {
    /// The number of neighbours.
    pub k: usize,
    /// The bound on the error of a score.
    pub error: f32,
    /// Scores below this cannot be among the `k` best: the k-th best so far minus twice the error.
    bound: f32,
    /// The `k` best scores so far, as a heap with the worst on top.
    best: BinaryHeap<Reverse<i32>>,
    found: Vec<(f32, u32)>,
    prune_at: usize,
}

impl Candidates {
    /// An empty list.
    pub fn new(k: usize, error: f32) -> Self {
        // Every finite score reaches the first bound; the −∞ of padding rows does not.
        let (best, found) = (BinaryHeap::with_capacity(k), Vec::with_capacity(2 * k));
        Self { k, error, bound: f32::MIN, best, found, prune_at: 4 * k + 64 }
    }

    /// Raises the bound: `k` scores are known to be at least `kth`. Returns the bound.
    pub fn raise(&mut self, kth: f32) -> f32 {
        let bound = kth - 2.0 * self.error;
        // Rounded down, so that it remains a bound; never below the first one.
        self.bound = (bound - bound.abs() * f32::EPSILON).max(self.bound);
        self.bound
    }

    /// Stores a row if its score reaches the bound; returns the updated bound.
    pub fn offer(&mut self, score: f32, row: usize) -> f32 {
        if score >= self.bound {
            self.push(score, row);
        }
        self.bound
    }

    fn push(&mut self, score: f32, row: usize) {
        self.found.push((score, row as u32));
        let key = Reverse(ordered(score));
        if self.best.len() < self.k {
            self.best.push(key);
        } else if let Some(mut worst) = self.best.peek_mut().filter(|worst| key < **worst) {
            *worst = key;
        }
        if let Some(&Reverse(kth)) = self.best.peek().filter(|_| self.best.len() == self.k) {
            self.raise(from_ordered(kth));
        }
        if self.found.len() >= self.prune_at {
            self.prune();
            self.prune_at = (2 * self.found.len()).max(4 * self.k + 64);
        }
    }

    /// The number of candidates stored.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Removes candidates below the current bound.
    pub fn prune(&mut self) {
        let bound = self.bound;
        self.found.retain(|candidate| candidate.0 >= bound);
    }

    /// The rows of the candidates, in ascending order.
    pub fn into_indices(self) -> impl Iterator<Item = usize> {
        let bound = self.bound;
        self.found.into_iter().filter(move |found| found.0 >= bound).map(|(_, row)| row as usize)
    }
}

/// Maps a float to an integer of the same order.
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
            candidates.offer(score, row);
        }
        // The second best is 5, so all from 4.5 on may be.
        assert_eq!(candidates.into_indices().collect::<Vec<_>>(), [1, 2, 5]);
    }
}
