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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// These `r` rows of one number a column.
    Given(Vec<Vec<f64>>),
}

impl Start {
    /// `L` for these rows.
    pub(crate) fn components(&self, data: &Labelled, rank: usize) -> Result<Mat<f64>> {
        let d = data.columns();
        match self {
            Self::Given(rows) => matrix_of("start", rows, rank, d),
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

    /// Whether a metric of this rank lies in the span of the rows: all initial values but the identity and given
    /// rows do, and gradients.
    pub(crate) fn span(&self, rank: Option<usize>) -> Option<SpanRule> {
        let rule = rank.map(|rank| SpanRule { standardize: false, directions: rank });
        rule.filter(|_| !matches!(self, Self::Identity | Self::Given(_)))
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

/// A matrix given as a list of rows.
///
/// # Errors
/// Another shape, or a cell that is not finite.
pub(crate) fn matrix_of(name: &'static str, rows: &[Vec<f64>], r: usize, d: usize) -> Result<Mat<f64>> {
    let short = rows.iter().find(|row| row.len() != d);
    if rows.len() != r || short.is_some() {
        let columns = short.map_or(d, Vec::len);
        let value = format!("{} rows of {columns} numbers, where {r} of {d} are needed", rows.len());
        let allowed = "a matrix with a row for each component and a number for each column";
        return Err(Error::Parameter { name, value, allowed });
    }
    if let Some(value) = rows.iter().flatten().find(|x| !x.is_finite()) {
        return Err(Error::Parameter { name, value: value.to_string(), allowed: "finite numbers" });
    }
    Ok(Mat::from_fn(r, d, |i, j| rows[i][j]))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mlkr, Nca};
    use mahala::data::Random;
    use mahala::learner::{Learner, Training};
    use mahala::progress::silent;
    use mahala::{Dataset, Labels, Rows};

    fn rows() -> Rows {
        let mut random = Random::new(3, 0);
        Rows::new((0..90).map(|_| random.uniform()).collect(), 3).unwrap()
    }

    #[test]
    fn given_rows_are_where_learning_starts() {
        let rows = rows();
        let labels = Labels::new((0..30).map(|i| ["a", "b", "c"][i % 3]));
        let data = Dataset::new(rows.clone(), labels).unwrap();
        let identity = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0]];
        let matrix = |start: Start| {
            let nca = Nca { rank: Some(2), start, max_iterations: 3, ..Nca::default() };
            nca.learn(&Training::Labelled(&data), &mut silent).unwrap().metric.matrix().unwrap()
        };
        assert_eq!(matrix(Start::Given(identity.clone())), matrix(Start::Identity));
        assert_ne!(matrix(Start::Given(identity)), matrix(Start::Pca));
        let targets: Vec<f64> = (0..30).map(|i| rows.row(i)[1]).collect();
        let regression = |start: Start| {
            let mlkr = Mlkr { start, max_iterations: 3, standardize: false, ..Mlkr::default() };
            mlkr.learn(&Training::Targets(&rows, &targets), &mut silent)
        };
        let square: Vec<Vec<f64>> =
            (0..3).map(|i| (0..3).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let given = regression(Start::Given(square)).unwrap().metric.matrix().unwrap();
        assert_eq!(given, regression(Start::Identity).unwrap().metric.matrix().unwrap());
        let told = regression(Start::Lda).err().unwrap().to_string();
        assert!(told.contains("need classes"), "{told}");
    }

    #[test]
    fn a_given_start_has_a_number_for_every_column_also_with_few_rows() {
        let mut random = Random::new(4, 0);
        let rows = Rows::new((0..44).map(|_| random.uniform()).collect(), 11).unwrap();
        let targets = [0.0, 1.0, 3.0, 2.0];
        let given = (0..2).map(|i| (0..11).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let start = Start::Given(given);
        let mlkr = Mlkr { rank: Some(2), start, standardize: false, ..Mlkr::default() };
        let learned = mlkr.learn(&Training::Targets(&rows, &targets), &mut silent).unwrap();
        assert_eq!(learned.metric.map().shape(), (2, 11));
    }

    #[test]
    fn a_start_of_another_shape_is_refused_with_both_shapes() {
        let told = matrix_of("start", &[vec![1.0, 2.0]], 2, 3).unwrap_err().to_string();
        assert!(told.contains("1 rows of 2 numbers, where 2 of 3 are needed"), "{told}");
        let told = matrix_of("start", &[vec![f64::NAN]], 1, 1).unwrap_err().to_string();
        assert!(told.contains("NaN") && told.contains("finite"), "{told}");
    }
}
