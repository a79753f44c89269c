//! One fit from rows and labels over all pairs, interleaved with NumPy and SciPy doing the same.

use crate::npy::{Folder, write_npy};
use crate::time::{Times, generated, with_threads};
use anyhow::{Context as _, Result, ensure};
use mahala::{Dataset, Gmml, TChoice};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The shape of a data set.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub n: usize,
    pub d: usize,
    pub c: usize,
}

/// Alternates: some of our fits, some of theirs, as often as asked, so that both see the same machine.
pub(crate) fn run(python: &str, shape: Shape, threads: usize, repeats: usize) -> Result<Value> {
    let data = generated(shape.n, shape.d, shape.c)?;
    let folder = Folder::new()?;
    let (rows, labels) = (folder.path("rows.npy"), folder.path("labels.npy"));
    write_npy(&rows, "<f8", &[shape.n, shape.d], data.rows().values().iter().flat_map(|x| x.to_le_bytes()))?;
    let codes = data.labels().codes().iter().flat_map(|code| i64::from(*code).to_le_bytes());
    write_npy(&labels, "<i8", &[shape.n], codes)?;
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let mut ours = Times::default();
    let mut theirs: Vec<Value> = Vec::new();
    for _ in 0..repeats {
        with_threads(threads, || (0..3).try_for_each(|_| ours.add(|| gmml.fit(&data)).map(drop)))??;
        theirs.extend(peers(python, &rows, &labels, threads)?);
    }
    Ok(summary(shape, threads, &ours, &theirs, &data))
}

fn peers(python: &str, rows: &Path, labels: &Path, threads: usize) -> Result<Vec<Value>> {
    let output = Command::new(python)
        .arg("benches/fit_numpy.py")
        .args([rows, labels])
        .args(["--repeats", "3"])
        .env("OPENBLAS_NUM_THREADS", threads.to_string())
        .env("OMP_NUM_THREADS", threads.to_string())
        .output()
        .context("the Python peer did not start")?;
    ensure!(output.status.success(), "the Python peer failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn summary(shape: Shape, threads: usize, ours: &Times, theirs: &[Value], data: &Dataset) -> Value {
    let best = |edition: &str, key: &str| {
        let of = theirs.iter().filter(|line| line["edition"] == edition);
        of.filter_map(|line| line[key].as_f64()).fold(f64::INFINITY, f64::min)
    };
    let peer =
        |edition: &str| json!({"cpu_min": best(edition, "cpu_min"), "wall_min": best(edition, "wall_min")});
    let fastest = best("numpy", "cpu_min").min(best("scipy", "cpu_min"));
    json!({
        "what": "fit", "n": shape.n, "d": shape.d, "c": shape.c, "threads": threads, "classes": data.labels().names(),
        "mahala": ours.to_json(), "numpy": peer("numpy"), "scipy": peer("scipy"),
        "cpu_ratio_to_best_peer": ours.cpu_min() / fastest,
    })
}
