//! Clicks, judgements and triplets: queries, and documents that belong to them.

use crate::data::{Embeddings, Random, Stream};
use crate::embeddings::source::{FOLDS, Known, Look, Probe};
use crate::embeddings::sums::{TwoSums, covariance, mean_outer};
use crate::error::{Error, Result};
use crate::retrieval::Judgement;
use faer::Mat;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Queries, documents and which of them belong together. Held out are whole queries, which search all documents, or a
/// sample with those that are relevant to them.
///
/// Dissimilar are the pairs given as such, or else every query with every document.
pub(crate) struct Clicks {
    queries: Embeddings,
    documents: Embeddings,
    relevant: Vec<Judgement>,
    not_relevant: Option<Vec<(usize, usize)>>,
    /// The fold of each query; none where nothing is relevant to it.
    folds: Vec<Option<usize>>,
    max_gallery: usize,
    /// The order in which documents are drawn into a gallery.
    order: Vec<usize>,
    mean: Vec<f64>,
    total: Mat<f64>,
}

impl Clicks {
    pub(crate) fn new(
        queries: Embeddings,
        documents: Embeddings,
        judgements: &[Judgement],
        not_relevant: Option<Vec<(usize, usize)>>,
        max_gallery: usize,
        seed: u64,
    ) -> Result<Self> {
        documents.check_columns(&queries, "columns of the queries")?;
        let judged = crate::retrieval::grouped(judgements, queries.len(), documents.len())?;
        let asked: Vec<usize> = (0..judged.len()).filter(|&q| !judged[q].is_empty()).collect();
        if asked.len() < FOLDS {
            let what = "a choice by held-out queries that have a relevant document";
            return Err(Error::TooFewRows { what, needed: FOLDS, seen: asked.len() });
        }
        let mut folds = vec![None; judged.len()];
        let order = Random::of(seed, Stream::Folds).permutation(asked.len());
        order.iter().enumerate().for_each(|(at, &place)| folds[asked[place]] = Some(at % FOLDS));
        let of = |(query, judged): (usize, Vec<(usize, f64)>)| {
            judged.into_iter().map(move |(document, gain)| Judgement { query, document, gain })
        };
        let relevant = judged.into_iter().enumerate().flat_map(of).collect();
        let (mean, total) = covariance(&documents);
        let order = Random::of(seed, Stream::Subset).permutation(documents.len());
        Ok(Self { queries, documents, relevant, not_relevant, folds, max_gallery, order, mean, total })
    }

    pub(crate) fn sums(&self, without: Option<usize>) -> Result<TwoSums> {
        let kept = |query: usize| without.is_none() || self.folds[query] != without;
        let relevant: Vec<(usize, usize, f64)> =
            self.relevant.iter().filter(|j| kept(j.query)).map(|j| (j.query, j.document, j.gain)).collect();
        let d = self.mean.len();
        let dissimilar = if let Some(pairs) = &self.not_relevant {
            let pairs: Vec<_> = pairs.iter().filter(|pair| kept(pair.0)).map(|&(q, x)| (q, x, 1.0)).collect();
            mean_outer(&self.queries, &self.documents, &pairs)
        } else {
            let asked: Vec<usize> =
                (0..self.folds.len()).filter(|&q| self.folds[q].is_some() && kept(q)).collect();
            let (mean, total) = covariance(&self.queries.subset(&asked)?);
            let apart: Vec<f64> = self.mean.iter().zip(&mean).map(|(a, b)| a - b).collect();
            Mat::from_fn(d, d, |i, j| self.total[(i, j)] + total[(i, j)] + apart[i] * apart[j])
        };
        Ok(TwoSums {
            similar: mean_outer(&self.queries, &self.documents, &relevant),
            dissimilar,
            between: None,
            total: self.total.clone(),
            mean: self.mean.clone(),
            directions: d,
            rank: d.min(relevant.len()),
        })
    }

    pub(crate) fn probe(&self, fold: usize, look: Look) -> Result<Probe> {
        let most = self.max_gallery.min(look.gallery);
        let (asked, gallery) = self.held_out(fold, look.queries, most);
        let place = |document: usize| {
            gallery.as_ref().map_or(Some(document), |gallery| gallery.binary_search(&document).ok())
        };
        let judged = |j: &Judgement| {
            let query = asked.binary_search(&j.query).ok()?;
            Some(Judgement { query, document: place(j.document)?, ..*j })
        };
        let judgements = self.relevant.iter().filter_map(judged).collect();
        let documents = match &gallery {
            Some(gallery) => self.documents.subset(gallery)?,
            None => self.documents.clone(),
        };
        let tables = vec![documents, self.queries.subset(&asked)?];
        Ok(Probe { tables, known: Known::Judgements(judgements), groups: None })
    }

    /// A fold's queries and the documents they search, both ascending; none where they search all.
    ///
    /// Every document that is relevant to a query is in its gallery. These are at most half of it, so that there is something
    /// to find them among: queries are left out beyond that.
    fn held_out(&self, fold: usize, queries: usize, most: usize) -> (Vec<usize>, Option<Vec<usize>>) {
        let mine = (0..self.folds.len()).filter(|&q| self.folds[q] == Some(fold)).take(queries);
        if self.documents.len() <= most {
            return (mine.collect(), None);
        }
        let (mut asked, mut gallery) = (Vec::new(), BTreeSet::new());
        for query in mine {
            let first = self.relevant.partition_point(|j| j.query < query);
            let own = self.relevant[first..].iter().take_while(|j| j.query == query).map(|j| j.document);
            let added = own.clone().filter(|document| !gallery.contains(document)).count();
            if !asked.is_empty() && 2 * (gallery.len() + added) > most {
                break;
            }
            asked.push(query);
            gallery.extend(own);
        }
        for &document in &self.order {
            if gallery.len() >= most {
                break;
            }
            gallery.insert(document);
        }
        (asked, Some(gallery.into_iter().collect()))
    }
}

