//! Projection of rows on the components of a metric, by blocks of rows.

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::scatter::moments::first_not_finite;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;
use std::ops::Range;

/// Rows transformed at a time, and columns of them copied at a time: fixed, so that the bits do not depend on
/// the number of threads.
const BLOCK: usize = 512;
const COLUMNS: usize = 8_192;

/// `((X − mean) / scale) · P`, row-major, by blocks of rows and, where rows are long, of columns.
pub fn project(rows: &Rows, mean: &[f64], scale: Option<&[f64]>, p: MatRef<'_, f64>) -> Vec<f64> {
    project_each(rows.len(), |i| rows.row(i), &Map { mean, scale, p })
}

/// The projections of the chosen rows, in the order given: those of a copied subset, without the copy.
pub(crate) fn project_chosen(
    rows: &Rows,
    chosen: &[usize],
    mean: &[f64],
    scale: Option<&[f64]>,
    p: MatRef<'_, f64>,
) -> Vec<f64> {
    project_each(chosen.len(), |i| rows.row(chosen[i]), &Map { mean, scale, p })
}

fn project_each<'a>(n: usize, row: impl Fn(usize) -> &'a [f64] + Sync, map: &Map<'_>) -> Vec<f64> {
    let r = map.p.ncols();
    let mut out = vec![0.0; n * r];
    let block = |(index, out): (usize, &mut [f64])| {
        map.block(out, |i, columns, to| to.copy_from_slice(&row(index * BLOCK + i)[columns]));
    };
    // A few rows, as a server asks for, need no thread but the caller's.
    if n <= BLOCK {
        block((0, &mut out));
    } else {
        out.par_chunks_mut(BLOCK * r).enumerate().for_each(block);
    }
    out
}

impl Metric {
    /// Rows of single precision in coordinates where the metric is Euclidean, row-major: computed in double precision, a block
    /// of rows at a time, and rounded. The matrix may have any layout.
    ///
    /// ```
    /// use mahala::{Mat, Metric};
    /// let rows = Mat::from_fn(2, 3, |i, j| (3 * i + j) as f32);
    /// assert_eq!(Metric::euclidean(3).transform_single(rows.as_ref())?, [0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// Rows with other columns, a cell that is not finite, or a coordinate outside the range of 32-bit numbers.
    pub fn transform_single(&self, rows: MatRef<'_, f32>) -> Result<Vec<f32>> {
        self.check_columns(rows.ncols())?;
        let r = self.rank();
        let map = Map { mean: self.mean(), scale: self.scale(), p: self.components().transpose() };
        let mut out = vec![0.0; rows.nrows() * r];
        let block = |(index, out): (usize, &mut [f32])| {
            let mut wide = vec![0.0; out.len()];
            map.block(&mut wide, |i, columns, to| {
                to.iter_mut().zip(columns).for_each(|(to, j)| *to = f64::from(rows[(index * BLOCK + i, j)]));
            });
            #[allow(
                clippy::cast_possible_truncation,
                reason = "rounding to single precision is the purpose"
            )]
            out.iter_mut().zip(wide).for_each(|(to, z)| *to = z as f32);
        };
        if rows.nrows() <= BLOCK {
            block((0, &mut out));
        } else {
            out.par_chunks_mut(BLOCK * r).enumerate().for_each(block);
        }
        if out.iter().all(|z| z.is_finite()) {
            return Ok(out);
        }
        match first_not_finite(rows) {
            error @ Error::NotFinite { .. } => Err(error),
            _ => Err(Error::OutOfRange { what: "a transformed coordinate in single precision" }),
        }
    }
}

/// `x ↦ Pᵀ·((x − mean) / scale)`
struct Map<'a> {
    mean: &'a [f64],
    scale: Option<&'a [f64]>,
    p: MatRef<'a, f64>,
}

impl Map<'_> {
    /// Maps the rows of one block; `copy` copies some columns of the i-th of them.
    fn block(&self, out: &mut [f64], copy: impl Fn(usize, Range<usize>, &mut [f64])) {
        let (d, r) = (self.p.nrows(), self.p.ncols());
        let n = out.len() / r;
        let mut centred = vec![0.0; n * d.min(COLUMNS)];
        for first in (0..d).step_by(COLUMNS) {
            let columns = first..(first + COLUMNS).min(d);
            let width = columns.len();
            let centred = &mut centred[..n * width];
            for (i, to) in centred.chunks_exact_mut(width).enumerate() {
                copy(i, columns.clone(), to);
                to.iter_mut().zip(&self.mean[columns.clone()]).for_each(|(x, m)| *x -= m);
                if let Some(scale) = self.scale {
                    to.iter_mut().zip(&scale[columns.clone()]).for_each(|(x, s)| *x /= s);
                }
            }
            let from = MatRef::from_row_major_slice(centred, n, width);
            let to = MatMut::from_row_major_slice_mut(out, n, r);
            let accum = if first == 0 { Accum::Replace } else { Accum::Add };
            matmul(to, accum, from, self.p.subrows(first, width), 1.0, Par::Seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat;

    #[test]
    fn chosen_rows_have_the_bits_of_a_copied_subset() {
        let rows = Rows::new((0..1_300 * 3).map(|i| f64::from(i).sin()).collect(), 3).unwrap();
        let p = Mat::from_fn(3, 2, |i, j| ((2 * i + j) as f64).cos());
        for n in [1, BLOCK, BLOCK + 1, 1_100] {
            let chosen: Vec<usize> = (0..n).map(|i| (7 * i) % 1_300).collect();
            let (mean, scale) = ([0.1; 3], [2.0; 3]);
            let copied = project(&rows.subset(&chosen), &mean, Some(&scale), p.as_ref());
            assert_eq!(project_chosen(&rows, &chosen, &mean, Some(&scale), p.as_ref()), copied, "{n} rows");
        }
    }

    #[test]
    fn single_precision_is_double_precision_rounded() {
        let l = Mat::from_fn(5, 7, |i, j| ((i * 7 + j) as f64).sin());
        let metric = Metric::new(l, vec![0.5; 7], Some(vec![2.0; 7])).unwrap();
        let single = Mat::from_fn(1_300, 7, |i, j| ((i * 3 + j) as f32).cos());
        let double =
            Rows::from_mat(Mat::from_fn(1_300, 7, |i, j| f64::from(single[(i, j)])).as_ref()).unwrap();
        let wanted = metric.transform(&double).unwrap();
        let got = metric.transform_single(single.as_ref()).unwrap();
        assert!(wanted.values().iter().zip(got).all(|(&wanted, got)| wanted as f32 == got));
    }

    #[test]
    fn what_single_precision_does_not_hold_is_refused() {
        let metric = Metric::euclidean(1);
        let cell = |x: f32| Mat::from_fn(1, 1, |_, _| x);
        assert!(matches!(metric.transform_single(cell(f32::NAN).as_ref()), Err(Error::NotFinite { .. })));
        let large = Metric::new(Mat::from_fn(1, 1, |_, _| 1e30), vec![0.0], None).unwrap();
        assert!(matches!(large.transform_single(cell(1e30).as_ref()), Err(Error::OutOfRange { .. })));
    }
}
