//! ITML: information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon, ICML 2007).
//!
//! # Formula
//! ```text
//! min D_ld(A, I) + γ Σ_ij w_ij D_ld(ξ_ij, ξ⁰_ij)     with  d_A(x_i, x_j) ≤ ξ_ij  for similar pairs
//!                                                          d_A(x_i, x_j) ≥ ξ_ij  for dissimilar pairs
//! D_ld(X, Y) = tr(XY⁻¹) − log det(XY⁻¹) − d
//! ```
//! `ξ⁰` is a small distance l for similar pairs and a large one u for dissimilar pairs. Solved by Bregman
//! projections onto one constraint after the other, each in `O(d²)`; with δ = +1 for a similar pair and −1
//! for a dissimilar one, and `p = d_A(x_i, x_j)`,
//! ```text
//! α = min(λ, γ/(γ+1) · δ(1/p − 1/ξ)),   λ ← λ − α,   1/ξ ← 1/ξ + δα/γ,   A ← A + δα/(1 − δαp) · (Ax)(Ax)ᵀ
//! ```
//! At the end `A⁻¹ = I + Σ δλxxᵀ`, `1/ξ = 1/ξ⁰ − δλ/γ`, `λ ≥ 0`, and `λ > 0` only where `d_A = ξ`.

mod projections;

use crate::constraints::{Bounds, Constraints, metric_of};
use crate::itml::projections::Projections;
use mahala::data::Dataset;
use mahala::data::Folds;
use mahala::data::{Random, Stream};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Outcome, Report, Training, fields};
use mahala::metric::Metric;
use mahala::metric::{area_under_curve, squared_pair_distances};
use mahala::neighbors::wrong_votes;
use mahala::pairs::Pairs;
use mahala::progress::{Progress, Step, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Parameters of ITML. An iteration is a projection; the objective is that of the formula.
///
/// ```
/// use mahala::learner::{Learner, Training};
/// use mahala::progress::silent;
/// use mahala_baselines::Itml;
/// use mahala::{Dataset, Labels, Rows};
/// // The classes differ in the second column only; the first is noise.
/// let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let learned = Itml::default().learn(&Training::Labelled(&data), &mut silent)?;
/// let a = learned.metric.matrix()?;
/// assert!(a[(1, 1)] > 5.0 * a[(0, 0)]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Itml {
    /// The cost of a violated constraint: if small, A stays near I; if large, constraints are hard.
    pub gamma: GammaChoice,
    /// l and u, squared distances; from a sample of the rows' own distances if None.
    pub bounds: Option<(f64, f64)>,
    /// Stop after this many projections.
    pub max_projections: usize,
    /// Stop when a sweep over all pairs changes the dual by less, `‖λ−λ'‖₁ / (‖λ‖₂ + ‖λ'‖₂)`.
    pub tolerance: f64,
    /// Neighbours that vote when γ is chosen.
    pub k: usize,
    /// The seed of the pairs, of the bounds unless given, and of the folds when γ is chosen.
    pub seed: u64,
}

/// How γ is found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum GammaChoice {
    /// Given.
    Fixed(f64),
    /// The one of `10⁻⁴ … 10⁴` with the fewest errors of k nearest neighbours in two folds (for pairs
    /// without labels: the best ranking of held-out pairs). Folds keep groups whole, if there are groups.
    CrossValidated,
}

impl TryFrom<Value> for GammaChoice {
    type Error = String;

    fn try_from(value: Value) -> std::result::Result<Self, String> {
        match &value {
            Value::String(text) if text == "auto" => Ok(Self::CrossValidated),
            _ => match value.as_f64() {
                Some(gamma) => Ok(Self::Fixed(gamma)),
                None => Err(format!("gamma is {value}; it must be 'auto' or a number above 0")),
            },
        }
    }
}

impl From<GammaChoice> for Value {
    fn from(choice: GammaChoice) -> Self {
        match choice {
            GammaChoice::Fixed(gamma) => gamma.into(),
            GammaChoice::CrossValidated => "auto".into(),
        }
    }
}

impl Default for Itml {
    fn default() -> Self {
        Self {
            gamma: GammaChoice::Fixed(1.0),
            bounds: None,
            max_projections: 100_000,
            tolerance: 0.01,
            k: 5,
            seed: 0,
        }
    }
}

