//! Kernel principal components of rows, on which the weights of local SCML depend.
//!
//! # Formula
//! ```text
//! k(x) = (exp(−‖x − l_1‖²/2), …, exp(−‖x − l_m‖²/2)),    C = the covariance of k over the rows = VΛVᵀ
//! ψ_j(x) = v_jᵀ(k(x) − mean k)/√(qλ_j),    φ = (1, ψ_1, …, ψ_q)
//! ```

use faer::Mat;
use mahala::data::{Random, Rows};
use mahala::error::Result;
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;

/// Principal components with less than this share of the largest variance are left out.
const LEAST_VARIANCE: f64 = 1e-10;

/// Kernel principal components.
#[derive(Debug, Clone)]
pub struct KernelFeatures {
    /// The rows that kernels are taken with.
    pub landmarks: Rows,
    /// The mean kernel value with each.
    pub mean: Vec<f64>,
    /// One row a component.
    pub directions: Mat<f64>,
}

impl KernelFeatures {
    pub(super) fn of(rows: &Rows, components: usize, landmarks: usize, random: &mut Random) -> Result<Self> {
        let mut drawn = random.permutation(rows.len());
        drawn.truncate(landmarks);
        drawn.sort_unstable();
        let landmarks = rows.subset(&drawn);
        let kernel = kernel_values(rows, &landmarks);
        let (n, m) = (rows.len(), landmarks.len());
        let mean: Vec<f64> = (0..m).map(|j| kernel.col(j).iter().sum::<f64>() / n as f64).collect();
        let centred = Mat::from_fn(n, m, |i, j| kernel[(i, j)] - mean[j]);
        let sum = product(centred.transpose(), centred.as_ref());
        let covariance = Mat::from_fn(m, m, |i, j| 0.5 * (sum[(i, j)] + sum[(j, i)]) / n as f64);
        let e = eigen(covariance.as_ref(), "the kernel values", &mut Workspace::default())?;
        let largest = e.values[m - 1];
        let enough = |i: &usize| e.values[*i] > LEAST_VARIANCE * largest.max(f64::MIN_POSITIVE);
        let kept: Vec<usize> = (0..m).rev().take(components).take_while(enough).collect();
        let unit = |i: usize| (e.values[i] * kept.len() as f64).sqrt();
        let directions = Mat::from_fn(kept.len(), m, |k, j| e.vectors[(j, kept[k])] / unit(kept[k]));
        Ok(Self { landmarks, mean, directions })
    }

    /// φ of each row, one a row.
    pub(super) fn of_rows(&self, rows: &Rows) -> Mat<f64> {
        let kernel = kernel_values(rows, &self.landmarks);
        let centred = Mat::from_fn(rows.len(), self.mean.len(), |i, j| kernel[(i, j)] - self.mean[j]);
        let psi = product(centred.as_ref(), self.directions.transpose());
        Mat::from_fn(rows.len(), 1 + psi.ncols(), |i, j| if j == 0 { 1.0 } else { psi[(i, j - 1)] })
    }
}

fn kernel_values(rows: &Rows, landmarks: &Rows) -> Mat<f64> {
    let value = |i: usize, j: usize| {
        let squared: f64 = rows.row(i).iter().zip(landmarks.row(j)).map(|(x, l)| (x - l) * (x - l)).sum();
        (-0.5 * squared).exp()
    };
    Mat::from_fn(rows.len(), landmarks.len(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_centred_and_of_the_same_variance() {
        let random = &mut Random::new(2, 0);
        let rows = Rows::new((0..180).map(|_| 2.0 * random.uniform()).collect(), 3).unwrap();
        let features = KernelFeatures::of(&rows, 4, 25, random).unwrap();
        let phi = features.of_rows(&rows);
        assert_eq!((phi.nrows(), phi.ncols(), features.landmarks.len()), (60, 5, 25));
        for j in 1..5 {
            let column: Vec<f64> = phi.col(j).iter().copied().collect();
            let mean = column.iter().sum::<f64>() / 60.0;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 60.0;
            assert!(mean.abs() < 1e-10 && (variance - 0.25).abs() < 1e-8, "{mean} {variance}");
        }
    }
}
