//! A metric for each class or cluster, between its own and the global one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{bundled, gaussian, halves, relative_difference};
use mahala::data::Random;
use mahala::geometry::{Spd, geometric_mean};
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, Regularization, TChoice, analytic_shrinkage};
use mahala::local::{LocalGmml, LocalMaps, Locality, SHARES, Share};
use mahala::pairs::Pairs;
use mahala::progress::Stop;
use mahala::scatter::Scatter;
use mahala::{Dataset, Error, Gmml, Knn, Labels, Mat, Model, Rows};
use std::ops::ControlFlow;

/// Inverses and products of matrices of condition up to 1e7.
const ROUNDING: f64 = 1e-7;

fn fixed(t: f64) -> Gmml {
    Gmml { t: TChoice::Fixed(t), standardize: true, ..Gmml::default() }
}

fn spd(metric: &mahala::Metric) -> Spd {
    Spd::new(metric.matrix().unwrap()).unwrap()
}

#[test]
fn without_a_share_it_is_the_global_metric_to_the_bit() {
    let (learn, test) = halves(&bundled("wine.csv"), 0);
    for by in [Locality::Class, Locality::Cluster(4)] {
        let local = LocalGmml { gmml: fixed(0.3), by, share: Share::Fixed(0.0) }.fit(&learn).unwrap();
        let metric = fixed(0.3).fit(&learn).unwrap().metric;
        let queries = metric.transform(test.rows()).unwrap();
        let found = Knn::new(metric.transform(learn.rows()).unwrap()).unwrap().search(&queries, 5).unwrap();
        assert_eq!(local.maps.search(&local.references.0, &queries, 5).unwrap(), found);
        assert_eq!(local.predict(test.rows(), 5).unwrap(), found.vote(learn.labels()));
    }
}

/// `S` and `D` of one class against the rest, from the pairs listed.
fn one_against_rest(data: &Dataset, class: u32) -> Scatter {
    let codes = data.labels().codes();
    let all = Pairs::all(data.labels());
    let about = |&&p: &&mahala::pairs::Pair| codes[p.first] == class || codes[p.second] == class;
    let chosen = all.as_slice().iter().filter(about).copied().collect();
    Scatter::from_pairs(data.rows(), &Pairs::new(chosen, data.len(), data.len()).unwrap()).unwrap()
}

#[test]
fn each_class_has_the_point_on_the_geodesic_to_its_own_metric() {
    let data = bundled("iris.csv");
    let gmml = Gmml { t: TChoice::Fixed(0.4), ..Gmml::default() };
    let global = spd(&gmml.fit(&data).unwrap().metric);
    for s in [0.3, 1.0] {
        let local = LocalGmml { gmml: gmml.clone(), by: Locality::Class, share: Share::Fixed(s) };
        let local = local.fit(&data).unwrap();
        for class in 0..3u32 {
            let own = spd(&gmml.solve(&one_against_rest(&data, class)).unwrap().metric(0.4).unwrap());
            let factor = ((global.log_det() - own.log_det()) / 4.0).exp();
            let own = Spd::new(Mat::from_fn(4, 4, |i, j| factor * own.as_mat()[(i, j)])).unwrap();
            let wanted = geometric_mean(&global, &own, s).unwrap();
            let seen = spd(&local.metric(class as usize).unwrap());
            assert!(relative_difference(seen.as_mat(), wanted.as_mat()) < ROUNDING);
            assert!((seen.log_det() - global.log_det()).abs() < ROUNDING);
        }
    }
}

#[test]
fn the_analytic_shrinkage_of_a_class_knows_its_number_of_rows() {
    let data = bundled("iris.csv");
    let (t, analytic) = (TChoice::Fixed(0.4), Regularization::Analytic);
    let gmml = Gmml { t, regularization: analytic, ..Gmml::default() };
    let local = LocalGmml { gmml, by: Locality::Class, share: Share::Fixed(1.0) }.fit(&data).unwrap();
    for class in 0..3u32 {
        let scatter = one_against_rest(&data, class);
        // Fifty rows and their mean.
        let regularization = Regularization::ShrinkSimilar(analytic_shrinkage(scatter.s(), 49.0));
        let own = Gmml { t, regularization, ..Gmml::default() }.solve(&scatter).unwrap();
        let (own, seen) = (spd(&own.metric(0.4).unwrap()), spd(&local.metric(class as usize).unwrap()));
        let factor = ((seen.log_det() - own.log_det()) / 4.0).exp();
        let wanted = Mat::from_fn(4, 4, |i, j| factor * own.as_mat()[(i, j)]);
        assert!(relative_difference(seen.as_mat(), wanted.as_ref()) < ROUNDING);
    }
}

