//! LFDA: local Fisher discriminant analysis (Sugiyama 2007).
//!
//! # Formula
//! ```text
//! σ_i = the distance of row i to its k-th nearest row of its class,   a_ij = exp(−‖x_i − x_j‖²/(σ_i σ_j))
//! G_c = ½ Σ_{i,j∈c} a_ij (x_i − x_j)(x_i − x_j)ᵀ
//! S_w = Σ_c G_c/n_c
//! S_b = Σ_c [G_c/n + (1 − n_c/n)·X_cᵀX_c + s_c s_cᵀ/n] − s sᵀ/n − S_w,      s_c = X_cᵀ1,  s = Σ_c s_c
//!
//! S_b v = λ S_w v,   vᵀS_w v = 1,        A = Σ_k λ_k v_k v_kᵀ over the r largest λ above 0
//! ```
//! A class of at most k rows takes its own size less one for k, in its own rows alone. Rows at distance 0 have
//! `a_ij` = 1, and where a σ is 0 all others have 0. `S_b` may have directions with λ < 0: their weight is 0, and without
//! any other A = 0.
//!
//! `S_w` ← (1 − `γ)·S_w` + `γ·(S_w` + `S_b`) with the shrinkage γ; without one, `S_w` as it is, and γ = 0.1 where `S_w` is
//! singular in a direction in which rows vary, which the report then says.
#![allow(clippy::inline_always, reason = "an inlined loop inherits the instruction set of its caller")]

use crate::constraints::exponent_of_rows;
use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank};
use crate::softmax::{GROUPS, exp};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use mahala::data::{Dataset, Rows};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Report, SpanRule, Training, fields};
use mahala::metric::Metric;
use mahala::neighbors::Knn;
use mahala::progress::Progress;
use mahala::scatter::check_labels;
use mahala_kernels::blas::product;
use mahala_kernels::scaling::times_power_of_two;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parameters of LFDA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lfda {
    /// The rank of the metric; all columns if None.
    pub rank: Option<usize>,
    /// k, the neighbour whose distance is the local scale.
    pub neighbors: usize,
    /// The length of the directions.
    pub embedding: Embedding,
    /// γ, between 0 and 1; if None, 0 unless `S_w` is singular.
    pub shrinkage: Option<f64>,
    /// Part of every method's parameters; nothing is drawn here.
    pub seed: u64,
}

/// The length of LFDA's directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Embedding {
    /// `√λ·v`.
    #[default]
    Weighted,
    /// An orthonormal basis of the directions, in the units of the rows.
    Orthonormal,
    /// `v`, of length 1 under `S_w`.
    Plain,
}

impl Default for Lfda {
    fn default() -> Self {
        Self { rank: None, neighbors: 7, embedding: Embedding::Weighted, shrinkage: None, seed: 0 }
    }
}

impl Learner for Lfda {
    fn name(&self) -> &'static str {
        "lfda"
    }

    fn parameters(&self) -> Value {
        fields(self)
    }

    fn numbers(&self, shape: &Shape) -> f64 {
        // The rows standardised, scaled, by class, and averaged; sums and eigenvectors.
        let blocks = (GROUPS * BLOCK * shape.rows) as f64;
        shape.matrices(14.0, 8.0) + (self.neighbors * shape.rows) as f64 + blocks
    }

    fn span(&self, _: &Shape) -> Option<SpanRule> {
        // An orthogonal change of coordinates: no distance changes.
        Some(SpanRule { standardize: false, directions: self.rank.unwrap_or(1) })
    }

    fn run(&self, training: &Training<'_>, _: &mut Progress<'_>) -> Result<Learned> {
        check_shrinkage(self.shrinkage)?;
        let data = training.labelled(self.name())?;
        check_labels(data.labels())?;
        let rank = checked_rank(self.rank, data.columns())?;
        if self.neighbors == 0 {
            return Err(Error::Parameter { name: "neighbors", value: "0".into(), allowed: "at least 1" });
        }
        let rows = Standardized::of(data.rows())?;
        let [w, b] = local_scatters(data, &rows.rows, self.neighbors)?;
        let pencil = Pencil::of(w.as_ref(), b.as_ref(), data.len())?;
        let (shrinkage, choice) = pencil.shrinkage(self.shrinkage);
        let shrunk = |s: f64| (1.0 - shrinkage) * s + shrinkage;
        let weight = |s: f64| match self.embedding {
            Embedding::Weighted => (1.0 - s) / (shrunk(s) * shrunk(s)),
            _ if s < 1.0 => 1.0 / shrunk(s),
            _ => 0.0,
        };
        let components = pencil.components(0..rank.min(pencil.shares.len()), weight);
        let learned = rows.learned(components, choice)?;
        if self.embedding == Embedding::Orthonormal { orthonormal(learned) } else { Ok(learned) }
    }
}

