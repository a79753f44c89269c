//! Learning: from labelled rows, from moments, from pairs.

use crate::array::{Csr, HeldMatrix, labels_of, mat_out, rows_of, rows_out, single_matrix_of, vector_of};
use crate::moments::Moments;
use crate::neighbors::signed;
use crate::params::Params;
use crate::run::{interruptible, to_python};
use crate::watch::{Watched, watched};
use mahala::data::{Random, Stream};
use mahala::gmml::FitOptions;
use mahala::gmml::HeldOut;
use mahala::local::{LocalGmml, Locality, Share};
use mahala::metric::Calibration;
use mahala::pairs::{Pairs, pair_budget};
use mahala::{Dataset, Fit, Gmml, Rows};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

/// Learns from rows and labels, weighted if weights are given.
#[pyfunction]
#[pyo3(signature = (x, names, codes, weights, params, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_labels<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    weights: Option<&Bound<'py, PyAny>>,
    mut params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    // Taken first: groups that fold are not splits, too.
    let groups = params.take_groups();
    let (gmml, watch) = (params.gmml()?, params.take_watch());
    let weights = weights.map(vector_of).transpose()?;
    let settings = gmml.clone();
    let fit = if let Some(array) = single_matrix_of(x)? {
        let (rows, labels) = (HeldMatrix::new(&array), labels_of(&names, &codes)?);
        watched(py, threads, watch, move |progress| {
            let options = FitOptions { weights: weights.as_deref(), groups: groups.as_ref() };
            gmml.fit_cells(rows.view(), &labels, &options, progress)
        })?
    } else {
        let data = dataset(x, &names, &codes)?;
        watched(py, threads, watch, move |progress| {
            let options = FitOptions { weights: weights.as_deref(), groups: groups.as_ref() };
            gmml.fit_with(&data, &options, progress)
        })?
    };
    describe(py, &settings, &fit)
}

/// The training and held-out rows of each split that t is chosen on.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, clippy::type_complexity)]
pub(crate) fn selection_splits<'py>(
    py: Python<'py>,
    rows: usize,
    mut params: Params<'py>,
) -> PyResult<Vec<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>)>> {
    let groups = params.take_groups();
    let gmml = params.gmml()?;
    let splits = gmml.selection_splits(rows, groups.as_ref()).map_err(|error| to_python(&error))?;
    let array = |rows: Vec<usize>| PyArray1::from_iter(py, rows.into_iter().map(signed));
    Ok(splits.into_iter().map(|(train, test)| (array(train), array(test))).collect())
}

/// The search for t: `errors` is given a list of values and returns the error of each. The value chosen, and all values
/// tried with their errors.
#[pyfunction]
pub(crate) fn search_t(errors: &Bound<'_, PyAny>) -> PyResult<(f64, Vec<(f64, f64)>)> {
    let mut raised = None;
    let found = mahala::gmml::two_step_search(|values| {
        let returned = errors.call1((values.to_vec(),)).and_then(|errors| errors.extract::<Vec<f64>>());
        returned.map_err(|error| {
            raised = Some(error);
            mahala::Error::Cancelled
        })
    });
    match raised {
        Some(error) => Err(error),
        None => found.map_err(|error| to_python(&error)),
    }
}

/// Learns from sparse rows and labels.
#[pyfunction]
#[pyo3(signature = (x, names, codes, params, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_sparse<'py>(
    py: Python<'py>,
    x: Csr<'py>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    mut params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (gmml, rows, labels) = (params.gmml()?, x.rows()?, labels_of(&names, &codes)?);
    let settings = gmml.clone();
    let watch = params.take_watch();
    let fit = watched(py, threads, watch, move |progress| gmml.fit_sparse(&rows, &labels, progress))?;
    describe(py, &settings, &fit)
}

/// Learns from moments; t must be given.
#[pyfunction]
#[pyo3(signature = (moments, params, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_moments<'py>(
    py: Python<'py>,
    moments: &Bound<'py, Moments>,
    params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (gmml, moments) = (params.gmml()?, moments.borrow().inner().clone());
    let settings = gmml.clone();
    let fit = interruptible(py, threads, move |_| gmml.fit_moments(&moments))?;
    describe(py, &settings, &fit)
}

