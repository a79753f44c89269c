//! The two sums: mean outer products of differences over similar and over dissimilar pairs.

use crate::data::{Embeddings, Real};
use faer::{Mat, MatRef};
use mahala_kernels::blas::syrk::add_gram;
use mahala_kernels::blas::transpose::mirror_lower;
use rayon::prelude::*;

/// Rows that are converted to double precision at a time.
const BLOCK: usize = 512;
/// Partial sums of a table: work is cut into this many pieces, whatever the number of threads.
const PIECES: usize = 8;

/// What every closed form is made from.
#[derive(Debug, Clone)]
pub(crate) struct TwoSums {
    /// The mean of (x − y)(x − y)ᵀ over similar pairs.
    pub similar: Mat<f64>,
    /// The mean of (x − y)(x − y)ᵀ over dissimilar pairs.
    pub dissimilar: Mat<f64>,
    /// dissimilar − similar where that is positive semidefinite by construction (from labels).
    pub between: Option<Mat<f64>>,
    /// The covariance of the rows.
    pub total: Mat<f64>,
    /// Subtracted from rows.
    pub mean: Vec<f64>,
    /// The rank of the part in which classes differ.
    pub directions: usize,
    /// The rank of the rows learned from, at most.
    pub rank: usize,
}

/// Count and sum of each class, and the second moment, of each fold of labelled rows: one pass over the rows.
pub(crate) struct FoldMoments {
    shift: Vec<f64>,
    counts: Vec<Vec<f64>>,
    /// Of each fold, classes × d.
    sums: Vec<Mat<f64>>,
    second: Vec<Mat<f64>>,
}

impl FoldMoments {
    pub(crate) fn new(
        table: &Embeddings,
        codes: &[u32],
        classes: usize,
        folds: &[u8],
        n_folds: usize,
    ) -> Self {
        let d = table.columns();
        let shift = first_mean(table);
        let of_fold = |fold: usize| {
            let mine: Vec<usize> = (0..codes.len()).filter(|&i| usize::from(folds[i]) == fold).collect();
            let (mut counts, mut sums) = (vec![0.0; classes], Mat::<f64>::zeros(d, classes));
            for &i in &mine {
                counts[codes[i] as usize] += 1.0;
            }
            let mut second = Mat::zeros(d, d);
            centred_blocks(table, &mine, &shift, |rows, block| {
                for (&i, row) in rows.iter().zip(block.chunks_exact(d)) {
                    let mut sum = sums.col_mut(codes[i] as usize);
                    row.iter().enumerate().for_each(|(j, x)| sum[j] += x);
                }
                add_gram(second.as_mut(), MatRef::from_row_major_slice(block, rows.len(), d), faer::Par::Seq);
            });
            mirror_lower(&mut second);
            (counts, sums, second)
        };
        let folds: Vec<_> = (0..n_folds).into_par_iter().map(of_fold).collect();
        let (mut counts, mut sums, mut second) = (Vec::new(), Vec::new(), Vec::new());
        for fold in folds {
            counts.push(fold.0);
            sums.push(fold.1);
            second.push(fold.2);
        }
        Self { shift, counts, sums, second }
    }

    /// The sums of all rows but those of some folds.
    ///
    /// # Formula
    /// ```text
    /// p: shares of classes, W: pooled covariance within classes, B: covariance of their means
    /// S = 2W,  D = 2W + 2B/(1 − Σp²)      means over all pairs, if classes have one covariance
    /// ```
    pub(crate) fn without(&self, left_out: &[usize]) -> TwoSums {
        let kept: Vec<usize> = (0..self.counts.len()).filter(|fold| !left_out.contains(fold)).collect();
        let (d, classes) = (self.shift.len(), self.counts[0].len());
        let mut counts = vec![0.0; classes];
        let (mut sums, mut second) = (Mat::<f64>::zeros(d, classes), Mat::<f64>::zeros(d, d));
        for &fold in &kept {
            counts.iter_mut().zip(&self.counts[fold]).for_each(|(sum, count)| *sum += count);
            sums += &self.sums[fold];
            second += &self.second[fold];
        }
        let present: Vec<usize> = (0..classes).filter(|&c| counts[c] > 0.0).collect();
        let n: f64 = counts.iter().sum();
        let mut mean = vec![0.0; d];
        present.iter().for_each(|&c| (0..d).for_each(|j| mean[j] += sums[(j, c)] / n));
        // Each class as one row: √n_c·mean, and √p_c·(mean − mean of all).
        let scaled = Mat::from_fn(d, present.len(), |j, k| sums[(j, present[k])] / counts[present[k]].sqrt());
        let apart = Mat::from_fn(d, present.len(), |j, k| {
            let count = counts[present[k]];
            (sums[(j, present[k])] / count - mean[j]) * (count / n).sqrt()
        });
        let of_means = gram(scaled.transpose());
        let between = gram(apart.transpose());
        let within = Mat::from_fn(d, d, |i, j| (second[(i, j)] - of_means[(i, j)]) / n);
        let factor = 2.0 / (1.0 - present.iter().map(|&c| (counts[c] / n).powi(2)).sum::<f64>());
        let scaled_between = Mat::from_fn(d, d, |i, j| factor * between[(i, j)]);
        TwoSums {
            dissimilar: Mat::from_fn(d, d, |i, j| 2.0 * within[(i, j)] + scaled_between[(i, j)]),
            similar: Mat::from_fn(d, d, |i, j| 2.0 * within[(i, j)]),
            total: Mat::from_fn(d, d, |i, j| within[(i, j)] + between[(i, j)]),
            between: Some(scaled_between),
            mean: mean.iter().zip(&self.shift).map(|(m, s)| m + s).collect(),
            directions: present.len().saturating_sub(1).min(d),
            rank: (n as usize).saturating_sub(1).min(d),
        }
    }
}

