//! The one interface of every method: parameters → [`Learner::learn`] → [`Metric`] and [`Report`].
//!
//! Closed forms return at once; the others iterate, report each iteration to the caller's [`Progress`], and return the best metric
//! they have when they stop, with the [`Outcome`] that says why. The baselines are in the crate `mahala-baselines`.

mod in_span;
mod training;

pub use in_span::SpanRule;
pub use training::Training;

use crate::data::Rows;
use crate::data::column_stats::ColumnStatistics;
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::{self, Shape};
use crate::gmml::{FitOptions, Gmml};
use crate::kernel::{KernelMap, KernelMetric, transform};
use crate::metric::{Metric, squared_pair_distances};
use crate::pairs::Pairs;
use crate::progress::{Progress, Stop};
use crate::retrieval::Similarity;
use serde::Serialize;
use serde_json::{Value, json};

/// A method that learns a metric.
///
/// ```
/// use mahala::auto::Recipe;
/// use mahala::learner::{Learner, Training};
/// use mahala::progress::silent;
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 0.1, 0.2, 1.0, 1.1, 1.2], 1)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let methods: [&dyn Learner; 2] = [&Recipe::all_pairs(0.5), &Gmml { k: 1, ..Gmml::default() }];
/// for method in methods {
///     let learned = method.learn(&Training::Labelled(&data), &mut silent)?;
///     assert_eq!(learned.metric.rank(), 1);
/// }
/// # Ok::<(), mahala::Error>(())
/// ```
pub trait Learner: Send + Sync {
    /// The name of the method in the command and in Python.
    fn name(&self) -> &'static str;

    /// The parameters by name, for the model file.
    fn parameters(&self) -> Value;

    /// An estimate of the peak memory of [`Learner::run`] above the rows, in 64-bit numbers, from their shape.
    fn numbers(&self, shape: &Shape) -> f64;

    /// Whether, with more columns than rows, the metric lies in the span of the rows, so that it can be learned in
    /// their coordinates there and nothing is as large as columns × columns.
    fn span(&self, _: &Shape) -> Option<SpanRule> {
        None
    }

    /// Learns on a table that is known to fit into memory. Called by [`Learner::learn`].
    ///
    /// # Errors
    /// Parameters out of range, data from which the method cannot learn, or more memory needed than
    /// [`memory_limit_gb`](crate::footprint::memory_limit_gb) allows.
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned>;

    /// Learns a metric; `progress` is called for every iteration and may stop it.
    ///
    /// # Errors
    /// Parameters out of range, data from which the method cannot learn, or more memory needed than
    /// [`memory_limit_gb`](crate::footprint::memory_limit_gb) allows. An early stop is no error: it is in the report.
    fn learn(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let shape = Shape::of(training);
        if let Some(learned) = in_span::learn(self, &shape, training, progress)? {
            return Ok(learned);
        }
        footprint::check(self.name(), self.numbers(&shape), shape.columns, MemoryRemedy::Columns)?;
        self.run(training, progress)
    }
}

/// A metric, and how it was reached.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The metric; on kernel values, if there is a kernel.
    pub metric: Metric,
    /// The kernel, if the method chose one.
    pub kernel: Option<KernelMap>,
    /// What transformed rows are to be ranked by: the distance, unless something else was asked for.
    pub similarity: Similarity,
    /// How it was reached.
    pub report: Report,
}

impl Learned {
    /// A metric on rows.
    pub fn new(metric: Metric, report: Report) -> Self {
        Self { metric, kernel: None, similarity: Similarity::L2, report }
    }

    /// Rows in coordinates where the metric is Euclidean; of norm 1, if they are to be ranked by the cosine.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform(&self, rows: &Rows) -> Result<Rows> {
        self.similarity.coordinates(transform(self.kernel.as_ref(), &self.metric, rows)?)
    }

    /// Squared distances of pairs; for the cosine, of rows of norm 1.
    ///
    /// # Errors
    /// Rows with other columns, pairs of rows that are not there, or a distance outside the range of 64-bit numbers.
    pub fn squared_pair_distances(&self, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
        let map = (self.kernel.as_ref(), &self.metric, self.similarity);
        squared_distances_under(map, first, second, pairs)
    }
}

