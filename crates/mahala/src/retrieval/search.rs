//! The full scan: similarities of queries to all rows of a gallery.

use crate::data::{Embeddings, Real, Rows};
use crate::error::{Error, Result};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use mahala_kernels::reduce::sum_by_lanes;
use rayon::prelude::*;

/// What a search ranks by; the larger, the nearer.
///
/// ```
/// use mahala::retrieval::Similarity;
/// assert_eq!("l2".parse(), Ok(Similarity::L2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Similarity {
    /// xᵀy / (‖x‖‖y‖); 0 with a row of zeros.
    Cosine,
    /// −‖x − y‖².
    L2,
    /// xᵀy.
    Dot,
}

impl Similarity {
    /// Rows as a Euclidean search ranks them by this similarity: of norm 1 for the cosine, where a row of zeros stays.
    ///
    /// ```
    /// use mahala::Rows;
    /// use mahala::retrieval::Similarity;
    /// let rows = Similarity::Cosine.coordinates(Rows::new(vec![3.0, 4.0, 0.0, 0.0], 2)?)?;
    /// assert_eq!(rows.values(), [0.6, 0.8, 0.0, 0.0]);
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for valid rows.
    pub fn coordinates(self, rows: Rows) -> Result<Rows> {
        if self != Self::Cosine {
            return Ok(rows);
        }
        let columns = rows.columns();
        let mut values = rows.into_values();
        values.chunks_exact_mut(columns).for_each(to_norm_one);
        Rows::new(values, columns)
    }

    /// [`Similarity::coordinates`] in single precision, row after row of so many columns.
    pub fn single_coordinates(self, cells: &mut [f32], columns: usize) {
        if self == Self::Cosine && columns > 0 {
            for row in cells.chunks_exact_mut(columns) {
                let mut wide: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
                to_norm_one(&mut wide);
                row.iter_mut().zip(wide).for_each(|(x, unit)| *x = unit as f32);
            }
        }
    }
}

/// Divides a row by its norm; by its largest cell first, where squares leave the range.
fn to_norm_one(row: &mut [f64]) {
    let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut length = norm(row);
    if !length.is_normal() {
        let largest = row.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        if largest == 0.0 {
            return;
        }
        row.iter_mut().for_each(|x| *x /= largest);
        length = norm(row);
    }
    row.iter_mut().for_each(|x| *x /= length);
}

impl std::str::FromStr for Similarity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "cosine" => Ok(Self::Cosine),
            "l2" => Ok(Self::L2),
            "dot" => Ok(Self::Dot),
            _ => {
                let allowed = "'cosine', 'l2' or 'dot'";
                Err(Error::Parameter { name: "metric", value: format!("'{text}'"), allowed })
            }
        }
    }
}

impl std::fmt::Display for Similarity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Dot => "dot",
        })
    }
}

/// The nearest gallery rows of each query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Nearest {
    /// The number of rows found for each query.
    pub k: usize,
    /// Rows of the gallery, best first, query after query.
    pub indices: Vec<usize>,
    /// The similarity of each row found to its query.
    pub similarities: Vec<f64>,
}

/// The `k` most similar gallery rows of each query by a full scan, best first; equal ones in the order of the gallery.
///
/// ```
/// use mahala::data::Embeddings;
/// use mahala::retrieval::{Similarity, nearest};
/// let gallery = Embeddings::double(vec![1.0, 0.0, 0.0, 1.0], 2)?;
/// let found = nearest(&gallery, &Embeddings::double(vec![0.0, 2.0], 2)?, 1, Similarity::Cosine)?;
/// assert_eq!((found.indices, found.similarities), (vec![1], vec![1.0]));
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// Other columns, or `k` that is 0 or above the number of gallery rows.
pub fn nearest(
    gallery: &Embeddings,
    queries: &Embeddings,
    k: usize,
    similarity: Similarity,
) -> Result<Nearest> {
    if k == 0 || k > gallery.len() {
        let allowed = "between 1 and the number of gallery rows";
        return Err(Error::Parameter { name: "k", value: k.to_string(), allowed });
    }
    let found = scan(gallery, queries, similarity, |_, scores| {
        let best = scores.top(k);
        best.into_iter().map(|at| (at, scores.get(at))).collect::<Vec<_>>()
    })?;
    let (indices, similarities) = found.into_iter().flatten().unzip();
    Ok(Nearest { k, indices, similarities })
}

