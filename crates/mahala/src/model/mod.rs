//! The model file: a metric and what is needed to use it, in the safetensors format.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `components` | [k, d] f64 | `L`: z = components·((x − mean)/scale) |
//! | `mean` | [d] f64 | subtracted first |
//! | `scale` | [d] f64, optional | divided by next |
//! | `log_eigenvalues` | [≤ d] f64 | `log Λ` (logarithms: Λ itself may leave the range) |
//! | `references` | [n, k] f64, optional | transformed training rows, to vote in predictions |
//! | `reference_classes` | [n] u32, optional | their classes |
//! | `local_maps` | [g, k, k] f64, optional | from the metric's coordinates to those of each group's own |
//! | `reference_groups` | [n] u32, optional | the group of each of `references` |
//! | `landmarks` | [d, m] f64, optional | d rows of m columns a kernel is taken with: x is then d kernel values |
//! | `kernel_scale` | [m] f64, optional | what columns are divided by before the kernel |
//! | `column_means` | [m] f64, optional | means of the training rows' columns, where `mean` is something else |
//!
//! The metadata are strings, lists as JSON: format, `format_version`, `n_features`, `feature_names`, classes,
//! threshold, params, diagnostics, and the sha256 of all the rest; where there is one, the calibration, the
//! kernel, and `weight_outside` (see [`Metric`]): files with one of the last two have version 2, all others 1.
//! Keys are sorted: the same model gives the same bytes.

mod describe;
mod onnx;
mod part_file;
mod tensor;
mod training_means;
mod write_file;

pub use onnx::{Precision, onnx_model};
pub use part_file::{PartFile, directory_of, remove_unfinished};
pub use write_file::write_file;

use crate::data::sparse::SparseRows;
use crate::data::{Labels, Rows};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelMap};
use crate::kernel::{check_parts, transform};
use crate::local::LocalMaps;
use crate::metric::Calibration;
use crate::metric::Metric;
use crate::model::tensor::invalid;
use crate::model::tensor::{Content, Tensor};
use crate::model::write_file::io_error;
use crate::neighbors::Knn;
use crate::neighbors::found::Neighbors;
use faer::Mat;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

const FORMAT: &str = "mahala-metric";
const MAJOR: u64 = 2;
/// What any release reads, and what takes a kernel or a weight outside the components to read.
const PLAIN: &str = "1.0";
const VERSION: &str = "2.0";
const MAX_HEADER: u64 = 64 << 20;

