//! A linear projection as an ONNX model, written field by field.
//!
//! # Formula
//! Z = ((X − mean) / scale) Lᵀ, with L the r×d matrix of components.
//!
//! The message layout and field numbers are those of `onnx.proto` (IR version
//! 8). A model of three nodes does not justify a protobuf compiler.

use anyhow::{Result, ensure};

const IR_VERSION: u64 = 8;
const OPERATOR_SET: u64 = 13;
/// Protobuf readers refuse messages of 2 GiB and more.
const LARGEST: usize = i32::MAX as usize - 4096;

/// The numbers of the exported model: its input, weights and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
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
            Self::F32 => (value as f32).is_finite(),
            Self::F64 => value.is_finite(),
        }
    }
}

/// The bytes of an ONNX model with input `X` `["n", d]` and output `Z`
/// `["n", r]`; `components` is r×d, row by row.
///
/// # Errors
/// When a length does not match r and d, a number does not fit the precision,
/// a scale is zero, or the model would exceed what ONNX can hold.
pub(crate) fn onnx_model(
    components: &[f64],
    r: usize,
    d: usize,
    mean: &[f64],
    scale: Option<&[f64]>,
    precision: Precision,
) -> Result<Vec<u8>> {
    check_length("components", components, r.saturating_mul(d), precision)?;
    check_length("mean", mean, d, precision)?;
    check_length("scale", scale.unwrap_or(mean), d, precision)?;
    if let Some(i) = scale.and_then(|s| s.iter().position(|&v| v == 0.0)) {
        anyhow::bail!("cannot export to ONNX: the scale of column {i} is 0 and would divide by it");
    }
    let size = components.len().saturating_mul(precision.size());
    ensure!(
        size <= LARGEST,
        "cannot export to ONNX: {r} × {d} components take {size} bytes, \
         at most {LARGEST} fit into one file; export fewer components or 32-bit numbers"
    );
    Ok(model(&graph(components, (r, d), mean, scale, precision)))
}

fn check_length(what: &str, values: &[f64], expected: usize, precision: Precision) -> Result<()> {
    ensure!(
        values.len() == expected,
        "cannot export to ONNX: {what} has {} numbers, not {expected}",
        values.len()
    );
    if let Some(i) = values.iter().position(|&v| !precision.holds(v)) {
        anyhow::bail!(
            "cannot export to ONNX: number {i} of {what} is {:e}, \
             which is not finite as {precision:?}; rescale the data",
            values[i]
        );
    }
    Ok(())
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

/// `GraphProto`: Sub, Div where there is a scale, `MatMul`.
fn graph(
    components: &[f64],
    (r, d): (usize, usize),
    mean: &[f64],
    scale: Option<&[f64]>,
    precision: Precision,
) -> Message {
    let transposed = (0..d).flat_map(|j| (0..r).map(move |i| components[i * d + j]));
    let mut graph = Message::default().message(1, &node("Sub", ["X", "mean"], "centred"));
    let mut last = "centred";
    if scale.is_some() {
        graph = graph.message(1, &node("Div", ["centred", "scale"], "scaled"));
        last = "scaled";
    }
    graph = graph
        .message(1, &node("MatMul", [last, "components"], "Z"))
        .text(2, "mahala")
        .message(5, &tensor("mean", &[d], mean.iter().copied(), precision));
    if let Some(scale) = scale {
        graph = graph.message(5, &tensor("scale", &[d], scale.iter().copied(), precision));
    }
    graph
        .message(5, &tensor("components", &[d, r], transposed, precision))
        .message(11, &value_info("X", d, precision))
        .message(12, &value_info("Z", r, precision))
}

/// `NodeProto`, named after its operator.
fn node(operator: &str, inputs: [&str; 2], output: &str) -> Message {
    let [first, second] = inputs;
    let node = Message::default().text(1, first).text(1, second);
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

/// A protobuf message under way: fields in the order they are added.
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

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_varint_is_the_one_of_the_protobuf_guide() {
        // 150 is the example in the encoding guide of Protocol Buffers.
        assert_eq!(Message::default().int(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, b"\x12\x07testing");
    }

    #[test]
    fn components_are_stored_transposed() {
        let model = onnx_model(&[1.0, 2.0, 3.0, 4.0], 2, 2, &[0.0; 2], None, Precision::F64);
        let wanted: Vec<u8> = [1f64, 3.0, 2.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert!(contains(&model.expect("valid"), &wanted));
    }

    #[test]
    fn the_scale_adds_a_division() {
        let model = |scale| onnx_model(&[1.0], 1, 1, &[0.0], scale, Precision::F32).expect("valid");
        assert!(!contains(&model(None), b"Div"));
        assert!(contains(&model(Some(&[2.0])), b"Div"));
    }

    #[test]
    fn what_a_runtime_could_not_compute_is_refused() {
        let model = |c: &[f64], mean: &[f64], scale, precision| {
            let error = onnx_model(c, 1, 2, mean, scale, precision).expect_err("invalid");
            error.to_string()
        };
        let zero: &[f64] = &[1.0, 0.0];
        assert!(model(&[1.0], &[0.0; 2], None, Precision::F64).contains("has 1 numbers, not 2"));
        assert!(model(&[1.0; 2], &[0.0; 2], Some(zero), Precision::F64).contains("column 1 is 0"));
        assert!(model(&[1e39, 0.0], &[0.0; 2], None, Precision::F32).contains("not finite as F32"));
    }
}