/// Squared distances of pairs under a metric, through its kernel if there is one; for the cosine, of rows of norm 1.
pub(crate) fn squared_distances_under(
    (kernel, metric, similarity): (Option<&KernelMap>, &Metric, Similarity),
    first: &Rows,
    second: &Rows,
    pairs: &Pairs,
) -> Result<Vec<f64>> {
    if similarity == Similarity::Cosine {
        let seen = |rows| similarity.coordinates(transform(kernel, metric, rows)?);
        return squared_pair_distances(
            &Metric::euclidean(metric.rank()),
            &seen(first)?,
            &seen(second)?,
            pairs,
        );
    }
    match kernel {
        None => squared_pair_distances(metric, first, second, pairs),
        Some(map) => {
            KernelMetric::new(map.clone(), metric.clone())?.squared_pair_distances(first, second, pairs)
        }
    }
}

/// How a method came to its metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Iterations made; what one is, each method says.
    pub iterations: usize,
    /// The method's own objective at the metric returned, if it has one.
    pub objective: Option<f64>,
    /// Why it stopped.
    pub outcome: Outcome,
    /// The hyperparameters tried and chosen, by a method that chooses: [`crate::AutoFit::to_json`], or ITML's γ.
    pub choice: Option<Value>,
}

impl Report {
    /// The report of a method that does not iterate.
    pub fn closed_form() -> Self {
        Self { iterations: 0, objective: None, outcome: Outcome::ClosedForm, choice: None }
    }
}

/// Why a method stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was iterated.
    ClosedForm,
    /// The convergence criterion was met.
    Converged,
    /// A method with a number of passes instead of a convergence criterion made all of them.
    Completed,
    /// No step along the search direction lowers the objective any more: as far as rounding allows.
    NoDescent,
    /// The limit of iterations came first.
    IterationLimit,
    /// The time given was up.
    TimeLimit,
    /// The caller ended it.
    Cancelled,
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::TimeUp => Self::TimeLimit,
        }
    }
}

impl Outcome {
    /// Whether the method converged, made all its passes, or needed no iteration.
    pub fn is_final(self) -> bool {
        matches!(self, Self::ClosedForm | Self::Converged | Self::Completed | Self::NoDescent)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ClosedForm => "closed form",
            Self::Converged => "converged",
            Self::Completed => "all passes made",
            Self::NoDescent => "converged as far as rounding allows",
            Self::IterationLimit => "not converged: limit of iterations reached",
            Self::TimeLimit => "not converged: limit of time reached",
            Self::Cancelled => "not converged: cancelled",
        })
    }
}

/// Learns on columns divided by their standard deviations; the metric remembers it.
///
/// # Errors
/// Parameters out of range, data from which the method cannot learn, or more memory needed than
/// [`memory_limit_gb`](crate::footprint::memory_limit_gb) allows.
pub fn learn_standardized(
    method: &dyn Learner,
    training: &Training<'_>,
    progress: &mut Progress<'_>,
) -> Result<Learned> {
    if training.rows().is_empty() {
        return Err(Error::Empty { what: "the table of rows" });
    }
    let scale = ColumnStatistics::of(training.rows()).scale;
    let rows = training.rows().divided_by(&scale)?;
    let learned = training.on_rows(rows, |training| method.learn(training, progress))?;
    Ok(match learned.kernel {
        None => Learned { metric: learned.metric.of_divided_rows(&scale)?, ..learned },
        Some(map) => Learned { kernel: Some(map.of_divided_rows(&scale)?), ..learned },
    })
}

/// The fields of a parameter struct by name.
pub fn fields<T: Serialize>(parameters: &T) -> Value {
    serde_json::to_value(parameters).unwrap_or_default()
}

impl Learner for Gmml {
    fn name(&self) -> &'static str {
        "gmml"
    }

    fn parameters(&self) -> Value {
        self.to_json()
    }

    /// Zero: every fit of [`Gmml`] checks its own estimate, against its own limit.
    fn numbers(&self, _: &Shape) -> f64 {
        0.0
    }

    /// Closed form: the progress sees the choice of t, which it may stop with [`Error::Cancelled`].
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let fit = match training {
            Training::Labelled(data) => self.fit_with(data, &FitOptions::default(), progress)?,
            Training::Grouped(data, groups) => self.fit_with(data, &FitOptions::grouped(groups), progress)?,
            Training::Chunklets(rows, chunklets) => {
                self.fit_with(&chunklets.as_classes(rows)?, &FitOptions::default(), progress)?
            }
            _ => {
                let pairs = training.pairs(self.name(), self.seed)?;
                self.fit_pairs(training.rows(), &pairs)?
            }
        };
        Ok(Learned::new(fit.metric, Report::closed_form()))
    }
}

impl Report {
    /// The report, for the model file and for machines to read.
    pub fn to_json(&self) -> Value {
        json!({
            "iterations": self.iterations, "objective": self.objective, "outcome": self.outcome.to_string(),
            "converged": self.outcome.is_final(), "choice": self.choice,
        })
    }
}
