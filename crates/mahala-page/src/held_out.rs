//! What held-out rows say: the error over t, the choice of t, and which class is taken for which.

use crate::Settings;
use mahala::gmml::{Criterion, CrossValidation, FitOptions, TChoice, VALUES_OF_T, Votes};
use mahala::progress::{Progress, Step};
use mahala::{Dataset, Error, Labels, Result};
use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct HeldOut {
    /// The t chosen or given.
    pub(crate) t: f64,
    given: bool,
    measured: Option<Measured>,
}

#[derive(Debug, Clone)]
struct Measured {
    curve: Vec<(f64, f64)>,
    /// Of the plain distance, on the same folds.
    plain: f64,
    votes: Votes,
    criterion: Criterion,
    folds: usize,
    rows: usize,
}

impl HeldOut {
    /// A table too small to hold rows out has no curve if t is given, and is refused if it is not.
    pub(crate) fn of(
        data: &Dataset,
        groups: Option<&Labels>,
        settings: &Settings,
        progress: &mut Progress<'_>,
    ) -> Result<Self> {
        let given = match settings.gmml.t {
            TChoice::Fixed(t) => Some(t),
            TChoice::CrossValidated => None,
        };
        let options = FitOptions { weights: None, groups };
        let search = match (CrossValidation::with(&settings.gmml, data, &options), given) {
            (Err(Error::NoUsableFold { .. }), Some(t)) => return Ok(Self { t, given: true, measured: None }),
            (search, _) => search?,
        };
        let (t, curve) = curve(&search, given, settings.steps, progress)?;
        let measured = Measured {
            curve,
            plain: search.plain_error()?,
            votes: search.votes(t)?,
            criterion: if settings.gmml.balance == mahala::scatter::Balance::None {
                Criterion::KnnError
            } else {
                Criterion::BalancedKnnError
            },
            folds: search.folds(),
            rows: search.rows(),
        };
        Ok(Self { t, given: given.is_some(), measured: Some(measured) })
    }

    pub(crate) fn to_json(&self) -> Value {
        let measured = self.measured.as_ref().map(|measured| {
            json!({
                "curve": measured.curve,
                "plain": measured.plain,
                "votes": measured.votes,
                "balanced": measured.criterion == Criterion::BalancedKnnError,
                "folds": measured.folds,
                "rows": measured.rows,
            })
        });
        json!({ "t": self.t, "given": self.given, "measured": measured })
    }
}

/// The t, and the error at every value tried, ascending.
fn curve(
    search: &CrossValidation,
    given: Option<f64>,
    steps: usize,
    progress: &mut Progress<'_>,
) -> Result<(f64, Vec<(f64, f64)>)> {
    let mut values: Vec<f64> = (0..=steps).map(|i| i as f64 / steps as f64).collect();
    values.extend(given.filter(|t| !values.contains(t)));
    values.sort_by(f64::total_cmp);
    let before = values.len() * search.folds();
    let total = before + given.map_or(VALUES_OF_T * search.folds(), |_| 0);
    let errors = search.errors(&values, &mut |step| progress(Step::of(step.done, total)))?;
    let mut curve: Vec<(f64, f64)> = values.into_iter().zip(errors).collect();
    let Some(t) = given else {
        let selection = search.select(&mut |step| progress(Step::of(before + step.done, total)))?;
        curve.extend(
            selection
                .curve
                .iter()
                .filter(|point| curve.iter().all(|known| known.0 != point.0))
                .copied()
                .collect::<Vec<_>>(),
        );
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Ok((selection.t, curve));
    };
    Ok((t, curve))
}
