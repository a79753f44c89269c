//! Measures of retrieval and verification.

use crate::array::{embeddings_of, table_out};
use crate::run::{interruptible, to_python};
use mahala::retrieval::{self, Judgement, Measure, Resampling, Scores, Similarity};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

/// Queries, documents and gains.
pub(crate) type Judged<'py> =
    (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, f64>);

pub(crate) fn parsed<T: std::str::FromStr<Err = mahala::Error>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error| to_python(&error))
}

pub(crate) fn judgements(judged: &Judged<'_>) -> Vec<Judgement> {
    let (query, document, gain) = (judged.0.as_array(), judged.1.as_array(), judged.2.as_array());
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    query
        .iter()
        .zip(document)
        .zip(gain)
        .map(|((&query, &document), &gain)| Judgement {
            query: place(query),
            document: place(document),
            gain,
        })
        .collect()
}

fn measures(names: &[String]) -> PyResult<Vec<Measure>> {
    names.iter().map(|name| parsed(name)).collect()
}

fn scores_out<'py>(py: Python<'py>, scores: &Scores) -> Vec<Bound<'py, PyArray1<f64>>> {
    scores.values.iter().map(|values| PyArray1::from_slice(py, values)).collect()
}

/// Measures of each query, relevance by class codes; without queries every gallery row is one among the others.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn measures_by_labels<'py>(
    py: Python<'py>,
    gallery: (Bound<'py, PyAny>, PyReadonlyArray1<'py, u32>),
    queries: Option<(Bound<'py, PyAny>, PyReadonlyArray1<'py, u32>)>,
    names: Vec<String>,
    metric: &str,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let (wanted, similarity) = (measures(&names)?, parsed::<Similarity>(metric)?);
    let (table, codes) = (embeddings_of(&gallery.0)?, gallery.1.as_array().to_vec());
    let queries = match &queries {
        Some((table, codes)) => Some((embeddings_of(table)?, codes.as_array().to_vec())),
        None => None,
    };
    let scores = interruptible(py, None, move |_| {
        let queries = queries.as_ref().map(|(table, codes)| (table, &codes[..]));
        retrieval::by_labels(&table, &codes, queries, &wanted, similarity)
    })?;
    Ok(scores_out(py, &scores))
}

/// Measures of each query from graded judgements.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn measures_by_judgements<'py>(
    py: Python<'py>,
    gallery: &Bound<'py, PyAny>,
    queries: &Bound<'py, PyAny>,
    judged: Judged<'py>,
    names: Vec<String>,
    metric: &str,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let (wanted, similarity) = (measures(&names)?, parsed::<Similarity>(metric)?);
    let (gallery, queries, judged) = (embeddings_of(gallery)?, embeddings_of(queries)?, judgements(&judged));
    let scores = interruptible(py, None, move |_| {
        retrieval::by_judgements(&gallery, &queries, &judged, &wanted, similarity)
    })?;
    Ok(scores_out(py, &scores))
}

/// The `k` most similar gallery rows of each query, and their similarities.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn nearest<'py>(
    py: Python<'py>,
    gallery: &Bound<'py, PyAny>,
    queries: &Bound<'py, PyAny>,
    k: usize,
    metric: &str,
) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
    let similarity = parsed::<Similarity>(metric)?;
    let (gallery, queries) = (embeddings_of(gallery)?, embeddings_of(queries)?);
    let rows = queries.len();
    let found = interruptible(py, None, move |_| retrieval::nearest(&gallery, &queries, k, similarity))?;
    let indices = found.indices.iter().map(|&at| i64::try_from(at).unwrap_or(i64::MAX)).collect();
    Ok((table_out(py, rows, k, indices), table_out(py, rows, k, found.similarities)))
}

/// Mean, ends of the interval and number of queries.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn bootstrap_interval(
    py: Python<'_>,
    values: PyReadonlyArray1<'_, f64>,
    groups: Option<PyReadonlyArray1<'_, u32>>,
    resampling: (f64, usize, u64),
) -> PyResult<(f64, f64, f64, usize)> {
    let (values, groups) = (values.as_array().to_vec(), groups.map(|groups| groups.as_array().to_vec()));
    let (confidence, resamples, seed) = resampling;
    let resampling = Resampling { confidence, resamples, seed };
    let found = interruptible(py, None, move |_| {
        retrieval::bootstrap_interval(&values, groups.as_deref(), resampling)
    })?;
    Ok((found.mean, found.low, found.high, found.queries))
}

/// Mean difference, ends of its interval, p-value and number of queries.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn paired_test(
    py: Python<'_>,
    before: PyReadonlyArray1<'_, f64>,
    after: PyReadonlyArray1<'_, f64>,
    groups: Option<PyReadonlyArray1<'_, u32>>,
    resampling: (f64, usize, u64),
) -> PyResult<(f64, f64, f64, f64, usize)> {
    let (before, after) = (before.as_array().to_vec(), after.as_array().to_vec());
    let groups = groups.map(|groups| groups.as_array().to_vec());
    let (confidence, resamples, seed) = resampling;
    let resampling = Resampling { confidence, resamples, seed };
    let found = interruptible(py, None, move |_| {
        retrieval::paired_test(&before, &after, groups.as_deref(), resampling)
    })?;
    Ok((found.difference, found.low, found.high, found.p_value, found.queries))
}

/// ROC-AUC, equal error rate, and the rate of true acceptances at each rate of false ones.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn verification(
    scores: PyReadonlyArray1<'_, f64>,
    similar: PyReadonlyArray1<'_, bool>,
    far: Vec<f64>,
) -> PyResult<(f64, f64, Vec<f64>)> {
    let (scores, similar) = (scores.as_array().to_vec(), similar.as_array().to_vec());
    let found = retrieval::verification(&scores, &similar, &far).map_err(|error| to_python(&error))?;
    Ok((found.roc_auc, found.equal_error_rate, found.true_acceptance))
}
