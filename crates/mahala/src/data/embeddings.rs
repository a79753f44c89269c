//! Rows of embeddings in double, single or half precision, read where they lie.

use crate::data::{Rows, check_row_count};
use crate::error::{Error, Result};
use faer::traits::RealField;
use std::ops::{Mul, Range, SubAssign};
use std::sync::Arc;

/// Cells that are borrowed or shared without a copy.
pub type SharedCells<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// Row-major cells of one precision. Half precision is given by its bits (IEEE binary16).
#[derive(Clone)]
#[non_exhaustive]
pub enum Cells {
    /// 64 bits.
    Double(SharedCells<f64>),
    /// 32 bits.
    Single(SharedCells<f32>),
    /// 16 bits.
    Half(SharedCells<u16>),
}

/// A table of finite numbers, one embedding a row; a clone copies no cell.
///
/// Rows are converted some at a time where they are used: half precision to single, single to double. The table itself is
/// never converted as a whole.
///
/// ```
/// use mahala::data::Embeddings;
/// let table = Embeddings::single(vec![1.0, 0.5, 0.25, 2.0], 2)?;
/// assert_eq!((table.len(), table.columns(), table.row(1)), (2, 2, vec![0.25, 2.0]));
/// let half = Embeddings::half(vec![0x3c00, 0xc000], 1)?; // 1 and −2
/// assert_eq!(half.row(1), [-2.0]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Clone)]
pub struct Embeddings {
    cells: Cells,
    columns: usize,
}

impl Embeddings {
    /// Takes row-major cells of any precision.
    ///
    /// # Errors
    /// A NaN or an infinity, no row, no column, or a number of cells that is no multiple of `columns`.
    pub fn new(cells: Cells, columns: usize) -> Result<Self> {
        let count = cells.count();
        if columns == 0 {
            return Err(Error::Empty { what: "the list of columns" });
        }
        if count == 0 {
            return Err(Error::Empty { what: "the table of embeddings" });
        }
        if !count.is_multiple_of(columns) {
            let expected = count.next_multiple_of(columns);
            return Err(Error::Length { what: "cells of a table", seen: count, expected });
        }
        check_row_count(count / columns)?;
        match cells.first_not_finite() {
            Some((at, value)) => Err(Error::NotFinite { row: at / columns, column: at % columns, value }),
            None => Ok(Self { cells, columns }),
        }
    }

    /// Takes row-major cells of 64 bits.
    ///
    /// # Errors
    /// A NaN or an infinity, no row, no column, or a number of cells that is no multiple of `columns`.
    pub fn double(cells: Vec<f64>, columns: usize) -> Result<Self> {
        Self::new(Cells::Double(Arc::new(cells)), columns)
    }

    /// Takes row-major cells of 32 bits.
    ///
    /// # Errors
    /// A NaN or an infinity, no row, no column, or a number of cells that is no multiple of `columns`.
    pub fn single(cells: Vec<f32>, columns: usize) -> Result<Self> {
        Self::new(Cells::Single(Arc::new(cells)), columns)
    }

    /// Takes the bits of row-major cells of half precision.
    ///
    /// # Errors
    /// A NaN or an infinity, no row, no column, or a number of cells that is no multiple of `columns`.
    pub fn half(cells: Vec<u16>, columns: usize) -> Result<Self> {
        Self::new(Cells::Half(Arc::new(cells)), columns)
    }

    /// Rows as embeddings: in single precision where no cell loses a digit by it, as those of most files, else in double.
    ///
    /// ```
    /// use mahala::Rows;
    /// use mahala::data::Embeddings;
    /// assert!(!Embeddings::from_rows(&Rows::new(vec![0.5, 3.0], 1)?)?.is_double());
    /// assert!(Embeddings::from_rows(&Rows::new(vec![0.1, 3.0], 1)?)?.is_double());
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No row.
    pub fn from_rows(rows: &Rows) -> Result<Self> {
        if rows.values().iter().all(|&x| f64::from(x as f32) == x) {
            return Self::single(rows.values().iter().map(|&x| x as f32).collect(), rows.columns());
        }
        if rows.is_empty() {
            Err(Error::Empty { what: "the table of embeddings" })
        } else {
            Ok(Self::from(rows))
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.count() / self.columns
    }

    /// Always false: there is at least one row.
    pub fn is_empty(&self) -> bool {
        self.cells.count() == 0
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The cells as they lie.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Whether the cells have 64 bits; what is computed from others has 32.
    pub fn is_double(&self) -> bool {
        matches!(self.cells, Cells::Double(_))
    }

    /// One row in double precision.
    ///
    /// # Panics
    /// If `i` is not below `len()`.
    pub fn row(&self, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.columns];
        f64::read(self, i, &mut row);
        row
    }

    /// One cell in double precision.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn cell(&self, i: usize, j: usize) -> f64 {
        assert!(j < self.columns, "column {j} of {}", self.columns);
        let at = i * self.columns + j;
        match &self.cells {
            Cells::Double(cells) => (**cells).as_ref()[at],
            Cells::Single(cells) => f64::from((**cells).as_ref()[at]),
            Cells::Half(cells) => f64::from(single_of_half((**cells).as_ref()[at])),
        }
    }