/// Mean and covariance of a table, over n.
pub(crate) fn covariance(table: &Embeddings) -> (Vec<f64>, Mat<f64>) {
    let (d, shift) = (table.columns(), first_mean(table));
    let all: Vec<usize> = (0..table.len()).collect();
    let parts: Vec<(Vec<f64>, Mat<f64>)> = all
        .par_chunks(table.len().div_ceil(PIECES))
        .map(|piece| {
            let (mut sum, mut second) = (vec![0.0; d], Mat::zeros(d, d));
            centred_blocks(table, piece, &shift, |rows, block| {
                block.chunks_exact(d).for_each(|row| sum.iter_mut().zip(row).for_each(|(s, x)| *s += x));
                add_gram(second.as_mut(), MatRef::from_row_major_slice(block, rows.len(), d), faer::Par::Seq);
            });
            (sum, second)
        })
        .collect();
    let n = table.len() as f64;
    let mut mean = vec![0.0; d];
    let mut second = Mat::<f64>::zeros(d, d);
    for (sum, part) in &parts {
        mean.iter_mut().zip(sum).for_each(|(m, s)| *m += s / n);
        second += part;
    }
    mirror_lower(&mut second);
    let covariance = Mat::from_fn(d, d, |i, j| second[(i, j)] / n - mean[i] * mean[j]);
    (mean.iter().zip(&shift).map(|(m, s)| m + s).collect(), covariance)
}

/// The weighted mean of (first[i] − second[j])(first[i] − second[j])ᵀ over pairs (i, j, weight).
pub(crate) fn mean_outer(first: &Embeddings, second: &Embeddings, pairs: &[(usize, usize, f64)]) -> Mat<f64> {
    let d = first.columns();
    let parts: Vec<Mat<f64>> = pairs
        .par_chunks(pairs.len().div_ceil(PIECES).max(1))
        .map(|piece| {
            let mut sum = Mat::zeros(d, d);
            let (mut block, mut other) = (vec![0.0; BLOCK * d], vec![0.0; d]);
            for pairs in piece.chunks(BLOCK) {
                for (row, &(i, j, weight)) in block.chunks_exact_mut(d).zip(pairs) {
                    f64::read(first, i, row);
                    f64::read(second, j, &mut other);
                    let root = weight.sqrt();
                    row.iter_mut().zip(&other).for_each(|(x, y)| *x = root * (*x - y));
                }
                let rows = MatRef::from_row_major_slice(&block[..pairs.len() * d], pairs.len(), d);
                add_gram(sum.as_mut(), rows, faer::Par::Seq);
            }
            sum
        })
        .collect();
    let weight: f64 = pairs.iter().map(|pair| pair.2).sum();
    let mut sum = Mat::<f64>::zeros(d, d);
    parts.iter().for_each(|part| sum += part);
    mirror_lower(&mut sum);
    Mat::from_fn(d, d, |i, j| sum[(i, j)] / weight)
}

/// The mean of the first rows: sums around it lose no digits to a common offset.
fn first_mean(table: &Embeddings) -> Vec<f64> {
    let (d, count) = (table.columns(), table.len().min(BLOCK));
    let mut block = vec![0.0; count * d];
    f64::read(table, 0, &mut block);
    let mut mean = vec![0.0; d];
    block.chunks_exact(d).for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / count as f64));
    mean
}

/// Chosen rows minus a shift, in double precision, a block at a time.
fn centred_blocks(
    table: &Embeddings,
    chosen: &[usize],
    shift: &[f64],
    mut each: impl FnMut(&[usize], &[f64]),
) {
    let d = table.columns();
    let mut block = vec![0.0; BLOCK.min(chosen.len().max(1)) * d];
    for rows in chosen.chunks(BLOCK) {
        for (row, &i) in block.chunks_exact_mut(d).zip(rows) {
            f64::read(table, i, row);
            row.iter_mut().zip(shift).for_each(|(x, s)| *x -= s);
        }
        each(rows, &block[..rows.len() * d]);
    }
}

/// `XᵀX`, exactly symmetric.
fn gram(x: MatRef<'_, f64>) -> Mat<f64> {
    let mut sum = Mat::zeros(x.ncols(), x.ncols());
    add_gram(sum.as_mut(), x, faer::Par::Seq);
    mirror_lower(&mut sum);
    sum
}