/// A metric with all that is needed to apply it.
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
    /// What was seen on the way.
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
            threshold: None,
            calibration: None,
            local: None,
            column_means: None,
            params: json!({}),
            diagnostics: json!({}),
        }
    }

    /// The `k` nearest training rows of rows in the metric's coordinates, under local metrics if there are some.
    ///
    /// # Errors
    /// No training rows are kept, or as [`Knn::search`].
    pub fn search(&self, queries: &Rows, k: usize) -> Result<Neighbors> {
        let Some((rows, _)) = &self.references else {
            return Err(Error::Empty { what: "the list of training rows in the model" });
        };
        match &self.local {
            Some(maps) => maps.search(rows, queries, k),
            None => Knn::new(rows.clone())?.search(queries, k),
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

    /// Writes the bytes of a model file, without a second copy of the metric.
    ///
    /// # Errors
    /// Whatever the writer fails with.
    pub fn write_to(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let tensors = self.tensors();
        let mut metadata = self.metadata();
        metadata.insert("sha256".into(), checksum(&metadata, &tensors));
        let mut header = Map::new();
        header.insert("__metadata__".into(), json!(metadata));
        let mut offset = 0;
        for (name, tensor) in &tensors {
            let end = offset + tensor.content.len();
            let dtype = if tensor.dtype == Dtype::U32 { "U32" } else { "F64" };
            header.insert(
                name.clone(),
                json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [offset, end]}),
            );
            offset = end;
        }
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        tensors
            .values()
            .try_for_each(|tensor| tensor.content.for_each_chunk(&mut |bytes| out.write_all(bytes)))
    }

    /// Rows in coordinates where the metric is Euclidean, by way of the kernel if there is one.
    ///
    /// # Errors
    /// As [`Metric::transform`].
    pub fn transform(&self, rows: &Rows) -> Result<Rows> {
        transform(self.kernel.as_ref(), &self.metric, rows)
    }

    /// The same for sparse rows.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn transform_sparse(&self, rows: &SparseRows) -> Result<Rows> {
        match &self.kernel {
            None => self.metric.transform_sparse(rows),
            Some(_) => self.transform(&rows.to_rows()?),
        }
    }

    /// The weight of what lies outside the span that the metric was learned in; none if that is everything.
    pub fn weight_outside(&self) -> Option<f64> {
        self.kernel.as_ref().map_or_else(|| self.metric.weight_outside(), KernelMap::weight_outside)
    }

    /// The number of columns of the rows it takes.
    pub fn columns(&self) -> usize {
        let landmarks = self.kernel.as_ref().and_then(KernelMap::landmarks);
        landmarks.map_or(self.metric.columns(), Rows::columns)
    }

    /// Reads and checks the bytes of a model file.
    ///
    /// # Errors
    /// Whatever is not a model of this format: foreign, truncated, altered, of a newer major version, or
    /// with shapes or numbers that cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        check_header(bytes)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| invalid(&e.to_string()))?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| invalid(&e.to_string()))?;
        let metadata: BTreeMap<String, String> =
            header.metadata().clone().unwrap_or_default().into_iter().collect();
        check_format(&metadata)?;
        let tensors: BTreeMap<String, Tensor<'_>> = file
            .iter()
            .map(|(name, view)| {
                let content = Content::Bytes(view.data());
                (name.to_owned(), Tensor { dtype: view.dtype(), shape: view.shape().to_vec(), content })
            })
            .collect();
        if metadata.get("sha256") != Some(&checksum(&metadata, &tensors)) {
            return Err(invalid("the checksum does not match: the file is altered or damaged"));
        }
        Self::assemble(&metadata, &tensors)
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// A file that cannot be read, or as [`Model::from_bytes`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_model(path).map_err(|error| io_error(path, &error))?;
        Self::from_bytes(&bytes).map_err(|error| match error {
            Error::Bytes { what, reason } => {
                Error::Bytes { what, reason: format!("{}: {reason}", path.display()) }
            }
            other => other,
        })
    }

    /// Writes a model file: beside the target first, then renamed, so that nothing is lost on failure.
    ///
    /// # Errors
    /// A file that cannot be written, or fields that do not fit together and could not be read again.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (path, bytes) = (path.as_ref(), self.to_bytes());
        Self::from_bytes(&bytes)?;
        write_file(path, &bytes)
    }

    fn tensors(&self) -> BTreeMap<String, Tensor<'_>> {
        let (k, d) = (self.metric.rank(), self.metric.columns());
        let matrix = |rows: &Rows| vec![rows.len(), rows.columns()];
        let mut tensors = vec![
            ("components", vec![k, d], Content::Matrix(self.metric.components())),
            ("mean", vec![d], Content::Floats(self.metric.mean())),
            ("log_eigenvalues", vec![self.log_eigenvalues.len()], Content::Floats(&self.log_eigenvalues)),
        ];
        if let Some(scale) = self.metric.scale() {
            tensors.push(("scale", vec![d], Content::Floats(scale)));
        }
        if let Some(landmarks) = self.kernel.as_ref().and_then(KernelMap::landmarks) {
            tensors.push(("landmarks", matrix(landmarks), Content::Floats(landmarks.values())));
        }
        if let Some(scale) = self.kernel.as_ref().and_then(KernelMap::scale) {
            tensors.push(("kernel_scale", vec![scale.len()], Content::Floats(scale)));
        }
        if let Some((_, lengths)) = self.kernel.as_ref().and_then(KernelMap::outside) {
            tensors.push(("lengths_outside", vec![lengths.len()], Content::Floats(lengths)));
        }
        if let Some(means) = &self.column_means {
            tensors.push(("column_means", vec![means.len()], Content::Floats(means)));
        }
        if let Some((rows, labels)) = &self.references {
            tensors.push(("references", vec![rows.len(), k], Content::Floats(rows.values())));
            tensors.push(("reference_classes", vec![rows.len()], Content::Codes(labels.codes())));
        }
        if let Some(local) = &self.local {
            let (maps, groups) = (local.maps(), local.groups());
            tensors.push(("local_maps", vec![maps.len(), k, k], Content::Matrices(maps)));
            tensors.push(("reference_groups", vec![groups.len()], Content::Codes(groups)));
        }
        tensors
            .into_iter()
            .map(|(name, shape, content)| (name.to_owned(), Tensor::new(shape, content)))
            .collect()
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let classes = self.references.as_ref().map_or(&[][..], |(_, labels)| labels.names());
        let outside = self.weight_outside();
        let version = if self.kernel.is_some() || outside.is_some() { VERSION } else { PLAIN };
        let optional = [
            ("calibration", self.calibration.as_ref().map(|c| c.to_json().to_string())),
            ("kernel", self.kernel.as_ref().map(|map| map.kernel().to_json().to_string())),
            ("weight_outside", outside.map(|weight| json!(weight).to_string())),
        ];
        let entries = [
            ("format", FORMAT.to_owned()),
            ("format_version", version.to_owned()),
            ("n_features", self.columns().to_string()),
            ("feature_names", json!(self.feature_names).to_string()),
            ("classes", json!(classes).to_string()),
            ("threshold", json!(self.threshold).to_string()),
            ("params", self.params.to_string()),
            ("diagnostics", self.diagnostics.to_string()),
        ];
        let optional = optional.into_iter().filter_map(|(key, value)| Some((key, value?)));
        entries.into_iter().chain(optional).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn assemble(metadata: &BTreeMap<String, String>, tensors: &BTreeMap<String, Tensor<'_>>) -> Result<Self> {
        let components =
            tensors.get("components").ok_or_else(|| invalid("the tensor 'components' is missing"))?;
        let [k, d] = components.shape[..] else { return Err(invalid("'components' is not a matrix")) };
        let l = components.matrix("components", k, d)?;
        let mean = floats(tensors, "mean", &[d])?.ok_or_else(|| invalid("the tensor 'mean' is missing"))?;
        let scale = floats(tensors, "scale", &[d])?;
        let mut metric = Metric::new(l, mean, scale).map_err(|error| invalid(&error.to_string()))?;
        let mut kernel = kernel(metadata, tensors, d)?;
        if metadata.contains_key("weight_outside") {
            let weight = parse(metadata, "weight_outside")?;
            if let Some(map) = kernel.take() {
                let lengths = floats(tensors, "lengths_outside", &[k])?.unwrap_or_default();
                let map = map.with_weight_outside(weight, lengths);
                kernel = Some(map.map_err(|error| invalid(&error.to_string()))?);
            } else {
                metric = metric.with_weight_outside(weight).map_err(|error| invalid(&error.to_string()))?;
            }
        }
        if let Some(map) = &kernel {
            check_parts(map, &metric).map_err(|error| invalid(&error.to_string()))?;
        }
        let columns = kernel.as_ref().and_then(KernelMap::landmarks).map_or(d, Rows::columns);
        let log_eigenvalues = match tensors.get("log_eigenvalues").map(|tensor| &tensor.shape[..]) {
            None | Some([0]) => Vec::new(),
            Some(&[n]) if n <= d => floats(tensors, "log_eigenvalues", &[n])?.unwrap_or_default(),
            Some(_) => return Err(invalid("the tensor 'log_eigenvalues' does not fit 'components'")),
        };
        let feature_names: Vec<String> = parse(metadata, "feature_names")?;
        if !feature_names.is_empty() && feature_names.len() != columns {
            return Err(invalid(&format!("{} feature names for {columns} columns", feature_names.len())));
        }
        let threshold: Option<f64> = parse(metadata, "threshold")?;
        let calibration = match metadata.get("calibration") {
            Some(_) => Some(Calibration::from_json(&parse(metadata, "calibration")?)?),
            None => None,
        };
        let references = references(parse(metadata, "classes")?, tensors, k)?;
        let local = local(tensors, k, references.as_ref().map_or(0, |(rows, _)| rows.len()))?;
        let (params, diagnostics) = (parse(metadata, "params")?, parse(metadata, "diagnostics")?);
        Ok(Self {
            metric,
            kernel,
            log_eigenvalues,
            feature_names,
            references,
            threshold,
            calibration,
            local,
            column_means: floats(tensors, "column_means", &[columns])?,
            params,
            diagnostics,
        })
    }
}