    /// The chosen rows, in the order given and in the precision of the table.
    ///
    /// # Errors
    /// No row is chosen.
    ///
    /// # Panics
    /// If an index is not below `len()`.
    pub fn subset(&self, rows: &[usize]) -> Result<Self> {
        fn chosen<T: Copy + Send + Sync + 'static>(cells: &[T], rows: &[usize], d: usize) -> SharedCells<T> {
            let mut subset = Vec::with_capacity(rows.len() * d);
            rows.iter().for_each(|&i| subset.extend_from_slice(&cells[i * d..][..d]));
            Arc::new(subset)
        }
        if rows.is_empty() {
            return Err(Error::Empty { what: "the list of chosen rows" });
        }
        let cells = match &self.cells {
            Cells::Double(cells) => Cells::Double(chosen((**cells).as_ref(), rows, self.columns)),
            Cells::Single(cells) => Cells::Single(chosen((**cells).as_ref(), rows, self.columns)),
            Cells::Half(cells) => Cells::Half(chosen((**cells).as_ref(), rows, self.columns)),
        };
        Ok(Self { cells, columns: self.columns })
    }

    /// Two tables must have the same columns.
    pub(crate) fn check_columns(&self, other: &Self, what: &'static str) -> Result<()> {
        if self.columns == other.columns {
            return Ok(());
        }
        Err(Error::Length { what, seen: other.columns, expected: self.columns })
    }
}

impl From<&Rows> for Embeddings {
    fn from(rows: &Rows) -> Self {
        struct Held(Rows);
        impl AsRef<[f64]> for Held {
            fn as_ref(&self) -> &[f64] {
                self.0.values()
            }
        }
        Self { cells: Cells::Double(Arc::new(Held(rows.clone()))), columns: rows.columns() }
    }
}

/// Tables are equal if their cells are, in the same precision.
impl PartialEq for Embeddings {
    fn eq(&self, other: &Self) -> bool {
        let cells = match (&self.cells, &other.cells) {
            (Cells::Double(a), Cells::Double(b)) => (**a).as_ref() == (**b).as_ref(),
            (Cells::Single(a), Cells::Single(b)) => (**a).as_ref() == (**b).as_ref(),
            (Cells::Half(a), Cells::Half(b)) => (**a).as_ref() == (**b).as_ref(),
            _ => false,
        };
        cells && self.columns == other.columns
    }
}

impl std::fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = match self.cells {
            Cells::Double(_) => 64,
            Cells::Single(_) => 32,
            Cells::Half(_) => 16,
        };
        f.debug_struct("Embeddings")
            .field("rows", &self.len())
            .field("columns", &self.columns)
            .field("bits", &bits)
            .finish()
    }
}

impl Cells {
    fn count(&self) -> usize {
        match self {
            Self::Double(cells) => (**cells).as_ref().len(),
            Self::Single(cells) => (**cells).as_ref().len(),
            Self::Half(cells) => (**cells).as_ref().len(),
        }
    }

    fn first_not_finite(&self) -> Option<(usize, f64)> {
        match self {
            Self::Double(cells) => first(cells, |v: &f64| v.is_finite(), |v| v),
            Self::Single(cells) => first(cells, |v: &f32| v.is_finite(), f64::from),
            Self::Half(cells) => {
                first(cells, |v: &u16| v & 0x7c00 != 0x7c00, |v| f64::from(single_of_half(v)))
            }
        }
    }
}

fn first<T: Copy>(
    cells: &SharedCells<T>,
    finite: fn(&T) -> bool,
    value: fn(T) -> f64,
) -> Option<(usize, f64)> {
    let cells = (**cells).as_ref();
    // A chunk at a time without a branch inside: most tables are finite.
    let chunk = cells.chunks(1024).position(|chunk| !chunk.iter().fold(true, |all, v| all & finite(v)))?;
    let at = (chunk * 1024..cells.len()).find(|&at| !finite(&cells[at]))?;
    Some((at, value(cells[at])))
}

