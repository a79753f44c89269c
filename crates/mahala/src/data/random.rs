//! Seeded pseudorandom numbers (ChaCha): portable streams, so that a seed gives the same draw everywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A seeded generator. Different `stream`s of one seed are independent.
///
/// ```
/// use mahala::data::Random;
/// let mut a = Random::new(7, 0);
/// let mut b = Random::new(7, 0);
/// assert_eq!(a.permutation(5), b.permutation(5));
/// ```
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

/// The purpose of a stream of random numbers. Each has streams of its own, so that no two draws of one seed
/// overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stream {
    /// The folds for model selection.
    Folds,
    /// The rows for model selection.
    Subset,
    /// Pairs of all rows: the paper's sample, or rows with sets of labels.
    Pairs,
    /// ITML's bounds.
    ItmlBounds,
    /// The folds on which ITML's γ is chosen.
    ItmlFolds,
    /// Quadruplets of labelled rows.
    Quadruplets,
    /// Chunklets of labelled rows.
    Chunklets,
    /// The order in which tuples are visited.
    Visits,
    /// A partition of the automatic mode.
    AutoFolds(u32),
    /// The paper's sample of the training rows of a fold.
    PairsOfFold(u32),
    /// The paper's sample of the training rows of a fold that a calibration holds out.
    PairsBesideHeldOut(u32),
    /// The pairs of the rows that a calibration holds out.
    HeldOutPairs(u32),
    /// Pairs for a threshold.
    Threshold,
    /// The start of the search for principal directions.
    Principal,
    /// A kernel's landmarks.
    Landmarks,
    /// The starts of k-means.
    Clusters,
    /// The sample of rows that are read once.
    Reservoir,
    /// The rows that a page shows.
    Shown,
    /// A bootstrap resample of queries.
    Resample(u32),
    /// A draw of signs for a paired test.
    SignFlips(u32),
}

impl Stream {
    /// The number of the stream. Numbered purposes have 2³² streams each, except the few partitions of the
    /// automatic mode.
    pub fn number(self) -> u64 {
        let block = |block: u64, n: u32| (block << 32) | u64::from(n);
        match self {
            Self::Folds => 0,
            Self::Subset => 1,
            Self::Pairs => 2,
            Self::ItmlBounds => 3,
            Self::ItmlFolds => 4,
            Self::Quadruplets => 5,
            Self::Chunklets => 6,
            Self::Visits => 7,
            Self::AutoFolds(n) => 100 + u64::from(n),
            Self::PairsOfFold(n) => block(2, n),
            Self::PairsBesideHeldOut(n) => block(3, n),
            Self::HeldOutPairs(n) => block(4, n),
            Self::Resample(n) => block(5, n),
            Self::SignFlips(n) => block(6, n),
            Self::Shown => u64::MAX - 5,
            Self::Reservoir => u64::MAX - 4,
            Self::Clusters => u64::MAX - 3,
            Self::Landmarks => u64::MAX - 2,
            Self::Principal => u64::MAX - 1,
            Self::Threshold => u64::MAX,
        }
    }
}

impl Random {
    /// The stream for a purpose.
    pub fn of(seed: u64, stream: Stream) -> Self {
        Self::new(seed, stream.number())
    }

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

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
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
    fn no_two_streams_have_one_number() {
        use Stream::*;
        let single = [
            Folds,
            Subset,
            Pairs,
            ItmlBounds,
            ItmlFolds,
            Quadruplets,
            Chunklets,
            Visits,
            Threshold,
            Principal,
            Landmarks,
            Clusters,
            Reservoir,
        ];
        // The first and the last numbers of each: with gaps between their ends they nowhere overlap.
        let ends = |of: fn(u32) -> Stream| [of(0), of(1), of(u32::MAX - 1), of(u32::MAX)];
        let numbered = [AutoFolds, PairsOfFold, PairsBesideHeldOut, HeldOutPairs, Resample, SignFlips]
            .map(ends)
            .concat();
        let mut numbers: Vec<u64> = single.into_iter().chain(numbered).map(Stream::number).collect();
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        let blocks: Vec<(u64, u64)> =
            [AutoFolds, PairsOfFold, PairsBesideHeldOut, HeldOutPairs, Resample, SignFlips]
                .map(|of: fn(u32) -> Stream| (of(0).number(), of(u32::MAX).number()))
                .to_vec();
        for (i, &(first, last)) in blocks.iter().enumerate() {
            assert!(last - first == u64::from(u32::MAX));
            assert!(blocks[i + 1..].iter().all(|other| last < other.0 || other.1 < first), "{blocks:?}");
            assert!(single.iter().all(|one| !(first..=last).contains(&one.number())), "{blocks:?}");
        }
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