/// The header must fit into the file before anything is parsed or allocated.
fn check_header(bytes: &[u8]) -> Result<()> {
    let Some(length) = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first)) else {
        return Err(invalid(&format!("it has {} bytes; not even a header fits", bytes.len())));
    };
    if length > MAX_HEADER || length > bytes.len() as u64 - 8 {
        return Err(invalid("its header is longer than the file (truncated, or not a safetensors file)"));
    }
    Ok(())
}

fn check_format(metadata: &BTreeMap<String, String>) -> Result<()> {
    match metadata.get("format") {
        Some(format) if format == FORMAT => {}
        Some(other) => return Err(invalid(&format!("its format is '{other}', not '{FORMAT}'"))),
        None => return Err(invalid("it is a safetensors file of something else, with no format entry")),
    }
    let version = metadata.get("format_version").map_or("", String::as_str);
    match version.split('.').next().and_then(|major| major.parse::<u64>().ok()) {
        Some(1..=MAJOR) => Ok(()),
        Some(newer) if newer > MAJOR => Err(invalid(&format!(
            "its format version is {version}; this release reads up to {VERSION}: please update"
        ))),
        _ => Err(invalid(&format!("its format version is '{version}'"))),
    }
}

fn floats(tensors: &BTreeMap<String, Tensor<'_>>, name: &str, shape: &[usize]) -> Result<Option<Vec<f64>>> {
    tensors.get(name).map(|tensor| tensor.floats(name, shape)).transpose()
}

