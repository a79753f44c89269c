//! The training rows that a model keeps, ready to be searched.

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::local::LocalIndex;
use crate::model::Model;
use crate::neighbors::Knn;
use crate::neighbors::found::Neighbors;

/// An index of the rows that a model keeps, made once for many searches.
#[derive(Debug)]
pub struct ModelIndex(Searched);

#[derive(Debug)]
enum Searched {
    Global(Knn),
    Local(LocalIndex),
}

impl Model {
    /// An index of the training rows that are kept, under local metrics if there are some.
    ///
    /// ```
    /// use mahala::{Dataset, Labels, Metric, Model, Rows};
    /// let mut model = Model::new(Metric::euclidean(1));
    /// model.references = Some((Rows::new(vec![0.0, 2.0, 7.0], 1)?, Labels::new(["a", "a", "b"])));
    /// let index = model.index()?;
    /// let queries = model.transform(&Rows::new(vec![6.0], 1)?)?;
    /// assert_eq!(index.search(&queries, 2)?.indices(0), [2, 1]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No training rows are kept, or a coordinate outside the range of 64-bit numbers.
    pub fn index(&self) -> Result<ModelIndex> {
        let Some((rows, _)) = &self.references else {
            return Err(Error::Empty { what: "the list of training rows in the model" });
        };
        Ok(ModelIndex(match &self.local {
            Some(maps) => Searched::Local(maps.index(rows)?),
            None => Searched::Global(Knn::new(rows.clone())?),
        }))
    }

    /// The `k` nearest training rows of rows in the metric's coordinates, under local metrics if there are some. For more
    /// than one search, keep [`Model::index`].
    ///
    /// # Errors
    /// No training rows are kept, queries with other columns, or `k` that is 0 or above the number of rows.
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        self.index()?.search(queries, k)
    }
}

impl ModelIndex {
    /// The `k` nearest training rows of rows in the metric's coordinates.
    ///
    /// # Errors
    /// Queries with other columns, or `k` that is 0 or above the number of rows.
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        match &self.0 {
            Searched::Global(knn) => knn.search(queries, k),
            Searched::Local(index) => index.search(queries, k),
        }
    }
}
