//! The Cholesky factorisation `A = LLᵀ`.

use crate::error::{Error, Result};
use crate::parallel::parallelism;
use crate::workspace::Workspace;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltParams, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::{Mat, MatRef, Par, Spec};

/// The lower Cholesky factor of a symmetric matrix, of which only the lower triangle is read.
pub fn cholesky(matrix: MatRef<'_, f64>, what: &'static str, workspace: &mut Workspace) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    // Below this order a second thread saves no time.
    let par = if d < 900 { Par::Seq } else { parallelism(d) };
    let params = Spec::<LltParams, f64>::default();
    let mut factor = workspace.take(d);
    factor.copy_from_triangular_lower(matrix);
    let mut buffer = MemBuffer::new(cholesky_in_place_scratch::<f64>(d, par, params));
    cholesky_in_place(factor.as_mut(), LltRegularization::default(), par, MemStack::new(&mut buffer), params)
        .map_err(|error| {
            let faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index } = error;
            Error::NotPositiveDefinite { what, column: index }
        })?;
    if let Some(column) = (0..d).find(|&i| !(factor[(i, i)] > 0.0 && factor[(i, i)].is_finite())) {
        return Err(Error::NotPositiveDefinite { what, column });
    }
    // The factorisation uses the other triangle as scratch.
    for j in 1..d {
        factor.as_mut().col_mut(j).subrows_mut(0, j).fill(0.0);
    }
    Ok(factor)
}
