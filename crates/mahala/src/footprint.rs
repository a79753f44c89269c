//! Peak memory above the input, estimated from the shape of the table before anything is allocated.
//!
//! # Formula
//! ```text
//! bytes = 8·(a·d² + b·n·d + c·p·d + e·n²)
//! ```
//! with n rows, d columns and p pairs; each method states its own a, b, c and e, which count the matrices that
//! are live at the same time, rounded up. An estimate above the limit is refused with an error; a failed
//! allocation would abort the process.
//!
//! The library reads neither the machine nor its environment: the limit is 16 GB unless the calling program sets
//! another one. Memory belongs to a process, and so does the limit.

use crate::data::Rows;
use crate::error::{Error, MemoryRemedy, Result};
use crate::pairs::pair_budget;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// 16 GB.
const DEFAULT: f64 = 16.0;

/// The bits of the limit, in gigabytes.
static LIMIT: AtomicU64 = AtomicU64::new(DEFAULT.to_bits());

/// The most memory, in gigabytes of 10⁹ bytes, that a fit may be estimated to need; 16 unless set.
pub fn memory_limit_gb() -> f64 {
    f64::from_bits(LIMIT.load(Relaxed))
}

/// Sets the limit for every fit of this process that begins afterwards; no number depends on it.
///
/// ```standalone_crate
/// use mahala::{Dataset, Error, Gmml, Labels, Rows};
/// use mahala::footprint::{memory_limit_gb, set_memory_limit_gb};
/// let rows = Rows::new((0..4000).map(f64::from).collect(), 500)?;
/// let data = Dataset::new(rows, Labels::new((0..8).map(|i| ["a", "b"][i % 2])))?;
/// let before = memory_limit_gb();
/// set_memory_limit_gb(1e-6);
/// assert!(matches!(Gmml::default().fit(&data), Err(Error::Memory { limit: 1e-6, .. })));
/// set_memory_limit_gb(before);
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn set_memory_limit_gb(gigabytes: f64) {
    LIMIT.store(gigabytes.to_bits(), Relaxed);
}

/// The shape of a training set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// n
    pub rows: usize,
    /// d
    pub columns: usize,
    /// Classes; 0 if there are no labels.
    pub classes: usize,
    /// Pairs: those given, or as many as the paper draws.
    pub pairs: usize,
}

impl Shape {
    /// The size of labelled rows.
    pub fn labelled(rows: &Rows, classes: usize) -> Self {
        Self { rows: rows.len(), columns: rows.columns(), classes, pairs: pair_budget(classes) }
    }

    /// `a·d² + b·n·d` numbers.
    pub fn matrices(&self, square: f64, table: f64) -> f64 {
        let (n, d) = (self.rows as f64, self.columns as f64);
        square * d * d + table * n * d
    }

    /// `c·p·d` numbers.
    pub fn differences(&self, copies: f64) -> f64 {
        copies * self.pairs as f64 * self.columns as f64
    }

    /// Numbers held while the rows are brought to coordinates of their span, and the metric back: Gram matrix,
    /// eigenvectors and workspace, a block of columns, and the metric twice.
    pub fn span(&self) -> f64 {
        let (n, d) = (self.rows as f64, self.columns as f64);
        8.0 * n * n + (2.0 * n + 512.0) * d
    }

    /// The shape of the table in the coordinates of its span.
    #[must_use]
    pub fn in_span(self) -> Self {
        Self { columns: self.columns.min(self.rows), ..self }
    }
}

/// Refuses `numbers` of 64 bits if they would exceed the process's limit.
pub(crate) fn check(what: &'static str, numbers: f64, d: usize, remedy: MemoryRemedy) -> Result<()> {
    check_against(memory_limit_gb(), what, numbers, d, remedy)
}

pub(crate) fn check_against(
    limit: f64,
    what: &'static str,
    numbers: f64,
    d: usize,
    remedy: MemoryRemedy,
) -> Result<()> {
    let gigabytes = 8e-9 * numbers;
    if gigabytes > limit { Err(Error::Memory { what, gigabytes, d, limit, remedy }) } else { Ok(()) }
}
