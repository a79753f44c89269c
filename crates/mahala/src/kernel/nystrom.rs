//! Nyström features: rows in the feature space of a kernel, in the span of landmarks.
//!
//! # Formula
//! With `K = UΣ²Uᵀ` the kernel among the landmarks and `k(x)` a row's values with them
//! ```text
//! φ(x) = Σ⁻¹Uᵀ·k(x),     φ(x)ᵀφ(y) = k(x)ᵀ K⁻¹ k(y)
//! ```
//! which is `k(x, y)` for landmarks themselves. A metric on `φ` is one on `k`: `L·Σ⁻¹Uᵀ`.

use crate::data::Rows;
use crate::data::random::{Random, Stream};
use crate::error::Result;
use crate::gmml::span::Span;
use crate::kernel::transform;
use crate::kernel::{Kernel, KernelMap};
use crate::metric::Metric;
use faer::{Mat, MatRef};

/// `φ`.
pub(crate) struct Features {
    pub(crate) map: KernelMap,
    pub(crate) span: Span,
    /// The landmarks' mean kernel values.
    pub(crate) means: Vec<f64>,
    /// The map from kernel values to `φ`.
    basis: Metric,
}

impl Features {
    /// The features of a kernel with these landmarks, which `scale` has not divided yet.
    pub(crate) fn of(kernel: Kernel, landmarks: &Rows, scale: Option<Vec<f64>>) -> Result<Self> {
        let map = KernelMap::with_landmarks(kernel, landmarks, scale)?;
        let values = map.values(landmarks)?;
        let span = Span::of_gram(values.as_mat(), "the kernel")?;
        let basis = span.combination(Mat::<f64>::identity(span.rank(), span.rank()).as_ref());
        let m = values.len();
        let basis = Metric::computed(basis, vec![0.0; m], None)?;
        let means = (0..m).map(|j| (0..m).map(|i| values.row(i)[j]).sum::<f64>() / m as f64).collect();
        Ok(Self { map, span, means, basis })
    }

    /// `φ` of each row.
    pub(crate) fn rows(&self, rows: &Rows) -> Result<Rows> {
        transform(Some(&self.map), &self.basis, rows)
    }

    /// The map to kernel values, and the metric on those with components `l` on the features.
    pub(crate) fn metric(self, l: MatRef<'_, f64>) -> Result<(KernelMap, Metric)> {
        Ok((self.map, metric_on_values(self.span.combination(l), self.means)?))
    }
}

/// A metric on kernel values, whose components may have overflowed.
pub(crate) fn metric_on_values(components: Mat<f64>, means: Vec<f64>) -> Result<Metric> {
    Metric::computed(components, means, None)
}

/// A random sample of the rows, in their order.
pub(crate) fn draw_landmarks(rows: &Rows, count: usize, seed: u64) -> Rows {
    if count >= rows.len() {
        return rows.clone();
    }
    let mut drawn = Random::of(seed, Stream::Landmarks).permutation(rows.len());
    drawn.truncate(count);
    drawn.sort_unstable();
    rows.subset(&drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Rows {
        let cells = (0..24).map(|i| f64::from((7 * i) % 11) / 3.0).collect();
        Rows::new(cells, 2).unwrap()
    }

    #[test]
    fn landmarks_have_the_products_of_the_kernel() {
        let (rows, kernel) = (points(), Kernel::Rbf { gamma: 0.3 });
        let features = Features::of(kernel, &rows, Some(vec![2.0, 0.5])).unwrap();
        let (z, k) = (features.rows(&rows).unwrap(), features.map.values(&rows).unwrap());
        for i in 0..rows.len() {
            for j in 0..rows.len() {
                let product: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum();
                assert!((product - k.row(i)[j]).abs() < 1e-10, "{i} {j}: {product} {}", k.row(i)[j]);
            }
        }
    }

    #[test]
    fn a_metric_on_features_is_one_on_kernel_values() {
        let rows = points();
        let features = Features::of(Kernel::Rbf { gamma: 0.3 }, &draw_landmarks(&rows, 5, 1), None).unwrap();
        let (z, r) = (features.rows(&rows).unwrap(), features.span.rank());
        assert_eq!((z.columns(), r), (5, 5));
        let l = Mat::from_fn(2, r, |i, j| (i + 1) as f64 - 0.4 * j as f64);
        let direct = Metric::new(l.clone(), vec![0.0; r], None).unwrap().transform(&z).unwrap();
        let (map, metric) = features.metric(l.as_ref()).unwrap();
        let seen = transform(Some(&map), &metric, &rows).unwrap();
        for i in 1..rows.len() {
            for k in 0..2 {
                let (a, b) = (direct.row(i)[k] - direct.row(0)[k], seen.row(i)[k] - seen.row(0)[k]);
                assert!((a - b).abs() < 1e-10, "{i} {k}: {a} {b}");
            }
        }
    }
}
