//! The matrix pencil `(D, S)`: leading generalised eigenvectors, in which dissimilar pairs differ most relative
//! to similar ones.

use crate::error::{Error, Result};
use crate::gmml::regularize::{Prior, Regularization, condition_estimates, prepare};
use crate::gmml::{Diagnostics, Solution};
use crate::scatter::Scatter;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{ColRef, Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::parallel::parallelism;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::workspace::Workspace;

/// The number of coordinates that a metric keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Components {
    /// This many.
    Count(usize),
    /// So many that they hold this share of the spectrum.
    Share(f64),
}

impl Solution {
    /// Solves the pencil of all directions, for sums over their numbers of pairs; mean 0.
    ///
    /// # Formula
    /// ```text
    /// D̄ v_i = μ_i S̄ v_i,   μ_1 ≥ μ_2 ≥ …,   VᵀSV = I
    /// S̄, D̄: the sums over their numbers of pairs
    /// ```
    ///
    /// In the coordinates `Vᵀx` similar pairs differ equally in every direction, and dissimilar pairs most in the
    /// first. There the geodesic is known without another factorisation: `S⁻¹ ♯_t D = diag(μᵗ)` up to a factor, so the
    /// number of directions and t are both free.
    ///
    /// # Errors
    /// No column that varies, columns too far apart in scale, or a prior that does not fit.
    pub fn of_pencil(scatter: &Scatter, regularization: Regularization) -> Result<Self> {
        let mut workspace = Workspace::default();
        let prepared = prepare(scatter.clone(), regularization, &Prior::Identity, &mut workspace)?;
        let (l, par) = (prepared.l.as_ref(), parallelism(prepared.l.nrows()));
        // L⁻¹ D L⁻ᵀ, then V = L⁻ᵀU
        let mut half = prepared.d;
        solve_lower_triangular_in_place(l, half.as_mut(), par);
        let mut reduced = half.transpose().to_owned();
        solve_lower_triangular_in_place(l, reduced.as_mut(), par);
        let e = eigen(reduced.as_ref(), "the pencil (D, S)", &mut workspace)?;
        let mut u = e.vectors;
        solve_upper_triangular_in_place(l.transpose(), u.as_mut(), par);
        let largest = e.values.last().copied().unwrap_or(1.0);
        let floor = largest * f64::EPSILON * e.values.len() as f64;
        let inverse: Vec<f64> = e.values.iter().map(|&mu| 1.0 / mu.max(floor)).collect();
        let [condition_s, condition_d] =
            condition_estimates([prepared.norm_s, prepared.norm_d], u.nrows(), |[x, y]| {
                [weighted_outer(u.as_ref(), x, |_| 1.0), weighted_outer(u.as_ref(), y, |k| inverse[k])]
            });
        if let Some(q) = &prepared.basis {
            u = product(q.as_ref(), u.as_ref());
        }
        let p = u.ncols();
        let mut w = Mat::zeros(scatter.columns(), p);
        let unit = |x: f64| times_power_of_two(x, -prepared.exponent);
        for to in 0..p {
            prepared.active.iter().enumerate().for_each(|(i, &j)| w[(j, to)] = unit(u[(i, p - 1 - to)]));
        }
        let per_pair = (scatter.similar().weight / scatter.dissimilar().weight).ln();
        let log_lambda: Vec<f64> = e.values.iter().rev().map(|&mu| mu.max(floor).ln() + per_pair).collect();
        let constant = (0..scatter.columns()).filter(|j| !prepared.active.contains(j)).collect();
        let diagnostics = Diagnostics {
            similar: scatter.similar(),
            dissimilar: scatter.dissimilar(),
            condition_s,
            condition_d,
            ridge: prepared.ridge,
            constant_columns: constant,
            clamped: e.values.iter().filter(|&&mu| mu <= floor).count(),
            log_eigenvalues: log_lambda.clone(),
            span: None,
            selection: None,
        };
        let mean = vec![0.0; scatter.columns()];
        Ok(Self { w, log_lambda, mean, scale: None, diagnostics, dissimilar: None })
    }

    /// The path in the first `r` directions, or in all there are.
    pub(crate) fn truncated(self, r: usize) -> Self {
        let r = r.min(self.log_lambda.len());
        self.chosen(&(0..r).collect::<Vec<_>>())
    }

    /// The path in the directions that pass a filter.
    pub(crate) fn filtered(self, passes: impl Fn(ColRef<'_, f64>) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.log_lambda.len()).filter(|&k| passes(self.w.col(k))).collect();
        self.chosen(&kept)
    }

    /// The path in these directions, in this order.
    pub(crate) fn chosen(self, kept: &[usize]) -> Self {
        let w = Mat::from_fn(self.w.nrows(), kept.len(), |i, k| self.w[(i, kept[k])]);
        let log_lambda = kept.iter().map(|&k| self.log_lambda[k]).collect();
        Self { w, log_lambda, dissimilar: None, ..self }
    }

    /// The number of directions of a pencil to keep.
    ///
    /// # Errors
    /// A count that is 0 or above what there is; a share outside (0, 1].
    pub fn count(&self, components: Components) -> Result<usize> {
        components.check("n_components", self.log_lambda.len())?;
        let top = self.log_lambda.iter().copied().fold(0.0, f64::max);
        // μ − 1 over e^top, so that nothing overflows.
        let gain = |&log: &f64| ((log - top).exp() - (-top).exp()).max(0.0);
        Ok(components.count(self.log_lambda.iter().map(gain)))
    }
}

/// `U·diag(weight)·Uᵀx`
fn weighted_outer(u: MatRef<'_, f64>, x: &[f64], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut y = vec![0.0; u.nrows()];
    for k in 0..u.ncols() {
        let along = weight(k) * u.col(k).iter().zip(x).map(|(u, x)| u * x).sum::<f64>();
        y.iter_mut().zip(u.col(k).iter()).for_each(|(y, u)| *y += along * u);
    }
    y
}

impl Components {
    /// Refuses a count that is 0 or above what there is, and a share outside (0, 1].
    pub(crate) fn check(self, name: &'static str, all: usize) -> Result<()> {
        let (right, allowed) = match self {
            Self::Count(r) => {
                ((1..=all).contains(&r), "at least 1 and at most the number of columns that vary")
            }
            Self::Share(share) => {
                (share > 0.0 && share <= 1.0, "a whole number, or a share above 0 and at most 1")
            }
        };
        if right { Ok(()) } else { Err(Error::Parameter { name, value: self.to_string(), allowed }) }
    }

    /// The number of these amounts, the largest first, to keep.
    pub(crate) fn count(self, amounts: impl Iterator<Item = f64>) -> usize {
        let share = match self {
            Self::Count(r) => return r,
            Self::Share(share) => share,
        };
        let amounts: Vec<f64> = amounts.map(|x| x.max(0.0)).collect();
        let enough = share * amounts.iter().sum::<f64>() * (1.0 - 1e-12);
        let mut sum = 0.0;
        let last = amounts.iter().position(|x| {
            sum += x;
            sum >= enough
        });
        last.map_or(amounts.len(), |last| last + 1)
    }
}

impl std::fmt::Display for Components {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(r) => r.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}