#[test]
fn a_cluster_has_the_metric_of_its_own_pairs() {
    let data = bundled("wine.csv");
    let local = LocalGmml { gmml: fixed(0.5), by: Locality::Cluster(2), share: Share::Fixed(1.0) };
    let local = local.fit(&data).unwrap();
    let scale = local.fit.metric.scale().unwrap().to_vec();
    for group in 0..2 {
        let rows: Vec<usize> = (0..data.len()).filter(|&i| local.maps.groups()[i] == group).collect();
        let part = data.subset(&rows);
        assert!(part.len() > 30, "{}", part.len());
        // The same scale as the whole: divide first, then learn without standardisation.
        let cells = part.rows().values().iter().enumerate().map(|(at, x)| x / scale[at % 13]).collect();
        let divided = Dataset::new(Rows::new(cells, 13).unwrap(), part.labels().clone()).unwrap();
        let own = Gmml { standardize: false, ..fixed(0.5) }.fit(&divided).unwrap().metric.matrix().unwrap();
        let seen = local.metric(group as usize).unwrap().matrix().unwrap();
        let seen = Mat::from_fn(13, 13, |i, j| seen[(i, j)] * scale[i] * scale[j]);
        let factor =
            (Spd::new(seen.clone()).unwrap().log_det() - Spd::new(own.clone()).unwrap().log_det()) / 13.0;
        let own = Mat::from_fn(13, 13, |i, j| factor.exp() * own[(i, j)]);
        assert!(relative_difference(seen.as_ref(), own.as_ref()) < ROUNDING);
    }
}

#[test]
fn the_search_is_that_of_the_plain_formula() {
    let (learn, test) = halves(&bundled("iris.csv"), 3);
    let local = LocalGmml { gmml: fixed(0.2), by: Locality::Class, share: Share::Fixed(0.7) };
    let local = local.fit(&learn).unwrap();
    let metrics: Vec<mahala::Metric> = (0..3).map(|class| local.metric(class).unwrap()).collect();
    let queries = local.fit.metric.transform(test.rows()).unwrap();
    let found = local.maps.search(&local.references.0, &queries, 4).unwrap();
    for query in 0..test.len() {
        let distance = |i: usize| {
            let metric = &metrics[learn.labels().codes()[i] as usize];
            metric.distance(test.rows().row(query), learn.rows().row(i)).unwrap()
        };
        let mut order: Vec<f64> = (0..learn.len()).map(distance).collect();
        order.sort_by(f64::total_cmp);
        for (seen, wanted) in found.distances(query).iter().zip(order) {
            assert!((seen - wanted).abs() < ROUNDING * wanted.max(1e-3));
        }
    }
}

/// Two classes that cross at right angles, among noise: no one metric suits both.
fn crossed(n: usize, seed: u64) -> Dataset {
    let mut random = Random::new(seed, 0);
    let mut cells = Vec::new();
    for i in 0..n {
        let (long, short) = (4.0 * gaussian(&mut random), 0.4 * gaussian(&mut random));
        cells.extend(if i % 2 == 0 { [long, short] } else { [short, long] });
        cells.extend([gaussian(&mut random), gaussian(&mut random)]);
    }
    let labels = Labels::new((0..n).map(|i| ["flat", "steep"][i % 2]));
    Dataset::new(Rows::new(cells, 4).unwrap(), labels).unwrap()
}

#[test]
fn classes_of_different_shape_want_metrics_of_their_own() {
    let (learn, test) = (crossed(60, 1), crossed(1000, 2));
    let wrong = |share| {
        let local = LocalGmml { share, ..LocalGmml::default() }.fit(&learn).unwrap();
        let predicted = local.predict(test.rows(), 5).unwrap();
        let wrong = predicted.iter().zip(test.labels().codes()).filter(|(p, c)| p != c).count();
        (wrong, local)
    };
    let (global, _) = wrong(Share::Fixed(0.0));
    let (chosen, local) = wrong(Share::CrossValidated);
    assert!(local.share > 0.0 && local.curve.len() == SHARES.len());
    assert!(10 * chosen < 9 * global, "{global} of 1000 wrong under one metric, {chosen} under two");
}

