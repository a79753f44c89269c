//! Learning by any method but GMML.

use crate::array::{labels_of, mat_out, rows_of};
use crate::fit::graded;
use crate::kernel::kernel_parts;
use crate::run::{interruptible, to_python};
use mahala::learner::{Training, learn_standardized};
use mahala::pairs::Pairs;
use mahala::progress::{Step, Stop};
use mahala::{Dataset, Error, Labels, Model, Rows};
use mahala_baselines::named;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two calls of the progress function.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Which method, with which parameters (as JSON), and how it is watched.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Plan {
    method: String,
    parameters: String,
    standardize: bool,
    time_limit: Option<f64>,
    /// The group of each row, for a method that chooses.
    groups: Option<Vec<String>>,
    /// Called with iteration and objective, now and then.
    progress: Option<Py<PyAny>>,
    threads: Option<usize>,
}

/// What is learned from.
enum Source {
    Labelled(Dataset),
    Paired(Rows, Pairs),
}

/// Learns from rows and, if the method wants them, labels.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    labels: Option<(Vec<String>, PyReadonlyArray1<'py, u32>)>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = rows_of(x)?;
    let source = match labels {
        Some((names, codes)) => Dataset::new(rows, labels_of(&names, &codes)?).map(Source::Labelled),
        None => Pairs::new(Vec::new(), rows.len(), rows.len()).map(|none| Source::Paired(rows, none)),
    };
    let model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    describe(py, &model)
}

/// Learns from pairs: row i of `first` with row i of `second`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn learn_pairs<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    similar: Vec<bool>,
    weights: Option<&Bound<'py, PyAny>>,
    plan: Plan,
) -> PyResult<Bound<'py, PyDict>> {
    let (first, second) = (rows_of(first)?, rows_of(second)?);
    let similarity: Vec<f64> = similar.into_iter().map(f64::from).collect();
    let pairs = graded([first.len(), second.len()], &similarity, weights, first.len())?;
    let both = Rows::new([first.values(), second.values()].concat(), first.columns());
    let source = both.map(|rows| Source::Paired(rows, pairs));
    let mut model = run(py, plan, source.map_err(|error| to_python(&error))?)?;
    model.params["pairs"] = json!("given");
    describe(py, &model)
}

fn run(py: Python<'_>, plan: Plan, source: Source) -> PyResult<Model> {
    let parameters: Value = serde_json::from_str(&plan.parameters)
        .map_err(|error| PyValueError::new_err(format!("parameters that are not JSON: {error}")))?;
    let method = named(&plan.method, parameters).map_err(|error| to_python(&error))?;
    let raised = Arc::new(Mutex::new(None));
    let failure = raised.clone();
    let learned = interruptible(py, plan.threads, move |cancelled| {
        let groups = plan.groups.map(Labels::new);
        let training = match (&source, &groups) {
            (Source::Labelled(data), Some(groups)) => Training::Grouped(data, groups),
            (Source::Labelled(data), None) => Training::Labelled(data),
            (Source::Paired(rows, pairs), _) => Training::Paired(rows, pairs),
        };
        let mut watch = Watch::new(cancelled, plan.time_limit, plan.progress.as_ref(), &failure);
        let progress = &mut |step| watch.order(step);
        let learned = if plan.standardize {
            learn_standardized(&*method, &training, progress)?
        } else {
            method.learn(&training, progress)?
        };
        if cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        learned.into_model(&*method, plan.standardize, Vec::new(), None, None)
    });
    // What the caller's own function raised comes before what became of the work.
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) if !is_interrupt(py, &learned) => Err(error),
        _ => learned,
    }
}

fn is_interrupt<T>(py: Python<'_>, outcome: &PyResult<T>) -> bool {
    outcome.as_ref().is_err_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

/// Ends the work at Ctrl-C or when the time is up, and reports how far it is.
struct Watch<'a> {
    cancelled: &'a AtomicBool,
    limit: Option<f64>,
    progress: Option<&'a Py<PyAny>>,
    /// What `progress` raised.
    raised: &'a Mutex<Option<PyErr>>,
    start: Instant,
    reported: Option<Instant>,
}

impl<'a> Watch<'a> {
    fn new(
        cancelled: &'a AtomicBool,
        limit: Option<f64>,
        progress: Option<&'a Py<PyAny>>,
        raised: &'a Mutex<Option<PyErr>>,
    ) -> Self {
        Self { cancelled, limit, progress, raised, start: Instant::now(), reported: None }
    }

    fn order(&mut self, step: Step) -> ControlFlow<Stop> {
        if let Some(progress) = self.progress
            && self.reported.is_none_or(|last| last.elapsed() >= REPORT_EVERY)
        {
            self.reported = Some(Instant::now());
            let returned = Python::attach(|py| progress.call1(py, (step.done, step.objective)));
            if let Err(error) = returned {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return ControlFlow::Break(Stop::Cancelled);
            }
        }
        match self.limit {
            _ if self.cancelled.load(Ordering::Relaxed) => ControlFlow::Break(Stop::Cancelled),
            Some(limit) if self.start.elapsed().as_secs_f64() >= limit => ControlFlow::Break(Stop::TimeUp),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn describe<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyDict>> {
    let answer = PyDict::new(py);
    answer.set_item("components", mat_out(py, model.metric.components()))?;
    answer.set_item("mean", PyArray1::from_slice(py, model.metric.mean()))?;
    answer.set_item("scale", model.metric.scale().map(|scale| PyArray1::from_slice(py, scale)))?;
    answer.set_item("weight_outside", model.metric.weight_outside())?;
    answer.set_item("kernel", model.kernel.as_ref().map(|map| kernel_parts(py, map)))?;
    answer.set_item("log_eigenvalues", PyArray1::from_slice(py, &model.log_eigenvalues))?;
    answer.set_item("params", model.params.to_string())?;
    answer.set_item("diagnostics", model.diagnostics.to_string())?;
    Ok(answer)
}
