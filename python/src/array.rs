//! NumPy arrays in and out.
//!
//! A float64 array in native byte order is read where it lies, whatever its strides. What is misaligned, in
//! another byte order or of another type is converted by NumPy first.

use mahala::data::{Cells, Embeddings, SharedCells, SparseRows, canonical_label};
use mahala::{Labels, Mat, MatRef, Rows};
use numpy::ndarray::{Array2, ArrayView2};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// A matrix of float64, readable where it lies.
pub(crate) fn matrix_of<'py>(array: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, f64>> {
    if let Ok(array) = array.cast::<PyArray2<f64>>()
        && is_aligned(array)?
    {
        return Ok(array.try_readonly()?);
    }
    let numpy = array.py().import("numpy")?;
    let converted = numpy.call_method1("array", (array, "float64"))?;
    match converted.cast_into::<PyArray2<f64>>() {
        Ok(array) => Ok(array.try_readonly()?),
        Err(error) => {
            let seen = error.into_inner().getattr("ndim")?;
            Err(PyValueError::new_err(format!("an array with 2 dimensions is needed, this has {seen}")))
        }
    }
}

/// A matrix of float32, readable where it lies, if that is what the array is.
pub(crate) fn single_matrix_of<'py>(
    array: &Bound<'py, PyAny>,
) -> PyResult<Option<PyReadonlyArray2<'py, f32>>> {
    match array.cast::<PyArray2<f32>>() {
        Ok(array) if is_aligned(array)? => Ok(Some(array.try_readonly()?)),
        _ => Ok(None),
    }
}

/// A vector of float64.
pub(crate) fn vector_of(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let numpy = array.py().import("numpy")?;
    let array = numpy.call_method1("array", (array, "float64"))?;
    let array = array.cast_into::<PyArray1<f64>>().map_err(PyErr::from)?;
    Ok(array.try_readonly()?.as_array().to_vec())
}

/// Rows for the library: a row-major array is read where it lies, any other is copied.
pub(crate) fn rows_of(array: &Bound<'_, PyAny>) -> PyResult<Rows> {
    let matrix = matrix_of(array)?;
    let view = matrix.as_array();
    let columns = view.ncols();
    let held = view.as_slice().map(|cells| Held {
        _array: matrix.as_any().clone().unbind(),
        first: cells.as_ptr(),
        count: cells.len(),
    });
    let rows = array.py().detach(move || match held {
        Some(held) => Rows::shared(Arc::new(held), columns),
        None => Rows::new(view.iter().copied().collect(), columns),
    });
    rows.map_err(|error| crate::run::to_python(&error))
}

/// Embeddings for the library: row-major float64, float32 and float16 are read where they lie; other layouts are copied.
pub(crate) fn embeddings_of(array: &Bound<'_, PyAny>) -> PyResult<Embeddings> {
    // What most tables are is asked first: for one row, asking NumPy takes longer than the work.
    let plain = match shared::<f32>(array)? {
        Some((cells, d)) => Some((Cells::Single(cells), d)),
        None => shared::<f64>(array)?.map(|(cells, d)| (Cells::Double(cells), d)),
    };
    if let Some((cells, columns)) = plain {
        let table = array.py().detach(|| Embeddings::new(cells, columns));
        return table.map_err(|error| crate::run::to_python(&error));
    }
    let numpy = array.py().import("numpy")?;
    let array = numpy.call_method1("ascontiguousarray", (array,))?;
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let native: bool = array.getattr("dtype")?.getattr("isnative")?.extract()?;
    let cells = match name.as_str() {
        "float32" if native => shared::<f32>(&array)?.map(|(cells, d)| (Cells::Single(cells), d)),
        "float16" if native => shared::<u16>(&array.call_method1("view", ("uint16",))?)?
            .map(|(cells, d)| (Cells::Half(cells), d)),
        _ => {
            let kind = if matches!(name.as_str(), "float16" | "float32") { name.as_str() } else { "float64" };
            let converted = array.call_method1("astype", (kind,))?;
            if kind != "float64" {
                return embeddings_of(&converted);
            }
            shared::<f64>(&converted)?.map(|(cells, d)| (Cells::Double(cells), d))
        }
    };
    let Some((cells, columns)) = cells else {
        let seen = array.getattr("shape")?;
        return Err(PyValueError::new_err(format!(
            "a table with rows and columns is needed, this has shape {seen}"
        )));
    };
    array.py().detach(|| Embeddings::new(cells, columns)).map_err(|error| crate::run::to_python(&error))
}

