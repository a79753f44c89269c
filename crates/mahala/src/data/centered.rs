//! Centred rows, dense or sparse, as a linear operator: the products from which a basis of their span is
//! computed.
//!
//! Dense rows are centred a block of columns at a time, in a buffer; sparse rows are never centred: the mean is
//! subtracted from the products.

use crate::data::Rows;
use crate::data::column_stats::ColumnStatistics;
use crate::data::sparse::SparseRows;
use crate::error::{Error, Result};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};
use mahala_kernels::blas::syrk::add_gram;
use mahala_kernels::blas::transpose::mirror_lower;
use mahala_kernels::parallel::parallelism;
use mahala_kernels::reduce::squared_norm;
use mahala_kernels::scaling::{extreme_exponent, times_power_of_two};
use rayon::prelude::*;
use std::borrow::Cow;

/// The rows, dense or sparse.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cells<'a> {
    Dense(&'a Rows),
    Sparse(&'a SparseRows),
}

/// `X_c = (X − mean) / scale`, in units of 2^exponent; no cell of it is stored if `X` is sparse.
pub(crate) struct Centred<'a> {
    store: Store<'a>,
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Option<Vec<f64>>,
    /// 0 unless squares could overflow or underflow.
    pub(crate) exponent: i32,
    /// Columns that never vary.
    pub(crate) constant: Vec<usize>,
}

enum Store<'a> {
    Dense(&'a Rows),
    /// The scaled rows, their transpose, and the scaled mean.
    Sparse {
        rows: Cow<'a, SparseRows>,
        columns: SparseRows,
        mean: Vec<f64>,
    },
}

/// Columns of a block: wide enough for the products, small enough for the cache.
const BLOCK: usize = 512;

impl Cells<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.len(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.columns(),
            Self::Sparse(rows) => rows.columns(),
        }
    }
}

impl<'a> Centred<'a> {
    /// Centres the rows, and divides columns by their standard deviations if `standardize`.
    ///
    /// # Errors
    /// Sparse cells whose squares leave the range.
    pub(crate) fn new(cells: Cells<'a>, standardize: bool) -> Result<Self> {
        match cells {
            Cells::Dense(rows) => Ok(Self::dense(rows, standardize)),
            Cells::Sparse(rows) => Self::sparse(rows, standardize),
        }
    }

    fn dense(rows: &'a Rows, standardize: bool) -> Self {
        let ColumnStatistics { mean, scale, .. } = ColumnStatistics::of(rows);
        let (first, d) = (rows.row(0), rows.columns());
        let mut varies = vec![false; d];
        let mut peak = 0.0f64;
        for row in rows.values().chunks_exact(d) {
            for j in 0..d {
                varies[j] |= row[j] != first[j];
                peak = peak.max((0.5 * row[j] - 0.5 * mean[j]).abs());
            }
        }
        let constant = (0..d).filter(|&j| !varies[j]).collect();
        // Standardised cells are near 1.
        let exponent = if standardize { 0 } else { extreme_exponent(peak) };
        Self { store: Store::Dense(rows), mean, scale: standardize.then_some(scale), exponent, constant }
    }

