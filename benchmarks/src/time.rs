//! Wall and CPU time of a piece of work, and the data to work on.

use anyhow::Result;
use cpu_time::ProcessTime;
use mahala::data::Random;
use mahala::{Dataset, Labels, Rows};
use serde_json::{Value, json};
use std::time::Instant;

/// Repeated measurements of one thing.
#[derive(Default)]
pub(crate) struct Times {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Times {
    /// Measures one run more.
    pub(crate) fn add<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        let result = work();
        self.cpu.push(cpu.elapsed().as_secs_f64());
        self.wall.push(wall.elapsed().as_secs_f64());
        result
    }

    /// All of another's runs together, as one.
    pub(crate) fn push_total(&mut self, parts: &Self) {
        self.wall.push(parts.wall.iter().sum());
        self.cpu.push(parts.cpu.iter().sum());
    }

    /// Least and median of both, in seconds.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "wall_min": least(&self.wall), "wall_median": median(&self.wall),
            "cpu_min": least(&self.cpu), "cpu_median": median(&self.cpu),
        })
    }

    /// The least wall time.
    pub(crate) fn wall_min(&self) -> f64 {
        least(&self.wall)
    }

    /// The least CPU time.
    pub(crate) fn cpu_min(&self) -> f64 {
        least(&self.cpu)
    }
}

/// The least and the median of a peer's repeated reports.
pub(crate) fn summary_of(lines: &[&Value]) -> Value {
    let of = |key: &str| lines.iter().filter_map(|line| line[key].as_f64()).collect::<Vec<f64>>();
    json!({
        "wall_min": least(&of("wall_min")), "wall_median": median(&of("wall_median")),
        "cpu_min": least(&of("cpu_min")), "cpu_median": median(&of("cpu_median")),
    })
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `c` overlapping Gaussian-like classes: sums of uniform numbers, seeded.
pub(crate) fn generated(n: usize, d: usize, c: usize) -> Result<Dataset> {
    let mut random = Random::new(7, 0);
    let mut normal = move || (0..4).map(|_| random.uniform()).sum::<f64>() * 1.732 - 3.464;
    let centres: Vec<f64> = (0..c * d).map(|_| 0.3 * normal()).collect();
    let mut values = Vec::with_capacity(n * d);
    for i in 0..n {
        let centre = &centres[(i % c) * d..(i % c + 1) * d];
        values.extend(centre.iter().map(|m| m + normal()));
    }
    let labels = Labels::new((0..n).map(|i| (i % c).to_string()));
    Ok(Dataset::new(Rows::new(values, d)?, labels)?)
}

/// Runs with this many threads.
pub(crate) fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?.install(work))
}
