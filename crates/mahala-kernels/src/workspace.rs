//! Matrices that are used again within one fit.
//!
//! Fresh memory costs a page fault for every 4 kB: a sixth of a fit at d = 784. The matrices of a fit are
//! all of one size, so each can take the place of one that is no longer needed.

use faer::Mat;

/// Square matrices that are no longer needed, for those that come after.
#[derive(Debug, Default)]
pub struct Workspace(Vec<Mat<f64>>);

impl Workspace {
    /// Gives a matrix up.
    pub fn give(&mut self, matrix: Mat<f64>) {
        self.0.push(matrix);
    }

    /// A square matrix with arbitrary content, to be overwritten.
    pub fn take(&mut self, n: usize) -> Mat<f64> {
        let fitting = self.0.iter().position(|matrix| matrix.nrows() == n && matrix.ncols() == n);
        fitting.map_or_else(|| Mat::zeros(n, n), |at| self.0.swap_remove(at))
    }
}
