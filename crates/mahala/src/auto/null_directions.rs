//! Directions in which the rows do not vary: columns that depend on others, up to rounding.
//!
//! # Formula
//! ```text
//! C = diag(T)^{-½} T diag(T)^{-½},   T = S + D,   N: the eigenvectors of C with eigenvalues up to 10⁻¹²
//! L ← L̃(I − NNᵀ)·diag(T)^{-½},       L̃ = L·diag(T)^{½}
//! ```
//! Along `N` a row's coordinate is rounding noise. A sum over few pairs has no more to say there than that noise, and
//! whatever divides by it gives the noise the weight of a column. As with constant columns, the weight is 0.

use crate::error::Result;
use crate::scatter::Scatter;
use faer::{Mat, MatRef};
use mahala_kernels::blas::product;
use mahala_kernels::cholesky::cholesky;
use mahala_kernels::eigen::eigen;
use mahala_kernels::scaling::times_power_of_two;
use mahala_kernels::workspace::Workspace;

/// Variances of unit columns up to this are rounding: of cells in 64 bits they are some 10⁻³², of their sums 10⁻¹⁵,
/// of cells that were once in 32 bits 10⁻¹⁴.
const ROUNDING: f64 = 1e-12;
/// If no pivot of a Cholesky factorisation is below, no eigenvalue is near [`ROUNDING`].
const SAFE_PIVOT: f64 = 1e-8;

/// An orthonormal basis of those directions, in columns of variance 1.
#[derive(Debug, Clone)]
pub(crate) struct NullDirections {
    /// What each column is divided by; 1 for constant columns.
    unit: Vec<f64>,
    basis: Mat<f64>,
}

impl NullDirections {
    /// None if every direction of the columns that vary is one in which the rows vary.
    ///
    /// # Errors
    /// Sums that are not finite.
    pub(crate) fn of(scatter: &Scatter) -> Result<Option<Self>> {
        let variance = |j: usize| scatter.s()[(j, j)] + scatter.d()[(j, j)];
        let varying: Vec<usize> = (0..scatter.columns()).filter(|&j| variance(j) > 0.0).collect();
        let root: Vec<f64> = varying.iter().map(|&j| variance(j).sqrt()).collect();
        let correlation = Mat::from_fn(varying.len(), varying.len(), |i, j| {
            let at = (varying[i], varying[j]);
            (scatter.s()[at] + scatter.d()[at]) / root[i] / root[j]
        });
        let workspace = &mut Workspace::default();
        if let Ok(l) = cholesky(correlation.as_ref(), "the correlations", workspace)
            && (0..l.ncols()).all(|j| l[(j, j)] * l[(j, j)] > SAFE_PIVOT)
        {
            return Ok(None);
        }
        let e = eigen(correlation.as_ref(), "the correlations", workspace)?;
        let null: Vec<usize> = (0..e.values.len()).filter(|&k| e.values[k] <= ROUNDING).collect();
        if null.is_empty() {
            return Ok(None);
        }
        let (mut unit, mut basis) = (vec![1.0; scatter.columns()], Mat::zeros(scatter.columns(), null.len()));
        for (i, &j) in varying.iter().enumerate() {
            unit[j] = times_power_of_two(root[i], scatter.units()[j]);
            null.iter().enumerate().for_each(|(to, &k)| basis[(j, to)] = e.vectors[(i, k)]);
        }
        Ok(Some(Self { unit, basis }))
    }

    /// Whether the rows do not vary along a direction, given in the columns as they are.
    pub(crate) fn contains(&self, direction: impl Iterator<Item = f64>) -> bool {
        let direction = Mat::from_fn(1, self.unit.len(), {
            let scaled: Vec<f64> = direction.zip(&self.unit).map(|(x, unit)| x * unit).collect();
            move |_, j| scaled[j]
        });
        let rest = self.without(direction.as_ref());
        let squares = |row: MatRef<'_, f64>| row.row(0).iter().map(|x| x * x).sum::<f64>();
        squares(rest.as_ref()) <= ROUNDING * squares(direction.as_ref())
    }

    /// The components of a metric without weight along these directions; `scale` divides the columns first.
    pub(crate) fn taken_out_of(&self, components: MatRef<'_, f64>, scale: Option<&[f64]>) -> Mat<f64> {
        let unit = |j: usize| self.unit[j] / scale.map_or(1.0, |scale| scale[j]);
        let (k, d) = (components.nrows(), components.ncols());
        let rest = self.without(Mat::from_fn(k, d, |i, j| components[(i, j)] * unit(j)).as_ref());
        Mat::from_fn(k, d, |i, j| rest[(i, j)] / unit(j))
    }

    /// `M − M·N·Nᵀ`, twice: what is left of a part that was large is large against nothing.
    fn without(&self, m: MatRef<'_, f64>) -> Mat<f64> {
        let once = |m: MatRef<'_, f64>| {
            let along = product(m, self.basis.as_ref());
            m - product(along.as_ref(), self.basis.transpose())
        };
        once(once(m).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;
    use crate::data::{Dataset, Labels, Rows};

    /// Three columns of noise in different units and their sum; a constant column.
    fn dependent(noise: f64) -> Scatter {
        let mut random = Random::new(1, 0);
        let mut values = Vec::new();
        for _ in 0..40 {
            let x = [random.uniform(), 0.1 * random.uniform(), 10.0 * random.uniform()];
            let sum = x.iter().sum::<f64>() + noise * random.uniform();
            values.extend([x[0], x[1], x[2], sum, 7.0]);
        }
        let labels = Labels::new((0..40).map(|i| ["a", "b"][i % 2]));
        let data = Dataset::new(Rows::new(values, 5).unwrap(), labels).unwrap();
        Scatter::all_pairs_of(&data).unwrap().0
    }

    #[test]
    fn a_column_that_is_the_sum_of_others_has_one_null_direction() {
        let null = NullDirections::of(&dependent(0.0)).unwrap().unwrap();
        assert_eq!(null.basis.ncols(), 1);
        assert!(null.contains([1.0, 1.0, 1.0, -1.0, 0.0].into_iter()));
        assert!(!null.contains([1.0, 1.0, 1.0, -0.9, 0.0].into_iter()));
        assert!(!null.contains([1.0, 0.0, 0.0, 0.0, 0.0].into_iter()));
        // A huge weight along it goes, and what the rows see stays.
        let l = Mat::from_fn(1, 5, |_, j| [1e6 + 1.0, 1e6, 1e6, -1e6, 0.0][j]);
        let rest = null.taken_out_of(l.as_ref(), None);
        let seen = |l: &Mat<f64>, x: [f64; 5]| (0..5).map(|j| l[(0, j)] * x[j]).sum::<f64>();
        for x in [[1.0, 0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]] {
            // Weights of 10⁶ on columns that differ by 10² in size leave seven digits of the basis.
            assert!((seen(&rest, x) - seen(&l, x)).abs() < 1e-6, "{rest:?}");
        }
        assert!(seen(&rest, [1.0, 1.0, 1.0, -1.0, 0.0]).abs() < 2.0);
    }

    #[test]
    fn a_direction_of_little_variance_is_kept() {
        assert!(NullDirections::of(&dependent(1e-1)).unwrap().is_none());
    }
}
