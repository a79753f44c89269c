//! Random partitions of the rows, for cross-validation and repeated halves.

use crate::error::{Error, Result};
use crate::random::Random;

/// A partition of `0..n` into folds.
///
/// ```
/// use mahala::{Folds, Random};
/// let folds = Folds::new(10, 3, &mut Random::new(0, 0))?;
/// let (train, test) = folds.split(0);
/// assert_eq!((train.len(), test.len()), (6, 4));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds(Vec<Vec<usize>>);

impl Folds {
    /// `k` folds of nearly equal size, at random, without regard to classes.
    ///
    /// # Errors
    /// Fewer than two folds, or fewer rows than folds.
    pub fn new(n: usize, k: usize, random: &mut Random) -> Result<Self> {
        if k < 2 {
            return Err(Error::Parameter { name: "folds", value: k.to_string(), allowed: "at least 2" });
        }
        if n < k {
            return Err(Error::TooFewRows {
                what: "cross-validation with that many folds",
                needed: k,
                seen: n,
            });
        }
        let mut folds = vec![Vec::with_capacity(n / k + 1); k];
        for (position, row) in random.permutation(n).into_iter().enumerate() {
            folds[position % k].push(row);
        }
        folds.iter_mut().for_each(|fold| fold.sort_unstable());
        Ok(Self(folds))
    }

    /// The number of folds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always false.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows outside and inside one fold, each ascending.
    ///
    /// # Panics
    /// If there are not that many folds.
    pub fn split(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let outside = self.0.iter().enumerate().filter(|(f, _)| *f != fold).flat_map(|(_, rows)| rows);
        let mut train: Vec<usize> = outside.copied().collect();
        train.sort_unstable();
        (train, self.0[fold].clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_partition_the_rows() {
        let folds = Folds::new(11, 3, &mut Random::new(5, 0)).unwrap();
        let mut all: Vec<usize> = (0..3).flat_map(|f| folds.split(f).1).collect();
        all.sort_unstable();
        assert_eq!(all, (0..11).collect::<Vec<_>>());
        assert_eq!(folds.split(1).0.len() + folds.split(1).1.len(), 11);
        assert!(Folds::new(2, 3, &mut Random::new(0, 0)).is_err());
    }
}