/// Learns from pairs: row i of `first` with row i of `second`.
#[pyfunction]
#[pyo3(signature = (first, second, similarity, weights, params, calibration, threads))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub(crate) fn fit_pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    similarity: Vec<f64>,
    weights: Option<&Bound<'py, PyAny>>,
    mut params: Params<'py>,
    calibration: Option<String>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let gmml = params.gmml()?;
    let (first, second) = (rows_of(first)?, rows_of(second)?);
    let pairs = graded([first.len(), second.len()], &similarity, weights, 0)?;
    let how = Listed { calibration, watch: params.take_watch(), threads };
    fit_listed(py, gmml, [first, second], pairs, how)
}

/// Learns from rows with several labels each, given by a column of 0 and 1 for each label: pairs are as similar
/// as their labels overlap.
#[pyfunction]
#[pyo3(signature = (x, indicator, params, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_label_sets<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    indicator: &Bound<'py, PyAny>,
    mut params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let gmml = params.gmml()?;
    let (rows, marks) = (rows_of(x)?, rows_of(indicator)?);
    let set = |i: usize| -> Vec<u32> {
        let marked = marks.row(i).iter().zip(0..).filter(|(mark, _)| **mark != 0.0);
        marked.map(|(_, label)| label).collect()
    };
    let sets: Vec<Vec<u32>> = (0..marks.len()).map(set).collect();
    let budget = pair_budget(marks.columns()).max(20_000);
    let pairs = Pairs::from_label_sets(&sets, budget, &mut Random::of(gmml.seed, Stream::Pairs));
    let pairs = pairs.map_err(|error| to_python(&error))?;
    let how = Listed { calibration: None, watch: params.take_watch(), threads };
    fit_listed(py, gmml, [rows.clone(), rows], pairs, how)
}

/// Probabilities for distances of pairs, as JSON.
#[pyfunction]
#[pyo3(signature = (distances, similarity, weights, method))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn calibrate(
    distances: &Bound<'_, PyAny>,
    similarity: Vec<f64>,
    weights: Option<&Bound<'_, PyAny>>,
    method: &str,
) -> PyResult<String> {
    let distances = vector_of(distances)?;
    let pairs = graded([distances.len(); 2], &similarity, weights, 0)?;
    // A graded pair has two entries, each with its distance.
    let distances = pairs.as_slice().iter().map(|pair| distances[pair.first]).collect();
    calibration_of(&HeldOut { distances, pairs }, method)
}

/// How likely pairs at these distances are similar.
#[pyfunction]
pub(crate) fn probabilities<'py>(
    calibration: &str,
    distances: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let value =
        serde_json::from_str(calibration).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let calibration = Calibration::from_json(&value).map_err(|error| to_python(&error))?;
    let each = vector_of(distances)?.into_iter().map(|distance| calibration.probability(distance));
    Ok(PyArray1::from_iter(distances.py(), each))
}

/// Learns local metrics: those of classes, or of clusters if their number is given; s is chosen unless given.
#[pyfunction]
#[pyo3(signature = (x, names, codes, params, clusters, share, threads))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub(crate) fn fit_local<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    mut params: Params<'py>,
    clusters: Option<usize>,
    share: Option<f64>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let local = LocalGmml {
        gmml: params.gmml()?,
        by: clusters.map_or(Locality::Class, Locality::Cluster),
        share: share.map_or(Share::CrossValidated, Share::Fixed),
    };
    let data = dataset(x, &names, &codes)?;
    let settings = local.gmml.clone();
    let watch = params.take_watch();
    let learned =
        watched(py, threads, watch, move |progress| local.fit_with(&data, &FitOptions::default(), progress))?;
    let answer = describe(py, &settings, &learned.fit)?;
    answer.set_item("rows", rows_out(py, &learned.references.0))?;
    let maps: Vec<_> = learned.maps.maps().iter().map(|map| mat_out(py, map.as_ref())).collect();
    answer.set_item("maps", maps)?;
    answer.set_item("groups", PyArray1::from_slice(py, learned.maps.groups()))?;
    answer.set_item("share", learned.share)?;
    answer.set_item("share_path", learned.curve)?;
    Ok(answer)
}

