//! Kernel functions: inner products in a feature space, and rows as their kernel values with landmarks.

pub(crate) mod gmml;
pub(crate) mod nystrom;

pub use gmml::{KernelFit, KernelGmml, KernelMetric};

use crate::data::Rows;
use crate::data::column_stats::ColumnStatistics;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::metric::{both_scales, project};
use serde_json::{Value, json};

/// An inner product of rows in some feature space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// `xᵀy`: the space of the rows itself.
    Linear,
    /// `exp(−γ‖x − y‖²)`
    Rbf {
        /// How fast likeness falls with distance.
        gamma: f64,
    },
    /// `(γ·xᵀy + c)^degree`
    Polynomial {
        /// The power.
        degree: u32,
        /// The weight of the product.
        gamma: f64,
        /// `c`, the weight of lower powers.
        coef0: f64,
    },
    /// Rows are kernel values already: one column for each row that was learned on.
    Precomputed,
}

impl Kernel {
    /// A γ that suits the rows: one over the number of columns times the variance of all cells.
    pub fn gamma_for(rows: &Rows) -> f64 {
        let cells = rows.values();
        let mean = cells.iter().map(|x| x / cells.len() as f64).sum::<f64>();
        let variance = cells.iter().map(|x| (x - mean).powi(2) / cells.len() as f64).sum::<f64>();
        let gamma = 1.0 / (rows.columns() as f64 * variance);
        if gamma.is_finite() && gamma > 0.0 { gamma } else { 1.0 }
    }

    fn check(self) -> Result<()> {
        let (gamma, coef0, degree) = match self {
            Self::Linear | Self::Precomputed => return Ok(()),
            Self::Rbf { gamma } => (gamma, 0.0, 1),
            Self::Polynomial { degree, gamma, coef0 } => (gamma, coef0, degree),
        };
        let wrong = |name, value: String, allowed| Err(Error::Parameter { name, value, allowed });
        if !(gamma.is_finite() && gamma > 0.0) {
            return wrong("gamma", gamma.to_string(), "finite and above 0");
        }
        if !(coef0.is_finite() && coef0 >= 0.0) {
            return wrong("coef0", coef0.to_string(), "finite and at least 0");
        }
        if degree == 0 {
            return wrong("degree", degree.to_string(), "at least 1");
        }
        Ok(())
    }

    /// The kernel from `xᵀy`, `‖x‖²` and `‖y‖²` (of rows around a common point, for RBF).
    fn of_product(self, product: f64, x: f64, y: f64) -> f64 {
        match self {
            Self::Linear | Self::Precomputed => product,
            Self::Rbf { gamma } => (-gamma * (x + y - 2.0 * product).max(0.0)).exp(),
            Self::Polynomial { degree, gamma, coef0 } => {
                (gamma * product + coef0).powi(i32::try_from(degree).unwrap_or(i32::MAX))
            }
        }
    }
}

/// Rows to the list of their kernel values with given rows, the landmarks.
///
/// ```
/// use mahala::Rows;
/// use mahala::kernel::{Kernel, KernelMap};
/// let landmarks = Rows::new(vec![0.0, 1.0], 1)?;
/// let map = KernelMap::new(Kernel::Rbf { gamma: 1.0 }, Some(landmarks), None)?;
/// let values = map.values(&Rows::new(vec![1.0], 1)?)?;
/// assert_eq!(values.row(0), [(-1f64).exp(), 1.0]);
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KernelMap {
    kernel: Kernel,
    /// The landmarks, already divided by `scale`; none if the kernel is precomputed.
    landmarks: Option<Rows>,
    scale: Option<Vec<f64>>,
    /// The weight on the orthogonal complement of the span of the landmarks, and the squared lengths in feature
    /// space of the components of the metric that belongs to the map.
    outside: Option<(f64, Vec<f64>)>,
}

