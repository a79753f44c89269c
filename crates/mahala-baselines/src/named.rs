//! Methods by name, with parameters from outside: the interface of the command and of Python.

use crate::{
    Covariance, Dmlmj, Euclidean, FlatGeo, GmmlRegression, Itml, Kissme, Lda, Ldml, Lego, Lfda, Lmnn, Loreta,
    Lsml, Mcml, Mlkr, Mmc, Moml, Nca, Ncmml, Oasis, Pola, Rca, RobustGmml, Scml, Sdml, Xqda,
};
use mahala::auto::Auto;
use mahala::auto::Recipe;
use mahala::error::{Error, Result};
use mahala::learner::Learner;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The names of the methods of [`named`]. GMML is not one of them: its parameters are not all plain numbers.
pub const NAMES: [&str; 30] = [
    "auto",
    "auto-kernel",
    "recipe",
    "euclidean",
    "covariance",
    "itml",
    "lmnn",
    "nca",
    "mcml",
    "mmc",
    "flatgeo",
    "rca",
    "lda",
    "lfda",
    "kissme",
    "xqda",
    "dmlmj",
    "mlkr",
    "ncmml",
    "ldml",
    "lego",
    "pola",
    "oasis",
    "loreta",
    "moml",
    "scml",
    "lsml",
    "sdml",
    "robust-gmml",
    "gmml-regression",
];

/// A method by its name, with parameters by the names of its fields; those not given have their defaults.
///
/// ```
/// use mahala_baselines::named;
/// let itml = named("itml", serde_json::json!({"gamma": 0.1}))?;
/// assert_eq!(itml.parameters()["gamma"], 0.1);
/// let error = named("itml", serde_json::json!({"gama": 0.1})).err().map(|error| error.to_string());
/// assert!(error.is_some_and(|text| text.contains("expected one of `gamma`")));
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// A name or a parameter that does not exist, or a value of the wrong type.
pub fn named(name: &str, parameters: Value) -> Result<Box<dyn Learner>> {
    match name {
        "auto" => read::<Auto>("auto", parameters),
        "auto-kernel" => {
            let mut parameters = parameters;
            if let Some(fields) = parameters.as_object_mut() {
                fields.entry("kernels").or_insert(true.into());
            }
            read::<Auto>("auto-kernel", parameters)
        }
        "recipe" => read::<Recipe>("recipe", parameters),
        "euclidean" => read::<Euclidean>("euclidean", parameters),
        "covariance" => read::<Covariance>("covariance", parameters),
        "itml" => read::<Itml>("itml", parameters),
        "flatgeo" => read::<FlatGeo>("flatgeo", parameters),
        "lmnn" => read::<Lmnn>("lmnn", parameters),
        "nca" => read::<Nca>("nca", parameters),
        "mcml" => read::<Mcml>("mcml", parameters),
        "mmc" => read::<Mmc>("mmc", parameters),
        "rca" => read::<Rca>("rca", parameters),
        "lda" => read::<Lda>("lda", parameters),
        "lfda" => read::<Lfda>("lfda", parameters),
        "kissme" => read::<Kissme>("kissme", parameters),
        "xqda" => read::<Xqda>("xqda", parameters),
        "dmlmj" => read::<Dmlmj>("dmlmj", parameters),
        "mlkr" => read::<Mlkr>("mlkr", parameters),
        "ncmml" => read::<Ncmml>("ncmml", parameters),
        "ldml" => read::<Ldml>("ldml", parameters),
        "lego" => read::<Lego>("lego", parameters),
        "pola" => read::<Pola>("pola", parameters),
        "oasis" => read::<Oasis>("oasis", parameters),
        "loreta" => read::<Loreta>("loreta", parameters),
        "moml" => read::<Moml>("moml", parameters),
        "scml" => read::<Scml>("scml", parameters),
        "lsml" => read::<Lsml>("lsml", parameters),
        "sdml" => read::<Sdml>("sdml", parameters),
        "robust-gmml" => read::<RobustGmml>("robust-gmml", parameters),
        "gmml-regression" => read::<GmmlRegression>("gmml-regression", parameters),
        _ => Err(Error::Parameter { name: "method", value: name.to_owned(), allowed: "one of those listed" }),
    }
}

fn read<T: Learner + DeserializeOwned + 'static>(
    method: &'static str,
    parameters: Value,
) -> Result<Box<dyn Learner>> {
    match serde_json::from_value::<T>(parameters) {
        Ok(learner) => Ok(Box::new(learner)),
        Err(error) => Err(Error::MethodParameters { method, reason: error.to_string() }),
    }
}
