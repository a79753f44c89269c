//! The methods that GMML is compared with, behind the one interface of [`mahala::learner::Learner`].
//!
//! One file each, with the method's equations at its head. They iterate, report each iteration to a progress, and return
//! the best metric they have when they stop. [`named`] finds a method by its name.
#![forbid(unsafe_code)]

mod constraints;
mod covariance;
mod dmlmj;
mod euclidean;
mod flatgeo;
mod glasso;
mod gmml_regression;
mod itml;
mod kissme;
mod labelled;
mod lbfgs;
mod lda;
mod ldml;
mod lfda;
mod lmnn;
mod lsml;
mod mcml;
mod mlkr;
mod mmc;
mod multitask;
mod named;
mod nca;
mod ncmml;
pub mod online;
mod pencil;
mod plda;
mod rca;
mod reach;
mod robust;
mod scml;
mod sdml;
mod softmax;
mod start;
mod xqda;

pub use covariance::Covariance;
pub use dmlmj::Dmlmj;
pub use euclidean::Euclidean;
pub use flatgeo::FlatGeo;
pub use gmml_regression::GmmlRegression;
pub use itml::{GammaChoice, Itml};
pub use kissme::Kissme;
pub use lda::Lda;
pub use ldml::Ldml;
pub use lfda::{Embedding, Lfda};
pub use lmnn::{Hinge, Lmnn, MultiLmnn, MultiMetrics};
pub use lsml::Lsml;
pub use mcml::Mcml;
pub use mlkr::Mlkr;
pub use mmc::Mmc;
pub use multitask::{MultiTaskFit, MultiTaskGmml, karcher_mean};
pub use named::{NAMES, named};
pub use nca::Nca;
pub use ncmml::Ncmml;
pub use online::{Lego, Loreta, LoretaForm, Moml, Oasis, Pola};
pub use plda::{Plda, PldaModel};
pub use rca::Rca;
pub use robust::RobustGmml;
pub use scml::Scml;
pub use scml::features::KernelFeatures;
pub use scml::local::{LocalScml, LocalScmlMetrics};
pub use sdml::Sdml;
pub use start::Start;
pub use xqda::Xqda;
