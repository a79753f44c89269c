//! The model file, the same as the command's.

use crate::array::{labels_of, mat_out, rows_of, rows_out};
use crate::kernel::{KernelMetricState, kernel_parts};
use crate::metric::State;
use crate::run::{interruptible, to_python};
use mahala::Model;
use mahala::metric::Calibration;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::path::PathBuf;

/// What goes into the file beside the metric.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Content<'py> {
    log_eigenvalues: Vec<f64>,
    feature_names: Vec<String>,
    threshold: Option<f64>,
    calibration: Option<String>,
    params: String,
    diagnostics: String,
    column_means: Option<Vec<f64>>,
    references: Option<References<'py>>,
    /// Rows with a number each, in place of classes.
    targets: Option<Targets<'py>>,
    /// Whether these rows are in the metric's coordinates already.
    references_transformed: bool,
}

/// Rows that vote, with names and codes of their classes.
#[derive(FromPyObject)]
pub(crate) struct References<'py>(Bound<'py, PyAny>, Vec<String>, PyReadonlyArray1<'py, u32>);

/// Rows whose numbers are averaged.
#[derive(FromPyObject)]
pub(crate) struct Targets<'py>(Bound<'py, PyAny>, Vec<f64>);

/// Writes a model file.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn save_model<'py>(
    py: Python<'py>,
    path: PathBuf,
    state: State<'py>,
    content: Content<'py>,
) -> PyResult<()> {
    save(py, path, Model::new(state.metric()?), content)
}

/// Writes a model file of a kernel metric.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn save_kernel_model<'py>(
    py: Python<'py>,
    path: PathBuf,
    state: KernelMetricState<'py>,
    content: Content<'py>,
) -> PyResult<()> {
    let (kernel, metric) = state.parts()?;
    save(py, path, Model { kernel: Some(kernel), ..Model::new(metric) }, content)
}

fn save(py: Python<'_>, path: PathBuf, model: Model, content: Content<'_>) -> PyResult<()> {
    let references = match content.references {
        Some(References(x, names, codes)) => Some((rows_of(&x)?, labels_of(&names, &codes)?)),
        None => None,
    };
    let targets = match content.targets {
        Some(Targets(x, numbers)) => Some((rows_of(&x)?, numbers)),
        None => None,
    };
    let calibration = match &content.calibration {
        Some(text) => {
            let value = json_of("calibration", text)?;
            Some(Calibration::from_json(&value).map_err(|error| to_python(&error))?)
        }
        None => None,
    };
    let mut model = Model {
        calibration,
        log_eigenvalues: content.log_eigenvalues,
        feature_names: content.feature_names,
        column_means: content.column_means,
        threshold: content.threshold,
        params: json_of("params", &content.params)?,
        diagnostics: json_of("diagnostics", &content.diagnostics)?,
        ..model
    };
    let transformed = content.references_transformed;
    interruptible(py, None, move |_| {
        if let Some((rows, numbers)) = targets {
            model.keep_training_means(&rows);
            model.targets = Some((model.transform(&rows)?, numbers));
        }
        if let Some((rows, labels)) = references {
            if transformed {
                model.references = Some((rows, labels));
                return model.save(path);
            }
            model.keep_training_means(&rows);
            model.references = Some((model.transform(&rows)?, labels));
        }
        model.save(path)
    })
}

/// Reads the bytes of a model file.
#[pyfunction]
pub(crate) fn load_model<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let model = Model::from_bytes(bytes).map_err(|error| to_python(&error))?;
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, model.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, model.metric.mean()))?;
    answer.set_item("scale", model.metric.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("weight_outside", model.metric.weight_outside())?;
    answer.set_item("kernel", model.kernel.as_ref().map(|map| kernel_parts(py, map)))?;
    answer.set_item("log_eigenvalues", PyArray1::from_slice(py, &model.log_eigenvalues))?;
    answer.set_item("feature_names", model.feature_names)?;
    answer.set_item("column_means", model.column_means)?;
    answer.set_item("threshold", model.threshold)?;
    let calibration = model.calibration.as_ref().map(|calibration| calibration.to_json().to_string());
    answer.set_item("calibration", calibration)?;
    let local = model.local.as_ref().map(|local| {
        let maps: Vec<_> = local.maps().iter().map(|map| mat_out(py, map.as_ref())).collect();
        (maps, PyArray1::from_slice(py, local.groups()))
    });
    answer.set_item("local", local)?;
    answer.set_item("params", model.params.to_string())?;
    answer.set_item("diagnostics", model.diagnostics.to_string())?;
    let references = model.references.as_ref().map(|(rows, labels)| {
        (rows_out(py, rows), labels.names().to_vec(), PyArray1::from_slice(py, labels.codes()))
    });
    answer.set_item("references", references)?;
    let targets = model.targets.as_ref();
    let targets = targets.map(|(rows, numbers)| (rows_out(py, rows), PyArray1::from_slice(py, numbers)));
    answer.set_item("targets", targets)?;
    Ok(answer)
}

fn json_of(what: &str, text: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("{what} cannot be written as JSON: {error}")))
}
