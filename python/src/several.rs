//! Methods that learn several metrics: one a class, or one a task.

use crate::array::{labels_of, mat_of, mat_out, rows_of, rows_out};
use crate::learn::Plan;
use crate::metric::State;
use crate::run::{interruptible, to_python};
use crate::watch::{Watched, watched};
use mahala::local::LocalMaps;
use mahala::{Dataset, Model};
use mahala_baselines::{Lmnn, MultiLmnn, MultiTaskGmml};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::PathBuf;

/// Rows with the names of their classes and the class of each.
type Labelled<'py> = (Bound<'py, PyAny>, Vec<String>, PyReadonlyArray1<'py, u32>);

fn dataset(table: &Labelled<'_>) -> PyResult<Dataset> {
    let (x, names, codes) = table;
    Dataset::new(rows_of(x)?, labels_of(names, codes)?).map_err(|error| to_python(&error))
}

/// Multi-metric LMNN: the global metric, and a map of its coordinates for each class of the library's order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_multi_metric<'py>(
    py: Python<'py>,
    table: Labelled<'py>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let lmnn: Lmnn = serde_json::from_str(&plan.parameters)
        .map_err(|error| PyValueError::new_err(format!("parameters of multi-metric LMNN: {error}")))?;
    let (method, data) = (MultiLmnn { lmnn }, dataset(&table)?);
    let parameters = method.parameters();
    let watch = Watched { progress: plan.progress, time_limit: plan.time_limit, keep_best: plan.keep_best };
    let learned = watched(py, plan.threads, watch, move |progress| method.fit(&data, progress))?;
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, learned.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, learned.metric.mean()))?;
    let maps: Vec<_> = learned.maps.maps().iter().map(|map| mat_out(py, map.as_ref())).collect();
    answer.set_item("maps", maps)?;
    answer.set_item("groups", PyArray1::from_slice(py, learned.maps.groups()))?;
    answer.set_item("rows", rows_out(py, &learned.references.0))?;
    let mut params = parameters;
    params["method"] = json!("multi-metric-lmnn");
    params["local"] = json!("class");
    answer.set_item("params", params.to_string())?;
    answer.set_item("diagnostics", learned.report.to_json().to_string())?;
    Ok(answer)
}

/// Writes a model file with local metrics and the training rows, which are in the coordinates of the global one.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn save_local_model<'py>(
    py: Python<'py>,
    path: PathBuf,
    state: State<'py>,
    maps: Vec<Bound<'py, PyAny>>,
    groups: PyReadonlyArray1<'py, u32>,
    references: Labelled<'py>,
    content: (String, String, Vec<String>),
) -> PyResult<()> {
    let maps = maps.iter().map(mat_of).collect::<PyResult<_>>()?;
    let local = LocalMaps::new(maps, groups.as_array().to_vec()).map_err(|error| to_python(&error))?;
    let (x, names, codes) = &references;
    let json = |text: &str| {
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("no JSON: {error}")))
    };
    let model = Model {
        local: Some(local),
        references: Some((rows_of(x)?, labels_of(names, codes)?)),
        params: json(&content.0)?,
        diagnostics: json(&content.1)?,
        feature_names: content.2,
        ..Model::new(state.metric()?)
    };
    interruptible(py, None, move |_| model.save(path))
}

/// Multi-task GMML: the components of each task's metric, its mean, and those of the metric they share.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)]
pub(crate) fn fit_multi_task<'py>(
    py: Python<'py>,
    tasks: Vec<Labelled<'py>>,
    t: f64,
    reg: f64,
    rounds: usize,
    threads: Option<usize>,
) -> PyResult<(Vec<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)>, Bound<'py, PyArray2<f64>>)> {
    let tasks: Vec<Dataset> = tasks.iter().map(dataset).collect::<PyResult<_>>()?;
    let method = MultiTaskGmml { t, lambda: reg, rounds };
    let fit = interruptible(py, threads, move |_| method.fit(&tasks.iter().collect::<Vec<_>>()))?;
    let metric =
        |metric: &mahala::Metric| (mat_out(py, metric.components()), PyArray1::from_slice(py, metric.mean()));
    Ok((fit.metrics.iter().map(metric).collect(), mat_out(py, fit.shared.components())))
}
