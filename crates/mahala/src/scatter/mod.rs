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
mod parts;
pub(crate) mod summed;
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
use crate::pairs::{Pair, Pairs};
use crate::scatter::column_scaling::Units;
use faer::{Mat, MatRef, Par};
use mahala_kernels::blas::syrk::{BLOCK, Block};
use mahala_kernels::blas::transpose::mirror_lower;
use mahala_kernels::parallel::{both, parallelism};
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
        let mut sides = sums(&units);
        if !surely_in_range(&sides[0].sum, &sides[1].sum) {
            units = Units::from_peaks(column_peaks(first.as_mat())).widened(&column_peaks(second.as_mat()));
            if !units.are_plain() {
                sides = sums(&units);
            }
        }
        let [Side { sum: s, count: similar }, Side { sum: d, count: dissimilar }] = sides;
        let samples = (similar.pairs as f64).min((first.len() + second.len()) as f64);
        let units = units.exponents().to_vec();
        Self::assemble(s, d, units, [similar, dissimilar], samples)
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

    /// Builds a scatter from lower triangles; `samples` is that of [`Scatter::samples`], never the number of
    /// pairs.
    pub(crate) fn assemble(
        mut s: Mat<f64>,
        mut d: Mat<f64>,
        units: Vec<i32>,
        [similar, dissimilar]: [PairCount; 2],
        samples: f64,
    ) -> Result<Self> {
        if similar.weight <= 0.0 {
            let reason = format!("{} pairs are marked similar, with weight 0 together", similar.pairs);
            return Err(Error::NoSimilarPair { reason });
        }
        if dissimilar.weight <= 0.0 {
            let reason = format!("{} pairs are marked dissimilar, with weight 0 together", dissimilar.pairs);
            return Err(Error::NoDissimilarPair { reason });
        }
        mirror_lower(&mut s);
        mirror_lower(&mut d);
        Ok(Self { s, d, units, similar, dissimilar, samples })
    }
}

/// Whether each column's sum of squares is far from overflow and underflow; a sum of 0 may consist of squares
/// that underflowed.
fn surely_in_range(s: &Mat<f64>, d: &Mat<f64>) -> bool {
    (0..s.ncols()).all(|j| (2f64.powi(-320)..2f64.powi(400)).contains(&(s[(j, j)] + d[(j, j)])))
}

/// Pairs of a block: fewer for few columns, because a block is cleared first and should stay in cache.
fn depth(columns: usize) -> usize {
    if columns < 32 { BLOCK / 2 } else { BLOCK }
}

/// Pairs partitioned by kind at a time: few, to stay in cache, but many for wide rows, because a partial block
/// takes as long to add as a full one.
fn sorted(columns: usize) -> usize {
    if columns < 32 { 8 * depth(columns) } else { 128 * BLOCK }
}

/// The sum over the pairs of one kind, and their number.
struct Side {
    sum: Mat<f64>,
    count: PairCount,
}

/// The sums over similar and over dissimilar pairs.
fn sums_of_differences(tables: [&Rows; 2], pairs: &[Pair], units: &Units) -> [Side; 2] {
    let n = units.exponents().len();
    let none = PairCount { pairs: 0, weight: 0.0 };
    let [mut similar, mut dissimilar] = [(); 2].map(|()| Side { sum: Mat::zeros(n, n), count: none });
    let mut indices = vec![0; sorted(n).min(pairs.len())];
    let new_block = || Block::new(n, depth(n).min(pairs.len()));
    let mut block = new_block();
    // Small sums are too cheap for a second thread, or for a block of their own.
    let mut second = (pairs.len() * n * n >= 1_000_000).then(new_block);
    for pairs in pairs.chunks(sorted(n)) {
        let (similar_pairs, dissimilar_pairs) = by_kind(pairs, &mut indices);
        let of = Differing { tables, pairs, units };
        if let Some(second) = &mut second {
            both(
                Par::rayon(2),
                || similar.add(of, similar_pairs, &mut block),
                || dissimilar.add(of, dissimilar_pairs, second),
            );
        } else {
            similar.add(of, similar_pairs, &mut block);
            dissimilar.add(of, dissimilar_pairs, &mut block);
        }
    }
    [similar, dissimilar]
}

/// Partitions the pairs by kind, without branches: the indices of similar pairs, and of the others in reverse
/// order.
fn by_kind<'a>(pairs: &[Pair], indices: &'a mut [usize]) -> (&'a [usize], &'a [usize]) {
    let indices = &mut indices[..pairs.len()];
    let mut similar = 0;
    // Written to both ends and kept in one: a branch on the kind would be mispredicted.
    for (i, pair) in pairs.iter().enumerate() {
        indices[similar] = i;
        indices[similar + pairs.len() - 1 - i] = i;
        similar += usize::from(pair.similar);
    }
    indices.split_at(similar)
}

/// Pairs of rows of two tables, with the exponents of their columns.
#[derive(Clone, Copy)]
struct Differing<'a> {
    tables: [&'a Rows; 2],
    pairs: &'a [Pair],
    units: &'a Units,
}

impl Side {
    /// Adds the chosen pairs.
    fn add(
        &mut self,
        Differing { tables, pairs, units }: Differing<'_>,
        chosen: &[usize],
        block: &mut Block,
    ) {
        let n = self.sum.ncols();
        for chosen in chosen.chunks(depth(n)) {
            block.gather_differences(tables.map(Rows::values), pairs, chosen, units.exponents());
            block.add_gram_to(self.sum.as_mut(), parallelism(n));
            // In four independent partial sums, which hide the latency of additions.
            let mut weights = [0.0; 4];
            for four in chosen.chunks(weights.len()) {
                weights.iter_mut().zip(four).for_each(|(sum, &i)| *sum += pairs[i].weight);
            }
            self.count.pairs += chosen.len() as u64;
            self.count.weight += weights.iter().sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;

    #[test]
    fn pairs_of_several_sorts_and_blocks_are_summed_by_their_kind() {
        let mut random = Random::new(7, 0);
        let mut up_to = |n: f64| (n * random.uniform()) as usize;
        for (columns, count) in [(3, 1), (3, 5000), (70, 1300)] {
            let values: Vec<f64> = (0..40 * columns).map(|_| up_to(9.0) as f64).collect();
            let rows = Rows::new(values, columns).unwrap();
            let mut pair = |i: usize| Pair {
                first: up_to(40.0),
                second: up_to(40.0),
                similar: i == 0 || up_to(3.0) == 0,
                weight: (1 + up_to(2.0)) as f64,
            };
            let mut pairs: Vec<Pair> = (0..count).map(&mut pair).collect();
            pairs.push(Pair { similar: false, ..pair(1) });
            let units = Units::new(columns);
            for (side, similar) in
                sums_of_differences([&rows, &rows], &pairs, &units).iter().zip([true, false])
            {
                let kind = || pairs.iter().filter(|pair| pair.similar == similar);
                assert_eq!(side.count.pairs, kind().count() as u64);
                assert_eq!(side.count.weight, kind().map(|pair| pair.weight).sum::<f64>());
                for (i, j) in (0..columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let difference =
                        |pair: &Pair, j: usize| rows.row(pair.first)[j] - rows.row(pair.second)[j];
                    let plain: f64 =
                        kind().map(|pair| pair.weight * difference(pair, i) * difference(pair, j)).sum();
                    assert!((side.sum[(i, j)] - plain).abs() < 1e-9, "{columns} columns: {i}, {j}");
                }
            }
        }
    }
}
