//! Multi-task GMML: one metric a task, drawn towards their common Karcher mean.
//!
//! # Formula
//! ```text
//! A_k = (S_k + λA₀⁻¹)⁻¹ ♯_t (D_k + λA₀)                       for every task k
//! A₀ = argmin_A Σ_k δ_R²(A, A_k):   Σ_k log(A₀^{-½} A_k A₀^{-½}) = 0        (Karcher mean)
//! ```
//! in turn, from A₀ = I; a few rounds suffice. `S_k` and `D_k` are means over all pairs of the task's rows, in units in
//! which D has the trace d on average over the tasks, so that λ means the same for all. λ = 0 leaves the tasks to
//! themselves; a large λ makes their metrics one.

use faer::Mat;
use mahala::data::Dataset;
use mahala::error::{Error, Result};
use mahala::geometry::{Geodesic, Spd};
use mahala::metric::Metric;
use mahala::scatter::{Scatter, check_labels};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;

/// Iterations of the Karcher mean.
const KARCHER: usize = 100;

/// Parameters of multi-task GMML.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala_baselines::MultiTaskGmml;
/// let task = |shift: f64| {
///     let cells = (0..24).map(|i| f64::from(i * 7 % 11) + if i % 4 == 0 { shift } else { 0.0 });
///     Dataset::new(Rows::new(cells.collect(), 2)?, Labels::new((0..12).map(|i| (i % 2).to_string())))
/// };
/// let fit = MultiTaskGmml::default().fit(&[&task(3.0)?, &task(5.0)?])?;
/// assert_eq!((fit.metrics.len(), fit.shared.columns()), (2, 2));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MultiTaskGmml {
    /// The place on the geodesics.
    pub t: f64,
    /// The pull of the common metric.
    pub lambda: f64,
    /// How often metrics and mean are computed in turn.
    pub rounds: usize,
}

/// The metrics of several tasks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MultiTaskFit {
    /// One a task, in their order.
    pub metrics: Vec<Metric>,
    /// The Karcher mean of them.
    pub shared: Metric,
}

impl Default for MultiTaskGmml {
    fn default() -> Self {
        Self { t: 0.5, lambda: 0.1, rounds: 5 }
    }
}

impl MultiTaskGmml {
    /// Learns a metric for every task.
    ///
    /// # Errors
    /// No task, tasks with different columns, parameters out of range, a task without similar or dissimilar pairs, or
    /// λ = 0 where a task's S or D is singular.
    pub fn fit(&self, tasks: &[&Dataset]) -> Result<MultiTaskFit> {
        self.check()?;
        let Some(first) = tasks.first() else { return Err(Error::Empty { what: "the list of tasks" }) };
        let d = first.columns();
        if let Some(other) = tasks.iter().find(|task| task.columns() != d) {
            return Err(Error::Length { what: "columns of a task", seen: other.columns(), expected: d });
        }
        let sums: Vec<[Mat<f64>; 2]> = tasks.iter().map(|task| pair_means(task)).collect::<Result<_>>()?;
        let trace = |m: &Mat<f64>| (0..d).map(|j| m[(j, j)]).sum::<f64>();
        let unit = sums.iter().map(|[_, de]| trace(de)).sum::<f64>() / (d * tasks.len()) as f64;
        if !(unit > 0.0 && unit.is_finite()) {
            return Err(Error::OutOfRange { what: "the mean of D's trace" });
        }
        let mut shared = Spd::identity(d);
        let mut solved = Vec::new();
        for _ in 0..self.rounds {
            solved = sums.iter().map(|sums| self.solve(sums, unit, &shared)).collect::<Result<Vec<Spd>>>()?;
            shared = karcher_mean(&solved)?;
        }
        let in_units_of_the_rows = |a: &Spd, mean: Vec<f64>| {
            let l = Metric::from_matrix(a)?.components() * faer::Scale(unit.sqrt().recip());
            Metric::computed(l, mean, None)
        };
        let mean_of = |task: &&Dataset| mahala::data::ColumnStatistics::of(task.rows()).mean;
        let metrics = tasks.iter().zip(&solved).map(|(task, a)| in_units_of_the_rows(a, mean_of(task)));
        Ok(MultiTaskFit {
            metrics: metrics.collect::<Result<_>>()?,
            shared: in_units_of_the_rows(&shared, vec![0.0; d])?,
        })
    }