impl KernelMap {
    /// A map from its parts; `scale` divides the columns of rows first, and has been applied to the landmarks.
    ///
    /// # Errors
    /// A kernel with parameters out of range, landmarks missing or not wanted, a scale that does not fit.
    pub fn new(kernel: Kernel, landmarks: Option<Rows>, scale: Option<Vec<f64>>) -> Result<Self> {
        kernel.check()?;
        match (&landmarks, kernel) {
            (None, Kernel::Precomputed) => {}
            (Some(rows), kernel) if kernel != Kernel::Precomputed && !rows.is_empty() => {
                if let Some(scale) = &scale
                    && (scale.len() != rows.columns() || scale.iter().any(|s| !(s.is_finite() && *s > 0.0)))
                {
                    let allowed = "one number above 0 for each column";
                    return Err(Error::Parameter { name: "scale", value: "not so".into(), allowed });
                }
            }
            _ => return Err(Error::Empty { what: "the list of rows a kernel is taken with" }),
        }
        Ok(Self { kernel, landmarks, scale, outside: None })
    }

    /// A map from its parts, for landmarks that `scale` has not divided yet.
    pub(crate) fn with_landmarks(kernel: Kernel, landmarks: &Rows, scale: Option<Vec<f64>>) -> Result<Self> {
        let divided = match &scale {
            Some(scale) => landmarks.divided_by(scale)?,
            None => landmarks.clone(),
        };
        Self::new(kernel, Some(divided), scale)
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The rows the kernel is taken with, divided by [`KernelMap::scale`]; none if it is precomputed.
    pub fn landmarks(&self) -> Option<&Rows> {
        self.landmarks.as_ref()
    }

    /// Adds the weight that the metric has on the orthogonal complement of the span of the landmarks in feature
    /// space; `squared_lengths` are those of its components there.
    ///
    /// # Errors
    /// A weight or a length that is negative or not finite.
    pub(crate) fn with_weight_outside(self, weight: f64, squared_lengths: Vec<f64>) -> Result<Self> {
        let allowed = "finite and at least 0";
        for (name, value) in std::iter::once(("weight outside", weight))
            .chain(squared_lengths.iter().map(|&length| ("the length of a component", length)))
        {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Parameter { name, value: value.to_string(), allowed });
            }
        }
        Ok(Self { outside: Some((weight, squared_lengths)), ..self })
    }

    /// The weight on the orthogonal complement of the span of the landmarks, if the metric of the map has one.
    pub fn weight_outside(&self) -> Option<f64> {
        self.outside.as_ref().map(|outside| outside.0)
    }

    pub(crate) fn outside(&self) -> Option<(f64, &[f64])> {
        self.outside.as_ref().map(|(weight, lengths)| (*weight, &lengths[..]))
    }

    /// The scale by which the columns of rows are divided first.
    pub fn scale(&self) -> Option<&[f64]> {
        self.scale.as_deref()
    }

    /// The map for rows that have not been divided by `scale` yet.
    pub(crate) fn of_divided_rows(self, scale: &[f64]) -> Result<Self> {
        let scale = both_scales(self.scale.as_deref(), scale);
        let outside = self.outside;
        Ok(Self { outside, ..Self::new(self.kernel, self.landmarks, Some(scale))? })
    }

    /// The kernel values of each row with every landmark.
    ///
    /// # Errors
    /// Rows with other columns, or a value outside the range of 64-bit numbers.
    pub fn values(&self, rows: &Rows) -> Result<Rows> {
        let Some(landmarks) = &self.landmarks else { return Ok(rows.clone()) };
        let expected = landmarks.columns();
        if rows.columns() != expected {
            return Err(Error::Length { what: "columns of the rows", seen: rows.columns(), expected });
        }
        // Around the mean of the landmarks distances lose no digits; the other kernels are about the origin.
        let centre = match self.kernel {
            Kernel::Rbf { .. } => ColumnStatistics::of(landmarks).mean,
            _ => vec![0.0; expected],
        };
        let scaled_centre: Vec<f64> = (0..expected).map(|j| centre[j] * self.scale_of(j)).collect();
        let moved: Vec<f64> =
            landmarks.values().iter().enumerate().map(|(at, y)| y - centre[at % expected]).collect();
        let moved = Rows::new(moved, expected).map_err(|_| Error::OutOfRange { what: "a kernel value" })?;
        let mut values = project(rows, &scaled_centre, self.scale.as_deref(), moved.as_mat().transpose());
        let of_landmarks: Vec<f64> = (0..moved.len()).map(|k| squared_norm(moved.row(k))).collect();
        for (i, values) in values.chunks_exact_mut(moved.len()).enumerate() {
            let cells = rows.row(i).iter().enumerate();
            let x: f64 = cells.map(|(j, x)| ((x - scaled_centre[j]) / self.scale_of(j)).powi(2)).sum();
            values.iter_mut().zip(&of_landmarks).for_each(|(v, y)| *v = self.kernel.of_product(*v, x, *y));
        }
        Rows::new(values, moved.len()).map_err(|_| Error::OutOfRange { what: "a kernel value" })
    }

    /// `k(x, x) + k(y, y) − 2k(x, y)`, the squared distance in feature space; none if it is precomputed.
    pub(crate) fn squared_distance(&self, x: &[f64], y: &[f64]) -> Option<f64> {
        self.landmarks.as_ref()?;
        // By differences where the kernel is translation-invariant: products of rows far from the origin would
        // cancel.
        let apart = || (0..x.len()).map(|j| ((x[j] - y[j]) / self.scale_of(j)).powi(2)).sum::<f64>();
        match self.kernel {
            Kernel::Linear | Kernel::Precomputed => Some(apart()),
            Kernel::Rbf { gamma } => Some(-2.0 * (-gamma * apart()).exp_m1()),
            Kernel::Polynomial { .. } => {
                let product = |x: &[f64], y: &[f64]| -> f64 {
                    (0..x.len()).map(|j| x[j] / self.scale_of(j) * (y[j] / self.scale_of(j))).sum()
                };
                let (xx, yy, xy) = (product(x, x), product(y, y), product(x, y));
                let kernel = |product, a, b| self.kernel.of_product(product, a, b);
                Some(kernel(xx, xx, xx) + kernel(yy, yy, yy) - 2.0 * kernel(xy, xx, yy))
            }
        }
    }

    /// `k(x, x)` of each row; none if it is precomputed.
    pub(crate) fn squared_lengths(&self, rows: &Rows) -> Vec<f64> {
        let length = |row: &[f64]| {
            let square = row.iter().enumerate().map(|(j, x)| (x / self.scale_of(j)).powi(2)).sum();
            self.kernel.of_product(square, square, square)
        };
        (0..rows.len()).map(|i| length(rows.row(i))).collect()
    }

    fn scale_of(&self, j: usize) -> f64 {
        self.scale.as_ref().map_or(1.0, |scale| scale[j])
    }
}

