//! The automatic mode and single recipes behind the interface of every method.

use crate::auto::Auto;
use crate::auto::recipe::Recipe;
use crate::error::Result;
use crate::footprint::Shape;
use crate::gmml::FitOptions;
use crate::learner::{Learned, Learner, Outcome, Report, Training, fields};
use crate::progress::Progress;
use crate::scatter::all_pairs::check_labels;
use serde_json::Value;

impl Learner for Recipe {
    fn name(&self) -> &'static str {
        "recipe"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        self.peak(shape)
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        let data = training.labelled(self.name())?;
        check_labels(data.labels())?;
        let metric = self.fit_across(data, training.groups())?;
        Ok(Learned::new(metric, Report::closed_form()))
    }
}

impl Learner for Auto {
    fn name(&self) -> &'static str {
        if self.kernels { "auto-kernel" } else { "auto" }
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        self.peak(shape)
    }

    /// What is observed are thousandths of the budget. Where the time is up, the best so far is returned;
    /// [`Stop::Cancelled`](crate::progress::Stop::Cancelled) is [`Error::Cancelled`](crate::Error::Cancelled).
    fn run(&self, training: &Training<'_>, progress: &mut Progress<'_>) -> Result<Learned> {
        let data = training.labelled(self.name())?;
        let options = FitOptions { weights: None, groups: training.groups() };
        let fit = self.fit_with(data, &options, progress)?;
        let outcome = if fit.cut_short { Outcome::TimeLimit } else { Outcome::ClosedForm };
        let report = Report { choice: Some(fit.to_json()), outcome, ..Report::closed_form() };
        let kernel = fit.kernel.map(|kernel| kernel.1);
        Ok(Learned { kernel, similarity: self.similarity, ..Learned::new(fit.metric, report) })
    }
}
