//! Learning in the span of the rows, for methods whose metric lies there, if there are more columns than rows.

use super::{Learned, Learner, Training};
use crate::error::{MemoryRemedy, Result};
use crate::footprint::{self, Shape};
use crate::gmml::span::InSpan;
use crate::progress::Progress;
use crate::scatter::all_pairs::check_labels;

/// How a method learns in the span of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanRule {
    /// The method standardises columns.
    pub standardize: bool,
    /// The least number of directions of the span; with fewer the method learns on the columns.
    pub directions: usize,
}

/// Learns in the span, if the method does and there are more columns than rows.
pub(super) fn learn<L: Learner + ?Sized>(
    method: &L,
    shape: &Shape,
    training: &Training<'_>,
    progress: &mut Progress<'_>,
) -> Result<Option<Learned>> {
    // At least two rows, so that errors are the method's own.
    let Some(rule) = method.span(shape).filter(|_| shape.columns > shape.rows && shape.rows > 1) else {
        return Ok(None);
    };
    if let Training::Labelled(data) | Training::Grouped(data, _) = training {
        check_labels(data.labels())?;
    }
    let numbers = shape.span() + method.numbers(&shape.in_span());
    footprint::check(method.name(), numbers, shape.columns, MemoryRemedy::Columns)?;
    let span = InSpan::of(training.rows(), rule.standardize)?;
    if span.rows.columns() < rule.directions {
        return Ok(None);
    }
    let learned = training.on_rows(span.rows.clone(), |training| method.run(training, progress))?;
    Ok(Some(Learned { metric: span.composed(&learned.metric)?, ..learned }))
}
