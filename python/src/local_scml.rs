//! SCML in its local form.

use crate::array::{labels_of, mat_of, mat_out, rows_of, rows_out};
use crate::learn::Plan;
use crate::metric::State;
use crate::neighbors::votes_out;
use crate::run::{interruptible, to_python};
use crate::watch::{Watched, watched};
use mahala::Dataset;
use mahala::learner::Report;
use mahala_baselines::{KernelFeatures, LocalScml, LocalScmlMetrics};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Rows with the names of their classes and the class of each.
type Labelled<'py> = (Bound<'py, PyAny>, Vec<String>, PyReadonlyArray1<'py, u32>);

/// Learns the weights, and hands out everything that a vote needs.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_local_scml<'py>(
    py: Python<'py>,
    table: Labelled<'py>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let method: LocalScml = serde_json::from_str(&plan.parameters)
        .map_err(|error| PyValueError::new_err(format!("parameters of local SCML: {error}")))?;
    let (x, names, codes) = table;
    let data = Dataset::new(rows_of(&x)?, labels_of(&names, &codes)?).map_err(|error| to_python(&error))?;
    let watch = Watched { progress: plan.progress, time_limit: plan.time_limit, keep_best: plan.keep_best };
    let learned = watched(py, plan.threads, watch, move |progress| method.fit(&data, progress))?;
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, learned.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, learned.metric.mean()))?;
    answer.set_item("scale", learned.metric.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("bases", mat_out(py, learned.bases.as_ref()))?;
    answer.set_item("weights", mat_out(py, learned.weights.as_ref()))?;
    answer.set_item("landmarks", rows_out(py, &learned.features.landmarks))?;
    answer.set_item("kernel_mean", PyArray1::from_slice(py, &learned.features.mean))?;
    answer.set_item("directions", mat_out(py, learned.features.directions.as_ref()))?;
    answer.set_item("rows", rows_out(py, &learned.references.0))?;
    answer.set_item("diagnostics", learned.report.to_json().to_string())?;
    answer.set_item("global_objective", learned.global.objective)?;
    Ok(answer)
}

/// What `learn_local_scml` handed out.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Parts<'py> {
    bases: Bound<'py, PyAny>,
    weights: Bound<'py, PyAny>,
    landmarks: Bound<'py, PyAny>,
    kernel_mean: Vec<f64>,
    directions: Bound<'py, PyAny>,
    rows: Bound<'py, PyAny>,
}

impl Parts<'_> {
    fn metrics(
        &self,
        state: &State<'_>,
        names: &[String],
        codes: &PyReadonlyArray1<'_, u32>,
    ) -> PyResult<LocalScmlMetrics> {
        let features = KernelFeatures {
            landmarks: rows_of(&self.landmarks)?,
            mean: self.kernel_mean.clone(),
            directions: mat_of(&self.directions)?,
        };
        Ok(LocalScmlMetrics {
            metric: state.metric()?,
            bases: mat_of(&self.bases)?,
            weights: mat_of(&self.weights)?,
            features,
            references: (rows_of(&self.rows)?, labels_of(names, codes)?),
            global: Report::closed_form(),
            report: Report::closed_form(),
        })
    }
}

/// The winner of each query, as a code into `names`, and the votes for every class.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)]
pub(crate) fn classify_local_scml<'py>(
    py: Python<'py>,
    state: State<'py>,
    parts: Parts<'py>,
    labels: (Vec<String>, PyReadonlyArray1<'py, u32>),
    queries: &Bound<'py, PyAny>,
    k: usize,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>)> {
    let (names, codes) = labels;
    let (metrics, queries) = (parts.metrics(&state, &names, &codes)?, rows_of(queries)?);
    let labels = metrics.references.1.clone();
    let found = interruptible(py, threads, move |_| metrics.search(&queries, k))?;
    let weights = vec![1.0; found.len() * found.k()];
    let votes = found.weighted_votes(&labels, &weights).map_err(|error| to_python(&error))?;
    Ok(votes_out(py, &votes, &names, &labels))
}

/// The weight of each basis at each row.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn local_scml_weights<'py>(
    py: Python<'py>,
    state: State<'py>,
    parts: Parts<'py>,
    labels: (Vec<String>, PyReadonlyArray1<'py, u32>),
    rows: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let metrics = parts.metrics(&state, &labels.0, &labels.1)?;
    let weights = metrics.weights_at(&rows_of(rows)?).map_err(|error| to_python(&error))?;
    Ok(mat_out(py, weights.as_ref()))
}
