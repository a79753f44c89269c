//! Fits of GMML (Algorithm 1): from labelled rows, pairs, or differences to a metric.

use crate::data::centered::Cells;
use crate::data::column_stats::mean_and_scale;
use crate::data::random::Stream;
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::gmml::diagnostics::Diagnostics;
use crate::gmml::low_rank::Reduced;
use crate::gmml::select_t::{CrossValidation, Selection};
use crate::gmml::select_t_of_pairs::t_for_pairs;
use crate::gmml::solution::Solution;
use crate::gmml::{Fit, FitOptions, Gmml, PairRule, TChoice};
use crate::pairs::Pairs;
use crate::progress::{Progress, silent};
use crate::scatter::Scatter;
use crate::scatter::balanced::Balance;

impl Gmml {
    /// Learns from rows and labels. With more columns than rows, inside the span of the rows, where the
    /// formula is the same and nothing is as large as columns × columns.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns
    /// too far apart in scale, or too much memory needed.
    pub fn fit(&self, data: &Dataset) -> Result<Fit> {
        self.fit_with(data, &FitOptions::default(), &mut silent)
    }

    /// Learns from rows and labels, with weights and groups of rows if they are given; `progress` is told of the
    /// choice of t.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; weights that are negative, not finite, all 0, or not one a row; weights
    /// with sampled pairs or standardisation; another number of groups than of rows, or fewer than two groups to
    /// choose t on; [`Error::Cancelled`] if `progress` stops it.
    pub fn fit_with(
        &self,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        if let Some(groups) = options.groups {
            groups.check_length("groups", data.len())?;
        }
        match options.weights {
            Some(weights) => self.fit_weighted(data, weights, options.groups, progress),
            None => self.fit_unweighted(data, options.groups, progress),
        }
    }

    fn fit_unweighted(
        &self,
        data: &Dataset,
        groups: Option<&Labels>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        if let Some(reduced) = Reduced::of(self, Cells::Dense(data.rows()), data.labels())? {
            return reduced.fit(self, &FitOptions { weights: None, groups }, progress);
        }
        let balanced = self.balance != Balance::None && self.pairs == PairRule::All;
        self.check(data.columns(), if balanced { data.labels().class_count() } else { 0 })?;
        let (solution, mean) = self.solve_labelled(data, Stream::Pairs)?;
        let selection = match self.t {
            TChoice::Fixed(_) => None,
            TChoice::CrossValidated => {
                let options = FitOptions { weights: None, groups };
                Some(CrossValidation::with(self, data, &options)?.select(progress)?)
            }
        };
        self.finish(solution, selection, mean)
    }

    /// Learns from pairs of rows of one table, with no labels at all.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; no similar pair, or no dissimilar pair.
    pub fn fit_pairs(&self, rows: &Rows, pairs: &Pairs) -> Result<Fit> {
        self.fit_two_tables(rows, rows, pairs)
    }

    /// Learns from pairs whose first ends are rows of one table and second ends rows of another.
    ///
    /// # Errors
    /// A parameter out of range, no similar pair, no dissimilar pair, no column that varies, columns too far apart in
    /// scale, or too much memory needed.
    pub fn fit_two_tables(&self, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Fit> {
        self.fit_two_tables_with(first, second, pairs, &mut silent)
    }

    /// Learns as [`Gmml::fit_two_tables`] does, and reports how far the choice of t is.
    ///
    /// # Errors
    /// A parameter out of range, no similar pair, no dissimilar pair, no column that varies, columns too far apart in
    /// scale, or too much memory needed; [`Error::Cancelled`] if `progress` stops it.
    pub fn fit_two_tables_with(
        &self,
        first: &Rows,
        second: &Rows,
        pairs: &Pairs,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
        self.check(first.columns(), 0)?;
        if first.is_empty() || second.is_empty() {
            return Err(Error::Empty { what: "the table of rows" });
        }
        let (mean, scale) = mean_and_scale(first, second, self.standardize);
        let solve = |pairs: &Pairs| self.solve_scaled(Scatter::between(first, second, pairs)?, scale.clone());
        let solution = solve(pairs)?;
        let selection = match self.t {
            TChoice::Fixed(_) => None,
            TChoice::CrossValidated => Some(t_for_pairs(self, first, second, pairs, solve, progress)?),
        };
        self.finish(solution, selection, mean)
    }

    /// Learns from differences `x_i − x_j`, each marked similar or not, and weighted if weights are given.
    ///
    /// # Errors
    /// A parameter out of range, no similar pair, no dissimilar pair, no column that varies, columns too far apart in
    /// scale, or too much memory needed.
    pub fn fit_differences(
        &self,
        differences: &Rows,
        similar: &[bool],
        weights: Option<&[f64]>,
    ) -> Result<Fit> {
        let pairs = Pairs::of_differences(differences.len(), similar, weights)?;
        let origin = Rows::new(vec![0.0; differences.columns()], differences.columns())?;
        let fit = self.fit_two_tables(differences, &origin, &pairs)?;
        let metric = fit.metric.centred_at(vec![0.0; differences.columns()])?;
        Ok(Fit { metric, ..fit })
    }

    /// Joins the solution at the t given or chosen with its diagnostics, centred at a mean.
    pub(crate) fn finish(
        &self,
        solution: Solution,
        selection: Option<Selection>,
        mean: Vec<f64>,
    ) -> Result<Fit> {
        let t = match (self.t, &selection) {
            (TChoice::Fixed(t), _) => t,
            (TChoice::CrossValidated, Some(selection)) => selection.t,
            (TChoice::CrossValidated, None) => 0.5,
        };
        let (metric, diagnostics) = match self.rank {
            Some(rank) => (solution.leading(t, rank)?, solution.into_diagnostics()),
            None => solution.into_metric(t)?,
        };
        let metric = metric.centred_at(mean)?;
        Ok(Fit { metric, t, diagnostics: Diagnostics { selection, ..diagnostics } })
    }
}
