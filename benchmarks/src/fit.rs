//! One fit from rows and labels, over all pairs or a list of them, interleaved with the peers doing the same.

use crate::npy::{Folder, write_npy};
use crate::peak::Rates;
use crate::time::{Times, generated, summary_of, with_threads};
use anyhow::{Context as _, Result, ensure};
use mahala::data::Random;
use mahala::gmml::{Regularization, TChoice};
use mahala::pairs::Pairs;
use mahala::{Dataset, Gmml};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// What to measure.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub n: usize,
    pub d: usize,
    pub c: usize,
    /// `all` pairs, or the `sampled` ones of the paper.
    pub pairs: &'a str,
    pub threads: usize,
    pub repeats: usize,
}

/// Added to both diagonals when pairs are sampled, as the paper does where it must.
const LAMBDA: f64 = 0.1;

/// Alternates: some of our fits, some of each peer, as often as asked, so that all see the same machine.
/// Octave takes part if it is given.
pub(crate) fn run(python: &str, octave: Option<&str>, shape: Shape<'_>) -> Result<Value> {
    let Shape { n, d, c, pairs, threads, repeats } = shape;
    let data = generated(n, d, c)?;
    let listed = (pairs == "sampled").then(|| Pairs::sampled(data.labels(), &mut Random::new(0, 0)));
    let folder = Folder::new()?;
    write_inputs(&folder, &data, listed.as_ref())?;
    // Sampled pairs may leave S singular: all add the paper's λ to both diagonals.
    let lambda = if listed.is_some() { LAMBDA } else { 0.0 };
    let regularization = Regularization::Lambda(lambda);
    let gmml = Gmml { t: TChoice::Fixed(0.5), regularization, memory_limit_gb: 64.0, ..Gmml::default() };
    let mut ours = Times::default();
    let mut theirs: Vec<Value> = Vec::new();
    // Only wide fits on one thread are compared with what the machine can do.
    let mut rates = (threads == 1 && d >= 256).then(Rates::default);
    let fit = || match &listed {
        None => gmml.fit(&data),
        Some(pairs) => gmml.fit_pairs(data.rows(), pairs),
    };
    for round in 0..repeats {
        let count = with_threads(threads, || -> Result<usize> {
            // As the peers: one that warms up, and more of those that take no time.
            let start = std::time::Instant::now();
            fit()?;
            let count = (0.1 / start.elapsed().as_secs_f64()).clamp(3.0, 30.0) as usize;
            rates.iter_mut().for_each(Rates::measure);
            (0..count).try_for_each(|_| ours.add(fit).map(drop))?;
            rates.iter_mut().for_each(Rates::measure);
            Ok(count)
        })??;
        let mut numpy = Command::new(python);
        numpy.args([
            "benchmarks/fit_numpy.py",
            "--ridge",
            &lambda.to_string(),
            "--repeats",
            &count.to_string(),
        ]);
        theirs.extend(peer(numpy, &folder, listed.is_some(), threads)?);
        // Octave measures three fits a call; of large ones, which take it seconds each, one call is enough.
        if let Some(octave) = octave
            && (round == 0 || d < 256)
        {
            let mut command = Command::new(octave);
            command.args(["--no-gui", "--quiet", "benchmarks/fit_octave.m"]);
            theirs.extend(peer(command, &folder, listed.is_some(), threads)?);
        }
    }
    let mut report = json!({
        "what": "fit", "pairs": pairs, "n": n, "d": d, "c": c, "threads": threads, "mahala": ours.to_json(),
        "flops_per_second": rates.map(|rates| rates.to_json()),
        "flops": flops(listed.as_ref().map_or(n, Pairs::len), d),
    });
    for edition in ["numpy", "scipy", "octave"] {
        let lines: Vec<&Value> = theirs.iter().filter(|line| line["edition"] == edition).collect();
        if !lines.is_empty() {
            report[edition] = summary_of(&lines);
        }
    }
    Ok(report)
}

/// One triangle of the sums, one Cholesky factorisation, one congruence, one eigenproblem, one triangular
/// solve.
fn flops(rows: usize, d: usize) -> f64 {
    let (rows, d) = (rows as f64, d as f64);
    rows * d * (d + 1.0) + (1.0 / 3.0 + 1.0 + 14.0 / 3.0 + 1.0) * d.powi(3)
}

fn write_inputs(folder: &Folder, data: &Dataset, pairs: Option<&Pairs>) -> Result<()> {
    let (n, d) = (data.len(), data.columns());
    let bytes = data.rows().values().iter().flat_map(|x| x.to_le_bytes());
    write_npy(&folder.path("rows.npy"), "<f8", &[n, d], bytes)?;
    let codes = data.labels().codes().iter().flat_map(|code| i64::from(*code).to_le_bytes());
    write_npy(&folder.path("labels.npy"), "<i8", &[n], codes)?;
    let Some(pairs) = pairs else { return Ok(()) };
    let ends = pairs.as_slice().iter().flat_map(|p| [p.first as u64, p.second as u64, u64::from(p.similar)]);
    write_npy(&folder.path("pairs.npy"), "<i8", &[pairs.len(), 3], ends.flat_map(u64::to_le_bytes))
}

fn peer(mut command: Command, folder: &Folder, listed: bool, threads: usize) -> Result<Vec<Value>> {
    let files: [&Path; 2] = [&folder.path("rows.npy"), &folder.path("labels.npy")];
    command.args(files);
    if listed {
        command.arg(folder.path("pairs.npy"));
    }
    lines_of(
        command.env("OPENBLAS_NUM_THREADS", threads.to_string()).env("OMP_NUM_THREADS", threads.to_string()),
    )
}

/// The JSON lines a peer prints.
pub(crate) fn lines_of(command: &mut Command) -> Result<Vec<Value>> {
    let output = command.output().with_context(|| format!("the peer did not start: {command:?}"))?;
    ensure!(output.status.success(), "the peer failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
