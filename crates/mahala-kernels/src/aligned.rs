//! Vectors aligned to cache lines.

use std::ops::{Deref, DerefMut};

/// Numbers that begin a line of the cache, so that no register crosses one.
pub struct AlignedVec {
    room: Vec<f64>,
    start: usize,
    len: usize,
}

impl AlignedVec {
    const BYTES: usize = 64;

    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        let room = vec![0.0; len + Self::BYTES / size_of::<f64>()];
        let start = room.as_ptr().align_offset(Self::BYTES);
        Self { room, start, len }
    }
}

impl Deref for AlignedVec {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.room[self.start..][..self.len]
    }
}

impl DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.room[self.start..][..self.len]
    }
}
