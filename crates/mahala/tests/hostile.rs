//! Data that has something wrong with it: every outcome is a stated error or a defined result.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{EPS, blobs, bundled, gaussian, labelled, relative_difference, rescaled, table};
use mahala::data::Random;
use mahala::geometry::Spd;
use mahala::gmml::{Components, PairRule, Prior, Regularization, TChoice};
use mahala::scatter::Moments;
use mahala::{Dataset, Error, Fit, Gmml, Knn, Labels, Mat, Metric, Result, Rows};

/// Fixed and cross-validated t, all and sampled pairs.
fn every_way() -> Vec<Gmml> {
    let mut ways = Vec::new();
    for pairs in [PairRule::All, PairRule::Sampled] {
        for t in [TChoice::Fixed(0.3), TChoice::CrossValidated] {
            ways.push(Gmml { pairs, t, ..Gmml::default() });
        }
    }
    ways
}

fn fixed(t: f64) -> Gmml {
    Gmml { t: TChoice::Fixed(t), ..Gmml::default() }
}

fn assert_sound(fit: &Fit, data: &Dataset) {
    let a = fit.metric.matrix().unwrap();
    assert!((0..a.ncols()).all(|j| a[(j, j)] >= 0.0 && a.col(j).iter().all(|x| x.is_finite())));
    assert!(fit.metric.transform(data.rows()).is_ok());
    assert!((0.0..=1.0).contains(&fit.t));
    assert!(fit.diagnostics.log_eigenvalues.iter().all(|l| l.is_finite()));
}

fn refusal(result: Result<Fit>) -> String {
    result.map(|_| ()).expect_err("this must be refused").to_string()
}

#[test]
fn cells_that_are_not_finite_do_not_pass_the_door() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Rows::new(vec![1.0, 2.0, 3.0, bad], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the cell at row index 1, column index 1 is {bad}; every cell must be a finite number (fill \
                 or drop missing cells first)"
            )
        );
    }
}

#[test]
fn one_class_alone_is_refused() {
    let data = labelled(&[[1.0], [2.0], [4.0]], &["x", "x", "x"]);
    for gmml in every_way() {
        assert_eq!(
            refusal(gmml.fit(&data)),
            "all 3 rows belong to one class ('x'); at least two classes are needed, or pairs marked similar \
             and dissimilar"
        );
    }
}

#[test]
fn classes_of_one_row_each_are_refused() {
    let data = labelled(&[[1.0], [2.0], [4.0]], &["x", "y", "z"]);
    for gmml in every_way() {
        assert_eq!(
            refusal(gmml.fit(&data)),
            "no similar pair: each of the 3 classes has one row; the similarity matrix S would be empty (give \
             a class at least two rows, or mark a pair as similar)"
        );
    }
}

#[test]
fn a_class_of_one_row_among_others_is_no_trouble() {
    let data = blobs(30, 2, 2, 1);
    let mut labels: Vec<String> = data.labels().codes().iter().map(u32::to_string).collect();
    labels[7] = "alone".into();
    let data = Dataset::new(data.rows().clone(), Labels::new(labels)).unwrap();
    for gmml in every_way() {
        assert_sound(&gmml.fit(&data).unwrap(), &data);
    }
}

#[test]
fn fewer_rows_than_columns_get_a_ridge_that_is_reported() {
    let data = blobs(10, 30, 2, 2);
    for gmml in every_way() {
        let fit = gmml.fit(&data).unwrap();
        assert_sound(&fit, &data);
        assert!(fit.diagnostics.ridge > 0.0 && fit.diagnostics.ridge < 1e-6);
    }
    for regularization in [Regularization::Lambda(0.1), Regularization::Shrinkage(0.1)] {
        let fit = Gmml { regularization, ..fixed(0.5) }.fit(&data).unwrap();
        assert_sound(&fit, &data);
        assert_eq!(fit.diagnostics.ridge, 0.0);
    }
}

#[test]
fn one_column_is_enough() {
    let data = labelled(&[[1.0], [2.0], [10.0], [12.0], [11.0]], &["a", "a", "b", "b", "b"]);
    for gmml in every_way() {
        assert_sound(&gmml.fit(&data).unwrap(), &data);
    }
    // S = 1 + (4 + 1 + 1), D = 81 + 121 + 100 + 64 + 100 + 81, times 2·80/25 each: A = √(D/S).
    let a = fixed(0.5).fit(&data).unwrap().metric.matrix().unwrap();
    assert!((a[(0, 0)] / (547f64 / 7.0).sqrt() - 1.0).abs() < 8.0 * EPS);
}

