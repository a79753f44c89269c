//! Online GMML: two sums updated by every pair, the closed form on demand.
//!
//! # Formula
//! ```text
//! S ← S + vvᵀ for a similar pair,    D ← D + vvᵀ for a dissimilar one
//! A = (S + λI)⁻¹ ♯_t (D + λI)
//! ```
//! Exact: no step size, and no dependence on the order of the pairs. Rows with labels have sums over all pairs, one
//! pass and O(d²) a row, in [`mahala::scatter::Moments`] with [`mahala::Gmml::fit_moments`].

use crate::online::{Online, add_outer, checked_columns, difference};
use faer::Mat;
use mahala::error::{Error, Result};
use mahala::geometry::{Geodesic, Spd};
use mahala::metric::Metric;

/// The sums S and D of the pairs seen so far.
///
/// ```
/// use mahala_baselines::online::{Online, OnlineGmml};
/// let mut gmml = OnlineGmml::new(1, 0.5, 0.0)?;
/// gmml.update_pair(&[1.0], &[0.0], true)?;
/// gmml.update_pair(&[3.0], &[0.0], false)?;
/// assert!((gmml.metric()?.matrix()?[(0, 0)] - 3.0).abs() < 1e-14); // √(9/1)
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineGmml {
    s: Mat<f64>,
    d: Mat<f64>,
    t: f64,
    lambda: f64,
}

impl OnlineGmml {
    /// No pair, the place t on the geodesic, and the regularisation λ.
    ///
    /// # Errors
    /// No column, t outside 0 to 1, or a λ that is negative or not finite.
    pub fn new(columns: usize, t: f64, lambda: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&t) {
            return Err(Error::Parameter { name: "t", value: t.to_string(), allowed: "between 0 and 1" });
        }
        if !(0.0..=f64::MAX).contains(&lambda) {
            let allowed = "0 or larger, and finite";
            return Err(Error::Parameter { name: "lambda", value: lambda.to_string(), allowed });
        }
        let zero = Mat::zeros(checked_columns(columns)?, columns);
        Ok(Self { s: zero.clone(), d: zero, t, lambda })
    }
}

impl Online for OnlineGmml {
    fn name(&self) -> &'static str {
        "gmml"
    }

    fn columns(&self) -> usize {
        self.s.ncols()
    }

    /// Returns 0: a sum has no loss.
    fn update_pair(&mut self, first: &[f64], second: &[f64], similar: bool) -> Result<f64> {
        let v = difference(self.columns(), first, second)?;
        add_outer(if similar { &mut self.s } else { &mut self.d }, 1.0, &v);
        Ok(0.0)
    }

    /// O(d³).
    ///
    /// # Errors
    /// S + λI or D + λI is singular: too few pairs, and no λ.
    fn metric(&self) -> Result<Metric> {
        let ridged = |sum: &Mat<f64>, what| {
            let mut sum = sum.clone();
            (0..sum.ncols()).for_each(|j| sum[(j, j)] += self.lambda);
            Spd::named(sum, what)
        };
        let geodesic = Geodesic::from_inverse(&ridged(&self.s, "S + λI")?, &ridged(&self.d, "D + λI")?)?;
        Metric::from_matrix(&geodesic.at(self.t)?)
    }
}
