//! Householder tridiagonalisation: blocked (level-3) for large matrices, unblocked for those that stay in cache.

pub mod blocked;
pub mod unblocked;
