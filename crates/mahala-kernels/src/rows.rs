//! A row-major matrix view: the input of the neighbour search.

/// A view of rows of equal length, contiguous in memory.
#[derive(Debug, Clone, Copy)]
pub struct RowsRef<'a> {
    values: &'a [f64],
    columns: usize,
}

impl<'a> RowsRef<'a> {
    /// A view of `values.len() / columns` rows.
    ///
    /// # Panics
    /// If the values are not whole rows.
    pub fn new(values: &'a [f64], columns: usize) -> Self {
        assert!(columns > 0 && values.len().is_multiple_of(columns), "values must be whole rows");
        Self { values, columns }
    }

    /// All values, row after row.
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// The number of columns.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// The number of rows.
    pub fn len(self) -> usize {
        self.values.len() / self.columns
    }

    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.values.is_empty()
    }

    /// One row.
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.values[i * self.columns..][..self.columns]
    }
}
