//! The methods that GMML is compared with, behind the one interface of [`mahala::learner::Learner`].
//!
//! One file each, with the method's equations at its head. They iterate, report each iteration to an progress, and return
//! the best metric they have when they stop. [`named`] finds a method by its name.
#![forbid(unsafe_code)]

mod constraints;
mod covariance;
mod euclidean;
mod flatgeo;
mod itml;
mod labelled;
mod lbfgs;
mod lmnn;
mod mcml;
mod mmc;
mod named;
mod nca;
mod reach;
mod softmax;
mod start;

pub use covariance::Covariance;
pub use euclidean::Euclidean;
pub use flatgeo::FlatGeo;
pub use itml::{GammaChoice, Itml};
pub use lmnn::{Hinge, Lmnn};
pub use mcml::Mcml;
pub use mmc::Mmc;
pub use named::{NAMES, named};
pub use nca::Nca;
pub use start::Start;
