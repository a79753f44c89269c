//! Householder tridiagonalisation.

pub mod reflectors;
pub mod unblocked;
