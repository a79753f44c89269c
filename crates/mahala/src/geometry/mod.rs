//! The paper's mathematics: positive definite matrices, geodesics, divergences, and GMML's objectives.

pub(crate) mod divergence;
pub(crate) mod geodesic;
pub(crate) mod objective;
pub(crate) mod spd;

pub use divergence::{logdet_divergence, symmetrized_logdet_divergence};
pub use geodesic::{Geodesic, geometric_mean, riemannian_distance};
pub use objective::{gradient_of_h, h, h_t, regularized_objective};
pub use spd::Spd;
