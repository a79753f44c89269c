//! Scatter, means and deviations of rows that are not kept.

use crate::data::column_stats::ColumnStatistics;
use crate::error::Result;
use crate::scatter::Scatter;
use crate::scatter::balanced::Balance;
use crate::scatter::class_moments::ClassMoments;
use crate::scatter::moments::Moments;
use mahala_kernels::scaling::times_power_of_two;

/// The scatter of all pairs of rows that are not kept.
#[derive(Debug, Clone)]
pub struct Summed {
    pub(crate) scatter: Scatter,
    /// The number of classes that have rows.
    pub(crate) classes: usize,
    /// The total weight of the rows.
    pub(crate) weight: f64,
    pub(crate) statistics: ColumnStatistics,
}

impl Summed {
    /// The sums from moments.
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
            // Around a pivot, so that the deviation of a constant column is exactly 0.
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