/// The similarities of one query to every row of the gallery.
pub(crate) enum QueryScores<'a> {
    /// In single precision.
    Single(&'a mut [f32]),
    /// In double precision.
    Double(&'a mut [f64]),
}

impl QueryScores<'_> {
    /// The similarity of one row.
    pub(crate) fn get(&self, at: usize) -> f64 {
        match self {
            Self::Single(scores) => f64::from(scores[at]),
            Self::Double(scores) => scores[at],
        }
    }

    /// Puts a row behind all others.
    pub(crate) fn exclude(&mut self, at: usize) {
        match self {
            Self::Single(scores) => scores[at] = f32::NEG_INFINITY,
            Self::Double(scores) => scores[at] = f64::NEG_INFINITY,
        }
    }

    /// The best rows, best first; equal ones by index.
    pub(crate) fn top(&self, depth: usize) -> Vec<usize> {
        match self {
            Self::Single(scores) => top(scores, depth),
            Self::Double(scores) => top(scores, depth),
        }
    }

    /// The place of the best of some rows in the ranking, from 1; 0 if there is none.
    pub(crate) fn first_place(&self, rows: impl Iterator<Item = usize>) -> usize {
        match self {
            Self::Single(scores) => first_place(scores, rows),
            Self::Double(scores) => first_place(scores, rows),
        }
    }
}

fn top<T: Real>(scores: &[T], depth: usize) -> Vec<usize> {
    let depth = depth.min(scores.len());
    let mut best: Vec<usize> = if depth == scores.len() {
        (0..depth).collect()
    } else {
        // Values are partitioned faster than places are.
        let mut values = scores.to_vec();
        let (_, last, _) = values.select_nth_unstable_by(depth - 1, |a, b| b.order(a));
        let last = *last;
        let above = scores.iter().filter(|score| **score > last).count();
        let mut equal = depth - above;
        let mut inside = Vec::with_capacity(depth);
        for (at, score) in scores.iter().enumerate() {
            if *score > last {
                inside.push(at);
            } else if *score == last && equal > 0 {
                equal -= 1;
                inside.push(at);
            }
        }
        inside
    };
    best.sort_by(|&a, &b| scores[b].order(&scores[a]));
    best
}

fn first_place<T: Real>(scores: &[T], rows: impl Iterator<Item = usize>) -> usize {
    // The earlier of equal rows: later ones replace it only if they are better.
    let Some(best) = rows.reduce(|best, at| match scores[at].order(&scores[best]) {
        std::cmp::Ordering::Greater => at,
        std::cmp::Ordering::Equal => best.min(at),
        std::cmp::Ordering::Less => best,
    }) else {
        return 0;
    };
    let value = scores[best];
    let before = scores[..best].iter().filter(|score| **score >= value).count();
    before + scores[best..].iter().filter(|score| **score > value).count() + 1
}

/// Bytes of one block of similarities; every thread holds one.
const BLOCK_BYTES: usize = 16 << 20;
/// The fewest and the most queries of a block, which share one reading of the gallery.
const BLOCK_QUERIES: (usize, usize) = (8, 96);
/// Gallery rows multiplied, and converted where they must be, at a time.
const CHUNK: usize = 2048;

