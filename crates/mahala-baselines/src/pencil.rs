//! The pencil of two scatter matrices, for every closed form that weighs its directions.
//!
//! # Formula
//! ```text
//! vᵀSv = s,   vᵀDv = 1 − s       D v = λ S v,   λ = (1 − s)/s,   s ≥ 0, and s ≤ 1 if D has no eigenvalue below 0
//! A = Σ_k weight(s_k)·v_k v_kᵀ
//! ```
//! The rows are whitened by S + D, where S has the eigenvalues s. So a singular S or D is no special case, and
//! nothing depends on the units of the columns or on the coordinates of the rows. Directions in which neither sum
//! has an entry above rounding are left out: they have weight 0.

use faer::{Mat, MatRef};
use mahala::data::{ColumnStatistics, Dataset, Rows};
use mahala::error::{Error, Result};
use mahala::learner::{Learned, Report, Training};
use mahala::metric::Metric;
use mahala::pairs::Pairs;
use mahala::scatter::{Scatter, check_labels};
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde_json::{Value, json};

/// Shares of S below this are rounding: S is singular in that direction.
pub(crate) const SINGULAR: f64 = 1e-10;

/// The shrinkage of a singular S for which none was given.
const REPAIR: f64 = 0.1;

/// Rows around their means, in units of their columns' standard deviations.
#[derive(Clone)]
pub(crate) struct Standardized {
    pub(crate) rows: Rows,
    mean: Vec<f64>,
    scale: Vec<f64>,
}

/// The directions of a pencil, by ascending share of S.
pub(crate) struct Pencil {
    /// One direction a column.
    pub(crate) directions: Mat<f64>,
    pub(crate) shares: Vec<f64>,
}

impl Standardized {
    /// # Errors
    /// No row, or no column that varies.
    pub(crate) fn of(rows: &Rows) -> Result<Self> {
        let ColumnStatistics { mean, scale, .. } = ColumnStatistics::of(rows);
        Self::in_units(rows, mean, scale)
    }

    /// Rows around their means, in their own units.
    ///
    /// # Errors
    /// No row, or no column that varies.
    pub(crate) fn centred(rows: &Rows) -> Result<Self> {
        Self::in_units(rows, ColumnStatistics::of(rows).mean, vec![1.0; rows.columns()])
    }

    fn in_units(rows: &Rows, mean: Vec<f64>, scale: Vec<f64>) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::Empty { what: "the table of rows" });
        }
        let columns = rows.columns();
        // Divided first: the difference of two cells near 1e308 would overflow.
        let cell = |(at, x): (usize, &f64)| {
            let j = at % columns;
            if x == &mean[j] { 0.0 } else { x / scale[j] - mean[j] / scale[j] }
        };
        let values: Vec<f64> = rows.values().iter().enumerate().map(cell).collect();
        if rows.values().chunks_exact(columns).all(|row| row == rows.row(0)) {
            return Err(Error::AllConstant { columns });
        }
        let rows =
            Rows::new(values, columns).map_err(|_| Error::OutOfRange { what: "a standardised cell" })?;
        Ok(Self { rows, mean, scale })
    }

    /// The metric of the rows of `components`, which apply to standardised rows.
    pub(crate) fn learned(self, components: Mat<f64>, choice: Option<Value>) -> Result<Learned> {
        // Without a direction of positive weight A is 0.
        let d = self.mean.len();
        let components = if components.nrows() == 0 { Mat::zeros(1, d) } else { components };
        let metric = Metric::computed(components, self.mean, Some(self.scale))?;
        Ok(Learned::new(metric, Report { choice, ..Report::closed_form() }))
    }

    /// The means of `vvᵀ` over similar and over dissimilar pairs: those given, or all pairs of labelled rows.
    pub(crate) fn pair_means(&self, training: &Training<'_>, method: &'static str) -> Result<[Mat<f64>; 2]> {
        let scatter = match training {
            Training::Labelled(data) | Training::Grouped(data, _) => {
                check_labels(data.labels())?;
                Scatter::all_pairs_of(&Dataset::new(self.rows.clone(), data.labels().clone())?)?.0
            }
            _ => {
                let pairs = training.pairs(method, 0)?;
                // A row paired with itself is no observation of a difference.
                let list = pairs.as_slice();
                let proper: Vec<usize> =
                    (0..list.len()).filter(|&i| list[i].first != list[i].second).collect();
                Scatter::from_pairs(&self.rows, &pairs.subset(&proper))?
            }
        };
        Ok(means(&scatter))
    }

    /// The means of `vvᵀ` over the similar and over the dissimilar of these pairs.
    pub(crate) fn means_over(&self, pairs: &Pairs) -> Result<[Mat<f64>; 2]> {
        Ok(means(&Scatter::from_pairs(&self.rows, pairs)?))
    }
}

fn means(scatter: &Scatter) -> [Mat<f64>; 2] {
    let over = |sum: MatRef<'_, f64>, weight: f64| {
        Mat::from_fn(sum.nrows(), sum.ncols(), |i, j| sum[(i, j)] / weight)
    };
    [over(scatter.s(), scatter.similar().weight), over(scatter.d(), scatter.dissimilar().weight)]
}

