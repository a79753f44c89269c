//! Rows from other arrays: single precision, and `ndarray` (feature `ndarray`).

use crate::data::Rows;
use crate::error::Result;

impl Rows {
    /// Takes row-major values in single precision; each becomes the double of the same value.
    ///
    /// ```
    /// use mahala::Rows;
    /// let rows = Rows::from_f32(&[1.0, 2.5, 3.0, 4.0], 2)?;
    /// assert_eq!(rows.row(0), [1.0, 2.5]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A NaN or an infinity, no column, or a number of values that is no multiple of `columns`.
    pub fn from_f32(values: &[f32], columns: usize) -> Result<Self> {
        Self::new(values.iter().copied().map(f64::from).collect(), columns)
    }
}

/// Copies a two-dimensional array of any layout.
///
/// ```
/// # #[cfg(feature = "ndarray")] {
/// use mahala::Rows;
/// let array = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(Rows::try_from(array.t())?.row(0), [1.0, 3.0]);
/// # }
/// # Ok::<(), mahala::Error>(())
/// ```
#[cfg(feature = "ndarray")]
impl<T: Copy + Into<f64>> TryFrom<ndarray::ArrayView2<'_, T>> for Rows {
    type Error = crate::Error;

    fn try_from(array: ndarray::ArrayView2<'_, T>) -> Result<Self> {
        Self::new(array.iter().map(|&x| x.into()).collect(), array.ncols())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_is_checked_like_double() {
        assert!(Rows::from_f32(&[1.0, f32::NAN], 2).is_err());
        assert!(Rows::from_f32(&[1.0, 2.0, 3.0], 2).is_err());
        assert_eq!(Rows::from_f32(&[0.1], 1).unwrap().values(), [f64::from(0.1f32)]);
    }
}
