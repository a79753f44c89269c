//! Column means and standard deviations.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::data::Rows;
use mahala_kernels::scaling::{exponent_of, times_power_of_two};
use mahala_kernels::simd::{Avx512Kernel, Kernel, dispatch_avx512};
use pulp::Simd;

/// Mean and standard deviation (over n) of each column; the scale of a constant column is 1.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// How many rows were seen.
    pub rows: usize,
    /// The mean of each column.
    pub mean: Vec<f64>,
    /// The standard deviation of each column, or 1 where it is 0.
    pub scale: Vec<f64>,
    /// The standard deviation of each column, 0 included: what can be merged.
    deviation: Vec<f64>,
}

impl ColumnStatistics {
    /// Two passes; each column scaled by a power of two of its own, so that squares neither overflow nor
    /// underflow.
    ///
    /// # Panics
    /// If there is no row.
    pub fn of(rows: &Rows) -> Self {
        let (n, first) = (rows.len(), rows.row(0));
        let mut peaks = vec![0.0; rows.columns()];
        let mean = dispatch_avx512(Means { rows, peaks: Some(&mut peaks) });
        // Not below 2^-1000, so that its inverse is finite.
        let units: Vec<i32> = peaks.iter().map(|&p| exponent_of(p).max(-1000)).collect();
        let factors: Vec<f64> = units.iter().map(|&unit| times_power_of_two(1.0, -unit)).collect();
        let centres: Vec<f64> = mean.iter().zip(&factors).map(|(m, factor)| m * factor).collect();
        let mut squares = vec![0.0; mean.len()];
        for i in 0..n {
            let cells = rows.row(i).iter().zip(factors.iter().zip(&centres));
            for (square, (x, (factor, centre))) in squares.iter_mut().zip(cells) {
                let z = x * factor - centre;
                *square += z * z;
            }
        }
        let constant = |j: usize| (1..n).all(|i| rows.row(i)[j] == first[j]);
        let deviation = (0..mean.len())
            .map(|j| {
                let deviation = times_power_of_two((squares[j] / n as f64).sqrt(), units[j]);
                if constant(j) { 0.0 } else { deviation }
            })
            .collect();
        Self::from_parts(n, mean, deviation)
    }

    /// The standard deviation of each column, 0 included.
    pub(crate) fn deviation(&self) -> &[f64] {
        &self.deviation
    }

    /// Statistics from the given means and deviations, of rows that are not kept.
    pub(crate) fn from_parts(rows: usize, mean: Vec<f64>, deviation: Vec<f64>) -> Self {
        let scale = deviation.iter().map(|&x| if x > 0.0 && x.is_finite() { x } else { 1.0 }).collect();
        Self { rows, mean, scale, deviation }
    }

    /// The statistics of two tables together (deviations combined as root mean squares around the joint mean).
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let (a, b) = (self.rows as f64, other.rows as f64);
        let share = b / (a + b);
        let mean = between(&self.mean, &other.mean, share);
        let deviation = (0..mean.len())
            .map(|j| {
                let root = |x: f64, w: f64| x * (w / (a + b)).sqrt();
                let step = (self.mean[j] - other.mean[j]) * (share * (1.0 - share)).sqrt();
                root(self.deviation[j], a).hypot(root(other.deviation[j], b)).hypot(step)
            })
            .collect();
        Self::from_parts(self.rows + other.rows, mean, deviation)
    }
}

/// The mean of each column over two tables (or one, given twice), and the standard deviations if `standardize`.
///
/// # Panics
/// If a table has no row.
pub(crate) fn mean_and_scale(first: &Rows, second: &Rows, scaled: bool) -> (Vec<f64>, Option<Vec<f64>>) {
    let one_table = std::ptr::eq(first, second);
    if scaled {
        let mut statistics = ColumnStatistics::of(first);
        if !one_table {
            statistics = statistics.merged(&ColumnStatistics::of(second));
        }
        return (statistics.mean, Some(statistics.scale));
    }
    let mean = dispatch_avx512(Means { rows: first, peaks: None });
    if one_table {
        return (mean, None);
    }
    let share = second.len() as f64 / (first.len() as f64 + second.len() as f64);
    (between(&mean, &dispatch_avx512(Means { rows: second, peaks: None }), share), None)
}

/// `x + share·(y − x)`
fn between(x: &[f64], y: &[f64], share: f64) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + share * (y - x)).collect()
}

/// Rows of fewer columns than this are narrow.
const NARROW: usize = 64;
/// Narrow rows that are processed as one wide row.
const FOLDED: usize = 8;

/// The mean of each column; and its largest absolute value, if `peaks` is given.
struct Means<'a> {
    rows: &'a Rows,
    peaks: Option<&'a mut [f64]>,
}

