//! Adapters of embeddings: what they choose, that they do no harm, and that stores need no new index.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::data::{Embeddings, Random};
use mahala::embeddings::{Adaptation, Adapter, Classes, Form, Member};
use mahala::geometry::{Spd, geometric_mean};
use mahala::progress::silent;
use mahala::retrieval::{Judgement, Measure, Similarity, by_labels, nearest};
use mahala::{Mat, Model};

/// Classes differ in the first half of the columns; the second half is loud noise.
fn rows(classes: usize, per_class: usize, d: usize, signal: f64, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut random = Random::new(seed, 0);
    let mut normal = move || (0..6).map(|_| random.uniform()).sum::<f64>() - 3.0;
    let centres: Vec<f64> =
        (0..classes * d).map(|i| if i % d < d / 2 { signal * normal() } else { 0.0 }).collect();
    let codes: Vec<u32> = (0..classes * per_class).map(|i| (i / per_class) as u32).collect();
    let mut cells = Vec::new();
    for &code in &codes {
        let centre = &centres[code as usize * d..][..d];
        cells.extend((0..d).map(|j| centre[j] + 0.5 + normal() * if j < d / 2 { 1.0 } else { 3.0 }));
    }
    (cells, codes)
}

fn single(cells: &[f64], d: usize) -> Embeddings {
    Embeddings::single(cells.iter().map(|&x| x as f32).collect(), d).unwrap()
}

fn map_at_r(table: &Embeddings, codes: &[u32]) -> f64 {
    by_labels(table, codes, None, &[Measure::MapAtR], Similarity::Cosine).unwrap().mean(0)
}

fn given(member: Member, similarity: Similarity) -> Adapter {
    Adapter { member: Some(member), similarity, ..Adapter::default() }
}

fn members() -> [Member; 4] {
    [
        Member { t: Some(0.3), ..Member::new(Form::Gmml, 0.1) },
        Member::new(Form::Kissme, 0.1),
        Member::new(Form::Lda, 0.1),
        Member { plain_share: 0.2, ..Member::new(Form::Kissme, 0.1) },
    ]
}

#[test]
fn known_classes_and_new_ones_are_found_better() {
    let (cells, codes) = rows(12, 40, 24, 2.0, 1);
    let half = 24 * 40 * 8;
    let (old, new) = (single(&cells[..half], 24), single(&cells[half..], 24));
    let (seen, unseen) = (&codes[..320], &codes[320..]);
    let known = Adapter::default().fit_labels(&old, seen).unwrap();
    assert!(known.report().unwrap().worth_it, "{}", known.reason());
    let other = Adapter { classes: Classes::Unseen, ..Adapter::default() }.fit_labels(&old, seen).unwrap();
    assert!(other.report().unwrap().gain.low > 0.0, "{}", other.reason());
    assert!(map_at_r(&other.transform(&new).unwrap(), unseen) > map_at_r(&new, unseen) + 0.1);
}

#[test]
fn labels_that_say_nothing_leave_rows_as_they_are() {
    let (cells, codes) = rows(12, 30, 24, 0.0, 2);
    for classes in [Classes::Seen, Classes::Unseen] {
        let fit = Adapter { classes, ..Adapter::default() }.fit_labels(&single(&cells, 24), &codes).unwrap();
        assert_eq!(fit.member(), Member::new(Form::Plain, 0.0), "{}", fit.reason());
        assert!(fit.reason().starts_with("not worth it"), "{}", fit.reason());
    }
}

#[test]
fn few_labels_cost_unlabelled_rows_nothing() {
    // 30 labelled rows in 64 columns, and nine classes that no label spoke of.
    let (cells, codes) = rows(6, 5, 64, 2.0, 3);
    let (others, other_codes) = rows(9, 12, 64, 2.0, 4);
    let others = single(&others, 64);
    let fit = Adapter { classes: Classes::Unseen, ..Adapter::default() };
    let fit = fit.fit_labels(&single(&cells, 64), &codes).unwrap();
    let (before, after) =
        (map_at_r(&others, &other_codes), map_at_r(&fit.transform(&others).unwrap(), &other_codes));
    // Two standard errors of a mean over 108 queries with a deviation of .1.
    assert!(after > before - 0.02, "{before} -> {after}: {}", fit.reason());
}

#[test]
fn what_lies_outside_the_span_of_few_rows_has_the_weight_of_the_plain_share() {
    let (mut cells, codes) = rows(4, 5, 16, 2.0, 5);
    // No row has anything in the last column.
    cells.iter_mut().skip(15).step_by(16).for_each(|x| *x = 0.0);
    let table = single(&cells, 16);
    for share in [0.1, 0.6] {
        let member = Member { plain_share: share, ..Member::new(Form::Kissme, 0.3) };
        let fit = given(member, Similarity::Cosine).fit_labels(&table, &codes).unwrap();
        let outside: f64 = (0..fit.components().nrows()).map(|i| fit.components()[(i, 15)].powi(2)).sum();
        assert!((outside - share).abs() < 1e-9, "{share}: {outside}");
    }
}

