//! Exact k nearest neighbours and the majority vote.

pub(crate) mod found;
pub(crate) mod k_means;

pub use found::Neighbors;

use crate::data::{Dataset, Rows};
use crate::error::{Error, Result};
use mahala_kernels::knn::search::Index;

/// An index of rows for exact nearest-neighbour search.
///
/// ```
/// use mahala::{Knn, Labels, Rows};
/// let knn = Knn::new(Rows::new(vec![0.0, 1.0, 10.0, 11.0], 1)?)?;
/// let found = knn.search(&Rows::new(vec![9.0], 1)?, 2)?;
/// assert_eq!(found.indices(0), [2, 3]);
/// assert_eq!(found.distances(0), [1.0, 2.0]);
/// let labels = Labels::new(["left", "left", "right", "right"]);
/// assert_eq!(found.vote(&labels), [1]); // "right"
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Knn {
    rows: Rows,
    index: Index,
}

impl Knn {
    /// Builds the search index.
    ///
    /// # Errors
    /// No row.
    pub fn new(rows: Rows) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::Empty { what: "the table of rows to search" });
        }
        let index = Index::new(rows.view());
        Ok(Self { rows, index })
    }

    /// The rows searched among.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The rows back.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    /// The `k` nearest rows of each query.
    ///
    /// # Errors
    /// `k` is 0 or above the number of rows, or queries with other columns.
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        if queries.columns() != self.rows.columns() {
            let (seen, expected) = (queries.columns(), self.rows.columns());
            return Err(Error::Length { what: "columns of the queries", seen, expected });
        }
        if k == 0 || k > self.rows.len() {
            let allowed = "at least 1 and at most the number of rows searched";
            return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
        }
        let found = self.index.search(self.rows.view(), queries.view(), k);
        Ok(Neighbors::new(k, found.into_iter()))
    }

    /// The `k` nearest other rows of each row.
    ///
    /// # Errors
    /// `k` is 0, or there are not that many others.
    pub fn search_others(&self, k: usize) -> Result<Neighbors> {
        if k == 0 || k >= self.rows.len() {
            let allowed = "at least 1 and less than the number of rows searched";
            return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
        }
        let found = self.search(&self.rows, k + 1)?;
        let others = (0..found.len()).flat_map(|i| {
            let (indices, distances) = (found.indices(i), found.distances(i));
            // Among more than k duplicates the row itself may not be listed; then the last goes.
            let itself = indices.iter().position(|&index| index == i).unwrap_or(k);
            (0..=k).filter(move |&place| place != itself).map(move |place| (distances[place], indices[place]))
        });
        Ok(Neighbors::new(k, others))
    }
}

/// How many of the test rows the `k` nearest training rows put into a wrong class.
///
/// # Errors
/// Columns that do not agree, or `k` above the number of training rows.
pub fn wrong_votes(train: &Dataset, test: &Dataset, k: usize) -> Result<usize> {
    Ok(misclassified(train, test, k)?.into_iter().filter(|&wrong| wrong).count())
}

/// Of each test row, whether the `k` nearest training rows put it into a wrong class.
///
/// # Errors
/// Columns that do not agree, or `k` above the number of training rows.
pub fn misclassified(train: &Dataset, test: &Dataset, k: usize) -> Result<Vec<bool>> {
    let found = Knn::new(train.rows().clone())?.search(test.rows(), k)?;
    let predicted = found.vote(train.labels());
    // Compared by name: the two tables may number their classes differently.
    let (theirs, ours) = (train.labels().names(), test.labels().names());
    let truth = test.labels().codes();
    Ok(predicted.iter().zip(truth).map(|(&p, &t)| theirs[p as usize] != ours[t as usize]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_must_fit() {
        let knn = Knn::new(Rows::new(vec![0.0, 1.0], 1).unwrap()).unwrap();
        let query = Rows::new(vec![0.0], 1).unwrap();
        assert!(knn.search(&query, 0).is_err() && knn.search(&query, 3).is_err());
        assert!(knn.search(&Rows::new(vec![0.0, 1.0], 2).unwrap(), 1).is_err());
        assert!(knn.search_others(0).is_err() && knn.search_others(2).is_err());
    }

    #[test]
    fn no_row_is_its_own_neighbour_even_among_duplicates() {
        let knn = Knn::new(Rows::new(vec![1.0, 1.0, 1.0, 1.0, 5.0], 1).unwrap()).unwrap();
        let found = knn.search_others(2).unwrap();
        assert!((0..5).all(|i| !found.indices(i).contains(&i) && found.indices(i).len() == 2));
        assert_eq!((found.distances(0), found.distances(4)), (&[0.0, 0.0][..], &[4.0, 4.0][..]));
    }
}