/// The most documents that are relevant to one query: they are held together, whatever the limit of a gallery.
pub(crate) fn most_relevant(judgements: &[Judgement]) -> usize {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    judgements.iter().filter(|j| j.gain > 0.0).for_each(|j| *counts.entry(j.query).or_default() += 1);
    counts.into_values().max().unwrap_or(0)
}

/// The different rows of tables, one after the other, and the place of each row among them.
pub(crate) fn distinct(tables: &[&Embeddings]) -> Result<(Embeddings, Vec<usize>)> {
    // Rows of one hash are compared where they lie, so that no row is held twice.
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let (mut firsts, mut place) = (Vec::new(), Vec::new());
    let bits = |(table, i): (usize, usize)| tables[table].row(i).into_iter().map(f64::to_bits);
    for (table, rows) in tables.iter().enumerate() {
        for i in 0..rows.len() {
            let mut hasher = DefaultHasher::new();
            bits((table, i)).for_each(|bits| bits.hash(&mut hasher));
            let alike = places.entry(hasher.finish()).or_default();
            let known = alike.iter().copied().find(|&at| bits(firsts[at]).eq(bits((table, i))));
            place.push(known.unwrap_or_else(|| {
                alike.push(firsts.len());
                firsts.push((table, i));
                firsts.len() - 1
            }));
        }
    }
    let cells = firsts.iter().flat_map(|&(table, i)| tables[table].row(i));
    let d = tables[0].columns();
    let table = if tables.iter().any(|table| table.is_double()) {
        Embeddings::double(cells.collect(), d)?
    } else {
        Embeddings::single(cells.map(|x| x as f32).collect(), d)?
    };
    Ok((table, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` documents on a line, and a query for each of `asked` of them, with that one and the next relevant to it.
    fn clicks(n: usize, asked: usize, max_gallery: usize) -> Clicks {
        let documents = Embeddings::single((0..n).map(|i| i as f32).collect(), 1).unwrap();
        let queries = documents.subset(&(0..asked).collect::<Vec<_>>()).unwrap();
        let judged = |query| [query, query + 1].map(|document| Judgement { query, document, gain: 1.0 });
        let judgements: Vec<Judgement> = (0..asked).flat_map(judged).collect();
        Clicks::new(queries, documents, &judgements, None, max_gallery, 7).unwrap()
    }

    #[test]
    fn a_gallery_is_a_seeded_sample_that_keeps_relevant_documents() {
        let source = clicks(1000, 400, 100);
        for fold in 0..FOLDS {
            let look = Look { queries: 10, gallery: usize::MAX };
            let probe = source.probe(fold, look).unwrap();
            assert_eq!((probe.tables[0].len(), probe.tables[1].len()), (100, 10));
            let Known::Judgements(judged) = &probe.known else { panic!("judgements") };
            assert_eq!(judged.len(), 20);
            for j in judged {
                let apart = probe.tables[0].row(j.document)[0] - probe.tables[1].row(j.query)[0];
                assert!(apart == 0.0 || apart == 1.0, "the place of a document is that in the gallery");
            }
            let again = clicks(1000, 400, 100).held_out(fold, 10, 100);
            assert_eq!(again, source.held_out(fold, 10, 100));
        }
        let of = |seed| Clicks {
            order: Random::of(seed, Stream::Subset).permutation(1000),
            ..clicks(1000, 400, 100)
        };
        assert_ne!(of(1).held_out(0, 10, 100), of(2).held_out(0, 10, 100));
    }

    #[test]
    fn relevant_documents_are_at_most_half_of_a_gallery_unless_one_query_has_more() {
        let (asked, gallery) = clicks(1000, 400, 100).held_out(0, 1500, 100);
        assert!((20..=50).contains(&asked.len()), "{}", asked.len());
        assert_eq!(gallery.map(|gallery| gallery.len()), Some(100));
        let documents = Embeddings::single((0..50).map(|i| i as f32).collect(), 1).unwrap();
        let judgements: Vec<Judgement> =
            (0..160).map(|i| Judgement { query: i / 40, document: i % 40, gain: 1.0 }).collect();
        let queries = documents.subset(&[0, 1, 2, 3]).unwrap();
        let source = Clicks::new(queries, documents, &judgements, None, 8, 0).unwrap();
        let (asked, gallery) = source.held_out(0, 1500, 8);
        assert_eq!((asked.len(), gallery.map(|gallery| gallery.len())), (1, Some(40)));
        assert_eq!(most_relevant(&judgements), 40);
    }

    #[test]
    fn few_documents_are_all_searched() {
        let source = clicks(40, 20, 40);
        let probe = source.probe(1, Look { queries: 100, gallery: 40 }).unwrap();
        assert_eq!((probe.tables[0].len(), probe.tables[1].len()), (40, 5));
    }

    #[test]
    fn equal_rows_of_several_tables_are_one_row() {
        let first = Embeddings::single(vec![1.0, 2.0, 3.0, 4.0, 1.0, 2.0], 2).unwrap();
        let second = Embeddings::single(vec![5.0, 6.0, 3.0, 4.0], 2).unwrap();
        let (rows, place) = distinct(&[&first, &second]).unwrap();
        assert_eq!((rows.len(), place), (3, vec![0, 1, 0, 2, 1]));
        assert_eq!(rows.row(2), [5.0, 6.0]);
        assert!(!rows.is_double());
    }
}
