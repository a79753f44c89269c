//! MLKR: metric learning for kernel regression (Weinberger and Tesauro 2007).
//!
//! # Formula
//! ```text
//! k_ij = exp(−‖L(x_i − x_j)‖²),   p_ij = k_ij/Σ_{l≠i} k_il,   ŷ_i = Σ_{j≠i} p_ij y_j
//! minimise  Σ_i (ŷ_i − y_i)²
//!
//! ∇_L = 2 L Σ_ij w_ij x_ij x_ijᵀ = 2 Σ_ij w_ij z_ij x_ijᵀ,    w_ij = −2 p_ij (ŷ_i − y_i)(y_j − ŷ_i),   z = Lx
//! ```
//! The bandwidth of the kernel is in L, so the minimum depends on the scale of the rows it starts from: columns are
//! standardised unless told otherwise. L-BFGS from the identity, or from the principal axes at a lower rank, unless
//! told otherwise. By blocks of rows: no n×n matrix is stored.

use crate::labelled::row_major;
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::pencil::checked_rank;
use crate::softmax::{GROUPS, exp};
use crate::start::{Start, matrix_of};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use mahala::data::{ColumnStatistics, Rows};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, SpanRule, Training, fields};
use mahala::metric::{Metric, project};
use mahala::progress::{Progress, Step};
use mahala_kernels::blas::product;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Rows of a block.
const BLOCK: usize = 32;

/// Parameters of MLKR.
///
/// ```
/// use mahala::Rows;
/// use mahala::learner::{Learner, Training};
/// use mahala::progress::silent;
/// use mahala_baselines::Mlkr;
/// // The target is the first column; the second is noise.
/// let cells: Vec<f64> = (0..40).flat_map(|i| [f64::from(i) / 40.0, f64::from(i * 17 % 40) / 40.0]).collect();
/// let targets: Vec<f64> = (0..40).map(f64::from).collect();
/// let rows = Rows::new(cells, 2)?;
/// let a = Mlkr::default().learn(&Training::Targets(&rows, &targets), &mut silent)?.metric.matrix()?;
/// assert!(a[(0, 0)] > 20.0 * a[(1, 1)]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mlkr {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// Whether columns are divided by their standard deviations first.
    pub standardize: bool,
    /// The first L, for the rows as they are standardised; discriminant directions need classes and are refused.
    pub start: Start,
    /// The most iterations of L-BFGS, each of one evaluation or a few.
    pub max_iterations: usize,
    /// Converged when no entry of the gradient is larger, or five iterations gain less than this share, for targets
    /// of variance 1.
    pub tolerance: f64,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

impl Default for Mlkr {
    fn default() -> Self {
        Self {
            rank: None,
            standardize: true,
            start: Start::Auto,
            max_iterations: 100,
            tolerance: 1e-5,
            seed: 0,
        }
    }
}

impl Learner for Mlkr {
    fn name(&self) -> &'static str {
        "mlkr"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        let rank = self.rank.unwrap_or(shape.columns);
        let groups = GROUPS as f64 * shape.rows as f64 * (2 * rank + BLOCK + 2) as f64;
        lbfgs::numbers(shape, rank) + shape.matrices(4.0, 3.0) + groups
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // Standardising the coordinates of the span would not standardise the columns.
        self.start.span(self.rank.filter(|_| !self.standardize))
    }

    /// Iterations are L-BFGS's; the objective reported is the sum of squares in the units of the targets.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let (rows, targets) = training.targets(self.name())?;
        let rank = checked_rank(self.rank, rows.columns())?;
        let n = rows.len();
        if n < 3 {
            return Err(Error::TooFewRows { what: "mlkr", needed: 3, seen: n });
        }
        let ColumnStatistics { mean, scale, .. } = ColumnStatistics::of(rows);
        let scale = self.standardize.then_some(scale);
        let identity = Mat::<f64>::identity(rows.columns(), rows.columns());
        let cells = project(rows, &mean, scale.as_deref(), identity.as_ref());
        let x = Rows::new(cells, rows.columns()).map_err(|_| Error::OutOfRange { what: "a centred cell" })?;
        let y = ColumnStatistics::of(&Rows::new(targets.to_vec(), 1)?);
        let (centre, unit) = (y.mean[0], y.scale[0]);
        let y: Vec<f64> = targets.iter().map(|y| y / unit - centre / unit).collect();
        let start = self.first(&x, rank)?;
        let mut progress =
            |step: Step| progress(Step::iteration(step.done, step.objective.map(|f| f * unit * unit)));
        let limits = Limits { max_iterations: self.max_iterations, tolerance: self.tolerance };
        let mut function = |l: &[f64], gradient: &mut [f64]| loss(&x, &y, l, gradient);
        let (point, mut report) = minimise(&mut function, row_major(start.as_ref()), &limits, &mut progress)?;
        report.objective = report.objective.map(|f| f * unit * unit);
        let l = MatRef::from_row_major_slice(&point, rank, rows.columns());
        Ok(Learned::new(Metric::computed(l.to_owned(), mean, scale)?, report))
    }
}