#[test]
fn constant_columns_get_weight_zero_and_are_named() {
    let data = blobs(40, 3, 2, 3);
    let values = (0..40).flat_map(|i| {
        let row = data.rows().row(i);
        [0.1, row[0], row[1], 1e300, row[2]]
    });
    let with = Dataset::new(Rows::new(values.collect(), 5).unwrap(), data.labels().clone()).unwrap();
    for gmml in every_way() {
        let (fit, plain) = (gmml.fit(&with).unwrap(), gmml.fit(&data).unwrap());
        assert_eq!(fit.diagnostics.constant_columns, [0, 3]);
        assert_eq!(fit.t, plain.t);
        let (a, b) = (fit.metric.matrix().unwrap(), plain.metric.matrix().unwrap());
        for k in 0..5 {
            assert_eq!([a[(0, k)], a[(k, 0)], a[(3, k)], a[(k, 3)]], [0.0; 4]);
        }
        let rest = Mat::from_fn(3, 3, |i, j| a[([1, 2, 4][i], [1, 2, 4][j])]);
        // The column at 1e300 brings its power of two into the logarithms of the others.
        assert!(relative_difference(rest.as_ref(), b.as_ref()) < 100.0 * EPS);
    }
    // An identity prior gives constant columns its own weight.
    let gmml = Gmml { regularization: Regularization::Lambda(0.1), ..fixed(0.5) };
    let fit = gmml.fit(&labelled(&[[1.0, 7.0], [2.0, 7.0], [4.0, 7.0]], &["x", "x", "y"])).unwrap();
    assert!(fit.diagnostics.constant_columns.is_empty());
    assert!((fit.metric.matrix().unwrap()[(1, 1)] - 1.0).abs() < 4.0 * EPS);
}

#[test]
fn nothing_but_constant_columns_is_refused() {
    let data = labelled(&[[1.0, 2.0]; 4], &["a", "a", "b", "b"]);
    for gmml in every_way() {
        assert_eq!(
            refusal(gmml.fit(&data)),
            "none of the 2 columns varies between rows; there is no distance to learn"
        );
    }
}

#[test]
fn duplicate_columns_share_one_weight() {
    let data = blobs(60, 2, 2, 4);
    let values = (0..60).flat_map(|i| [data.rows().row(i)[0], data.rows().row(i)[1], data.rows().row(i)[0]]);
    let twice = Dataset::new(Rows::new(values.collect(), 3).unwrap(), data.labels().clone()).unwrap();
    for gmml in every_way() {
        let fit = gmml.fit(&twice).unwrap();
        assert_sound(&fit, &twice);
        assert_eq!(fit.diagnostics.ridge, 0.0);
        assert_eq!(fit.diagnostics.span.as_ref().map(|span| span.directions), Some(2));
        let a = fit.metric.matrix().unwrap();
        // Equal columns are exchangeable, and their difference, in which no rows differ, has no weight.
        assert!((a[(0, 0)] / a[(2, 2)] - 1.0).abs() < 100.0 * EPS, "{a:?}");
        assert!((a[(1, 0)] - a[(1, 2)]).abs() < 100.0 * EPS * a.norm_max(), "{a:?}");
        assert!((a[(0, 0)] - a[(0, 2)]).abs() < 100.0 * EPS * a.norm_max(), "{a:?}");
    }
}

#[test]
fn a_column_that_is_a_sum_of_others_changes_no_distance_by_the_order_of_the_rows() {
    let data = blobs(200, 4, 3, 8);
    let with_sums = |i: usize| {
        let x = data.rows().row(i);
        [x[0], x[1], x[2], x[3], x[0] + x[1] + x[2], 2.0 * x[1] - x[3]]
    };
    let of = |order: &[usize]| {
        let cells = order.iter().flat_map(|&i| with_sums(i)).collect();
        Dataset::new(Rows::new(cells, 6).unwrap(), data.labels().subset(order)).unwrap()
    };
    let plain: Vec<usize> = (0..200).collect();
    let (one, other) = (of(&plain), of(&Random::new(3, 0).permutation(200)));
    let (a, b) = (fixed(0.5).fit(&one).unwrap(), fixed(0.5).fit(&other).unwrap());
    assert_eq!((a.diagnostics.ridge, a.metric.rank()), (0.0, 4));
    let distance =
        |fit: &Fit, i: usize| fit.metric.squared_distance(one.rows().row(i), one.rows().row(i + 1)).unwrap();
    for i in 0..199 {
        let (x, y) = (distance(&a, i), distance(&b, i));
        assert!((x - y).abs() <= 1e-12 * x, "row {i}: {x} {y}");
    }
    // Reduced to leading directions as well.
    let gmml = Gmml { rank: Some(Components::Count(2)), ..fixed(0.5) };
    assert_eq!(gmml.fit(&one).unwrap().metric.rank(), 2);
}

