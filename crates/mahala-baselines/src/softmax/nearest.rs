//! Sparse softmax kernel of NCA and MCML: sums over the pairs with nonzero `e_ij` alone.
//!
//! A row near `i` at the last evaluation is at some distance now, and the nearest now is no farther. So every
//! `e_ij` that is not 0 is within `‖z_i − z_near‖² + 50`, and [`Reach`] finds them: in single precision, each
//! pair once. Measured in double precision, the pairs are stored in a list; if it grows too long, the caller
//! falls back to all pairs.
//!
//! # Formula
//! ```text
//! Σ_ij w_ij x_ij x_ijᵀ = Xᵀ·Laplacian(w + wᵀ)·X,    (Laplacian(v)·X)_i = Σ_j v_ij (x_i − x_j)
//! ```
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::labelled::Labelled;
use crate::reach::Reach;
use crate::softmax::{GROUPS, RowSums, SMALLEST, Weigh, Weights, exp};
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::knn::distance::squared_distance;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// The most pairs in the list of one group.
const LONGEST: usize = 1 << 20;
/// The least number of pairs of a parallel task.
const MIN_CHUNK: usize = 1 << 16;

/// Up to this many pairs, each counted twice, the list is faster than all `n²`.
pub(crate) fn most(n: usize) -> usize {
    (n * n / 16).min(2 * LONGEST)
}

/// Two rows of which one may have a nonzero weight for the other.
struct Pair {
    i: u32,
    j: u32,
    distance: f64,
}

impl Pair {
    fn rows(&self) -> (usize, usize) {
        (self.i as usize, self.j as usize)
    }
}

/// The weighted scatter of [`crate::softmax::Softmax::weighted_scatter`], and the number of nonzero `e_ij`; None
/// if there are too many pairs. `nearest` names a row for each row: the nearer, the shorter the list.
pub(crate) fn weighted_scatter(
    data: &Labelled,
    z: &[f64],
    nearest: &mut [usize],
    weigh: &Weigh<'_>,
) -> Option<(f64, Mat<f64>, usize)> {
    let (n, d) = (data.len(), data.columns());
    let pairs = list(z, nearest)?;
    let least = least(&pairs, nearest);
    let mut e = vec![[0.0; 2]; pairs.len()];
    let chunk = pairs.len().div_ceil(GROUPS).max(MIN_CHUNK);
    let chunks = pairs.par_chunks(chunk).zip(e.par_chunks_mut(chunk));
    let parts: Vec<Sums> = chunks.map(|(pairs, e)| exponentials(data, &least, pairs, e)).collect();
    let (mut all, mut same, mut kept) = (vec![0.0; n], vec![0.0; n], 0);
    for part in parts {
        add(&mut all, &part.all);
        add(&mut same, &part.same);
        kept += part.kept;
    }
    let row = |i: usize| {
        let peers = data.class_of(i).len() - 1;
        weigh(&RowSums { all: all[i], same: same[i], nearest: least[i], peers })
    };
    let weights: Vec<Weights> = (0..n).map(row).collect();
    let chunks = pairs.par_chunks(chunk).zip(e.par_chunks(chunk));
    let task = |(pairs, e)| Arch::new().dispatch(Laplacian { data, weights: &weights, pairs, e });
    let mut sums = vec![0.0; n * d];
    chunks.map(task).collect::<Vec<_>>().iter().for_each(|part| add(&mut sums, part));
    let scatter = product(data.rows().as_mat().transpose(), MatRef::from_row_major_slice(&sums, n, d));
    Some((weights.iter().map(|row| row.value).sum(), scatter, kept))
}

