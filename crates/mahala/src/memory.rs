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

/// Asks for the line of the cache that holds a number, ahead of its use. Nothing happens if there is no such number.
#[inline(always)]
#[allow(unsafe_code, reason = "one instruction, which reads nothing")]
#[allow(clippy::inline_always, reason = "it is a single instruction")]
pub(crate) fn prefetch<T>(numbers: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this kind has the instruction; it reads nothing, and the address is one of a number.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
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
