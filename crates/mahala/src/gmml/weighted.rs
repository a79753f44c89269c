//! Row weights, in the sums and in the cross-validated error.

use crate::data::centered::Cells;
use crate::data::{Dataset, Labels};
use crate::error::{Error, Result};
use crate::gmml::low_rank::Reduced;
use crate::gmml::select_t::CrossValidation;
use crate::gmml::{Diagnostics, Fit, FitOptions, Gmml, PairRule, TChoice};
use crate::progress::Progress;
use crate::scatter::balanced::Balance;
use crate::scatter::moments::Moments;

impl Gmml {
    /// Learns from rows, labels and a weight for each row: a row of weight 2 counts as two. If t is to be chosen,
    /// the error has these weights.
    pub(super) fn fit_weighted(
        &self,
        data: &Dataset,
        weights: &[f64],
        groups: Option<&Labels>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        if self.pairs != PairRule::All || self.standardize {
            let value = "sampled pairs or standardisation, with weights".to_owned();
            let allowed = "all pairs and no standardisation when rows have weights";
            return Err(Error::Parameter { name: "pairs", value, allowed });
        }
        self.check_parameters(data.columns())?;
        if weights.len() != data.len() {
            return Err(Error::Length { what: "weights", seen: weights.len(), expected: data.len() });
        }
        // Rows of weight 0 are no neighbours either.
        let counting: Vec<usize> = (0..data.len()).filter(|&i| weights[i] != 0.0).collect();
        if counting.is_empty() {
            return Err(Error::Empty { what: "the list of rows with a weight above 0" });
        }
        let splits = self.splits.as_ref().map(|splits| splits.among(&counting)).transpose()?;
        let gmml = Self { splits, ..self.clone() };
        let (data, weights) = (data.subset(&counting), chosen(weights, &counting));
        let groups = groups.map(|groups| groups.subset(&counting));
        let options = FitOptions { weights: Some(&weights), groups: groups.as_ref() };
        if let Some(reduced) = Reduced::of(&gmml, Cells::Dense(data.rows()), data.labels())? {
            return reduced.fit(&gmml, &options, progress);
        }
        self.check(data.columns(), data.labels().class_count())?;
        let moments = Moments::weighted(&data, Some(&weights))?;
        let selection = match self.t {
            TChoice::Fixed(_) => None,
            TChoice::CrossValidated => Some(CrossValidation::with(&gmml, &data, &options)?.select(progress)?),
        };
        let t = selection.as_ref().map_or(self.t, |selection| TChoice::Fixed(selection.t));
        let fit = Self { t, ..gmml }.fit_moments(&moments)?;
        Ok(Fit { diagnostics: Diagnostics { selection, ..fit.diagnostics }, ..fit })
    }

    /// Checks that balance has the sums over all pairs that it needs.
    pub(crate) fn check_balance(&self) -> Result<()> {
        if self.balance == Balance::None || self.pairs == PairRule::All {
            return Ok(());
        }
        let value = "set, with sampled pairs".to_owned();
        Err(Error::Parameter { name: "balance", value, allowed: "none, or used with all pairs" })
    }
}

/// The weight of each row in an error: its own, divided by its class's if classes have equal weight.
pub(crate) fn error_weights(balance: Balance, labels: &Labels, weights: Option<&[f64]>) -> Vec<f64> {
    let mut rows = weights.map_or_else(|| vec![1.0; labels.len()], <[f64]>::to_vec);
    if balance == Balance::None {
        return rows;
    }
    let mut classes = vec![0.0; labels.class_count()];
    labels.codes().iter().zip(&rows).for_each(|(&code, w)| classes[code as usize] += w);
    rows.iter_mut().zip(labels.codes()).for_each(|(w, &code)| *w /= classes[code as usize]);
    rows
}

/// The weights of the chosen rows.
pub(crate) fn chosen(weights: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&i| weights[i]).collect()
}
