//! Cross-validation folds: random partitions, whole groups, or given splits.

use crate::data::Labels;
use crate::data::members_by_class;
use crate::data::random::Random;
use crate::error::{Error, Result};

/// Splits of `0..n` into training and held-out rows: the folds of a partition, or splits that were given.
///
/// ```
/// use mahala::data::{Folds, Random};
/// let folds = Folds::new(10, 3, &mut Random::new(0, 0))?;
/// let (train, test) = folds.split(0);
/// assert_eq!((train.len(), test.len()), (6, 4));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    held_out: Vec<Vec<usize>>,
    /// The training rows of each split; of a partition, all rows outside the fold.
    train: Option<Vec<Vec<usize>>>,
}

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
        Ok(Self::partition(folds))
    }

    fn partition(held_out: Vec<Vec<usize>>) -> Self {
        Self { held_out, train: None }
    }

    /// `k` folds in which every class has nearly its share.
    ///
    /// # Errors
    /// Fewer than two folds, or fewer rows than folds.
    pub fn stratified(labels: &Labels, k: usize, random: &mut Random) -> Result<Self> {
        let mut folds = Self::new(labels.len(), k, random)?;
        // Rows in random order, class after class, are assigned to the folds round-robin.
        let mut order: Vec<usize> = folds.held_out.iter().flatten().copied().collect();
        let shuffled = random.permutation(order.len());
        order = shuffled.into_iter().map(|i| order[i]).collect();
        order.sort_by_key(|&row| labels.codes()[row]);
        folds.held_out.iter_mut().for_each(Vec::clear);
        order.into_iter().enumerate().for_each(|(i, row)| folds.held_out[i % k].push(row));
        folds.held_out.iter_mut().for_each(|fold| fold.sort_unstable());
        Ok(folds)
    }

    /// At most `k` folds that keep every group whole: groups in descending order of size, each assigned to the
    /// smallest fold.
    ///
    /// # Errors
    /// Fewer than two groups or folds.
    pub fn by_group(groups: &Labels, k: usize) -> Result<Self> {
        let mut members = members_by_class(groups);
        members.sort_by_key(|rows| std::cmp::Reverse(rows.len()));
        Self::of_whole_groups(members, k)
    }

    /// At most `k` folds that keep every group whole: groups in random order, each assigned to the smallest fold.
    ///
    /// # Errors
    /// Fewer than two groups or folds.
    pub fn by_shuffled_group(groups: &Labels, k: usize, random: &mut Random) -> Result<Self> {
        let members = members_by_class(groups);
        let order = random.permutation(members.len());
        Self::of_whole_groups(order.into_iter().map(|group| members[group].clone()).collect(), k)
    }

    fn of_whole_groups(mut members: Vec<Vec<usize>>, k: usize) -> Result<Self> {
        members.retain(|rows| !rows.is_empty());
        if members.len() < 2 || k < 2 {
            let (seen, what) = (members.len().min(k), "a division that keeps groups whole");
            return Err(Error::TooFewGroups { what, seen });
        }
        let mut folds = vec![Vec::new(); k.min(members.len())];
        for rows in members {
            if let Some(emptiest) = folds.iter_mut().min_by_key(|fold| fold.len()) {
                emptiest.extend(rows);
            }
        }
        folds.iter_mut().for_each(|fold| fold.sort_unstable());
        Ok(Self::partition(folds))
    }

    /// Given splits, each as training rows and held-out rows of `n`. A row may be in neither, and may be held out
    /// by several splits.
    ///
    /// ```
    /// use mahala::data::Folds;
    /// let folds = Folds::given(4, vec![(vec![0, 1], vec![2]), (vec![2, 0], vec![3])])?;
    /// assert_eq!(folds.split(1), (vec![0, 2], vec![3]));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No split, a split with an empty part, a row that does not exist, or a row that one split names twice.
    pub fn given(n: usize, splits: Vec<(Vec<usize>, Vec<usize>)>) -> Result<Self> {
        if splits.is_empty() {
            return Err(refused("no split at all".to_owned()));
        }
        let (mut train, mut held_out) = (Vec::new(), Vec::new());
        for (number, (mut outside, mut inside)) in splits.into_iter().enumerate() {
            outside.sort_unstable();
            inside.sort_unstable();
            check_split(n, &outside, &inside).map_err(|fault| refused(format!("split {number} {fault}")))?;
            train.push(outside);
            held_out.push(inside);
        }
        // The training rows of a partition need not be stored, and their sums can be shared between the folds.
        let mut held: Vec<usize> = held_out.iter().flatten().copied().collect();
        held.sort_unstable();
        let complete = train.iter().zip(&held_out).all(|(train, test)| train.len() + test.len() == n);
        let partition = complete && held.iter().copied().eq(0..n);
        Ok(Self { held_out, train: (!partition).then_some(train) })
    }

    /// The splits restricted to a subset of the rows (ascending), renumbered by their position in it. Splits that
    /// lose their training or their held-out rows are dropped.
    pub(crate) fn among(&self, rows: &[usize]) -> Result<Self> {
        let place = |part: &[usize]| part.iter().filter_map(|row| rows.binary_search(row).ok()).collect();
        let splits = (0..self.len()).map(|fold| self.split(fold));
        let splits: Vec<(Vec<usize>, Vec<usize>)> =
            splits.map(|(train, test)| (place(&train), place(&test))).collect();
        Self::given(rows.len(), splits.into_iter().filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect())
    }

    /// Whether every row is held out once, and trained on by all other folds.
    pub(crate) fn is_partition(&self) -> bool {
        self.train.is_none()
    }

    /// The number of rows, as far as the splits name them.
    pub(crate) fn rows(&self) -> usize {
        let named = self.held_out.iter().chain(self.train.iter().flatten()).filter_map(|part| part.last());
        named.max().map_or(0, |last| last + 1)
    }

    /// The folds for model selection: by group where there are groups, so that no row is judged by rows of its
    /// own group; else as `ungrouped` draws them. Every selection uses these folds.
    ///
    /// # Errors
    /// Fewer than two groups or folds, or any error of `ungrouped`.
    pub fn choosing(
        groups: Option<&Labels>,
        k: usize,
        ungrouped: impl FnOnce() -> Result<Self>,
    ) -> Result<Self> {
        groups.map_or_else(ungrouped, |groups| Self::by_group(groups, k))
    }

    /// The number of folds.
    pub fn len(&self) -> usize {
        self.held_out.len()
    }

    /// Always false.
    pub fn is_empty(&self) -> bool {
        self.held_out.is_empty()
    }

    /// The rows to train on and the rows held out by one fold, each ascending.
    ///
    /// # Panics
    /// If there are not that many folds.
    pub fn split(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let held_out = self.held_out[fold].clone();
        if let Some(train) = &self.train {
            return (train[fold].clone(), held_out);
        }
        let outside = self.held_out.iter().enumerate().filter(|(f, _)| *f != fold).flat_map(|(_, rows)| rows);
        let mut train: Vec<usize> = outside.copied().collect();
        train.sort_unstable();
        (train, held_out)
    }
}

