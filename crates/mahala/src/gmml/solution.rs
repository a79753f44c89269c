//! The solution `S⁻¹ ♯_t D = WΛᵗWᵀ` (eq. 16) for every t at once, which the search over t re-weights.

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::geometry::geodesic::Geodesic;
use crate::gmml::Diagnostics;
use crate::gmml::low_rank::LearnedSpan;
use crate::gmml::pencil::Components;
use crate::gmml::regularize::{Prepared, condition_estimates};
use crate::metric::{Metric, project, project_chosen};
use crate::scatter::PairCount;
use faer::{Mat, MatRef};
use mahala_kernels::blas::gemv::outer_times;
use mahala_kernels::blas::product;
use mahala_kernels::blas::transpose::{into_weighted_transpose, weighted_transpose};
use mahala_kernels::eigen::graded::{LogEigen, are_lost, factor_of, of_gram};
use mahala_kernels::eigen::{Eigen, eigen};
use mahala_kernels::scaling::{exponent_of, times_power_of_two};
use mahala_kernels::view::{column, column_mut};
use mahala_kernels::workspace::Workspace;

/// The geodesic from `S⁻¹` to `D`, in the columns of the rows: the metric of every t at once, `A(t) = W Λᵗ Wᵀ`.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let path = Gmml::default().path(&data)?;
/// let z = path.coordinates(data.rows())?;
/// // The squared distance of the first two rows at t = ½.
/// let weight = |k: usize| (0.5 * path.log_eigenvalues()[k]).exp();
/// let squared: f64 = (0..2).map(|k| weight(k) * (z.row(0)[k] - z.row(1)[k]).powi(2)).sum();
/// assert!(squared > 0.0);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Solution {
    /// One direction a column; zero rows for constant columns.
    pub(super) w: Mat<f64>,
    pub(super) log_lambda: Vec<f64>,
    /// What coordinates are centred at; 0 for what was solved from sums alone.
    pub(super) mean: Vec<f64>,
    pub(super) scale: Option<Vec<f64>>,
    pub(super) diagnostics: Diagnostics,
    /// `D` and its columns, if the metric is to be reduced.
    pub(super) dissimilar: Option<(Vec<usize>, Mat<f64>)>,
}

impl Solution {
    /// Extends the geodesic from the active columns to all columns; keeps `D` if the metric is to be reduced.
    pub(crate) fn new(
        columns: usize,
        [similar, dissimilar]: [PairCount; 2],
        prepared: Prepared,
        geodesic: Geodesic,
        keep_d: bool,
        workspace: &mut Workspace,
    ) -> Self {
        let Prepared { active, exponent, norm_s, norm_d, d, l, ridge, basis } = prepared;
        let [condition_s, condition_d] = conditions(&geodesic, l.as_ref(), [norm_s, norm_d]);
        let geodesic = geodesic.rescaled(-exponent, 4 * exponent);
        let rotated = basis.as_ref().map(|q| product(q.as_ref(), geodesic.directions()));
        let directions = rotated.as_ref().map_or(geodesic.directions(), Mat::as_ref);
        let (all, count) = (active.len() == columns, directions.ncols());
        let mut w = if count == columns { workspace.take(columns) } else { Mat::zeros(columns, count) };
        let ordered = active.is_sorted();
        for k in 0..count {
            let (from, to) = (column(directions, k), column_mut(w.as_mut(), k));
            if all && ordered {
                to.copy_from_slice(from);
            } else {
                active.iter().zip(from).for_each(|(&j, x)| to[j] = *x);
            }
        }
        let log_lambda = geodesic.log_eigenvalues().to_vec();
        let diagnostics = Diagnostics {
            similar,
            dissimilar,
            condition_s,
            condition_d,
            ridge,
            constant_columns: missing_from(&active, columns),
            clamped: geodesic.clamped(),
            log_eigenvalues: log_lambda.clone(),
            span: basis.is_some().then_some(LearnedSpan {
                directions: count,
                randomized: false,
                outside: 0.0,
            }),
            selection: None,
        };
        let of_columns = |d: Mat<f64>| match &basis {
            Some(q) => product(product(q.as_ref(), d.as_ref()).as_ref(), q.transpose()),
            None => d,
        };
        let dissimilar = keep_d.then(|| (active, of_columns(d)));
        Self { w, mean: vec![0.0; columns], scale: None, diagnostics, log_lambda, dissimilar }
    }

