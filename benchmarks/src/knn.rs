//! Exact nearest neighbours, interleaved with FAISS and scikit-learn.

use crate::npy::{Folder, write_npy};
use crate::time::{Times, generated, with_threads};
use anyhow::{Context as _, Result, ensure};
use mahala::Knn;
use serde_json::{Value, json};
use std::process::Command;

/// Which search to measure.
pub(crate) struct Search<'a> {
    pub queries: usize,
    pub rows: usize,
    pub d: usize,
    pub threads: usize,
    pub repeats: usize,
    pub peers: &'a str,
}

const K: usize = 5;

/// Alternates between ours and theirs.
pub(crate) fn run(python: &str, search: &Search<'_>) -> Result<Value> {
    let Search { queries, rows, d, threads, repeats, peers } = *search;
    // Numbers that single precision holds exactly, so that all search the same rows.
    let data = generated(rows + queries, d, 10)?;
    let rounded: Vec<f64> = data.rows().values().iter().map(|&x| f64::from(x as f32)).collect();
    let folder = Folder::new()?;
    let files = [folder.path("rows.npy"), folder.path("queries.npy")];
    let (reference, asked) = rounded.split_at(rows * d);
    for (file, values, n) in [(&files[0], reference, rows), (&files[1], asked, queries)] {
        write_npy(file, "<f8", &[n, d], values.iter().flat_map(|x| x.to_le_bytes()))?;
    }
    let (reference, asked) =
        (mahala::Rows::new(reference.to_vec(), d)?, mahala::Rows::new(asked.to_vec(), d)?);
    let mut ours = Times::default();
    let mut theirs: Vec<Value> = Vec::new();
    let mut checksum = 0;
    for _ in 0..repeats {
        // As the peers: one that warms up.
        let (first, again) = (reference.clone(), reference.clone());
        let found = with_threads(threads, || {
            Knn::new(first)?.search(&asked, K)?;
            ours.add(|| Knn::new(again)?.search(&asked, K))
        })??;
        checksum = (0..found.len()).flat_map(|q| found.indices(q)).sum();
        let output = Command::new(python)
            .arg("benchmarks/knn_peers.py")
            .args(&files)
            .args(["--repeats", "1", "--peers", peers, "--threads", &threads.to_string()])
            .env("OPENBLAS_NUM_THREADS", threads.to_string())
            .env("OMP_NUM_THREADS", threads.to_string())
            .output()
            .context("the Python peer did not start")?;
        ensure!(
            output.status.success(),
            "the Python peer failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lines = String::from_utf8(output.stdout)?;
        theirs.extend(lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?);
    }
    let peers: Vec<Value> = peers.split(',').map(|peer| best(peer, &theirs, &ours)).collect();
    Ok(json!({
        "what": "knn", "queries": queries, "rows": rows, "d": d, "threads": threads, "k": K,
        "mahala": ours.to_json(), "checksum": checksum, "peers": peers,
    }))
}

fn best(peer: &str, lines: &[Value], ours: &Times) -> Value {
    let least = |key: &str| {
        let of = lines.iter().filter(|line| line["peer"] == peer);
        of.filter_map(|line| line[key].as_f64()).fold(f64::INFINITY, f64::min)
    };
    let checksum = lines.iter().find(|line| line["peer"] == peer).map(|line| line["checksum"].clone());
    let (wall, cpu) = (least("wall_min"), least("cpu_min"));
    json!({
        "peer": peer, "wall_min": wall, "cpu_min": cpu, "checksum": checksum,
        "wall_ratio": wall / ours.wall_min(), "cpu_ratio": cpu / ours.cpu_min(),
    })
}
