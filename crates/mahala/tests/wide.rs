//! More features than rows: the formula inside the span against the formula itself, dense and sparse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::data::{Random, SparseRows};
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, CrossValidation, Prior, Regularization, TChoice};
use mahala::kernel::{Kernel, KernelGmml};
use mahala::progress::silent;
use mahala::{Dataset, Error, Gmml, Labels, Mat, MatRef, Metric, Rows};

fn wide(n: usize, d: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let class = |i: usize| i % 3;
    let cells = (0..n * d).map(|at| {
        let (i, j) = (at / d, at % d);
        random.uniform() + if j < 6 && j % 3 == class(i) { 0.7 } else { 0.0 }
    });
    let rows = Rows::new(cells.collect(), d).unwrap();
    Dataset::new(rows, Labels::new((0..n).map(|i| ["a", "b", "c"][class(i)]))).unwrap()
}

fn at(t: f64, regularization: Regularization) -> Gmml {
    Gmml { t: TChoice::Fixed(t), regularization, ..Gmml::default() }
}

/// The dense formula: any prior matrix is solved in all columns, and this one is the identity.
fn dense(gmml: &Gmml, d: usize) -> Gmml {
    let identity = mahala::geometry::Spd::new(Mat::identity(d, d)).unwrap();
    Gmml { prior: Prior::Matrix(identity), ..gmml.clone() }
}

fn assert_near(a: MatRef<'_, f64>, b: MatRef<'_, f64>, tolerance: f64) {
    let size = b.norm_l2();
    let difference = Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] - b[(i, j)]);
    assert!(difference.norm_l2() <= tolerance * size, "{} of {size}", difference.norm_l2());
}

fn sparse(rows: &Rows) -> SparseRows {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..rows.len() {
        for (j, &x) in rows.row(i).iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(j as u32);
            values.push(x);
        }
        starts.push(values.len());
    }
    SparseRows::new(starts, indices, values, rows.columns()).unwrap()
}

/// Rows of which one cell in ten is not 0.
fn thin(n: usize, d: usize) -> Dataset {
    let data = wide(n, d, 5);
    let mut random = Random::new(6, 0);
    let cells = data.rows().values().iter().map(|&x| if random.uniform() < 0.1 { x } else { 0.0 });
    Dataset::new(Rows::new(cells.collect(), d).unwrap(), data.labels().clone()).unwrap()
}

#[test]
fn the_formula_inside_the_span_equals_the_dense_one() {
    let data = wide(30, 80, 1);
    for t in [0.0, 0.2, 0.5, 0.9, 1.0] {
        for lambda in [0.01, 1.0, 30.0] {
            let gmml = at(t, Regularization::Lambda(lambda));
            let (inside, all) = (gmml.fit(&data).unwrap(), dense(&gmml, 80).fit(&data).unwrap());
            assert_eq!(inside.metric.rank(), 29);
            assert_eq!(all.metric.rank(), 80);
            // 1e-8 is the promise; S + λI has a condition number of up to 1e6 here.
            assert_near(
                inside.metric.matrix().unwrap().as_ref(),
                all.metric.matrix().unwrap().as_ref(),
                1e-9,
            );
            // Rows that were not learned on, with parts outside the span.
            let new = wide(4, 80, 2);
            for (i, j) in [(0, 1), (2, 3)] {
                let distance =
                    |metric: &Metric| metric.squared_distance(new.rows().row(i), new.rows().row(j)).unwrap();
                let (seen, expected) = (distance(&inside.metric), distance(&all.metric));
                assert!((seen - expected).abs() < 1e-9 * expected, "{seen} {expected}");
            }
        }
    }
}

#[test]
fn pairs_of_new_rows_are_as_far_apart_as_the_metric_says() {
    let fit = at(0.4, Regularization::Lambda(0.5)).fit(&wide(20, 50, 1)).unwrap();
    let new = wide(6, 50, 3);
    let pairs = mahala::pairs::Pairs::all(new.labels());
    let squared =
        mahala::metric::squared_pair_distances(&fit.metric, new.rows(), new.rows(), &pairs).unwrap();
    for (pair, seen) in pairs.as_slice().iter().zip(squared) {
        let expected =
            fit.metric.squared_distance(new.rows().row(pair.first), new.rows().row(pair.second)).unwrap();
        assert!((seen - expected).abs() < 1e-12 * expected);
    }
}

