//! What a fit may be given beside rows and labels.

use crate::data::Labels;

/// What a fit may be given beside rows and labels.
///
/// ```
/// use mahala::gmml::FitOptions;
/// use mahala::progress::silent;
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// let rows = Rows::new(vec![0.0, 0.1, 0.2, 1.0, 1.1, 1.2], 1)?;
/// let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
/// let sessions = Labels::new(["1", "2", "3", "1", "2", "3"]);
/// let gmml = Gmml { k: 1, ..Gmml::default() };
/// let fit = gmml.fit_with(&data, &FitOptions { weights: Some(&[1.0; 6]), groups: Some(&sessions) }, &mut silent)?;
/// assert_eq!(fit.diagnostics.selection.map(|selection| selection.folds), Some(3));
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct FitOptions<'a> {
    /// A weight for each row: a row of weight 2 counts as two, one of weight 0 not at all.
    pub weights: Option<&'a [f64]>,
    /// The group of each row: folds keep groups whole when something is chosen.
    pub groups: Option<&'a Labels>,
}

impl<'a> FitOptions<'a> {
    /// Groups alone.
    pub fn grouped(groups: &'a Labels) -> Self {
        Self { groups: Some(groups), ..Self::default() }
    }

    /// Weights alone.
    pub fn weighted(weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..Self::default() }
    }
}