fn squared_norm(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum()
}

/// Rows transformed at a time: their kernel values are many.
const BLOCK: usize = 4_096;

pub(crate) fn transform(map: Option<&KernelMap>, metric: &Metric, rows: &Rows) -> Result<Rows> {
    let Some(map) = map else { return metric.transform(rows) };
    let mut z = Vec::with_capacity(rows.len() * metric.rank());
    for first in (0..rows.len()).step_by(BLOCK) {
        let block: Vec<usize> = (first..(first + BLOCK).min(rows.len())).collect();
        z.extend(metric.transform(&map.values(&rows.subset(&block))?)?.into_values());
    }
    Rows::new(z, metric.rank())
}

/// Checks that a metric on kernel values fits a map to them.
pub(crate) fn check_parts(map: &KernelMap, metric: &Metric) -> Result<()> {
    let landmarks =
        map.landmarks().map(|rows| ("rows the kernel is taken with", rows.len(), metric.columns()));
    let lengths = map.outside().map(|(_, lengths)| ("lengths of components", lengths.len(), metric.rank()));
    for (what, seen, expected) in landmarks.into_iter().chain(lengths) {
        if seen != expected {
            return Err(Error::Length { what, seen, expected });
        }
    }
    Ok(())
}

impl Kernel {
    /// The kernel, for the model file.
    pub fn to_json(self) -> Value {
        match self {
            Self::Linear => json!({"kernel": "linear"}),
            Self::Rbf { gamma } => json!({"kernel": "rbf", "gamma": gamma}),
            Self::Polynomial { degree, gamma, coef0 } => {
                json!({"kernel": "polynomial", "degree": degree, "gamma": gamma, "coef0": coef0})
            }
            Self::Precomputed => json!({"kernel": "precomputed"}),
        }
    }

