//! The same bits, whatever the number of threads.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{blobs, bundled};
use mahala::gmml::{Components, PairRule, TChoice};
use mahala::pairs::Pairs;
use mahala::scatter::{Moments, Scatter};
use mahala::{Dataset, Fit, Gmml, Knn, Metric, Model};

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
    for rank in [None, Some(Components::Count(20)), Some(Components::Share(0.9))] {
        assert_same_fit(&Gmml { t: TChoice::Fixed(0.3), rank, ..Gmml::default() }, &data);
    }
}

#[test]
fn principal_axes_have_the_same_bits_in_any_pool() {
    for data in [blobs(3000, 40, 3, 5), blobs(700, 260, 3, 6)] {
        let axes = in_pools(|| Metric::principal_axes(data.rows()).unwrap());
        assert!(axes.iter().all(|metric| *metric == axes[0]), "{} columns", data.columns());
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
fn a_long_list_of_pairs_has_the_same_sums_in_any_pool_and_in_any_division() {
    let data = blobs(400, 24, 4, 8);
    // 79,800 pairs of 24 columns.
    let all = Pairs::all(data.labels());
    let bits = |m: mahala::MatRef<'_, f64>| -> Vec<u64> {
        (0..m.ncols()).flat_map(|j| m.col(j).iter().map(|x| x.to_bits()).collect::<Vec<_>>()).collect()
    };
    let sums = in_pools(|| {
        let listed = Scatter::from_pairs(data.rows(), &all).unwrap();
        (bits(listed.s()), bits(listed.d()), listed.similar(), listed.dissimilar())
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]));
    let listed = Scatter::from_pairs(data.rows(), &all).unwrap();
    let (of_rows, _) = Scatter::all_pairs_of(&data).unwrap();
    assert_eq!((listed.similar(), listed.dissimilar()), (of_rows.similar(), of_rows.dissimilar()));
    for (a, b) in [(listed.s(), of_rows.s()), (listed.d(), of_rows.d())] {
        // Sums of that many terms in another order.
        assert!((a - b).norm_max() <= 1e-12 * b.norm_max());
    }
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
fn sums_of_rows_and_sums_of_moments_agree_to_rounding() {
    for (n, d, classes) in [(50, 3, 3), (40, 140, 3), (900, 140, 4)] {
        // The last class is the smallest, and once a single row: other orders of addition.
        let data = blobs(n, d, classes, 5);
        for rows in [n, n - 1, n / 2 + 1] {
            let data = data.subset(&(0..rows).collect::<Vec<_>>());
            let (of_rows, mean) = Scatter::all_pairs_of(&data).unwrap();
            let of_moments = Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap();
            for (a, b) in [(of_rows.s(), of_moments.s()), (of_rows.d(), of_moments.d())] {
                // Sums of some hundred terms in another order.
                assert!((a - b).norm_max() <= 1e-13 * b.norm_max(), "{rows} x {d}");
            }
            let direct = (0..rows).map(|i| data.rows().row(i)[0]).sum::<f64>() / rows as f64;
            assert!((mean[0] - direct).abs() <= 1e-12);
        }
    }
}

#[test]
fn tall_rows_are_summed_in_runs_that_do_not_depend_on_threads() {
    // Enough rows for several runs, with threads for them and within them; classes of several sizes, one of which is cut
    // by the end of a run.
    for (n, d) in [(70_000, 30), (45_000, 130)] {
        let data = blobs(n, d, 7, 5);
        let labels: Vec<i64> = (0..).map(|i| if i % 2 == 0 { 0 } else { i % 7 }).take(n).collect();
        let labels = mahala::Labels::from_integers(&labels);
        let data = mahala::Dataset::new(data.rows().clone(), labels).unwrap();
        let bits = |m: mahala::MatRef<'_, f64>| -> Vec<u64> {
            (0..m.ncols()).flat_map(|j| m.col(j).iter().map(|x| x.to_bits()).collect::<Vec<_>>()).collect()
        };
        let results = in_pools(|| {
            let (scatter, _) = Scatter::all_pairs_of(&data).unwrap();
            (bits(scatter.s()), bits(scatter.d()))
        });
        assert!(results.iter().all(|result| *result == results[0]), "{n} x {d}");
        let (of_rows, _) = Scatter::all_pairs_of(&data).unwrap();
        let of_moments = Scatter::all_pairs(&Moments::of(&data).unwrap()).unwrap();
        for (a, b) in [(of_rows.s(), of_moments.s()), (of_rows.d(), of_moments.d())] {
            // Sums of that many terms in another order.
            assert!((a - b).norm_max() <= 1e-12 * b.norm_max(), "{n} x {d}");
        }
    }
}

#[test]
fn a_class_of_nearly_all_rows_does_not_cancel() {
    let data = blobs(5000, 4, 2, 9);
    // One row of the second class among 4001.
    let labels: Vec<i64> = (0..4001).map(|i| i64::from(i == 17)).collect();
    let rows = data.rows().subset(&(0..4001).collect::<Vec<_>>());
    let data = mahala::Dataset::new(rows, mahala::Labels::from_integers(&labels)).unwrap();
    let (of_rows, _) = Scatter::all_pairs_of(&data).unwrap();
    let listed = Scatter::from_pairs(data.rows(), &Pairs::all(data.labels())).unwrap();
    assert!((of_rows.d() - listed.d()).norm_max() <= 1e-12 * listed.d().norm_max());
}

#[test]
fn one_seed_is_one_result_and_another_seed_another() {
    let wine = bundled("wine.csv");
    let fit = |seed| Gmml { seed, ..Gmml::paper() }.fit(&wine).unwrap();
    assert_eq!(bits(&fit(3)), bits(&fit(3)));
    assert_ne!(bits(&fit(3)), bits(&fit(4)));
}