/// Row-major cells, kept alive; none if the array is no table, or not aligned.
fn shared<T: Element + Sync + 'static>(
    array: &Bound<'_, PyAny>,
) -> PyResult<Option<(SharedCells<T>, usize)>> {
    let Ok(table) = array.cast::<PyArray2<T>>() else { return Ok(None) };
    let aligned = if is_aligned(table)? { array.clone() } else { array.call_method0("copy")? };
    let Ok(table) = aligned.cast::<PyArray2<T>>() else { return Ok(None) };
    let view = table.try_readonly()?;
    let view = view.as_array();
    let Some(cells) = view.as_slice() else { return Ok(None) };
    let held = Held { _array: aligned.clone().unbind(), first: cells.as_ptr(), count: cells.len() };
    Ok(Some((Arc::new(held), view.ncols())))
}

/// Embeddings as an array of float32, or float64 for double precision.
pub(crate) fn embeddings_out<'py>(py: Python<'py>, table: &Embeddings) -> Bound<'py, PyAny> {
    let (rows, columns) = (table.len(), table.columns());
    match table.cells() {
        Cells::Single(cells) => table_out(py, rows, columns, (**cells).as_ref().to_vec()).into_any(),
        Cells::Double(cells) => table_out(py, rows, columns, (**cells).as_ref().to_vec()).into_any(),
        _ => {
            let cells = (0..rows).flat_map(|i| table.row(i)).collect();
            table_out::<f64>(py, rows, columns, cells).into_any()
        }
    }
}

/// The arrays of a sparse table: row starts, columns, cells, and the number of columns.
#[derive(FromPyObject)]
pub(crate) struct Csr<'py>(
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
    usize,
);

impl Csr<'_> {
    /// Sparse rows for the library.
    pub(crate) fn rows(&self) -> PyResult<SparseRows> {
        let starts = self.0.as_array().iter().map(|&at| usize::try_from(at).unwrap_or(usize::MAX)).collect();
        let (indices, cells) = (self.1.as_array().to_vec(), self.2.as_array().to_vec());
        SparseRows::new(starts, indices, cells, self.3).map_err(|error| crate::run::to_python(&error))
    }
}

/// The cells of an array that is kept alive.
struct Held<T> {
    _array: Py<PyAny>,
    first: *const T,
    count: usize,
}

// SAFETY: the cells are only read, and the array that owns them is kept alive; releasing it from a thread
// without the interpreter is put off by PyO3 until one has it. As with every library that computes while
// Python goes on, other threads must not write to the array meanwhile.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Send for Held<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for Held<T> {}

impl<T> AsRef<[T]> for Held<T> {
    #[allow(unsafe_code)]
    fn as_ref(&self) -> &[T] {
        // SAFETY: pointer and length are those of a contiguous, aligned view of the array held.
        unsafe { std::slice::from_raw_parts(self.first, self.count) }
    }
}

/// A matrix in an array that is kept alive: read where it lies, whatever its strides.
pub(crate) struct HeldMatrix<T> {
    _array: Py<PyAny>,
    first: *const T,
    shape: [usize; 2],
    strides: [isize; 2],
}

// SAFETY: as for `Held`.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Send for HeldMatrix<T> {}
// SAFETY: as for `Held`.
#[allow(unsafe_code)]
unsafe impl<T: Sync> Sync for HeldMatrix<T> {}

impl<T: Element> HeldMatrix<T> {
    /// Holds an array, whose alignment its making has checked.
    pub(crate) fn new(array: &PyReadonlyArray2<'_, T>) -> Self {
        let view = array.as_array();
        let (rows, columns) = view.dim();
        let strides = [view.strides()[0], view.strides()[1]];
        let held = array.as_any().clone().unbind();
        Self { _array: held, first: view.as_ptr(), shape: [rows, columns], strides }
    }

