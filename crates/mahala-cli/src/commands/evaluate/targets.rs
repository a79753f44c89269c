//! Rows with a number each: the mean of the nearest rows predicts it.

use crate::commands::configured::{Answer, Configured};
use crate::commands::evaluate::impute::Gaps;
use crate::commands::evaluate::material::Judged;
use crate::commands::evaluate::splits::Split;
use anyhow::{Result, bail};
use mahala::evaluation::SquaredErrors;
use mahala::learner::Training;
use mahala::{Knn, Rows};

/// Rows with a number each.
pub(super) struct Targeted {
    pub rows: Rows,
    pub targets: Vec<f64>,
    pub gaps: Gaps,
}

/// One side of a split.
struct Part {
    rows: Rows,
    targets: Vec<f64>,
}

impl Targeted {
    fn part(&self, rows: &[usize], means: Option<&[f64]>) -> Result<Part> {
        let targets = rows.iter().map(|&i| self.targets[i]).collect();
        Ok(Part { rows: self.gaps.filled(&self.rows, rows, means)?, targets })
    }

    /// Learns on these rows.
    pub(super) fn learn(&self, method: &Configured, train: &[usize]) -> Result<Answer> {
        let means = self.gaps.means(&self.rows, train)?;
        self.part(train, means.as_deref())?.learn(method)
    }

    /// Learns on one side of a split and predicts the other.
    pub(super) fn judge(&self, method: &Configured, split: &Split) -> Result<Judged> {
        let means = self.gaps.means(&self.rows, &split.train)?;
        let train = self.part(&split.train, means.as_deref())?;
        let test = self.part(&split.test, means.as_deref())?;
        let answer = train.learn(method)?;
        let moved = |part: &Part| answer.global().transform(&part.rows);
        let found = Knn::new(moved(&train)?)?.search(&moved(&test)?, method.gmml.k)?;
        let losses = Losses::of(&test.targets, &found.mean_targets(&train.targets)?)?;
        Ok(Judged {
            wrong: losses.errors.errors(),
            tested: losses.errors.spread(),
            units: Some(split.test.iter().copied().zip(losses.of_rows).collect()),
            at_threshold: None,
            rmse: Some(losses.errors.rmse()),
            answer,
        })
    }
}

impl Part {
    fn learn(&self, method: &Configured) -> Result<Answer> {
        Ok(method.answer(&Training::Targets(&self.rows, &self.targets), None)?)
    }
}

/// How far predictions of numbers are off.
pub(super) struct Losses {
    pub errors: SquaredErrors,
    /// The squared error of each row over the variance of the targets, whose mean is 1 − R².
    pub of_rows: Vec<f64>,
}

impl Losses {
    /// The losses of predictions for some rows.
    pub(super) fn of(targets: &[f64], predicted: &[f64]) -> Result<Self> {
        let errors = SquaredErrors::of(targets, predicted);
        if errors.r_squared().is_none() {
            bail!(
                "the targets that are tested together are all {}, and R² is not defined\nhint: fewer --test-folds, or \
                 other rows",
                targets.first().copied().unwrap_or_default()
            );
        }
        let unit = errors.spread() / errors.rows() as f64;
        let of_rows = targets.iter().zip(predicted).map(|(y, seen)| (seen - y).powi(2) / unit).collect();
        Ok(Self { errors, of_rows })
    }
}
