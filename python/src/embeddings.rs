//! Adapters of embeddings.

use crate::array::{embeddings_of, embeddings_out, mat_of, mat_out, table_out, vector_of};
use crate::retrieval::{Judged, judgements, parsed};
use crate::run::{detached, inline_work, to_python};
use crate::watch::{Watched, watched};
use mahala::data::Embeddings;
use mahala::embeddings::{Adapter, Member};
use mahala::{Error, Metric, Model, embeddings};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

/// The parameters of an adapter, as the estimator has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    metric: String,
    classes: String,
    n_components: Option<usize>,
    criterion: Option<String>,
    member: Option<Member>,
    selection_rows: usize,
    seed: u64,
}

fn adapter(options: &str) -> PyResult<Adapter> {
    let options: Options =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(format!("member: {error}")))?;
    Ok(Adapter {
        similarity: parsed(&options.metric)?,
        classes: parsed(&options.classes)?,
        n_components: options.n_components,
        criterion: options.criterion.as_deref().map(parsed).transpose()?,
        member: options.member,
        max_gallery: options.selection_rows,
        seed: options.seed,
    })
}

/// What an adapter learned.
#[pyclass(frozen)]
pub(crate) struct Adaptation(embeddings::Adaptation);

/// A fit that tells a function how far it is.
fn told(progress: Option<Py<PyAny>>) -> Watched {
    Watched { progress, ..Watched::default() }
}

/// Learns from rows and codes of classes.
#[pyfunction]
#[pyo3(signature = (rows, codes, options, progress=None))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn adapt_labels<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    codes: PyReadonlyArray1<'py, u32>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Adaptation> {
    let (adapter, rows, codes) = (adapter(options)?, embeddings_of(rows)?, codes.as_array().to_vec());
    let fit = watched(py, None, told(progress), move |step| adapter.fit_labels_with(&rows, &codes, step))?;
    Ok(Adaptation(fit))
}

/// Learns from pairs of rows, true for similar ones.
#[pyfunction]
#[pyo3(signature = (first, second, similar, options, progress=None))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn adapt_pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    similar: PyReadonlyArray1<'py, bool>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Adaptation> {
    let (adapter, first, second) = (adapter(options)?, embeddings_of(first)?, embeddings_of(second)?);
    let similar = similar.as_array().to_vec();
    let fit =
        watched(py, None, told(progress), move |step| adapter.fit_pairs(&first, &second, &similar, step))?;
    Ok(Adaptation(fit))
}

/// Learns from queries, documents and judgements.
#[pyfunction]
#[pyo3(signature = (queries, documents, judged, options, progress=None))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn adapt_clicks<'py>(
    py: Python<'py>,
    queries: &Bound<'py, PyAny>,
    documents: &Bound<'py, PyAny>,
    judged: Judged<'py>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Adaptation> {
    let (adapter, queries, documents) =
        (adapter(options)?, embeddings_of(queries)?, embeddings_of(documents)?);
    let judged = judgements(&judged);
    let fit = watched(py, None, told(progress), move |step| {
        adapter.fit_clicks(&queries, &documents, &judged, step)
    })?;
    Ok(Adaptation(fit))
}

/// Learns from triplets, one row of each table.
#[pyfunction]
#[pyo3(signature = (queries, positives, negatives, options, progress=None))]
pub(crate) fn adapt_triplets<'py>(
    py: Python<'py>,
    queries: &Bound<'py, PyAny>,
    positives: &Bound<'py, PyAny>,
    negatives: &Bound<'py, PyAny>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Adaptation> {
    let adapter = adapter(options)?;
    let [queries, near, far] =
        [embeddings_of(queries)?, embeddings_of(positives)?, embeddings_of(negatives)?];
    let fit =
        watched(py, None, told(progress), move |step| adapter.fit_triplets(&queries, &near, &far, step))?;
    Ok(Adaptation(fit))
}

/// Multiplications up to which a call stays on the caller's thread: handing work to others takes longer.
const SMALL: usize = 1 << 22;

/// Multiplications of rows by a square matrix.
fn squared(rows: &Embeddings) -> usize {
    rows.len().saturating_mul(rows.columns()).saturating_mul(rows.columns())
}

/// Runs little work on the caller's thread, and much with the interpreter free for others.
fn run<T: Send>(
    py: Python<'_>,
    multiplications: usize,
    work: impl FnOnce() -> mahala::Result<T> + Send,
) -> PyResult<T> {
    if multiplications <= SMALL { inline_work(|_| work()) } else { detached(py, None, work) }
}

