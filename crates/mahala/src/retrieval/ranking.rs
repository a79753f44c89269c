//! Measures of every query, relevance given by labels or by graded judgements.

use crate::data::Embeddings;
use crate::error::{Error, Result};
use crate::retrieval::measure::{Measure, Ranked, Scores};
use crate::retrieval::search::{Similarity, scan};

/// The gain of a document for a query; 0 or below means not relevant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// Row of the queries.
    pub query: usize,
    /// Row of the gallery.
    pub document: usize,
    /// How relevant it is.
    pub gain: f64,
}

/// Measures of each query, where a gallery row is relevant if it has the query's class.
///
/// Without queries every gallery row is one, among the others. Equal similarities are in the order of the gallery.
///
/// # Errors
/// No measure, other columns, or another number of codes than of rows.
pub fn by_labels(
    gallery: &Embeddings,
    codes: &[u32],
    queries: Option<(&Embeddings, &[u32])>,
    measures: &[Measure],
    similarity: Similarity,
) -> Result<Scores> {
    check_codes(gallery, codes, "labels of the gallery")?;
    let itself = queries.is_none();
    let (queries, asked) = queries.unwrap_or((gallery, codes));
    check_codes(queries, asked, "labels of the queries")?;
    let mut members: Vec<Vec<usize>> = Vec::new();
    members.resize(codes.iter().chain(asked).max().map_or(0, |&most| most as usize + 1), Vec::new());
    codes.iter().enumerate().for_each(|(i, &code)| members[code as usize].push(i));
    let relevant = |q: usize| members[asked[q] as usize].len() - usize::from(itself);
    let most = (0..queries.len()).map(relevant).max().unwrap_or(0);
    let depth = depth(measures, most, gallery.len() - usize::from(itself))?;
    let ones = vec![1.0; most];
    let needs_first = measures.contains(&Measure::Mrr);
    let values = scan(gallery, queries, similarity, |q, scores| {
        if itself {
            scores.exclude(q);
        }
        let class = asked[q];
        let gains: Vec<f64> = scores
            .top(depth)
            .into_iter()
            .map(|at| f64::from(codes[at] == class && !(itself && at == q)))
            .collect();
        let same = members[class as usize].iter().copied().filter(|&at| !(itself && at == q));
        let first = if needs_first { scores.first_place(same) } else { 0 };
        let ranked = Ranked { gains: &gains, ideal: &ones[..relevant(q)], relevant: relevant(q), first };
        measures.iter().map(|measure| measure.of(&ranked)).collect::<Vec<f64>>()
    })?;
    Ok(collected(measures, &values))
}

/// Measures of each query from graded judgements; what is not judged is not relevant.
///
/// nDCG takes gains as they are; other measures ask whether the gain is above 0.
///
/// ```
/// use mahala::data::Embeddings;
/// use mahala::retrieval::{Judgement, Measure, Similarity, by_judgements};
/// let documents = Embeddings::double(vec![1.0, 0.0, 0.8, 0.6, 0.0, 1.0], 2)?;
/// let query = Embeddings::double(vec![1.0, 0.1], 2)?;
/// let judged = [(0, 1.0), (1, 3.0)].map(|(document, gain)| Judgement { query: 0, document, gain });
/// let scores = by_judgements(&documents, &query, &judged, &[Measure::NdcgAt(2)], Similarity::Cosine)?;
/// assert!((scores.mean(0) - 0.7967).abs() < 5e-5);
/// # Ok::<(), mahala::Error>(())
/// ```
///
/// # Errors
/// No measure, other columns, a row that does not exist, a gain that is not finite, or a pair judged twice.
pub fn by_judgements(
    gallery: &Embeddings,
    queries: &Embeddings,
    judgements: &[Judgement],
    measures: &[Measure],
    similarity: Similarity,
) -> Result<Scores> {
    let judged = grouped(judgements, queries.len(), gallery.len())?;
    let most = judged.iter().map(Vec::len).max().unwrap_or(0);
    let depth = depth(measures, most, gallery.len())?;
    let needs_first = measures.contains(&Measure::Mrr);
    let values = scan(gallery, queries, similarity, |q, scores| {
        let judged = &judged[q];
        let gain = |at: usize| judged.binary_search_by_key(&at, |j| j.0).map_or(0.0, |place| judged[place].1);
        let gains: Vec<f64> = scores.top(depth).into_iter().map(gain).collect();
        let mut ideal: Vec<f64> = judged.iter().map(|j| j.1).collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let first = if needs_first { scores.first_place(judged.iter().map(|j| j.0)) } else { 0 };
        let ranked = Ranked { gains: &gains, ideal: &ideal, relevant: judged.len(), first };
        measures.iter().map(|measure| measure.of(&ranked)).collect::<Vec<f64>>()
    })?;
    Ok(collected(measures, &values))
}