#[test]
fn standardised_columns_go_the_same_way() {
    let data = wide(25, 60, 4);
    let stretched = data.rows().values().iter().enumerate().map(|(at, x)| x * (1.0 + (at % 60) as f64));
    let data = Dataset::new(Rows::new(stretched.collect(), 60).unwrap(), data.labels().clone()).unwrap();
    let gmml = Gmml { standardize: true, ..at(0.3, Regularization::Lambda(0.2)) };
    let (inside, all) = (gmml.fit(&data).unwrap(), dense(&gmml, 60).fit(&data).unwrap());
    assert_near(inside.metric.matrix().unwrap().as_ref(), all.metric.matrix().unwrap().as_ref(), 1e-10);
}

#[test]
fn sampled_pairs_are_the_same_pairs_in_other_coordinates() {
    let data = wide(25, 60, 4);
    let gmml = Gmml { pairs: mahala::gmml::PairRule::Sampled, ..at(0.5, Regularization::Lambda(0.2)) };
    let (inside, all) = (gmml.fit(&data).unwrap(), dense(&gmml, 60).fit(&data).unwrap());
    assert_near(inside.metric.matrix().unwrap().as_ref(), all.metric.matrix().unwrap().as_ref(), 1e-10);
}

#[test]
fn t_is_chosen_as_in_the_dense_way() {
    let data = wide(60, 90, 8);
    let gmml = Gmml { regularization: Regularization::Lambda(1.0), ..Gmml::default() };
    let (inside, all) = (gmml.fit(&data).unwrap(), dense(&gmml, 90).fit(&data).unwrap());
    assert_eq!(inside.diagnostics.selection, all.diagnostics.selection);
    assert_eq!(inside.t, all.t);
}

#[test]
fn sparse_rows_give_what_dense_rows_give() {
    let data = thin(30, 100);
    let rows = sparse(data.rows());
    for standardize in [false, true] {
        for regularization in [Regularization::None, Regularization::Lambda(0.3)] {
            let gmml = Gmml { standardize, ..at(0.4, regularization) };
            let dense = gmml.fit(&data).unwrap();
            let sparse = gmml.fit_sparse(&rows, data.labels(), &mut silent).unwrap();
            assert_eq!(sparse.diagnostics.constant_columns, dense.diagnostics.constant_columns);
            // Coordinates may come out mirrored; distances do not.
            let tolerance = if regularization == Regularization::None { 1e-5 } else { 1e-12 };
            assert_near(
                sparse.metric.matrix().unwrap().as_ref(),
                dense.metric.matrix().unwrap().as_ref(),
                tolerance,
            );
            let z = dense.metric.transform(data.rows()).unwrap();
            let from_sparse = dense.metric.transform_sparse(&rows).unwrap();
            assert_near(from_sparse.as_mat(), z.as_mat(), 1e-12);
        }
    }
}

#[test]
fn few_columns_of_sparse_rows_are_learned_on_as_they_are() {
    let data = thin(90, 12);
    let gmml = at(0.4, Regularization::Shrinkage(0.1));
    let (dense, sparse) = (
        gmml.fit(&data).unwrap(),
        gmml.fit_sparse(&sparse(data.rows()), data.labels(), &mut silent).unwrap(),
    );
    assert_eq!(dense.metric, sparse.metric);
    assert!(sparse.diagnostics.span.is_none());
}

#[test]
fn all_principal_directions_are_the_span() {
    let data = thin(40, 70);
    let (all, few) = (at(0.5, Regularization::Lambda(0.1)), Some(39));
    let exact = Gmml { rank: Some(Components::Count(39)), ..all.clone() }.fit(&data).unwrap();
    let random = Gmml { principal: few, ..all.clone() }.fit(&data).unwrap();
    assert_near(random.metric.matrix().unwrap().as_ref(), exact.metric.matrix().unwrap().as_ref(), 1e-9);
    let span = random.diagnostics.span.unwrap();
    assert!(span.randomized && span.outside < 1e-12, "{span:?}");
    let sparse =
        Gmml { principal: few, ..all }.fit_sparse(&sparse(data.rows()), data.labels(), &mut silent).unwrap();
    assert_near(sparse.metric.matrix().unwrap().as_ref(), exact.metric.matrix().unwrap().as_ref(), 1e-9);
}