impl Mlkr {
    fn first(&self, x: &Rows, rank: usize) -> Result<Mat<f64>> {
        match &self.start {
            Start::Auto if rank < x.columns() => axes(x, rank),
            Start::Auto | Start::Identity => Ok(Mat::identity(rank, x.columns())),
            Start::Pca => axes(x, rank),
            Start::Given(rows) => matrix_of("start", rows, rank, x.columns()),
            Start::Lda => Err(Error::Parameter {
                name: "start",
                value: "lda".to_owned(),
                allowed: "auto, identity, pca or given rows: discriminant directions need classes",
            }),
        }
    }
}

/// The leading principal axes, one a row.
fn axes(x: &Rows, rank: usize) -> Result<Mat<f64>> {
    Metric::principal_axes(x).and_then(|axes| axes.reduced(rank)).map(|axes| axes.components().to_owned())
}

/// The sums of one group of blocks.
struct Group {
    value: f64,
    /// `wᵀZ + wZ`, n × r.
    neighbors: Mat<f64>,
    /// `w1 + wᵀ1`.
    diagonal: Vec<f64>,
}

/// `Σ_i (ŷ_i − y_i)²` at `L`, and its gradient.
fn loss(x: &Rows, y: &[f64], l: &[f64], gradient: &mut [f64]) -> f64 {
    let (n, d) = (x.len(), x.columns());
    let rank = l.len() / d;
    let z = project(x, &vec![0.0; d], None, MatRef::from_row_major_slice(l, rank, d).transpose());
    let squares: Vec<f64> = z.chunks_exact(rank).map(|z| z.iter().map(|z| z * z).sum()).collect();
    if squares.iter().any(|s| !s.is_finite()) {
        return f64::INFINITY;
    }
    let z = MatRef::from_row_major_slice(&z, n, rank);
    let groups: Vec<Group> = (0..GROUPS).into_par_iter().map(|group| sums(z, &squares, y, group)).collect();
    let (mut value, mut neighbors, mut diagonal) = (0.0, Mat::<f64>::zeros(n, rank), vec![0.0; n]);
    for group in groups {
        value += group.value;
        neighbors += &group.neighbors;
        diagonal.iter_mut().zip(&group.diagonal).for_each(|(sum, part)| *sum += part);
    }
    let laplacian = Mat::from_fn(n, rank, |i, k| diagonal[i] * z[(i, k)] - neighbors[(i, k)]);
    let slope = product(laplacian.transpose(), x.as_mat());
    gradient.iter_mut().enumerate().for_each(|(at, g)| *g = 2.0 * slope[(at / d, at % d)]);
    value
}