/// `S_w` and `S_b` of the rows `z`, with affinities from the distances of the data set's rows.
fn local_scatters(data: &Dataset, z: &Rows, neighbors: usize) -> Result<[Mat<f64>; 2]> {
    let (n, d) = (data.len() as f64, data.columns());
    let exponent = exponent_of_rows(data.rows());
    let (mut within, mut between) = (Mat::<f64>::zeros(d, d), Mat::<f64>::zeros(d, d));
    let mut total = vec![0.0; d];
    for code in 0..data.labels().class_count() as u32 {
        let members: Vec<usize> = (0..data.len()).filter(|&i| data.labels().codes()[i] == code).collect();
        if members.is_empty() {
            continue;
        }
        let values = members.iter().flat_map(|&i| data.rows().row(i));
        let plain = Rows::new(values.map(|&x| times_power_of_two(x, -exponent)).collect(), d)?;
        let class = z.subset(&members);
        let size = members.len() as f64;
        let g = local_scatter(&plain, &class, neighbors)?;
        let x = class.as_mat();
        let gram = product(x.transpose(), x);
        let sum: Vec<f64> = (0..d).map(|j| x.col(j).iter().sum()).collect();
        total.iter_mut().zip(&sum).for_each(|(t, s)| *t += s);
        for j in 0..d {
            for i in 0..d {
                within[(i, j)] += g[(i, j)] / size;
                between[(i, j)] += g[(i, j)] / n + (1.0 - size / n) * gram[(i, j)] + sum[i] * sum[j] / n;
            }
        }
    }
    let b = Mat::from_fn(d, d, |i, j| between[(i, j)] - total[i] * total[j] / n - within[(i, j)]);
    Ok([within, b].map(|m| Mat::from_fn(d, d, |i, j| 0.5 * (m[(i, j)] + m[(j, i)]))))
}

/// Rows whose affinities are computed together.
const BLOCK: usize = 64;

/// `G_c` of the rows `z` of one class, `Σ_i z_i (Σ_j a_ij (z_i − z_j))ᵀ`. Both factors are taken around the mean of the class,
/// which changes nothing but rounding.
fn local_scatter(rows: &Rows, z: &Rows, neighbors: usize) -> Result<Mat<f64>> {
    let (n, d) = (rows.len(), rows.columns());
    if n == 1 {
        return Ok(Mat::zeros(d, d));
    }
    let k = neighbors.min(n - 1);
    let found = Knn::new(rows.clone())?.search(rows, k + 1)?;
    let sigma: Vec<f64> = (0..n).map(|i| found.distances(i)[k]).collect();
    let columns: Vec<f64> = (0..d).flat_map(|c| (0..n).map(move |j| rows.row(j)[c])).collect();
    let mean: Vec<f64> = (0..d).map(|c| z.as_mat().col(c).iter().sum::<f64>() / n as f64).collect();
    // A last column of ones: its product is the sum of the affinities.
    let centred = Mat::from_fn(n, d + 1, |i, c| if c < d { z.row(i)[c] - mean[c] } else { 1.0 });
    let mut differences = vec![0.0; n * d];
    differences.par_chunks_mut(BLOCK * d).enumerate().for_each(|(block, sums)| {
        let (first, count) = (block * BLOCK, sums.len() / d);
        let mut affinities = vec![0.0; count * n];
        for (i, a) in (first..).zip(affinities.chunks_exact_mut(n)) {
            Arch::new().dispatch(Affinities {
                row: rows.row(i),
                columns: &columns,
                sigma: (sigma[i], &sigma),
                a,
            });
        }
        let mut moved = Mat::<f64>::zeros(count, d + 1);
        let a = MatRef::from_row_major_slice(&affinities, count, n);
        matmul(moved.as_mut(), Accum::Replace, a, centred.as_ref(), 1.0, Par::Seq);
        for (i, sum) in sums.chunks_exact_mut(d).enumerate() {
            let own = (0..d).map(|c| moved[(i, d)] * centred[(first + i, c)] - moved[(i, c)]);
            sum.iter_mut().zip(own).for_each(|(sum, x)| *sum = x);
        }
    });
    let centred = centred.as_ref().subcols(0, d);
    Ok(product(centred.transpose(), MatRef::from_row_major_slice(&differences, n, d)))
}

/// `a_ij` of one row with all rows of its class.
struct Affinities<'a> {
    row: &'a [f64],
    /// The rows, column by column.
    columns: &'a [f64],
    /// `σ_i`, and σ of all.
    sigma: (f64, &'a [f64]),
    a: &'a mut [f64],
}

impl WithSimd for Affinities<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { row, columns, sigma, a } = self;
        for (x, column) in row.iter().zip(columns.chunks_exact(a.len())) {
            a.iter_mut().zip(column).for_each(|(a, y)| *a += (x - y) * (x - y));
        }
        for (a, of_other) in a.iter_mut().zip(sigma.1) {
            let squared = *a;
            let affinity = exp(-squared / (sigma.0 * of_other));
            *a = if squared == 0.0 { 1.0 } else { affinity };
        }
    }
}

/// The metric of an orthonormal basis of the components' span, in the units of the rows (modified Gram-Schmidt,
/// twice).
fn orthonormal(learned: Learned) -> Result<Learned> {
    let map = learned.metric.map();
    let (r, d) = (map.nrows(), map.ncols());
    if map.norm_max() == 0.0 {
        return Ok(learned);
    }
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(r);
    for i in 0..r {
        let largest = map.row(i).iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let mut v: Vec<f64> = map.row(i).iter().map(|x| x / largest).collect();
        for _ in 0..2 {
            for b in &basis {
                let dot: f64 = v.iter().zip(b).map(|(x, y)| x * y).sum();
                v.iter_mut().zip(b).for_each(|(x, y)| *x -= dot * y);
            }
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            v.iter_mut().for_each(|x| *x /= norm);
        }
        basis.push(v);
    }
    if basis.iter().flatten().any(|x| !x.is_finite()) {
        return Err(Error::OutOfRange { what: "the orthonormal basis" });
    }
    let metric =
        Metric::computed(Mat::from_fn(r, d, |i, j| basis[i][j]), learned.metric.mean().to_vec(), None)?;
    Ok(Learned::new(metric, Report { choice: learned.report.choice, ..Report::closed_form() }))
}
