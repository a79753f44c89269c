//! The symmetric eigenproblem with vectors, ours beside faer's, on the same matrix.

use crate::time::{Times, generated, with_threads};
use anyhow::{Result, anyhow};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par, Spec};
use mahala::geometry::Spd;
use mahala::scatter::{Moments, Scatter};
use serde_json::{Value, json};

/// The scatter of generated rows, solved alternately, as often as asked; on one thread.
pub(crate) fn run(d: usize, repeats: usize) -> Result<Value> {
    let moments = Moments::of(&generated(2 * d + 10, d, 2)?)?;
    let matrix = Spd::new(Scatter::all_pairs(&moments)?.s().to_owned())?;
    let (mut ours, mut theirs) = (Times::default(), Times::default());
    with_threads(1, || -> Result<()> {
        for _ in 0..=repeats {
            // The condition number is the ratio of two eigenvalues; vectors are computed with it.
            ours.add(|| matrix.condition())?;
            theirs.add(|| faers(matrix.as_mat()))?;
        }
        Ok(())
    })??;
    Ok(json!({ "what": "eigen", "d": d, "mahala": ours.to_json(), "faer": theirs.to_json() }))
}

fn faers(matrix: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    let (mut values, mut vectors) = (Diag::<f64>::zeros(d), Mat::zeros(d, d));
    let scratch = self_adjoint_evd_scratch::<f64>(d, ComputeEigenvectors::Yes, Par::Seq, Spec::default());
    let mut buffer = MemBuffer::new(scratch);
    self_adjoint_evd(
        matrix,
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut buffer),
        Spec::default(),
    )
    .map_err(|error| anyhow!("{error:?}"))?;
    Ok(vectors)
}
