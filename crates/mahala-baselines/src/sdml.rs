//! SDML: sparse distance metric learning (Qi, Tang, Zha, Chua and Zhang 2009).
//!
//! # Formula
//! ```text
//! minimise over A ≻ 0   tr(A·P) − log det A + λ Σ_{i≠j} |A_ij|
//! P = M₀⁻¹ + η·K + εI,    K = 1/m (Σ_similar vvᵀ − Σ_dissimilar vvᵀ),   m pairs
//! ```
//! or, with `similar_only`, P = S̄ + εI, the mean of vvᵀ over similar pairs: a sparse form of GMML's metric at t = 0,
//! which needs no η. K is indefinite as soon as dissimilar pairs weigh more. The ridge ε makes the least eigenvalue
//! of P a thousandth of its mean one, and is 0 if it is that large already; it is in the report. The prior M₀ is I
//! unless its inverse is given. Columns are standardised unless told otherwise, for a common λ supposes common units.
//! The graphical lasso solves it.

use crate::glasso::graphical_lasso;
use crate::pencil::Standardized;
use crate::start::matrix_of;
use faer::{Mat, MatRef};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::geometry::Spd;
use mahala::learner::{Learned, Learner, Report, Training, fields};
use mahala::progress::Progress;
use mahala::scatter::{Scatter, check_labels};
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The least eigenvalue of P, as a share of the mean one.
const LEAST: f64 = 1e-3;

/// Parameters of SDML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sdml {
    /// η: the weight of the pairs beside the prior I.
    pub balance: f64,
    /// λ: the larger, the more entries of A are 0.
    pub sparsity: f64,
    /// Take S̄ for P: similar pairs alone.
    pub similar_only: bool,
    /// Columns are not divided by their standard deviations first.
    pub row_units: bool,
    /// M₀⁻¹, symmetric, one list a row; I if None.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_inverse: Option<Vec<Vec<f64>>>,
    /// The most sweeps over the columns.
    pub max_iterations: usize,
    /// Converged when the duality gap a column is at most this.
    pub tolerance: f64,
    /// The seed of the pairs.
    pub seed: u64,
}

impl Default for Sdml {
    fn default() -> Self {
        Self {
            balance: 0.5,
            sparsity: 0.01,
            similar_only: false,
            row_units: false,
            prior_inverse: None,
            max_iterations: 1000,
            tolerance: 1e-6,
            seed: 0,
        }
    }
}

impl Learner for Sdml {
    fn name(&self) -> &'static str {
        "sdml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        shape.matrices(12.0, 2.0) + shape.differences(1.0)
    }

    /// Iterations are sweeps; the objective reported is the duality gap.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check()?;
        if let Training::Labelled(data) | Training::Grouped(data, _) = training {
            check_labels(data.labels())?;
        }
        let pairs = training.pairs(self.name(), self.seed)?;
        let rows = if self.row_units {
            Standardized::centred(training.rows())?
        } else {
            Standardized::of(training.rows())?
        };
        let list = pairs.as_slice();
        let proper: Vec<usize> = (0..list.len()).filter(|&i| list[i].first != list[i].second).collect();
        if proper.iter().all(|&i| list[i].weight == 0.0) {
            return Err(Error::Empty { what: "the list of pairs of different rows" });
        }
        let scatter = Scatter::from_pairs(&rows.rows, &pairs.subset(&proper))?;
        let mut p = self.target(&scatter)?;
        let ridge = ridge_of(p.as_ref())?;
        (0..p.ncols()).for_each(|j| p[(j, j)] += ridge);
        let sparse =
            graphical_lasso(p.as_ref(), self.sparsity, self.tolerance, self.max_iterations, progress)?;
        // Stopped early, M may not be positive definite yet; W always is.
        let a = Spd::named(sparse.m, "A").or_else(|_| Spd::named(sparse.w, "W")?.inverse())?;
        // A = LLᵀ, so the components are Lᵀ.
        let components = a.cholesky().transpose().to_owned();
        let report = Report {
            iterations: sparse.sweeps,
            objective: Some(sparse.gap),
            outcome: sparse.outcome,
            choice: Some(json!({"ridge": ridge})),
        };
        Ok(Learned { report, ..rows.learned(components, None)? })
    }
}

