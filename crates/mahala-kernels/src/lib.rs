//! The numerical kernels under [mahala](https://docs.rs/mahala): slices and matrix views in, numbers out.
//!
//! They know nothing of labels, pairs or metrics. All `unsafe` of computation is here, in two files with their contracts
//! stated: [`prefetch`] and [`knn::scan`]. Every kernel gives the same bits whatever the number of threads, and on every
//! processor with FMA: work is cut by shape alone, and sums have a fixed order.
//!
//! | module | textbook name |
//! |---|---|
//! | [`eigen`] | symmetric eigenproblem: Householder tridiagonalisation, QR iteration, divide and conquer; one-sided Jacobi |
//! | [`cholesky`] | Cholesky factorisation |
//! | [`blas`] | SYRK on packed panels (`GotoBLAS`), GEMM, GEMV, transposition, reductions |
//! | [`knn`] | exact nearest neighbours over int16-quantised rows |
//! | [`simd`] | function multiversioning for AVX2 and AVX-512 |
//! | [`workspace`], [`aligned`], [`prefetch`], [`parallel`], [`scaling`] | memory, threads, powers of two |
//!
//! This crate is an implementation detail of `mahala`; its interface may change with any version.
#![allow(clippy::missing_errors_doc, reason = "there is one error type, whose variants say when they occur")]
#![allow(clippy::missing_panics_doc, reason = "kernels trust the shapes their callers have checked")]

pub mod aligned;
pub mod blas;
pub mod cholesky;
pub mod eigen;
pub mod error;
pub mod knn;
pub mod order;
pub mod parallel;
pub mod prefetch;
#[cfg(test)]
mod random;
pub mod reduce;
pub mod rows;
pub mod scaling;
pub mod simd;
pub mod view;
pub mod workspace;