    pub(crate) fn with_scale(self, scale: Vec<f64>) -> Self {
        Self { scale: Some(scale), ..self }
    }

    pub(crate) fn with_mean(self, mean: Vec<f64>) -> Self {
        Self { mean, ..self }
    }

    /// A path with the eigenvalues of this one, for rows of other columns, of which these are the directions, the mean and the scale.
    pub(crate) fn with_directions(self, w: Mat<f64>, mean: Vec<f64>, scale: Option<Vec<f64>>) -> Self {
        Self { w, mean, scale, dissimilar: None, ..self }
    }

    /// `log Λ`, descending: one number a coordinate.
    pub fn log_eigenvalues(&self) -> &[f64] {
        &self.log_lambda
    }

    /// `W`: one direction a column, for columns divided by [`Solution::scale`].
    pub fn directions(&self) -> MatRef<'_, f64> {
        self.w.as_ref()
    }

    /// What coordinates are centred at.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// What columns are divided by, if they are standardised.
    pub fn scale(&self) -> Option<&[f64]> {
        self.scale.as_deref()
    }

    pub(crate) fn into_diagnostics(self) -> Diagnostics {
        self.diagnostics
    }

    /// The diagnostics of the solution.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// The metric at t, `L = Λ^{t/2} Wᵀ`.
    ///
    /// # Errors
    /// t outside [0, 1], or a result outside the range of 64-bit numbers.
    pub fn metric(&self, t: f64) -> Result<Metric> {
        let weights = sqrt_weights(&self.log_lambda, t)?;
        Metric::computed(weighted_transpose(self.w.as_ref(), &weights), self.mean.clone(), self.scale.clone())
    }

    /// The metric at t and the diagnostics, reusing the memory of the solution.
    pub(crate) fn into_metric(self, t: f64) -> Result<(Metric, Diagnostics)> {
        let weights = sqrt_weights(&self.log_lambda, t)?;
        Ok((
            Metric::computed(into_weighted_transpose(self.w, &weights), self.mean, self.scale)?,
            self.diagnostics,
        ))
    }

    /// The metric at t in the `r` orthogonal directions in which dissimilar pairs differ most under it:
    /// the leading eigenvectors of `L D Lᵀ`.
    ///
    /// # Errors
    /// t outside [0, 1], a result outside the range of 64-bit numbers, or more directions than columns that vary.
    pub(crate) fn leading(&self, t: f64, rank: Components) -> Result<Metric> {
        let metric = self.metric(t)?;
        rank.check("rank", metric.rank())?;
        let Some((active, d)) = &self.dissimilar else { return Ok(metric) };
        let l = metric.components();
        // Scaled to about 1, so that the products stay in range; a factor changes no direction.
        let unit = -exponent_of(l.norm_max());
        let varying =
            Mat::from_fn(l.nrows(), active.len(), |i, j| times_power_of_two(l[(i, active[j])], unit));
        let rotated = product(product(varying.as_ref(), d.as_ref()).as_ref(), varying.transpose());
        let Eigen { values, vectors } = leading_pairs(rotated.as_ref(), varying.as_ref(), d.as_ref())?;
        let components = product(vectors.as_ref().reverse_cols().transpose(), l);
        let r = rank.count(values.iter().rev().copied());
        Metric::computed(components, metric.mean().to_vec(), self.scale.clone())?.reduced(r)
    }

    /// Rows in the coordinates that t weighs, `Z = ((X − mean)/scale)·W`: the squared distance of two rows at t is
    /// `Σ_k λ_kᵗ (z_ik − z_jk)²`.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn coordinates(&self, rows: &Rows) -> Result<Rows> {
        if rows.columns() != self.w.nrows() {
            let (seen, expected) = (rows.columns(), self.w.nrows());
            return Err(Error::Length { what: "columns of the rows", seen, expected });
        }
        Rows::new(self.coordinates_about(rows, &self.mean), self.w.ncols())
            .map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
    }

    /// The coordinates that t weighs, centred at another place than the mean.
    pub(crate) fn coordinates_about(&self, rows: &Rows, mean: &[f64]) -> Vec<f64> {
        project(rows, mean, self.scale.as_deref(), self.w.as_ref())
    }

    /// The chosen rows in the coordinates that t weighs, centred at another place than the mean.
    pub(crate) fn coordinates_of(&self, rows: &Rows, chosen: &[usize], mean: &[f64]) -> Vec<f64> {
        project_chosen(rows, chosen, mean, self.scale.as_deref(), self.w.as_ref())
    }

    /// The weights of the coordinates at t, up to a common factor.
    pub(crate) fn weights(&self, t: f64) -> Vec<f64> {
        weights_at(&self.log_lambda, t)
    }
}

