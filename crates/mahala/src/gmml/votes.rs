//! Votes on held-out rows: which class is taken for which, and how the plain distance fares on the same folds.

use crate::data::Rows;
use crate::error::Result;
use crate::gmml::select_t::{CrossValidation, FoldView, SolvedFold};
use crate::neighbors::Knn;
use std::collections::BTreeMap;

/// Held-out rows of one class that were voted into one: the codes of both classes, and how many.
pub type Votes = Vec<(u32, u32, usize)>;

impl CrossValidation {
    /// The number of folds.
    pub fn folds(&self) -> usize {
        self.folds.len()
    }

    /// The number of rows that the folds divide.
    pub fn rows(&self) -> usize {
        self.data.len()
    }

    /// The votes of the nearest neighbours at t on the held-out rows of all folds: (class, class voted for, rows), ascending.
    ///
    /// ```
    /// use mahala::{Dataset, Gmml, Labels, Rows};
    /// use mahala::gmml::CrossValidation;
    /// let rows = Rows::new((0..20).map(|i| f64::from(i % 10) + f64::from(i / 10) * 100.0).collect(), 1)?;
    /// let data = Dataset::new(rows, Labels::new((0..20).map(|i| ["a", "b"][i / 10])))?;
    /// let search = CrossValidation::new(&Gmml::default(), &data)?;
    /// assert_eq!(search.votes(0.5)?, [(0, 0, 10), (1, 1, 10)]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A coordinate outside the range of 64-bit numbers.
    pub fn votes(&self, t: f64) -> Result<Votes> {
        let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for fold in &self.folds {
            let view = FoldView::new(fold, &self.data);
            let predicted = view.predicted_at(t, self.k, &mut [Vec::new(), Vec::new()])?;
            for (&i, class) in fold.test.iter().zip(predicted) {
                *counts.entry((self.data.labels().codes()[i], class)).or_default() += 1;
            }
        }
        Ok(counts.into_iter().map(|((truth, voted), rows)| (truth, voted, rows)).collect())
    }

    /// The error of the plain distance on the same folds, in standardised columns if the metric is learned in them.
    ///
    /// # Errors
    /// A coordinate outside the range of 64-bit numbers.
    pub fn plain_error(&self) -> Result<f64> {
        let (mut wrong, mut tested) = (0.0, 0.0);
        for fold in &self.folds {
            let knn = Knn::new(self.plain(fold, &fold.train)?)?;
            let found = knn.search(&self.plain(fold, &fold.test)?, self.k.min(fold.train.len()))?;
            let predicted = found.vote(&self.data.labels().subset(&fold.train));
            for (&i, class) in fold.test.iter().zip(predicted) {
                tested += self.weights[i];
                wrong += if self.data.labels().codes()[i] == class { 0.0 } else { self.weights[i] };
            }
        }
        Ok(wrong / tested)
    }

    fn plain(&self, fold: &SolvedFold, rows: &[usize]) -> Result<Rows> {
        let all = self.data.rows();
        let Some(scale) = fold.solution.scale() else { return Ok(all.subset(rows)) };
        let cells = rows.iter().flat_map(|&i| all.row(i).iter().zip(scale).map(|(x, s)| x / s));
        Rows::new(cells.collect(), all.columns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Labels};
    use crate::gmml::Gmml;
    use crate::progress::silent;

    /// The first column tells the classes apart, the second is noise of forty times its unit.
    fn data() -> Dataset {
        let noise = |i: usize| ((i * i * 7919 + 31 * i) % 101) as f64 / 101.0;
        let cell = |i: usize| {
            if i.is_multiple_of(2) { noise(i) + 1.5 * (i / 2 % 2) as f64 } else { 40.0 * noise(i) }
        };
        let rows = Rows::new((0..120).map(cell).collect(), 2).unwrap();
        Dataset::new(rows, Labels::new((0..60).map(|i| (i % 2).to_string()))).unwrap()
    }

    #[test]
    fn the_votes_are_those_that_the_error_counts() {
        for standardize in [false, true] {
            let search = CrossValidation::new(&Gmml { standardize, ..Gmml::default() }, &data()).unwrap();
            for t in [0.0, 0.4, 1.0] {
                let votes = search.votes(t).unwrap();
                let count = |wrong: bool| -> usize {
                    votes.iter().filter(|v| !wrong || v.0 != v.1).map(|v| v.2).sum()
                };
                assert_eq!((count(false), search.rows()), (60, 60));
                let error = search.errors(&[t], &mut silent).unwrap()[0];
                assert!((error - count(true) as f64 / 60.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_plain_distance_depends_on_standardisation() {
        let plain = |standardize: bool| {
            CrossValidation::new(&Gmml { standardize, ..Gmml::default() }, &data())
                .unwrap()
                .plain_error()
                .unwrap()
        };
        assert!(plain(true) < plain(false), "{} {}", plain(true), plain(false));
    }
}
