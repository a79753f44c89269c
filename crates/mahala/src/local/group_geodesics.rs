//! Geodesics from the global metric to each group's own: one factorisation serves every s.

use crate::error::{Error, Result};
use crate::geometry::geodesic::Geodesic;
use crate::geometry::spd::Spd;
use crate::local::maps::LocalMaps;
use crate::metric::Metric;
use faer::Mat;
use mahala_kernels::blas::{product, weighted_gram};

/// The geodesics from the global metric to each group's; None for a group with nothing to learn from.
pub(super) struct GroupGeodesics {
    /// In the coordinates of the global metric: directions, and log Λ of mean 0.
    pub(super) to_groups: Vec<Option<(Mat<f64>, Vec<f64>)>>,
    pub(super) groups: Vec<u32>,
    pub(super) rank: usize,
}

impl GroupGeodesics {
    /// The maps at s: `Λ^{s/2}Qᵀ`; the identity at s = 0.
    pub(super) fn at(&self, share: f64) -> LocalMaps {
        let map = |path: &Option<(Mat<f64>, Vec<f64>)>| match path {
            Some((q, log)) if share > 0.0 => {
                Mat::from_fn(self.rank, self.rank, |i, j| (0.5 * share * log[i]).exp() * q[(i, j)])
            }
            _ => Mat::identity(self.rank, self.rank),
        };
        LocalMaps { maps: self.to_groups.iter().map(map).collect(), groups: self.groups.clone() }
    }
}

/// The coordinates of the global metric on the columns that vary, in which geodesics to others are computed.
///
/// Where columns depend on others the metric has fewer coordinates z = Lx than columns. Then geodesics are
/// computed in those coordinates, where it is the identity: rows do not vary in any other direction.
pub(super) struct GlobalCoordinates {
    active: Vec<usize>,
    a: Spd,
    /// `L⁻¹ = A⁻¹Lᵀ`; the identity where coordinates are used.
    inverse: Mat<f64>,
    /// `L⁺ = Lᵀ(LLᵀ)⁻¹`, from coordinates back to columns, if they are fewer.
    back: Option<Mat<f64>>,
}

impl GlobalCoordinates {
    pub(super) fn new(metric: &Metric) -> Result<Self> {
        let l = metric.components();
        let active: Vec<usize> = (0..l.ncols()).filter(|&j| l.col(j).iter().any(|x| *x != 0.0)).collect();
        let l = Mat::from_fn(l.nrows(), active.len(), |i, j| l[(i, active[j])]);
        let r = l.nrows();
        if r < active.len() {
            let products = Spd::named(weighted_gram(l.as_ref(), &vec![1.0; l.ncols()]), "the global metric")?;
            let back = product(l.transpose(), products.inverse()?.as_mat());
            return Ok(Self { active, a: Spd::identity(r), inverse: Mat::identity(r, r), back: Some(back) });
        }
        let a = Spd::named(weighted_gram(l.transpose(), &vec![1.0; l.nrows()]), "the global metric")?;
        let inverse = product(a.inverse()?.as_mat(), l.transpose());
        Ok(Self { active, a, inverse, back: None })
    }

    /// The geodesic to another metric, in the coordinates of this one; None if that is singular here.
    pub(super) fn path_to(&self, own: &Metric) -> Result<Option<(Mat<f64>, Vec<f64>)>> {
        let l = own.components();
        let l = Mat::from_fn(l.nrows(), self.active.len(), |i, j| l[(i, self.active[j])]);
        let l = self.back.as_ref().map_or_else(|| l.clone(), |back| product(l.as_ref(), back.as_ref()));
        let own = match Spd::named(weighted_gram(l.transpose(), &vec![1.0; l.nrows()]), "a local metric") {
            Ok(own) => own,
            // A column does not vary in this group: there is nothing to learn about it.
            Err(Error::NotPositiveDefinite { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let path = Geodesic::between(&self.a, &own)?;
        let mean = path.log_eigenvalues().iter().sum::<f64>() / path.log_eigenvalues().len() as f64;
        let log = path.log_eigenvalues().iter().map(|log| log - mean).collect();
        Ok(Some((product(path.directions().transpose(), self.inverse.as_ref()), log)))
    }
}
