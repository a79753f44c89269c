//! Sliding window over a stream: new blocks are added, old ones subtracted.

use crate::error::{Error, Result};
use crate::scatter::moments::Moments;
use std::collections::VecDeque;

/// The moments of the last blocks of a stream.
///
/// A step costs a merge and a subtraction, whatever the length of the window. A subtraction leaves rounding
/// errors; to bound them, the blocks in the window are summed anew each time it has moved by its own length.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::scatter::{Moments, Window};
/// let block = |x: f64| Moments::of(&Dataset::new(Rows::new(vec![x], 1)?, Labels::new(["u"]))?);
/// let mut window = Window::new(1, 2)?;
/// for x in [1.0, 5.0, 7.0] {
///     window.push(block(x)?)?;
/// }
/// assert_eq!(window.moments().class(0).mean(), [6.0]); // of 5 and 7
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Window {
    length: usize,
    blocks: VecDeque<Moments>,
    sum: Moments,
    /// The number of blocks removed since the sum was computed anew.
    left: usize,
}

impl Window {
    /// A window over the last `length` blocks of rows with so many columns.
    ///
    /// # Errors
    /// No column, or no block.
    pub fn new(columns: usize, length: usize) -> Result<Self> {
        if length == 0 {
            let (value, allowed) = ("0".to_owned(), "at least 1");
            return Err(Error::Parameter { name: "window", value, allowed });
        }
        Ok(Self { length, blocks: VecDeque::new(), sum: Moments::new(columns)?, left: 0 })
    }

    /// Adds a block; removes the oldest if there are too many.
    ///
    /// # Errors
    /// Another number of columns; then nothing has changed.
    pub fn push(&mut self, block: Moments) -> Result<()> {
        self.sum.merge(&block)?;
        self.blocks.push_back(block);
        if self.blocks.len() <= self.length {
            return Ok(());
        }
        if let Some(oldest) = self.blocks.pop_front() {
            self.sum.subtract(&oldest)?;
            self.left += 1;
        }
        if self.left == self.length {
            self.left = 0;
            self.sum = Moments::new(self.sum.columns())?;
            self.blocks.iter().try_for_each(|block| self.sum.merge(block))?;
        }
        Ok(())
    }

    /// The state for [`Window::restored`]: length, blocks (the oldest first), their moments, and the number of
    /// blocks removed since those were summed anew.
    pub fn state(&self) -> (usize, impl Iterator<Item = &Moments>, &Moments, usize) {
        (self.length, self.blocks.iter(), &self.sum, self.left)
    }

    /// The window whose [`Window::state`] this is.
    ///
    /// ```
    /// use mahala::scatter::{Moments, Window};
    /// let window = Window::new(2, 3)?;
    /// let (length, blocks, sum, left) = window.state();
    /// let again = Window::restored(length, blocks.cloned().collect(), sum.clone(), left)?;
    /// assert!(again.is_empty());
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// No block at a time, more blocks than the window is long, or blocks with other columns.
    pub fn restored(length: usize, blocks: Vec<Moments>, sum: Moments, left: usize) -> Result<Self> {
        let window = Self::new(sum.columns(), length)?;
        if blocks.len() > length || left >= length {
            let reason = format!("{} blocks, {left} gone, in a window of {length}", blocks.len());
            return Err(Error::Moments { reason });
        }
        if let Some(other) = blocks.iter().find(|block| block.columns() != sum.columns()) {
            let (what, seen, expected) = ("columns of a block", other.columns(), sum.columns());
            return Err(Error::Length { what, seen, expected });
        }
        Ok(Self { blocks: blocks.into(), sum, left, ..window })
    }

    /// The moments of the blocks in the window.
    pub fn moments(&self) -> &Moments {
        &self.sum
    }

    /// How many blocks are in the window.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether no block was added yet.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}
