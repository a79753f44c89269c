//! The model file: a metric and what is needed to use it, in the safetensors format.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `components` | `[k, d]` f64 | `L`: z = components·((x − mean)/scale) |
//! | `mean` | `[d]` f64 | subtracted first |
//! | `scale` | `[d]` f64, optional | divided by next |
//! | `log_eigenvalues` | `[≤ d]` f64 | `log Λ` (logarithms: Λ itself may leave the range) |
//! | `references` | `[n, k]` f64, optional | transformed training rows, to vote in predictions |
//! | `reference_classes` | `[n]` u32, optional | their classes |
//! | `reference_targets` | `[n]` f64, optional | their numbers, for regression, in place of classes |
//! | `local_maps` | `[g, k, k]` f64, optional | from the metric's coordinates to those of each group's own |
//! | `reference_groups` | `[n]` u32, optional | the group of each of `references` |
//! | `landmarks` | `[d, m]` f64, optional | d rows of m columns a kernel is taken with: x is then d kernel values |
//! | `kernel_scale` | `[m]` f64, optional | what columns are divided by before the kernel |
//! | `column_means` | `[m]` f64, optional | means of the training rows' columns, where `mean` is something else |
//!
//! The metadata are strings, lists as JSON: format, `format_version`, `n_features`, `feature_names`, classes,
//! threshold, params, diagnostics, and the sha256 of all the rest; where there is one, the calibration, the
//! kernel, and `weight_outside` (see [`Metric`]): files with one of the last two, or with `reference_targets`, have
//! version 2, all others 1.
//! Keys are sorted: the same model gives the same bytes.

mod describe;
mod index;
#[cfg(feature = "onnx")]
mod onnx;
mod part_file;
mod read;
mod tensor;
mod training_means;
mod write;
mod write_file;

pub use index::ModelIndex;
#[cfg(feature = "onnx")]
pub use onnx::{Precision, onnx_model, onnx_model_for};
pub use part_file::{PartFile, directory_of, remove_unfinished};
pub use write_file::write_file;

use crate::data::sparse::SparseRows;
use crate::data::{Labels, Rows};
use crate::error::{Error, Result};
use crate::kernel::{KernelMap, transform};
use crate::learner::squared_distances_under;
use crate::local::LocalMaps;
use crate::metric::{Calibration, Metric};
use crate::model::read::read_model;
use crate::model::write_file::io_error;
use crate::pairs::Pairs;
use crate::retrieval::Similarity;
use serde_json::{Value, json};
use std::path::Path;

const FORMAT: &str = "mahala-metric";
const MAJOR: u64 = 2;
/// The format version of plain metrics, which any release reads; and of those with a kernel, a weight outside the
/// components, or targets.
const PLAIN: &str = "1.0";
const VERSION: &str = "2.0";
const MAX_HEADER: u64 = 64 << 20;

/// A metric with everything needed to apply it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The metric; on kernel values, if there is a kernel.
    pub metric: Metric,
    /// The kernel the metric was learned with.
    pub kernel: Option<KernelMap>,
    /// `log Λ`, descending; empty if there is none.
    pub log_eigenvalues: Vec<f64>,
    /// The columns' names; empty if they have none.
    pub feature_names: Vec<String>,
    /// Transformed training rows and their labels, for predictions.
    pub references: Option<(Rows, Labels)>,
    /// Transformed training rows and their numbers, for regression; in place of `references`.
    pub targets: Option<(Rows, Vec<f64>)>,
    /// Pairs at most this far apart are called similar.
    pub threshold: Option<f64>,
    /// How likely pairs are similar, by their distance.
    pub calibration: Option<Calibration>,
    /// Metrics of groups of the training rows; they come with `references`.
    pub local: Option<LocalMaps>,
    /// Means of the training rows' columns, where the metric's mean is something else; see [`Model::training_means`].
    pub column_means: Option<Vec<f64>>,
    /// How the metric was learned.
    pub params: Value,
    /// The diagnostics of the fit.
    pub diagnostics: Value,
}

