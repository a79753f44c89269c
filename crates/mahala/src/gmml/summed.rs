//! Learning from sums: rows that were summed elsewhere, in a stream, or in two passes.
//!
//! The closed form needs of labelled rows two matrices, a mean and a scale. They come from [`Moments`] in one
//! pass, or from [`ClassMeans`](crate::scatter::ClassMeans) in two where there are too many classes for a matrix each. t
//! is given, or chosen on a sample of the rows.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::gmml::select_t::CrossValidation;
use crate::gmml::{Fit, Gmml, PairRule, TChoice, on_paper_scale};
use crate::progress::{Progress, silent};
use crate::scatter::moments::Moments;
use crate::scatter::summed::Summed;

impl Gmml {
    /// Learns from moments of rows that were summed elsewhere. t must be given, because there are no rows to
    /// cross-validate on; [`Gmml::fit_summed`] takes a sample of the rows.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; if t is to be cross-validated.
    pub fn fit_moments(&self, moments: &Moments) -> Result<Fit> {
        self.check(moments.columns(), moments.classes().len())?;
        self.fit_summed(Summed::of(moments, self.balance)?, None, &mut silent)
    }

    /// Learns from sums over all rows; t is given, or chosen on a sample of the rows as it would be on all.
    ///
    /// ```
    /// use mahala::progress::silent;
    /// use mahala::{Dataset, Gmml, Labels, Rows};
    /// use mahala::scatter::{Balance, Moments, Summed};
    /// let part = |x: [f64; 3], y: &str| Dataset::new(Rows::new(x.to_vec(), 1)?, Labels::new([y; 3]));
    /// let (a, b) = (part([1.0, 2.0, 3.0], "u")?, part([7.0, 8.0, 9.0], "v")?);
    /// let mut moments = Moments::of(&a)?;
    /// moments.merge(&Moments::of(&b)?)?;
    /// let sample = Dataset::new(
    ///     Rows::new(vec![1.0, 2.0, 7.0, 9.0, 3.0], 1)?,
    ///     Labels::new(["u", "u", "v", "v", "u"]),
    /// )?;
    /// let gmml = Gmml { k: 1, ..Gmml::default() };
    /// let fit = gmml.fit_summed(Summed::of(&moments, Balance::None)?, Some(&sample), &mut silent)?;
    /// assert_eq!(fit.diagnostics.selection.map(|selection| selection.rows), Some(5));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; if t is to be cross-validated and there is no sample, or if the pairs are
    /// to be sampled or principal directions to be found, which need the rows.
    pub fn fit_summed(
        &self,
        summed: Summed,
        sample: Option<&Dataset>,
        progress: &mut Progress<'_>,
    ) -> Result<Fit> {
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
                Some(CrossValidation::new(self, sample)?.select(progress)?)
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
