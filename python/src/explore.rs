//! A page on which t moves the points.

use crate::fit::dataset;
use crate::params::Params;
use crate::watch::watched;
use mahala_page::{Explorer, Settings, Source};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// The page of rows and labels, as HTML.
#[pyfunction]
#[pyo3(signature = (x, names, codes, params, title, columns, limits, threads))]
#[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
pub(crate) fn explore<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    names: Vec<String>,
    codes: PyReadonlyArray1<'py, u32>,
    mut params: Params<'py>,
    title: String,
    columns: Vec<String>,
    limits: [usize; 3],
    threads: Option<usize>,
) -> PyResult<String> {
    // Taken first: groups that fold are not splits, too.
    let groups = params.take_groups();
    let [max_rows, coordinates, steps] = limits;
    let settings = Settings { gmml: params.gmml()?, max_rows, coordinates, steps };
    let (watch, data) = (params.take_watch(), dataset(x, &names, &codes)?);
    watched(py, threads, watch, move |progress| {
        let source = Source { title: &title, columns: &columns, row_numbers: None, groups: groups.as_ref() };
        Ok(Explorer::new(&data, &source, &settings, progress)?.to_html())
    })
}
