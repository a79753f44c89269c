//! Random partitions of the rows, for cross-validation and repeated halves.

use crate::dataset::Labels;
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

    /// `k` folds in which every class has nearly its share.
    ///
    /// # Errors
    /// As [`Folds::new`].
    pub fn stratified(labels: &Labels, k: usize, random: &mut Random) -> Result<Self> {
        let mut folds = Self::new(labels.len(), k, random)?;
        // Rows in random order, class after class, are dealt out in turn.
        let mut order: Vec<usize> = folds.0.iter().flatten().copied().collect();
        let shuffled = random.permutation(order.len());
        order = shuffled.into_iter().map(|i| order[i]).collect();
        order.sort_by_key(|&row| labels.codes()[row]);
        folds.0.iter_mut().for_each(Vec::clear);
        order.into_iter().enumerate().for_each(|(i, row)| folds.0[i % k].push(row));
        folds.0.iter_mut().for_each(|fold| fold.sort_unstable());
        Ok(folds)
    }

    /// At most `k` folds that keep every group whole: the largest group goes where there is most room.
    ///
    /// # Errors
    /// Fewer than two groups or folds.
    pub fn by_group(groups: &Labels, k: usize) -> Result<Self> {
        let mut members = vec![Vec::new(); groups.class_count()];
        groups.codes().iter().enumerate().for_each(|(row, &group)| members[group as usize].push(row));
        members.retain(|rows| !rows.is_empty());
        if members.len() < 2 || k < 2 {
            let (seen, what) = (members.len().min(k), "cross-validation by group");
            return Err(Error::TooFewGroups { what, seen });
        }
        members.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
        let mut folds = vec![Vec::new(); k.min(members.len())];
        for rows in members {
            if let Some(emptiest) = folds.iter_mut().min_by_key(|fold| fold.len()) {
                emptiest.extend(rows);
            }
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

    #[test]
    fn stratified_folds_have_their_share_of_every_class() {
        let labels = Labels::new((0..31).map(|i| if i < 20 { "a" } else { "b" }));
        let folds = Folds::stratified(&labels, 5, &mut Random::new(1, 0)).unwrap();
        for fold in 0..5 {
            let test = folds.split(fold).1;
            let of_a = test.iter().filter(|&&row| row < 20).count();
            assert!(of_a == 4 && (2..=3).contains(&(test.len() - of_a)), "{test:?}");
        }
    }

    #[test]
    fn a_group_is_never_torn() {
        let groups = Labels::new((0..40).map(|i| (i / 7).to_string()));
        let folds = Folds::by_group(&groups, 4).unwrap();
        for fold in 0..folds.len() {
            let (train, test) = folds.split(fold);
            assert!(test.iter().all(|&t| train.iter().all(|&r| groups.codes()[r] != groups.codes()[t])));
        }
        assert!(Folds::by_group(&Labels::new(["x", "x"]), 5).is_err());
    }
}
