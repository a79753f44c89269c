//! The linear map and how it is applied: rows, queries for documents that stay where they are, and their one number.

use crate::data::{Cells, Embeddings, Real};
use crate::error::{Error, Result};
use crate::retrieval::Similarity;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use mahala_kernels::blas::product;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Rows mapped at a time: fixed, so that no bit depends on the number of threads.
const CHUNK: usize = 1024;

/// z = components·(x − mean)
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearMap {
    components: Mat<f64>,
    mean: Vec<f64>,
    prepared: Prepared,
}

/// What every call needs, computed by the first one that does.
#[derive(Clone, Default)]
struct Prepared {
    /// Lᵀ and the mean in single and in double precision.
    single: OnceLock<(Mat<f32>, Vec<f32>)>,
    double: OnceLock<(Mat<f64>, Vec<f64>)>,
    /// x ↦ A(x − m)
    whole: OnceLock<Box<LinearMap>>,
}

/// Maps are equal by what they were made from.
impl PartialEq for Prepared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared")
    }
}

impl LinearMap {
    pub(crate) fn new(components: Mat<f64>, mean: Vec<f64>) -> Self {
        Self { components, mean, prepared: Prepared::default() }
    }

    pub(crate) fn components(&self) -> MatRef<'_, f64> {
        self.components.as_ref()
    }

    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Mapped rows, in double precision for rows of double precision, else single; of norm 1 if they are normalised.
    pub(crate) fn apply(&self, table: &Embeddings, normalise: bool) -> Result<Embeddings> {
        if table.columns() != self.mean.len() {
            let (seen, expected) = (table.columns(), self.mean.len());
            return Err(Error::Length { what: "columns of the embeddings", seen, expected });
        }
        if table.is_double() {
            mapped(once(&self.prepared.double, || self.rounded()), table, normalise)
        } else {
            mapped(once(&self.prepared.single, || self.rounded()), table, normalise)
        }
    }

    /// Lᵀ and the mean in the precision that is computed in.
    fn rounded<T: Real>(&self) -> (Mat<T>, Vec<T>) {
        let l = &self.components;
        let transposed = Mat::from_fn(l.ncols(), l.nrows(), |j, i| T::of(l[(i, j)]));
        (transposed, self.mean.iter().map(|&m| T::of(m)).collect())
    }

    /// x ↦ A(x − m), with `A = LᵀL`.
    fn whole(&self) -> &Self {
        once(&self.prepared.whole, || {
            let a = product(self.components.transpose(), self.components.as_ref());
            Box::new(Self::new(a, self.mean.clone()))
        })
        .as_ref()
    }

    /// g = A(q − m) of each query, and gᵀm.
    pub(crate) fn query_map(&self, queries: &Embeddings) -> Result<(Embeddings, Vec<f64>)> {
        let g = self.whole().apply(queries, false)?;
        let offsets =
            (0..g.len()).map(|i| g.row(i).iter().zip(&self.mean).map(|(g, m)| g * m).sum()).collect();
        Ok((g, offsets))
    }

    /// The one number to store with each document: √((x − m)ᵀA(x − m)) for the cosine, its square for L2.
    pub(crate) fn document_terms(&self, documents: &Embeddings, similarity: Similarity) -> Result<Vec<f64>> {
        let z = self.apply(documents, false)?;
        let square = |i: usize| z.row(i).iter().map(|x| x * x).sum::<f64>();
        let term = |i| if similarity == Similarity::Cosine { square(i).sqrt() } else { square(i) };
        if z.len() <= CHUNK {
            return Ok((0..z.len()).map(term).collect());
        }
        Ok((0..z.len()).into_par_iter().map(term).collect())
    }
}

/// What is held, or else made. It is made outside the lock: a thread of a pool that waits for its own product may take up
/// another call, which must not find the lock held. Threads that come at once may each make it, and one of them is kept.
fn once<T>(held: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(made) = held.get() {
        return made;
    }
    let made = make();
    held.get_or_init(|| made)
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
    (l, mean): &(Mat<T>, Vec<T>),
    table: &Embeddings,
    normalise: bool,
) -> Result<Embeddings> {
    let (d, k) = (l.nrows(), l.ncols());
    let mut cells = vec![T::default(); table.len() * k];
    let of_chunk = |(chunk, out): (usize, &mut [T])| {
        let rows = out.len() / k;
        let mut block = vec![T::default(); rows * d];
        T::read(table, chunk * CHUNK, &mut block);
        block.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(mean).for_each(|(x, m)| *x -= *m));
        let block = MatRef::from_row_major_slice(&block, rows, d);
        let to = MatMut::from_row_major_slice_mut(out, rows, k);
        matmul(to, Accum::Replace, block, l.as_ref(), T::of(1.0), Par::Seq);
        if normalise {
            out.chunks_exact_mut(k).for_each(unit);
        }
    };
    if table.len() <= CHUNK {
        // No thread is woken up for a server's few rows.
        of_chunk((0, &mut cells));
    } else {
        cells.par_chunks_mut(CHUNK * k).enumerate().for_each(of_chunk);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Random;

    fn table(n: usize, d: usize) -> Embeddings {
        let mut random = Random::new(3, 0);
        Embeddings::single((0..n * d).map(|_| random.uniform() as f32 - 0.5).collect(), d).unwrap()
    }

    #[test]
    fn threads_that_come_at_once_get_the_same_answers() {
        let mut random = Random::new(1, 0);
        let map = LinearMap::new(Mat::from_fn(24, 40, |_, _| random.uniform() - 0.5), vec![0.25; 40]);
        let (rows, few) = (table(3000, 40), table(2, 40));
        let of = |map: &LinearMap, rows: &Embeddings| {
            let (g, offsets) = map.query_map(rows).unwrap();
            let z = map.apply(rows, true).unwrap();
            [&z, &g]
                .map(|t| (0..t.len()).flat_map(|i| t.row(i)).collect::<Vec<_>>())
                .concat()
                .into_iter()
                .chain(offsets)
                .collect::<Vec<f64>>()
        };
        let wanted = [of(&map.clone(), &rows), of(&map.clone(), &few)];
        std::thread::scope(|scope| {
            let call = |_| scope.spawn(|| [of(&map, &rows), of(&map, &few)]);
            for worker in (0..8).map(call).collect::<Vec<_>>() {
                assert_eq!(worker.join().unwrap(), wanted);
            }
        });
        let on_the_pool: Vec<_> = (0..16usize).into_par_iter().map(|_| of(&map.clone(), &rows)).collect();
        assert!(on_the_pool.iter().all(|found| *found == wanted[0]));
    }

    #[test]
    fn a_map_is_prepared_once() {
        let map = LinearMap::new(Mat::identity(4, 4), vec![0.0; 4]);
        map.query_map(&table(5, 4)).unwrap();
        let first = std::ptr::from_ref(map.whole());
        map.query_map(&table(1, 4)).unwrap();
        assert_eq!(std::ptr::from_ref(map.whole()), first);
        assert!(map.prepared.single.get().is_none(), "rows were not mapped by L");
        assert_eq!(map, LinearMap::new(Mat::identity(4, 4), vec![0.0; 4]));
    }
}
