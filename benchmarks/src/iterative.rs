//! One fit on a data set of the paper, and the fits of iterative methods on the same rows.

use crate::fit::lines_of;
use crate::time::{Times, with_threads};
use anyhow::{Context as _, Result};
use mahala::gmml::TChoice;
use mahala::{Dataset, Gmml, Labels, Rows};
use serde_json::{Value, json};
use std::process::Command;

/// Reads a CSV with a header and the label in the last column; runs ours, then theirs.
pub(crate) fn run(python: &str, csv: &str) -> Result<Value> {
    let data = read(csv)?;
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let mut ours = Times::default();
    with_threads(1, || (0..50).try_for_each(|_| ours.add(|| gmml.fit(&data)).map(drop)))??;
    let peers = lines_of(
        Command::new(python)
            .args(["benchmarks/iterative_peers.py", csv])
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1"),
    )?;
    Ok(
        json!({"what": "iterative", "n": data.len(), "d": data.columns(), "mahala": ours.to_json(), "peers": peers}),
    )
}

fn read(csv: &str) -> Result<Dataset> {
    let text = std::fs::read_to_string(csv).with_context(|| format!("{csv} cannot be read"))?;
    let (mut values, mut labels, mut columns) = (Vec::new(), Vec::new(), 0);
    for line in text.lines().skip(1) {
        let (cells, label) = line.rsplit_once(',').context("a line has no comma")?;
        let before = values.len();
        for cell in cells.split(',') {
            values.push(cell.parse::<f64>()?);
        }
        columns = values.len() - before;
        labels.push(label.to_owned());
    }
    Ok(Dataset::new(Rows::new(values, columns)?, Labels::new(labels))?)
}
