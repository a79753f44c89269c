//! Writing of a model file: tensors, metadata and checksum in the safetensors format.

use crate::data::Rows;
use crate::kernel::KernelMap;
use crate::model::tensor::{Content, Tensor};
use crate::model::{FORMAT, Model, PLAIN, VERSION};
use safetensors::Dtype;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl Model {
    /// Writes the bytes of a model file, without a second copy of the metric.
    ///
    /// # Errors
    /// Any error of the writer.
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
        if let Some((rows, targets)) = &self.targets {
            tensors.push(("references", vec![rows.len(), k], Content::Floats(rows.values())));
            tensors.push(("reference_targets", vec![targets.len()], Content::Floats(targets)));
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
        let is_plain = self.kernel.is_none() && outside.is_none() && self.targets.is_none();
        let version = if is_plain { PLAIN } else { VERSION };
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
}

/// The sha256, in hexadecimal, of all metadata but itself and of all tensors, in the order of their names.
pub(super) fn checksum(
    metadata: &BTreeMap<String, String>,
    tensors: &BTreeMap<String, Tensor<'_>>,
) -> String {
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
