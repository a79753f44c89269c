//! LORETA, general form: a similarity of low rank that need not be symmetric (Shalit, Weinshall and Chechik 2010).
//!
//! # Formula
//! ```text
//! W = ABᵀ of rank k,    S(p, q) = pᵀWq,    ℓ = [1 − S(p, p⁺) + S(p, p⁻)]₊
//! where ℓ > 0:   W ← R(W + η x yᵀ),   x = p,   y = p⁺ − p⁻
//!
//! R(W + ηxyᵀ):   h = A⁺x,   g = B⁺y,   s = η·hᵀg
//!   A ← A + c_A(ηg)ᵀ,   c_A = (−½ + ⅜s)·AA⁺x + (1 − ½s)·x
//!   B ← B + c_B(ηh)ᵀ,   c_B = (−½ + ⅜s)·BB⁺y + (1 − ½s)·y
//! A = the positive semidefinite part of ½(W + Wᵀ) is the metric
//! ```
//! R is the retraction of second order, as in the positive semidefinite form. Each factor's Gram matrix is updated with it, so
//! a triplet costs O(dk + k³). A step is shortened to |s| ≤ ½. Both factors start equal, so that W is the identity at
//! full rank, as in OASIS.

use crate::online::factor::Factor;
use crate::online::loreta::REACH;
use crate::online::{
    Online, check_dense, checked_columns, checked_positive, difference, dot, metric_of_positive_part,
    needs_triplets,
};
use crate::pencil::checked_rank;
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::metric::Metric;
use mahala_kernels::blas::product;

/// The state of LORETA in its general form.
///
/// ```
/// use mahala_baselines::online::{Online, OnlineBilinearLoreta};
/// let mut loreta = OnlineBilinearLoreta::new(50, 3, 0.1, 0)?;
/// let row = |at: usize| (0..50).map(|j| f64::from(u8::from(j == at))).collect::<Vec<_>>();
/// let before = loreta.similarity(&row(0), &row(1))?;
/// loreta.update_triplet(&row(0), &row(1), &row(2))?;
/// assert!(loreta.similarity(&row(0), &row(1))? > before);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineBilinearLoreta {
    a: Factor,
    b: Factor,
    step: f64,
}

impl OnlineBilinearLoreta {
    /// A = B = I at full rank, else of uniform entries with columns of length 1 on average.
    ///
    /// # Errors
    /// No column, a rank of 0 or above the number of columns, or a step size that is not positive and finite.
    pub fn new(columns: usize, rank: usize, step: f64, seed: u64) -> Result<Self> {
        let rank = checked_rank(Some(rank), checked_columns(columns)?)?;
        let step = checked_positive("step", step)?;
        let a = Factor::drawn(columns, rank, seed);
        Ok(Self { b: a.clone(), a, step })
    }

    /// A and B, of `W = ABᵀ`.
    pub fn factors(&self) -> [MatRef<'_, f64>; 2] {
        [self.a.matrix(), self.b.matrix()]
    }

    /// S(p, q) = pᵀWq, which is not S(q, p).
    ///
    /// # Errors
    /// A row of another length or with a cell that is not finite.
    pub fn similarity(&self, p: &[f64], q: &[f64]) -> Result<f64> {
        difference(self.columns(), p, q)?;
        Ok(dot(&self.a.projected(p), &self.b.projected(q)))
    }

    /// `R(W + ηxyᵀ)`.
    fn retract(&mut self, eta: f64, x: &[f64], y: &[f64]) -> Result<()> {
        let (h, g) = (self.a.pseudo_inverse(x)?, self.b.pseudo_inverse(y)?);
        let base = dot(&h, &g).abs();
        let eta = if base > 0.0 { eta.clamp(-REACH / base, REACH / base) } else { eta };
        let s = eta * dot(&h, &g);
        let (inside, all) = (-0.5 + 0.375 * s, 1.0 - 0.5 * s);
        let c_a = self.a.mixed((all, x), (inside, &h));
        let c_b = self.b.mixed((all, y), (inside, &g));
        let scaled = |v: &[f64]| v.iter().map(|v| eta * v).collect::<Vec<f64>>();
        self.a.add(&c_a, &scaled(&g));
        self.b.add(&c_b, &scaled(&h));
        Ok(())
    }
}