impl Kernel for Means<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call<const FMA: bool>(self) -> Vec<f64> {
        let Self { rows, mut peaks } = self;
        let (cells, d) = (rows.values(), rows.columns());
        let (first, share) = (&cells[..d], 1.0 / rows.len() as f64);
        // Narrow rows are processed several at a time, as one wide row of a whole number of registers.
        let folded = if d < NARROW { FOLDED } else { 1 };
        let wide = folded * d;
        let row = |i: usize| &cells[i * wide..(i + 1) * wide];
        // Summed around the first row: exact for constant columns; divided before summation: no overflow.
        let shift: Vec<f64> = std::iter::repeat_n(first, folded).flatten().map(|x| x * share).collect();
        let mut sums = vec![0.0; wide];
        let mut highest = peaks.as_ref().map(|_| vec![0.0; wide]);
        // Four interleaved streams use more memory bandwidth than one.
        let (count, quarter) = (rows.len() / folded, rows.len() / folded / 4);
        for i in 0..quarter {
            let rows = [row(i), row(i + quarter), row(i + 2 * quarter), row(i + 3 * quarter)];
            add_scaled_rows(rows, share, &shift, &mut sums);
            highest.iter_mut().for_each(|peaks| raise(peaks, rows));
        }
        for i in 4 * quarter..count {
            add_scaled_rows([row(i)], share, &shift, &mut sums);
            highest.iter_mut().for_each(|peaks| raise(peaks, [row(i)]));
        }
        // The rest is shorter than a wide row.
        let rest = &cells[count * wide..];
        add_scaled_rows([rest], share, &shift[..rest.len()], &mut sums[..rest.len()]);
        if let (Some(peaks), Some(mut highest)) = (peaks.as_mut(), highest) {
            raise(&mut highest[..rest.len()], [rest]);
            highest.chunks_exact(d).for_each(|part| raise(peaks, [part]));
        }
        let mut mean = vec![0.0; d];
        for part in sums.chunks_exact(d) {
            mean.iter_mut().zip(part).for_each(|(mean, part)| *mean += part);
        }
        mean.iter_mut().zip(first).for_each(|(mean, first)| *mean += first);
        mean
    }
}

impl Avx512Kernel for Means<'_> {
    #[inline(always)]
    fn call_avx512<S: Simd>(self, _: S) -> Vec<f64> {
        self.call::<true>()
    }
}

/// `mean += Σ (x·share − shift)`
#[inline(always)]
fn add_scaled_rows<const N: usize>(rows: [&[f64]; N], share: f64, shift: &[f64], mean: &mut [f64]) {
    let (rows, shift) = (rows.map(|row| &row[..mean.len()]), &shift[..mean.len()]);
    for j in 0..mean.len() {
        let mut sum = 0.0;
        for row in rows {
            sum += row[j] * share - shift[j];
        }
        mean[j] += sum;
    }
}

/// Raises the peaks to the absolute values of some rows.
#[inline(always)]
fn raise<const N: usize>(peaks: &mut [f64], rows: [&[f64]; N]) {
    for row in rows {
        for (peak, x) in peaks.iter_mut().zip(row) {
            *peak = if x.abs() > *peak { x.abs() } else { *peak };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_values_come_out_at_any_scale() {
        for unit in [1.0, 1e-150, 1e150] {
            let rows =
                Rows::new([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].map(|x| x * unit).to_vec(), 1).unwrap();
            let statistics = ColumnStatistics::of(&rows);
            assert!((statistics.mean[0] / unit - 5.0).abs() < 1e-14);
            assert!((statistics.scale[0] / unit - 2.0).abs() < 1e-14);
        }
    }

    #[test]
    fn a_constant_column_has_scale_one() {
        let rows = Rows::new(vec![0.1; 7], 1).unwrap();
        let statistics = ColumnStatistics::of(&rows);
        assert_eq!((statistics.mean[0], statistics.scale[0]), (0.1, 1.0));
    }

    #[test]
    fn two_tables_together_are_one() {
        let values = [1.0, 5.0, 2.0, 8.0, 9.0, 4.0];
        let of = |v: &[f64]| ColumnStatistics::of(&Rows::new(v.to_vec(), 1).unwrap());
        let (whole, merged) = (of(&values), of(&values[..2]).merged(&of(&values[2..])));
        assert!((whole.mean[0] - merged.mean[0]).abs() < 1e-14);
        assert!((whole.scale[0] - merged.scale[0]).abs() < 1e-14);
    }

    #[test]
    fn tables_of_one_row_each_deviate_by_their_difference_alone() {
        let of = |x: f64| ColumnStatistics::of(&Rows::new(vec![x], 1).unwrap());
        assert_eq!(of(0.0).merged(&of(0.01)).scale, [0.005]);
        assert_eq!(of(3.0).merged(&of(3.0)).scale, [1.0]);
    }
}
