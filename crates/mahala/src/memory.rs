//! Memory used again within one fit.
//!
//! Fresh memory costs a page fault for every 4 kB: a sixth of a fit at d = 784. The matrices of a fit are
//! all of one size, so each can take the place of one that is no longer needed.

use faer::Mat;
use std::ops::{Deref, DerefMut};

/// Square matrices that are no longer needed, for those that come after.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Mat<f64>>);

impl Spare {
    /// Gives a matrix up.
    pub(crate) fn give(&mut self, matrix: Mat<f64>) {
        self.0.push(matrix);
    }

    /// A square matrix with arbitrary content, to be overwritten.
    pub(crate) fn take(&mut self, n: usize) -> Mat<f64> {
        let fitting = self.0.iter().position(|matrix| matrix.nrows() == n && matrix.ncols() == n);
        fitting.map_or_else(|| Mat::zeros(n, n), |at| self.0.swap_remove(at))
    }
}

/// Numbers that begin a line of the cache, so that no register crosses one.
pub(crate) struct Lines {
    room: Vec<f64>,
    start: usize,
    len: usize,
}

impl Lines {
    const BYTES: usize = 64;

    pub(crate) fn zeros(len: usize) -> Self {
        let room = vec![0.0; len + Self::BYTES / size_of::<f64>()];
        let start = room.as_ptr().align_offset(Self::BYTES);
        Self { room, start, len }
    }
}

impl Deref for Lines {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.room[self.start..][..self.len]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.room[self.start..][..self.len]
    }
}
