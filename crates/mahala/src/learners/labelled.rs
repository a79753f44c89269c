//! Labelled rows as the methods need them that compare every row with every other.

use super::{Learned, Minimum, Report};
use crate::all_pairs::check_labels;
use crate::dataset::{Dataset, Rows};
use crate::error::{Error, Result};
use crate::linalg::{eigen, product};
use crate::memory::Spare;
use crate::metric::{Metric, project};
use crate::standardize::ColumnStatistics;
use faer::{Mat, MatRef};

/// Rows around their mean, and the class of each. There are two classes, one of two rows, and a column
/// that varies.
pub(super) struct Labelled {
    rows: Rows,
    mean: Vec<f64>,
    codes: Vec<u32>,
    sizes: Vec<usize>,
}

impl Labelled {
    pub(super) fn new(data: &Dataset) -> Result<Self> {
        check_labels(data.labels())?;
        let (d, mean) = (data.columns(), ColumnStatistics::of(data.rows()).mean);
        let values: Vec<f64> =
            data.rows().values().iter().enumerate().map(|(cell, x)| x - mean[cell % d]).collect();
        if values.iter().all(|&x| x == 0.0) {
            return Err(Error::AllConstant { columns: d });
        }
        let rows = Rows::new(values, d).map_err(|_| Error::OutOfRange { what: "a centred cell" })?;
        Ok(Self { rows, mean, codes: data.labels().codes().to_vec(), sizes: data.labels().class_sizes() })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.rows.columns()
    }

    /// The centred rows.
    pub(super) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The class of each row.
    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// How many rows each class has.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many classes have a row.
    pub(super) fn classes_present(&self) -> usize {
        self.sizes.iter().filter(|&&size| size > 0).count()
    }

    /// The rank asked for, or full rank.
    pub(super) fn rank(&self, asked: Option<usize>) -> Result<usize> {
        let rank = asked.unwrap_or(self.columns());
        if rank == 0 || rank > self.columns() {
            let allowed = "at least 1 and at most the number of columns";
            return Err(Error::Parameter { name: "rank", value: rank.to_string(), allowed });
        }
        Ok(rank)
    }

    /// The rows under `L`.
    pub(super) fn transformed(&self, l: MatRef<'_, f64>) -> Vec<f64> {
        project(&self.rows, &vec![0.0; self.columns()], None, l.transpose())
    }

    /// `XᵀX` of the centred rows.
    pub(super) fn total_scatter(&self) -> Mat<f64> {
        product(self.rows.as_mat().transpose(), self.rows.as_mat())
    }

    /// The same around the mean of each class.
    pub(super) fn within_scatter(&self) -> Mat<f64> {
        let d = self.columns();
        let mut means = vec![0.0; self.sizes.len() * d];
        for (row, &code) in self.rows.values().chunks_exact(d).zip(&self.codes) {
            let share = 1.0 / self.sizes[code as usize] as f64;
            let mean = &mut means[code as usize * d..][..d];
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += share * x);
        }
        let x = self.rows.as_mat();
        let centred = Mat::from_fn(self.len(), d, |i, j| x[(i, j)] - means[self.codes[i] as usize * d + j]);
        product(centred.transpose(), centred.as_ref())
    }

    /// The metric of `L`, its rows turned to the principal axes of the transformed rows: no distance changes,
    /// and the first coordinates vary most.
    pub(super) fn learned(&self, l: MatRef<'_, f64>, found: &Minimum) -> Result<Learned> {
        let r = l.nrows();
        let spread = product(product(l, self.total_scatter().as_ref()).as_ref(), l.transpose());
        let axes = eigen(spread.as_ref(), "the transformed rows' covariance", &mut Spare::default())?.vectors;
        let turned = product(Mat::from_fn(r, r, |i, j| axes[(j, r - 1 - i)]).as_ref(), l);
        let report =
            Report { iterations: found.iterations, objective: Some(found.objective), outcome: found.outcome };
        Ok(Learned { metric: Metric::new(turned, self.mean.clone(), None)?, report })
    }
}
