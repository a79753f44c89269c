//! No learning: the plain distance.

use super::{Learned, Learner, Observer, Outcome, Report, Training};
use crate::error::Result;
use crate::metric::Metric;

/// The Euclidean metric, `A = I`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Euclidean;

impl Learner for Euclidean {
    fn name(&self) -> &'static str {
        "euclidean"
    }

    fn learn(&self, training: &Training<'_>, _: &mut Observer<'_>) -> Result<Learned> {
        let metric = Metric::euclidean(training.rows().columns());
        Ok(Learned {
            metric,
            report: Report { iterations: 0, objective: None, outcome: Outcome::ClosedForm },
        })
    }
}