/// Calls `each` with every query and its similarities; the answers in the order of the queries.
///
/// Similarities have double precision if either table has, else single. Blocks are cut by the shape of the tables alone.
///
/// # Errors
/// Other columns.
pub(crate) fn scan<A: Send>(
    gallery: &Embeddings,
    queries: &Embeddings,
    similarity: Similarity,
    each: impl Fn(usize, &mut QueryScores<'_>) -> A + Sync,
) -> Result<Vec<A>> {
    gallery.check_columns(queries, "columns of the queries")?;
    if gallery.is_double() || queries.is_double() {
        Ok(blocks::<f64, A>(gallery, queries, similarity, |q, scores| {
            each(q, &mut QueryScores::Double(scores))
        }))
    } else {
        Ok(blocks::<f32, A>(gallery, queries, similarity, |q, scores| {
            each(q, &mut QueryScores::Single(scores))
        }))
    }
}

fn blocks<T: Real, A: Send>(
    gallery: &Embeddings,
    queries: &Embeddings,
    similarity: Similarity,
    each: impl Fn(usize, &mut [T]) -> A + Sync,
) -> Vec<A> {
    let norms = norm_terms(gallery, similarity);
    let size = (BLOCK_BYTES / (size_of::<T>() * gallery.len())).clamp(BLOCK_QUERIES.0, BLOCK_QUERIES.1);
    let starts: Vec<usize> = (0..queries.len()).step_by(size).collect();
    let found: Vec<Vec<A>> = starts
        .par_iter()
        .map(|&start| {
            let count = size.min(queries.len() - start);
            let mut scores = block::<T>(gallery, queries, start..start + count, similarity, &norms);
            scores.chunks_exact_mut(gallery.len()).zip(start..).map(|(scores, q)| each(q, scores)).collect()
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// Similarities of some queries, `queries × gallery`, row-major.
fn block<T: Real>(
    gallery: &Embeddings,
    queries: &Embeddings,
    range: std::ops::Range<usize>,
    similarity: Similarity,
    norms: &[f64],
) -> Vec<T> {
    let (n, d) = (gallery.len(), gallery.columns());
    let mut q = vec![T::default(); range.len() * d];
    T::read(queries, range.start, &mut q);
    let own: Vec<f64> = q.chunks_exact(d).map(squared_norm).collect();
    if similarity == Similarity::Cosine {
        for (row, own) in q.chunks_exact_mut(d).zip(&own).filter(|(_, own)| **own > 0.0) {
            let length = own.sqrt();
            row.iter_mut().for_each(|x| *x = T::of((*x).into() / length));
        }
    }
    let mut scores = vec![T::default(); range.len() * n];
    let q = MatRef::from_row_major_slice(&q, range.len(), d);
    let mut buffer: Vec<T> = Vec::new();
    for first in (0..n).step_by(CHUNK) {
        let rows = CHUNK.min(n - first);
        let chunk = rows_at(gallery, first, rows, &mut buffer);
        // One column a query: its scores are contiguous.
        let all = MatMut::from_column_major_slice_mut(&mut scores, n, range.len());
        let part = all.subrows_mut(first, rows);
        matmul(part, Accum::Replace, chunk, q.transpose(), T::of(1.0), Par::Seq);
    }
    for (scores, own) in scores.chunks_exact_mut(n).zip(own) {
        finish(scores, norms, own, similarity);
    }
    scores
}

/// From inner products to similarities; + 0 makes −0 and 0 one number.
fn finish<T: Real>(scores: &mut [T], norms: &[f64], own: f64, similarity: Similarity) {
    let scores = scores.iter_mut().zip(norms);
    match similarity {
        Similarity::Cosine => scores.for_each(|(s, inverse)| *s = T::of((*s).into() * inverse + 0.0)),
        Similarity::L2 => scores.for_each(|(s, square)| *s = T::of(2.0 * (*s).into() - square - own + 0.0)),
        Similarity::Dot => scores.for_each(|(s, _)| *s = T::of((*s).into() + 0.0)),
    }
}

/// Some rows as a matrix: where they lie, or converted.
pub(crate) fn rows_at<'a, T: Real>(
    table: &'a Embeddings,
    first: usize,
    rows: usize,
    buffer: &'a mut Vec<T>,
) -> MatRef<'a, T> {
    let d = table.columns();
    if let Some(cells) = T::in_place(table) {
        return MatRef::from_row_major_slice(&cells[first * d..][..rows * d], rows, d);
    }
    buffer.resize(rows * d, T::default());
    T::read(table, first, buffer);
    MatRef::from_row_major_slice(buffer, rows, d)
}

/// What a similarity needs of each gallery row: 1/‖x‖ for the cosine (1 for a row of zeros), ‖x‖² for L2.
fn norm_terms(table: &Embeddings, similarity: Similarity) -> Vec<f64> {
    let starts: Vec<usize> = (0..table.len()).step_by(CHUNK).collect();
    let term = |row: &[f64]| {
        let square = sum_by_lanes(row, row, |x, y| x * y);
        match similarity {
            Similarity::Cosine if square > 0.0 => 1.0 / square.sqrt(),
            Similarity::Cosine => 1.0,
            Similarity::L2 | Similarity::Dot => square,
        }
    };
    let terms: Vec<Vec<f64>> = starts
        .par_iter()
        .map(|&first| {
            let mut cells = vec![0.0; CHUNK.min(table.len() - first) * table.columns()];
            f64::read(table, first, &mut cells);
            cells.chunks_exact(table.columns()).map(term).collect()
        })
        .collect();
    terms.into_iter().flatten().collect()
}

fn squared_norm<T: Real>(row: &[T]) -> f64 {
    row.iter().map(|x| (*x).into() * (*x).into()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_similarities_are_in_the_order_of_the_gallery() {
        let gallery = Embeddings::single([1.0, 0.0].repeat(20), 2).unwrap();
        let found = nearest(&gallery, &Embeddings::single(vec![2.0, 0.0], 2).unwrap(), 5, Similarity::Cosine)
            .unwrap();
        assert_eq!((found.indices, found.similarities), (vec![0, 1, 2, 3, 4], vec![1.0; 5]));
        assert_eq!(top(&[1.0, 3.0, 2.0, 3.0, 2.0], 3), [1, 3, 2]);
        assert_eq!(first_place(&[1.0, 3.0, 2.0, 3.0, 2.0], [4, 2].into_iter()), 3);
        assert_eq!(first_place(&[1.0, 3.0], std::iter::empty()), 0);
    }

    #[test]
    fn many_blocks_and_chunks_find_what_a_loop_finds() {
        // Whole numbers: exact in either precision, so ties are ties.
        let cell = |i: usize| ((i * 7919) % 11) as f32 - 5.0;
        let gallery = Embeddings::single((0..3 * 5000).map(cell).collect(), 3).unwrap();
        let queries = Embeddings::single((0..3 * 205).map(|i| cell(i + 3)).collect(), 3).unwrap();
        let found = nearest(&gallery, &queries, 4, Similarity::L2).unwrap();
        for q in [0, 95, 96, 204] {
            let x = queries.row(q);
            let distance =
                |i: usize| gallery.row(i).iter().zip(&x).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut order: Vec<usize> = (0..5000).collect();
            order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            assert_eq!(found.indices[4 * q..][..4], order[..4], "query {q}");
            assert_eq!(found.similarities[4 * q], -distance(order[0]));
        }
    }

    #[test]
    fn a_row_of_zeros_is_as_far_as_a_right_angle() {
        let gallery = Embeddings::double(vec![0.0, 0.0, -1.0, 0.0, 1.0, 1.0], 2).unwrap();
        let found = nearest(&gallery, &Embeddings::double(vec![1.0, 0.0], 2).unwrap(), 3, Similarity::Cosine)
            .unwrap();
        assert_eq!(found.indices, [2, 0, 1]);
    }
}