impl Pencil {
    /// The pencil of S and D, summed over this many rows; S and S + D are positive semidefinite.
    ///
    /// # Errors
    /// Both are 0, or no convergence.
    pub(crate) fn of(s: MatRef<'_, f64>, d: MatRef<'_, f64>, rows: usize) -> Result<Self> {
        let columns = s.nrows();
        let sum = Mat::from_fn(columns, columns, |i, j| s[(i, j)] + d[(i, j)]);
        let e = eigen(sum.as_ref(), "S + D", &mut Workspace::default())?;
        let floor = rows.max(columns) as f64 * f64::EPSILON * e.values[columns - 1];
        let kept: Vec<usize> = (0..columns).rev().filter(|&k| e.values[k] > floor).collect();
        if kept.is_empty() {
            return Err(Error::AllConstant { columns });
        }
        let whitening =
            Mat::from_fn(columns, kept.len(), |i, k| e.vectors[(i, kept[k])] / e.values[kept[k]].sqrt());
        let inner = product(whitening.transpose(), product(s, whitening.as_ref()).as_ref());
        let e = eigen(inner.as_ref(), "S, whitened by S + D", &mut Workspace::default())?;
        let shares = e.values.iter().map(|s| s.max(0.0)).collect();
        Ok(Self { directions: product(whitening.as_ref(), e.vectors.as_ref()), shares })
    }

    /// The shrinkage given; or none, and [`REPAIR`] if S is singular, with the report of that choice.
    pub(crate) fn shrinkage(&self, given: Option<f64>) -> (f64, Option<Value>) {
        let singular = self.shares.iter().any(|&s| s < SINGULAR);
        match given {
            Some(shrinkage) => (shrinkage, None),
            None if singular => (REPAIR, Some(json!({"shrinkage": REPAIR}))),
            None => (0.0, None),
        }
    }

    /// The components `√weight·vᵀ` of these directions, in this order; those without a weight above 0 are left
    /// out.
    pub(crate) fn components(
        &self,
        chosen: impl Iterator<Item = usize>,
        weight: impl Fn(f64) -> f64,
    ) -> Mat<f64> {
        let weighed: Vec<(usize, f64)> =
            chosen.map(|k| (k, weight(self.shares[k]))).filter(|(_, w)| *w > 0.0).collect();
        Mat::from_fn(weighed.len(), self.directions.nrows(), |i, j| {
            weighed[i].1.sqrt() * self.directions[(j, weighed[i].0)]
        })
    }
}

/// Refuses a rank of 0 or above the number of columns; all directions if none is given.
pub(crate) fn checked_rank(rank: Option<usize>, columns: usize) -> Result<usize> {
    let rank = rank.unwrap_or(columns);
    if (1..=columns).contains(&rank) {
        return Ok(rank);
    }
    let allowed = "at least 1 and at most the number of columns";
    Err(Error::Parameter { name: "rank", value: rank.to_string(), allowed })
}

/// Refuses a shrinkage outside [0, 1].
pub(crate) fn check_shrinkage(shrinkage: Option<f64>) -> Result<()> {
    match shrinkage {
        Some(s) if !(0.0..=1.0).contains(&s) => {
            Err(Error::Parameter { name: "shrinkage", value: s.to_string(), allowed: "between 0 and 1" })
        }
        _ => Ok(()),
    }
}

/// The means of centred outer products: within the groups over their rows, and of all rows over all rows.
/// Rows without a group count in the second only.
pub(crate) fn within_and_total(rows: &Rows, groups: &[Option<u32>], count: usize) -> [Mat<f64>; 2] {
    let d = rows.columns();
    let mut sizes = vec![0.0; count];
    groups.iter().flatten().for_each(|&group| sizes[group as usize] += 1.0);
    let mut means = vec![0.0; count * d];
    let mut mean = vec![0.0; d];
    for (i, group) in groups.iter().enumerate() {
        mean.iter_mut().zip(rows.row(i)).for_each(|(m, x)| *m += x / rows.len() as f64);
        if let Some(group) = *group {
            let of_group = &mut means[group as usize * d..][..d];
            of_group.iter_mut().zip(rows.row(i)).for_each(|(m, x)| *m += x / sizes[group as usize]);
        }
    }
    let members: Vec<(usize, usize)> =
        groups.iter().enumerate().filter_map(|(i, group)| group.map(|group| (i, group as usize))).collect();
    let within = Mat::from_fn(members.len(), d, |k, j| {
        let (i, group) = members[k];
        rows.row(i)[j] - means[group * d + j]
    });
    let total = Mat::from_fn(rows.len(), d, |i, j| rows.row(i)[j] - mean[j]);
    [within, total].map(|centred| {
        let sum = product(centred.transpose(), centred.as_ref());
        let n = centred.nrows().max(1) as f64;
        Mat::from_fn(d, d, |i, j| 0.5 * (sum[(i, j)] + sum[(j, i)]) / n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    #[test]
    fn the_directions_diagonalise_both_matrices() {
        let mut random = Random::new(1, 0);
        let mut gram = |rank: usize| {
            let x = Mat::from_fn(rank, 4, |_, _| random.uniform() - 0.5);
            product(x.transpose(), x.as_ref())
        };
        // S is singular, S + D is not.
        let (s, d) = (gram(2), gram(6));
        let pencil = Pencil::of(s.as_ref(), d.as_ref(), 8).unwrap();
        let v = &pencil.directions;
        let (s, d) = (v.transpose() * &s * v, v.transpose() * &d * v);
        for i in 0..4 {
            for j in 0..4 {
                let share = if i == j { pencil.shares[i] } else { 0.0 };
                let rest = if i == j { 1.0 - share } else { 0.0 };
                assert!((s[(i, j)] - share).abs() < 1e-12 && (d[(i, j)] - rest).abs() < 1e-12);
            }
        }
        assert!(pencil.shares[0] < SINGULAR && pencil.shares.is_sorted());
        assert_eq!(pencil.shrinkage(None).0, REPAIR);
        assert_eq!(pencil.shrinkage(Some(0.3)), (0.3, None));
    }
}
