//! Functions of symmetric positive definite matrices.

use crate::array::{mat_of, mat_out};
use crate::run::{interruptible, to_python};
use mahala::geometry::Spd;
use numpy::PyArray2;
use pyo3::prelude::*;

/// `A ♯_t B`, the point at t on the geodesic from A to B.
#[pyfunction]
#[pyo3(signature = (a, b, t=0.5))]
pub(crate) fn geometric_mean<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    t: f64,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (a, b) = (spd_of(a, "A")?, spd_of(b, "B")?);
    let mean = interruptible(py, None, move |_| mahala::geometry::geometric_mean(&a, &b, t))?;
    Ok(mat_out(py, mean.as_mat()))
}

/// `δ_R(A, B) = ‖log(B^{-1/2} A B^{-1/2})‖_F`
#[pyfunction]
pub(crate) fn riemannian_distance(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (x, y) = (spd_of(a, "A")?, spd_of(b, "B")?);
    interruptible(a.py(), None, move |_| mahala::geometry::riemannian_distance(&x, &y))
}

/// `tr(AB⁻¹) − log det(AB⁻¹) − d`
#[pyfunction]
pub(crate) fn logdet_divergence(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (x, y) = (spd_of(a, "A")?, spd_of(b, "B")?);
    interruptible(a.py(), None, move |_| mahala::geometry::logdet_divergence(&x, &y))
}

/// `tr(AB⁻¹) + tr(A⁻¹B) − 2d`
#[pyfunction]
pub(crate) fn symmetrized_logdet_divergence(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<f64> {
    let (x, y) = (spd_of(a, "A")?, spd_of(b, "B")?);
    interruptible(a.py(), None, move |_| mahala::geometry::symmetrized_logdet_divergence(&x, &y))
}

fn spd_of(array: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Spd> {
    Spd::named(mat_of(array)?, name).map_err(|error| to_python(&error))
}
