//! Tensors of the model file, written and read without intermediate copies: a metric on 100,000 columns is in
//! memory once, not four times.

use crate::error::{Error, Result};
use faer::{Mat, MatRef};
use safetensors::Dtype;

pub(crate) struct Tensor<'a> {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) content: Content<'a>,
}

/// The numbers of a tensor.
pub(crate) enum Content<'a> {
    /// The bytes of a file.
    Bytes(&'a [u8]),
    Floats(&'a [f64]),
    Codes(&'a [u32]),
    /// A matrix, row-major in the file.
    Matrix(MatRef<'a, f64>),
    /// Matrices, one after the other.
    Matrices(&'a [Mat<f64>]),
}

/// Rows of a matrix transposed at a time: its columns are read in pieces of this length.
const TILE: usize = 16;
/// Numbers converted to bytes at a time.
const CHUNK: usize = 1 << 16;

impl Content<'_> {
    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Floats(floats) => 8 * floats.len(),
            Self::Codes(codes) => 4 * codes.len(),
            Self::Matrix(matrix) => 8 * matrix.nrows() * matrix.ncols(),
            Self::Matrices(all) => all.iter().map(|matrix| 8 * matrix.nrows() * matrix.ncols()).sum(),
        }
    }

    /// Calls a closure with the bytes, little-endian, piece by piece.
    pub(crate) fn for_each_chunk(
        &self,
        work: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match self {
            Self::Bytes(bytes) => work(bytes),
            Self::Floats(floats) => floats
                .chunks(CHUNK)
                .try_for_each(|part| work(&part.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())),
            Self::Codes(codes) => codes
                .chunks(CHUNK)
                .try_for_each(|part| work(&part.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())),
            Self::Matrix(matrix) => {
                let (k, d) = (matrix.nrows(), matrix.ncols());
                let mut transposed = vec![0u8; 8 * TILE.min(k) * d];
                for first in (0..k).step_by(TILE) {
                    let rows = TILE.min(k - first);
                    for j in 0..d {
                        for i in 0..rows {
                            let at = 8 * (i * d + j);
                            transposed[at..at + 8].copy_from_slice(&matrix[(first + i, j)].to_le_bytes());
                        }
                    }
                    work(&transposed[..8 * rows * d])?;
                }
                Ok(())
            }
            Self::Matrices(all) => {
                all.iter().try_for_each(|matrix| Self::Matrix(matrix.as_ref()).for_each_chunk(work))
            }
        }
    }
}

impl<'a> Tensor<'a> {
    /// A tensor to write.
    pub(crate) fn new(shape: Vec<usize>, content: Content<'a>) -> Self {
        let dtype = if matches!(content, Content::Codes(_)) { Dtype::U32 } else { Dtype::F64 };
        Self { dtype, shape, content }
    }

    /// The numbers of a tensor that was read.
    ///
    /// # Errors
    /// Another type or shape than expected, or a number that is not finite.
    pub(crate) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        Ok(self.cells(name, shape)?.iter().map(|c| f64::from_le_bytes(*c)).collect())
    }

    /// The codes of a tensor that was read, one for each of `n` references.
    ///
    /// # Errors
    /// Another type or shape than expected, or a number that is not finite.
    pub(crate) fn codes(&self, name: &str, n: usize) -> Result<Vec<u32>> {
        if self.dtype != Dtype::U32 || self.shape != [n] {
            return Err(invalid(&format!("the tensor '{name}' does not fit 'references'")));
        }
        let Content::Bytes(bytes) = self.content else { return Ok(Vec::new()) };
        Ok(bytes.as_chunks::<4>().0.iter().map(|c| u32::from_le_bytes(*c)).collect())
    }

    /// A matrix that was read.
    ///
    /// # Errors
    /// Another type or shape than expected, or a number that is not finite.
    pub(crate) fn matrix(&self, name: &str, k: usize, d: usize) -> Result<Mat<f64>> {
        let cells = self.cells(name, &[k, d])?;
        let mut matrix = Mat::zeros(k, d);
        for first in (0..k).step_by(TILE) {
            for j in 0..d {
                for i in first..(first + TILE).min(k) {
                    matrix[(i, j)] = f64::from_le_bytes(cells[i * d + j]);
                }
            }
        }
        Ok(matrix)
    }

    fn cells(&self, name: &str, shape: &[usize]) -> Result<&[[u8; 8]]> {
        if self.dtype != Dtype::F64 || self.shape != shape {
            let seen = format!("{:?} {:?}", self.dtype, self.shape);
            return Err(invalid(&format!("the tensor '{name}' is {seen}; F64 {shape:?} was expected")));
        }
        let Content::Bytes(bytes) = self.content else { return Ok(&[]) };
        let cells = bytes.as_chunks::<8>().0;
        match cells.iter().map(|c| f64::from_le_bytes(*c)).enumerate().find(|(_, x)| !x.is_finite()) {
            Some((at, x)) => Err(invalid(&format!("the tensor '{name}' holds {x} at place {at}"))),
            None => Ok(cells),
        }
    }
}

pub(crate) fn invalid(reason: &str) -> Error {
    Error::Bytes { what: "model file", reason: reason.to_owned() }
}
