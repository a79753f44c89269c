//! Several tasks: laws of the Karcher mean, and what the common metric does to those of the tasks.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../mahala/tests/common/mod.rs"]
mod common;

use common::{blobs, relative_difference};
use mahala::Dataset;
use mahala::data::Random;
use mahala::geometry::{Spd, geometric_mean, riemannian_distance};
use mahala::gmml::TChoice;
use mahala::{Gmml, Labels, Mat, Rows};
use mahala_baselines::{MultiTaskGmml, karcher_mean};

fn random_spd(d: usize, seed: u64) -> Spd {
    let mut random = Random::new(seed, 0);
    let x = Mat::from_fn(d + 2, d, |_, _| random.uniform() - 0.5);
    Spd::new(x.transpose() * &x).unwrap()
}

#[test]
fn the_karcher_mean_of_two_is_the_midpoint_of_their_geodesic() {
    let (a, b) = (random_spd(4, 1), random_spd(4, 2));
    let mean = karcher_mean(&[a.clone(), b.clone()]).unwrap();
    let middle = geometric_mean(&a, &b, 0.5).unwrap();
    assert!(relative_difference(mean.as_mat(), middle.as_mat()) < 1e-11);
}

#[test]
fn the_karcher_mean_follows_congruences_and_inverses() {
    let matrices: Vec<Spd> = (1..5).map(|seed| random_spd(3, seed)).collect();
    let mean = karcher_mean(&matrices).unwrap();
    let c = Mat::from_fn(3, 3, |i, j| [[1.0, 0.3, 0.0], [-0.2, 2.0, 0.1], [0.4, 0.0, 0.7]][i][j]);
    let congruent = |m: &Spd| Spd::new(&c * m.as_mat() * c.transpose()).unwrap();
    let moved = karcher_mean(&matrices.iter().map(congruent).collect::<Vec<_>>()).unwrap();
    assert!(relative_difference(moved.as_mat(), congruent(&mean).as_mat()) < 1e-10);
    let inverses: Vec<Spd> = matrices.iter().map(|m| m.inverse().unwrap()).collect();
    let inverse = karcher_mean(&inverses).unwrap().inverse().unwrap();
    assert!(relative_difference(inverse.as_mat(), mean.as_mat()) < 1e-10);
    assert!(karcher_mean(&[]).is_err());
    assert!(karcher_mean(&[random_spd(2, 1), random_spd(3, 1)]).is_err());
}

fn tasks() -> [Dataset; 3] {
    [1, 2, 3].map(|seed| blobs(60, 3, 3, seed))
}

#[test]
fn without_a_pull_every_task_has_its_own_closed_form() {
    let tasks = tasks();
    let method = MultiTaskGmml { lambda: 0.0, t: 0.3, ..MultiTaskGmml::default() };
    let fit = method.fit(&tasks.each_ref()).unwrap();
    for (task, metric) in tasks.iter().zip(&fit.metrics) {
        let alone = Gmml { t: TChoice::Fixed(0.3), ..Gmml::default() }.fit(task).unwrap().metric;
        let (a, b) = (metric.matrix().unwrap(), alone.matrix().unwrap());
        // The closed form of sums is that of means up to a factor.
        let factor = b[(0, 0)] / a[(0, 0)];
        assert!(relative_difference((&a * faer::Scale(factor)).as_ref(), b.as_ref()) < 1e-9);
    }
}

#[test]
fn the_stronger_the_pull_the_nearer_are_the_tasks() {
    let tasks = tasks();
    let spread = |lambda: f64| {
        let fit = MultiTaskGmml { lambda, ..MultiTaskGmml::default() }.fit(&tasks.each_ref()).unwrap();
        let shared = Spd::new(fit.shared.matrix().unwrap()).unwrap();
        let far = |metric: &mahala::Metric| {
            riemannian_distance(&Spd::new(metric.matrix().unwrap()).unwrap(), &shared).unwrap()
        };
        fit.metrics.iter().map(far).sum::<f64>()
    };
    let spreads = [0.0, 0.1, 1.0, 100.0].map(spread);
    assert!(spreads.is_sorted_by(|a, b| a > b) && spreads[3] < 0.05 * spreads[0], "{spreads:?}");
}

#[test]
fn what_is_no_set_of_tasks_is_refused() {
    let method = MultiTaskGmml::default();
    assert!(method.fit(&[]).is_err());
    let (a, b) = (blobs(20, 3, 2, 1), blobs(20, 2, 2, 1));
    assert!(
        method.fit(&[&a, &b]).unwrap_err().to_string().contains("columns of a task: 2 given, 3 expected")
    );
    let one = Dataset::new(Rows::new(vec![0.0; 6], 3).unwrap(), Labels::new(["a", "a"])).unwrap();
    assert!(method.fit(&[&one]).is_err());
    assert!(MultiTaskGmml { t: -0.1, ..method.clone() }.fit(&[&a]).is_err());
    assert!(MultiTaskGmml { rounds: 0, ..method.clone() }.fit(&[&a]).is_err());
    assert!(MultiTaskGmml { lambda: f64::NAN, ..method }.fit(&[&a]).is_err());
}
