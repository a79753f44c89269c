//! The accumulator of `S` and `D`, wherever the pairs come from: labelled rows, moments, lists of pairs, two passes over a
//! file. Sums are added to, merged, and finished as a [`Scatter`].

use crate::error::{Error, Result};
use crate::scatter::{PairCount, Scatter};
use faer::{Mat, MatMut, MatRef};
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::blas::transpose::mirror_lower;
use mahala_kernels::view::{column, column_mut};

/// `S` and `D` so far.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    pub(crate) s: PairSum,
    pub(crate) d: PairSum,
}

/// The sum over the pairs of one kind so far.
#[derive(Debug, Clone)]
pub(crate) struct PairSum {
    /// The weighted outer products of differences: the lower triangle of their sum.
    pub(crate) matrix: Mat<f64>,
    pub(crate) count: PairCount,
}

/// Rows whose outer products are added to a matrix by blocked SYRK; those that wait are added when this is dropped.
pub(crate) struct OuterProducts<'a> {
    target: MatMut<'a, f64>,
    block: Block,
    waiting: usize,
}

impl Totals {
    /// Sums of nothing.
    pub(crate) fn new(columns: usize) -> Self {
        Self { s: PairSum::new(columns), d: PairSum::new(columns) }
    }

    /// Adds the sums of other pairs.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.s.merge(&other.s);
        self.d.merge(&other.d);
    }

    /// Sets the numbers of similar and of dissimilar pairs, where they are known without counting.
    pub(crate) fn with_counts(mut self, [similar, dissimilar]: [PairCount; 2]) -> Self {
        (self.s.count, self.d.count) = (similar, dissimilar);
        self
    }

    /// `S` and `D`; `samples` is that of [`Scatter::samples`], never the number of pairs.
    ///
    /// # Errors
    /// No weight on similar, or on dissimilar pairs.
    pub(crate) fn finish(self, units: Vec<i32>, samples: f64) -> Result<Scatter> {
        let [PairSum { matrix: mut s, count: similar }, PairSum { matrix: mut d, count: dissimilar }] =
            [self.s, self.d];
        if similar.weight <= 0.0 {
            let reason = format!("{} pairs are marked similar, with weight 0 together", similar.pairs);
            return Err(Error::NoSimilarPair { reason });
        }
        if dissimilar.weight <= 0.0 {
            let reason = format!("{} pairs are marked dissimilar, with weight 0 together", dissimilar.pairs);
            return Err(Error::NoDissimilarPair { reason });
        }
        mirror_lower(&mut s);
        mirror_lower(&mut d);
        Ok(Scatter { s, d, units, similar, dissimilar, samples })
    }
}

impl PairSum {
    /// The sum of no pair.
    pub(crate) fn new(columns: usize) -> Self {
        Self { matrix: Mat::zeros(columns, columns), count: PairCount::default() }
    }

    fn merge(&mut self, other: &Self) {
        self.add(1.0, other.matrix.as_ref());
        self.count.pairs = self.count.pairs.saturating_add(other.count.pairs);
        self.count.weight += other.count.weight;
    }

    /// Adds `factor·matrix`, of which only the lower triangle is read.
    pub(crate) fn add(&mut self, factor: f64, matrix: MatRef<'_, f64>) {
        if factor == 0.0 {
            return;
        }
        for j in 0..matrix.ncols() {
            let to = &mut column_mut(self.matrix.as_mut(), j)[j..];
            to.iter_mut().zip(&column(matrix, j)[j..]).for_each(|(to, x)| *to += factor * x);
        }
    }

    /// Divides the lower triangle.
    pub(crate) fn divide(&mut self, by: f64) {
        for j in 0..self.matrix.ncols() {
            column_mut(self.matrix.as_mut(), j)[j..].iter_mut().for_each(|x| *x /= by);
        }
    }

    /// Takes rows, about so many, whose outer products are added.
    pub(crate) fn outer_products(&mut self, rows: usize) -> OuterProducts<'_> {
        let block = Block::new(self.matrix.ncols(), rows);
        OuterProducts { target: self.matrix.as_mut(), block, waiting: 0 }
    }
}

impl OuterProducts<'_> {
    /// Adds the outer product of a row with itself.
    pub(crate) fn push(&mut self, row: impl Iterator<Item = f64>) {
        self.block.push(row);
        self.waiting += 1;
        if self.waiting == BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.block.flush_into(self.target.as_mut());
        self.waiting = 0;
    }
}

impl Drop for OuterProducts<'_> {
    fn drop(&mut self) {
        if self.waiting > 0 {
            self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that sums are exact in any order.
    fn rows(n: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..n).map(|i| [(i % 7) as f64, (i % 5) as f64 - 2.0])
    }

    #[test]
    fn rows_of_several_blocks_are_added_once_each() {
        for n in [1, BLOCK - 1, BLOCK, 2 * BLOCK, 2 * BLOCK + 3] {
            let mut sum = PairSum::new(2);
            let mut products = sum.outer_products(n);
            rows(n).for_each(|row| products.push(row.into_iter()));
            drop(products);
            let plain: f64 = rows(n).map(|[x, y]| x * y).sum();
            assert_eq!(sum.matrix[(1, 0)], plain, "{n} rows");
        }
    }

    #[test]
    fn merged_sums_are_those_of_all_pairs() {
        let of = |n: usize, pairs: u64| {
            let mut totals = Totals::new(2);
            let mut products = totals.s.outer_products(n);
            rows(n).for_each(|row| products.push(row.into_iter()));
            drop(products);
            totals.d.add(2.0, totals.s.matrix.as_ref());
            let count = PairCount { pairs, weight: 0.5 * pairs as f64 };
            totals.with_counts([count, count])
        };
        let mut both = of(3, 4);
        both.merge(&of(9, u64::MAX));
        assert_eq!(both.s.count.pairs, u64::MAX);
        let scatter = both.finish(vec![0; 2], 1.0).unwrap();
        let plain: f64 = rows(3).chain(rows(9)).map(|[x, y]| x * y).sum();
        // The upper triangle is there, too.
        assert_eq!((scatter.s()[(0, 1)], scatter.d()[(0, 1)]), (plain, 2.0 * plain));
    }

    #[test]
    fn pairs_without_weight_are_refused() {
        let refused = |counts| Totals::new(1).with_counts(counts).finish(vec![0], 1.0).unwrap_err();
        let (some, none) = (PairCount { pairs: 1, weight: 1.0 }, PairCount { pairs: 2, weight: 0.0 });
        assert!(matches!(refused([none, some]), Error::NoSimilarPair { .. }));
        assert!(matches!(refused([some, none]), Error::NoDissimilarPair { .. }));
    }
}
