//! MLKR on ten thousand rows, in a process of its own: the peak of its memory is what it says it needs.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use mahala::Rows;
use mahala::data::Random;
use mahala::footprint::Shape;
use mahala::learner::{Learner, Training};
use mahala::progress::silent;
use mahala_baselines::Mlkr;

/// The largest resident size of this process so far, in bytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    1024.0 * line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap()
}

#[test]
fn ten_thousand_rows_are_learned_from_within_the_footprint() {
    let (n, d) = (10_000, 10);
    let mut random = Random::new(6, 0);
    let rows = Rows::new((0..n * d).map(|_| random.uniform()).collect(), d).unwrap();
    let targets: Vec<f64> = (0..n).map(|i| rows.row(i)[0] + (4.0 * rows.row(i)[3]).sin()).collect();
    let mlkr = Mlkr { rank: Some(3), max_iterations: 1, ..Mlkr::default() };
    let stated = 8.0 * mlkr.numbers(&Shape { rows: n, columns: d, classes: 0, pairs: 0 });
    let before = peak();
    let learned = mlkr.learn(&Training::Targets(&rows, &targets), &mut silent).unwrap();
    let grown = peak() - before;
    assert_eq!((learned.report.iterations, learned.metric.rank()), (1, 3));
    let plain: f64 = {
        let mean = targets.iter().sum::<f64>() / n as f64;
        targets.iter().map(|y| (y - mean).powi(2)).sum()
    };
    assert!(learned.report.objective.unwrap() < 0.5 * plain, "{:?} {plain}", learned.report);
    // 8 MB for the threads' stacks and the allocator. A matrix of n² numbers would be 800 MB.
    assert!(grown < stated + 8e6 && stated < 5e7, "{grown} bytes above the rows, {stated} stated");
}
