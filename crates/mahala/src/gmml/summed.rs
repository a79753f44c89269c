//! Learning from rows that were summed: elsewhere, in a stream, or in two passes.
//!
//! What the closed form needs of labelled rows is two matrices, a mean and a scale. They come from [`Moments`] in
//! one pass, or from [`ClassMeans`](crate::ClassMeans) in two where there are too many classes for a matrix each.
//! t is given, or chosen on a sample of the rows.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::gmml::{Fit, Gmml, PairRule, TChoice, on_paper_scale};
use crate::linalg::times_power_of_two;
use crate::moments::{ClassMoments, Moments};
use crate::scatter::Scatter;
use crate::select::{CrossValidation, Watch};
use crate::standardize::ColumnStatistics;
use crate::weights::Balance;

/// All pairs of rows that are no longer at hand, summed.
#[derive(Debug, Clone)]
pub struct Summed {
    pub(crate) scatter: Scatter,
    /// The number of classes that have rows.
    pub(crate) classes: usize,
    /// The weight of all rows together.
    pub(crate) weight: f64,
    pub(crate) statistics: ColumnStatistics,
}

impl Summed {
    /// From moments.
    ///
    /// # Formula
    /// The variance of a column is that within the classes and that between their means:
    /// ```text
    /// σ² = (Σ_c M_c + Σ_c w_c (m_c − m)²) / w
    /// ```
    ///
    /// # Errors
    /// One class only, or no class with two rows.
    pub fn of(moments: &Moments, balance: Balance) -> Result<Self> {
        let scatter = Scatter::balanced(moments, balance)?;
        let present = || moments.classes().iter().filter(|class| class.weight() > 0.0);
        let weight: f64 = present().map(ClassMoments::weight).sum();
        let (mut mean, mut deviation) = (Vec::new(), Vec::new());
        for (j, &unit) in moments.units().iter().enumerate() {
            let pivot = present().next().map_or(0.0, |class| class.mean()[j]);
            let offset: f64 = present().map(|class| class.weight() * (class.mean()[j] - pivot)).sum();
            let m = pivot + offset / weight;
            let squares: f64 = present()
                .map(|class| class.scatter()[(j, j)] + class.weight() * (class.mean()[j] - m).powi(2))
                .sum();
            // Around a pivot, so that a constant column deviates by exactly nothing.
            let constant = present().all(|c| c.scatter()[(j, j)] == 0.0 && c.mean()[j] == pivot);
            let sigma = if constant { 0.0 } else { (squares / weight).sqrt() };
            mean.push(times_power_of_two(m, unit));
            deviation.push(times_power_of_two(sigma, unit));
        }
        let statistics = ColumnStatistics::from_parts(moments.rows() as usize, mean, deviation);
        Ok(Self { scatter, classes: present().count(), weight, statistics })
    }

    /// The mean and standard deviation of each column.
    pub fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }

    /// `S` and `D`.
    pub fn scatter(&self) -> &Scatter {
        &self.scatter
    }
}

impl Gmml {
    /// Learns from moments: rows that were summed elsewhere. t must be given, for there is nothing to
    /// cross-validate on; [`Gmml::fit_summed`] takes a sample of the rows.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; also if t is to be cross-validated.
    pub fn fit_moments(&self, moments: &Moments) -> Result<Fit> {
        self.check(moments.columns(), moments.classes().len())?;
        self.fit_summed(Summed::of(moments, self.balance)?, None, &mut |_, _| true)
    }

    /// Learns from sums over all rows; t is given, or chosen on a sample of the rows as it would be on all.
    ///
    /// ```
    /// use mahala::{Balance, Dataset, Gmml, Labels, Moments, Rows, Summed};
    /// let part = |x: [f64; 3], y: &str| Dataset::new(Rows::new(x.to_vec(), 1)?, Labels::new([y; 3]));
    /// let (a, b) = (part([1.0, 2.0, 3.0], "u")?, part([7.0, 8.0, 9.0], "v")?);
    /// let mut moments = Moments::of(&a)?;
    /// moments.merge(&Moments::of(&b)?)?;
    /// let sample = Dataset::new(
    ///     Rows::new(vec![1.0, 2.0, 7.0, 9.0, 3.0], 1)?,
    ///     Labels::new(["u", "u", "v", "v", "u"]),
    /// )?;
    /// let gmml = Gmml { k: 1, ..Gmml::default() };
    /// let fit = gmml.fit_summed(Summed::of(&moments, Balance::None)?, Some(&sample), &mut |_, _| true)?;
    /// assert_eq!(fit.diagnostics.selection.map(|selection| selection.rows), Some(5));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Gmml::fit`]; also if t is to be cross-validated and there is no sample, or if the pairs are to be
    /// sampled or principal directions to be found, which need the rows.
    pub fn fit_summed(&self, summed: Summed, sample: Option<&Dataset>, watch: &mut Watch<'_>) -> Result<Fit> {
        let Summed { scatter, classes, weight, statistics } = summed;
        self.check(scatter.columns(), 0)?;
        if self.pairs != PairRule::All {
            let (value, allowed) =
                ("sampled".to_owned(), "all when only sums are given: a sample needs the rows");
            return Err(Error::Parameter { name: "pairs", value, allowed });
        }
        if self.principal.is_some() {
            let (value, allowed) = ("given".to_owned(), "left out when only sums are given");
            return Err(Error::Parameter { name: "principal", value, allowed });
        }
        let selection = match (self.t, sample) {
            (TChoice::Fixed(_), _) => None,
            (TChoice::CrossValidated, Some(sample)) => {
                Some(CrossValidation::new(self, sample)?.select(watch)?)
            }
            (TChoice::CrossValidated, None) => {
                let (value, allowed) = ("to be chosen".to_owned(), "a number when only moments are given");
                return Err(Error::Parameter { name: "t", value, allowed });
            }
        };
        let scale = self.standardize.then_some(statistics.scale);
        let solution = self.solve_scaled(on_paper_scale(scatter, classes, weight), scale)?;
        self.finish(solution, selection, statistics.mean)
    }
}
