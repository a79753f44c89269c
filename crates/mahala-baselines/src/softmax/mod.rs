//! Softmax kernel of NCA and MCML: every row's distribution over all others, and weighted scatter under it.
//!
//! # Formula
//! ```text
//! e_ij = exp(m_i − ‖z_i − z_j‖²),   m_i = min_{j≠i} ‖z_i − z_j‖²,   e_ii = 0
//! w_ij = e_ij (a_i + [y_j = y_i] b_i),    a_i and b_i from the sums of e_ij over all and over i's class
//! Σ_ij w_ij x_ij x_ijᵀ = Xᵀ diag(w1 + wᵀ1) X − XᵀwX − (XᵀwX)ᵀ
//! ```
//!
//! By blocks of rows: the products `z_i·z_j` of a block with all rows, their exponentials, then `wX`. No n×n
//! matrix is stored. An `e_ij` below exp(−50) is 0: a million of them are below the rounding of the largest,
//! which is 1. As the classes separate few are left; then `wX` is summed over those alone, and if there were few
//! at the last evaluation, [`nearest`] searches for those alone.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

mod nearest;

use crate::labelled::Labelled;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use mahala::footprint::Shape;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// Parallel partial sums, each over its own blocks: their number is fixed, so that no bit depends on the number
/// of threads.
pub(crate) const GROUPS: usize = 8;
/// Numbers in one lane group.
const LANES: usize = 16;
/// Cells of a block: what stays in a core's cache.
const CELLS: usize = 1 << 16;

/// Statistics of one row's distribution.
pub(crate) struct RowSums {
    /// `Σ_j e_ij`.
    pub(crate) all: f64,
    /// `Σ_j e_ij` over the rows of i's class.
    pub(crate) same: f64,
    /// `m_i`, the squared distance to the nearest row.
    pub(crate) nearest: f64,
    /// The number of other rows in i's class.
    pub(crate) peers: usize,
}

/// The weights and the value of one row.
pub(crate) struct Weights {
    /// `a_i`.
    pub(crate) all: f64,
    /// `b_i`.
    pub(crate) same: f64,
    /// The row's part of the objective.
    pub(crate) value: f64,
}

/// How a row's sums become its weights.
pub(crate) type Weigh<'a> = dyn Fn(&RowSums) -> Weights + Sync + 'a;

/// The kernel, and where it searched in the last evaluation; no result depends on it.
pub(crate) struct Softmax<'a> {
    data: &'a Labelled,
    /// Another row near each row, as of the last evaluation; empty before the first.
    nearest: Vec<usize>,
    /// The number of nonzero `e_ij` in the last evaluation.
    kept: usize,
}

impl<'a> Softmax<'a> {
    pub(crate) fn new(data: &'a Labelled) -> Self {
        Self { data, nearest: Vec::new(), kept: usize::MAX }
    }

    /// The sum of all rows' values, and `Σ_ij w_ij x_ij x_ijᵀ`, for the rows `z` under the current metric.
    pub(crate) fn weighted_scatter(&mut self, z: &[f64], weigh: &Weigh<'_>) -> (f64, Mat<f64>) {
        if self.kept <= nearest::most(self.data.len()) {
            let near = nearest::weighted_scatter(self.data, z, &mut self.nearest, weigh);
            if let Some((value, scatter, kept)) = near {
                self.kept = kept;
                return (value, scatter);
            }
        }
        self.all_pairs(z, weigh)
    }

    fn all_pairs(&mut self, z: &[f64], weigh: &Weigh<'_>) -> (f64, Mat<f64>) {
        let (n, d) = (self.data.len(), self.data.columns());
        let squares: Vec<f64> = z.chunks_exact(z.len() / n).map(|z| z.iter().map(|z| z * z).sum()).collect();
        let task = Task { data: self.data, z, squares, weigh };
        let groups: Vec<Group> = (0..GROUPS).into_par_iter().map(|group| task.group(group)).collect();
        let (mut value, mut product, mut diagonal) = (0.0, Mat::<f64>::zeros(d, d), vec![0.0; n]);
        self.nearest.resize(n, 0);
        self.kept = 0;
        for group in groups {
            value += group.value;
            product += &group.product;
            diagonal.iter_mut().zip(&group.diagonal).for_each(|(sum, part)| *sum += part);
            group.nearest.iter().for_each(|&(i, near)| self.nearest[i] = near);
            self.kept += group.kept;
        }
        let x = self.data.rows().as_mat();
        let scaled = Mat::from_fn(n, d, |i, j| x[(i, j)] * diagonal[i]);
        let gram = mahala_kernels::blas::product(x.transpose(), scaled.as_ref());
        let cell =
            |i: usize, j: usize| 0.5 * (gram[(i, j)] + gram[(j, i)]) - product[(i, j)] - product[(j, i)];
        (value, Mat::from_fn(d, d, cell))
    }
}