    /// The kernel that [`Kernel::to_json`] wrote.
    #[cfg(feature = "model")]
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| value[key].as_f64();
        Some(match value["kernel"].as_str()? {
            "linear" => Self::Linear,
            "rbf" => Self::Rbf { gamma: number("gamma")? },
            "polynomial" => Self::Polynomial {
                degree: u32::try_from(value["degree"].as_u64()?).ok()?,
                gamma: number("gamma")?,
                coef0: number("coef0")?,
            },
            "precomputed" => Self::Precomputed,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_what_their_formulas_say() {
        let landmarks = Rows::new(vec![1.0, 2.0, -1.0, 0.5], 2).unwrap();
        let rows = Rows::new(vec![0.5, -2.0], 2).unwrap();
        let value = |kernel| {
            let map = KernelMap::new(kernel, Some(landmarks.clone()), None).unwrap();
            map.values(&rows).unwrap().into_values()
        };
        assert_eq!(value(Kernel::Linear), [-3.5, -1.5]);
        let poly = value(Kernel::Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 });
        assert!(
            (poly[0] - (1.0f64 - 1.75).powi(3)).abs() < 1e-15 && (poly[1] - 0.25f64.powi(3)).abs() < 1e-15
        );
        let rbf = value(Kernel::Rbf { gamma: 0.25 });
        let expected = [(-0.25f64 * 16.25).exp(), (-0.25f64 * 8.5).exp()];
        assert!((rbf[0] - expected[0]).abs() < 1e-15 && (rbf[1] - expected[1]).abs() < 1e-15);
    }

    #[test]
    fn a_scale_divides_rows_before_the_kernel() {
        let landmarks = Rows::new(vec![1.0, 2.0], 2).unwrap();
        let map = |scale| KernelMap::new(Kernel::Rbf { gamma: 0.3 }, Some(landmarks.clone()), scale).unwrap();
        let scaled = map(Some(vec![2.0, 4.0])).values(&Rows::new(vec![6.0, 2.0], 2).unwrap()).unwrap();
        let plain = map(None).values(&Rows::new(vec![3.0, 0.5], 2).unwrap()).unwrap();
        assert!((scaled.row(0)[0] - plain.row(0)[0]).abs() < 1e-15);
    }

    #[test]
    fn distances_keep_their_digits_far_from_the_origin() {
        for kernel in [Kernel::Linear, Kernel::Rbf { gamma: 0.5 }] {
            let map = KernelMap::new(kernel, Some(Rows::new(vec![0.0, 0.0], 2).unwrap()), None).unwrap();
            let (near, far) = ([0.25, -1.5], [1.0, 0.5]);
            let expected = map.squared_distance(&near, &far).unwrap();
            // A power of two: the sums are exact.
            let moved = |x: [f64; 2]| x.map(|x| x + 2f64.powi(30));
            assert_eq!(map.squared_distance(&moved(near), &moved(far)), Some(expected), "{kernel:?}");
            let plain = map.values(&Rows::new(far.to_vec(), 2).unwrap()).unwrap().row(0)[0];
            let to_origin = map.squared_distance(&far, &[0.0, 0.0]).unwrap();
            let direct = if kernel == Kernel::Linear { 1.25 } else { 2.0 - 2.0 * plain };
            assert!((to_origin - direct).abs() < 1e-15, "{kernel:?}: {to_origin} {direct}");
        }
    }

    #[test]
    fn the_default_gamma_is_that_of_scikit_learn() {
        // scikit-learn's gamma="scale": 1 / (n_features * X.var()), here 1 / (2 * 1.25).
        assert!((Kernel::gamma_for(&Rows::new(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap()) - 0.4).abs() < 1e-15);
        assert_eq!(Kernel::gamma_for(&Rows::new(vec![7.0; 4], 2).unwrap()), 1.0);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let rows = || Some(Rows::new(vec![1.0], 1).unwrap());
        for kernel in [
            Kernel::Rbf { gamma: 0.0 },
            Kernel::Rbf { gamma: f64::NAN },
            Kernel::Polynomial { degree: 0, gamma: 1.0, coef0: 0.0 },
            Kernel::Polynomial { degree: 2, gamma: 1.0, coef0: -1.0 },
        ] {
            assert!(KernelMap::new(kernel, rows(), None).is_err());
        }
        assert!(KernelMap::new(Kernel::Linear, None, None).is_err());
        assert!(KernelMap::new(Kernel::Precomputed, rows(), None).is_err());
        assert!(KernelMap::new(Kernel::Linear, rows(), Some(vec![1.0, 2.0])).is_err());
    }
}
