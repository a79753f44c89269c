//! Kernel GMML: metric learning in the feature space of a kernel.
//!
//! # Formula
//! That of more features than rows ([`crate::gmml::low_rank`]), with kernel values in place of inner products:
//! ```text
//! K_c = (I − 11ᵀ/n)·K·(I − 11ᵀ/n) = U Σ² Uᵀ,     rows become UΣ,     ordinary GMML gives M
//! z(x) = M Σ⁻¹ Uᵀ · (k(x) − k̄),     k(x) = (k(x, x₁), …, k(x, x_n))
//! ```
//! So a kernel metric is a [`Metric`] on lists of kernel values. Under the linear kernel it is linear GMML.
//!
//! With many rows, k(x) is taken with some of them only (Nyström): learning happens inside the span of these
//! landmarks, and the diagnostics report the share of the rows outside.

use crate::data::centered::centre_gram;
use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Rows};
use crate::error::{Error, MemoryRemedy, Result};
use crate::gmml::low_rank::{LearnedSpan, orthogonal};
use crate::gmml::regularize::{Prior, Regularization};
use crate::gmml::span::Span;
use crate::gmml::{Diagnostics, FitOptions, Gmml};
use crate::kernel::nystrom::{Features, draw_landmarks, metric_on_values};
use crate::kernel::{Kernel, KernelMap};
use crate::kernel::{check_parts, transform};
use crate::metric::Metric;
use crate::pairs::{Pair, Pairs};
use crate::progress::{Progress, silent};
use faer::{Mat, MatRef};

/// The parameters of a fit in the feature space of a kernel.
///
/// ```
/// use mahala::{Dataset, Gmml, Labels, Rows};
/// use mahala::gmml::TChoice;
/// use mahala::kernel::{Kernel, KernelGmml};
/// // The middle against both sides: not linearly separable.
/// let rows = Rows::new(vec![-5.0, -4.0, 4.0, 5.0, -0.5, 0.0, 0.5], 1)?;
/// let data = Dataset::new(rows, Labels::new(["out", "out", "out", "out", "in", "in", "in"]))?;
/// let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
/// let fit = KernelGmml { gmml, kernel: Kernel::Rbf { gamma: 0.1 }, landmarks: None }.fit(&data)?;
/// let distance = |x: f64, y: f64| fit.metric.squared_distance(&[x], &[y]);
/// assert!(distance(-5.0, 5.0)? < distance(-5.0, 0.0)?);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KernelGmml {
    /// How the metric is learned. λ takes the identity for prior; shrinkage is towards the diagonal in the
    /// principal axes of feature space.
    pub gmml: Gmml,
    /// The kernel.
    pub kernel: Kernel,
    /// Take the kernel with so many rows, drawn at random; all rows if there are at most 5,000, else 1,000.
    pub landmarks: Option<usize>,
}

/// A metric in the feature space of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelMetric {
    map: KernelMap,
    metric: Metric,
}

/// A fitted kernel metric with its diagnostics.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KernelFit {
    /// The metric.
    pub metric: KernelMetric,
    /// The t it was made with.
    pub t: f64,
    /// The diagnostics of the fit.
    pub diagnostics: Diagnostics,
}

/// Up to this many rows the kernel is taken with all of them.
const ALL: usize = 5_000;
/// The number of landmarks for more rows.
const LANDMARKS: usize = 1_000;
impl KernelGmml {
    /// Learns from rows and labels; if the kernel is precomputed, row i holds its values with all rows.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; a kernel with parameters out of range, or not positive semidefinite.
    pub fn fit(&self, data: &Dataset) -> Result<KernelFit> {
        self.fit_with(data, &FitOptions::default(), &mut silent)
    }

