//! Labelled rows grouped by class, for the methods that compare every row with every other.

use faer::{Mat, MatRef};
use mahala::data::ColumnStatistics;
use mahala::data::{Dataset, Rows};
use mahala::error::{Error, Result};
use mahala::learner::{Learned, Report};
use mahala::metric::{Metric, project};
use mahala::scatter::check_labels;
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use std::ops::Range;

/// Rows around their mean, class after class. There are two classes, one of two rows, and a column that varies.
pub(crate) struct Labelled {
    rows: Rows,
    mean: Vec<f64>,
    codes: Vec<u32>,
    sizes: Vec<usize>,
    /// The first row of each class.
    starts: Vec<usize>,
}

impl Labelled {
    pub(crate) fn new(data: &Dataset) -> Result<Self> {
        check_labels(data.labels())?;
        let (d, mean) = (data.columns(), ColumnStatistics::of(data.rows()).mean);
        let codes = data.labels().codes();
        let mut order: Vec<usize> = (0..data.len()).collect();
        order.sort_by_key(|&i| codes[i]);
        let centred = |&i: &usize| data.rows().row(i).iter().zip(&mean).map(|(x, m)| x - m);
        let values: Vec<f64> = order.iter().flat_map(centred).collect();
        if values.iter().all(|&x| x == 0.0) {
            return Err(Error::AllConstant { columns: d });
        }
        let rows = Rows::new(values, d).map_err(|_| Error::OutOfRange { what: "a centred cell" })?;
        let sizes = data.labels().class_sizes();
        let starts = sizes.iter().scan(0, |next, size| Some(std::mem::replace(next, *next + size))).collect();
        let codes = order.iter().map(|&i| codes[i]).collect();
        Ok(Self { rows, mean, codes, sizes, starts })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.rows.columns()
    }

    /// The centred rows.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The class of each row.
    pub(crate) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The number of classes, those without a row included.
    pub(crate) fn class_count(&self) -> usize {
        self.sizes.len()
    }

    /// The rows of a class.
    pub(crate) fn class(&self, code: usize) -> Range<usize> {
        self.starts[code]..self.starts[code] + self.sizes[code]
    }

    /// The rows of row `i`'s class, itself included.
    pub(crate) fn class_of(&self, i: usize) -> Range<usize> {
        self.class(self.codes[i] as usize)
    }

    /// How many classes have a row.
    pub(crate) fn classes_present(&self) -> usize {
        self.sizes.iter().filter(|&&size| size > 0).count()
    }

    /// The given rank, or full rank.
    pub(crate) fn rank(&self, given: Option<usize>) -> Result<usize> {
        let rank = given.unwrap_or(self.columns());
        if rank == 0 || rank > self.columns() {
            let allowed = "at least 1 and at most the number of columns";
            return Err(Error::Parameter { name: "rank", value: rank.to_string(), allowed });
        }
        Ok(rank)
    }

    /// The rows under `L`.
    pub(crate) fn transformed(&self, l: MatRef<'_, f64>) -> Vec<f64> {
        project(&self.rows, &vec![0.0; self.columns()], None, l.transpose())
    }

    /// `XᵀX` of the centred rows.
    pub(crate) fn total_scatter(&self) -> Mat<f64> {
        product(self.rows.as_mat().transpose(), self.rows.as_mat())
    }

    /// The within-class scatter `Σ_c weight(n_c)·Σ (x − m_c)(x − m_c)ᵀ` for classes of `n_c` rows.
    pub(crate) fn within_scatter(&self, weight: impl Fn(usize) -> f64) -> Mat<f64> {
        let d = self.columns();
        let mut means = vec![0.0; self.sizes.len() * d];
        for (row, &code) in self.rows.values().chunks_exact(d).zip(&self.codes) {
            let share = 1.0 / self.sizes[code as usize] as f64;
            let mean = &mut means[code as usize * d..][..d];
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += share * x);
        }
        let x = self.rows.as_mat();
        let centred = Mat::from_fn(self.len(), d, |i, j| x[(i, j)] - means[self.codes[i] as usize * d + j]);
        let weights: Vec<f64> = self.sizes.iter().map(|&size| weight(size)).collect();
        let scaled = Mat::from_fn(self.len(), d, |i, j| weights[self.codes[i] as usize] * centred[(i, j)]);
        product(centred.transpose(), scaled.as_ref())
    }

    /// The rows in other coordinates, `XP`.
    pub(crate) fn mapped(&self, p: MatRef<'_, f64>) -> Result<Self> {
        let rows = Rows::new(self.transformed(p.transpose()), p.ncols())
            .map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })?;
        let (codes, sizes, starts) = (self.codes.clone(), self.sizes.clone(), self.starts.clone());
        Ok(Self { rows, mean: self.mean.clone(), codes, sizes, starts })
    }

    /// The metric of `L`, rotated to the principal axes of the transformed rows: no distance changes, and the
    /// first coordinates vary most.
    pub(crate) fn learned(&self, l: MatRef<'_, f64>, report: Report) -> Result<Learned> {
        let r = l.nrows();
        let spread = product(product(l, self.total_scatter().as_ref()).as_ref(), l.transpose());
        let axes =
            eigen(spread.as_ref(), "the transformed rows' covariance", &mut Workspace::default())?.vectors;
        let rotated = product(Mat::from_fn(r, r, |i, j| axes[(j, r - 1 - i)]).as_ref(), l);
        Ok(Learned::new(Metric::computed(rotated, self.mean.clone(), None)?, report))
    }
}

/// The cells of a matrix, row by row.
pub(crate) fn row_major(matrix: MatRef<'_, f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| matrix.row(i).iter().copied()).collect()
}

/// The error of a gradient against central differences at a random `L`, relative to its norm.
#[cfg(test)]
pub(crate) fn gradient_error(rank: usize, function: impl Fn(&Labelled, &[f64], &mut [f64]) -> f64) -> f64 {
    use mahala::Labels;
    use mahala::data::Random;
    let (n, d) = (40, 4);
    let mut random = Random::new(11, 0);
    let mut numbers = |n: usize| (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect::<Vec<f64>>();
    let rows = Rows::new(numbers(n * d), d).unwrap();
    let labels = Labels::new((0..n).map(|i| ["a", "b", "c"][i % 3]));
    let data = Labelled::new(&Dataset::new(rows, labels).unwrap()).unwrap();
    let mut l = numbers(rank * d);
    let (mut gradient, mut unused) = (vec![0.0; rank * d], vec![0.0; rank * d]);
    function(&data, &l, &mut gradient);
    let mut difference: f64 = 0.0;
    for at in 0..l.len() {
        let (here, h) = (l[at], 1e-5);
        l[at] = here + h;
        let above = function(&data, &l, &mut unused);
        l[at] = here - h;
        let below = function(&data, &l, &mut unused);
        l[at] = here;
        difference = difference.hypot((above - below) / (2.0 * h) - gradient[at]);
    }
    difference / gradient.iter().fold(0.0, |sum: f64, g| sum.hypot(*g))
}