/// The defect of a split of `n` rows, if there is one; both parts ascending.
fn check_split(n: usize, train: &[usize], held_out: &[usize]) -> std::result::Result<(), String> {
    if train.is_empty() || held_out.is_empty() {
        return Err(format!("has {} training and {} held-out rows", train.len(), held_out.len()));
    }
    let mut both: Vec<usize> = train.iter().chain(held_out).copied().collect();
    both.sort_unstable();
    if let Some(last) = both.last().filter(|&&last| last >= n) {
        return Err(format!("names row index {last} of {n} rows"));
    }
    match both.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("names row index {} twice", pair[0])),
        None => Ok(()),
    }
}

fn refused(value: String) -> Error {
    let allowed = "splits of distinct rows, none of them in both parts, with rows in either part";
    Error::Parameter { name: "splits", value, allowed }
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
    fn a_group_is_never_split() {
        let groups = Labels::new((0..40).map(|i| (i / 7).to_string()));
        let folds = Folds::by_group(&groups, 4).unwrap();
        for fold in 0..folds.len() {
            let (train, test) = folds.split(fold);
            assert!(test.iter().all(|&t| train.iter().all(|&r| groups.codes()[r] != groups.codes()[t])));
        }
        assert!(Folds::by_group(&Labels::new(["x", "x"]), 5).is_err());
        let halves = |seed| Folds::by_shuffled_group(&groups, 2, &mut Random::new(seed, 0)).unwrap();
        for seed in 0..5 {
            let (train, test) = halves(seed).split(0);
            assert_eq!(train.len() + test.len(), 40);
            assert!(test.iter().all(|&t| train.iter().all(|&r| groups.codes()[r] != groups.codes()[t])));
        }
        assert_ne!(halves(0), halves(1));
    }

    #[test]
    fn given_splits_stay_as_they_are_and_a_partition_is_known_as_one() {
        let halves = Folds::given(4, vec![(vec![1, 3], vec![2, 0]), (vec![0, 2], vec![3, 1])]).unwrap();
        assert!(halves.is_partition() && halves.rows() == 4);
        assert_eq!(halves.split(0), (vec![1, 3], vec![0, 2]));
        let forward =
            Folds::given(6, vec![(vec![0, 1], vec![2, 3]), (vec![0, 1, 2, 3], vec![4, 5])]).unwrap();
        assert!(!forward.is_partition());
        assert_eq!(forward.split(0), (vec![0, 1], vec![2, 3]));
        // Of rows 1, 2 and 5 the first split keeps 1 and 2, the second also 5: places 0, 1 and 2.
        let some = forward.among(&[1, 2, 5]).unwrap();
        assert_eq!((some.split(0), some.split(1)), ((vec![0], vec![1]), (vec![0, 1], vec![2])));
    }

    #[test]
    fn splits_that_cannot_be_used_are_refused() {
        for (splits, fault) in [
            (vec![], "no split at all"),
            (vec![(vec![0, 1], vec![])], "split 0 has 2 training and 0 held-out rows"),
            (vec![(vec![0], vec![1]), (vec![0, 1], vec![1])], "split 1 names row index 1 twice"),
            (vec![(vec![0], vec![9])], "split 0 names row index 9 of 3 rows"),
        ] {
            let error = Folds::given(3, splits).unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }
}
