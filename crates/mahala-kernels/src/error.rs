//! Errors of the factorisations.

/// The kernels' result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a factorisation has no result. Indices count from 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Error {
    /// An entry is NaN or infinite.
    #[error("the entry at row index {row}, column index {column} is {value}; every entry must be finite")]
    NotFinite {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        column: usize,
        /// The entry's value.
        value: f64,
    },
    /// A matrix computed from the caller's has an entry that is NaN or infinite.
    #[error("{what} left the range of 64-bit numbers")]
    OutOfRange {
        /// Which matrix.
        what: &'static str,
    },
    /// A pivot of a Cholesky factorisation is not positive.
    #[error("{what} is not positive definite: pivot {column} is not positive")]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// The column of the pivot.
        column: usize,
    },
    /// An iteration did not converge.
    #[error("the eigenvalues of {what} did not converge")]
    NoConvergence {
        /// Which matrix.
        what: &'static str,
    },
}