    /// The matrix.
    #[allow(unsafe_code)]
    pub(crate) fn view(&self) -> MatRef<'_, T> {
        let ([rows, columns], [down, right]) = (self.shape, self.strides);
        // SAFETY: pointer, shape and strides are those of a valid, aligned view of the array held.
        unsafe { MatRef::from_raw_parts(self.first, rows, columns, down, right) }
    }
}

/// A small matrix, copied.
pub(crate) fn mat_of(array: &Bound<'_, PyAny>) -> PyResult<Mat<f64>> {
    let matrix = matrix_of(array)?;
    let view = matrix.as_array();
    Ok(Mat::from_fn(view.nrows(), view.ncols(), |i, j| view[(i, j)]))
}

/// The library's spelling of labels: those that are one class become equal.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn canonical_labels(labels: Vec<String>) -> Vec<String> {
    labels.iter().map(|label| canonical_label(label).into_owned()).collect()
}

/// Labels from class names and codes into them, in the library's order of names; classes no row has are left out.
pub(crate) fn labels_of(names: &[String], codes: &PyReadonlyArray1<'_, u32>) -> PyResult<Labels> {
    let codes = codes.as_array();
    // As many as there are names: each is looked at once, and not once a row.
    let mut place = vec![None; names.len()];
    let mut used = Vec::new();
    let mut own = Vec::with_capacity(codes.len());
    for &code in codes {
        let Some(place) = place.get_mut(code as usize) else {
            return Err(PyValueError::new_err(format!("class code {code}, but {} classes", names.len())));
        };
        own.push(*place.get_or_insert_with(|| {
            used.push(names[code as usize].clone());
            used.len() as u32 - 1
        }));
    }
    Labels::from_spellings(&used, own).map_err(|error| crate::run::to_python(&error))
}

/// A view as faer's: no copy.
#[allow(unsafe_code)]
pub(crate) fn mat_ref<'a, T>(view: &'a ArrayView2<'_, T>) -> MatRef<'a, T> {
    let (rows, columns) = view.dim();
    let (down, right) = (view.strides()[0], view.strides()[1]);
    // SAFETY: pointer, shape and strides (in elements, of either sign) are those of a valid view, whose
    // alignment `matrix_of` has checked; the result borrows the view and only reads.
    unsafe { MatRef::from_raw_parts(view.as_ptr(), rows, columns, down, right) }
}

/// Rows as an array.
pub(crate) fn rows_out<'py>(py: Python<'py>, rows: &Rows) -> Bound<'py, PyArray2<f64>> {
    table_out(py, rows.len(), rows.columns(), rows.values().to_vec())
}

/// Rows that nobody else has as an array, without a copy.
pub(crate) fn rows_into(py: Python<'_>, rows: Rows) -> Bound<'_, PyArray2<f64>> {
    let (n, columns) = (rows.len(), rows.columns());
    table_out(py, n, columns, rows.into_values())
}

/// Row-major cells as an array.
pub(crate) fn table_out<T: numpy::Element>(
    py: Python<'_>,
    rows: usize,
    columns: usize,
    cells: Vec<T>,
) -> Bound<'_, PyArray2<T>> {
    match Array2::from_shape_vec((rows, columns), cells) {
        Ok(table) => table.into_pyarray(py),
        // Not reachable: the cells are counted where they are made.
        Err(_) => PyArray2::zeros(py, (0, columns), false),
    }
}

/// A matrix as an array.
pub(crate) fn mat_out<'py>(py: Python<'py>, matrix: MatRef<'_, f64>) -> Bound<'py, PyArray2<f64>> {
    Array2::from_shape_fn((matrix.nrows(), matrix.ncols()), |(i, j)| matrix[(i, j)]).into_pyarray(py)
}

fn is_aligned<T: Element>(array: &Bound<'_, PyArray2<T>>) -> PyResult<bool> {
    let aligned: bool = array.getattr("flags")?.getattr("aligned")?.extract()?;
    // Strides that are no multiple of the cells' size cannot be given to a matrix library.
    Ok(aligned && array.strides().iter().all(|stride| stride.unsigned_abs().is_multiple_of(size_of::<T>())))
}