#[test]
fn the_share_outside_the_leading_directions_is_that_of_the_spectrum() {
    let data = wide(50, 80, 9);
    let fit = Gmml { principal: Some(10), ..at(0.5, Regularization::None) }.fit(&data).unwrap();
    let axes = Metric::principal_axes(data.rows()).unwrap().transform(data.rows()).unwrap();
    let squares = |from: usize, to: usize| -> f64 {
        (0..50).flat_map(|i| axes.row(i)[from..to].to_vec()).map(|z| z * z).sum()
    };
    let expected = squares(10, 80) / squares(0, 80);
    let seen = fit.diagnostics.span.unwrap().outside;
    // A flat spectrum is the hard case of the randomised search; it can only find less than there is.
    assert!(seen >= expected - 1e-12 && seen < 1.02 * expected, "{seen} {expected}");
}

#[test]
fn neighbours_are_those_of_the_dense_metric() {
    let data = wide(40, 100, 1);
    let gmml = at(0.3, Regularization::Lambda(0.5));
    let (inside, all) = (gmml.fit(&data).unwrap(), dense(&gmml, 100).fit(&data).unwrap());
    let queries = wide(30, 100, 11);
    let found = |metric: &Metric| {
        let knn = mahala::Knn::new(metric.transform(data.rows()).unwrap()).unwrap();
        let found = knn.search(&metric.transform(queries.rows()).unwrap(), 5).unwrap();
        (0..30).map(|i| found.indices(i).to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(found(&inside.metric), found(&all.metric));
}

#[test]
fn without_lambda_nothing_outside_the_span_counts() {
    let data = wide(20, 50, 1);
    let fit = at(0.5, Regularization::None).fit(&data).unwrap();
    assert_eq!(fit.metric.weight_outside(), None);
    assert_eq!(fit.diagnostics.span.as_ref().unwrap().directions, 19);
    assert!(fit.diagnostics.ridge > 0.0, "S has rank n - c < n - 1");
    assert!(fit.metric.transform(data.rows()).is_ok());
}

#[test]
fn doubled_rows_and_constant_columns_lower_the_rank_alone() {
    let data = wide(12, 40, 1);
    let mut cells: Vec<f64> = data.rows().values().repeat(2);
    cells.chunks_exact_mut(40).for_each(|row| row[7] = 3.25);
    let labels: Vec<String> =
        data.labels().codes().repeat(2).iter().map(|&c| data.labels().names()[c as usize].clone()).collect();
    let doubled = Dataset::new(Rows::new(cells, 40).unwrap(), Labels::new(&labels)).unwrap();
    let fit = at(0.5, Regularization::None).fit(&doubled).unwrap();
    assert_eq!(fit.metric.rank(), 11);
    assert_eq!(fit.diagnostics.constant_columns, [7]);
    let rows = sparse(doubled.rows());
    assert_eq!(
        at(0.5, Regularization::None).fit_sparse(&rows, doubled.labels(), &mut silent).unwrap().metric.rank(),
        11
    );
    let lambda = at(0.5, Regularization::Lambda(0.1)).fit(&doubled).unwrap();
    assert_eq!((lambda.metric.rank(), lambda.diagnostics.constant_columns.len()), (11, 0));
}

#[test]
fn what_cannot_be_learned_from_is_refused_in_words() {
    let gmml = at(0.5, Regularization::None);
    let alike = Dataset::new(Rows::new(vec![1.0; 3 * 9], 9).unwrap(), Labels::new(["a", "a", "b"])).unwrap();
    assert_eq!(gmml.fit(&alike).unwrap_err(), Error::AllConstant { columns: 9 });
    let one = Dataset::new(wide(3, 9, 1).rows().clone(), Labels::new(["a", "a", "a"])).unwrap();
    assert!(matches!(gmml.fit(&one).unwrap_err(), Error::OneClass { .. }));
    let single = Dataset::new(Rows::new(vec![1.0, 2.0], 2).unwrap(), Labels::new(["a"])).unwrap();
    assert!(gmml.fit(&single).is_err());
    let empty = SparseRows::new(vec![0], vec![], vec![], 3).unwrap();
    assert!(matches!(
        gmml.fit_sparse(&empty, &Labels::new([""; 0]), &mut silent).unwrap_err(),
        Error::Empty { .. }
    ));
    let zeros = SparseRows::new(vec![0, 0, 0, 0], vec![], vec![], 9).unwrap();
    let labels = Labels::new(["a", "a", "b"]);
    assert_eq!(gmml.fit_sparse(&zeros, &labels, &mut silent).unwrap_err(), Error::AllConstant { columns: 9 });
    assert!(matches!(
        gmml.fit_sparse(&zeros, &Labels::new(["a"]), &mut silent).unwrap_err(),
        Error::Length { .. }
    ));
    let none = Gmml { principal: Some(0), ..gmml }.fit(&wide(9, 4, 1)).unwrap_err();
    assert_eq!(none.to_string(), "principal is 0; it must be at least 1");
}

#[test]
fn what_needs_all_columns_by_all_columns_is_refused_with_the_memory() {
    let rows = SparseRows::new(vec![0, 1, 2, 3], vec![0, 1, 99_999], vec![1.0; 3], 100_000).unwrap();
    let labels = Labels::new(["a", "a", "b"]);
    let error = at(0.5, Regularization::Shrinkage(0.1)).fit_sparse(&rows, &labels, &mut silent).unwrap_err();
    assert!(error.to_string().starts_with("the fit needs 800.0 GB for 100000 columns"), "{error}");
    let small = Gmml { memory_limit_gb: 1e-3, ..at(0.5, Regularization::None) };
    let error = small.fit_sparse(&rows, &labels, &mut silent).unwrap_err();
    assert!(matches!(error, Error::Memory { d: 100_000, .. }), "{error}");
    // Inside principal directions everything is allowed.
    let gmml = Gmml { principal: Some(2), ..at(0.5, Regularization::Shrinkage(0.1)) };
    assert_eq!(gmml.fit_sparse(&rows, &labels, &mut silent).unwrap().metric.rank(), 2);
}

#[test]
fn parameters_are_checked_before_the_rows_are_looked_at() {
    // All rows are alike: whoever looks at them finds nothing to learn.
    let n = 4;
    let alike = Rows::new(vec![3.0; n * 9], 9).unwrap();
    let labels = Labels::new((0..n).map(|i| ["a", "b"][i % 2]));
    let data = Dataset::new(alike, labels.clone()).unwrap();
    for (name, gmml) in [
        ("t", at(7.0, Regularization::None)),
        ("k", Gmml { k: 0, ..Gmml::default() }),
        ("folds", Gmml { folds: 1, ..Gmml::default() }),
        ("lambda", at(0.5, Regularization::Lambda(-1.0))),
        ("t", Gmml { principal: Some(2), ..at(7.0, Regularization::None) }),
    ] {
        let kernel = KernelGmml { gmml: gmml.clone(), kernel: Kernel::Linear, landmarks: None };
        let kernel = if gmml.principal.is_some() { None } else { Some(kernel.fit(&data).map(|_| ())) };
        let seen = [
            Some(gmml.fit(&data).map(|_| ())),
            Some(gmml.fit_sparse(&sparse(data.rows()), &labels, &mut silent).map(|_| ())),
            Some(gmml.fit_with(&data, &FitOptions::weighted(&[1.0; 4]), &mut silent).map(|_| ())),
            Some(CrossValidation::new(&gmml, &data).map(|_| ())),
            kernel,
        ];
        for refused in seen.into_iter().flatten() {
            assert!(
                matches!(&refused, Err(Error::Parameter { name: seen, .. }) if *seen == name),
                "{refused:?}"
            );
        }
    }
}

#[test]
fn extreme_uniform_scales_change_nothing_but_the_unit() {
    let data = wide(20, 50, 1);
    let plain = at(0.5, Regularization::None).fit(&data).unwrap();
    let z = plain.metric.transform(data.rows()).unwrap();
    for scale in [2f64.powi(-450), 2f64.powi(450)] {
        let cells = data.rows().values().iter().map(|x| x * scale).collect();
        let scaled = Dataset::new(Rows::new(cells, 50).unwrap(), data.labels().clone()).unwrap();
        let fit = at(0.5, Regularization::None).fit(&scaled).unwrap();
        // At t = ½ the metric has no unit, and the coordinates have that of the rows.
        let seen = fit.metric.transform(scaled.rows()).unwrap();
        let seen = Mat::from_fn(20, z.columns(), |i, j| seen.row(i)[j] / scale);
        assert_near(seen.as_ref(), z.as_mat(), 1e-9);
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (data, rows) = (wide(150, 700, 3), sparse(thin(150, 700).rows()));
    let run = || {
        let exact = at(0.4, Regularization::Lambda(0.1)).fit(&data).unwrap().metric;
        let random = Gmml { principal: Some(20), ..at(0.4, Regularization::None) };
        let from_sparse = random.fit_sparse(&rows, data.labels(), &mut silent).unwrap().metric;
        (exact, random.fit(&data).unwrap().metric, from_sparse.transform_sparse(&rows).unwrap(), from_sparse)
    };
    let in_pool =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
    assert!(in_pool(1) == in_pool(4));
}
