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
//!
//! The metadata are strings, lists as JSON: format, `format_version`, `n_features`, `feature_names`, classes,
//! threshold, calibration if there is one, params, diagnostics, and the sha256 of all the rest. Keys are sorted: the same model gives
//! the same bytes.

use crate::calibrate::Calibration;
use crate::dataset::{Labels, Rows};
use crate::error::{Error, Result};
use crate::knn::{Knn, Neighbors};
use crate::local::LocalMaps;
use crate::metric::Metric;
use faer::Mat;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const FORMAT: &str = "mahala-metric";
const MAJOR: u64 = 1;
const VERSION: &str = "1.0";
const MAX_HEADER: u64 = 64 << 20;
/// Tells apart the unfinished files of one process.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// A metric with all that is needed to apply it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The metric.
    pub metric: Metric,
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
    /// How the metric was learned.
    pub params: Value,
    /// What was seen on the way.
    pub diagnostics: Value,
}

struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    fn of_codes(codes: &[u32]) -> Self {
        let bytes = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
        Self { dtype: Dtype::U32, shape: vec![codes.len()], bytes }
    }

    /// The codes, if there are `n` of them.
    fn codes(&self, name: &str, n: usize) -> Result<Vec<u32>> {
        if self.dtype != Dtype::U32 || self.shape != [n] {
            return Err(invalid(&format!("the tensor '{name}' does not fit 'references'")));
        }
        Ok(self.bytes.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect())
    }
}

