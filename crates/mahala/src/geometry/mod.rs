//! The paper's mathematics: positive definite matrices, the geodesic between them, and what GMML minimises.

pub(crate) mod geodesic;
pub(crate) mod objective;
pub(crate) mod spd;

pub use geodesic::{
    Geodesic, geometric_mean, logdet_divergence, riemannian_distance, symmetrized_logdet_divergence,
};
pub use objective::{gradient_of_h, h, h_t, regularized_objective};
pub use spd::Spd;