#[test]
fn gmml_is_the_weighted_geometric_mean_of_the_means_over_pairs() {
    let (cells, codes) = rows(5, 8, 6, 2.0, 6);
    let member = Member { t: Some(0.4), ..Member::new(Form::Gmml, 0.2) };
    let table = Embeddings::double(cells.clone(), 6).unwrap();
    let fit = given(member, Similarity::L2).fit_labels(&table, &codes).unwrap();
    let a = fit.components().transpose() * fit.components();
    // S from the pooled covariance within classes, D over all pairs of different classes, by their definitions.
    let row = |i: usize| &cells[6 * i..][..6];
    let (mut s, mut d, mut pairs) = (Mat::<f64>::zeros(6, 6), Mat::<f64>::zeros(6, 6), [0.0; 2]);
    for i in 0..40 {
        for j in 0..i {
            let same = codes[i] == codes[j];
            let sum = if same { &mut s } else { &mut d };
            for (p, q) in (0..36).map(|at| (at / 6, at % 6)) {
                sum[(p, q)] += (row(i)[p] - row(j)[p]) * (row(i)[q] - row(j)[q]);
            }
            pairs[usize::from(same)] += 1.0;
        }
    }
    // A mean over pairs of one class of 8 is 8/7 of twice the covariance over n.
    let s = Mat::from_fn(6, 6, |i, j| s[(i, j)] / pairs[1] * 7.0 / 8.0);
    let between = Mat::from_fn(6, 6, |i, j| d[(i, j)] / pairs[0] - s[(i, j)]);
    let mean = (0..6).map(|i| s[(i, i)]).sum::<f64>() / 6.0;
    let shrunk = Mat::from_fn(6, 6, |i, j| 0.8 * s[(i, j)] + if i == j { 0.2 * mean } else { 0.0 });
    let big = Mat::from_fn(6, 6, |i, j| shrunk[(i, j)] + between[(i, j)]);
    let symmetric = |m: Mat<f64>| Mat::from_fn(6, 6, |i, j| f64::midpoint(m[(i, j)], m[(j, i)]));
    let (shrunk, big) = (symmetric(shrunk), symmetric(big));
    let inverse = Spd::new(shrunk).unwrap().inverse().unwrap();
    let wanted = geometric_mean(&inverse, &Spd::new(big).unwrap(), 0.4).unwrap();
    let scale = a[(0, 0)] / wanted.as_mat()[(0, 0)];
    for (i, j) in (0..36).map(|at| (at / 6, at % 6)) {
        let (seen, wanted) = (a[(i, j)], scale * wanted.as_mat()[(i, j)]);
        assert!((seen - wanted).abs() < 1e-9 * a[(0, 0)], "({i}, {j}): {seen}, {wanted}");
    }
}

