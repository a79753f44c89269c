//! Online learners as a Python class.

use crate::array::{Csr, mat_out, rows_of};
use crate::run::to_python;
use mahala::Error;
use mahala::data::SparseRows;
use mahala_baselines::LoretaForm;
use mahala_baselines::online::{
    Online as State, OnlineBilinearLoreta, OnlineGmml, OnlineLego, OnlineLoreta, OnlineMoml, OnlineOasis,
    OnlinePola,
};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;

/// A learner that sees one pair or triplet at a time.
#[pyclass(module = "mahala._mahala")]
pub(crate) struct Online(Learner);

enum Learner {
    /// The one that learns from sparse rows.
    Oasis(OnlineOasis),
    /// The one with two factors.
    Bilinear(Box<OnlineBilinearLoreta>),
    Other(Box<dyn State + Send + Sync>),
}

impl Learner {
    fn state(&self) -> &dyn State {
        match self {
            Self::Oasis(oasis) => oasis,
            Self::Bilinear(loreta) => &**loreta,
            Self::Other(state) => &**state,
        }
    }

    fn state_mut(&mut self) -> &mut dyn State {
        match self {
            Self::Oasis(oasis) => oasis,
            Self::Bilinear(loreta) => &mut **loreta,
            Self::Other(state) => &mut **state,
        }
    }
}

/// Which learner, with its parameters.
#[derive(Deserialize)]
#[serde(tag = "method", rename_all = "lowercase", deny_unknown_fields)]
enum Method {
    Gmml { t: f64, lambda: f64 },
    Lego { step: f64, bounds: (f64, f64) },
    Loreta { form: LoretaForm, rank: Option<usize>, step: f64, seed: u64 },
    Moml { step: f64 },
    Oasis { aggressiveness: f64 },
    Pola {},
}

impl Method {
    fn state(self, columns: usize) -> Result<Learner, Error> {
        Ok(Learner::Other(match self {
            Self::Gmml { t, lambda } => Box::new(OnlineGmml::new(columns, t, lambda)?),
            Self::Lego { step, bounds } => Box::new(OnlineLego::new(columns, step, bounds)?),
            Self::Loreta { form: LoretaForm::General, rank, step, seed } => {
                let state = OnlineBilinearLoreta::new(columns, rank.unwrap_or(columns), step, seed)?;
                return Ok(Learner::Bilinear(Box::new(state)));
            }
            Self::Loreta { form: LoretaForm::Psd, rank, step, seed } => {
                Box::new(OnlineLoreta::new(columns, rank.unwrap_or(columns), step, seed)?)
            }
            Self::Moml { step } => Box::new(OnlineMoml::new(columns, step)?),
            Self::Oasis { aggressiveness } => {
                return OnlineOasis::new(columns, aggressiveness).map(Learner::Oasis);
            }
            Self::Pola {} => Box::new(OnlinePola::new(columns)?),
        }))
    }
}

#[pymethods]
impl Online {
    /// A learner that has seen nothing; `parameters` are JSON, with the method's name.
    #[new]
    fn new(columns: usize, parameters: &str) -> PyResult<Self> {
        let method: Method =
            serde_json::from_str(parameters).map_err(|error| PyValueError::new_err(error.to_string()))?;
        method.state(columns).map(Self).map_err(|error| to_python(&error))
    }

    /// The losses before each update, one row of `first` and `second` after the other.
    fn update_pairs<'py>(
        &mut self,
        first: &Bound<'py, PyAny>,
        second: &Bound<'py, PyAny>,
        similar: Vec<bool>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let [a, b] = [rows_of(first)?, rows_of(second)?];
        let state = self.0.state_mut();
        let update = |(i, similar): (usize, bool)| state.update_pair(a.row(i), b.row(i), similar);
        let losses: Result<Vec<f64>, Error> = similar.into_iter().enumerate().map(update).collect();
        Ok(PyArray1::from_vec(first.py(), losses.map_err(|error| to_python(&error))?))
    }

    /// The losses before each update: a row of `anchor` should be nearer to that of `near` than to that of `far`.
    fn update_triplets<'py>(
        &mut self,
        anchor: &Bound<'py, PyAny>,
        near: &Bound<'py, PyAny>,
        far: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let [a, p, q] = [rows_of(anchor)?, rows_of(near)?, rows_of(far)?];
        let state = self.0.state_mut();
        let update = |i: usize| state.update_triplet(a.row(i), p.row(i), q.row(i));
        let losses: Result<Vec<f64>, Error> = (0..a.len()).map(update).collect();
        Ok(PyArray1::from_vec(anchor.py(), losses.map_err(|error| to_python(&error))?))
    }

    /// The losses of sparse triplets before each update: what one costs is the products of its non-zeros.
    #[allow(clippy::needless_pass_by_value)]
    fn update_sparse_triplets<'py>(
        &mut self,
        py: Python<'py>,
        anchor: Csr<'py>,
        near: Csr<'py>,
        far: Csr<'py>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let Learner::Oasis(oasis) = &mut self.0 else {
            return Err(PyValueError::new_err("sparse rows: only OASIS learns from them"));
        };
        let [a, p, q] = [anchor.rows()?, near.rows()?, far.rows()?];
        let row = |rows: &SparseRows, i: usize| rows.row(i).collect::<Vec<(usize, f64)>>();
        let update = |i: usize| oasis.update_sparse(&row(&a, i), &row(&p, i), &row(&q, i));
        let losses: Result<Vec<f64>, Error> = (0..a.len().min(p.len()).min(q.len())).map(update).collect();
        Ok(PyArray1::from_vec(py, losses.map_err(|error| to_python(&error))?))
    }

    /// The entries of W − I that updates of sparse rows have reached.
    fn stored_entries(&self) -> Option<usize> {
        match &self.0 {
            Learner::Oasis(oasis) => Some(oasis.entries()),
            Learner::Bilinear(_) | Learner::Other(_) => None,
        }
    }

    /// A and B of a similarity `W = ABᵀ`.
    fn factors<'py>(&self, py: Python<'py>) -> Option<[Bound<'py, PyArray2<f64>>; 2]> {
        match &self.0 {
            Learner::Bilinear(loreta) => Some(loreta.factors().map(|factor| mat_out(py, factor))),
            Learner::Oasis(_) | Learner::Other(_) => None,
        }
    }

    /// The components of the metric of everything seen so far.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let metric = self.0.state().metric().map_err(|error| to_python(&error))?;
        Ok(mat_out(py, metric.components()))
    }
}
