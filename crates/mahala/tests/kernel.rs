//! Kernel GMML against linear GMML, and against values computed in explicit feature space.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{bundled, number, numbers, reference};
use mahala::data::Random;
use mahala::gmml::{Regularization, TChoice};
use mahala::kernel::{Kernel, KernelFit, KernelGmml};
use mahala::{Dataset, Error, Gmml, Knn, Labels, Rows};

fn at(t: f64, regularization: Regularization) -> Gmml {
    Gmml { t: TChoice::Fixed(t), regularization, ..Gmml::default() }
}

fn with(gmml: Gmml, kernel: Kernel) -> KernelGmml {
    KernelGmml { gmml, kernel, landmarks: None }
}

fn rings(n: usize) -> Dataset {
    let mut random = Random::new(1, 0);
    let mut point = |radius: f64| {
        let angle = std::f64::consts::TAU * random.uniform();
        let radius = radius + 0.3 * random.uniform();
        [radius * angle.cos(), radius * angle.sin()]
    };
    let cells = (0..n).flat_map(|i| point([1.0, 2.0, 3.0][i % 3])).collect();
    let labels = Labels::new((0..n).map(|i| ["one", "two", "three"][i % 3]));
    Dataset::new(Rows::new(cells, 2).unwrap(), labels).unwrap()
}