/// For each query its relevant documents with their gains, by document.
pub(crate) fn grouped(
    judgements: &[Judgement],
    queries: usize,
    documents: usize,
) -> Result<Vec<Vec<(usize, f64)>>> {
    let mut judged = vec![Vec::new(); queries];
    for (index, judgement) in judgements.iter().enumerate() {
        for (kind, row, rows) in [
            ("the query of judgement", judgement.query, queries),
            ("the document of judgement", judgement.document, documents),
        ] {
            if row >= rows {
                return Err(Error::TupleOutOfRange { kind, index, row, rows });
            }
        }
        if !judgement.gain.is_finite() {
            let (value, allowed) = (format!("{} in judgement {index}", judgement.gain), "a finite number");
            return Err(Error::Parameter { name: "gain", value, allowed });
        }
        if judgement.gain > 0.0 {
            judged[judgement.query].push((judgement.document, judgement.gain));
        }
    }
    for (query, judged) in judged.iter_mut().enumerate() {
        judged.sort_by_key(|j| j.0);
        if let Some(twice) = judged.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let value = format!("given twice for query {query} and document {}", twice[0].0);
            return Err(Error::Parameter { name: "gain", value, allowed: "given once for each pair" });
        }
    }
    Ok(judged)
}

fn depth(measures: &[Measure], relevant: usize, available: usize) -> Result<usize> {
    let depth = measures.iter().map(|measure| measure.depth(relevant)).max();
    let depth = depth.ok_or(Error::Empty { what: "the list of measures" })?;
    Ok(depth.min(available).max(1))
}

fn check_codes(table: &Embeddings, codes: &[u32], what: &'static str) -> Result<()> {
    if codes.len() == table.len() {
        return Ok(());
    }
    Err(Error::Length { what, seen: codes.len(), expected: table.len() })
}

