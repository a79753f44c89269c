//! LMNN: large margin nearest neighbours (Weinberger and Saul 2009).
//!
//! # Formula
//! ```text
//! D_ij = ‖L(x_i − x_j)‖²,   targets T(i): the K nearest rows of i's class in input space, fixed
//!
//! squared:  Σ_i Σ_{j∈T(i)} D_ij + Σ_i Σ_{j∈T(i)} Σ_{l: y_l≠y_i} [1 + D_ij − D_il]₊²
//! classic:  (1−μ) Σ_i Σ_{j∈T(i)} D_ij + μ Σ_i Σ_{j∈T(i)} Σ_{l: y_l≠y_i} [1 + D_ij − D_il]₊
//!
//! ∇_L = 2 Σ w_ij · L x_ij x_ijᵀ = 2 (Laplacian(w)·XLᵀ)ᵀ X,    x_ij = x_i − x_j
//! ```
//!
//! A pair's weight w is the derivative of the objective by its distance. The impostors (rows l with a
//! positive bracket) are exact at every evaluation. Minimised over L by L-BFGS. At full rank every local
//! minimum is a global one.
//!
//! The margin is 1 in the units of the rows, as in the paper: nothing is rescaled. A class of at most K rows
//! lowers K for its own rows to its size − 1; a row alone in its class has no target, but is an impostor to
//! others.

/// LMNN's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Lmnn {
    /// K, the targets of each row: its nearest rows of the same class.
    pub targets: usize,
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// Which of the two objectives.
    pub hinge: Hinge,
    /// μ, the share of the hinges in the classic objective, between 0 and 1; the squared one has no such
    /// weight.
    pub push: f64,
    /// The first L.
    pub start: Start,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when one iteration lowers the objective by less than this share.
    pub tolerance: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

/// The loss of an impostor inside the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hinge {
    /// The square of the intrusion: smooth.
    #[default]
    Squared,
    /// The intrusion itself: the first edition.
    Classic,
}

impl Default for Lmnn {
    fn default() -> Self {
        Self {
            targets: 3,
            rank: None,
            hinge: Hinge::Squared,
            push: 0.5,
            start: Start::Pca,
            max_iterations: 100,
            tolerance: 1e-5,
            seed: 0,
        }
    }
}