/// Every [`GROUPS`]th block from this one on.
fn sums(z: MatRef<'_, f64>, squares: &[f64], y: &[f64], group: usize) -> Group {
    let (n, rank) = (z.nrows(), z.ncols());
    let mut sums = Group { value: 0.0, neighbors: Mat::zeros(n, rank), diagonal: vec![0.0; n] };
    let mut buffer = vec![0.0; n * BLOCK];
    for first in (group * BLOCK..n).step_by(GROUPS * BLOCK) {
        let b = BLOCK.min(n - first);
        let block = &mut buffer[..n * b];
        block.chunks_exact_mut(n).for_each(|t| t.iter_mut().zip(squares).for_each(|(t, s)| *t = -s));
        let own = z.subrows(first, b);
        let scores = MatMut::from_column_major_slice_mut(&mut *block, n, b);
        matmul(scores, Accum::Add, z, own.transpose(), 2.0, Par::Seq);
        for (i, w) in (first..).zip(block.chunks_exact_mut(n)) {
            sums.value += weigh(i, w, y, &mut sums.diagonal);
        }
        let w = MatRef::from_column_major_slice(&*block, n, b);
        let to = sums.neighbors.as_mut().subrows_mut(first, b);
        matmul(to, Accum::Add, w.transpose(), z, 1.0, Par::Seq);
        matmul(sums.neighbors.as_mut(), Accum::Add, w, own, 1.0, Par::Seq);
    }
    sums
}

/// Converts the scores `2 z_i·z_j − ‖z_j‖²` of row i to weights; returns `(ŷ_i − y_i)²`.
fn weigh(i: usize, w: &mut [f64], y: &[f64], diagonal: &mut [f64]) -> f64 {
    w[i] = f64::NEG_INFINITY;
    let best = w.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    w.iter_mut().for_each(|t| *t = exp(*t - best));
    let all: f64 = w.iter().sum();
    let predicted = w.iter().zip(y).map(|(e, y)| e * y).sum::<f64>() / all;
    let error = predicted - y[i];
    let mut sum = 0.0;
    for ((w, y), diagonal) in w.iter_mut().zip(y).zip(&mut *diagonal) {
        *w *= -2.0 * error * (y - predicted) / all;
        *diagonal += *w;
        sum += *w;
    }
    diagonal[i] += sum;
    error * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    fn example(n: usize, d: usize) -> (Rows, Vec<f64>) {
        let mut random = Random::new(4, 0);
        let rows = Rows::new((0..n * d).map(|_| 2.0 * random.uniform() - 1.0).collect(), d).unwrap();
        let y = (0..n).map(|i| rows.row(i)[0] + 0.3 * random.uniform()).collect();
        (rows, y)
    }

    #[test]
    fn the_objective_is_that_of_the_formula_and_the_gradient_its_own() {
        // More rows than GROUPS blocks, and a last block that is not full.
        let (x, y) = example(299, 3);
        let mut random = Random::new(5, 0);
        let mut l: Vec<f64> = (0..6).map(|_| 2.0 * random.uniform() - 1.0).collect();
        let (mut gradient, mut unused) = (vec![0.0; 6], vec![0.0; 6]);
        let value = loss(&x, &y, &l, &mut gradient);
        let k = |i: usize, j: usize| {
            let z = |r: usize| (0..3).map(|a| l[3 * r + a] * (x.row(i)[a] - x.row(j)[a])).sum::<f64>();
            if i == j { 0.0 } else { (-z(0).powi(2) - z(1).powi(2)).exp() }
        };
        let direct: f64 = (0..299)
            .map(|i| {
                let all: f64 = (0..299).map(|j| k(i, j)).sum();
                ((0..299).map(|j| k(i, j) * y[j]).sum::<f64>() / all - y[i]).powi(2)
            })
            .sum();
        assert!((value / direct - 1.0).abs() < 1e-12, "{value} {direct}");
        for at in 0..6 {
            let (here, h) = (l[at], 1e-5);
            l[at] = here + h;
            let above = loss(&x, &y, &l, &mut unused);
            l[at] = here - h;
            let below = loss(&x, &y, &l, &mut unused);
            l[at] = here;
            let slope = (above - below) / (2.0 * h);
            assert!(
                (slope - gradient[at]).abs() < 1e-6 * gradient[at].abs().max(1.0),
                "{slope} {}",
                gradient[at]
            );
        }
    }
}
