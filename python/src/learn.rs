//! Learning by any method but GMML.

use crate::array::{labels_of, mat_out, rows_of};
use crate::fit::graded;
use crate::kernel::kernel_parts;
use crate::run::to_python;
use crate::watch::{Watched, watched};
use mahala::learner::{Training, learn_standardized};
use mahala::pairs::{Chunklets, Pairs, Quadruplet, Quadruplets, Triplet, Triplets};
use mahala::{Dataset, Labels, Model, Rows};
use mahala_baselines::named;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// Which method, with which parameters (as JSON), and how it is watched.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Plan {
    method: String,
    pub(crate) parameters: String,
    standardize: bool,
    pub(crate) time_limit: Option<f64>,
    /// Whether Ctrl-C ends the search as if the time were up.
    pub(crate) keep_best: bool,
    /// The group of each row, for a method that chooses.
    groups: Option<Vec<String>>,
    /// Called with iteration, total and objective, now and then.
    pub(crate) progress: Option<Py<PyAny>>,
    pub(crate) threads: Option<usize>,
}

/// What is learned from.
enum Source {
    Labelled(Dataset),
    Paired(Rows, Pairs),
    Targets(Rows, Vec<f64>),
    Triplets(Rows, Triplets),
    Quadruplets(Rows, Quadruplets),
    Chunklets(Rows, Chunklets),
}

/// Learns from rows and, if the method wants them, labels.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    labels: Option<(Vec<String>, PyReadonlyArray1<'py, u32>)>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = rows_of(x)?;
    let source = match labels {
        Some((names, codes)) => Dataset::new(rows, labels_of(&names, &codes)?).map(Source::Labelled),
        None => Pairs::new(Vec::new(), rows.len(), rows.len()).map(|none| Source::Paired(rows, none)),
    };
    let model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    describe(py, &model)
}

/// Learns from rows with a number each.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_targets<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    targets: PyReadonlyArray1<'py, f64>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let source = Source::Targets(rows_of(x)?, targets.as_array().to_vec());
    let model = run(py, plan, source)?;
    describe(py, &model)
}

/// Learns from pairs: row i of `first` with row i of `second`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    similar: Vec<bool>,
    weights: Option<&Bound<'py, PyAny>>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let (first, second) = (rows_of(first)?, rows_of(second)?);
    let similarity: Vec<f64> = similar.into_iter().map(f64::from).collect();
    let pairs = graded([first.len(), second.len()], &similarity, weights, first.len())?;
    let both = Rows::new([first.values(), second.values()].concat(), first.columns());
    let source = both.map(|rows| Source::Paired(rows, pairs));
    let mut model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    model.params["pairs"] = json!("given");
    describe(py, &model)
}

/// Learns from triplets (three row numbers each) or quadruplets (four), which may have weights.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_tuples<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    tuples: PyReadonlyArray2<'py, u64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = rows_of(x)?;
    let tuples = tuples.as_array();
    let at = |i: usize, j: usize| usize::try_from(tuples[(i, j)]).unwrap_or(usize::MAX);
    let n = rows.len();
    let source = match tuples.ncols() {
        3 => {
            let triplet = |i| Triplet { anchor: at(i, 0), near: at(i, 1), far: at(i, 2) };
            let list = (0..tuples.nrows()).map(triplet).collect();
            Triplets::new(list, n).map(|triplets| Source::Triplets(rows, triplets))
        }
        4 => {
            let weight = |i: usize| weights.as_ref().map_or(1.0, |weights| weights.as_array()[i]);
            let quadruplet =
                |i| Quadruplet { near: [at(i, 0), at(i, 1)], far: [at(i, 2), at(i, 3)], weight: weight(i) };
            let list = (0..tuples.nrows()).map(quadruplet).collect();
            Quadruplets::new(list, n).map(|quadruplets| Source::Quadruplets(rows, quadruplets))
        }
        size => {
            return Err(PyValueError::new_err(format!(
                "tuples of {size} rows; they must be of 3 (triplets) or 4 (quadruplets)"
            )));
        }
    };
    let model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    describe(py, &model)
}

/// Learns from rows, each in a chunk or, if its number is negative, in none.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_chunks<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    chunks: PyReadonlyArray1<'py, i64>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let ids: Vec<Option<u64>> = chunks.as_array().iter().map(|&id| u64::try_from(id).ok()).collect();
    let rows = rows_of(x)?;
    let source = Chunklets::new(&ids).map(|chunklets| Source::Chunklets(rows, chunklets));
    let model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    describe(py, &model)
}

fn run(py: Python<'_>, plan: Plan, source: Source) -> PyResult<Model> {
    let parameters: Value = serde_json::from_str(&plan.parameters)
        .map_err(|error| PyValueError::new_err(format!("parameters that are not JSON: {error}")))?;
    let method = named(&plan.method, parameters).map_err(|error| to_python(&error))?;
    let (groups, standardize) = (plan.groups, plan.standardize);
    let watch = Watched { progress: plan.progress, time_limit: plan.time_limit, keep_best: plan.keep_best };
    watched(py, plan.threads, watch, move |progress| {
        let groups = groups.map(Labels::new);
        let training = match (&source, &groups) {
            (Source::Labelled(data), Some(groups)) => Training::Grouped(data, groups),
            (Source::Labelled(data), None) => Training::Labelled(data),
            (Source::Paired(rows, pairs), _) => Training::Paired(rows, pairs),
            (Source::Targets(rows, targets), _) => Training::Targets(rows, targets),
            (Source::Triplets(rows, triplets), _) => Training::Triplets(rows, triplets),
            (Source::Quadruplets(rows, quadruplets), _) => Training::Quadruplets(rows, quadruplets),
            (Source::Chunklets(rows, chunklets), _) => Training::Chunklets(rows, chunklets),
        };
        let learned = if standardize {
            learn_standardized(&*method, &training, progress)?
        } else {
            method.learn(&training, progress)?
        };
        learned.into_model(&*method, standardize, Vec::new(), None, None)
    })
}

fn describe<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, model.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, model.metric.mean()))?;
    answer.set_item("scale", model.metric.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("weight_outside", model.metric.weight_outside())?;
    answer.set_item("kernel", model.kernel.as_ref().map(|map| kernel_parts(py, map)))?;
    answer.set_item("log_eigenvalues", PyArray1::from_slice(py, &model.log_eigenvalues))?;
    answer.set_item("params", model.params.to_string())?;
    answer.set_item("diagnostics", model.diagnostics.to_string())?;
    Ok(answer)
}
