//! ONNX export of a metric's transformation, written field by field.
//!
//! # Formula
//! Z = ((X − mean) / scale) Lᵀ, with L the r×d matrix of components; for the cosine, each row of Z divided by its norm.
//!
//! The message layout and field numbers are those of `onnx.proto` (IR version 8). A model of four nodes
//! does not justify a protobuf compiler.

use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::retrieval::Similarity;

const IR_VERSION: u64 = 8;
const OPERATOR_SET: u64 = 13;
/// Protobuf readers refuse messages of 2 GiB and more.
const LARGEST: usize = i32::MAX as usize - 4096;

/// The numbers of an exported model: its input, weights and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits, which every runtime and device computes with.
    F32,
    /// 64 bits, exact, for runtimes on a CPU.
    F64,
}

impl Precision {
    /// `TensorProto.DataType`: FLOAT or DOUBLE.
    fn data_type(self) -> u64 {
        match self {
            Self::F32 => 1,
            Self::F64 => 11,
        }
    }

    fn bytes(self, values: impl Iterator<Item = f64>) -> Vec<u8> {
        match self {
            Self::F32 => values.flat_map(|v| (v as f32).to_le_bytes()).collect(),
            Self::F64 => values.flat_map(f64::to_le_bytes).collect(),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            // A scale must not become 0 either, for it divides.
            Self::F32 => (value as f32).is_finite() && (value == 0.0 || value as f32 != 0.0),
            Self::F64 => value.is_finite(),
        }
    }
}

/// The bytes of an ONNX model with input `X` `["n", d]` and output `Z` `["n", r]`.
///
/// Euclidean distances of its output are those of the metric: a weight outside the components becomes
/// components of its own, and r is d then ([`Metric::with_outside_as_components`]).
///
/// # Errors
/// A number that does not fit the precision, or more components than one ONNX file can hold.
///
/// ```
/// use mahala::Metric;
/// use mahala::model::{Precision, onnx_model};
/// let bytes = onnx_model(&Metric::euclidean(3), Precision::F32)?;
/// assert!(bytes.windows(6).any(|part| part == b"MatMul"));
/// # Ok::<(), mahala::Error>(())
/// ```
pub fn onnx_model(metric: &Metric, precision: Precision) -> Result<Vec<u8>> {
    onnx_model_for(metric, Similarity::L2, precision)
}

/// The bytes of an ONNX model as [`onnx_model`] makes it, whose output has rows of norm 1 for the cosine
/// ([`Model::similarity`](crate::Model::similarity)).
///
/// # Errors
/// A number that does not fit the precision, or more components than one ONNX file can hold.
pub fn onnx_model_for(metric: &Metric, similarity: Similarity, precision: Precision) -> Result<Vec<u8>> {
    if metric.weight_outside().is_some() {
        return onnx_model_for(&metric.with_outside_as_components()?, similarity, precision);
    }
    let (r, d) = (metric.rank(), metric.columns());
    let size = r.saturating_mul(d).saturating_mul(precision.size());
    if size > LARGEST {
        let (name, allowed) =
            ("the size of an ONNX model", "below 2 GiB (fewer components, or 32-bit numbers)");
        return Err(Error::Parameter { name, value: format!("{size} bytes"), allowed });
    }
    let l = metric.components();
    let components = (0..r).flat_map(|i| (0..d).map(move |j| l[(i, j)]));
    let scale = metric.scale().unwrap_or(&[]);
    let mut values = components.chain(metric.mean().iter().copied()).chain(scale.iter().copied());
    // Components may underflow to 0 in 32 bits; a mean or a scale may not become infinite or 0.
    if let Some(value) = values
        .find(|&value| !precision.holds(value) && value.abs() > 1.0)
        .or_else(|| scale.iter().copied().find(|&value| !precision.holds(value)))
    {
        let (name, allowed) =
            ("a number of the ONNX model", "finite as 32-bit number (use 64 bits, or rescale)");
        return Err(Error::Parameter { name, value: format!("{value:e}"), allowed });
    }
    Ok(model(&graph(metric, similarity == Similarity::Cosine, precision)))
}

/// `ModelProto`.
fn model(graph: &Message) -> Vec<u8> {
    let operators = Message::default().text(1, "").int(2, OPERATOR_SET);
    let model = Message::default()
        .int(1, IR_VERSION)
        .text(2, "mahala")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, graph)
        .message(8, &operators);
    model.0
}