/// Pairs of row i of one table with row i of another, which stands `offset` rows below in the table of second ends,
/// from similarities between 0 and 1.
pub(crate) fn graded(
    [n, others]: [usize; 2],
    similarity: &[f64],
    weights: Option<&Bound<'_, PyAny>>,
    offset: usize,
) -> PyResult<Pairs> {
    if similarity.len() != n || others != n {
        return Err(PyValueError::new_err("the two ends and the marks of pairs must be equally many"));
    }
    let weights = weights.map(vector_of).transpose()?;
    let list: Vec<(usize, usize, f64)> =
        similarity.iter().enumerate().map(|(i, &s)| (i, offset + i, s)).collect();
    let rows = offset + n;
    Pairs::graded(&list, weights.as_deref(), rows, rows).map_err(|error| to_python(&error))
}

/// How listed pairs are learned from: what curve their distances get, how the fit is watched, on how many threads.
struct Listed {
    calibration: Option<String>,
    watch: Watched,
    threads: Option<usize>,
}

fn fit_listed(
    py: Python<'_>,
    gmml: Gmml,
    [first, second]: [Rows; 2],
    pairs: Pairs,
    Listed { calibration, watch, threads }: Listed,
) -> PyResult<Bound<'_, PyDict>> {
    let (settings, calibrated) = (gmml.clone(), calibration.is_some());
    let (fit, held) = watched(py, threads, watch, move |progress| {
        let fit = gmml.fit_two_tables_with(&first, &second, &pairs, progress)?;
        let held = calibrated.then(|| gmml.held_out_pairs(&first, &second, &pairs, fit.t)).transpose()?;
        Ok((fit, held))
    })?;
    let description = describe(py, &settings, &fit)?;
    let mut params = parameters(&settings, &fit);
    params["pairs"] = json!("given");
    description.set_item("params", params.to_string())?;
    if let (Some(held), Some(method)) = (held, calibration) {
        description.set_item("calibration", calibration_of(&held, &method)?)?;
        description.set_item("threshold", mahala::metric::best_threshold(&held.distances, &held.pairs))?;
    }
    Ok(description)
}

fn calibration_of(held: &HeldOut, method: &str) -> PyResult<String> {
    let calibration = match method {
        "platt" => Calibration::platt(&held.distances, &held.pairs),
        "isotonic" => Calibration::isotonic(&held.distances, &held.pairs),
        other => {
            let text = format!("calibration is '{other}'; it must be None, 'platt' or 'isotonic'");
            return Err(PyValueError::new_err(text));
        }
    };
    Ok(calibration.map_err(|error| to_python(&error))?.to_json().to_string())
}

/// A table and its labels as the library's data set.
pub(crate) fn dataset(
    x: &Bound<'_, PyAny>,
    names: &[String],
    codes: &PyReadonlyArray1<'_, u32>,
) -> PyResult<Dataset> {
    Dataset::new(rows_of(x)?, labels_of(names, codes)?).map_err(|error| to_python(&error))
}

fn parameters(gmml: &Gmml, fit: &Fit) -> serde_json::Value {
    let mut params = gmml.to_json();
    params["t_used"] = json!(fit.t);
    params
}

fn describe<'py>(py: Python<'py>, gmml: &Gmml, fit: &Fit) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    let metric = &fit.metric;
    answer.set_item("components", mat_out(py, metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, metric.mean()))?;
    answer.set_item("scale", metric.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("weight_outside", metric.weight_outside())?;
    answer.set_item("t", fit.t)?;
    answer.set_item("log_eigenvalues", PyArray1::from_slice(py, &fit.diagnostics.log_eigenvalues))?;
    answer.set_item("params", parameters(gmml, fit).to_string())?;
    answer.set_item("diagnostics", fit.diagnostics.to_json().to_string())?;
    Ok(answer)
}
