//! Multi-metric LMNN: a metric for each class (Weinberger and Saul 2008).
//!
//! # Formula
//! ```text
//! d(x, y) = (x − y)ᵀM_c(x − y)   from a row x to the training row y of class c,   M_c = PᵀL_cᵀL_cP
//!
//! minimise  pull·Σ_i Σ_{j∈T(i)} d(x_i, x_j) + push·Σ_i Σ_{j∈T(i)} Σ_{l: y_l≠y_i} hinge(1 + d(x_i, x_j) − d(x_i, x_l))
//!
//! ∇_{L_c} = 2 L_c Σ_{ij: y_j=c} w_ij z_ij z_ijᵀ,    z = Px,   w the derivative by the distance
//! ```
//! One objective for all metrics: the distance to a target is measured by the metric of its class, that to an
//! impostor by the metric of the impostor's. P is the identity, around the mean; at a lower rank the map of the global
//! LMNN, and all metrics lie in its span. The minimisation starts at the global metric, to which a hundredth of its mean
//! eigenvalue is added: the gradient has the factor `L_c`, and a direction that the global metric lost would stay lost.
//! The result is never above the global metric's objective.
//!
//! The impostors are an active set. All rows are checked every [`CHECK`] iterations of L-BFGS; in between, only pairs
//! that were once found within a margin are looked at. The set grows and is never cleared, so that a point at which
//! nothing new is found is a minimum of the whole objective. The objective told at the end is exact.

use crate::labelled::{Labelled, row_major};
use crate::lbfgs;
use crate::lbfgs::{Limits, minimise};
use crate::lmnn::active_set::{Check, Problem, Round, refuse, united};
use crate::lmnn::{Lmnn, Targets};
use faer::{Mat, MatRef};
use mahala::error::{MemoryRemedy, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learner, Outcome, Report, Training, fields};
use mahala::local::LocalMaps;
use mahala::progress::{Progress, Step};
use mahala::{Dataset, Labels, Metric, Rows};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Iterations between two checks of all rows.
const CHECK: usize = 15;
/// What is added to the global metric where the minimisation starts, as a share of its mean eigenvalue.
const RIDGE: f64 = 0.01;

/// Parameters of multi-metric LMNN.
///
/// ```
/// use mahala::progress::silent;
/// use mahala::{Dataset, Labels, Rows};
/// use mahala_baselines::MultiLmnn;
/// // Class "a" is long in the first column, class "b" in the second.
/// let rows = vec![-4.0, 0.2, 4.0, -0.2, 2.0, 0.1, -2.0, 0.0, 6.0, 4.0, 6.2, -4.0, 5.8, 2.0, 6.1, -2.0];
/// let labels = Labels::new(["a", "a", "a", "a", "b", "b", "b", "b"]);
/// let data = Dataset::new(Rows::new(rows, 2)?, labels)?;
/// let learned = MultiLmnn::default().fit(&data, &mut silent)?;
/// assert_eq!(learned.predict(&Rows::new(vec![6.0, 1.0, 1.0, 0.1], 2)?, 1)?, [1, 0]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiLmnn {
    /// The global metric's parameters; targets, hinge, weights and limits hold for the metrics of the classes, too.
    pub lmnn: Lmnn,
}

/// The metrics of the classes, with the rows they were learned from.
#[derive(Debug, Clone)]
pub struct MultiMetrics {
    /// P: the coordinates of the rows.
    pub metric: Metric,
    /// The maps from these coordinates to those of each class.
    pub maps: LocalMaps,
    /// The training rows, in these coordinates, and their labels.
    pub references: (Rows, Labels),
    /// How the global metric was reached.
    pub global: Report,
    /// How those of the classes were; the objective is that of all together.
    pub report: Report,
}

impl MultiMetrics {
    /// The class of each row, by a vote of the `k` nearest training rows, each measured by the metric of its class.
    ///
    /// # Errors
    /// Rows with other columns, or `k` above the number of training rows.
    pub fn predict(&self, rows: &Rows, k: usize) -> Result<Vec<u32>> {
        let found = self.maps.search(&self.references.0, &self.metric.transform(rows)?, k)?;
        Ok(found.vote(&self.references.1))
    }
}

impl MultiLmnn {
    /// The parameters by name, for the model file.
    pub fn parameters(&self) -> Value {
        fields(&self.lmnn)
    }

