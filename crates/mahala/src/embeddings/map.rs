//! The linear map and how it is applied: rows, queries for documents that stay where they are, and their one number.

use crate::data::{Cells, Embeddings, Real};
use crate::error::{Error, Result};
use crate::retrieval::Similarity;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use mahala_kernels::blas::product;
use rayon::prelude::*;

/// Rows mapped at a time: fixed, so that no bit depends on the number of threads.
const CHUNK: usize = 1024;

/// z = components·(x − mean)
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearMap {
    pub components: Mat<f64>,
    pub mean: Vec<f64>,
}

impl LinearMap {
    /// Mapped rows, in double precision for rows of double precision, else single; of norm 1 if they are normalised.
    pub(crate) fn apply(&self, table: &Embeddings, normalise: bool) -> Result<Embeddings> {
        if table.columns() != self.mean.len() {
            let (seen, expected) = (table.columns(), self.mean.len());
            return Err(Error::Length { what: "columns of the embeddings", seen, expected });
        }
        let (l, m) = (self.components.as_ref(), &self.mean);
        if table.is_double() {
            mapped::<f64>(l, m, table, normalise)
        } else {
            mapped::<f32>(l, m, table, normalise)
        }
    }

    /// `A = LᵀL`
    pub(crate) fn matrix(&self) -> Mat<f64> {
        product(self.components.transpose(), self.components.as_ref())
    }

    /// g = A(q − m) of each query, and gᵀm.
    pub(crate) fn query_map(&self, queries: &Embeddings) -> Result<(Embeddings, Vec<f64>)> {
        let whole = Self { components: self.matrix(), mean: self.mean.clone() };
        let g = whole.apply(queries, false)?;
        let offsets =
            (0..g.len()).map(|i| g.row(i).iter().zip(&self.mean).map(|(g, m)| g * m).sum()).collect();
        Ok((g, offsets))
    }

    /// The one number to store with each document: √((x − m)ᵀA(x − m)) for the cosine, its square for L2.
    pub(crate) fn document_terms(&self, documents: &Embeddings, similarity: Similarity) -> Result<Vec<f64>> {
        let z = self.apply(documents, false)?;
        let square = |i: usize| z.row(i).iter().map(|x| x * x).sum::<f64>();
        let term = |i| if similarity == Similarity::Cosine { square(i).sqrt() } else { square(i) };
        Ok((0..z.len()).into_par_iter().map(term).collect())
    }
}

/// Columns in use, each times the root of its weight.
fn weighed_cells<T: Real>(cells: &[T], d: usize, used: &[usize], weights: &[f64]) -> Vec<T> {
    let roots: Vec<T> = used.iter().map(|&j| T::of(weights[j].sqrt())).collect();
    cells.par_chunks(d).flat_map_iter(|row| used.iter().zip(&roots).map(|(&j, w)| row[j] * *w)).collect()
}

/// Each row with column j times `weights[j]`, without the columns of weight 0: rows in a basis, weighed.
pub(crate) fn weighed(table: &Embeddings, weights: &[f64]) -> Result<Embeddings> {
    let used: Vec<usize> = (0..weights.len()).filter(|&j| weights[j] > 0.0).collect();
    let d = table.columns();
    match (f64::in_place(table), f32::in_place(table)) {
        (Some(double), _) => Embeddings::double(weighed_cells(double, d, &used, weights), used.len()),
        (_, Some(single)) => Embeddings::single(weighed_cells(single, d, &used, weights), used.len()),
        _ => Err(Error::Empty { what: "the table of mapped rows" }),
    }
    .map_err(overflow)
}

fn mapped<T: Real + Of>(
    l: MatRef<'_, f64>,
    mean: &[f64],
    table: &Embeddings,
    normalise: bool,
) -> Result<Embeddings> {
    let (k, d) = (l.nrows(), l.ncols());
    let l = Mat::<T>::from_fn(d, k, |j, i| T::of(l[(i, j)]));
    let mean: Vec<T> = mean.iter().map(|&m| T::of(m)).collect();
    let mut cells = vec![T::default(); table.len() * k];
    cells.par_chunks_mut(CHUNK * k).enumerate().for_each(|(chunk, out)| {
        let rows = out.len() / k;
        let mut block = vec![T::default(); rows * d];
        T::read(table, chunk * CHUNK, &mut block);
        block.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= *m));
        let block = MatRef::from_row_major_slice(&block, rows, d);
        let to = MatMut::from_row_major_slice_mut(out, rows, k);
        matmul(to, Accum::Replace, block, l.as_ref(), T::of(1.0), Par::Seq);
        if normalise {
            out.chunks_exact_mut(k).for_each(unit);
        }
    });
    Embeddings::new(T::table(cells), k).map_err(overflow)
}

fn overflow(error: Error) -> Error {
    match error {
        Error::NotFinite { .. } => Error::OutOfRange { what: "a mapped row" },
        other => other,
    }
}

/// Scales a row to norm 1; a row of zeros stays.
fn unit<T: Real>(row: &mut [T]) {
    let length = row.iter().map(|x| (*x).into() * (*x).into()).sum::<f64>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x = T::of((*x).into() / length));
    }
}

/// Cells as a table.
pub(crate) trait Of: Sized {
    fn table(cells: Vec<Self>) -> Cells;
}

impl Of for f32 {
    fn table(cells: Vec<Self>) -> Cells {
        Cells::Single(std::sync::Arc::new(cells))
    }
}

impl Of for f64 {
    fn table(cells: Vec<Self>) -> Cells {
        Cells::Double(std::sync::Arc::new(cells))
    }
}
