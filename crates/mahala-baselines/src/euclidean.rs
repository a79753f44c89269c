//! The Euclidean distance: no learning.

use mahala::error::Result;
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Report, Training, fields};
use mahala::metric::Metric;
use mahala::progress::Progress;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The Euclidean metric, `A = I`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Euclidean {}

impl Learner for Euclidean {
    fn name(&self) -> &'static str {
        "euclidean"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // The identity, and a copy of it.
        shape.matrices(2.0, 0.0)
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        let metric = Metric::euclidean(training.rows().columns());
        Ok(Learned::new(metric, Report::closed_form()))
    }
}
