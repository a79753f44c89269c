//! Exact nearest neighbours and their vote.

use crate::array::{labels_of, mat_of, rows_of, table_out};
use crate::run::{interruptible, to_python};
use mahala::local::LocalMaps;
use mahala::neighbors::Neighbors;
use mahala::{Knn, Labels};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// An index of rows, built once and searched by any thread.
#[pyclass(frozen, module = "mahala._mahala")]
pub(crate) struct NeighborIndex(Arc<Knn>);

#[pymethods]
impl NeighborIndex {
    /// Builds the index. The rows are read where they lie if they can be, and must not change.
    #[new]
    fn new(rows: &Bound<'_, PyAny>, threads: Option<usize>) -> PyResult<Self> {
        let py = rows.py();
        let rows = rows_of(rows)?;
        Ok(Self(Arc::new(interruptible(py, threads, move |_| Knn::new(rows))?)))
    }

    /// The `k` nearest rows of each query: indices and distances, nearest first.
    #[allow(clippy::type_complexity)]
    fn search<'py>(
        &self,
        queries: &Bound<'py, PyAny>,
        k: usize,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
        let py = queries.py();
        let (index, queries) = (self.0.clone(), rows_of(queries)?);
        let found = interruptible(py, threads, move |_| index.search(&queries, k))?;
        let queries = 0..found.len();
        let indices = queries.clone().flat_map(|q| found.indices(q).iter().map(|&i| signed(i))).collect();
        let distances = queries.flat_map(|q| found.distances(q).iter().copied()).collect();
        Ok((table_out(py, found.len(), k, indices), table_out(py, found.len(), k, distances)))
    }
}

/// Neighbours as `NeighborIndex.search` gave them.
#[derive(FromPyObject)]
pub(crate) struct Found<'py>(PyReadonlyArray2<'py, i64>, PyReadonlyArray2<'py, f64>);

impl Found<'_> {
    fn neighbors(&self) -> PyResult<Neighbors> {
        let indices = self.0.as_array();
        let cells = indices.iter().map(|&i| usize::try_from(i).unwrap_or(usize::MAX - 1)).collect();
        let distances = self.1.as_array().iter().copied().collect();
        Neighbors::from_parts(indices.ncols(), cells, distances).map_err(|error| to_python(&error))
    }
}

/// Weights of neighbours: the inverse of their distances.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn inverse_distances<'py>(
    py: Python<'py>,
    found: Found<'py>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let found = found.neighbors()?;
    Ok(table_out(py, found.len(), found.k(), found.inverse_distances()))
}

/// The class of each query by the majority of its neighbours, or by their weights if they are given, as a code into `names`, and
/// the votes for every class.
#[pyfunction]
#[allow(clippy::type_complexity, clippy::needless_pass_by_value)]
pub(crate) fn vote<'py>(
    py: Python<'py>,
    found: Found<'py>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>)> {
    let (found, labels) = (found.neighbors()?, labels_of(&names, &codes)?);
    let weights = weights_of(&found, weights);
    let votes = found.weighted_votes(&labels, &weights).map_err(|error| to_python(&error))?;
    Ok(votes_out(py, &votes, &names, &labels))
}

/// The weighted mean of the targets of each query's neighbours.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn neighbor_means<'py>(
    py: Python<'py>,
    found: Found<'py>,
    targets: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let found = found.neighbors()?;
    let (targets, weights) = (targets.as_array(), weights_of(&found, weights));
    let cells: Vec<f64> = targets.iter().copied().collect();
    let means = found.weighted_means(&cells, targets.ncols(), &weights).map_err(|error| to_python(&error))?;
    Ok(table_out(py, found.len(), targets.ncols(), means))
}

fn weights_of(found: &Neighbors, weights: Option<PyReadonlyArray2<'_, f64>>) -> Vec<f64> {
    let equal = || vec![1.0; found.len() * found.k()];
    weights.map_or_else(equal, |weights| weights.as_array().iter().copied().collect())
}

/// Classifies rows by the vote of training rows, each measured by the metric of its group: `maps` of the rows' coordinates.
#[pyfunction]
#[allow(clippy::type_complexity, clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub(crate) fn classify_locally<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    maps: Vec<Bound<'py, PyAny>>,
    groups: PyReadonlyArray1<'py, u32>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    queries: &Bound<'py, PyAny>,
    k: usize,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>)> {
    let (rows, queries, labels) = (rows_of(rows)?, rows_of(queries)?, labels_of(&names, &codes)?);
    let maps = maps.iter().map(mat_of).collect::<PyResult<_>>()?;
    let local = LocalMaps::new(maps, groups.as_array().to_vec()).map_err(|error| to_python(&error))?;
    let found = interruptible(py, threads, move |_| local.search(&rows, &queries, k))?;
    let votes =
        found.weighted_votes(&labels, &weights_of(&found, None)).map_err(|error| to_python(&error))?;
    Ok(votes_out(py, &votes, &names, &labels))
}

/// The winner of each query, as a code into `names`, and the votes for every class.
#[allow(clippy::type_complexity)]
pub(crate) fn votes_out<'py>(
    py: Python<'py>,
    votes: &[f64],
    names: &[String],
    labels: &Labels,
) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>) {
    // The library orders classes its own way, which decides ties; the caller's codes go back out.
    let code = |name: &String| names.iter().position(|other| other == name).unwrap_or(0);
    let theirs: Vec<usize> = labels.names().iter().map(code).collect();
    let queries = votes.len() / theirs.len().max(1);
    let (mut winners, mut out) = (Vec::with_capacity(queries), vec![0.0; queries * names.len()]);
    for (row, votes) in out.chunks_exact_mut(names.len().max(1)).zip(votes.chunks(theirs.len().max(1))) {
        theirs.iter().zip(votes).for_each(|(&class, votes)| row[class] = *votes);
        let most = votes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let winner = votes.iter().position(|&votes| votes == most).unwrap_or(0);
        winners.push(signed(theirs[winner]));
    }
    (PyArray1::from_vec(py, winners), table_out(py, queries, names.len(), out))
}

/// Counts and indices as NumPy has them; none comes near 2^63.
#[allow(clippy::cast_possible_wrap)]
pub(crate) fn signed(n: usize) -> i64 {
    n as i64
}