    fn check(&self) -> Result<()> {
        let bad = |name, value: String, allowed| Err(Error::Parameter { name, value, allowed });
        if !(0.0..=1.0).contains(&self.t) {
            return bad("t", self.t.to_string(), "between 0 and 1");
        }
        if !(0.0..=f64::MAX).contains(&self.lambda) {
            return bad("lambda", self.lambda.to_string(), "0 or larger, and finite");
        }
        if self.rounds == 0 {
            return bad("rounds", "0".into(), "at least 1");
        }
        Ok(())
    }

    /// `A_k`.
    fn solve(&self, [s, de]: &[Mat<f64>; 2], unit: f64, shared: &Spd) -> Result<Spd> {
        let prior = [shared.inverse()?, shared.clone()];
        let sum = |m: &Mat<f64>, prior: &Spd, what| {
            let cell = |i, j| m[(i, j)] / unit + self.lambda * prior.as_mat()[(i, j)];
            Spd::named(Mat::from_fn(m.nrows(), m.ncols(), cell), what)
        };
        Geodesic::from_inverse(&sum(s, &prior[0], "S + λA₀⁻¹")?, &sum(de, &prior[1], "D + λA₀")?)?.at(self.t)
    }
}

/// The Karcher mean of positive definite matrices: the point of the least sum of squared Riemannian distances.
///
/// # Formula
/// ```text
/// A ← A^½ exp(1/K Σ_k log(A^{-½} A_k A^{-½})) A^½,    from the arithmetic mean, until the sum is 0
/// ```
///
/// ```
/// use mahala::geometry::Spd;
/// use mahala_baselines::karcher_mean;
/// let mean = karcher_mean(&[Spd::diagonal(&[1.0])?, Spd::diagonal(&[4.0])?, Spd::diagonal(&[16.0])?])?;
/// assert!((mean.as_mat()[(0, 0)] - 4.0).abs() < 1e-12);
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// No matrix, matrices of different sizes, or entries too far apart in scale.
pub fn karcher_mean(matrices: &[Spd]) -> Result<Spd> {
    let Some(first) = matrices.first() else { return Err(Error::Empty { what: "the list of matrices" }) };
    let d = first.dimension();
    if let Some(other) = matrices.iter().find(|matrix| matrix.dimension() != d) {
        return Err(Error::Length { what: "columns of a matrix", seen: other.dimension(), expected: d });
    }
    let share = 1.0 / matrices.len() as f64;
    let arithmetic = |i, j| matrices.iter().map(|m| share * m.as_mat()[(i, j)]).sum();
    let mut mean = Spd::new(Mat::from_fn(d, d, arithmetic))?;
    for _ in 0..KARCHER {
        let (root, inverse) = (mean.power(0.5)?, mean.power(-0.5)?);
        let mut tangent = Mat::<f64>::zeros(d, d);
        for matrix in matrices {
            let inner = product(inverse.as_mat(), product(matrix.as_mat(), inverse.as_mat()).as_ref());
            tangent += Spd::new(inner)?.log()? * faer::Scale(share);
        }
        let moved = product(product(root.as_mat(), exp(&tangent)?.as_ref()).as_ref(), root.as_mat());
        mean = Spd::new(moved)?;
        if tangent.norm_max() < 1e-14 * d as f64 {
            break;
        }
    }
    Ok(mean)
}

/// The exponential of a symmetric matrix.
fn exp(matrix: &Mat<f64>) -> Result<Mat<f64>> {
    let d = matrix.nrows();
    let symmetric = Mat::from_fn(d, d, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let e = eigen(symmetric.as_ref(), "the mean of logarithms", &mut Workspace::default())?;
    let weighted = Mat::from_fn(d, d, |i, k| e.vectors[(i, k)] * e.values[k].exp());
    Ok(product(weighted.as_ref(), e.vectors.transpose()))
}

/// The means of `vvᵀ` over all similar and over all dissimilar pairs.
fn pair_means(task: &Dataset) -> Result<[Mat<f64>; 2]> {
    check_labels(task.labels())?;
    let (scatter, _) = Scatter::all_pairs_of(task)?;
    let d = scatter.columns();
    // Sums are in powers of two of each column.
    let unit = |i: usize| 2f64.powi(scatter.units()[i]);
    let mean = |sum: faer::MatRef<'_, f64>, weight: f64| {
        Mat::from_fn(d, d, |i, j| sum[(i, j)] / weight * unit(i) * unit(j))
    };
    Ok([mean(scatter.s(), scatter.similar().weight), mean(scatter.d(), scatter.dissimilar().weight)])
}
