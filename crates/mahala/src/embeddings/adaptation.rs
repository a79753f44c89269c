//! An adapted embedding: a linear map with the similarity it is for.

use crate::data::Embeddings;
use crate::embeddings::Classes;
use crate::embeddings::map::LinearMap;
use crate::embeddings::member::Member;
use crate::embeddings::report::Report;
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::retrieval::{Similarity, scan};
use faer::MatRef;
use rayon::prelude::*;

/// What an [`Adapter`](crate::embeddings::Adapter) learned: z = L(x − m), searched by one similarity.
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptation {
    pub(super) map: LinearMap,
    pub(super) similarity: Similarity,
    pub(super) classes: Classes,
    pub(super) member: Member,
    pub(super) report: Option<Report>,
    pub(super) reason: String,
}

impl Adaptation {
    pub(crate) fn new(
        map: LinearMap,
        similarity: Similarity,
        classes: Classes,
        member: Member,
        report: Option<Report>,
    ) -> Result<Self> {
        // A number that is not finite is an overflow.
        Metric::computed(map.components().to_owned(), map.mean().to_vec(), None)?;
        let reason =
            report.as_ref().map_or_else(|| format!("{member}: given"), |report| report.reason.clone());
        Ok(Self { map, similarity, classes, member, report, reason })
    }

