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
}

impl Step {
    /// One more iteration of a method that does not know how many there will be.
    pub fn iteration(done: usize, objective: Option<f64>) -> Self {
        Self { done, total: None, objective }
    }

    /// `done` of `total`.
    pub fn of(done: usize, total: usize) -> Self {
        Self { done, total: Some(total), objective: None }
    }
}

/// Why the caller wants no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The caller ended it.
    Cancelled,
    /// The time is up.
    TimeUp,
}

/// The caller's side of the protocol: told of every step, and breaks to stop the computation. A method that
/// iterates then returns its best metric so far; what has none yet returns [`Error::Cancelled`](crate::Error::Cancelled).
pub type Progress<'a> = dyn FnMut(Step) -> ControlFlow<Stop> + 'a;

/// Reports nothing and never stops: `gmml.fit_with(&data, &FitOptions::default(), &mut silent)`.
pub fn silent(_: Step) -> ControlFlow<Stop> {
    ControlFlow::Continue(())
}