#[test]
fn a_class_of_one_row_keeps_the_global_metric() {
    let data = bundled("iris.csv").subset(&(0..101).collect::<Vec<_>>());
    let local = LocalGmml { gmml: fixed(0.3), share: Share::Fixed(1.0), ..LocalGmml::default() };
    let local = local.fit(&data).unwrap();
    assert_eq!(local.maps.maps()[2], Mat::<f64>::identity(4, 4));
    assert_ne!(local.maps.maps()[0], Mat::<f64>::identity(4, 4));
}

#[test]
fn constant_columns_do_no_harm() {
    let data = bundled("iris.csv");
    let cells = (0..150).flat_map(|i| [data.rows().row(i), &[7.0]].concat()).collect();
    let wide = Dataset::new(Rows::new(cells, 5).unwrap(), data.labels().clone()).unwrap();
    for by in [Locality::Class, Locality::Cluster(3)] {
        let fit =
            |data: &Dataset| LocalGmml { gmml: fixed(0.3), by, share: Share::Fixed(0.5) }.fit(data).unwrap();
        let same = fit(&wide).predict(wide.rows(), 3).unwrap() == fit(&data).predict(data.rows(), 3).unwrap();
        assert!(same);
    }
}

#[test]
fn the_model_file_keeps_local_metrics() {
    let (learn, test) = halves(&bundled("iris.csv"), 1);
    let local = LocalGmml { gmml: fixed(0.3), share: Share::Fixed(0.5), ..LocalGmml::default() };
    let local = local.fit(&learn).unwrap();
    let model = Model {
        references: Some(local.references.clone()),
        local: Some(local.maps.clone()),
        ..Model::new(local.fit.metric.clone())
    };
    let again = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(again, model);
    let found = again.search(&again.metric.transform(test.rows()).unwrap(), 5).unwrap();
    assert_eq!(found.vote(&local.references.1), local.predict(test.rows(), 5).unwrap());
    // Groups for another number of rows, or maps of other coordinates.
    let short = LocalMaps::new(local.maps.maps().to_vec(), vec![0; 3]).unwrap();
    let narrow = LocalMaps::new(vec![Mat::identity(2, 2)], vec![0; learn.len()]).unwrap();
    assert!(Model::from_bytes(&Model { local: Some(short), ..model.clone() }.to_bytes()).is_err());
    assert!(narrow.search(&local.references.0, &local.references.0, 1).is_err());
    assert!(Model::from_bytes(&Model { references: None, ..model }.to_bytes()).is_err());
}

#[test]
fn what_cannot_be_is_refused() {
    let data = bundled("iris.csv");
    let refuse = |local: LocalGmml| local.fit(&data).unwrap_err();
    let plain = LocalGmml::default();
    let error = refuse(LocalGmml { share: Share::Fixed(1.5), ..plain.clone() });
    assert_eq!(error.to_string(), "share is 1.5; it must be between 0 and 1");
    let error = refuse(LocalGmml { by: Locality::Cluster(0), ..plain.clone() });
    assert!(matches!(error, Error::Parameter { name: "clusters", .. }));
    let error = refuse(LocalGmml {
        gmml: Gmml { rank: Some(Components::Count(2)), ..Gmml::default() },
        ..plain.clone()
    });
    assert!(matches!(error, Error::Parameter { name: "rank", .. }));
    let cancelled = plain
        .fit_with(&data, &FitOptions::default(), &mut |_| ControlFlow::Break(Stop::Cancelled))
        .unwrap_err();
    assert_eq!(cancelled, Error::Cancelled);
    let local = LocalGmml { share: Share::Fixed(0.5), ..plain }.fit(&data).unwrap();
    assert!(local.predict(data.rows(), 0).is_err() && local.predict(data.rows(), 151).is_err());
    assert!(LocalMaps::new(vec![], vec![]).is_err());
    assert!(LocalMaps::new(vec![Mat::identity(2, 2)], vec![1]).is_err());
}

#[test]
fn local_metrics_of_columns_that_depend_on_others_live_in_the_span_of_the_rows() {
    let data = common::bundled("iris.csv");
    let with_sum = |row: &[f64]| row.iter().copied().chain([row.iter().sum::<f64>()]).collect::<Vec<f64>>();
    let cells = (0..data.len()).flat_map(|i| with_sum(data.rows().row(i))).collect();
    let wider = Dataset::new(Rows::new(cells, 5).unwrap(), data.labels().clone()).unwrap();
    let local = LocalGmml::default().fit(&wider).unwrap();
    assert_eq!(local.fit.metric.rank(), 4);
    let predicted = local.predict(wider.rows(), 5).unwrap();
    let wrong = predicted.iter().zip(wider.labels().codes()).filter(|(a, b)| a != b).count();
    assert!(wrong <= 5, "{wrong} of 150");
}