#[test]
fn under_the_linear_kernel_it_is_linear_gmml() {
    for name in ["iris.csv", "wine.csv"] {
        let data = bundled(name);
        // In units near one another: products of raw Wine span the fourth power of its units.
        let gmml = |t, regularization| Gmml { standardize: true, ..at(t, regularization) };
        for t in [0.0, 0.3, 0.5, 1.0] {
            for regularization in [Regularization::None, Regularization::Lambda(0.7)] {
                let linear = gmml(t, regularization).fit(&data).unwrap();
                let kernel = with(gmml(t, regularization), Kernel::Linear).fit(&data).unwrap();
                for (i, j) in (0..data.len()).zip(1..data.len()) {
                    let (x, y) = (data.rows().row(i), data.rows().row(j));
                    let expected = linear.metric.squared_distance(x, y).unwrap();
                    let seen = kernel.metric.squared_distance(x, y).unwrap();
                    assert!(
                        (seen - expected).abs() <= 1e-8 * (expected + 1e-3),
                        "{name} {t}: {seen} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn under_the_linear_kernel_more_columns_than_rows_are_the_wide_formula() {
    let mut random = Random::new(2, 0);
    let rows = Rows::new((0..20 * 50).map(|_| random.uniform()).collect(), 50).unwrap();
    let data = Dataset::new(rows, Labels::new((0..20).map(|i| ["a", "b"][i % 2]))).unwrap();
    let gmml = at(0.3, Regularization::Lambda(0.2));
    let (wide, kernel) = (gmml.fit(&data).unwrap(), with(gmml, Kernel::Linear).fit(&data).unwrap());
    let new: Vec<f64> = (0..50).map(|_| random.uniform()).collect();
    let expected = wide.metric.squared_distance(&new, data.rows().row(0)).unwrap();
    let seen = kernel.metric.squared_distance(&new, data.rows().row(0)).unwrap();
    assert!((seen - expected).abs() < 1e-9 * expected, "{seen} {expected}");
}

#[test]
fn distances_in_feature_space_meet_their_references() {
    let reference = reference("kernel.json");
    let points =
        |name: &str| -> Vec<f64> { reference[name].as_array().unwrap().iter().flat_map(numbers).collect() };
    let classes: Vec<i64> = numbers(&reference["classes"]).iter().map(|&c| c as i64).collect();
    let rows = Rows::new(points("rows"), 2).unwrap();
    let data = Dataset::new(rows, Labels::from_integers(&classes)).unwrap();
    let all = Rows::new([points("rows"), points("new")].concat(), 2).unwrap();
    let lambda = Regularization::Lambda(number(&reference["lambda"]));
    for case in reference["cases"].as_array().unwrap() {
        let kernel = match case["name"].as_str().unwrap() {
            "rbf" => Kernel::Rbf { gamma: 0.375 },
            _ => Kernel::Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 },
        };
        for values in case["at"].as_array().unwrap() {
            let fit = with(at(number(&values["t"]), lambda), kernel).fit(&data).unwrap();
            for (i, row) in values["squared"].as_array().unwrap().iter().enumerate() {
                for (j, expected) in numbers(row).into_iter().enumerate() {
                    let seen = fit.metric.squared_distance(all.row(i), all.row(j)).unwrap();
                    assert!(
                        (seen - expected).abs() <= 1e-10 * (1.0 + expected),
                        "{i} {j}: {seen} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_precomputed_kernel_is_that_kernel() {
    let data = rings(40);
    let kernel = Kernel::Rbf { gamma: 0.8 };
    let gmml = at(0.4, Regularization::Lambda(0.1));
    let given = with(gmml.clone(), kernel).fit(&data).unwrap();
    let values = given.metric.map().values(data.rows()).unwrap();
    let gram = Dataset::new(values.clone(), data.labels().clone()).unwrap();
    let computed = with(gmml, Kernel::Precomputed).fit(&gram).unwrap();
    assert_eq!(computed.metric.metric(), given.metric.metric());
    assert_eq!(computed.metric.transform(&values).unwrap(), given.metric.transform(data.rows()).unwrap());
}

fn errors_on_rings(fit: &KernelFit, train: &Dataset) -> usize {
    let test = rings(300);
    let knn = Knn::new(fit.metric.transform(train.rows()).unwrap()).unwrap();
    let found = knn.search(&fit.metric.transform(test.rows()).unwrap(), 5).unwrap().vote(train.labels());
    found.iter().zip(test.labels().codes()).filter(|(a, b)| a != b).count()
}

#[test]
fn rings_that_no_linear_map_separates_are_separated() {
    let train = rings(120);
    let rbf = Kernel::Rbf { gamma: Kernel::gamma_for(train.rows()) };
    let fit = with(Gmml::default(), rbf).fit(&train).unwrap();
    assert!(errors_on_rings(&fit, &train) <= 6, "{}", errors_on_rings(&fit, &train));
    assert!(!fit.diagnostics.span.unwrap().randomized);
}

#[test]
fn landmarks_come_near_all_rows_and_tell_how_near() {
    let train = rings(400);
    let kernel = Kernel::Rbf { gamma: 0.5 };
    let few = KernelGmml { landmarks: Some(80), ..with(at(0.5, Regularization::None), kernel) };
    let fit = few.fit(&train).unwrap();
    assert!(errors_on_rings(&fit, &train) <= 6);
    let span = fit.diagnostics.span.clone().unwrap();
    assert!(span.randomized && span.directions <= 80 && span.outside < 1e-2, "{span:?}");
    let fewer = KernelGmml { landmarks: Some(3), ..few }.fit(&train).unwrap();
    assert!(fewer.diagnostics.span.unwrap().outside > 0.05);
}

#[test]
fn rows_given_twice_lower_the_rank_alone() {
    let data = rings(30);
    let both: Vec<usize> = (0..30).chain(0..30).collect();
    let fit =
        with(at(0.5, Regularization::None), Kernel::Rbf { gamma: 1.0 }).fit(&data.subset(&both)).unwrap();
    assert!(fit.diagnostics.span.unwrap().directions < 30);
}

#[test]
fn what_is_no_kernel_is_refused() {
    let gmml = || at(0.5, Regularization::None);
    let labels = || Labels::new(["a", "a", "b"]);
    let table = |cells: Vec<f64>, d| Dataset::new(Rows::new(cells, d).unwrap(), labels()).unwrap();
    let precomputed = |data: &Dataset| with(gmml(), Kernel::Precomputed).fit(data).unwrap_err();
    assert!(matches!(precomputed(&table(vec![1.0; 6], 2)), Error::NotSquare { .. }));
    let lopsided = vec![1.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert!(matches!(precomputed(&table(lopsided, 3)), Error::NotSymmetric { .. }));
    let negative = vec![0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, -3.0];
    let error = precomputed(&table(negative, 3)).to_string();
    assert!(error.starts_with("the kernel is not so") && error.contains("positive semidefinite"), "{error}");
    assert!(matches!(precomputed(&table(vec![2.0; 9], 3)), Error::AllConstant { .. }));
    for wrong in [
        with(gmml(), Kernel::Rbf { gamma: -1.0 }),
        KernelGmml { landmarks: Some(0), ..with(gmml(), Kernel::Linear) },
        KernelGmml { landmarks: Some(2), ..with(gmml(), Kernel::Precomputed) },
        with(Gmml { principal: Some(2), ..gmml() }, Kernel::Linear),
        with(Gmml { memory_limit_gb: 1e-9, ..gmml() }, Kernel::Linear),
    ] {
        assert!(wrong.fit(&table(vec![1.0, 2.0, 4.0, 3.0, 9.0, 7.0, 5.0, 1.0, 0.0], 3)).is_err());
    }
    let huge = with(gmml(), Kernel::Polynomial { degree: 9, gamma: 1.0, coef0: 0.0 });
    assert!(huge.fit(&table(vec![1e40, 2e40, -1e40], 1)).is_err());
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let data = rings(300);
    let run = || {
        let kernel = Kernel::Rbf { gamma: 0.5 };
        let exact = with(at(0.5, Regularization::Lambda(0.1)), kernel).fit(&data).unwrap();
        let few = KernelGmml { landmarks: Some(150), ..with(at(0.5, Regularization::None), kernel) };
        (exact.metric.transform(data.rows()).unwrap(), few.fit(&data).unwrap().metric)
    };
    let in_pool =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
    assert!(in_pool(1) == in_pool(4));
}
