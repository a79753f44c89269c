//! Where the time of one fit goes, stage by stage.

use crate::time::{Times, generated, with_threads};
use anyhow::Result;
use mahala::Gmml;
use mahala::data::ColumnStatistics;
use mahala::scatter::{Moments, Scatter};
use serde_json::{Value, json};

/// Measures each arrow of the pipeline.
pub(crate) fn run(n: usize, d: usize, c: usize, threads: usize) -> Result<Value> {
    let data = generated(n, d, c)?;
    let gmml = Gmml::default();
    let mut times: [Times; 5] = Default::default();
    with_threads(threads, || -> Result<()> {
        for _ in 0..7 {
            let moments = times[0].add(|| Moments::of(&data))?;
            let scatter = times[1].add(|| Scatter::all_pairs(&moments))?;
            let solution = times[2].add(|| gmml.solve(&scatter))?;
            times[3].add(|| solution.metric(0.5))?;
            times[4].add(|| ColumnStatistics::of(data.rows()));
        }
        Ok(())
    })??;
    let names = ["moments", "scatter", "solve", "metric", "mean"];
    let stages: serde_json::Map<String, Value> =
        names.into_iter().zip(&times).map(|(name, time)| (name.to_owned(), time.to_json())).collect();
    Ok(json!({"what": "stages", "n": n, "d": d, "c": c, "threads": threads, "stages": stages}))
}