/// The kernel of a metric on `m` kernel values.
fn kernel(
    metadata: &BTreeMap<String, String>,
    tensors: &BTreeMap<String, Tensor<'_>>,
    m: usize,
) -> Result<Option<KernelMap>> {
    if !metadata.contains_key("kernel") {
        return Ok(None);
    }
    let kernel = Kernel::from_json(&parse(metadata, "kernel")?)
        .ok_or_else(|| invalid("the entry 'kernel' names no kernel"))?;
    let landmarks = match tensors.get("landmarks").map(|tensor| &tensor.shape[..]) {
        None => None,
        Some(&[n, columns]) if n == m => {
            let values = floats(tensors, "landmarks", &[n, columns])?.unwrap_or_default();
            Some(Rows::new(values, columns).map_err(|error| invalid(&error.to_string()))?)
        }
        Some(_) => return Err(invalid("the tensor 'landmarks' does not fit 'components'")),
    };
    let columns = landmarks.as_ref().map_or(0, Rows::columns);
    let scale = floats(tensors, "kernel_scale", &[columns])?;
    KernelMap::new(kernel, landmarks, scale).map(Some).map_err(|error| invalid(&error.to_string()))
}

fn references(
    names: Vec<String>,
    tensors: &BTreeMap<String, Tensor<'_>>,
    k: usize,
) -> Result<Option<(Rows, Labels)>> {
    let (rows, codes) = match (tensors.get("references"), tensors.get("reference_classes")) {
        (Some(rows), Some(codes)) => (rows, codes),
        (None, None) => return Ok(None),
        _ => return Err(invalid("of 'references' and 'reference_classes' one is missing")),
    };
    let n = rows.shape.first().copied().unwrap_or(0);
    let values = floats(tensors, "references", &[n, k])?.unwrap_or_default();
    let codes = codes.codes("reference_classes", n)?;
    let labels = Labels::from_parts(names, codes).map_err(|error| invalid(&error.to_string()))?;
    Ok(Some((Rows::new(values, k)?, labels)))
}

/// The local metrics of `n` references, in `k` coordinates.
fn local(tensors: &BTreeMap<String, Tensor<'_>>, k: usize, n: usize) -> Result<Option<LocalMaps>> {
    let (maps, groups) = match (tensors.get("local_maps"), tensors.get("reference_groups")) {
        (Some(maps), Some(groups)) => (maps, groups),
        (None, None) => return Ok(None),
        _ => return Err(invalid("of 'local_maps' and 'reference_groups' one is missing")),
    };
    let count = maps.shape.first().copied().unwrap_or(0);
    let cells = floats(tensors, "local_maps", &[count, k, k])?.unwrap_or_default();
    let maps = cells.chunks_exact(k * k).map(|map| Mat::from_fn(k, k, |i, j| map[i * k + j])).collect();
    let local = LocalMaps::new(maps, groups.codes("reference_groups", n)?);
    local.map(Some).map_err(|error| invalid(&error.to_string()))
}

fn parse<T: serde::de::DeserializeOwned>(metadata: &BTreeMap<String, String>, key: &str) -> Result<T> {
    let text = metadata.get(key).ok_or_else(|| invalid(&format!("the entry '{key}' is missing")))?;
    serde_json::from_str(text).map_err(|error| invalid(&format!("the entry '{key}' cannot be read: {error}")))
}

/// The sha256, in hexadecimal, of all metadata but itself and of all tensors, in the order of their names.
fn checksum(metadata: &BTreeMap<String, String>, tensors: &BTreeMap<String, Tensor<'_>>) -> String {
    let mut hash = Sha256::new();
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "sha256") {
        hash.update(format!("{key}\0{value}\0"));
    }
    for (name, tensor) in tensors {
        hash.update(format!("{name}\0{:?}\0{:?}\0", tensor.dtype, tensor.shape));
        let hashed = tensor.content.for_each_chunk(&mut |bytes| {
            hash.update(bytes);
            Ok(())
        });
        debug_assert!(hashed.is_ok(), "nothing is written");
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a file, or only its first where no model begins so: a device has no end.
fn read_model(path: &Path) -> std::io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (std::fs::File::open(path)?, Vec::new());
    file.by_ref().take(64).read_to_end(&mut bytes)?;
    let length = bytes.first_chunk().map(|head| u64::from_le_bytes(*head));
    if length.is_some_and(|length| length <= MAX_HEADER) && bytes.get(8) == Some(&b'{') {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
