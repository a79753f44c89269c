//! Seeded randomness: a portable stream, so that a seed means the same draw everywhere and for ever.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded generator. Different `stream`s of one seed are independent.
///
/// ```
/// use mahala::Random;
/// let mut a = Random::new(7, 0);
/// let mut b = Random::new(7, 0);
/// assert_eq!(a.permutation(5), b.permutation(5));
/// ```
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// The stream number `stream` of the generator with this seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(generator)
    }

    /// A uniform integer in `0..bound`.
    ///
    /// Lemire's multiplication with rejection, so that no value is favoured.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "below(0) has no value to return");
        let bound = bound as u64;
        let reject_under = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= reject_under {
                return (product >> 64) as usize;
            }
        }
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The integers `0..n` in random order (Fisher-Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_pinned() {
        // Values of this implementation: a change would silently change every seeded result.
        assert_eq!(Random::new(0, 0).permutation(8), [7, 2, 1, 6, 0, 4, 3, 5]);
        assert_eq!(Random::new(42, 3).permutation(8), [1, 3, 5, 0, 7, 6, 4, 2]);
    }

    #[test]
    fn small_bounds_are_drawn_evenly() {
        let mut random = Random::new(1, 0);
        let mut counts = [0usize; 3];
        for _ in 0..30_000 {
            counts[random.below(3)] += 1;
        }
        // 5 standard deviations of a binomial(30000, 1/3) are 408.
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 408), "{counts:?}");
    }
}
