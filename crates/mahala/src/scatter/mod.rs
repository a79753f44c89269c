//! Scatter matrices `S` and `D` (eq. 7): sums of outer products of differences over similar and over dissimilar
//! pairs.

pub(crate) mod all_pairs;
pub(crate) mod balanced;
mod between_groups;
pub(crate) mod class_moments;
pub(crate) mod column_scaling;
mod laplacian;
pub(crate) mod moments;
mod moments_bytes;
mod pair_list;
mod parts;
pub(crate) mod summed;
pub(crate) mod totals;
mod two_pass;
mod window;

pub use all_pairs::check_labels;
pub use balanced::Balance;
pub use class_moments::ClassMoments;
pub use column_scaling::column_peaks;
pub use moments::Moments;
pub use parts::{ClassWeight, ScatterParts};
pub use summed::Summed;
pub use two_pass::{ClassMeans, PairSums};
pub use window::Window;

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::pairs::Pairs;
use crate::scatter::column_scaling::Units;
use crate::scatter::pair_list::sums_of_differences;
use faer::{Mat, MatRef};
use mahala_kernels::scaling::times_power_of_two;

/// `S` and `D`, with the number of pairs behind each.
///
/// # Formula
/// ```text
/// S = Σ_{(i,j) ∈ 𝒮} w_ij (x_i − x_j)(x_i − x_j)ᵀ,     D = Σ_{(i,j) ∈ 𝒟} w_ij (x_i − x_j)(x_i − x_j)ᵀ
/// ```
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::pairs::Pairs;
/// use mahala::scatter::{Moments, Scatter};
/// let rows = Rows::new(vec![0.0, 1.0, 5.0], 1)?;
/// let labels = Labels::new(["a", "a", "b"]);
/// let listed = Scatter::from_pairs(&rows, &Pairs::all(&labels))?;
/// let summed = Scatter::all_pairs(&Moments::of(&Dataset::new(rows, labels)?)?)?;
/// assert_eq!(listed.d()[(0, 0)], 25.0 + 16.0);
/// assert!((summed.d()[(0, 0)] - 41.0).abs() < 1e-12);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scatter {
    s: Mat<f64>,
    d: Mat<f64>,
    units: Vec<i32>,
    similar: PairCount,
    dissimilar: PairCount,
    samples: f64,
}

/// The number of pairs in a sum, and their total weight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairCount {
    /// The number of pairs.
    pub pairs: u64,
    /// The sum of their weights.
    pub weight: f64,
}

impl Scatter {
    /// The pairs of a list, within one table.
    ///
    /// # Errors
    /// A pair that names no row, no similar pair, or no dissimilar pair.
    pub fn from_pairs(rows: &Rows, pairs: &Pairs) -> Result<Self> {
        Self::between(rows, rows, pairs)
    }

    /// The pairs of a list; the first of each is a row of one table, the second of another.
    ///
    /// # Errors
    /// Tables with different columns, a pair that names no row, no similar pair, or no dissimilar pair.
    pub fn between(first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Self> {
        if first.columns() != second.columns() {
            let (seen, expected) = (second.columns(), first.columns());
            return Err(Error::Length { what: "columns of the second table", seen, expected });
        }
        pairs.check(first.len(), second.len())?;
        let sums = |units: &Units| sums_of_differences([first, second], pairs.as_slice(), units);
        // Columns of extreme scale are rare: all cells are inspected only if the sums indicate one.
        let mut units = Units::new(first.columns());
        let mut totals = sums(&units);
        if !surely_in_range(&totals.s.matrix, &totals.d.matrix) {
            units = Units::from_peaks(column_peaks(first.as_mat())).widened(&column_peaks(second.as_mat()));
            if !units.are_plain() {
                totals = sums(&units);
            }
        }
        let samples = (totals.s.count.pairs as f64).min((first.len() + second.len()) as f64);
        totals.finish(units.exponents().to_vec(), samples)
    }

    /// Differences `x_i − x_j` given as rows, each with its kind and, if given, its weight.
    ///
    /// # Errors
    /// Lengths that do not agree, a bad weight, no similar pair, or no dissimilar pair.
    pub fn from_differences(differences: &Rows, similar: &[bool], weights: Option<&[f64]>) -> Result<Self> {
        let pairs = Pairs::of_differences(differences.len(), similar, weights)?;
        let origin = Rows::from_finite(vec![0.0; differences.columns()], differences.columns());
        Self::between(differences, &origin, &pairs)
    }

    /// The matrices `S` and `D`.
    pub(crate) fn into_matrices(self) -> [Mat<f64>; 2] {
        [self.s, self.d]
    }

    /// `S`, symmetric, column j scaled by `2^-units[j]` (see [`crate::scatter::Moments::units`]).
    pub fn s(&self) -> MatRef<'_, f64> {
        self.s.as_ref()
    }

    /// `D`, symmetric, column j scaled by `2^-units[j]`.
    pub fn d(&self) -> MatRef<'_, f64> {
        self.d.as_ref()
    }

    /// The unit of each column, as an exponent of two; all 0 unless a column's scale is extreme.
    pub fn units(&self) -> &[i32] {
        &self.units
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.s.nrows()
    }

    /// The similar pairs.
    pub fn similar(&self) -> PairCount {
        self.similar
    }

    /// The dissimilar pairs.
    pub fn dissimilar(&self) -> PairCount {
        self.dissimilar
    }

    /// The number of independent differences in `S`: rows minus classes for all pairs, at most the rows for pairs
    /// of a list.
    pub fn samples(&self) -> f64 {
        self.samples
    }

    /// `S` and `D` times a factor.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        for matrix in [&mut self.s, &mut self.d] {
            for j in 0..matrix.ncols() {
                matrix.as_mut().col_mut(j).iter_mut().for_each(|x| *x *= factor);
            }
        }
        self.similar.weight *= factor;
        self.dissimilar.weight *= factor;
        self
    }

    /// The sums after dividing column `j` by `scale[j]`; all units become 0.
    pub(crate) fn standardized(mut self, scale: &[f64]) -> Self {
        let factor: Vec<f64> =
            scale.iter().zip(&self.units).map(|(s, &u)| 1.0 / times_power_of_two(*s, -u)).collect();
        for matrix in [&mut self.s, &mut self.d] {
            for j in 0..factor.len() {
                for i in 0..factor.len() {
                    matrix[(i, j)] *= factor[i] * factor[j];
                }
            }
        }
        self.units.fill(0);
        self
    }
}

/// Whether each column's sum of squares is far from overflow and underflow; a sum of 0 may consist of squares
/// that underflowed.
fn surely_in_range(s: &Mat<f64>, d: &Mat<f64>) -> bool {
    (0..s.ncols()).all(|j| (2f64.powi(-320)..2f64.powi(400)).contains(&(s[(j, j)] + d[(j, j)])))
}
