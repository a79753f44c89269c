//! The same bits, whatever the number of threads.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{blobs, bundled};
use mahala::{Dataset, Fit, Gmml, Knn, Model, Moments, PairRule, Pairs, Scatter, TChoice};

/// Runs the work in pools of 1, 2 and 5 threads.
fn in_pools<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    [1, 2, 5].map(|threads| pool(threads).install(&work)).into_iter().collect()
}

/// All that a fit holds, as bits.
fn bits(fit: &Fit) -> Vec<u8> {
    let mut model = Model::new(fit.metric.clone());
    model.log_eigenvalues.clone_from(&fit.diagnostics.log_eigenvalues);
    let d = &fit.diagnostics;
    let numbers = [fit.t, d.condition_s, d.condition_d, d.ridge, d.similar.weight, d.dissimilar.weight];
    let curve = d.selection.iter().flat_map(|s| s.curve.iter().flat_map(|&(t, e)| [t, e]));
    let numbers = numbers.into_iter().chain(curve).flat_map(f64::to_le_bytes);
    model.to_bytes().into_iter().chain(numbers).collect()
}

fn assert_same_fit(gmml: &Gmml, data: &Dataset) {
    let fits = in_pools(|| gmml.fit(data).unwrap());
    for fit in &fits[1..] {
        assert_eq!(bits(fit), bits(&fits[0]), "{gmml:?}");
    }
    let matrices = in_pools(|| fits[0].metric.matrix().unwrap());
    assert!(matrices.iter().all(|matrix| *matrix == matrices[0]), "{gmml:?}");
    let transformed = in_pools(|| fits[0].metric.transform(data.rows()).unwrap());
    assert!(transformed.iter().all(|rows| *rows == transformed[0]), "{gmml:?}");
}

fn every_way() -> impl Iterator<Item = Gmml> {
    [PairRule::All, PairRule::Sampled].into_iter().flat_map(|pairs| {
        [TChoice::Fixed(0.3), TChoice::CrossValidated].map(|t| Gmml { pairs, t, ..Gmml::default() })
    })
}

#[test]
fn a_small_fit_has_the_same_bits_in_any_pool() {
    let data = blobs(900, 8, 3, 1);
    every_way().for_each(|gmml| assert_same_fit(&gmml, &data));
}

#[test]
fn a_fit_of_160_columns_has_the_same_bits_in_any_pool() {
    let data = blobs(700, 160, 3, 2);
    every_way().for_each(|gmml| assert_same_fit(&gmml, &data));
}

#[test]
fn a_fit_of_520_columns_has_the_same_bits_in_any_pool() {
    let data = blobs(600, 520, 2, 3);
    for rank in [None, Some(20)] {
        assert_same_fit(&Gmml { t: TChoice::Fixed(0.3), rank, ..Gmml::default() }, &data);
    }
}

#[test]
fn a_fit_of_pairs_has_the_same_bits_in_any_pool() {
    let iris = bundled("iris.csv");
    let pairs = Pairs::all(iris.labels());
    let fits = in_pools(|| Gmml::default().fit_pairs(iris.rows(), &pairs).unwrap());
    assert!(fits.iter().all(|fit| bits(fit) == bits(&fits[0])));
}

#[test]
fn moments_and_neighbours_have_the_same_bits_in_any_pool() {
    let data = blobs(3000, 130, 4, 4);
    let moments = in_pools(|| Moments::of(&data).unwrap().to_bytes());
    assert!(moments.iter().all(|bytes| *bytes == moments[0]));
    let found = in_pools(|| Knn::new(data.rows().clone()).unwrap().search(data.rows(), 6).unwrap());
    assert!(found.iter().all(|neighbours| *neighbours == found[0]));
}

#[test]
fn sums_of_rows_and_sums_of_moments_have_the_same_bits() {
    for (n, d) in [(50, 3), (40, 140), (900, 140)] {
        let data = blobs(n, d, 3, 5);
        let (of_rows, _) = Scatter::all_pairs_of(&data).unwrap();
        let of_moments = Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap();
        assert!(of_rows.s() == of_moments.s() && of_rows.d() == of_moments.d(), "{n} x {d}");
    }
}

#[test]
fn one_seed_is_one_result_and_another_seed_another() {
    let wine = bundled("wine.csv");
    let fit = |seed| Gmml { seed, ..Gmml::paper() }.fit(&wine).unwrap();
    assert_eq!(bits(&fit(3)), bits(&fit(3)));
    assert_ne!(bits(&fit(3)), bits(&fit(4)));
}
