//! Learning: from labelled rows, from moments, from pairs.

use crate::array::{Csr, labels_of, mat_out, rows_of, vector_of};
use crate::moments::Moments;
use crate::params::Params;
use crate::run::{interruptible, to_python};
use mahala::{CrossValidation, Dataset, Diagnostics, Fit, Gmml, Pair, Pairs, Result, TChoice, Watch};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

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
    params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let gmml = params.gmml()?;
    let data = dataset(x, &names, &codes)?;
    let weights = weights.map(vector_of).transpose()?;
    let settings = gmml.clone();
    let fit = interruptible(py, threads, move |cancelled| {
        let watch = &mut |_, _| !cancelled.load(Ordering::Relaxed);
        match weights {
            None => gmml.fit_watched(&data, watch),
            Some(weights) => fit_weighted(&gmml, &data, &weights, watch),
        }
    })?;
    describe(py, &settings, &fit)
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
    params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (gmml, rows, labels) = (params.gmml()?, x.rows()?, labels_of(&names, &codes)?);
    let settings = gmml.clone();
    let fit = interruptible(py, threads, move |cancelled| {
        gmml.fit_sparse_watched(&rows, &labels, &mut |_, _| !cancelled.load(Ordering::Relaxed))
    })?;
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
#[pyo3(signature = (first, second, similar, weights, params, threads))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn fit_pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    similar: Vec<bool>,
    weights: Option<&Bound<'py, PyAny>>,
    params: Params<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let gmml = params.gmml()?;
    let (first, second) = (rows_of(first)?, rows_of(second)?);
    let weights = weights.map(vector_of).transpose()?;
    let n = first.len();
    if similar.len() != n || second.len() != n || weights.as_ref().is_some_and(|weights| weights.len() != n) {
        return Err(PyValueError::new_err("the two ends, marks and weights of pairs must be equally many"));
    }
    let pair = |i: usize| {
        let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
        Pair { first: i, second: i, similar: similar[i], weight }
    };
    let pairs = Pairs::new((0..n).map(pair).collect(), n, n).map_err(|error| to_python(&error))?;
    let settings = gmml.clone();
    let fit = interruptible(py, threads, move |_: &AtomicBool| gmml.fit_two_tables(&first, &second, &pairs))?;
    let description = describe(py, &settings, &fit)?;
    let mut params = parameters(&settings, &fit);
    params["pairs"] = json!("given");
    description.set_item("params", params.to_string())?;
    Ok(description)
}

/// A table and its labels as the library's data set.
pub(crate) fn dataset(
    x: &Bound<'_, PyAny>,
    names: &[String],
    codes: &PyReadonlyArray1<'_, u32>,
) -> PyResult<Dataset> {
    Dataset::new(rows_of(x)?, labels_of(names, codes)?).map_err(|error| to_python(&error))
}

/// Weighted rows are summed as moments; t, if it is to be chosen, is chosen on the rows that count, unweighted.
fn fit_weighted(gmml: &Gmml, data: &Dataset, weights: &[f64], watch: &mut Watch<'_>) -> Result<Fit> {
    let counting: Vec<usize> = (0..data.len()).filter(|&i| weights.get(i) != Some(&0.0)).collect();
    let mut chosen: Vec<f64> = counting.iter().filter_map(|&i| weights.get(i).copied()).collect();
    // Weights beyond the rows stay, for the library to complain about.
    chosen.extend(weights.iter().skip(data.len()));
    let data = data.subset(&counting);
    let mut moments = mahala::Moments::new(data.columns())?;
    moments.update(data.rows().as_mat(), data.labels(), Some(&chosen))?;
    let selection = match gmml.t {
        TChoice::Fixed(_) => None,
        TChoice::CrossValidated => Some(CrossValidation::new(gmml, &data)?.select(watch)?),
    };
    let t = selection.as_ref().map_or(gmml.t, |selection| TChoice::Fixed(selection.t));
    let fit = Gmml { t, ..gmml.clone() }.fit_moments(&moments)?;
    Ok(Fit { diagnostics: Diagnostics { selection, ..fit.diagnostics }, ..fit })
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