impl Model {
    /// A bare metric.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            kernel: None,
            log_eigenvalues: Vec::new(),
            feature_names: Vec::new(),
            references: None,
            targets: None,
            threshold: None,
            calibration: None,
            local: None,
            column_means: None,
            params: json!({}),
            diagnostics: json!({}),
        }
    }

    /// The model as the bytes of a safetensors file.
    ///
    /// ```
    /// use mahala::{Metric, Model};
    /// let model = Model::new(Metric::euclidean(3));
    /// assert_eq!(Model::from_bytes(&model.to_bytes())?, model);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = self.write_to(&mut bytes);
        debug_assert!(written.is_ok(), "memory takes what is written to it");
        bytes
    }

    /// What transformed rows are ranked by: what an adapter, or the automatic mode, was asked to choose for.
    pub fn similarity(&self) -> Similarity {
        let name = match self.params["method"].as_str() {
            Some("embeddings") => "metric",
            Some("auto" | "auto-kernel") => "similarity",
            _ => return Similarity::L2,
        };
        self.params[name].as_str().and_then(|text| text.parse().ok()).unwrap_or(Similarity::L2)
    }

    /// Whether it predicts numbers, not classes: it keeps rows with targets, or was learned from such.
    pub fn is_regression(&self) -> bool {
        self.targets.is_some() || self.params["regression"] == true
    }

    /// Rows in coordinates where the metric is Euclidean, through the kernel if there is one. Those of a model for the cosine
    /// have norm 1, for which cosine, inner product and Euclidean distance rank alike.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform(&self, rows: &Rows) -> Result<Rows> {
        self.similarity().coordinates(transform(self.kernel.as_ref(), &self.metric, rows)?)
    }

    /// Squared distances of pairs, through the kernel if there is one; for the cosine, of rows of norm 1.
    ///
    /// # Errors
    /// Rows with other columns, pairs of rows that are not there, or a distance outside the range of 64-bit numbers.
    pub fn squared_pair_distances(&self, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
        let map = (self.kernel.as_ref(), &self.metric, self.similarity());
        squared_distances_under(map, first, second, pairs)
    }

    /// Sparse rows in coordinates where the metric is Euclidean, through the kernel if there is one.
    ///
    /// # Errors
    /// Rows with other columns, or a coordinate outside the range of 64-bit numbers.
    pub fn transform_sparse(&self, rows: &SparseRows) -> Result<Rows> {
        match &self.kernel {
            None => self.similarity().coordinates(self.metric.transform_sparse(rows)?),
            Some(_) => self.transform(&rows.to_rows()?),
        }
    }

    /// The weight on the orthogonal complement of the span that the metric was learned in; none if there is none.
    pub fn weight_outside(&self) -> Option<f64> {
        self.kernel.as_ref().map_or_else(|| self.metric.weight_outside(), KernelMap::weight_outside)
    }

    /// The number of columns of the rows it takes.
    pub fn columns(&self) -> usize {
        let landmarks = self.kernel.as_ref().and_then(KernelMap::landmarks);
        landmarks.map_or(self.metric.columns(), Rows::columns)
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// A file that cannot be read, is no model, is damaged, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_model(path).map_err(|error| io_error(path, error))?;
        Self::from_bytes(&bytes).map_err(|error| match error {
            Error::Bytes { what, reason } => {
                Error::Bytes { what, reason: format!("{}: {reason}", path.display()) }
            }
            other => other,
        })
    }

    /// Writes a model file atomically (see [`write_file`]).
    ///
    /// # Errors
    /// A file that cannot be written, or inconsistent fields that could not be read again.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, bytes) = (path.as_ref(), self.to_bytes());
        Self::from_bytes(&bytes)?;
        write_file(path, &bytes)
    }
}
