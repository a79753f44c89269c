//! Tuples of rows: triplets, quadruplets and chunklets, by row index.

use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::pairs::{Pair, Pairs};
use std::collections::BTreeMap;

/// A row that is nearer to one row than to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triplet {
    /// Index of the anchor.
    pub anchor: usize,
    /// Index of the row that should be near the anchor.
    pub near: usize,
    /// Index of the row that should be far from the anchor.
    pub far: usize,
}

/// Triplets: `d(anchor, near) < d(anchor, far)`.
///
/// ```
/// use mahala::pairs::{Pair, Triplet, Triplets};
/// let triplets = Triplets::new(vec![Triplet { anchor: 0, near: 1, far: 2 }], 3)?;
/// assert_eq!(triplets.to_pairs().as_slice(), [Pair::similar(0, 1), Pair::dissimilar(0, 2)]);
/// assert!(Triplets::new(vec![Triplet { anchor: 0, near: 1, far: 3 }], 3).is_err());
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triplets {
    list: Vec<Triplet>,
    rows: usize,
}

impl Triplets {
    /// Triplets as given, over a table of `rows` rows.
    ///
    /// # Errors
    /// An index that names no row.
    pub fn new(list: Vec<Triplet>, rows: usize) -> Result<Self> {
        let ends = list.iter().map(|t| [t.anchor, t.near, t.far]);
        Ok(Self { rows: check_tuples("triplet", ends, rows)?, list })
    }

    /// Checks that every triplet names a row of a table with this many rows.
    ///
    /// # Errors
    /// A triplet that names no row.
    pub fn check(&self, rows: usize) -> Result<()> {
        if self.rows <= rows {
            return Ok(());
        }
        check_tuples("triplet", self.list.iter().map(|t| [t.anchor, t.near, t.far]), rows).map(|_| ())
    }

    /// The triplets, in order.
    pub fn as_slice(&self) -> &[Triplet] {
        &self.list
    }

    /// How many triplets there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Each triplet as two pairs: anchor and near row are similar, anchor and far row dissimilar.
    pub fn to_pairs(&self) -> Pairs {
        let two = |t: &Triplet| [Pair::similar(t.anchor, t.near), Pair::dissimilar(t.anchor, t.far)];
        Pairs::trusted(self.list.iter().flat_map(two).collect())
    }
}

/// Two rows that are nearer to each other than two others are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadruplet {
    /// Indices of the two rows that should be near each other.
    pub near: [usize; 2],
    /// Indices of the two rows that should be farther apart.
    pub far: [usize; 2],
    /// How much the comparison counts; 1 for a plain one.
    pub weight: f64,
}

/// Quadruplets: `d(near[0], near[1]) < d(far[0], far[1])`.
///
/// ```
/// use mahala::pairs::{Quadruplet, Quadruplets};
/// let list = vec![Quadruplet { near: [0, 1], far: [2, 3], weight: 1.0 }];
/// assert_eq!(Quadruplets::new(list.clone(), 4)?.len(), 1);
/// assert!(Quadruplets::new(list, 3).is_err());
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Quadruplets {
    list: Vec<Quadruplet>,
    rows: usize,
}

impl Quadruplets {
    /// Quadruplets as given, over a table of `rows` rows.
    ///
    /// # Errors
    /// An index that names no row, or a weight that is negative or not finite.
    pub fn new(list: Vec<Quadruplet>, rows: usize) -> Result<Self> {
        if let Some(index) = list.iter().position(|q| !(0.0..=f64::MAX).contains(&q.weight)) {
            return Err(Error::Weight { index, value: list[index].weight });
        }
        Ok(Self { rows: check_tuples("quadruplet", list.iter().map(ends), rows)?, list })
    }

    /// Checks that every quadruplet names rows of a table with this many rows.
    ///
    /// # Errors
    /// A quadruplet that names no row.
    pub fn check(&self, rows: usize) -> Result<()> {
        if self.rows <= rows {
            return Ok(());
        }
        check_tuples("quadruplet", self.list.iter().map(ends), rows).map(|_| ())
    }

    /// The quadruplets, in order.
    pub fn as_slice(&self) -> &[Quadruplet] {
        &self.list
    }

    /// How many quadruplets there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Each quadruplet as two pairs of its weight: the near one is similar, the far one dissimilar.
    pub fn to_pairs(&self) -> Pairs {
        let two = |q: &Quadruplet| {
            let [near, far] = [Pair::similar(q.near[0], q.near[1]), Pair::dissimilar(q.far[0], q.far[1])];
            [near.weighing(q.weight), far.weighing(q.weight)]
        };
        Pairs::trusted(self.list.iter().flat_map(two).collect())
    }
}