#[test]
fn duplicate_rows_count_as_often_as_they_are_there() {
    let data = blobs(30, 2, 2, 5);
    let twice = data.subset(&(0..30).chain(0..30).collect::<Vec<_>>());
    for gmml in every_way() {
        assert_sound(&gmml.fit(&twice).unwrap(), &twice);
    }
    // S and D grow by the same factor 4, and are measured by n²: the metric stays.
    let (a, b) = (fixed(0.5).fit(&data).unwrap(), fixed(0.5).fit(&twice).unwrap());
    let (a, b) = (a.metric.matrix().unwrap(), b.metric.matrix().unwrap());
    assert!(relative_difference(a.as_ref(), b.as_ref()) < 100.0 * EPS);
}

#[test]
fn two_rows_a_class_are_enough_for_a_fixed_t() {
    let data = labelled(&[[0.0, 1.0], [1.0, 0.0], [5.0, 1.0], [6.0, 2.0]], &["a", "a", "b", "b"]);
    assert_sound(&fixed(0.5).fit(&data).unwrap(), &data);
    for gmml in every_way() {
        let fit = gmml.fit(&data).unwrap();
        assert_sound(&fit, &data);
        if let Some(selection) = fit.diagnostics.selection {
            // One row left out: two of the three others are of the wrong class, at every t; the first wins.
            assert_eq!((selection.folds, selection.rows, fit.t), (4, 4, 0.0));
            assert!(selection.curve.iter().all(|&(_, error)| error == 1.0));
        }
    }
    let error = refusal(Gmml::default().fit(&labelled(&[[0.0], [1.0], [5.0]], &["a", "a", "b"])));
    assert_eq!(
        error,
        "t cannot be chosen by cross-validation: 3 rows are too few, or too alike, for a fold to learn from (give t a number instead)"
    );
}

#[test]
fn a_column_that_separates_perfectly_is_used_and_not_divided_by_zero() {
    let mut random = Random::new(6, 0);
    let values = (0..40).flat_map(|i| [gaussian(&mut random), f64::from(i % 2)]);
    let rows = Rows::new(values.collect(), 2).unwrap();
    let data = Dataset::new(rows, Labels::new((0..40).map(|i| ["a", "b"][i % 2]))).unwrap();
    for gmml in every_way() {
        let fit = gmml.fit(&data).unwrap();
        assert_sound(&fit, &data);
        assert_eq!(fit.diagnostics.ridge, 2e-10);
        let a = fit.metric.matrix().unwrap();
        assert!(a[(1, 1)] > 100.0 * a[(0, 0)], "{a:?}");
    }
}

/// The neighbours of every row among all rows, under the metric.
fn neighbours(fit: &Fit, data: &Dataset) -> Vec<usize> {
    let z = fit.metric.transform(data.rows()).unwrap();
    let found = Knn::new(z.clone()).unwrap().search(&z, 4).unwrap();
    (0..data.len()).flat_map(|i| found.indices(i).to_vec()).collect()
}

#[test]
fn a_uniform_scale_of_1e150_either_way_changes_no_neighbour() {
    let data = blobs(60, 3, 3, 7);
    for gmml in every_way() {
        let plain = gmml.fit(&data).unwrap();
        // Powers of two, so that the rows themselves are not rounded.
        for exponent in [-498, 498] {
            let scaled = rescaled(&data, &[2f64.powi(exponent); 3]);
            let fit = gmml.fit(&scaled).unwrap();
            assert_eq!(fit.t, plain.t);
            assert_eq!(neighbours(&fit, &scaled), neighbours(&plain, &data), "2^{exponent}, {gmml:?}");
            let reduced = Gmml { rank: Some(Components::Count(2)), ..gmml.clone() };
            let (fit, plain) = (reduced.fit(&scaled).unwrap(), reduced.fit(&data).unwrap());
            assert_eq!(neighbours(&fit, &scaled), neighbours(&plain, &data), "2^{exponent}, {reduced:?}");
        }
    }
}

