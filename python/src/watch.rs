//! A fit under watch: its caller's function is told how far it is, and its time may be limited.

use crate::run::interruptible_until;
use mahala::progress::{Progress, Step, Stop};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two calls of the progress function.
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// How a fit is watched.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub(crate) struct Watched {
    /// Called with what is done, the total or None, the objective or None, and what is being tried or None: at the first step, then a few times a second,
    /// and at the last.
    pub(crate) progress: Option<Py<PyAny>>,
    pub(crate) time_limit: Option<f64>,
    /// Whether the first Ctrl-C ends the work as if its time were up, and the best so far is kept.
    pub(crate) keep_best: bool,
}

/// Runs work that reports its progress and ends at Ctrl-C, or when the time is up; what the caller's own function raised
/// comes before what became of the work.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    watched: Watched,
    work: impl FnOnce(&mut Progress<'_>) -> mahala::Result<T> + Send + 'static,
) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let failure = raised.clone();
    let enough = watched.keep_best.then(Arc::<AtomicBool>::default);
    let told = enough.clone();
    let outcome = interruptible_until(py, threads, told.as_deref(), move |cancelled| {
        let enough = enough.as_deref();
        let mut watch = Watch {
            cancelled,
            enough,
            watched: &watched,
            raised: &failure,
            start: Instant::now(),
            reported: None,
        };
        let done = work(&mut |step| watch.order(step))?;
        if cancelled.load(Ordering::Relaxed) { Err(mahala::Error::Cancelled) } else { Ok(done) }
    });
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) if !is_interrupt(py, &outcome) => Err(error),
        _ => outcome,
    }
}

fn is_interrupt<T>(py: Python<'_>, outcome: &PyResult<T>) -> bool {
    outcome.as_ref().is_err_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py))
}

struct Watch<'a> {
    cancelled: &'a AtomicBool,
    enough: Option<&'a AtomicBool>,
    watched: &'a Watched,
    /// What `progress` raised.
    raised: &'a Mutex<Option<PyErr>>,
    start: Instant,
    reported: Option<Instant>,
}

impl Watch<'_> {
    fn order(&mut self, step: Step) -> ControlFlow<Stop> {
        if let Some(progress) = &self.watched.progress
            && (step.total == Some(step.done)
                || self.reported.is_none_or(|last| last.elapsed() >= REPORT_EVERY))
        {
            self.reported = Some(Instant::now());
            let returned =
                Python::attach(|py| progress.call1(py, (step.done, step.total, step.objective, step.trying)));
            if let Err(error) = returned {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return ControlFlow::Break(Stop::Cancelled);
            }
        }
        match self.watched.time_limit {
            _ if self.cancelled.load(Ordering::Relaxed) => ControlFlow::Break(Stop::Cancelled),
            _ if self.enough.is_some_and(|enough| enough.load(Ordering::Relaxed)) => {
                ControlFlow::Break(Stop::TimeUp)
            }
            Some(limit) if self.start.elapsed().as_secs_f64() >= limit => ControlFlow::Break(Stop::TimeUp),
            _ => ControlFlow::Continue(()),
        }
    }
}