/// The memory of the kernel: the sums of all groups, and the list of near pairs if there is one.
pub(crate) fn softmax_numbers(shape: &Shape) -> f64 {
    shape.matrices(GROUPS as f64 + 4.0, 2.0) + 8.0 * nearest::most(shape.rows) as f64
}

struct Task<'a> {
    data: &'a Labelled,
    z: &'a [f64],
    squares: Vec<f64>,
    weigh: &'a Weigh<'a>,
}

/// The sums of one group of blocks.
struct Group {
    value: f64,
    /// `XᵀwX`.
    product: Mat<f64>,
    /// `w1 + wᵀ1`.
    diagonal: Vec<f64>,
    /// Rows, and the row nearest to each.
    nearest: Vec<(usize, usize)>,
    /// The number of nonzero weights.
    kept: usize,
}

impl Task<'_> {
    /// Every [`GROUPS`]th block from this one on.
    fn group(&self, group: usize) -> Group {
        let (n, d) = (self.data.len(), self.data.columns());
        let stride = n.next_multiple_of(LANES);
        let block_rows = (CELLS / stride).clamp(8, 64);
        let (product, diagonal) = (Mat::zeros(d, d), vec![0.0; stride]);
        let mut sums = Group { value: 0.0, product, diagonal, nearest: Vec::new(), kept: 0 };
        let mut buffer = vec![0.0; block_rows * stride];
        let mut averages = vec![0.0; block_rows * d];
        for first in (group * block_rows..n).step_by(GROUPS * block_rows) {
            let last = (first + block_rows).min(n);
            self.block(first..last, &mut buffer, &mut averages, &mut sums);
        }
        sums
    }

    fn block(&self, rows: Range<usize>, buffer: &mut [f64], averages: &mut [f64], sums: &mut Group) {
        let (n, d, b) = (self.data.len(), self.data.columns(), rows.len());
        let (stride, r) = (n.next_multiple_of(LANES), self.z.len() / n);
        let buffer = &mut buffer[..b * stride];
        for row in buffer.chunks_exact_mut(stride) {
            row[..n].iter_mut().zip(&self.squares).for_each(|(t, square)| *t = -square);
            row[n..].fill(f64::NEG_INFINITY);
        }
        let z = MatRef::from_row_major_slice(self.z, n, r);
        // A column for each row of the block: faer 0.24.4 has the strides of its row-major view exchanged.
        let scores = MatMut::from_column_major_slice_with_stride_mut(buffer, n, b, stride);
        matmul(scores, Accum::Add, z, z.subrows(rows.start, b).transpose(), 2.0, Par::Seq);
        let kept: Vec<Vec<u32>> = rows
            .clone()
            .zip(buffer.chunks_exact_mut(stride))
            .map(|(i, row)| self.weigh_row(i, row, sums))
            .collect();
        let averages = &mut averages[..b * d];
        if kept.iter().map(Vec::len).sum::<usize>() * LANES * 4 > b * n {
            let w = MatRef::from_row_major_slice_with_stride(buffer, b, n, stride);
            let to = MatMut::from_row_major_slice_mut(averages, b, d);
            matmul(to, Accum::Replace, w, self.data.rows().as_mat(), 1.0, Par::Seq);
        } else {
            averages.fill(0.0);
            for ((to, row), kept) in averages.chunks_exact_mut(d).zip(buffer.chunks_exact(stride)).zip(&kept)
            {
                self.average(to, row, kept);
            }
        }
        let x = self.data.rows().as_mat().subrows(rows.start, b);
        let averages = MatRef::from_row_major_slice(averages, b, d);
        matmul(sums.product.as_mut(), Accum::Add, x.transpose(), averages, 1.0, Par::Seq);
    }

    /// Converts scores `2 z_i·z_j − ‖z_j‖²` to weights; returns the lane groups with a nonzero one.
    fn weigh_row(&self, i: usize, row: &mut [f64], sums: &mut Group) -> Vec<u32> {
        row[i] = f64::NEG_INFINITY;
        let class = self.data.class_of(i);
        let mut kept = Vec::new();
        let found = Arch::new().dispatch(Exponentials { row, class: &class, kept: &mut kept });
        let (all, same) = (found.all, found.same);
        sums.kept += found.kept;
        // Among infinite scores there is none; any other row will do.
        sums.nearest.push((i, found.nearest.unwrap_or(usize::from(i == 0))));
        let nearest = (self.squares[i] - found.best).max(0.0);
        let weights = (self.weigh)(&RowSums { all, same, nearest, peers: class.len() - 1 });
        sums.value += weights.value;
        sums.diagonal[i] += weights.all * all + weights.same * same;
        let columns = &mut sums.diagonal;
        Arch::new().dispatch(Scaling { row, class: &class, kept: &kept, weights: &weights, columns });
        kept
    }

    /// `Σ_j w_ij x_j` over the lane groups kept.
    fn average(&self, to: &mut [f64], row: &[f64], kept: &[u32]) {
        for &lane in kept {
            let first = lane as usize * LANES;
            for (j, &w) in (first..).zip(&row[first..first + LANES]) {
                if w != 0.0 {
                    to.iter_mut().zip(self.data.rows().row(j)).for_each(|(to, x)| *to += w * x);
                }
            }
        }
    }
}

