//! Vectors with 64-byte alignment.

use std::ops::{Deref, DerefMut};

/// A 64-byte aligned vector: it begins at a cache line, so that no aligned vector load crosses one.
pub struct AlignedVec {
    buffer: Vec<f64>,
    start: usize,
    len: usize,
}

impl AlignedVec {
    const ALIGNMENT: usize = 64;

    /// A vector of `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let buffer = vec![0.0; len + Self::ALIGNMENT / size_of::<f64>()];
        let start = buffer.as_ptr().align_offset(Self::ALIGNMENT);
        Self { buffer, start, len }
    }
}

impl Deref for AlignedVec {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.buffer[self.start..][..self.len]
    }
}

impl DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.buffer[self.start..][..self.len]
    }
}