    /// L, one coordinate a row.
    pub fn components(&self) -> MatRef<'_, f64> {
        self.map.components()
    }

    /// m, subtracted first; zero where rows are left as they are.
    pub fn mean(&self) -> &[f64] {
        self.map.mean()
    }

    /// By which mapped rows are searched.
    pub fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Which classes it was chosen for.
    pub fn classes(&self) -> Classes {
        self.classes
    }

    /// The closed form.
    pub fn member(&self) -> Member {
        self.member
    }

    /// What was tried; none if the member was given, or the adaptation was read from a file.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Why this member, in one sentence.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Mapped rows, of norm 1 for the cosine: then cosine, inner product and Euclidean distance rank alike. In double
    /// precision for rows of double precision, else single.
    ///
    /// # Errors
    /// Other columns.
    pub fn transform(&self, rows: &Embeddings) -> Result<Embeddings> {
        self.map.apply(rows, self.similarity == Similarity::Cosine)
    }

    /// Queries for documents that stay in their store as they are: g = A(q − m) of each, and gᵀm.
    ///
    /// # Formula
    /// ```text
    /// cosine:  (gᵀx − gᵀm)/s_x,  s_x = √((x − m)ᵀA(x − m))     times one number a query that changes no ranking
    /// L2:      2(gᵀx − gᵀm) − s_x,  s_x = (x − m)ᵀA(x − m)      minus the squared distance, but for one number a query
    /// ```
    /// with `s_x` the document's one stored number, [`Adaptation::document_terms`].
    ///
    /// # Errors
    /// Other columns.
    pub fn query_map(&self, queries: &Embeddings) -> Result<(Embeddings, Vec<f64>)> {
        self.map.query_map(queries)
    }

    /// The one number to store with each document.
    ///
    /// # Errors
    /// Other columns.
    pub fn document_terms(&self, documents: &Embeddings) -> Result<Vec<f64>> {
        self.map.document_terms(documents, self.similarity)
    }

    /// Similarities of queries to plain documents by their stored terms, query after query: cosines, or minus squared
    /// distances.
    ///
    /// # Errors
    /// Other columns, or another number of terms than of documents.
    pub fn scores(&self, queries: &Embeddings, documents: &Embeddings, terms: &[f64]) -> Result<Vec<f64>> {
        check_terms(documents, terms)?;
        let (g, offsets) = self.query_map(queries)?;
        let own = self.document_terms(queries)?;
        let rows = scan(documents, &g, Similarity::Dot, |q, products| {
            let score = |at: usize| self.similarity_of(products.get(at) - offsets[q], terms[at], own[q]);
            (0..terms.len()).map(score).collect::<Vec<f64>>()
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The `k` most similar of the candidates that an index of plain documents gave for each query, best first: places and
    /// similarities. Equal ones are in the order of the candidates; where there are fewer than `k`, none follow.
    ///
    /// # Errors
    /// Other columns, another number of terms than of documents or of lists than of queries, a candidate that does not exist.
    pub fn rescore(
        &self,
        queries: &Embeddings,
        documents: &Embeddings,
        terms: &[f64],
        candidates: &[Vec<usize>],
        k: usize,
    ) -> Result<Vec<Vec<(usize, f64)>>> {
        check_terms(documents, terms)?;
        if candidates.len() != queries.len() {
            let (what, seen, expected) = ("lists of candidates", candidates.len(), queries.len());
            return Err(Error::Length { what, seen, expected });
        }
        for (index, list) in candidates.iter().enumerate() {
            if let Some(&row) = list.iter().find(|&&row| row >= documents.len()) {
                return Err(Error::TupleOutOfRange {
                    kind: "the candidates of query",
                    index,
                    row,
                    rows: documents.len(),
                });
            }
        }
        let (g, offsets) = self.query_map(queries)?;
        let own = self.document_terms(queries)?;
        let best = |q: usize| {
            let g = g.row(q);
            let score = |&at: &usize| {
                let product: f64 = documents.row(at).iter().zip(&g).map(|(x, g)| x * g).sum();
                (at, self.similarity_of(product - offsets[q], terms[at], own[q]))
            };
            let mut scored: Vec<(usize, f64)> = candidates[q].iter().map(score).collect();
            scored.sort_by(|a, b| b.1.total_cmp(&a.1));
            scored.truncate(k);
            scored
        };
        Ok((0..queries.len()).into_par_iter().map(best).collect())
    }

    fn similarity_of(&self, product: f64, term: f64, own: f64) -> f64 {
        let or_one = |x: f64| if x > 0.0 { x } else { 1.0 };
        match self.similarity {
            Similarity::L2 => 2.0 * product - term - own,
            _ => product / or_one(term) / or_one(own),
        }
    }

    /// Documents rescaled once, with one column more, for an inner-product index that stays exact: `[x, 1]/s_x`, or `[x, s_x]`
    /// for L2; to be searched by [`Adaptation::augmented_queries`].
    ///
    /// # Errors
    /// Other columns.
    pub fn augmented_documents(&self, documents: &Embeddings) -> Result<Embeddings> {
        let terms = self.document_terms(documents)?;
        let augmented = |(i, term): (usize, &f64)| {
            let mut row = documents.row(i);
            if self.similarity == Similarity::L2 {
                row.push(*term);
            } else {
                row.push(1.0);
                let divisor = if *term > 0.0 { *term } else { 1.0 };
                row.iter_mut().for_each(|x| *x /= divisor);
            }
            row
        };
        table(documents, terms.iter().enumerate().flat_map(augmented).collect())
    }

    /// Queries whose inner products with [`Adaptation::augmented_documents`] rank as the adaptation does: [g, −gᵀm], or
    /// [2g, −1] for L2.
    ///
    /// # Errors
    /// Other columns.
    pub fn augmented_queries(&self, queries: &Embeddings) -> Result<Embeddings> {
        let (g, offsets) = self.query_map(queries)?;
        let l2 = self.similarity == Similarity::L2;
        let augmented = |(i, offset): (usize, &f64)| {
            let mut row = g.row(i);
            if l2 {
                row.iter_mut().for_each(|x| *x *= 2.0);
            }
            row.push(if l2 { -1.0 } else { -offset });
            row
        };
        table(queries, offsets.iter().enumerate().flat_map(augmented).collect())
    }
}

fn check_terms(documents: &Embeddings, terms: &[f64]) -> Result<()> {
    if terms.len() == documents.len() {
        return Ok(());
    }
    let (what, seen, expected) = ("stored terms (one for each document)", terms.len(), documents.len());
    Err(Error::Length { what, seen, expected })
}

/// Cells in the precision that is computed in for a table.
fn table(like: &Embeddings, cells: Vec<f64>) -> Result<Embeddings> {
    let columns = cells.len() / like.len();
    if like.is_double() {
        return Embeddings::double(cells, columns);
    }
    Embeddings::single(cells.into_iter().map(|x| x as f32).collect(), columns)
}
