//! Moments as a Python class.

use crate::array::{labels_of, mat_ref, matrix_of, single_matrix_of, vector_of};
use crate::run::{detached, to_python};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Per class: count, mean and centred scatter of rows.
#[pyclass(module = "mahala._mahala", subclass)]
pub(crate) struct Moments(mahala::scatter::Moments);

impl Moments {
    pub(crate) fn inner(&self) -> &mahala::scatter::Moments {
        &self.0
    }
}

#[pymethods]
impl Moments {
    #[new]
    fn new(n_features: usize) -> PyResult<Self> {
        mahala::scatter::Moments::new(n_features).map(Self).map_err(|error| to_python(&error))
    }

    /// Adds rows; an array of float64 of any layout is read where it lies.
    #[pyo3(signature = (x, names, codes, weights, threads))]
    #[allow(clippy::needless_pass_by_value)]
    fn add(
        &mut self,
        x: &Bound<'_, PyAny>,
        names: Vec<String>,
        codes: PyReadonlyArray1<'_, u32>,
        weights: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<()> {
        let labels = labels_of(&names, &codes)?;
        let weights = weights.map(vector_of).transpose()?;
        let moments = &mut self.0;
        if let Some(matrix) = single_matrix_of(x)? {
            let view = matrix.as_array();
            let update = move || moments.update(mat_ref(&view), &labels, weights.as_deref());
            return detached(x.py(), threads, update);
        }
        let matrix = matrix_of(x)?;
        let view = matrix.as_array();
        detached(x.py(), threads, move || moments.update(mat_ref(&view), &labels, weights.as_deref()))
    }

    /// Adds the rows another instance has seen.
    fn add_moments(&mut self, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.try_borrow()?.0.clone();
        self.0.merge(&other).map_err(|error| to_python(&error))
    }

    /// Takes the rows another instance has seen away again.
    fn take_moments(&mut self, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.try_borrow()?.0.clone();
        self.0.subtract(&other).map_err(|error| to_python(&error))
    }

    /// Lets what was seen so far count for less.
    fn fade(&mut self, factor: f64) -> PyResult<()> {
        self.0.forget(factor).map_err(|error| to_python(&error))
    }

    /// The moments as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// Takes the place of these moments what `to_bytes` wrote.
    fn set_bytes(&mut self, bytes: &[u8]) -> PyResult<()> {
        self.0 = mahala::scatter::Moments::from_bytes(bytes).map_err(|error| to_python(&error))?;
        Ok(())
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.columns()
    }

    #[getter]
    fn n_samples(&self) -> u64 {
        self.0.rows()
    }

    /// The classes' names, in order.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().iter().map(|class| class.name().to_owned()).collect()
    }

    /// How many rows of each class.
    #[getter]
    fn counts(&self) -> Vec<u64> {
        self.0.classes().iter().map(mahala::scatter::ClassMoments::rows).collect()
    }

    /// The weight of each class.
    #[getter]
    fn weights(&self) -> Vec<f64> {
        self.0.classes().iter().map(mahala::scatter::ClassMoments::weight).collect()
    }

    /// The mean of one class, in units of `2**units`.
    fn class_mean<'py>(&self, py: Python<'py>, class: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.class(class)?.mean()))
    }

    /// The centred scatter of one class, both triangles, in units of `2**(units[i] + units[j])`.
    fn class_scatter<'py>(&self, py: Python<'py>, class: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let lower = self.class(class)?.scatter();
        let d = lower.nrows();
        let cells = (0..d * d).map(|at| lower[((at / d).max(at % d), (at / d).min(at % d))]).collect();
        Ok(crate::array::table_out(py, d, d, cells))
    }

    /// The power of two each column is measured in; 0 unless its numbers are extreme.
    #[getter]
    fn units(&self) -> Vec<i32> {
        self.0.units().to_vec()
    }
}

impl Moments {
    fn class(&self, class: usize) -> PyResult<&mahala::scatter::ClassMoments> {
        let classes = self.0.classes();
        classes.get(class).ok_or_else(|| PyIndexError::new_err(format!("class {class} of {}", classes.len())))
    }
}

/// The moments of the last blocks of a stream.
#[pyclass(module = "mahala._mahala", subclass)]
pub(crate) struct Window(mahala::scatter::Window);

#[pymethods]
impl Window {
    #[new]
    fn new(n_features: usize, length: usize) -> PyResult<Self> {
        mahala::scatter::Window::new(n_features, length).map(Self).map_err(|error| to_python(&error))
    }

    /// Adds the moments of a block; the oldest leaves if there are too many.
    fn add_block(&mut self, block: &Bound<'_, Moments>) -> PyResult<()> {
        let block = block.try_borrow()?.0.clone();
        self.0.push(block).map_err(|error| to_python(&error))
    }

    /// The moments of the blocks in the window, as bytes.
    fn sum_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.moments().to_bytes())
    }

    /// Length, blocks, their sum (both as bytes), and how many blocks have left since the sum was made anew.
    fn state<'py>(&self, py: Python<'py>) -> WindowState<'py> {
        let (length, blocks, sum, left) = self.0.state();
        let bytes = |moments: &mahala::scatter::Moments| PyBytes::new(py, &moments.to_bytes());
        (length, blocks.map(bytes).collect(), bytes(sum), left)
    }

    /// Restores the window that `state` described.
    #[allow(clippy::needless_pass_by_value)]
    fn set_state(&mut self, state: WindowState<'_>) -> PyResult<()> {
        let (length, blocks, sum, left) = state;
        let moments = |bytes: &Bound<'_, PyBytes>| mahala::scatter::Moments::from_bytes(bytes.as_bytes());
        let restored = blocks
            .iter()
            .map(moments)
            .collect::<mahala::Result<_>>()
            .and_then(|blocks| mahala::scatter::Window::restored(length, blocks, moments(&sum)?, left));
        self.0 = restored.map_err(|error| to_python(&error))?;
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

type WindowState<'py> = (usize, Vec<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, usize);