fn collected(measures: &[Measure], values: &[Vec<f64>]) -> Scores {
    let of = |measure: usize| values.iter().map(|query| query[measure]).collect();
    Scores { measures: measures.to_vec(), values: (0..measures.len()).map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Random;

    const MEASURES: [Measure; 7] = [
        Measure::RecallAt(1),
        Measure::RecallAt(5),
        Measure::IrRecallAt(5),
        Measure::PrecisionAt(5),
        Measure::Mrr,
        Measure::NdcgAt(10),
        Measure::MapAtR,
    ];

    fn rows(count: usize, seed: u64) -> (Embeddings, Vec<u32>) {
        let mut random = Random::new(seed, 0);
        let codes: Vec<u32> = (0..count).map(|_| random.below(5) as u32).collect();
        let cells = codes.iter().flat_map(|&c| (0..4).map(move |j| f64::from((c + j) % 5)));
        let cells: Vec<f64> = cells.map(|x| x + 3.0 * random.uniform()).collect();
        (Embeddings::double(cells, 4).unwrap(), codes)
    }

    /// Every measure of one query by a loop over its ranking.
    fn by_definition(gains: &[f64]) -> [f64; 7] {
        let hits: Vec<f64> = gains.iter().map(|gain| f64::from(*gain > 0.0)).collect();
        let relevant: f64 = hits.iter().sum();
        let found = |k: usize| hits[..k].iter().sum::<f64>();
        let dcg = |gains: &[f64]| (0..10).map(|i| gains[i] / ((i + 2) as f64).log2()).sum::<f64>();
        let mut ideal = gains.to_vec();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let first = hits.iter().position(|hit| *hit > 0.0).unwrap();
        let map =
            (0..relevant as usize).map(|i| hits[i] * found(i + 1) / (i + 1) as f64).sum::<f64>() / relevant;
        [
            found(1),
            f64::from(found(5) > 0.0),
            found(5) / relevant,
            found(5) / 5.0,
            1.0 / (first + 1) as f64,
            dcg(gains) / dcg(&ideal),
            map,
        ]
    }

    fn ranking(gallery: &Embeddings, query: &[f64]) -> Vec<usize> {
        let distance = |i: usize| gallery.row(i).iter().zip(query).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let mut order: Vec<usize> = (0..gallery.len()).collect();
        order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        order
    }

    fn assert_close(scores: &Scores, query: usize, wanted: [f64; 7]) {
        for (measure, wanted) in wanted.into_iter().enumerate() {
            let seen = scores.values[measure][query];
            assert!(
                (seen - wanted).abs() < 1e-12,
                "{} of query {query}: {seen}, {wanted}",
                MEASURES[measure]
            );
        }
    }

    #[test]
    fn measures_are_their_definitions() {
        let ((gallery, codes), (queries, asked)) = (rows(60, 1), rows(30, 2));
        let scores =
            by_labels(&gallery, &codes, Some((&queries, &asked)), &MEASURES, Similarity::L2).unwrap();
        for (q, class) in asked.iter().enumerate() {
            let order = ranking(&gallery, &queries.row(q));
            let gains: Vec<f64> = order.iter().map(|&i| f64::from(codes[i] == *class)).collect();
            assert_close(&scores, q, by_definition(&gains));
        }
    }

    #[test]
    fn graded_measures_are_their_definitions() {
        let ((gallery, _), (queries, _)) = (rows(60, 1), rows(30, 2));
        let mut random = Random::new(3, 0);
        let gains: Vec<f64> = (0..1800).map(|_| [0.0, 0.0, -1.0, 1.0, 2.0, 4.0][random.below(6)]).collect();
        let judgement = |i: usize| Judgement { query: i / 60, document: i % 60, gain: gains[i] };
        let judgements: Vec<Judgement> = (0..1800).rev().map(judgement).collect();
        let scores = by_judgements(&gallery, &queries, &judgements, &MEASURES, Similarity::L2).unwrap();
        for q in 0..30 {
            let order = ranking(&gallery, &queries.row(q));
            let ranked: Vec<f64> = order.iter().map(|&i| gains[60 * q + i].max(0.0)).collect();
            assert_close(&scores, q, by_definition(&ranked));
        }
    }

    #[test]
    fn without_queries_a_row_is_not_its_own_neighbour() {
        let (gallery, codes) = rows(40, 5);
        let scores = by_labels(&gallery, &codes, None, &MEASURES, Similarity::L2).unwrap();
        for q in 0..40 {
            let order = ranking(&gallery, &gallery.row(q)).into_iter().filter(|&i| i != q);
            let gains: Vec<f64> = order.map(|i| f64::from(codes[i] == codes[q])).collect();
            assert_close(&scores, q, by_definition(&gains));
        }
    }

    #[test]
    fn a_query_without_a_relevant_row_has_no_value() {
        let gallery = Embeddings::single(vec![1.0, 0.0, 0.0, 1.0], 2).unwrap();
        let asked = Some((&gallery, &[0u32, 7][..]));
        let scores = by_labels(&gallery, &[0, 1], asked, &MEASURES, Similarity::Cosine).unwrap();
        assert!(scores.values.iter().all(|values| !values[0].is_nan() && values[1].is_nan()));
        assert_eq!(scores.mean(0), 1.0);
    }

    #[test]
    fn half_precision_ranks_as_the_same_numbers_in_single() {
        let bits: Vec<u16> = (0..400).map(|i: u16| 0x3000 + (i * 37) % 0x0c00).collect();
        let single = bits.iter().map(|&b| crate::data::embeddings::single_of_half(b)).collect();
        let (half, single) = (Embeddings::half(bits, 4).unwrap(), Embeddings::single(single, 4).unwrap());
        let codes: Vec<u32> = (0..100).map(|i| i % 6).collect();
        let of = |table| by_labels(table, &codes, None, &MEASURES, Similarity::Cosine).unwrap().values;
        assert_eq!(of(&half), of(&single));
    }

    #[test]
    fn what_cannot_be_measured_is_refused_in_words() {
        let (gallery, codes) = rows(40, 5);
        let l2 = Similarity::L2;
        let error = by_labels(&gallery, &codes, None, &[], l2).unwrap_err();
        assert_eq!(error, Error::Empty { what: "the list of measures" });
        let error = by_labels(&gallery, &codes[1..], None, &MEASURES, l2).unwrap_err();
        assert_eq!(error.to_string(), "labels of the gallery: 39 given, 40 expected");
        let judged = |document, gain| [Judgement { query: 0, document, gain }; 2];
        let refused =
            |j: [Judgement; 2]| by_judgements(&gallery, &gallery, &j, &MEASURES, l2).unwrap_err().to_string();
        assert!(refused(judged(40, 1.0)).contains("the document of judgement 0 names row index 40"));
        assert!(refused(judged(1, f64::NAN)).contains("gain is NaN in judgement 0"));
        assert!(refused(judged(1, 1.0)).contains("given twice for query 0 and document 1"));
    }
}