#[test]
fn columns_140_powers_of_ten_apart_are_refused_unless_standardised() {
    let data = blobs(60, 3, 2, 8);
    let scaled = rescaled(&data, &[1e-150, 1.0, 1e150]);
    for gmml in every_way() {
        assert_eq!(
            refusal(gmml.fit(&scaled)),
            "columns 2 and 0 differ in scale by a factor of 1e300; at most 1e70 can be represented in one \
             metric (standardise, or rescale one of them)"
        );
        let gmml = Gmml { standardize: true, ..gmml };
        let (fit, plain) = (gmml.fit(&scaled).unwrap(), gmml.fit(&data).unwrap());
        assert_eq!(fit.t, plain.t);
        assert_eq!(neighbours(&fit, &scaled), neighbours(&plain, &data));
    }
}

#[test]
fn columns_60_powers_of_ten_apart_keep_their_place_in_the_metric() {
    let data = blobs(200, 2, 2, 9);
    let plain = Gmml { regularization: Regularization::Shrinkage(1.0), ..fixed(0.5) };
    let a = plain.fit(&data).unwrap().metric.matrix().unwrap();
    for scale in [1e-60, 1e-20, 1e20, 1e60] {
        let b = plain.fit(&rescaled(&data, &[1.0, scale])).unwrap();
        assert_eq!(b.diagnostics.clamped, 0);
        let b = b.metric.matrix().unwrap();
        // At t = ½ a diagonal A is √(D/S), whatever the unit; logarithms near 550 cost as many roundings.
        for j in 0..2 {
            assert!((a[(j, j)] / b[(j, j)] - 1.0).abs() < 1000.0 * EPS, "{scale:e}: {a:?} {b:?}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused_with_the_range() {
    let data = blobs(20, 2, 2, 10);
    let refused = |gmml: Gmml| refusal(gmml.fit(&data));
    for t in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(fixed(t)), format!("t is {t}; it must be between 0 and 1"));
    }
    for x in [-1.0, f64::NAN, f64::INFINITY] {
        let gmml = Gmml { regularization: Regularization::Lambda(x), ..fixed(0.5) };
        assert_eq!(refused(gmml), format!("lambda is {x}; it must be finite and at least 0"));
    }
    for x in [-0.1, 1.1, f64::NAN] {
        let gmml = Gmml { regularization: Regularization::Shrinkage(x), ..fixed(0.5) };
        assert_eq!(refused(gmml), format!("shrinkage is {x}; it must be between 0 and 1"));
    }
    assert_eq!(refused(Gmml { k: 0, ..Gmml::default() }), "k is 0; it must be at least 1");
    assert_eq!(refused(Gmml { folds: 1, ..Gmml::default() }), "folds is 1; it must be at least 2");
    for rank in [0, 3] {
        assert_eq!(
            refused(Gmml { rank: Some(Components::Count(rank)), ..fixed(0.5) }),
            format!("rank is {rank}; it must be at least 1 and at most the number of columns that vary")
        );
    }
    let prior = Prior::Matrix(Spd::identity(3));
    let gmml = Gmml { regularization: Regularization::Lambda(0.1), prior, ..fixed(0.5) };
    assert_eq!(refused(gmml), "rows of the prior: 3 given, 2 expected");
    // More neighbours or folds than rows are cut down, not refused.
    assert_sound(&Gmml { k: 1000, folds: 1000, ..Gmml::default() }.fit(&data).unwrap(), &data);
}

#[test]
fn a_rank_above_the_number_of_varying_columns_is_refused() {
    let data = labelled(&[[1.0, 7.0], [2.0, 7.0], [4.0, 7.0], [9.0, 7.0]], &["x", "x", "y", "y"]);
    assert_eq!(
        refusal(Gmml { rank: Some(Components::Count(2)), ..fixed(0.5) }.fit(&data)),
        "rank is 2; it must be at least 1 and at most the number of columns that vary"
    );
}

#[test]
fn too_many_columns_for_the_memory_are_refused_before_any_is_taken() {
    let d = 100_000;
    let message = "the fit needs 800.0 GB for 100000 columns, above the limit of 16 GB; learn inside the \
                   leading principal directions of the rows (principal), or reduce the number of columns first";
    let rows = Rows::new(vec![0.0; 2 * d], d).unwrap();
    let data = Dataset::new(rows.clone(), Labels::new(["a", "b"])).unwrap();
    // Only shrinkage needs columns x columns when rows are few; the others are done inside their span.
    let shrunk = Gmml { regularization: Regularization::Shrinkage(0.1), ..fixed(0.5) };
    assert_eq!(refusal(shrunk.fit(&data)), message);
    for gmml in every_way() {
        assert!(gmml.fit(&data).is_err());
    }
    let pairs = mahala::pairs::Pairs::new(vec![mahala::pairs::Pair::similar(0, 1)], 2, 2).unwrap();
    assert_eq!(refusal(fixed(0.5).fit_pairs(&rows, &pairs)), message);
    let error = fixed(0.5).fit_moments(&Moments::new(d).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Memory { d: 100_000, .. }), "{error}");
}

