//! PLDA: fitted, and pairs scored.

use crate::array::{labels_of, mat_out, rows_of};
use crate::metric::State;
use crate::run::{interruptible, to_python};
use mahala::Dataset;
use mahala_baselines::{Plda, PldaModel};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Estimates the covariances within and between classes.
#[pyfunction]
#[pyo3(signature = (x, names, codes, rank, shrinkage, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_plda<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    rank: Option<usize>,
    shrinkage: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let data = Dataset::new(rows_of(x)?, labels_of(&names, &codes)?).map_err(|error| to_python(&error))?;
    let plda = Plda { rank, shrinkage };
    let model = interruptible(py, threads, move |_| plda.fit(&data))?;
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, model.within.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, model.within.mean()))?;
    answer.set_item("scale", model.within.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("between", PyArray1::from_slice(py, &model.between))?;
    Ok(answer)
}

/// The logarithm of the likelihood ratio of each pair: row i of `first` with row i of `second`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn score_plda<'py>(
    py: Python<'py>,
    state: State<'py>,
    between: PyReadonlyArray1<'py, f64>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let model = PldaModel::new(state.metric()?, between.as_array().to_vec());
    let (first, second) = (rows_of(first)?, rows_of(second)?);
    let scores = interruptible(py, threads, move |_| model.log_likelihood_ratios(&first, &second))?;
    Ok(PyArray1::from_vec(py, scores))
}
