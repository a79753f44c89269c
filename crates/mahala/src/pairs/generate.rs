//! Constraints from labels: pairs of each kind, nearest triplets, quadruplets and chunklets. The same labels and
//! the same generator give the same constraints.

use crate::data::random::Random;
use crate::data::{Labels, Rows, members_by_class};
use crate::error::{Error, Result};
use crate::pairs::{Chunklets, Pair, Pairs, Quadruplet, Quadruplets, Triplet, Triplets};
use std::ops::Range;

impl Pairs {
    /// `count` similar and `count` dissimilar pairs, uniform with replacement over all pairs of each kind.
    ///
    /// ```
    /// use mahala::Labels;
    /// use mahala::data::Random;
    /// use mahala::pairs::Pairs;
    /// let labels = Labels::new(["a", "a", "b", "b", "b"]);
    /// let pairs = Pairs::of_each_kind(&labels, 10, &mut Random::new(0, 0))?;
    /// assert_eq!(pairs.as_slice().iter().filter(|pair| pair.similar).count(), 10);
    /// assert!(pairs.as_slice().iter().all(|pair| pair.first != pair.second));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn of_each_kind(labels: &Labels, count: usize, random: &mut Random) -> Result<Self> {
        let draw = Draw::new(labels)?;
        let similar: Vec<Pair> = (0..count).map(|_| draw.similar(random)).map(near).collect();
        let dissimilar = (0..count).map(|_| draw.dissimilar(random)).map(|[i, j]| Pair::dissimilar(i, j));
        Ok(Self::trusted(similar.into_iter().chain(dissimilar).collect()))
    }
}

impl Triplets {
    /// Each row with its `targets` nearest rows of its own class and, for each of these, its `impostors` nearest
    /// rows of other classes. Classes smaller than that give what they have.
    ///
    /// ```
    /// use mahala::pairs::{Triplet, Triplets};
    /// use mahala::{Labels, Rows};
    /// let rows = Rows::new(vec![0.0, 1.0, 5.0], 1)?;
    /// let triplets = Triplets::nearest(&rows, &Labels::new(["a", "a", "b"]), 1, 1)?;
    /// let expected = [Triplet { anchor: 0, near: 1, far: 2 }, Triplet { anchor: 1, near: 0, far: 2 }];
    /// assert_eq!(triplets.as_slice(), expected);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No target, no impostor, another number of labels than of rows, one class only, or no class with two rows.
    pub fn nearest(rows: &Rows, labels: &Labels, targets: usize, impostors: usize) -> Result<Self> {
        for (name, value) in [("targets", targets), ("impostors", impostors)] {
            if value == 0 {
                return Err(Error::Parameter { name, value: "0".into(), allowed: "at least 1" });
            }
        }
        check_classes(labels)?;
        let mut near = vec![Vec::new(); rows.len()];
        let mut far = near.clone();
        for pair in Pairs::nearest(rows, labels, targets.max(impostors))?.as_slice() {
            let (list, most) = if pair.similar {
                (&mut near[pair.first], targets)
            } else {
                (&mut far[pair.first], impostors)
            };
            if list.len() < most {
                list.push(pair.second);
            }
        }
        let mut list = Vec::new();
        for (anchor, (near, far)) in near.iter().zip(&far).enumerate() {
            for &near in near {
                list.extend(far.iter().map(|&far| Triplet { anchor, near, far }));
            }
        }
        Self::new(list, rows.len())
    }
}

impl Quadruplets {
    /// `count` quadruplets of weight 1: a similar pair and a dissimilar pair, each uniform over all pairs of its
    /// kind.
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn sampled(labels: &Labels, count: usize, random: &mut Random) -> Result<Self> {
        let draw = Draw::new(labels)?;
        let quadruplet =
            |_| Quadruplet { near: draw.similar(random), far: draw.dissimilar(random), weight: 1.0 };
        Self::new((0..count).map(quadruplet).collect(), labels.len())
    }
}

impl Chunklets {
    /// Every class as one chunklet.
    ///
    /// # Errors
    /// No class with two rows.
    pub fn of_classes(labels: &Labels) -> Result<Self> {
        Self::new(&labels.codes().iter().map(|&code| Some(u64::from(code))).collect::<Vec<_>>())
    }

