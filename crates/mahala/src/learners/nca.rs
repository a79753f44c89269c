//! NCA: neighbourhood components analysis (Goldberger, Roweis, Hinton and Salakhutdinov 2004).
//!
//! # Formula
//! ```text
//! p_ij = exp(−‖L(x_i − x_j)‖²) / Σ_{k≠i} exp(−‖L(x_i − x_k)‖²),    p_ii = 0
//! maximise  Σ_i p_i,   p_i = Σ_{j: y_j=y_i} p_ij       (the rows a random neighbour classifies rightly)
//!
//! ∇_L = 2 L Σ_ij w_ij x_ij x_ijᵀ,    w_ij = p_ij (p_i − [y_j = y_i])
//! ```
//!
//! The same sum, gradient and criteria of convergence as scikit-learn's; L-BFGS.

/// NCA's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Nca {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or one iteration gains less than this share.
    pub tolerance: f64,
    /// The first L.
    pub start: Start,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Nca {
    fn default() -> Self {
        Self { rank: None, max_iterations: 50, tolerance: 1e-5, start: Start::Auto, seed: 0 }
    }
}
