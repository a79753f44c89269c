//! Reading of a model file: header, format version, checksum, then each tensor and metadata entry, all validated.

use crate::data::{Labels, Rows};
use crate::error::Result;
use crate::kernel::{Kernel, KernelMap, check_parts};
use crate::local::LocalMaps;
use crate::metric::{Calibration, Metric};
use crate::model::tensor::{Content, Tensor, invalid};
use crate::model::write::checksum;
use crate::model::{FORMAT, MAJOR, MAX_HEADER, Model, VERSION};
use crate::retrieval::Similarity;
use faer::Mat;
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

impl Model {
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
        let targets = targets(tensors, k)?;
        let references = match targets {
            Some(_) => None,
            None => references(parse(metadata, "classes")?, tensors, k)?,
        };
        let local = local(tensors, k, references.as_ref().map_or(0, |(rows, _)| rows.len()))?;
        let (params, diagnostics) = (parse(metadata, "params")?, parse(metadata, "diagnostics")?);
        let model = Self {
            metric,
            kernel,
            log_eigenvalues,
            feature_names,
            references,
            targets,
            threshold,
            calibration,
            local,
            column_means: floats(tensors, "column_means", &[columns])?,
            params,
            diagnostics,
        };
        model.with_comparable_references()
    }

    /// Training rows of norm 1 in a model for the cosine: older files have them of any norm.
    fn with_comparable_references(mut self) -> Result<Self> {
        let is_of_norm_one = |row: &[f64]| {
            let square: f64 = row.iter().map(|x| x * x).sum();
            square == 0.0 || (square - 1.0).abs() < 1e-9
        };
        if self.similarity() == Similarity::Cosine
            && let Some((rows, labels)) = self.references.take()
        {
            let kept = (0..rows.len()).all(|i| is_of_norm_one(rows.row(i)));
            let rows = if kept { rows } else { self.similarity().coordinates(rows)? };
            self.references = Some((rows, labels));
        }
        Ok(self)
    }
}

/// Checks that the header fits into the file before anything is parsed or allocated.
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

/// Rows with a number each, in place of a class.
fn targets(tensors: &BTreeMap<String, Tensor<'_>>, k: usize) -> Result<Option<(Rows, Vec<f64>)>> {
    let (rows, targets) = match (tensors.get("references"), tensors.get("reference_targets")) {
        (_, None) => return Ok(None),
        (None, Some(_)) => return Err(invalid("of 'references' and 'reference_targets' one is missing")),
        (Some(rows), Some(targets)) => (rows, targets),
    };
    if tensors.contains_key("reference_classes") || tensors.contains_key("local_maps") {
        return Err(invalid("its references have both classes and targets"));
    }
    let n = rows.shape.first().copied().unwrap_or(0);
    let values = floats(tensors, "references", &[n, k])?.unwrap_or_default();
    let targets = targets.floats("reference_targets", &[n])?;
    Ok(Some((Rows::new(values, k)?, targets)))
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

/// The bytes of a file, or only the first 64 if they are not those of a model: a device may have no end.
pub(super) fn read_model(path: &Path) -> std::io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (std::fs::File::open(path)?, Vec::new());
    file.by_ref().take(64).read_to_end(&mut bytes)?;
    let length = bytes.first_chunk().map(|head| u64::from_le_bytes(*head));
    if length.is_some_and(|length| length <= MAX_HEADER) && bytes.get(8) == Some(&b'{') {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
