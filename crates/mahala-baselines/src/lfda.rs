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

use crate::constraints::exponent_of_rows;
use crate::pencil::{Pencil, Standardized, check_shrinkage, checked_rank};
use faer::{Mat, MatRef};
use mahala::data::{Dataset, Rows};
use mahala::error::{Error, Result};
use mahala::footprint::Shape;
use mahala::learner::{Learned, Learner, Report, SpanRule, Training, fields};
use mahala::metric::Metric;
use mahala::neighbors::Knn;
use mahala::progress::Progress;
use mahala::scatter::check_labels;
use mahala_kernels::blas::product;
use mahala_kernels::knn::distance::squared_distance;
use mahala_kernels::scaling::times_power_of_two;
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
        shape.matrices(14.0, 6.0) + (self.neighbors * shape.rows) as f64
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

/// `G_c` of the rows `z` of one class, `Σ_i z_i (Σ_j a_ij (z_i − z_j))ᵀ`.
fn local_scatter(rows: &Rows, z: &Rows, neighbors: usize) -> Result<Mat<f64>> {
    let (n, d) = (rows.len(), rows.columns());
    if n == 1 {
        return Ok(Mat::zeros(d, d));
    }
    let k = neighbors.min(n - 1);
    let found = Knn::new(rows.clone())?.search(rows, k + 1)?;
    let sigma: Vec<f64> = (0..n).map(|i| found.distances(i)[k]).collect();
    let mut differences = vec![0.0; n * d];
    differences.par_chunks_mut(d).enumerate().for_each(|(i, sum)| {
        for j in 0..n {
            let squared = squared_distance(rows.row(i), rows.row(j));
            let a = if squared == 0.0 { 1.0 } else { (-squared / (sigma[i] * sigma[j])).exp() };
            if a > 0.0 {
                sum.iter_mut().zip(z.row(i).iter().zip(z.row(j))).for_each(|(s, (x, y))| *s += a * (x - y));
            }
        }
    });
    Ok(product(z.as_mat().transpose(), MatRef::from_row_major_slice(&differences, n, d)))
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