#[test]
fn no_new_index_is_needed() {
    let (cells, codes) = rows(8, 25, 12, 2.0, 7);
    // Far from the origin, so that a forgotten mean would show.
    let cells: Vec<f64> = cells.iter().map(|x| x + 3.0).collect();
    let table = Embeddings::double(cells, 12).unwrap();
    let (queries, documents) =
        (table.subset(&[0, 30, 77]).unwrap(), table.subset(&(100..200).collect::<Vec<_>>()).unwrap());
    for similarity in [Similarity::Cosine, Similarity::L2] {
        for member in members() {
            let fit = given(member, similarity).fit_labels(&table, &codes).unwrap();
            let (z, u) = (fit.transform(&documents).unwrap(), fit.transform(&queries).unwrap());
            let exact = nearest(&z, &u, 10, similarity).unwrap();
            let terms = fit.document_terms(&documents).unwrap();
            let scores = fit.scores(&queries, &documents, &terms).unwrap();
            let candidates: Vec<Vec<usize>> = vec![(0..100).collect(); 3];
            let again = fit.rescore(&queries, &documents, &terms, &candidates, 10).unwrap();
            let rescaled =
                (fit.augmented_documents(&documents).unwrap(), fit.augmented_queries(&queries).unwrap());
            let rescaled = nearest(&rescaled.0, &rescaled.1, 10, Similarity::Dot).unwrap();
            assert_eq!(rescaled.indices, exact.indices, "{member} {similarity}");
            for (q, again) in again.iter().enumerate() {
                let places: Vec<usize> = again.iter().map(|found| found.0).collect();
                assert_eq!(places, exact.indices[10 * q..][..10], "{member} {similarity}");
                for (at, (place, score)) in again.iter().enumerate() {
                    let wanted = exact.similarities[10 * q + at];
                    // Terms are sums of squares of the size of the largest: their rounding, times some columns.
                    assert!(
                        (score - wanted).abs() < 1e-11 * (1.0 + wanted.abs() + terms[*place]),
                        "{score} {wanted}"
                    );
                    assert!((scores[100 * q + place] - score).abs() < 1e-11 * (1.0 + terms[*place]));
                }
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads_nor_on_the_file() {
    let (cells, codes) = rows(10, 40, 32, 1.0, 8);
    let table = single(&cells, 32);
    let learn = || Adapter { seed: 3, ..Adapter::default() }.fit_labels(&table, &codes).unwrap();
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(learn);
    let (one, three) = (on(1), on(3));
    assert_eq!(one, three);
    let bytes = one.to_model().to_bytes();
    let again = Adaptation::from_model(&Model::from_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(
        (again.components(), again.mean(), again.reason()),
        (one.components(), one.mean(), one.reason())
    );
    assert_eq!((again.similarity(), again.member()), (Similarity::Cosine, one.member()));
    assert_eq!(Model::from_bytes(&bytes).unwrap().searched_by(), Some(Similarity::Cosine));
    assert!(Adaptation::from_model(&Model::new(mahala::Metric::euclidean(3))).is_err());
}

#[test]
fn half_precision_is_learned_from_as_the_same_numbers_in_single() {
    let (cells, codes) = rows(8, 20, 10, 2.0, 9);
    // Halves of whole numbers up to 2048 are exact in half precision.
    let halves: Vec<f64> = cells.iter().map(|x| (2.0 * x).round() / 2.0).collect();
    let bits = |x: f64| {
        let single = (x as f32).to_bits();
        let (sign, rest) = ((single >> 16) & 0x8000, single & 0x7fff_ffff);
        if rest == 0 { sign as u16 } else { (sign | ((rest >> 13) - (112 << 10))) as u16 }
    };
    let half = Embeddings::half(halves.iter().map(|&x| bits(x)).collect(), 10).unwrap();
    let single = single(&halves, 10);
    let fit = |table| Adapter::default().fit_labels(table, &codes).unwrap();
    assert_eq!(half.row(3), single.row(3));
    assert_eq!(fit(&half), fit(&single));
}

#[test]
fn clicks_are_learned_from_and_reduced_maps_keep_the_promised_size() {
    let (cells, codes) = rows(10, 40, 24, 2.0, 10);
    let table = single(&cells, 24);
    let queries = table.subset(&(0..400).step_by(5).collect::<Vec<_>>()).unwrap();
    let mut judged = Vec::new();
    for query in 0..80 {
        let same = (0..400).filter(|&x| codes[x] == codes[5 * query] && x % 5 == 1).take(4);
        judged.extend(same.map(|document| Judgement { query, document, gain: 1.0 }));
    }
    let adapter = Adapter { n_components: Some(9), ..Adapter::default() };
    let fit = adapter.fit_clicks(&queries, &table, &judged, &mut silent).unwrap();
    let report = fit.report().unwrap();
    assert!(report.criterion == "ndcg@10" && report.after >= report.before, "{report}");
    assert_eq!((fit.components().nrows(), fit.transform(&queries).unwrap().columns()), (9, 9));
    assert_eq!(report.sizes.iter().map(|size| size.0).collect::<Vec<_>>(), [3, 6]);
}

#[test]
fn what_cannot_be_learned_from_is_refused_in_words() {
    let (cells, codes) = rows(3, 10, 4, 1.0, 11);
    let table = single(&cells, 4);
    let words = |adapter: Adapter, codes: &[u32]| adapter.fit_labels(&table, codes).unwrap_err().to_string();
    let default = Adapter::default();
    assert!(words(default.clone(), &codes[1..]).contains("labels: 29 given, 30 expected"));
    assert!(words(default.clone(), &[0; 30]).contains("one class"));
    assert!(words(default.clone(), &(0..30).collect::<Vec<_>>()).contains("30 classes of one row each"));
    let unseen = Adapter { classes: Classes::Unseen, ..default.clone() };
    assert!(words(unseen, &codes).contains("'unseen' with 3 classes"));
    assert!(
        words(Adapter { n_components: Some(5), ..default.clone() }, &codes).contains("n_components is 5")
    );
    assert!(
        words(Adapter { similarity: Similarity::Dot, ..default.clone() }, &codes).contains("metric is 'dot'")
    );
    let member = Some(Member::new(Form::Gmml, 1.5));
    assert!(words(Adapter { member, ..default }, &codes).contains("shrinkage is 1.5"));
}
