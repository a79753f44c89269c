//! One factor of a matrix of low rank, its Gram matrix kept beside it, under rank-one updates.

use crate::online::dot;
use faer::{Mat, MatRef};
use mahala::data::{Random, Stream};
use mahala::error::Result;
use mahala_kernels::blas::product;
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::workspace::Workspace;

/// Updates after which the Gram matrix is computed anew.
pub(super) const REFRESH: usize = 1000;

/// U (d × k) of full column rank, with `UᵀU`.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    u: Mat<f64>,
    gram: Mat<f64>,
    updates: usize,
}

impl Factor {
    /// I at full rank, else uniform entries with columns of length 1 on average.
    pub(super) fn drawn(columns: usize, rank: usize, seed: u64) -> Self {
        let (mut random, length) = (Random::of(seed, Stream::Visits), (3.0 / columns as f64).sqrt());
        let u = if rank == columns {
            Mat::identity(columns, columns)
        } else {
            Mat::from_fn(columns, rank, |_, _| length * (2.0 * random.uniform() - 1.0))
        };
        Self { gram: product(u.transpose(), u.as_ref()), u, updates: 0 }
    }

    pub(super) fn matrix(&self) -> MatRef<'_, f64> {
        self.u.as_ref()
    }

    /// `Uᵀv`.
    pub(super) fn projected(&self, v: &[f64]) -> Vec<f64> {
        self.u.col_iter().map(|u| u.iter().zip(v).map(|(u, v)| u * v).sum()).collect()
    }

    /// `U⁺v = (UᵀU)⁻¹Uᵀv`.
    pub(super) fn pseudo_inverse(&self, v: &[f64]) -> Result<Vec<f64>> {
        let factor = cholesky(self.gram.as_ref(), "UᵀU", &mut Workspace::default())?;
        Ok(solve(factor.as_ref(), self.projected(v)))
    }

    /// `all·v + inside·Uh`.
    pub(super) fn mixed(&self, (all, v): (f64, &[f64]), (inside, h): (f64, &[f64])) -> Vec<f64> {
        let mut c: Vec<f64> = v.iter().map(|v| all * v).collect();
        for (k, &h) in h.iter().enumerate() {
            c.iter_mut().zip(self.u.col(k).iter()).for_each(|(c, u)| *c += inside * h * u);
        }
        c
    }

    /// `U ← U + cgᵀ`.
    pub(super) fn add(&mut self, c: &[f64], g: &[f64]) {
        let (uc, cc) = (self.projected(c), dot(c, c));
        for (k, &gk) in g.iter().enumerate() {
            self.u.col_mut(k).iter_mut().zip(c).for_each(|(u, c)| *u += c * gk);
            for (l, &gl) in g.iter().enumerate() {
                self.gram[(l, k)] += uc[l] * gk + uc[k] * gl + cc * (gk * gl);
            }
        }
        self.updates += 1;
        if self.updates.is_multiple_of(REFRESH) {
            self.gram = product(self.u.transpose(), self.u.as_ref());
        }
    }

    #[cfg(test)]
    pub(super) fn gram(&self) -> (&Mat<f64>, usize) {
        (&self.gram, self.updates)
    }
}

/// The solution of `LLᵀh = b`.
fn solve(l: MatRef<'_, f64>, mut b: Vec<f64>) -> Vec<f64> {
    let k = b.len();
    for i in 0..k {
        let known: f64 = (0..i).map(|j| l[(i, j)] * b[j]).sum();
        b[i] = (b[i] - known) / l[(i, i)];
    }
    for i in (0..k).rev() {
        let known: f64 = (i + 1..k).map(|j| l[(j, i)] * b[j]).sum();
        b[i] = (b[i] - known) / l[(i, i)];
    }
    b
}
