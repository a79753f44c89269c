//! Matrix products: SYRK, GEMM, GEMV, transposition, and reductions in a fixed order of additions.

pub mod gemv;
pub mod syrk;
pub mod transpose;

use crate::blas::transpose::mirror_lower;
use crate::parallel::parallelism;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, Mat, MatRef, Par};

/// `V·diag(w)·Vᵀ`, exactly symmetric, for weights of any sign.
pub fn weighted_gram(v: MatRef<'_, f64>, weights: &[f64]) -> Mat<f64> {
    let d = v.nrows();
    let scaled = Mat::from_fn(d, v.ncols(), |i, j| v[(i, j)] * weights[j]);
    let mut product = Mat::zeros(d, d);
    matmul(
        product.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        scaled.as_ref(),
        BlockStructure::Rectangular,
        v.transpose(),
        BlockStructure::Rectangular,
        1.0,
        parallelism(d),
    );
    mirror_lower(&mut product);
    product
}

/// `A·B` (GEMM), decomposed by its shape alone: faer's operator `*` splits by the number of threads, which changes bits.
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    // A matrix-vector product is too small for a second thread.
    let par = if b.ncols() == 1 { Par::Seq } else { parallelism(a.nrows()) };
    faer::linalg::matmul::matmul(product.as_mut(), Accum::Replace, a, b, 1.0, par);
    product
}