/// Chunklets: sets of rows known to be of one class, whichever it is. A row is in one chunklet or in none.
///
/// ```
/// use mahala::pairs::Chunklets;
/// let chunklets = Chunklets::new(&[Some(7), None, Some(7), Some(3), Some(3)])?;
/// assert_eq!((chunklets.count(), chunklets.codes()[0], chunklets.codes()[1]), (2, Some(1), None));
/// assert!(Chunklets::new(&[Some(0), Some(1)]).is_err()); // no chunklet of two rows
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunklets {
    codes: Vec<Option<u32>>,
    count: usize,
}

impl Chunklets {
    /// The chunklet of each row, by any number, or None for a row in no chunklet. Chunklets are numbered anew, in
    /// the order of their numbers.
    ///
    /// # Errors
    /// No chunklet of two rows.
    pub fn new(chunklets: &[Option<u64>]) -> Result<Self> {
        let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
        chunklets.iter().flatten().for_each(|&id| *sizes.entry(id).or_default() += 1);
        if sizes.values().all(|&size| size < 2) {
            let reason = format!("none of the {} chunklets has two rows", sizes.len());
            return Err(Error::NoSimilarPair { reason });
        }
        let codes: BTreeMap<u64, u32> = sizes.keys().copied().zip(0..).collect();
        let code = |id: &Option<u64>| id.and_then(|id| codes.get(&id).copied());
        Ok(Self { codes: chunklets.iter().map(code).collect(), count: sizes.len() })
    }

    /// The chunklet of each row, or None.
    pub fn codes(&self) -> &[Option<u32>] {
        &self.codes
    }

    /// The rows that are in a chunklet, each chunklet a class: rows of two chunklets count as dissimilar.
    ///
    /// # Errors
    /// Another number of rows than the chunklets are of.
    pub fn as_classes(&self, rows: &Rows) -> Result<Dataset> {
        self.check(rows.len())?;
        let (members, codes) = self.members();
        Dataset::new(rows.subset(&members), Labels::new(codes.iter().map(u32::to_string)))
    }

    /// How many chunklets there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Refuses a table with another number of rows.
    ///
    /// # Errors
    /// Another number of rows than of entries here.
    pub fn check(&self, rows: usize) -> Result<()> {
        let seen = self.codes.len();
        if seen == rows {
            Ok(())
        } else {
            Err(Error::Length { what: "chunklets of rows", seen, expected: rows })
        }
    }

    /// The rows that are in a chunklet, in order, and the chunklet of each.
    pub fn members(&self) -> (Vec<usize>, Vec<u32>) {
        self.codes.iter().enumerate().filter_map(|(i, code)| code.map(|code| (i, code))).unzip()
    }
}

fn ends(q: &Quadruplet) -> [usize; 4] {
    [q.near[0], q.near[1], q.far[0], q.far[1]]
}

/// Refuses the first tuple that names no row; returns the least number of rows that all of them need.
fn check_tuples<const N: usize>(
    kind: &'static str,
    tuples: impl Iterator<Item = [usize; N]>,
    rows: usize,
) -> Result<usize> {
    let mut least = 0;
    for (index, tuple) in tuples.enumerate() {
        for row in tuple {
            if row >= rows {
                return Err(Error::TupleOutOfRange { kind, index, row, rows });
            }
            least = least.max(row + 1);
        }
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_that_names_no_row_is_refused_with_its_place() {
        let list = vec![Triplet { anchor: 0, near: 1, far: 2 }, Triplet { anchor: 0, near: 9, far: 2 }];
        let error = Triplets::new(list, 3).unwrap_err().to_string();
        assert_eq!(error, "triplet 1 names row index 9, but there are only 3 rows (0 to 2)");
        let nan = Quadruplet { near: [0, 1], far: [1, 2], weight: f64::NAN };
        assert!(matches!(Quadruplets::new(vec![nan], 3), Err(Error::Weight { index: 0, .. })));
    }

    #[test]
    fn tuples_made_for_a_longer_table_are_refused_by_a_shorter_one() {
        let triplets = Triplets::new(vec![Triplet { anchor: 0, near: 1, far: 4 }], 5).unwrap();
        assert!(triplets.check(5).is_ok() && triplets.check(4).is_err());
        let list = vec![Quadruplet { near: [0, 1], far: [2, 3], weight: 0.5 }];
        let quadruplets = Quadruplets::new(list, 9).unwrap();
        assert!(quadruplets.check(4).is_ok() && quadruplets.check(3).is_err());
        assert!(quadruplets.to_pairs().as_slice().iter().all(|pair| pair.weight == 0.5));
        let chunklets = Chunklets::new(&[Some(0), Some(0)]).unwrap();
        assert!(chunklets.check(2).is_ok() && chunklets.check(3).is_err());
    }
}
