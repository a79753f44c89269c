//! Exact nearest neighbours and their vote.

use crate::array::{labels_of, mat_of, rows_of, table_out};
use crate::run::{interruptible, to_python};
use mahala::local::LocalMaps;
use mahala::neighbors::Neighbors;
use mahala::{Knn, Labels};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The `k` nearest rows of each query: indices and distances, nearest first.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn neighbors<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    queries: &Bound<'py, PyAny>,
    k: usize,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
    let (rows, queries) = (rows_of(rows)?, rows_of(queries)?);
    let found = interruptible(py, threads, move |_| Knn::new(rows)?.search(&queries, k))?;
    let queries = 0..found.len();
    let indices = queries.clone().flat_map(|q| found.indices(q).iter().map(|&i| signed(i))).collect();
    let distances = queries.flat_map(|q| found.distances(q).iter().copied()).collect();
    Ok((table_out(py, found.len(), k, indices), table_out(py, found.len(), k, distances)))
}

/// The class of each query by majority of its `k` nearest rows, as a code into `names`, and the votes for
/// every class.
#[pyfunction]
#[allow(clippy::type_complexity, clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub(crate) fn classify<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    queries: &Bound<'py, PyAny>,
    k: usize,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<i64>>)> {
    let (rows, queries, labels) = (rows_of(rows)?, rows_of(queries)?, labels_of(&names, &codes)?);
    if rows.len() != labels.len() {
        return Err(PyValueError::new_err(format!("{} rows, but {} labels", rows.len(), labels.len())));
    }
    let found = interruptible(py, threads, move |_| Knn::new(rows)?.search(&queries, k))?;
    Ok(votes_out(py, &found, &names, &labels))
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
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<i64>>)> {
    let (rows, queries, labels) = (rows_of(rows)?, rows_of(queries)?, labels_of(&names, &codes)?);
    let maps = maps.iter().map(mat_of).collect::<PyResult<_>>()?;
    let local = LocalMaps::new(maps, groups.as_array().to_vec()).map_err(|error| to_python(&error))?;
    let found = interruptible(py, threads, move |_| local.search(&rows, &queries, k))?;
    Ok(votes_out(py, &found, &names, &labels))
}

/// The winner of each query, as a code into `names`, and the votes for every class.
#[allow(clippy::type_complexity)]
fn votes_out<'py>(
    py: Python<'py>,
    found: &Neighbors,
    names: &[String],
    labels: &Labels,
) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<i64>>) {
    // The library orders classes its own way, which decides ties; the caller's codes go back out.
    let code = |name: &String| names.iter().position(|other| other == name).unwrap_or(0);
    let theirs: Vec<usize> = labels.names().iter().map(code).collect();
    let winners = found.vote(labels).into_iter().map(|class| signed(theirs[class as usize]));
    let mut votes = vec![0i64; found.len() * names.len()];
    for (query, row) in votes.chunks_exact_mut(names.len().max(1)).enumerate() {
        let counts = found.votes(query, labels);
        theirs.iter().zip(counts).for_each(|(&class, count)| row[class] = signed(count));
    }
    (PyArray1::from_iter(py, winners), table_out(py, found.len(), names.len(), votes))
}

/// Counts and indices as NumPy has them; none comes near 2^63.
#[allow(clippy::cast_possible_wrap)]
fn signed(n: usize) -> i64 {
    n as i64
}