impl Online for OnlineBilinearLoreta {
    fn name(&self) -> &'static str {
        "loreta"
    }

    fn columns(&self) -> usize {
        self.a.matrix().nrows()
    }

    fn update_pair(&mut self, _: &[f64], _: &[f64], _: bool) -> Result<f64> {
        Err(needs_triplets(self.name()))
    }

    fn update_triplet(&mut self, anchor: &[f64], near: &[f64], far: &[f64]) -> Result<f64> {
        difference(self.columns(), anchor, anchor)?;
        let y = difference(self.columns(), near, far)?;
        let loss = 1.0 - dot(&self.a.projected(anchor), &self.b.projected(&y));
        if !loss.is_finite() {
            return Err(Error::OutOfRange { what: "the loss of a triplet" });
        }
        if loss > 0.0 {
            self.retract(self.step, anchor, &y)?;
        }
        Ok(loss.max(0.0))
    }

    /// The metric of the symmetrised W. This one step is dense: columns × columns.
    fn metric(&self) -> Result<Metric> {
        check_dense("the metric of loreta", self.columns())?;
        let w = product(self.a.matrix(), self.b.matrix().transpose());
        let d = self.columns();
        metric_of_positive_part(Mat::from_fn(d, d, |i, j| 0.5 * (w[(i, j)] + w[(j, i)])).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::OnlineLoreta;
    use mahala::data::Random;
    use mahala_kernels::eigen::eigen;
    use mahala_kernels::workspace::Workspace;

    fn w_of(state: &OnlineBilinearLoreta) -> Mat<f64> {
        let [a, b] = state.factors();
        product(a, b.transpose())
    }

    /// `VVᵀ` of the k leading eigenvectors.
    fn leading(gram: &Mat<f64>, k: usize) -> Mat<f64> {
        let e = eigen(gram.as_ref(), "a", &mut Workspace::default()).unwrap();
        let v = e.vectors.as_ref().subcols(gram.nrows() - k, k);
        product(v, v.transpose())
    }

    fn drawn(d: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 0);
        (0..d).map(|_| random.uniform() - 0.4).collect()
    }

    /// A state whose factors are not equal.
    fn moved(d: usize, k: usize) -> OnlineBilinearLoreta {
        let mut state = OnlineBilinearLoreta::new(d, k, 0.3, 4).unwrap();
        for seed in 0..20 {
            state.retract(0.3, &drawn(d, 2 * seed + 1), &drawn(d, 2 * seed + 2)).unwrap();
        }
        let [a, b] = state.factors();
        assert!((a - b).norm_max() > 0.1);
        state
    }

    #[test]
    fn a_step_is_the_best_of_its_rank_near_the_step_in_the_tangent_space_to_third_order() {
        let (d, k) = (6, 2);
        let start = moved(d, k);
        let (x, y) = (drawn(d, 100), drawn(d, 101));
        let w = w_of(&start);
        let (left, right) = (leading(&(&w * w.transpose()), k), leading(&(w.transpose() * &w), k));
        let z = Mat::from_fn(d, d, |i, j| x[i] * y[j]);
        let tangent = &left * &z + &z * &right - &left * &z * &right;
        let error = |eta: f64| {
            let mut state = start.clone();
            state.retract(eta, &x, &y).unwrap();
            // The best approximation of rank k in the Frobenius norm projects on the leading right singular vectors.
            let point = &w + &tangent * faer::Scale(eta);
            let expected = &point * leading(&(point.transpose() * &point), k);
            (w_of(&state) - expected).norm_l2()
        };
        for sign in [-1.0, 1.0] {
            let ratio = error(sign * 1e-2) / error(sign * 5e-3);
            assert!((7.0..9.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn at_full_rank_a_step_adds_the_rank_one_matrix_to_third_order() {
        let (x, y) = ([0.3, -0.8, 0.5], [0.2, 0.4, -0.7]);
        let error = |eta: f64| {
            let mut state = OnlineBilinearLoreta::new(3, 3, 1.0, 0).unwrap();
            state.retract(eta, &x, &y).unwrap();
            let expected = Mat::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)) + eta * x[i] * y[j]);
            (w_of(&state) - expected).norm_l2()
        };
        let ratio = error(0.02) / error(0.01);
        assert!((7.0..9.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_symmetric_step_keeps_the_factors_equal() {
        let mut state = OnlineBilinearLoreta::new(5, 2, 0.1, 3).unwrap();
        for seed in 0..50 {
            let v = drawn(5, seed);
            state.retract(if seed % 2 == 0 { 0.1 } else { -0.05 }, &v, &v).unwrap();
        }
        let [a, b] = state.factors();
        assert_eq!(a.to_owned(), b.to_owned());
        assert!((OnlineLoreta::new(5, 2, 0.1, 3).unwrap().factor() - a).norm_max() > 0.0);
    }

    #[test]
    fn the_loss_of_a_triplet_falls_and_an_asymmetric_order_is_learned() {
        // Row 0 is like row 1, row 1 is not like row 0: no metric has that.
        let row = |at: usize| -> Vec<f64> { (0..4).map(|j| f64::from(u8::from(j == at))).collect() };
        let mut state = OnlineBilinearLoreta::new(4, 4, 0.05, 0).unwrap();
        for _ in 0..100 {
            state.update_triplet(&row(0), &row(1), &row(2)).unwrap();
            state.update_triplet(&row(1), &row(2), &row(0)).unwrap();
        }
        assert_eq!(state.update_triplet(&row(0), &row(1), &row(2)).unwrap(), 0.0);
        assert!(
            state.similarity(&row(0), &row(1)).unwrap() > state.similarity(&row(1), &row(0)).unwrap() + 0.5
        );
        assert!(state.metric().unwrap().matrix().is_ok());
        assert!(state.update_pair(&row(0), &row(1), true).is_err());
        assert!(state.update_triplet(&row(0), &row(1), &[f64::NAN; 4]).is_err());
    }
}