/// The eigenpairs of `LDLᵀ`; with `D = RRᵀ`, from the singular values of `RᵀLᵀ` where the product would lose the
/// smallest.
fn leading_pairs(rotated: MatRef<'_, f64>, l: MatRef<'_, f64>, d: MatRef<'_, f64>) -> Result<Eigen> {
    let found = eigen(rotated, "L D Lᵀ", &mut Workspace::default())?;
    if !are_lost(&found.values) {
        return Ok(found);
    }
    let positive = (0..d.nrows()).map(|j| d[(j, j)]).filter(|x| *x > 0.0);
    let least = positive.fold(f64::INFINITY, f64::min);
    let (r, _) = factor_of(d, &vec![least; d.nrows()])?;
    let LogEigen { log_values, vectors } = of_gram(product(r.transpose(), l.transpose()).as_ref(), "L D Lᵀ")?;
    Ok(Eigen { values: log_values.into_iter().map(f64::exp).collect(), vectors })
}

/// `Λ^{t/2}`
fn sqrt_weights(log_lambda: &[f64], t: f64) -> Result<Vec<f64>> {
    if !(0.0..=1.0).contains(&t) {
        return Err(Error::Parameter { name: "t", value: t.to_string(), allowed: "between 0 and 1" });
    }
    Ok(log_lambda.iter().map(|l| (0.5 * t * l).exp()).collect())
}

/// `exp(½(t·log λ − max))`: the weights of coordinates at t, up to a common factor.
pub(crate) fn weights_at(log_lambda: &[f64], t: f64) -> Vec<f64> {
    let top = log_lambda.iter().map(|l| 0.5 * t * l).fold(f64::NEG_INFINITY, f64::max);
    log_lambda.iter().map(|l| (0.5 * t * l - top).exp()).collect()
}

/// Estimates of the condition numbers of `S` and `D`, from `S⁻¹ = WWᵀ` and `D⁻¹ = SWΛ⁻¹WᵀS`.
fn conditions(geodesic: &Geodesic, l: MatRef<'_, f64>, norms: [f64; 2]) -> [f64; 2] {
    let (w, log_lambda) = (geodesic.directions(), geodesic.log_eigenvalues());
    let inverse: Vec<f64> = log_lambda.iter().map(|l| (-l).exp()).collect();
    let s_times = |x: &[f64]| {
        let [y] = outer_times(l, |j| j, |_| [1.0], [x]);
        y
    };
    condition_estimates(norms, w.nrows(), |[x, y]| {
        // W is read once for both.
        let [s_inverse_x, y] = outer_times(w, |_| 0, |k| [1.0, inverse[k]], [x, &s_times(y)]);
        [s_inverse_x, s_times(&y)]
    })
}

/// The indices of `0..n` that are not in the list.
fn missing_from(list: &[usize], n: usize) -> Vec<usize> {
    let mut there = vec![false; n];
    list.iter().for_each(|&j| there[j] = true);
    (0..n).filter(|&j| !there[j]).collect()
}
