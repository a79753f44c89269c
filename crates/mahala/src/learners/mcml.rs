//! MCML: maximally collapsing metric learning (Globerson and Roweis 2005).
//!
//! # Formula
//! ```text
//! p_ij = exp(−d_A(i,j)) / Σ_{k≠i} exp(−d_A(i,k)),    q_ij = [y_j = y_i] / (n_{y_i} − 1),   j ≠ i
//! minimise over A ⪰ 0   f(A) = Σ_i [ Σ_j q_ij d_A(i,j) + log Σ_{k≠i} exp(−d_A(i,k)) ]
//!
//! ∇f(A) = Σ_ij (q_ij − p_ij) x_ij x_ijᵀ
//! A₊ = Π(A − α∇f(A)),   Π: negative eigenvalues to 0
//! ```
//!
//! f is Σ_i KL(q_i ‖ p_i) up to a constant, and convex: there is one minimum, and no rank is chosen before.

/// MCML's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcml {
    /// The most projected gradient steps.
    pub max_iterations: usize,
    /// Converged when one step lowers the objective by less than this share.
    pub tolerance: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Mcml {
    fn default() -> Self {
        Self { max_iterations: 1000, tolerance: 1e-7, seed: 0 }
    }
}
impl super::Learner for Mcml {
    fn name(&self) -> &'static str { "mcml" }
    fn learn(&self, _: &super::Training<'_>, _: &mut super::Observer<'_>) -> crate::Result<super::Learned> { unimplemented!() }
}
