//! Constraints from labels.

use crate::array::{labels_of, rows_of};
use crate::run::to_python;
use mahala::data::{Random, Stream};
use mahala::pairs::{Chunklets, Pairs, Quadruplets, Triplets};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

/// A table of row numbers.
type Indices<'py> = Bound<'py, PyArray2<i64>>;

/// `count` similar pairs and then `count` dissimilar ones.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn generate_pairs<'py>(
    py: Python<'py>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    count: usize,
    seed: u64,
) -> PyResult<Indices<'py>> {
    let random = &mut Random::of(seed, Stream::Pairs);
    let pairs = Pairs::of_each_kind(&labels_of(&names, &codes)?, count, random);
    let pairs = pairs.map_err(|error| to_python(&error))?;
    Ok(table(py, pairs.as_slice().iter().map(|pair| [pair.first, pair.second])))
}

/// Each row with its nearest rows of its own class and of others.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn generate_triplets<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    targets: usize,
    impostors: usize,
) -> PyResult<Indices<'py>> {
    let triplets = Triplets::nearest(&rows_of(x)?, &labels_of(&names, &codes)?, targets, impostors);
    let triplets = triplets.map_err(|error| to_python(&error))?;
    Ok(table(py, triplets.as_slice().iter().map(|t| [t.anchor, t.near, t.far])))
}

/// A similar pair and a dissimilar one each.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn generate_quadruplets<'py>(
    py: Python<'py>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    count: usize,
    seed: u64,
) -> PyResult<Indices<'py>> {
    let random = &mut Random::of(seed, Stream::Quadruplets);
    let quadruplets = Quadruplets::sampled(&labels_of(&names, &codes)?, count, random);
    let quadruplets = quadruplets.map_err(|error| to_python(&error))?;
    Ok(table(py, quadruplets.as_slice().iter().map(|q| [q.near[0], q.near[1], q.far[0], q.far[1]])))
}

/// The chunk of each row, or -1.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn generate_chunks<'py>(
    py: Python<'py>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    count: usize,
    size: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let random = &mut Random::of(seed, Stream::Chunklets);
    let chunks = Chunklets::sampled(&labels_of(&names, &codes)?, count, size, random);
    let chunks = chunks.map_err(|error| to_python(&error))?;
    Ok(PyArray1::from_iter(py, chunks.codes().iter().map(|code| code.map_or(-1, i64::from))))
}

/// Row numbers as an array, one tuple a row.
fn table<const N: usize>(py: Python<'_>, tuples: impl Iterator<Item = [usize; N]>) -> Indices<'_> {
    let cells: Vec<i64> = tuples.flatten().map(|index| i64::try_from(index).unwrap_or(i64::MAX)).collect();
    // The cells are whole tuples, so the shape fits.
    Array2::from_shape_vec((cells.len() / N, N), cells).unwrap_or_default().into_pyarray(py)
}
