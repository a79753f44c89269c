//! A sliding window over a stream: what comes is added, what leaves is subtracted.

use crate::error::{Error, Result};
use crate::moments::Moments;
use std::collections::VecDeque;

/// The moments of the last blocks of a stream.
///
/// A step costs a merge and a subtraction, whatever the length of the window. A subtraction leaves rounding
/// behind; so that it cannot pile up, the blocks in the window are summed anew each time it has moved by its own
/// length.
///
/// ```
/// use mahala::{Dataset, Labels, Moments, Rows, Window};
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
    /// How many blocks have left since the sum was made anew.
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

    /// Adds a block; the oldest leaves if there are too many.
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
