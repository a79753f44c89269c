//! An estimator's parameters as the library's.

use crate::array::mat_of;
use crate::run::to_python;
use crate::watch::Watched;
use mahala::data::Folds;
use mahala::geometry::Spd;
use mahala::gmml::{Components, PairRule, Prior, Regularization, TChoice};
use mahala::scatter::Balance;
use mahala::{Gmml, Labels};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The parameters, from a dictionary that names them all.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Params<'py> {
    t: Option<f64>,
    reg: Option<f64>,
    /// A number, or 'analytic'.
    shrinkage: Option<Bound<'py, PyAny>>,
    shrinkage_target: String,
    prior: Bound<'py, PyAny>,
    sampled: bool,
    standardize: bool,
    /// A whole number, or a share.
    rank: Option<Bound<'py, PyAny>>,
    principal: Option<usize>,
    k: usize,
    folds: usize,
    splits: Option<Splits<'py>>,
    /// The group of each row, by name: groups are not split between folds.
    groups: Option<Vec<String>>,
    selection_rows: usize,
    seed: u64,
    balance: Option<String>,
    /// Told how far the fit is.
    progress: Option<Py<PyAny>>,
}

/// The number of rows, and the training and held-out rows of each split.
#[derive(FromPyObject)]
struct Splits<'py>(usize, Vec<(PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>)>);

impl Params<'_> {
    /// The library's parameters.
    pub(crate) fn gmml(&self) -> PyResult<Gmml> {
        let regularization = match (self.reg, &self.shrinkage) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "reg and shrinkage cannot both be given; one must be None",
                ));
            }
            (Some(lambda), None) => Regularization::Lambda(lambda),
            (None, Some(rho)) => self.shrinkage(rho)?,
            (None, None) => Regularization::None,
        };
        Ok(Gmml {
            t: self.t.map_or(TChoice::CrossValidated, TChoice::Fixed),
            regularization,
            prior: self.prior()?,
            pairs: if self.sampled { PairRule::Sampled } else { PairRule::All },
            standardize: self.standardize,
            rank: self.rank.as_ref().map(components).transpose()?,
            principal: self.principal,
            k: self.k,
            folds: self.folds,
            splits: self.splits()?,
            selection_rows: self.selection_rows,
            seed: self.seed,
            balance: self.balance()?,
            ..Gmml::default()
        })
    }

    /// The groups, for a fit that takes them as they are.
    pub(crate) fn take_groups(&mut self) -> Option<Labels> {
        self.groups.take().map(Labels::new)
    }

    /// How the fit is watched.
    pub(crate) fn take_watch(&mut self) -> Watched {
        Watched { progress: self.progress.take(), ..Watched::default() }
    }

    fn splits(&self) -> PyResult<Option<Folds>> {
        let index = |&row: &u64| usize::try_from(row).unwrap_or(usize::MAX);
        let part = |rows: &PyReadonlyArray1<'_, u64>| rows.as_array().iter().map(index).collect();
        let folds = match (&self.splits, &self.groups) {
            (Some(Splits(n, splits)), _) => {
                Folds::given(*n, splits.iter().map(|(train, test)| (part(train), part(test))).collect())
            }
            (None, Some(groups)) => Folds::by_group(&Labels::new(groups), self.folds),
            (None, None) => return Ok(None),
        };
        folds.map(Some).map_err(|error| to_python(&error))
    }

    fn shrinkage(&self, rho: &Bound<'_, PyAny>) -> PyResult<Regularization> {
        if rho.extract::<String>().is_ok_and(|name| name == "analytic") {
            return Ok(Regularization::Analytic);
        }
        let rho = rho.extract()?;
        match &*self.shrinkage_target {
            "diagonal" => Ok(Regularization::Shrinkage(rho)),
            "similar" => Ok(Regularization::ShrinkSimilar(rho)),
            "similar-identity" => Ok(Regularization::ShrinkSimilarToIdentity(rho)),
            "identity" => Ok(Regularization::ShrinkToIdentity(rho)),
            other => Err(PyValueError::new_err(format!(
                "shrinkage_target is '{other}'; it must be 'diagonal', 'similar', 'similar-identity' or 'identity'"
            ))),
        }
    }

    fn balance(&self) -> PyResult<Balance> {
        match self.balance.as_deref() {
            None => Ok(Balance::None),
            Some("classes") => Ok(Balance::Classes),
            Some("class-pairs") => Ok(Balance::ClassPairs),
            Some(other) => Err(PyValueError::new_err(format!(
                "the balance of classes is '{other}'; it must be None, 'classes' or 'class-pairs'"
            ))),
        }
    }

    fn prior(&self) -> PyResult<Prior> {
        let Ok(name) = self.prior.extract::<String>() else {
            let matrix = Spd::named(mat_of(&self.prior)?, "prior").map_err(|error| to_python(&error))?;
            return Ok(Prior::Matrix(matrix));
        };
        match name.as_str() {
            "identity" => Ok(Prior::Identity),
            "diagonal" => Ok(Prior::Diagonal),
            "covariance" => Ok(Prior::Covariance),
            _ => Err(PyValueError::new_err(format!(
                "prior is '{name}'; it must be 'identity', 'diagonal', 'covariance' or a matrix"
            ))),
        }
    }
}

/// A whole number of coordinates, or the share they must hold.
fn components(rank: &Bound<'_, PyAny>) -> PyResult<Components> {
    rank.extract().map(Components::Count).or_else(|_| rank.extract().map(Components::Share))
}
