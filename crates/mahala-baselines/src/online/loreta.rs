//! LORETA: online learning on the manifold of low-rank matrices (Shalit, Weinshall and Chechik 2010). This file has the
//! parameters and the positive semidefinite form; the general one is [`OnlineBilinearLoreta`].
//!
//! # Formula
//! ```text
//! W = UUᵀ of rank k,    ℓ = [1 + d_W(x, p) − d_W(x, q)]₊
//! two rank-one steps where ℓ > 0:   W ← R(W − η(x−p)(x−p)ᵀ),   W ← R(W + η(x−q)(x−q)ᵀ)
//!
//! R(W + ηvvᵀ):   h = U⁺v,  s = η‖h‖²,    U ← U + c(ηh)ᵀ,   c = (−½ + ⅜s)·UU⁺v + (1 − ½s)·v
//! ```
//! R is the retraction of second order: a step in the tangent space at W, and back to rank k. The loss compares
//! distances, so that W is the metric itself and the origin does not matter. U⁺v is (UᵀU)⁻¹Uᵀv; the k×k matrix `UᵀU` is
//! updated with U and computed anew every thousand steps, so a triplet costs O(dk + k³). A step is shortened to
//! |s| ≤ ½, where the retraction is close.

use crate::online::bilinear_loreta::OnlineBilinearLoreta;
use crate::online::factor::Factor;
use crate::online::presentation::{Presentation, nearest_triplets};
use crate::online::{Online, checked_columns, checked_positive, difference, dot, needs_triplets};
use crate::pencil::checked_rank;
use faer::MatRef;
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest |s|.
pub(super) const REACH: f64 = 0.5;

/// What LORETA keeps at a given rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoretaForm {
    /// `W = UUᵀ`, which is the metric: triplets compare distances.
    #[default]
    Psd,
    /// `W = ABᵀ`, a similarity `pᵀWq` as that of OASIS, of which the metric is the positive semidefinite part of `½(W + Wᵀ)`.
    General,
}

/// Parameters of LORETA as a batch learner: centred rows of length 1 at most, triplets in passes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loreta {
    /// Whether W is a metric or a similarity.
    pub form: LoretaForm,
    /// The rank of W; all columns if None.
    pub rank: Option<usize>,
    /// The step size η.
    pub step: f64,
    /// Nearest rows of its own class for each row of a labelled table; 3 if None. Refused with triplets.
    pub targets: Option<usize>,
    /// Nearest rows of other classes for each of these; 10 if None. Refused with triplets.
    pub impostors: Option<usize>,
    /// How often each triplet is presented.
    pub passes: usize,
    /// The seed of the order, and of the first U below the full rank.
    pub seed: u64,
}

impl Default for Loreta {
    fn default() -> Self {
        Self {
            form: LoretaForm::Psd,
            rank: None,
            step: 0.01,
            targets: None,
            impostors: None,
            passes: 1,
            seed: 0,
        }
    }
}

impl Learner for Loreta {
    fn name(&self) -> &'static str {
        "loreta"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let rank = self.rank.unwrap_or(shape.columns) as f64;
        let triplets = nearest_triplets(shape, [self.targets, self.impostors]);
        let factors = 8.0 * rank * (shape.columns as f64 + rank);
        // The positive semidefinite part is taken of a whole matrix.
        let whole = if self.form == LoretaForm::Psd { 0.0 } else { 5.0 };
        factors + shape.matrices(whole, 2.0) + 6.0 * triplets + 3.0 * shape.pairs as f64
    }

    /// Iterations are passes; the objective is the mean of ℓ before the updates.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let rank = checked_rank(self.rank, training.rows().columns())?;
        let presentation = Presentation::of_triplets(training, self.name(), [self.targets, self.impostors])?;
        let columns = presentation.rows.columns();
        match self.form {
            LoretaForm::Psd => {
                let mut state = OnlineLoreta::new(columns, rank, self.step, self.seed)?;
                presentation.learned(&mut state, self.passes, self.seed, progress)
            }
            LoretaForm::General => {
                let mut state = OnlineBilinearLoreta::new(columns, rank, self.step, self.seed)?;
                presentation.learned(&mut state, self.passes, self.seed, progress)
            }
        }
    }
}

/// The state of LORETA.
///
/// ```
/// use mahala_baselines::online::{Online, OnlineLoreta};
/// let mut loreta = OnlineLoreta::new(50, 3, 0.1, 0)?;
/// let row = |at: usize| (0..50).map(|j| f64::from(u8::from(j == at))).collect::<Vec<_>>();
/// loreta.update_triplet(&row(0), &row(1), &row(2))?;
/// assert_eq!(loreta.metric()?.rank(), 3);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineLoreta {
    factor: Factor,
    step: f64,
}

impl OnlineLoreta {
    /// U = I at full rank, else of uniform entries with columns of length 1 on average.
    ///
    /// # Errors
    /// No column, a rank of 0 or above the number of columns, or a step size that is not positive and finite.
    pub fn new(columns: usize, rank: usize, step: f64, seed: u64) -> Result<Self> {
        let rank = checked_rank(Some(rank), checked_columns(columns)?)?;
        let step = checked_positive("step", step)?;
        Ok(Self { factor: Factor::drawn(columns, rank, seed), step })
    }