fn add(sums: &mut [f64], part: &[f64]) {
    sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

/// The pairs with a nonzero weight in either direction.
fn list(z: &[f64], nearest: &[usize]) -> Option<Vec<Pair>> {
    let n = nearest.len();
    let rank = z.len() / n;
    let row = |i: usize| &z[i * rank..(i + 1) * rank];
    let radii: Vec<f64> =
        nearest.iter().enumerate().map(|(i, &j)| squared_distance(row(i), row(j)) - SMALLEST).collect();
    if radii.iter().any(|radius| !radius.is_finite()) {
        return None;
    }
    let (reach, limit) = (Reach::new(z, &radii), most(n) / 2);
    let group = |group: usize| {
        let mut list = Vec::new();
        reach.pairs(group, GROUPS, |i, j| {
            if list.len() <= limit {
                let distance = squared_distance(row(i), row(j));
                if distance <= radii[i].max(radii[j]) {
                    list.push(Pair { i: i as u32, j: j as u32, distance });
                }
            }
        });
        list
    };
    let lists: Vec<Vec<Pair>> = (0..GROUPS).into_par_iter().map(group).collect();
    lists.iter().all(|list| list.len() <= limit).then(|| lists.into_iter().flatten().collect())
}

/// Computes `m_i`, and the rows at that distance.
fn least(pairs: &[Pair], nearest: &mut [usize]) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; nearest.len()];
    for pair in pairs {
        let (i, j) = pair.rows();
        for (i, j) in [(i, j), (j, i)] {
            if pair.distance < least[i] {
                (least[i], nearest[i]) = (pair.distance, j);
            }
        }
    }
    least
}

/// Sums of `e_ij` for each row, over all and over its class; how many are not 0.
struct Sums {
    all: Vec<f64>,
    same: Vec<f64>,
    kept: usize,
}

/// Writes `e_ij` and `e_ji` of each pair, and sums them up.
fn exponentials(data: &Labelled, least: &[f64], pairs: &[Pair], e: &mut [[f64; 2]]) -> Sums {
    for (pair, e) in pairs.iter().zip(&mut *e) {
        let (i, j) = pair.rows();
        *e = [least[i] - pair.distance, least[j] - pair.distance];
    }
    Arch::new().dispatch(Exponentials(e.as_flattened_mut()));
    let mut sums = Sums { all: vec![0.0; least.len()], same: vec![0.0; least.len()], kept: 0 };
    for (pair, e) in pairs.iter().zip(e) {
        let (i, j) = pair.rows();
        for (i, e) in [(i, e[0]), (j, e[1])] {
            sums.all[i] += e;
            sums.same[i] += if similar(data, pair) { e } else { 0.0 };
            sums.kept += usize::from(e > 0.0);
        }
    }
    sums
}

fn similar(data: &Labelled, pair: &Pair) -> bool {
    let (i, j) = pair.rows();
    data.codes()[i] == data.codes()[j]
}

struct Exponentials<'a>(&'a mut [f64]);

impl WithSimd for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.iter_mut().for_each(|x| *x = exp(*x));
    }
}

/// `Laplacian(w + wᵀ)·X` over some pairs.
struct Laplacian<'a> {
    data: &'a Labelled,
    weights: &'a [Weights],
    pairs: &'a [Pair],
    e: &'a [[f64; 2]],
}

impl WithSimd for Laplacian<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        let (x, d) = (self.data.rows().values(), self.data.columns());
        let mut sums = vec![0.0; x.len()];
        for (pair, e) in self.pairs.iter().zip(self.e) {
            let (i, j) = pair.rows();
            let share = if similar(self.data, pair) { 1.0 } else { 0.0 };
            let w = |i: usize, e: f64| e * (self.weights[i].all + share * self.weights[i].same);
            let w = w(i, e[0]) + w(j, e[1]);
            // The earlier row and the later one.
            let (i, j) = (i.min(j), i.max(j));
            let (before, after) = sums.split_at_mut(j * d);
            let to = before[i * d..(i + 1) * d].iter_mut().zip(&mut after[..d]);
            let x = x[i * d..(i + 1) * d].iter().zip(&x[j * d..(j + 1) * d]);
            for ((to_i, to_j), (x_i, x_j)) in to.zip(x) {
                let part = w * (x_i - x_j);
                *to_i += part;
                *to_j -= part;
            }
        }
        sums
    }
}
