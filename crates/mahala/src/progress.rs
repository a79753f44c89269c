//! Progress and cancellation: the one protocol of everything that takes long.
//!
//! The library reads no clock. A caller that wants a deadline keeps one, and answers with [`Stop::TimeUp`].

use std::ops::ControlFlow;

/// How far a computation is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Iterations, folds or searches done.
    pub done: usize,
    /// How many there will be, if that is known.
    pub total: Option<usize>,
    /// The objective there, if there is one and it is known.
    pub objective: Option<f64>,
    /// What is being tried, by a method that chooses; its objective is then the best so far.
    pub trying: Option<&'static str>,
}

impl Step {
    /// One more iteration of a method that does not know how many there will be.
    pub fn iteration(done: usize, objective: Option<f64>) -> Self {
        Self { done, total: None, objective, trying: None }
    }

    /// `done` of `total`.
    pub fn of(done: usize, total: usize) -> Self {
        Self { done, total: Some(total), objective: None, trying: None }
    }

    /// The step of a method that chooses: what is being tried, and the best so far.
    #[must_use]
    pub fn trying(self, what: &'static str, best: Option<f64>) -> Self {
        Self { trying: Some(what), objective: best, ..self }
    }
}

/// Why the caller wants no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The caller ended it.
    Cancelled,
    /// The time is up.
    TimeUp,
}

/// The caller's side of the protocol: told of every step, and breaks to stop the computation. A method that
/// iterates then returns its best metric so far, and so does the automatic mode where the time is up; what has none yet returns [`Error::Cancelled`](crate::Error::Cancelled).
pub type Progress<'a> = dyn FnMut(Step) -> ControlFlow<Stop> + 'a;

/// Reports nothing and never stops: `gmml.fit_with(&data, &FitOptions::default(), &mut silent)`.
pub fn silent(_: Step) -> ControlFlow<Stop> {
    ControlFlow::Continue(())
}
