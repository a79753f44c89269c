//! Models and matrices in formats that other programs read.

pub(crate) mod npy;
pub(crate) mod onnx;
