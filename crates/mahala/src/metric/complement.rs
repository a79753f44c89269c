//! The orthogonal complement of a metric's components, as components of their own.

use crate::error::{MemoryRemedy, Result};
use crate::footprint::{check_against, memory_limit_gb};
use crate::metric::Metric;
use faer::Mat;
use mahala_kernels::reduce::sum_by_lanes;
use rayon::prelude::*;

/// The limit on a map of all columns to as many coordinates, in gigabytes.
const LARGEST: f64 = 4.0;

impl Metric {
    /// Extends the metric to as many coordinates as there are columns, with no weight outside them: for programs
    /// that apply a linear map only. A metric without a weight outside its components is unchanged.
    ///
    /// # Formula
    /// ```text
    /// A = LᵀL + w·(I − P) = L'ᵀL',     L' = [L; √w·N],     the rows of N an orthonormal basis of what P leaves out
    /// ```
    ///
    /// ```
    /// use mahala::{Mat, Metric};
    /// let line = Metric::new(Mat::from_fn(1, 2, |_, j| [2.0, 0.0][j]), vec![0.0; 2], None)?.with_weight_outside(9.0)?;
    /// let full = line.with_outside_as_components()?;
    /// assert_eq!((full.rank(), full.weight_outside()), (2, None));
    /// assert_eq!(full.squared_distance(&[0.0, 0.0], &[1.0, 1.0])?, 13.0);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// More columns than a map of 4 GB has.
    pub fn with_outside_as_components(&self) -> Result<Self> {
        let Some(weight) = self.weight_outside() else { return Ok(self.clone()) };
        let (r, d) = (self.rank(), self.columns());
        let limit = LARGEST.min(memory_limit_gb());
        check_against(limit, "the map of all columns", (d as f64).powi(2), d, MemoryRemedy::Columns)?;
        let l = self.components();
        let row = |i: usize| -> Vec<f64> { (0..d).map(|j| l[(i, j)]).collect() };
        let lengths: Vec<f64> = (0..r).map(&row).map(|row| dot(&row, &row).sqrt()).collect();
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let used: Vec<usize> = (0..r).filter(|&i| lengths[i] > 1e-150 * longest).collect();
        let rows = used.iter().map(|&i| row(i).into_iter().map(|x| x / lengths[i]).collect()).collect();
        let rest = complement(rows, d);
        let root = weight.sqrt();
        let components = Mat::from_fn(used.len() + rest.len(), d, |i, j| match used.get(i) {
            Some(&row) => l[(row, j)],
            None => root * rest[i - used.len()][j],
        });
        Self::new(components, self.mean().to_vec(), self.scale().map(<[f64]>::to_vec))
    }
}

/// An orthonormal basis of the orthogonal complement of orthonormal rows of `d` numbers, by Householder
/// reflectors: with `H₁…H_r` those that map the rows to the first axes, the rest are `H₁…H_r·e_i` for the axes i
/// > r.
fn complement(mut rows: Vec<Vec<f64>>, d: usize) -> Vec<Vec<f64>> {
    let r = rows.len();
    let mut reflections: Vec<Vec<f64>> = Vec::with_capacity(r);
    for k in 0..r {
        let (done, left) = rows.split_at_mut(k + 1);
        let mut v = done[k][k..].to_vec();
        v[0] += dot(&v, &v).sqrt().copysign(v[0]);
        let length = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|x| *x /= length);
        left.par_iter_mut().for_each(|row| reflect(&v, &mut row[k..]));
        reflections.push(v);
    }
    (r..d)
        .into_par_iter()
        .map(|axis| {
            let mut row = vec![0.0; d];
            row[axis] = 1.0;
            (0..r).rev().for_each(|k| reflect(&reflections[k], &mut row[k..]));
            row
        })
        .collect()
}

/// `x − 2·v·(vᵀx)`
fn reflect(v: &[f64], x: &mut [f64]) {
    let twice = 2.0 * dot(v, x);
    x.iter_mut().zip(v).for_each(|(x, v)| *x -= twice * v);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_by_lanes(a, b, |a, b| a * b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::Random;
    use crate::error::Error;

    /// r orthogonal rows of different lengths in d columns: reflections of the axes.
    fn metric(r: usize, d: usize, weight: f64) -> Metric {
        let mut random = Random::new(3, 1);
        let mut v: Vec<f64> = (0..d).map(|_| random.uniform() - 0.5).collect();
        let length = dot(&v, &v).sqrt();
        v.iter_mut().for_each(|x| *x /= length);
        let row = |i: usize| {
            let mut row = vec![0.0; d];
            row[i] = 1.0 + i as f64;
            reflect(&v, &mut row);
            row
        };
        let rows: Vec<Vec<f64>> = (0..r).map(row).collect();
        let scale = (0..d).map(|j| 1.0 + 0.5 * j as f64).collect();
        let l = Mat::from_fn(r, d, |i, j| rows[i][j]);
        Metric::new(l, vec![1.0; d], Some(scale)).unwrap().with_weight_outside(weight).unwrap()
    }

    #[test]
    fn the_whole_map_has_the_matrix_of_the_metric() {
        for (r, d) in [(1, 2), (3, 3), (3, 7), (20, 50)] {
            let metric = metric(r, d, 0.3);
            let full = metric.with_outside_as_components().unwrap();
            assert_eq!(full.rank(), d);
            let (a, b) = (metric.matrix().unwrap(), full.matrix().unwrap());
            assert!((&a - &b).norm_max() < 1e-13 * a.norm_max(), "{r} {d}");
        }
    }

    #[test]
    fn too_many_columns_are_refused_before_memory_is_taken() {
        let l = Mat::from_fn(1, 50_000, |_, j| f64::from(u8::from(j == 0)));
        let wide = Metric::new(l, vec![0.0; 50_000], None).unwrap().with_weight_outside(1.0).unwrap();
        assert!(matches!(wide.with_outside_as_components(), Err(Error::Memory { d: 50_000, .. })));
    }
}
