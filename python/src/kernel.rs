//! Kernel GMML.

use crate::array::{mat_of, mat_out, rows_of, rows_out, vector_of};
use crate::fit::dataset;
use crate::metric::similarity;
use crate::params::Params;
use crate::run::{interruptible, to_python};
use crate::watch::watched;
use mahala::Metric;
use mahala::gmml::FitOptions;
use mahala::kernel::{Kernel, KernelGmml, KernelMap, KernelMetric};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

/// A kernel as the estimators keep it: name, gamma, degree, coef0.
#[derive(FromPyObject)]
pub(crate) struct KernelState(String, f64, u32, f64);

impl KernelState {
    fn kernel(&self) -> PyResult<Kernel> {
        let Self(name, gamma, degree, coef0) = self;
        match name.as_str() {
            "linear" => Ok(Kernel::Linear),
            "rbf" => Ok(Kernel::Rbf { gamma: *gamma }),
            "poly" => Ok(Kernel::Polynomial { degree: *degree, gamma: *gamma, coef0: *coef0 }),
            "precomputed" => Ok(Kernel::Precomputed),
            _ => Err(PyValueError::new_err(format!("there is no kernel '{name}'"))),
        }
    }
}

/// A kernel metric's state: kernel, landmarks or None, scale or None, components, mean.
#[derive(FromPyObject)]
pub(crate) struct KernelMetricState<'py>(
    KernelState,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
);

impl KernelMetricState<'_> {
    /// Map and metric, checked anew.
    pub(crate) fn parts(&self) -> PyResult<(KernelMap, Metric)> {
        let landmarks = self.1.as_ref().map(rows_of).transpose()?;
        let scale = self.2.as_ref().map(vector_of).transpose()?;
        let map = KernelMap::new(self.0.kernel()?, landmarks, scale).map_err(|error| to_python(&error))?;
        let metric = Metric::new(mat_of(&self.3)?, vector_of(&self.4)?, None);
        Ok((map, metric.map_err(|error| to_python(&error))?))
    }
}

/// A kernel for Python: as JSON, its landmarks, what divides columns first.
pub(crate) type KernelParts<'py> =
    (String, Option<Bound<'py, PyArray2<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

pub(crate) fn kernel_parts<'py>(py: Python<'py>, map: &KernelMap) -> KernelParts<'py> {
    let landmarks = map.landmarks().map(|rows| rows_out(py, rows));
    let scale = map.scale().map(|scale| PyArray1::from_slice(py, scale));
    (map.kernel().to_json().to_string(), landmarks, scale)
}

/// Learns from rows (or kernel values) and labels, weighted if weights are given.
#[pyfunction]
#[pyo3(signature = (x, names, codes, weights, kernel, landmarks, params, threads))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub(crate) fn fit_kernel<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    weights: Option<&Bound<'py, PyAny>>,
    kernel: KernelState,
    landmarks: Option<usize>,
    mut params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let data = dataset(x, &names, &codes)?;
    let settings = KernelGmml { gmml: params.gmml()?, kernel: kernel.kernel()?, landmarks };
    let watch = params.take_watch();
    let weights = weights.map(vector_of).transpose()?;
    let (fit, settings) = watched(py, threads, watch, move |progress| {
        let options = FitOptions { weights: weights.as_deref(), groups: None };
        let fit = settings.fit_with(&data, &options, progress)?;
        Ok((fit, settings))
    })?;
    let (t, diagnostics) = (fit.t, fit.diagnostics.to_json());
    let log_eigenvalues = PyArray1::from_slice(py, &fit.diagnostics.log_eigenvalues);
    let model = fit.into_model(&settings, Vec::new());
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, model.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, model.metric.mean()))?;
    let map = model.kernel.as_ref();
    answer.set_item("landmarks", map.and_then(KernelMap::landmarks).map(|rows| rows_out(py, rows)))?;
    let scale = map.and_then(KernelMap::scale);
    answer.set_item("scale", scale.map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("t", t)?;
    answer.set_item("log_eigenvalues", log_eigenvalues)?;
    answer.set_item("params", json!(model.params).to_string())?;
    answer.set_item("diagnostics", diagnostics.to_string())?;
    Ok(answer)
}

/// Rows (or kernel values) in coordinates where the metric is Euclidean; with `cosine`, of norm 1.
#[pyfunction]
#[pyo3(signature = (state, x, threads, cosine=false))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn transform_kernel<'py>(
    py: Python<'py>,
    state: KernelMetricState<'py>,
    x: &Bound<'py, PyAny>,
    threads: Option<usize>,
    cosine: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let ((map, metric), rows) = (state.parts()?, rows_of(x)?);
    let z = interruptible(py, threads, move |_| {
        similarity(cosine).coordinates(KernelMetric::new(map, metric)?.transform(&rows)?)
    })?;
    Ok(rows_out(py, &z))
}

/// A gamma that suits the rows.
#[pyfunction]
pub(crate) fn gamma_for(x: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(Kernel::gamma_for(&rows_of(x)?))
}