    fn sparse(rows: &'a SparseRows, standardize: bool) -> Result<Self> {
        let (mean, deviation) = rows.mean_and_deviation();
        if deviation.iter().any(|x| !x.is_finite()) {
            return Err(Error::OutOfRange { what: "the variance of a sparse column" });
        }
        let constant = (0..mean.len()).filter(|&j| deviation[j] == 0.0).collect();
        let scale: Vec<f64> = deviation.iter().map(|&x| if x > 0.0 { x } else { 1.0 }).collect();
        let factors: Vec<f64> = scale.iter().map(|x| 1.0 / x).collect();
        let scaled_mean = |factors: &[f64]| mean.iter().zip(factors).map(|(m, f)| m * f).collect();
        let (rows, scaled_mean) = if standardize {
            (Cow::Owned(rows.scaled(&factors)), scaled_mean(&factors))
        } else {
            (Cow::Borrowed(rows), mean.clone())
        };
        let columns = rows.transposed();
        let store = Store::Sparse { rows, columns, mean: scaled_mean };
        Ok(Self { store, mean, scale: standardize.then_some(scale), exponent: 0, constant })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.store {
            Store::Dense(rows) => rows.len(),
            Store::Sparse { rows, .. } => rows.len(),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.mean.len()
    }

    /// `X_c·X_cᵀ`, n × n.
    pub(crate) fn gram(&self) -> Mat<f64> {
        let n = self.len();
        match &self.store {
            Store::Dense(rows) => {
                let mut gram = Mat::zeros(n, n);
                self.for_each_block(rows, |_, block| add_gram(gram.as_mut(), block, parallelism(n)));
                mirror_lower(&mut gram);
                gram
            }
            Store::Sparse { rows, columns, .. } => {
                let mut cells = vec![0.0; n * n];
                cells.par_chunks_mut(n).enumerate().for_each(|(i, products)| {
                    for (j, x) in rows.row(i) {
                        columns.row(j).for_each(|(k, y)| products[k] += x * y);
                    }
                });
                let mut gram = MatRef::from_column_major_slice(&cells, n, n).to_owned();
                centre_gram(&mut gram);
                gram
            }
        }
    }

    /// `B·X_cᵀ` for `B` of k × d.
    pub(crate) fn times_rows(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let (n, k) = (self.len(), b.nrows());
        match &self.store {
            Store::Dense(rows) => {
                let mut out = Mat::zeros(k, n);
                self.for_each_block(rows, |first, block| {
                    let part = b.subcols(first, block.nrows());
                    matmul(out.as_mut(), Accum::Add, part, block, 1.0, parallelism(n));
                });
                out
            }
            Store::Sparse { rows, mean, .. } => {
                let out = rows.times(0..n, b);
                let shift = weighted_sum_of_columns(b, mean);
                Mat::from_fn(k, n, |a, i| out[i * k + a] - shift[a])
            }
        }
    }

    /// `C·X_c` for `C` of k × n: combinations of the rows.
    pub(crate) fn combined(&self, c: MatRef<'_, f64>) -> Mat<f64> {
        let (d, k) = (self.columns(), c.nrows());
        let mut out = Mat::zeros(k, d);
        match &self.store {
            Store::Dense(rows) => self.for_each_block(rows, |first, block| {
                let to = out.as_mut().subcols_mut(first, block.nrows());
                matmul(to, Accum::Replace, c, block.transpose(), 1.0, parallelism(self.len()));
            }),
            Store::Sparse { columns, mean, .. } => {
                let sums = weighted_sum_of_columns(c, &vec![1.0; c.ncols()]);
                for first in (0..d).step_by(BLOCK) {
                    let block = first..(first + BLOCK).min(d);
                    let part = columns.times(block.clone(), c);
                    for (j, part) in block.zip(part.chunks_exact(k)) {
                        let to = out.as_mut().col_mut(j);
                        to.iter_mut().zip(part).zip(&sums).for_each(|((to, x), s)| *to = x - mean[j] * s);
                    }
                }
            }
        }
        out
    }

    /// The sum of the squares of all cells of `X_c`.
    pub(crate) fn squared_norm(&self) -> f64 {
        match &self.store {
            Store::Dense(rows) => {
                let mut sum = 0.0;
                self.for_each_block(rows, |_, block| {
                    sum += squared_norm(block);
                });
                sum
            }
            Store::Sparse { columns, mean, .. } => {
                let n = self.len() as f64;
                let of_column = |j: usize| {
                    let (mut stored, mut squares) = (0.0, 0.0);
                    columns.row(j).for_each(|(_, x)| {
                        stored += 1.0;
                        squares += (x - mean[j]).powi(2);
                    });
                    squares + (n - stored) * mean[j] * mean[j]
                };
                (0..self.columns()).map(of_column).sum()
            }
        }
    }

    /// Calls a closure with block after block of columns, centred and scaled, transposed: each column of a block
    /// is a part of one row.
    fn for_each_block(&self, rows: &Rows, mut work: impl FnMut(usize, MatRef<'_, f64>)) {
        let (n, d) = (rows.len(), rows.columns());
        let mut buffer = vec![0.0; n * BLOCK.min(d)];
        for first in (0..d).step_by(BLOCK) {
            let width = BLOCK.min(d - first);
            let mean = &self.mean[first..first + width];
            let scale = self.scale.as_ref().map(|scale| &scale[first..first + width]);
            let from = rows.values().par_chunks(d);
            buffer[..n * width].par_chunks_mut(width).zip(from).for_each(|(to, row)| {
                to.copy_from_slice(&row[first..first + width]);
                centre(to, mean, scale, self.exponent);
            });
            work(first, MatRef::from_column_major_slice(&buffer[..n * width], width, n));
        }
    }
}

fn centre(cells: &mut [f64], mean: &[f64], scale: Option<&[f64]>, exponent: i32) {
    if exponent == 0 {
        cells.iter_mut().zip(mean).for_each(|(x, m)| *x -= m);
    } else {
        // Scaled first: the difference itself might overflow.
        let unit = |x: f64| times_power_of_two(x, -exponent);
        cells.iter_mut().zip(mean).for_each(|(x, m)| *x = unit(*x) - unit(*m));
    }
    if let Some(scale) = scale {
        cells.iter_mut().zip(scale).for_each(|(x, s)| *x /= s);
    }
}

/// Double centring of a Gram matrix, `(I − 11ᵀ/n)·K·(I − 11ᵀ/n)`; returns the means of its columns before.
pub(crate) fn centre_gram(gram: &mut Mat<f64>) -> Vec<f64> {
    let n = gram.ncols();
    let means: Vec<f64> = (0..n).map(|j| gram.col(j).iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n as f64;
    for j in 0..n {
        gram.as_mut().col_mut(j).iter_mut().zip(&means).for_each(|(x, m)| *x += mean - means[j] - m);
    }
    means
}

/// `B·weights`
pub(crate) fn weighted_sum_of_columns(b: MatRef<'_, f64>, weights: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; b.nrows()];
    for (j, w) in weights.iter().enumerate() {
        sum.iter_mut().zip(b.col(j).iter()).for_each(|(s, b)| *s += w * b);
    }
    sum
}