#[pymethods]
impl Adaptation {
    /// From components, mean and the parameters of a model file.
    #[new]
    fn new(
        components: &Bound<'_, PyAny>,
        mean: &Bound<'_, PyAny>,
        params: &str,
        reason: &str,
    ) -> PyResult<Self> {
        let params =
            serde_json::from_str(params).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let metric = Metric::new(mat_of(components)?, vector_of(mean)?, None);
        let model = metric.map(|metric| Model {
            params,
            diagnostics: json!({"reason": reason}),
            ..Model::new(metric)
        });
        let made = model.and_then(|model| embeddings::Adaptation::from_model(&model));
        made.map(Self).map_err(|error| to_python(&error))
    }

    #[getter]
    fn components<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        mat_out(py, self.0.components())
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.mean())
    }

    #[getter]
    fn reason(&self) -> &str {
        self.0.reason()
    }

    /// The member as JSON.
    #[getter]
    fn member(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.member()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The report as JSON, and as text.
    #[getter]
    fn report(&self) -> Option<(String, String)> {
        self.0.report().map(|report| (report.to_json().to_string(), report.to_string()))
    }

    fn transform<'py>(&self, py: Python<'py>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = embeddings_of(rows)?;
        let mapped = run(py, squared(&rows), || self.0.transform(&rows))?;
        Ok(embeddings_out(py, &mapped))
    }

    fn query_map<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>)> {
        let queries = embeddings_of(queries)?;
        let (g, offsets) = run(py, squared(&queries), || self.0.query_map(&queries))?;
        Ok((embeddings_out(py, &g), PyArray1::from_vec(py, offsets)))
    }

    fn document_terms<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let documents = embeddings_of(documents)?;
        let terms = run(py, squared(&documents), || self.0.document_terms(&documents))?;
        Ok(PyArray1::from_vec(py, terms))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        terms: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (queries, documents) = (embeddings_of(queries)?, embeddings_of(documents)?);
        let terms = terms.as_array().to_vec();
        let scores = detached(py, None, || self.0.scores(&queries, &documents, &terms))?;
        Ok(table_out(py, queries.len(), documents.len(), scores))
    }

    #[allow(clippy::needless_pass_by_value, clippy::type_complexity)]
    fn rescore<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        terms: PyReadonlyArray1<'py, f64>,
        candidates: PyReadonlyArray2<'py, i64>,
        k: usize,
    ) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
        let (queries, documents) = (embeddings_of(queries)?, embeddings_of(documents)?);
        let terms = terms.as_array().to_vec();
        // -1 marks that the index found nothing.
        let list = |row: numpy::ndarray::ArrayView1<'_, i64>| {
            row.iter().filter(|&&at| at != -1).map(|&at| usize::try_from(at).unwrap_or(usize::MAX)).collect()
        };
        let listed = candidates.as_array().len().saturating_mul(queries.columns());
        let candidates: Vec<Vec<usize>> = candidates.as_array().rows().into_iter().map(list).collect();
        let found = run(py, squared(&queries).saturating_add(listed), || {
            self.0.rescore(&queries, &documents, &terms, &candidates, k)
        })?;
        let (mut places, mut similarities) =
            (vec![-1; found.len() * k], vec![f64::NEG_INFINITY; found.len() * k]);
        for (query, found) in found.iter().enumerate() {
            for (at, (place, similarity)) in found.iter().enumerate() {
                places[query * k + at] = i64::try_from(*place).unwrap_or(-1);
                similarities[query * k + at] = *similarity;
            }
        }
        Ok((table_out(py, found.len(), k, places), table_out(py, found.len(), k, similarities)))
    }

    fn augmented_documents<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let documents = embeddings_of(documents)?;
        let rows = run(py, squared(&documents), || self.0.augmented_documents(&documents))?;
        Ok(embeddings_out(py, &rows))
    }

    fn augmented_queries<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let queries = embeddings_of(queries)?;
        let rows = run(py, squared(&queries), || self.0.augmented_queries(&queries))?;
        Ok(embeddings_out(py, &rows))
    }

    /// Writes the model file.
    #[allow(clippy::needless_pass_by_value)]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved: Result<(), Error> = py.detach(|| self.0.to_model().save(path));
        saved.map_err(|error| to_python(&error))
    }
}