/// `GraphProto`: Sub, Div where there is a scale, `MatMul`, and `LpNormalization` (by default of rows, by their 2-norm).
fn graph(metric: &Metric, is_cosine: bool, precision: Precision) -> Message {
    let (r, d, l) = (metric.rank(), metric.columns(), metric.components());
    let transposed = (0..d).flat_map(|j| (0..r).map(move |i| l[(i, j)]));
    let mut graph = Message::default().message(1, &node("Sub", ["X", "mean"], "centred"));
    let mut last = "centred";
    if metric.scale().is_some() {
        graph = graph.message(1, &node("Div", ["centred", "scale"], "scaled"));
        last = "scaled";
    }
    graph = graph.message(1, &node("MatMul", [last, "components"], if is_cosine { "mapped" } else { "Z" }));
    if is_cosine {
        graph = graph.message(1, &node("LpNormalization", ["mapped"], "Z"));
    }
    graph =
        graph.text(2, "mahala").message(5, &tensor("mean", &[d], metric.mean().iter().copied(), precision));
    if let Some(scale) = metric.scale() {
        graph = graph.message(5, &tensor("scale", &[d], scale.iter().copied(), precision));
    }
    graph
        .message(5, &tensor("components", &[d, r], transposed, precision))
        .message(11, &value_info("X", d, precision))
        .message(12, &value_info("Z", r, precision))
}

/// `NodeProto`, named after its operator.
fn node<const N: usize>(operator: &str, inputs: [&str; N], output: &str) -> Message {
    let node = inputs.into_iter().fold(Message::default(), |node, input| node.text(1, input));
    node.text(2, output).text(3, operator).text(4, operator)
}

/// `TensorProto` with its numbers as raw little-endian bytes.
fn tensor(name: &str, shape: &[usize], values: impl Iterator<Item = f64>, precision: Precision) -> Message {
    let sides = shape.iter().fold(Message::default(), |m, &side| m.int(1, side as u64));
    let raw = precision.bytes(values);
    sides.int(2, precision.data_type()).text(8, name).bytes(9, &raw)
}

/// `ValueInfoProto` of a float tensor of shape `["n", columns]`.
fn value_info(name: &str, columns: usize, precision: Precision) -> Message {
    let rows = Message::default().text(2, "n");
    let columns = Message::default().int(1, columns as u64);
    let shape = Message::default().message(1, &rows).message(1, &columns);
    let tensor = Message::default().int(1, precision.data_type()).message(2, &shape);
    let kind = Message::default().message(1, &tensor);
    Message::default().text(1, name).message(2, &kind)
}

/// A protobuf message being written: fields in the order they are added.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// An integer field: wire type 0.
    fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// A length-delimited field: wire type 2.
    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: &Message) -> Self {
        self.bytes(field, &value.0)
    }

    /// Seven bits a byte, lowest first; the high bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    fn metric(components: [f64; 4], scale: Option<Vec<f64>>) -> Metric {
        Metric::new(Mat::from_fn(2, 2, |i, j| components[2 * i + j]), vec![0.0; 2], scale).unwrap()
    }

    #[test]
    fn a_varint_is_the_one_of_the_protobuf_guide() {
        // 150 is the example in the encoding guide of Protocol Buffers.
        assert_eq!(Message::default().int(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, b"\x12\x07testing");
    }

    #[test]
    fn components_are_stored_transposed() {
        let model = onnx_model(&metric([1.0, 2.0, 3.0, 4.0], None), Precision::F64).unwrap();
        let wanted: Vec<u8> = [1f64, 3.0, 2.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(contains(&model, &wanted));
    }

    #[test]
    fn the_scale_adds_a_division() {
        let model = |scale| onnx_model(&metric([1.0; 4], scale), Precision::F32).unwrap();
        assert!(!contains(&model(None), b"Div"));
        assert!(contains(&model(Some(vec![2.0; 2])), b"Div"));
    }

    #[test]
    fn what_a_runtime_could_not_compute_is_refused() {
        let model = |components, scale, precision| onnx_model(&metric(components, scale), precision);
        assert!(model([1e39, 0.0, 0.0, 1.0], None, Precision::F64).is_ok());
        let error = model([1e39, 0.0, 0.0, 1.0], None, Precision::F32).unwrap_err();
        assert!(error.to_string().contains("1e39"), "{error}");
        assert!(model([1.0; 4], Some(vec![1.0, 1e-60]), Precision::F32).is_err());
        assert!(model([1e-60, 0.0, 0.0, 1.0], None, Precision::F32).is_ok());
    }
}
