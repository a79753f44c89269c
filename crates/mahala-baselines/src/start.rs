//! Initial values of the linear map `L`.

use crate::labelled::Labelled;
use faer::Mat;
use mahala::error::{Error, Result};
use mahala::learner::SpanRule;
use mahala_kernels::blas::product;
use mahala_kernels::eigen::eigen;
use mahala_kernels::workspace::Workspace;
use serde::{Deserialize, Serialize};

/// The first `L`, `r × d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// scikit-learn's rule: [`Start::Lda`] if the rank is below the number of classes, else [`Start::Pca`] if
    /// it is below those of columns and rows, else [`Start::Identity`]. Where rows vary within classes in fewer
    /// directions than the rank, [`Start::Pca`] instead of [`Start::Lda`].
    #[default]
    Auto,
    /// The first `r` rows of the identity.
    Identity,
    /// The first `r` principal axes, of length 1; at full rank the Euclidean metric, rotated.
    Pca,
    /// The first `r` discriminant directions, in units of the deviation within classes; `r` below the
    /// number of classes.
    Lda,
}

impl Start {
    /// `L` for these rows.
    pub(crate) fn components(self, data: &Labelled, rank: usize) -> Result<Mat<f64>> {
        let d = data.columns();
        match self {
            Self::Auto => match Self::resolved(data, rank) {
                Self::Lda => discriminants(data, rank).or_else(|_| Self::Pca.components(data, rank)),
                start => start.components(data, rank),
            },
            Self::Identity => Ok(Mat::identity(rank, d)),
            Self::Pca => {
                let axes = eigen(data.total_scatter().as_ref(), "the covariance", &mut Workspace::default())?;
                Ok(Mat::from_fn(rank, d, |i, j| axes.vectors[(j, d - 1 - i)]))
            }
            Self::Lda => discriminants(data, rank),
        }
    }

    /// Whether a metric of this rank lies in the span of the rows: all initial values but the identity do, and
    /// gradients.
    pub(crate) fn span(self, rank: Option<usize>) -> Option<SpanRule> {
        let rule = rank.map(|rank| SpanRule { standardize: false, directions: rank });
        rule.filter(|_| self != Self::Identity)
    }

    fn resolved(data: &Labelled, rank: usize) -> Self {
        if rank < data.classes_present() {
            Self::Lda
        } else if rank < data.columns().min(data.len()) {
            Self::Pca
        } else {
            Self::Identity
        }
    }
}

/// The leading solutions of `B·v = λ·W·v` with `vᵀWv = 1`: `W` is the covariance within classes, `B` that of
/// their means. Directions in which no class varies are left out.
fn discriminants(data: &Labelled, rank: usize) -> Result<Mat<f64>> {
    let (d, c) = (data.columns(), data.classes_present());
    if rank >= c {
        let allowed = "pca or identity: lda has fewer directions than there are classes";
        return Err(Error::Parameter { name: "start", value: format!("lda, with rank {rank}"), allowed });
    }
    let freedom = data.len().saturating_sub(c).max(1) as f64;
    let within = data.within_scatter(|_| 1.0);
    let e = eigen(within.as_ref(), "the covariance within classes", &mut Workspace::default())?;
    let floor = e.values[d - 1] * d as f64 * f64::EPSILON;
    let kept: Vec<usize> = (0..d).filter(|&k| e.values[k] > floor).collect();
    if kept.len() < rank {
        return Err(Error::Parameter {
            name: "start",
            value: format!("lda, with rank {rank}"),
            allowed: "pca or identity: rows of one class vary in fewer directions",
        });
    }
    let whitening =
        Mat::from_fn(d, kept.len(), |i, k| e.vectors[(i, kept[k])] / (e.values[kept[k]] / freedom).sqrt());
    let total = data.total_scatter();
    let between = Mat::from_fn(d, d, |i, j| total[(i, j)] - within[(i, j)]);
    let inner = product(whitening.transpose(), product(between.as_ref(), whitening.as_ref()).as_ref());
    let axes = eigen(inner.as_ref(), "the covariance between classes", &mut Workspace::default())?;
    let leading = Mat::from_fn(kept.len(), rank, |i, k| axes.vectors[(i, kept.len() - 1 - k)]);
    Ok(product(whitening.as_ref(), leading.as_ref()).transpose().to_owned())
}
