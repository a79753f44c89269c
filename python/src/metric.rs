//! A fitted metric at work.

use crate::array::{
    Csr, HeldMatrix, mat_of, mat_out, rows_into, rows_of, single_matrix_of, table_out, vector_of,
};
use crate::fit::dataset;
use crate::run::{inline_work, interruptible, to_python};
use mahala::Metric;
use mahala::learner::{Learned, Report};
use mahala::metric::threshold_for_labels;
use mahala::pairs::{Pair, Pairs};
use mahala::retrieval::Similarity;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A metric's state, as the estimators keep it: components, mean, scale or None, weight outside or None.
#[derive(FromPyObject)]
pub(crate) struct State<'py>(Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<f64>);

impl State<'_> {
    /// The metric, checked anew: attributes can be changed by anyone.
    pub(crate) fn metric(&self) -> PyResult<Metric> {
        let scale = self.2.as_ref().map(vector_of).transpose()?;
        let metric = Metric::new(mat_of(&self.0)?, vector_of(&self.1)?, scale);
        let metric = metric.and_then(|metric| match self.3 {
            Some(weight) => metric.with_weight_outside(weight),
            None => Ok(metric),
        });
        metric.map_err(|error| to_python(&error))
    }
}

/// Multiplications up to which a call stays on the caller's thread: handing work to others takes longer.
const SMALL: usize = 1 << 20;

/// A metric that is checked once and used many times.
#[pyclass(frozen, module = "mahala._mahala")]
pub(crate) struct PreparedMetric(Arc<Metric>, Similarity);

#[pymethods]
impl PreparedMetric {
    /// The metric; with `cosine`, one whose coordinates have norm 1.
    #[new]
    #[pyo3(signature = (state, cosine=false))]
    #[allow(clippy::needless_pass_by_value)]
    fn new(state: State<'_>, cosine: bool) -> PyResult<Self> {
        Ok(Self(Arc::new(state.metric()?), similarity(cosine)))
    }

    /// Rows in coordinates where the metric is Euclidean, of float32 if the rows are, else of float64.
    #[pyo3(signature = (x, threads=None))]
    fn transform<'py>(&self, x: &Bound<'py, PyAny>, threads: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        let (py, metric, similarity) = (x.py(), self.0.clone(), self.1);
        let small = |rows: usize| rows * metric.rank() * metric.columns() <= SMALL;
        if let Some(array) = single_matrix_of(x)? {
            let n = array.as_array().nrows();
            let (inline, rank) = (small(n), metric.rank());
            let rows = HeldMatrix::new(&array);
            let work = move |_: &AtomicBool| {
                let mut cells = metric.transform_single(rows.view())?;
                similarity.single_coordinates(&mut cells, rank);
                Ok(cells)
            };
            let cells = if inline { inline_work(work) } else { interruptible(py, threads, work) }?;
            return Ok(table_out(py, n, rank, cells).into_any());
        }
        let rows = rows_of(x)?;
        let inline = small(rows.len());
        let work = move |_: &AtomicBool| similarity.coordinates(metric.transform(&rows)?);
        let z = if inline { inline_work(work) } else { interruptible(py, threads, work) }?;
        Ok(rows_into(py, z).into_any())
    }

    /// Transforms sparse rows.
    #[allow(clippy::needless_pass_by_value)]
    fn transform_sparse<'py>(
        &self,
        py: Python<'py>,
        x: Csr<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (metric, similarity, rows) = (self.0.clone(), self.1, x.rows()?);
        let z = interruptible(py, threads, move |_| similarity.coordinates(metric.transform_sparse(&rows)?))?;
        Ok(rows_into(py, z))
    }
}