/// The value of half-precision bits; exact.
pub(crate) fn single_of_half(bits: u16) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    // The exponent's bias is 15 in half and 127 in single precision: scaling by 2^112 also normalises subnormal numbers.
    let magnitude = f32::from_bits(rest << 13) * f32::from_bits(0x7780_0000);
    let magnitude = if rest >= 0x7c00 { f32::from_bits((rest << 13) | 0x7f80_0000) } else { magnitude };
    f32::from_bits(magnitude.to_bits() | sign)
}

/// A number type in which embeddings are computed with: single, or double precision.
pub(crate) trait Real:
    RealField + Copy + Default + PartialOrd + Send + Sync + Into<f64> + Mul<Output = Self> + SubAssign
{
    /// Reads whole rows from row `first` on.
    fn read(table: &Embeddings, first: usize, to: &mut [Self]);

    /// The cells where they lie, if they have this type.
    fn in_place(table: &Embeddings) -> Option<&[Self]>;

    /// Rounds.
    fn of(x: f64) -> Self;

    /// The total order of IEEE 754.
    fn order(&self, other: &Self) -> std::cmp::Ordering;
}

impl Real for f64 {
    fn read(table: &Embeddings, first: usize, to: &mut [Self]) {
        let range = cell_range(table, first, to.len());
        match &table.cells {
            Cells::Double(cells) => to.copy_from_slice(&(**cells).as_ref()[range]),
            Cells::Single(cells) => convert(&(**cells).as_ref()[range], to, Self::from),
            Cells::Half(cells) => convert(&(**cells).as_ref()[range], to, |v| Self::from(single_of_half(v))),
        }
    }

    fn in_place(table: &Embeddings) -> Option<&[Self]> {
        if let Cells::Double(cells) = &table.cells { Some((**cells).as_ref()) } else { None }
    }

    fn of(x: f64) -> Self {
        x
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.total_cmp(other)
    }
}

impl Real for f32 {
    fn read(table: &Embeddings, first: usize, to: &mut [Self]) {
        let range = cell_range(table, first, to.len());
        match &table.cells {
            Cells::Double(cells) => convert(&(**cells).as_ref()[range], to, |v| v as Self),
            Cells::Single(cells) => to.copy_from_slice(&(**cells).as_ref()[range]),
            Cells::Half(cells) => convert(&(**cells).as_ref()[range], to, single_of_half),
        }
    }

    fn in_place(table: &Embeddings) -> Option<&[Self]> {
        if let Cells::Single(cells) = &table.cells { Some((**cells).as_ref()) } else { None }
    }

    fn of(x: f64) -> Self {
        x as Self
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.total_cmp(other)
    }
}

fn cell_range(table: &Embeddings, first: usize, count: usize) -> Range<usize> {
    first * table.columns..first * table.columns + count
}

fn convert<T: Copy, U>(from: &[T], to: &mut [U], value: impl Fn(T) -> U) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = value(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_read_exactly() {
        // IEEE 754 binary16: one, the largest, the smallest normal, the smallest subnormal, a third, minus zero.
        let wanted = [
            (0x3c00, 1.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x8000, -0.0),
        ];
        for (bits, value) in wanted {
            assert_eq!(single_of_half(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
        }
        assert!(single_of_half(0x7c00).is_infinite() && single_of_half(0xfe00).is_nan());
    }

    #[test]
    fn a_cell_that_is_not_finite_is_located_in_every_precision() {
        let place = |error: Result<Embeddings>| match error {
            Err(Error::NotFinite { row, column, .. }) => (row, column),
            other => panic!("{other:?}"),
        };
        assert_eq!(place(Embeddings::double(vec![0.0, 1.0, f64::NAN, 0.0], 2)), (1, 0));
        assert_eq!(place(Embeddings::single(vec![0.0, 1.0, 2.0, f32::INFINITY], 2)), (1, 1));
        assert_eq!(place(Embeddings::half(vec![0, 0x7c00], 2)), (0, 1));
        assert!(Embeddings::single(vec![], 2).is_err() && Embeddings::single(vec![1.0; 3], 2).is_err());
    }

    #[test]
    fn rows_are_read_where_they_lie() {
        let cells = Arc::new(vec![1f32, 2.0, 3.0, 4.0]);
        let table = Embeddings::new(Cells::Single(cells.clone()), 2).unwrap();
        assert_eq!(f32::in_place(&table).unwrap().as_ptr(), cells.as_ptr());
        assert_eq!(table.subset(&[1, 0]).unwrap().row(0), [3.0, 4.0]);
        let rows = Rows::new(vec![1.0, 2.0], 1).unwrap();
        assert_eq!(f64::in_place(&Embeddings::from(&rows)).unwrap().as_ptr(), rows.values().as_ptr());
    }
}