/// Converts scores t to `exp(t − best)` with the best of them, and lists the lane groups with a nonzero one.
struct Exponentials<'a> {
    row: &'a mut [f64],
    class: &'a Range<usize>,
    kept: &'a mut Vec<u32>,
}

/// The best score and its index, the sums over all and over the class, and the number of nonzero terms.
struct Found {
    best: f64,
    nearest: Option<usize>,
    all: f64,
    same: f64,
    kept: usize,
}

impl WithSimd for Exponentials<'_> {
    type Output = Found;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let lanes = self.row.as_chunks_mut::<LANES>().0;
        let mut largest = [f64::NEG_INFINITY; LANES];
        for lane in &*lanes {
            largest.iter_mut().zip(lane).for_each(|(best, &t)| *best = if t > *best { t } else { *best });
        }
        let best = largest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut all, mut same, mut kept) = ([0.0; LANES], [0.0; LANES], 0);
        for (at, lane) in lanes.iter_mut().enumerate() {
            let mut inside = 0u64;
            lane.iter().for_each(|t| inside += u64::from(t - best > SMALLEST));
            kept += inside;
            if inside == 0 {
                lane.fill(0.0);
                continue;
            }
            self.kept.push(at as u32);
            lane.iter_mut().for_each(|t| *t = exp(*t - best));
            all.iter_mut().zip(&*lane).for_each(|(sum, e)| *sum += e);
            let similar = members(self.class, at, 1.0);
            same.iter_mut().zip(lane.iter().zip(similar)).for_each(|(sum, (e, similar))| *sum += e * similar);
        }
        // exp(0) is 1, and nothing else is more.
        let nearest = self.kept.iter().find_map(|&at| {
            let place = lanes[at as usize].iter().position(|&e| e == 1.0)?;
            Some(at as usize * LANES + place)
        });
        let (all, same) = (all.iter().sum(), same.iter().sum());
        Found { best, nearest, all, same, kept: kept as usize }
    }
}

/// `w_ij = e_ij (a + [same] b)` in place, added to the sums of the columns.
struct Scaling<'a> {
    row: &'a mut [f64],
    class: &'a Range<usize>,
    kept: &'a [u32],
    weights: &'a Weights,
    columns: &'a mut [f64],
}

impl WithSimd for Scaling<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let lanes = self.row.as_chunks_mut::<LANES>().0;
        let columns = self.columns.as_chunks_mut::<LANES>().0;
        for &at in self.kept {
            let at = at as usize;
            let extra = members(self.class, at, self.weights.same);
            for ((e, column), extra) in lanes[at].iter_mut().zip(&mut columns[at]).zip(extra) {
                *e *= self.weights.all + extra;
                *column += *e;
            }
        }
    }
}

/// `value` in the lanes that belong to the class, 0 in the others.
#[inline(always)]
fn members(class: &Range<usize>, lane: usize, value: f64) -> [f64; LANES] {
    let first = lane * LANES;
    if class.start <= first && first + LANES <= class.end {
        [value; LANES]
    } else if first + LANES <= class.start || class.end <= first {
        [0.0; LANES]
    } else {
        std::array::from_fn(|k| if class.contains(&(first + k)) { value } else { 0.0 })
    }
}

/// Exponents below this count as −∞.
pub(crate) const SMALLEST: f64 = -50.0;