impl Learner for Itml {
    fn name(&self) -> &'static str {
        "itml"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // A, its eigenvectors and their workspace; the differences twice, and the rows of a fold.
        shape.matrices(9.0, 2.0) + shape.differences(2.0)
    }

    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        self.check()?;
        let gamma = match self.gamma {
            GammaChoice::Fixed(gamma) => Ok(gamma),
            GammaChoice::CrossValidated => self.chosen_gamma(training, progress)?,
        };
        match gamma {
            Ok(gamma) => {
                let mut learned = self.learn_with(gamma, training, progress)?;
                if self.gamma == GammaChoice::CrossValidated {
                    learned.report.choice = Some(json!({"gamma": gamma}));
                }
                Ok(learned)
            }
            Err(outcome) => {
                let report = Report { iterations: 0, objective: None, outcome, choice: None };
                Ok(Learned::new(Metric::euclidean(training.rows().columns()), report))
            }
        }
    }
}

impl Itml {
    fn check(&self) -> Result<()> {
        let refuse = |name, value: String, allowed| Err(Error::Parameter { name, value, allowed });
        if let Some((lower, upper)) = self.bounds
            && !(lower > 0.0 && upper > 0.0 && lower.is_finite() && upper.is_finite())
        {
            return refuse("bounds", format!("{lower}, {upper}"), "two squared distances above 0");
        }
        match self.gamma {
            GammaChoice::Fixed(gamma) if !(gamma > 0.0 && gamma.is_finite()) => {
                refuse("gamma", gamma.to_string(), "above 0 and finite")
            }
            _ if self.max_projections == 0 => refuse("max_projections", "0".into(), "at least 1"),
            _ if self.k == 0 => refuse("k", "0".into(), "at least 1"),
            _ if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) => {
                refuse("tolerance", self.tolerance.to_string(), "finite and at least 0")
            }
            _ => Ok(()),
        }
    }

    fn learn_with(
        &self,
        gamma: f64,
        training: &Training<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Learned> {
        let constraints = Constraints::of(training, self.name(), self.seed)?;
        let bounds = match self.bounds {
            Some(bounds) => Bounds::given(bounds, constraints.exponent)?,
            None => Bounds::of(training.rows(), constraints.exponent, self.seed)?,
        };
        let mut state = Projections::new(&constraints, bounds, gamma);
        let outcome = state.run(self.max_projections, self.tolerance, progress);
        let report =
            Report { iterations: state.done, objective: Some(state.objective()), outcome, choice: None };
        Ok(Learned::new(metric_of(state.a(), training.rows())?, report))
    }

    /// The best γ, or the outcome if the progress stopped the search.
    fn chosen_gamma(
        &self,
        training: &Training<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<std::result::Result<f64, Outcome>> {
        let items = match training {
            Training::Labelled(data) | Training::Grouped(data, _) => data.len(),
            _ => training.pairs(self.name(), self.seed)?.len(),
        };
        let folds = Folds::choosing(training.groups(), 2, || {
            Folds::new(items, 2, &mut Random::of(self.seed, Stream::ItmlFolds))
        })?;
        let (mut best, mut least) = (1.0, f64::INFINITY);
        for power in -4..=4 {
            let gamma = 10f64.powi(power);
            let mut loss = 0.0;
            for fold in 0..2 {
                if let ControlFlow::Break(stop) = progress(Step::iteration(0, None)) {
                    let outcome = Outcome::from(stop);
                    return Ok(Err(outcome));
                }
                let (train, test) = folds.split(fold);
                loss += match training {
                    Training::Labelled(data) | Training::Grouped(data, _) => {
                        self.held_out_error(gamma, data, &train, &test, progress)
                    }
                    _ => {
                        let pairs = training.pairs(self.name(), self.seed)?;
                        self.held_out_ranking(gamma, training, &pairs, &train, &test, progress)
                    }
                }?;
            }
            if loss < least {
                (best, least) = (gamma, loss);
            }
        }
        Ok(Ok(best))
    }

    fn held_out_error(
        &self,
        gamma: f64,
        data: &Dataset,
        train: &[usize],
        test: &[usize],
        progress: &mut Progress<'_>,
    ) -> Result<f64> {
        let (train, test) = (data.subset(train), data.subset(test));
        let metric = self.learn_with(gamma, &Training::Labelled(&train), &mut unseen(progress))?.metric;
        let seen = |part: &Dataset| Dataset::new(metric.transform(part.rows())?, part.labels().clone());
        let wrong = wrong_votes(&seen(&train)?, &seen(&test)?, self.k.min(train.len()))?;
        Ok(wrong as f64 / test.len() as f64)
    }

    fn held_out_ranking(
        &self,
        gamma: f64,
        training: &Training<'_>,
        pairs: &Pairs,
        train: &[usize],
        test: &[usize],
        progress: &mut Progress<'_>,
    ) -> Result<f64> {
        let rows = training.rows();
        let (train, test) = (pairs.subset(train), pairs.subset(test));
        let metric = self.learn_with(gamma, &Training::Paired(rows, &train), &mut unseen(progress))?.metric;
        Ok(1.0 - area_under_curve(&squared_pair_distances(&metric, rows, rows, &test)?, &test))
    }
}

/// An progress of the search for γ: it may stop a trial, but does not see its progress.
fn unseen(progress: &mut Progress<'_>) -> impl FnMut(Step) -> ControlFlow<Stop> {
    move |_| progress(Step::iteration(0, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::Rows;
    use mahala::progress::silent;

    use mahala::pairs::Pair;

    /// Random rows of different scales, and random pairs of them.
    pub(super) fn example() -> (Rows, Pairs) {
        let (n, d) = (30, 3);
        let mut random = Random::new(9, 0);
        let rows =
            Rows::new((0..n * d).map(|i| random.uniform() * [1.0, 3.0, 0.4][i % d]).collect(), d).unwrap();
        let pair = |i: usize| Pair {
            first: random.below(n),
            second: random.below(n),
            similar: i.is_multiple_of(3),
            weight: 1.0 + (i % 2) as f64,
        };
        (rows, Pairs::new((0..60).map(pair).collect(), n, n).unwrap())
    }

    #[test]
    fn gamma_is_a_number_or_auto_in_a_file() {
        for (text, choice) in [("0.1", GammaChoice::Fixed(0.1)), ("\"auto\"", GammaChoice::CrossValidated)] {
            assert_eq!(serde_json::from_str::<GammaChoice>(text).unwrap(), choice);
            assert_eq!(serde_json::to_string(&choice).unwrap(), text);
        }
        let error = serde_json::from_str::<Itml>("{\"gamma\": \"big\"}").unwrap_err().to_string();
        assert!(error.contains("'auto' or a number above 0"), "{error}");
    }

    #[test]
    fn gamma_is_chosen_for_labels_and_for_pairs() {
        let (rows, pairs) = example();
        let method = Itml { gamma: GammaChoice::CrossValidated, ..Itml::default() };
        assert!(method.learn(&Training::Paired(&rows, &pairs), &mut silent).is_ok());
        let codes: Vec<i64> = (0..30).map(|i| i64::from(rows.row(i)[2] > 0.2)).collect();
        let data = Dataset::new(rows, mahala::Labels::from_integers(&codes)).unwrap();
        let learned = method.learn(&Training::Labelled(&data), &mut silent).unwrap();
        let gamma = learned.report.choice.unwrap()["gamma"].as_f64().unwrap();
        let same = Itml { gamma: GammaChoice::Fixed(gamma), ..method.clone() };
        let same = same.learn(&Training::Labelled(&data), &mut silent).unwrap();
        assert_eq!(same.report.objective, learned.report.objective);
        let a = learned.metric.matrix().unwrap();
        assert!(a[(2, 2)] > a[(0, 0)], "the third column decides: {a:?}");
        let ended =
            method.learn(&Training::Labelled(&data), &mut |_| ControlFlow::Break(Stop::TimeUp)).unwrap();
        assert_eq!(ended.report.outcome, Outcome::TimeLimit);
        // The first trial can be stopped too.
        let mut asked = 0;
        let later = |_: Step| {
            asked += 1;
            if asked < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(Stop::Cancelled) }
        };
        let ended = method.learn(&Training::Labelled(&data), &mut { later }).unwrap();
        assert_eq!(ended.report.outcome, Outcome::Cancelled);
        assert!(asked < 6, "asked {asked} times after it said to stop");
    }
}