impl Model {
    /// A bare metric.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            log_eigenvalues: Vec::new(),
            feature_names: Vec::new(),
            references: None,
            threshold: None,
            calibration: None,
            local: None,
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
        let tensors = self.tensors();
        let mut metadata = self.metadata();
        metadata.insert("sha256".into(), checksum(&metadata, &tensors));
        let mut header = Map::new();
        header.insert("__metadata__".into(), json!(metadata));
        let mut offset = 0;
        for (name, tensor) in &tensors {
            let end = offset + tensor.bytes.len();
            let dtype = if tensor.dtype == Dtype::U32 { "U32" } else { "F64" };
            header.insert(
                name.clone(),
                json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [offset, end]}),
            );
            offset = end;
        }
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.append(&mut header);
        tensors.values().for_each(|tensor| bytes.extend_from_slice(&tensor.bytes));
        bytes
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
        let tensors: BTreeMap<String, Tensor> = file
            .iter()
            .map(|(name, view)| {
                let (dtype, shape, bytes) = (view.dtype(), view.shape().to_vec(), view.data().to_vec());
                (name.to_owned(), Tensor { dtype, shape, bytes })
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
        let bytes = std::fs::read(path).map_err(|error| io_error(path, &error))?;
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
        let mut name = path.file_name().unwrap_or_default().to_owned();
        let nth = WRITES.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{nth}.part", std::process::id()));
        let part = path.with_file_name(name);
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&part)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&part, path)
        };
        write().map_err(|error| {
            let _ = std::fs::remove_file(&part);
            io_error(path, &error)
        })
    }

    fn tensors(&self) -> BTreeMap<String, Tensor> {
        let (k, d) = (self.metric.rank(), self.metric.columns());
        let l = self.metric.components();
        let mut tensors = BTreeMap::new();
        let mut add = |name: &str, shape: Vec<usize>, values: &mut dyn Iterator<Item = f64>| {
            let bytes = values.flat_map(f64::to_le_bytes).collect();
            tensors.insert(name.to_owned(), Tensor { dtype: Dtype::F64, shape, bytes });
        };
        add("components", vec![k, d], &mut (0..k).flat_map(|i| (0..d).map(move |j| l[(i, j)])));
        add("mean", vec![d], &mut self.metric.mean().iter().copied());
        add("log_eigenvalues", vec![self.log_eigenvalues.len()], &mut self.log_eigenvalues.iter().copied());
        if let Some(scale) = self.metric.scale() {
            add("scale", vec![d], &mut scale.iter().copied());
        }
        if let Some((rows, labels)) = &self.references {
            add("references", vec![rows.len(), k], &mut rows.values().iter().copied());
            tensors.insert("reference_classes".into(), Tensor::of_codes(labels.codes()));
        }
        if let Some(local) = &self.local {
            let cells = local.maps().iter().flat_map(|map| (0..k * k).map(move |at| map[(at / k, at % k)]));
            let bytes = cells.flat_map(f64::to_le_bytes).collect();
            let tensor = Tensor { dtype: Dtype::F64, shape: vec![local.maps().len(), k, k], bytes };
            tensors.insert("local_maps".into(), tensor);
            tensors.insert("reference_groups".into(), Tensor::of_codes(local.groups()));
        }
        tensors
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        let classes = self.references.as_ref().map_or(&[][..], |(_, labels)| labels.names());
        let entries = [
            ("format", FORMAT.to_owned()),
            ("format_version", VERSION.to_owned()),
            ("n_features", self.metric.columns().to_string()),
            ("feature_names", json!(self.feature_names).to_string()),
            ("classes", json!(classes).to_string()),
            ("threshold", json!(self.threshold).to_string()),
            ("params", self.params.to_string()),
            ("diagnostics", self.diagnostics.to_string()),
        ];
        let calibration = self.calibration.as_ref().map(|c| ("calibration", c.to_json().to_string()));
        entries.into_iter().chain(calibration).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn assemble(metadata: &BTreeMap<String, String>, tensors: &BTreeMap<String, Tensor>) -> Result<Self> {
        let components =
            tensors.get("components").ok_or_else(|| invalid("the tensor 'components' is missing"))?;
        let [k, d] = components.shape[..] else { return Err(invalid("'components' is not a matrix")) };
        let l = floats(tensors, "components", &[k, d])?.unwrap_or_default();
        let mean = floats(tensors, "mean", &[d])?.ok_or_else(|| invalid("the tensor 'mean' is missing"))?;
        let scale = floats(tensors, "scale", &[d])?;
        let metric = Metric::new(Mat::from_fn(k, d, |i, j| l[i * d + j]), mean, scale)
            .map_err(|error| invalid(&error.to_string()))?;
        let log_eigenvalues = match tensors.get("log_eigenvalues").map(|tensor| &tensor.shape[..]) {
            None | Some([0]) => Vec::new(),
            Some(&[n]) if n <= d => floats(tensors, "log_eigenvalues", &[n])?.unwrap_or_default(),
            Some(_) => return Err(invalid("the tensor 'log_eigenvalues' does not fit 'components'")),
        };
        let feature_names: Vec<String> = parse(metadata, "feature_names")?;
        if !feature_names.is_empty() && feature_names.len() != d {
            return Err(invalid(&format!("{} feature names for {d} columns", feature_names.len())));
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
            log_eigenvalues,
            feature_names,
            references,
            threshold,
            calibration,
            local,
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
        Some(MAJOR) => Ok(()),
        Some(newer) if newer > MAJOR => Err(invalid(&format!(
            "its format version is {version}; this release reads up to {VERSION}: please update"
        ))),
        _ => Err(invalid(&format!("its format version is '{version}'"))),
    }
}

fn floats(tensors: &BTreeMap<String, Tensor>, name: &str, shape: &[usize]) -> Result<Option<Vec<f64>>> {
    let Some(tensor) = tensors.get(name) else { return Ok(None) };
    if tensor.dtype != Dtype::F64 || tensor.shape != shape {
        let seen = format!("{:?} {:?}", tensor.dtype, tensor.shape);
        return Err(invalid(&format!("the tensor '{name}' is {seen}; F64 {shape:?} was expected")));
    }
    let values: Vec<f64> = tensor.bytes.as_chunks::<8>().0.iter().map(|c| f64::from_le_bytes(*c)).collect();
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(invalid(&format!("the tensor '{name}' holds {} at place {at}", values[at]))),
        None => Ok(Some(values)),
    }
}

fn references(
    names: Vec<String>,
    tensors: &BTreeMap<String, Tensor>,
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
fn local(tensors: &BTreeMap<String, Tensor>, k: usize, n: usize) -> Result<Option<LocalMaps>> {
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
fn checksum(metadata: &BTreeMap<String, String>, tensors: &BTreeMap<String, Tensor>) -> String {
    let mut hash = Sha256::new();
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "sha256") {
        hash.update(format!("{key}\0{value}\0"));
    }
    for (name, tensor) in tensors {
        hash.update(format!("{name}\0{:?}\0{:?}\0", tensor.dtype, tensor.shape));
        hash.update(&tensor.bytes);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn invalid(reason: &str) -> Error {
    Error::Bytes { what: "model file", reason: reason.to_owned() }
}

fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), reason: error.to_string() }
}