/// Rows in coordinates where the metric is Euclidean; with `cosine`, of norm 1.
#[pyfunction]
#[pyo3(signature = (state, x, threads, cosine=false))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn transform<'py>(
    py: Python<'py>,
    state: State<'py>,
    x: &Bound<'py, PyAny>,
    threads: Option<usize>,
    cosine: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (metric, rows) = (state.metric()?, rows_of(x)?);
    let z = interruptible(py, threads, move |_| similarity(cosine).coordinates(metric.transform(&rows)?))?;
    Ok(rows_into(py, z))
}

/// What coordinates are ranked by.
pub(crate) fn similarity(cosine: bool) -> Similarity {
    if cosine { Similarity::Cosine } else { Similarity::L2 }
}

/// The distance of each row of `first` from the same row of `second`; with `cosine`, of rows of norm 1.
#[pyfunction]
#[pyo3(signature = (state, first, second, threads, cosine=false))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn pair_distances<'py>(
    py: Python<'py>,
    state: State<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    threads: Option<usize>,
    cosine: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (metric, first, second) = (state.metric()?, rows_of(first)?, rows_of(second)?);
    if first.len() != second.len() {
        return Err(PyValueError::new_err("pairs must have as many first as second ends"));
    }
    let squared = interruptible(py, threads, move |_| {
        let pairs = (0..first.len()).map(|i| Pair::similar(i, i)).collect();
        let pairs = Pairs::new(pairs, first.len(), second.len())?;
        let similarity = similarity(cosine);
        Learned { similarity, ..Learned::new(metric, Report::closed_form()) }
            .squared_pair_distances(&first, &second, &pairs)
    })?;
    Ok(PyArray1::from_iter(py, squared.into_iter().map(f64::sqrt)))
}

/// `A = LᵀL` for rows as the user has them.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn matrix<'py>(py: Python<'py>, state: State<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let metric = state.metric()?;
    let a = interruptible(py, None, move |_| metric.matrix())?;
    Ok(mat_out(py, a.as_ref()))
}

/// `L` for rows as the user has them: `z = map·x` up to a shift.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn linear_map<'py>(py: Python<'py>, state: State<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    Ok(mat_out(py, state.metric()?.map().as_ref()))
}

/// The whole of the metric as a linear map of rows as the user has them: with components for what lies outside
/// the span of its own.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn whole_map<'py>(py: Python<'py>, state: State<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let metric = state.metric()?;
    let whole = interruptible(py, None, move |_| metric.with_outside_as_components())?;
    Ok(mat_out(py, whole.map().as_ref()))
}

/// The distance that best separates random similar from random dissimilar pairs of labelled rows.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn label_threshold<'py>(
    py: Python<'py>,
    state: State<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    seed: u64,
) -> PyResult<f64> {
    let (metric, data) = (state.metric()?, dataset(x, &names, &codes)?);
    interruptible(py, None, move |_| threshold_for_labels(&metric, &data, seed))
}

/// The transformation as the bytes of an ONNX model; with `cosine`, to rows of norm 1.
#[pyfunction]
#[pyo3(signature = (state, single, cosine=false))]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn onnx<'py>(
    py: Python<'py>,
    state: State<'py>,
    single: bool,
    cosine: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let metric = state.metric()?;
    let precision = if single { mahala::model::Precision::F32 } else { mahala::model::Precision::F64 };
    let bytes = mahala::model::onnx_model_for(&metric, similarity(cosine), precision);
    let bytes = bytes.map_err(|error| to_python(&error))?;
    Ok(PyBytes::new(py, &bytes))
}

/// Writes a file that appears whole or not at all.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn write_file(path: PathBuf, bytes: &[u8]) -> PyResult<()> {
    mahala::model::write_file(path, bytes).map_err(|error| to_python(&error))
}

/// `L` of a given matrix `A = LᵀL`.
#[pyfunction]
pub(crate) fn components_of<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let matrix = mat_of(matrix)?;
    let metric = interruptible(py, None, move |_| {
        Metric::from_matrix(&mahala::geometry::Spd::named(matrix, "metric")?)
    })?;
    Ok(mat_out(py, metric.components()))
}