    /// Learns the global metric, then one for each class; iterations of both are told to `progress`, and between two
    /// checks of all rows the objective told is that of the active set.
    ///
    /// # Errors
    /// Data or parameters that [`Lmnn`] refuses; more memory needed than the process may take.
    pub fn fit(&self, data: &Dataset, progress: &mut Progress<'_>) -> Result<MultiMetrics> {
        self.check_memory(data)?;
        let global = self.lmnn.learn(&Training::Labelled(data), progress)?;
        let (l, d) = (global.metric.map(), data.columns());
        let (metric, first) = if l.nrows() < d {
            (global.metric, Mat::identity(l.nrows(), l.nrows()))
        } else {
            (Metric::computed(Mat::identity(d, d), global.metric.mean().to_vec(), None)?, l)
        };
        let z = metric.transform(data.rows())?;
        let problem = Problem {
            targets: Targets::nearest(&Labelled::new(data)?, self.lmnn.targets)?,
            data: Labelled::new(&Dataset::new(z.clone(), data.labels().clone())?)?,
            lmnn: &self.lmnn,
        };
        let stopped = matches!(global.report.outcome, Outcome::Cancelled | Outcome::TimeLimit);
        let stop = stopped.then_some(global.report.outcome);
        let (point, report) = solve(&problem, first.as_ref(), stop, progress)?;
        let r = z.columns();
        let maps =
            point.chunks_exact(r * r).map(|l| MatRef::from_row_major_slice(l, r, r).to_owned()).collect();
        let maps = LocalMaps::new(maps, data.labels().codes().to_vec())?;
        let references = (z, data.labels().clone());
        Ok(MultiMetrics { metric, maps, references, global: global.report, report })
    }

    fn check_memory(&self, data: &Dataset) -> Result<()> {
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        let rank = self.lmnn.rank.unwrap_or(shape.columns);
        let one = Shape { rows: 0, columns: rank, ..shape };
        let numbers = shape.classes as f64 * (lbfgs::numbers(&one, rank) + one.matrices(6.0, 0.0))
            + shape.matrices(3.0, 8.0);
        refuse(8e-9 * numbers, shape.columns, MemoryRemedy::Columns)
    }
}

/// The map `(Λ + εI)^½Vᵀ` of M + εI, with `M = LᵀL = VΛVᵀ`.
fn ridged(l: MatRef<'_, f64>) -> Result<Mat<f64>> {
    let r = l.ncols();
    let e = eigen(product(l.transpose(), l).as_ref(), "the global metric", &mut Workspace::default())?;
    let ridge = RIDGE * e.values.iter().sum::<f64>() / r as f64;
    Ok(Mat::from_fn(r, r, |i, j| (e.values[i].max(0.0) + ridge).sqrt() * e.vectors[(j, i)]))
}

/// Rounds of L-BFGS on the active set from the global map `first`; the best point by the whole objective. Whoever was
/// stopped before keeps the start.
fn solve(
    problem: &Problem<'_>,
    first: MatRef<'_, f64>,
    stopped: Option<Outcome>,
    progress: &mut Progress<'_>,
) -> Result<(Vec<f64>, Report)> {
    let Lmnn { max_iterations, tolerance, .. } = *problem.lmnn;
    let for_all = |l: MatRef<'_, f64>| row_major(l).repeat(problem.data.class_count());
    let mut best = for_all(first);
    let Check { mut value, impostors: mut active } = problem.check(&best)?;
    let mut here = for_all(ridged(first)?.as_ref());
    active = united(&active, &problem.check(&here)?.impostors);
    let mut report = Report { outcome: stopped.unwrap_or(Outcome::IterationLimit), ..Report::closed_form() };
    while stopped.is_none() && report.iterations < max_iterations {
        let round = Round::new(problem, &active);
        let limits = Limits { max_iterations: CHECK.min(max_iterations - report.iterations), tolerance };
        let done = report.iterations;
        let mut told = |step: Step| progress(Step::iteration(done + step.done, step.objective));
        let mut function = |l: &[f64], gradient: &mut [f64]| round.loss(l, gradient);
        let (point, inner) = minimise(&mut function, std::mem::take(&mut here), &limits, &mut told)?;
        report.iterations += inner.iterations;
        let checked = problem.check(&point)?;
        let gain = value - checked.value;
        if gain > 0.0 {
            (best, value) = (point, checked.value);
        }
        here.clone_from(&best);
        let before = active.len();
        active = united(&active, &checked.impostors);
        if matches!(inner.outcome, Outcome::Cancelled | Outcome::TimeLimit) {
            report.outcome = inner.outcome;
            break;
        }
        // Without a new impostor the objective of the active set was the whole one at both ends of the round.
        if active.len() == before && gain <= tolerance * value.abs().max(1.0) {
            report.outcome = Outcome::Converged;
            break;
        }
    }
    report.objective = Some(value);
    Ok((best, report))
}