impl Sdml {
    fn check(&self) -> Result<()> {
        for (name, value) in
            [("balance", self.balance), ("sparsity", self.sparsity), ("tolerance", self.tolerance)]
        {
            if !(0.0..=f64::MAX).contains(&value) {
                let allowed = "0 or larger, and finite";
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        if self.max_iterations == 0 {
            let (value, allowed) = ("0".to_owned(), "at least 1");
            return Err(Error::Parameter { name: "max_iterations", value, allowed });
        }
        Ok(())
    }

    /// P without its ridge.
    fn target(&self, scatter: &Scatter) -> Result<Mat<f64>> {
        let d = scatter.columns();
        let (s, weight) = (scatter.s(), scatter.similar().weight);
        if self.similar_only {
            if weight <= 0.0 {
                let reason = "none of the pairs is marked so".to_owned();
                return Err(Error::NoSimilarPair { reason });
            }
            return Ok(Mat::from_fn(d, d, |i, j| s[(i, j)] / weight));
        }
        let all = weight + scatter.dissimilar().weight;
        let prior = match &self.prior_inverse {
            Some(rows) => matrix_of("prior_inverse", rows, d, d)?,
            None => Mat::identity(d, d),
        };
        Ok(Mat::from_fn(d, d, |i, j| prior[(i, j)] + self.balance * (s[(i, j)] - scatter.d()[(i, j)]) / all))
    }
}

/// ε.
fn ridge_of(p: MatRef<'_, f64>) -> Result<f64> {
    let d = p.nrows();
    let values = eigen(p, "P", &mut Workspace::default())?.values;
    let size = values.iter().map(|value| value.abs()).sum::<f64>() / d as f64;
    if size > 0.0 {
        return Ok((LEAST * size - values[0]).max(0.0));
    }
    Err(Error::AllConstant { columns: d })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;
    use mahala::pairs::Pairs;
    use mahala::progress::silent;
    use mahala::{Dataset, Labels, Rows};

    fn example() -> Dataset {
        let mut random = Random::new(4, 0);
        let cells: Vec<f64> = (0..200)
            .map(|at| random.uniform() + if at % 4 == 1 { f64::from(u8::from(at / 4 % 2 == 0)) } else { 0.0 })
            .collect();
        let labels = Labels::new((0..50).map(|i| ["a", "b"][i % 2]));
        Dataset::new(Rows::new(cells, 4).unwrap(), labels).unwrap()
    }

    #[test]
    fn without_a_penalty_the_metric_is_the_inverse_of_p() {
        let data = example();
        let pairs = Pairs::all(data.labels());
        let training = Training::Paired(data.rows(), &pairs);
        let method = Sdml { sparsity: 0.0, tolerance: 1e-12, ..Sdml::default() };
        for method in [method.clone(), Sdml { similar_only: true, ..method }] {
            let learned = method.learn(&training, &mut silent).unwrap();
            // The metric acts on standardised columns.
            let l = learned.metric.components();
            let a = Spd::new(l.transpose() * l).unwrap();
            let rows = Standardized::of(data.rows()).unwrap();
            let mut p = method.target(&Scatter::from_pairs(&rows.rows, &pairs).unwrap()).unwrap();
            let ridge = learned.report.choice.unwrap()["ridge"].as_f64().unwrap();
            (0..4).for_each(|j| p[(j, j)] += ridge);
            let inverse = a.inverse().unwrap();
            assert!((inverse.as_mat() - &p).norm_max() < 1e-8 * p.norm_max());
        }
    }

    #[test]
    fn an_indefinite_p_gets_a_ridge_and_a_penalty_makes_zeros() {
        let data = example();
        let training = Training::Labelled(&data);
        let strong = Sdml { balance: 50.0, ..Sdml::default() }.learn(&training, &mut silent).unwrap();
        assert!(strong.report.choice.unwrap()["ridge"].as_f64().unwrap() > 1.0);
        let sparse = Sdml { sparsity: 0.5, ..Sdml::default() }.learn(&training, &mut silent).unwrap();
        let a = sparse.metric.matrix().unwrap();
        let zeros = (0..16).filter(|at| a[(at / 4, at % 4)].abs() < 1e-15).count();
        assert!(zeros >= 6, "{a:?}");
    }
}