    /// Learns from rows and labels, with weights and groups of rows if they are given, as [`Gmml::fit_with`] does.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed; a kernel with parameters out of range, or not positive semidefinite;
    /// weights that are negative, not finite, all 0, or not one a row; weights with sampled pairs or standardisation;
    /// another number of groups than of rows; [`Error::Cancelled`] if `progress` stops it.
    pub fn fit_with(
        &self,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<KernelFit> {
        self.check(data)?;
        self.fit_checked(data, options, progress).map_err(|error| self.flat(error, data))
    }

    fn fit_checked(
        &self,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<KernelFit> {
        let n = data.len();
        let default = if n <= ALL { n } else { LANDMARKS };
        let landmarks = self.landmarks.unwrap_or(default).min(n);
        let scale = self.gmml.standardize.then(|| ColumnStatistics::of(data.rows()).scale);
        let (m, table) = (landmarks as f64, 3.0 * n as f64 + data.columns() as f64);
        self.gmml.check_memory(
            "the kernel",
            m * (20.0 * m + table),
            data.columns(),
            MemoryRemedy::Landmarks,
        )?;
        if self.kernel == Kernel::Precomputed {
            let map = KernelMap::new(self.kernel, None, None)?;
            return self.fit_exactly(map, data.rows(), data, options, progress);
        }
        if landmarks == n {
            let map = KernelMap::with_landmarks(self.kernel, data.rows(), scale)?;
            let values = map.values(data.rows())?;
            self.fit_exactly(map, &values, data, options, progress)
        } else {
            let drawn = draw_landmarks(data.rows(), landmarks, self.gmml.seed);
            self.fit_by_landmarks(Features::of(self.kernel, &drawn, scale)?, data, options, progress)
        }
    }

    /// The reason why no kernel value differs from another: equal rows, or a gamma that makes all rows look
    /// equal.
    fn flat(&self, error: Error, data: &Dataset) -> Error {
        let equal = (1..data.len()).all(|i| data.rows().row(i) == data.rows().row(0));
        match (error, self.kernel) {
            (Error::AllConstant { .. }, Kernel::Rbf { gamma } | Kernel::Polynomial { gamma, .. })
                if !equal =>
            {
                let allowed = "so large that the kernel values of different rows differ";
                Error::Parameter { name: "gamma", value: format!("{gamma:e}"), allowed }
            }
            (Error::AllConstant { .. }, _) => Error::AllConstant { columns: data.columns() },
            (other, _) => other,
        }
    }

    /// Learns with the kernel matrix of all rows.
    fn fit_exactly(
        &self,
        map: KernelMap,
        values: &Rows,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<KernelFit> {
        let mut gram = values.as_mat().to_owned();
        let means = centre_gram(&mut gram);
        let span = Span::of_gram(gram.as_ref(), "the kernel")?;
        drop(gram);
        self.learn(map, &span, means, (span.coordinates(0)?, 0.0), (data, options), progress)
    }

    /// Learns with the kernel matrix of all rows and the landmarks.
    fn fit_by_landmarks(
        &self,
        features: Features,
        data: &Dataset,
        options: &FitOptions<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<KernelFit> {
        let rows = features.rows(data.rows())?;
        let all: f64 = features.map.squared_lengths(data.rows()).iter().sum();
        let inside: f64 = rows.values().iter().map(|z| z * z).sum();
        let outside = (1.0 - inside / all).clamp(0.0, 1.0);
        let Features { map, span, means, .. } = features;
        self.learn(map, &span, means, (rows, outside), (data, options), progress)
    }

    fn learn(
        &self,
        map: KernelMap,
        span: &Span,
        means: Vec<f64>,
        (coordinates, outside): (Rows, f64),
        (data, options): (&Dataset, &FitOptions<'_>),
        progress: &mut Progress<'_>,
    ) -> Result<KernelFit> {
        let gmml = Gmml { standardize: false, ..self.gmml.clone() };
        let exact = map.landmarks().is_none_or(|rows| rows.len() == data.len());
        let fit = gmml.fit_with(&Dataset::new(coordinates, data.labels().clone())?, options, progress)?;
        let (m, weight) = match gmml.regularization {
            Regularization::Lambda(lambda) if lambda > 0.0 && exact && gmml.rank.is_none() => {
                (orthogonal(fit.metric.components())?, Some(lambda.powf(2.0 * fit.t - 1.0)))
            }
            _ => (fit.metric.components().to_owned(), None),
        };
        let lengths = (0..m.nrows()).map(|i| m.row(i).iter().map(|x| x * x).sum()).collect();
        let mut components = span.combination(m.as_ref());
        if exact {
            sum_to_zero(&mut components);
        }
        let metric = metric_on_values(components, means)?;
        let map = match weight {
            Some(weight) => map.with_weight_outside(weight, lengths)?,
            None => map,
        };
        let learned = LearnedSpan { directions: span.rank(), randomized: !exact, outside };
        let diagnostics = Diagnostics { span: Some(learned), ..fit.diagnostics };
        Ok(KernelFit { metric: KernelMetric { map, metric }, t: fit.t, diagnostics })
    }

    fn check(&self, data: &Dataset) -> Result<()> {
        let wrong = |name, value: &str, allowed| Err(Error::Parameter { name, value: value.into(), allowed });
        // There are as many directions as rows, at most.
        self.gmml.check_parameters(data.len())?;
        if self.landmarks == Some(0) {
            return wrong("landmarks", "0", "at least 1");
        }
        if self.gmml.principal.is_some() {
            return wrong("principal", "given", "left out with a kernel; landmarks limit the work instead");
        }
        let lambda = matches!(self.gmml.regularization, Regularization::Lambda(x) if x != 0.0);
        if lambda && !matches!(self.gmml.prior, Prior::Identity) {
            return wrong("prior", "given", "the identity with a kernel");
        }
        if self.kernel != Kernel::Precomputed {
            return Ok(());
        }
        if self.landmarks.is_some() || self.gmml.standardize {
            let value = "landmarks or standardisation";
            return wrong("kernel", value, "given with rows, not with kernel values");
        }
        check_symmetric(data.rows())
    }
}

impl KernelMetric {
    /// Joins the map to kernel values and the metric on those.
    ///
    /// # Errors
    /// A metric that does not fit the landmarks, or the lengths of its components outside.
    pub fn new(map: KernelMap, metric: Metric) -> Result<Self> {
        check_parts(&map, &metric)?;
        Ok(Self { map, metric })
    }

    /// The map from rows to kernel values.
    pub fn map(&self) -> &KernelMap {
        &self.map
    }

    /// The metric on lists of kernel values.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Map and metric, of which [`KernelMetric::new`] makes this again.
    pub fn into_parts(self) -> (KernelMap, Metric) {
        (self.map, self.metric)
    }

    /// The number of columns of the rows it measures.
    pub fn columns(&self) -> usize {
        self.map.landmarks().map_or(self.metric.columns(), Rows::columns)
    }

    /// Rows in coordinates where the metric is Euclidean. Learned with λ > 0, the metric also has a part
    /// outside, which these coordinates leave out; it changes no neighbour among the rows learned on.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform(&self, rows: &Rows) -> Result<Rows> {
        transform(Some(&self.map), &self.metric, rows)
    }

    /// `d_A`, the squared distance in feature space, with the part outside the span learned in.
    ///
    /// # Errors
    /// Rows with other columns; a result that is not finite.
    pub fn squared_distance(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        let z = self.transform(&Rows::new([x, y].concat(), x.len().max(1))?)?;
        if z.len() != 2 {
            return Err(Error::Length { what: "cells of a row", seen: y.len(), expected: x.len() });
        }
        self.squared_between([x, y], [z.row(0), z.row(1)])
    }

    /// The squared distances of pairs, the first ends in one table and the second in another.
    ///
    /// # Errors
    /// A pair that names no row, rows with other columns, or a distance outside the range of 64-bit numbers.
    pub fn squared_pair_distances(&self, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
        pairs.check(first.len(), second.len())?;
        let (from, to) = (self.transform(first)?, self.transform(second)?);
        let squared = |pair: &Pair| {
            let (i, j) = (pair.first, pair.second);
            self.squared_between([first.row(i), second.row(j)], [from.row(i), to.row(j)])
        };
        pairs.as_slice().iter().map(squared).collect()
    }

    /// `d_A` of two rows and their coordinates.
    fn squared_between(&self, [x, y]: [&[f64]; 2], z: [&[f64]; 2]) -> Result<f64> {
        let z: Vec<f64> = z[0].iter().zip(z[1]).map(|(a, b)| a - b).collect();
        let inside: f64 = z.iter().map(|z| z * z).sum();
        let outside = match (self.map.outside(), self.map.squared_distance(x, y)) {
            (Some((weight, lengths)), Some(all)) => {
                let lengths = z.iter().zip(lengths).filter(|(_, length)| **length > 0.0);
                weight * (all - lengths.map(|(z, length)| z * z / length).sum::<f64>()).max(0.0)
            }
            _ => 0.0,
        };
        let squared = inside + outside;
        if squared.is_finite() { Ok(squared) } else { Err(Error::OutOfRange { what: "the distance" }) }
    }
}

/// Removes from the components what rounding left of a common shift of all kernel values.
fn sum_to_zero(components: &mut Mat<f64>) {
    let n = components.ncols();
    let means: Vec<f64> =
        (0..components.nrows()).map(|i| sum_of_row(components.as_ref(), i) / n as f64).collect();
    for j in 0..n {
        components.as_mut().col_mut(j).iter_mut().zip(&means).for_each(|(x, m)| *x -= m);
    }
}

fn sum_of_row(matrix: MatRef<'_, f64>, i: usize) -> f64 {
    matrix.row(i).iter().sum()
}

fn check_symmetric(kernel: &Rows) -> Result<()> {
    let (rows, columns) = (kernel.len(), kernel.columns());
    if rows != columns {
        return Err(Error::NotSquare { what: "the kernel", rows, columns });
    }
    let k = kernel.as_mat();
    let size = (0..rows).map(|i| k[(i, i)].abs()).fold(0.0, f64::max);
    for row in 0..rows {
        for column in 0..row {
            let (lower, upper) = (k[(row, column)], k[(column, row)]);
            if (lower - upper).abs() > 1e-8 * size {
                return Err(Error::NotSymmetric { what: "the kernel", row, column, upper, lower });
            }
        }
    }
    Ok(())
}
