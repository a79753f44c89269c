//! Householder tridiagonalisation: blocked (level-3 BLAS) for large matrices, unblocked for those that stay in cache.

pub mod blocked;
pub mod unblocked;