    /// At most `count` disjoint chunklets of `size` rows, drawn without replacement: in every round each class that
    /// still has `size` rows gives one, the classes in order. So no class is passed over, the last included.
    ///
    /// ```
    /// use mahala::Labels;
    /// use mahala::data::Random;
    /// use mahala::pairs::Chunklets;
    /// let labels = Labels::new(["a", "a", "a", "b", "b", "c"]);
    /// let chunklets = Chunklets::sampled(&labels, 10, 2, &mut Random::new(0, 0))?;
    /// assert_eq!((chunklets.count(), chunklets.members().0.len()), (2, 4));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No chunklet asked for, a size below 2, or no class with that many rows.
    pub fn sampled(labels: &Labels, count: usize, size: usize, random: &mut Random) -> Result<Self> {
        for (name, value, least) in [("chunklets", count, 1), ("chunklet_size", size, 2)] {
            if value < least {
                let allowed = if least == 1 { "at least 1" } else { "at least 2" };
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        let mut left: Vec<Vec<usize>> = members_by_class(labels)
            .into_iter()
            .map(|members| random.permutation(members.len()).into_iter().map(|i| members[i]).collect())
            .collect();
        let (mut codes, mut made) = (vec![None; labels.len()], 0);
        while made < count && left.iter().any(|rows| rows.len() >= size) {
            for rows in left.iter_mut().filter(|rows| rows.len() >= size) {
                if made == count {
                    break;
                }
                rows.split_off(rows.len() - size).into_iter().for_each(|i| codes[i] = Some(made as u64));
                made += 1;
            }
        }
        if made == 0 {
            let reason = format!("no class has the {size} rows of a chunklet");
            return Err(Error::NoSimilarPair { reason });
        }
        Self::new(&codes)
    }
}

fn near([first, second]: [usize; 2]) -> Pair {
    Pair::similar(first, second)
}

/// Two classes with a row, one of them with two.
fn check_classes(labels: &Labels) -> Result<()> {
    let sizes = labels.class_sizes();
    let present: Vec<usize> = (0..sizes.len()).filter(|&code| sizes[code] > 0).collect();
    if present.len() < 2 {
        let class = present.first().map_or("", |&code| &labels.names()[code]).to_owned();
        return Err(Error::OneClass { class, rows: labels.len() });
    }
    if sizes.iter().all(|&size| size < 2) {
        let reason = format!("each of the {} classes has one row", present.len());
        return Err(Error::NoSimilarPair { reason });
    }
    Ok(())
}

/// Uniform draws of pairs of one kind.
struct Draw {
    /// The rows, class after class.
    order: Vec<usize>,
    /// The rows of each class, as a range of `order`.
    classes: Vec<Range<usize>>,
    /// The ordered similar pairs of the classes up to each, and the dissimilar ones.
    similar: Vec<u64>,
    dissimilar: Vec<u64>,
}

impl Draw {
    fn new(labels: &Labels) -> Result<Self> {
        check_classes(labels)?;
        let order = members_by_class(labels).concat();
        let n = order.len();
        let (mut classes, mut similar, mut dissimilar) = (Vec::new(), Vec::new(), Vec::new());
        let (mut start, mut sums) = (0, [0, 0]);
        for size in labels.class_sizes() {
            classes.push(start..start + size);
            start += size;
            sums[0] += size as u64 * size.saturating_sub(1) as u64;
            sums[1] += size as u64 * (n - size) as u64;
            similar.push(sums[0]);
            dissimilar.push(sums[1]);
        }
        Ok(Self { order, classes, similar, dissimilar })
    }

    /// Two different rows of one class.
    fn similar(&self, random: &mut Random) -> [usize; 2] {
        let rows = &self.order[self.class(&self.similar, random)];
        let (i, j) = (random.below(rows.len()), random.below(rows.len() - 1));
        [rows[i], rows[if j < i { j } else { j + 1 }]]
    }

    /// Two rows of different classes.
    fn dissimilar(&self, random: &mut Random) -> [usize; 2] {
        let class = self.class(&self.dissimilar, random);
        let (i, j) = (random.below(class.len()), random.below(self.order.len() - class.len()));
        [self.order[class.start + i], self.order[if j < class.start { j } else { j + class.len() }]]
    }

    /// A class, with probability proportional to its number of pairs.
    fn class(&self, sums: &[u64], random: &mut Random) -> Range<usize> {
        let place = random.below(sums.last().map_or(1, |&all| all as usize)) as u64;
        self.classes[sums.partition_point(|&sum| sum <= place)].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels::from_integers(&[0, 0, 0, 0, 1, 1, 2])
    }

    #[test]
    fn drawn_tuples_have_the_kinds_they_claim() {
        let (labels, mut random) = (labels(), Random::new(3, 0));
        let same = |i: usize, j: usize| labels.codes()[i] == labels.codes()[j];
        let drawn = Quadruplets::sampled(&labels, 200, &mut random).unwrap();
        for q in drawn.as_slice() {
            assert!(same(q.near[0], q.near[1]) && q.near[0] != q.near[1] && !same(q.far[0], q.far[1]));
        }
        // Twelve ordered pairs within the first class, two within the second.
        let first = drawn.as_slice().iter().filter(|q| labels.codes()[q.near[0]] == 0).count();
        assert!((150..195).contains(&first), "{first}");
        assert!(Pairs::of_each_kind(&Labels::from_integers(&[1, 1]), 3, &mut random).is_err());
    }

    #[test]
    fn every_class_gives_chunklets_the_last_included() {
        let labels = Labels::from_integers(&(0..30).map(|i| i / 10).collect::<Vec<_>>());
        let chunklets = Chunklets::sampled(&labels, 6, 3, &mut Random::new(1, 0)).unwrap();
        let (rows, codes) = chunklets.members();
        let mut classes = [0; 3];
        for (&row, &code) in rows.iter().zip(&codes) {
            assert_eq!(row / 10, code as usize % 3, "chunklets take turns");
            classes[row / 10] += 1;
        }
        assert_eq!(classes, [6, 6, 6]);
        assert!(Chunklets::sampled(&labels, 0, 3, &mut Random::new(1, 0)).is_err());
        assert!(Chunklets::sampled(&labels, 1, 1, &mut Random::new(1, 0)).is_err());
        assert!(Chunklets::sampled(&labels, 1, 11, &mut Random::new(1, 0)).is_err());
    }

    #[test]
    fn nearest_triplets_are_targets_times_impostors() {
        let rows = Rows::new(vec![0.0, 1.0, 3.0, 10.0, 2.0, 11.0, 50.0], 1).unwrap();
        let triplets = Triplets::nearest(&rows, &labels(), 2, 3).unwrap();
        // Four rows with two targets, two with one, one with none; three impostors each.
        assert_eq!(triplets.len(), 4 * 2 * 3 + 2 * 3);
        assert!(triplets.as_slice().contains(&Triplet { anchor: 0, near: 1, far: 4 }));
        assert!(Triplets::nearest(&rows, &labels(), 0, 3).is_err());
    }
}