/// `exp(x)` for `x ≤ 0` to two units in the last place; 0 below [`SMALLEST`]. Without branches or fused
/// operations, so that it vectorises and gives the same bits on every machine.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    // 1.5·2⁵²: added, it rounds to a whole number, which is then in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts, the first with zeros at its end.
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let inside = if x > SMALLEST { x } else { SMALLEST };
    let rounded = inside * std::f64::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (inside - k * LN2_HIGH) - k * LN2_LOW;
    let mut polynomial = INVERSE_FACTORIALS[0];
    for c in &INVERSE_FACTORIALS[1..] {
        polynomial = polynomial * r + c;
    }
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    if x > SMALLEST { polynomial * power } else { 0.0 }
}

/// 1/13! to 1/0!: on |r| ≤ ½ ln 2 what is left out is below 1e-17.
const INVERSE_FACTORIALS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_agrees_with_the_standard_one() {
        for k in 0..50_000 {
            let x = -1e-3 * f64::from(k);
            assert!((exp(x) / x.exp() - 1.0).abs() < 4.0 * f64::EPSILON, "{x}");
        }
        assert_eq!((exp(0.0), exp(-50.1), exp(f64::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }

    /// Rows, some of which see all others and some few.
    fn rows_and_labels(n: usize, d: usize) -> Labelled {
        use mahala::data::Random;
        use mahala::{Dataset, Labels, Rows};
        let mut random = Random::new(5, 0);
        let spread = |cell: usize| if cell < 40 * d { 1.0 } else { 12.0 };
        let values = (0..n * d).map(|cell| spread(cell) * (random.uniform() - 0.5)).collect();
        let labels = Labels::new((0..n).map(|i| ["a", "b", "c"][i % 3]));
        Labelled::new(&Dataset::new(Rows::new(values, d).unwrap(), labels).unwrap()).unwrap()
    }

    fn weigh(row: &RowSums) -> Weights {
        Weights { all: 1.0 / row.all, same: row.same / row.all, value: row.all.ln() - row.nearest }
    }

    /// The objective and the scatter by the formula, pair by pair, for `z = scale·x`.
    fn pair_by_pair(data: &Labelled, scale: f64) -> (f64, Mat<f64>) {
        let (n, d) = (data.len(), data.columns());
        let (mut value, mut sum) = (0.0, Mat::<f64>::zeros(d, d));
        for i in 0..n {
            let x = |i: usize, j: usize, a: usize| data.rows().row(i)[a] - data.rows().row(j)[a];
            let distance = |j: usize| (0..d).map(|a| (scale * x(i, j, a)).powi(2)).sum::<f64>();
            let nearest = (0..n).filter(|&j| j != i).map(distance).fold(f64::INFINITY, f64::min);
            let e = |j: usize| if j == i { 0.0 } else { (nearest - distance(j)).exp() };
            let similar = |j: usize| data.codes()[i] == data.codes()[j];
            let all: f64 = (0..n).map(e).sum();
            let same: f64 = (0..n).filter(|&j| similar(j)).map(e).sum();
            value += all.ln() - nearest;
            for j in 0..n {
                let w = e(j) * (1.0 / all + if similar(j) { same / all } else { 0.0 });
                (0..d).for_each(|a| (0..d).for_each(|b| sum[(a, b)] += w * x(i, j, a) * x(i, j, b)));
            }
        }
        (value, sum)
    }

    #[test]
    fn blocks_and_lists_make_the_sum_over_all_pairs() {
        let data = rows_and_labels(83, 3);
        let mut softmax = Softmax::new(&data);
        // The search state of one scale guides the next: all pairs at first, then lists, and all pairs again,
        // because a list for the scale before would be too long.
        for (scale, listed) in [(1.0, false), (60.0, false), (60.0, true), (90.0, true), (1.0, false)] {
            let z: Vec<f64> = data.rows().values().iter().map(|x| scale * x).collect();
            let few = softmax.kept <= nearest::most(data.len());
            let remembered = &mut softmax.nearest.clone();
            let near = few && nearest::weighted_scatter(&data, &z, remembered, &weigh).is_some();
            assert_eq!(near, listed, "{scale}");
            let (value, scatter) = softmax.weighted_scatter(&z, &weigh);
            let (expected, sum) = pair_by_pair(&data, scale);
            // Some n·d roundings of distances up to 100, or of their multiples.
            assert!((value / expected - 1.0).abs() < 1e-13, "{value} {expected}");
            let difference = (&scatter - &sum).norm_max() / sum.norm_max();
            assert!(difference < 1e-12 * scale * scale, "{scale}: {difference}");
        }
    }
}