#[test]
fn labels_may_be_text_or_numbers() {
    let data = blobs(30, 2, 3, 11);
    let as_text = Labels::new(data.labels().codes().iter().map(|code| format!("class {code}")));
    let text = Dataset::new(data.rows().clone(), as_text).unwrap();
    assert_eq!(fixed(0.5).fit(&data).unwrap().metric, fixed(0.5).fit(&text).unwrap().metric);
    let odd = Labels::new(["", " ", "ü", "1e3", "NaN", ""]);
    assert_eq!((odd.class_count(), odd.names()[0].as_str()), (5, ""));
    let twice = Labels::from_parts(vec!["a".into(), "a".into()], vec![0, 1]).unwrap_err();
    assert_eq!(twice.to_string(), "class name is 'a' twice; it must be there only once");
    assert!(Labels::from_parts(vec!["a".into()], vec![1]).is_err());
}

#[test]
fn lambda_zero_asks_nothing_of_the_prior() {
    let data = labelled(&[[1.0, 7.0], [2.0, 7.0], [4.0, 7.0], [9.0, 7.0]], &["x", "x", "y", "y"]);
    for prior in [Prior::Identity, Prior::Diagonal, Prior::Covariance, Prior::Matrix(Spd::identity(2))] {
        let zero = Gmml { regularization: Regularization::Lambda(0.0), prior, ..fixed(0.5) };
        assert_eq!(zero.fit(&data).unwrap().metric, fixed(0.5).fit(&data).unwrap().metric);
    }
}

#[test]
fn every_prior_gives_a_sound_metric_on_real_data() {
    let wine = bundled("wine.csv");
    let covariance = Spd::new(Mat::from_fn(13, 13, |i, j| if i == j { 2.0 } else { 0.1 })).unwrap();
    for prior in [Prior::Identity, Prior::Diagonal, Prior::Covariance, Prior::Matrix(covariance)] {
        let gmml = Gmml { regularization: Regularization::Lambda(1.0), prior, ..fixed(0.3) };
        assert_sound(&gmml.fit(&wine).unwrap(), &wine);
    }
}

#[test]
fn rows_of_extreme_size_have_their_right_neighbours() {
    let plain = Knn::new(table(&[[0.0], [3.0], [5.0], [9.0]])).unwrap();
    let expected = plain.search(&table(&[[4.5]]), 3).unwrap();
    for exponent in [-1060, -800, -600, 600, 1000, 1019] {
        let scale = |x: f64| {
            if exponent < -1000 {
                x * 2f64.powi(-1000) * 2f64.powi(exponent + 1000)
            } else {
                x * 2f64.powi(exponent)
            }
        };
        let knn = Knn::new(table(&[[scale(0.0)], [scale(3.0)], [scale(5.0)], [scale(9.0)]])).unwrap();
        let found = knn.search(&table(&[[scale(4.5)]]), 3).unwrap();
        assert_eq!(found.indices(0), expected.indices(0), "2^{exponent}");
        // Powers of two, and distances with one rounding in the root.
        assert!((found.distances(0)[0] / scale(0.5) - 1.0).abs() < 4.0 * EPS, "2^{exponent}");
    }
    let equal = Knn::new(table(&[[1e200], [1e200]])).unwrap();
    assert_eq!(equal.search(&table(&[[1e200]]), 2).unwrap().distances(0), [0.0, 0.0]);
}

#[test]
fn an_empty_table_is_refused_by_everything_that_needs_rows() {
    let none = Rows::new(vec![], 2).unwrap();
    assert!(Knn::new(none.clone()).is_err());
    assert!(Dataset::new(none.clone(), Labels::new::<&str>([])).is_err());
    let pairs = mahala::pairs::Pairs::new(vec![], 0, 0).unwrap();
    assert_eq!(
        refusal(fixed(0.5).fit_pairs(&none, &pairs)),
        "the table of rows is empty; at least one is needed"
    );
    assert_eq!(Metric::euclidean(2).transform(&none).unwrap().len(), 0);
}