    /// U.
    pub fn factor(&self) -> MatRef<'_, f64> {
        self.factor.matrix()
    }

    /// `R(W + ηvvᵀ)`.
    fn retract(&mut self, eta: f64, v: &[f64]) -> Result<()> {
        let h = self.factor.pseudo_inverse(v)?;
        let square = dot(&h, &h);
        if square == 0.0 {
            return Ok(()); // v is orthogonal to the range of W, and so is the step to the tangent space
        }
        let eta = eta.clamp(-REACH / square, REACH / square);
        let s = eta * square;
        let c = self.factor.mixed((1.0 - 0.5 * s, v), (-0.5 + 0.375 * s, &h));
        let g: Vec<f64> = h.iter().map(|h| eta * h).collect();
        self.factor.add(&c, &g);
        Ok(())
    }
}

impl Online for OnlineLoreta {
    fn name(&self) -> &'static str {
        "loreta"
    }

    fn columns(&self) -> usize {
        self.factor().nrows()
    }

    fn update_pair(&mut self, _: &[f64], _: &[f64], _: bool) -> Result<f64> {
        Err(needs_triplets(self.name()))
    }

    fn update_triplet(&mut self, anchor: &[f64], near: &[f64], far: &[f64]) -> Result<f64> {
        let v = difference(self.columns(), anchor, near)?;
        let w = difference(self.columns(), anchor, far)?;
        let squared = |v: &[f64]| self.factor.projected(v).iter().map(|x| x * x).sum::<f64>();
        let loss = 1.0 + squared(&v) - squared(&w);
        if !loss.is_finite() {
            return Err(Error::OutOfRange { what: "the loss of a triplet" });
        }
        if loss > 0.0 {
            self.retract(-self.step, &v)?;
            self.retract(self.step, &w)?;
        }
        Ok(loss.max(0.0))
    }

    fn metric(&self) -> Result<Metric> {
        Metric::computed(self.factor().transpose().to_owned(), vec![0.0; self.columns()], None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::factor::REFRESH;
    use faer::Mat;
    use mahala::data::Random;
    use mahala_kernels::blas::product;
    use mahala_kernels::eigen::eigen;
    use mahala_kernels::workspace::Workspace;

    fn gram_of(u: MatRef<'_, f64>) -> Mat<f64> {
        product(u, u.transpose())
    }

    /// The best approximation of rank k in the Frobenius norm, of a matrix whose k largest eigenvalues in size are
    /// positive.
    fn best_of_rank(a: &Mat<f64>, k: usize) -> Mat<f64> {
        let d = a.nrows();
        let e = eigen(a.as_ref(), "a", &mut Workspace::default()).unwrap();
        let factor = Mat::from_fn(d, k, |i, j| e.values[d - 1 - j].sqrt() * e.vectors[(i, d - 1 - j)]);
        gram_of(factor.as_ref())
    }

    #[test]
    fn a_step_is_the_best_of_its_rank_near_the_step_in_the_tangent_space_to_third_order() {
        let (d, k) = (6, 2);
        let start = OnlineLoreta::new(d, k, 1.0, 4).unwrap();
        let mut random = Random::new(8, 0);
        let v: Vec<f64> = (0..d).map(|_| random.uniform() - 0.4).collect();
        let w = gram_of(start.factor());
        // The projector on the range of W, from its eigenvectors.
        let e = eigen(w.as_ref(), "w", &mut Workspace::default()).unwrap();
        let basis = e.vectors.as_ref().subcols(d - k, k);
        let p = gram_of(basis);
        let vv = Mat::from_fn(d, d, |i, j| v[i] * v[j]);
        let tangent = &p * &vv + &vv * &p - &p * &vv * &p;
        let error = |eta: f64| {
            let mut state = start.clone();
            state.retract(eta, &v).unwrap();
            let expected = best_of_rank(&(&w + &tangent * faer::Scale(eta)), k);
            (gram_of(state.factor()) - expected).norm_l2()
        };
        for sign in [-1.0, 1.0] {
            let ratio = error(sign * 2e-2) / error(sign * 1e-2);
            assert!((7.0..9.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn at_full_rank_a_step_adds_the_rank_one_matrix_to_third_order() {
        let error = |eta: f64| {
            let mut state = OnlineLoreta::new(3, 3, 1.0, 0).unwrap();
            let v = [0.3, -0.8, 0.5];
            state.retract(eta, &v).unwrap();
            let expected = Mat::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)) + eta * v[i] * v[j]);
            (gram_of(state.factor()) - expected).norm_l2()
        };
        let ratio = error(0.02) / error(0.01);
        assert!((7.0..9.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_updated_gram_matrix_is_that_of_the_factor() {
        let mut random = Random::new(2, 0);
        let mut state = OnlineLoreta::new(8, 3, 0.05, 1).unwrap();
        for _ in 0..REFRESH / 2 - 1 {
            let rows: [Vec<f64>; 3] =
                std::array::from_fn(|_| (0..8).map(|_| random.uniform() - 0.5).collect());
            state.update_triplet(&rows[0], &rows[1], &rows[2]).unwrap();
        }
        let (gram, steps) = state.factor.gram();
        assert!(steps > 500 && steps < REFRESH, "{steps}");
        let fresh = product(state.factor().transpose(), state.factor());
        assert!((&fresh - gram).norm_max() < 1e-12 * fresh.norm_max());
        assert!(state.update_pair(&[0.0; 8], &[1.0; 8], true).is_err());
    }
}
