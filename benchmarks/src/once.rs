//! One piece of work of ours alone, in a process of its own: for growth curves, memory and profilers.

use crate::heap::peak_of;
use crate::time::{Times, generated, with_threads};
use anyhow::{Context as _, Result, bail};
use mahala::data::Random;
use mahala::gmml::{PairRule, TChoice};
use mahala::pairs::Pairs;
use mahala::scatter::Moments;
use mahala::{Dataset, Gmml, Knn, Rows};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs `kind` (`fit`, `sampled`, `pairs`: the same with the draw before it, `knn`, or `stream`: moments of rows that are
/// made as they are needed) on generated rows; reports times and the peak of memory, resident and allocated.
pub(crate) fn run(kind: &str, n: usize, d: usize, c: usize, threads: usize, repeats: usize) -> Result<Value> {
    let mut times = Times::default();
    let (before, after, asked_for) = if kind == "stream" {
        let before = peak_bytes()?;
        with_threads(threads, || stream(n, d, c, &mut times))??;
        (before, peak_bytes()?, None)
    } else {
        let data = shared(generated(n, d, c)?)?;
        let queries = (kind == "knn").then(|| data.rows().subset(&(0..n.min(1000)).collect::<Vec<_>>()));
        // What making the rows needed does not count.
        std::fs::write("/proc/self/clear_refs", "5")?;
        let before = peak_bytes()?;
        // Drawn only if they are asked for: of a thousand classes they would take a gigabyte.
        let pairs = (kind == "pairs").then(|| Pairs::sampled(data.labels(), &mut Random::new(0, 0)));
        let given = Given { data: &data, pairs: pairs.as_ref(), queries: queries.as_ref() };
        with_threads(threads, || -> Result<_> {
            (0..repeats).try_for_each(|_| times.add(|| work(kind, &given)))?;
            let after = peak_bytes()?;
            // Once more, not timed.
            let (done, asked_for) = peak_of(|| work(kind, &given));
            done.map(|()| (before, after, Some(asked_for)))
        })??
    };
    Ok(json!({
        "what": "once", "kind": kind, "n": n, "d": d, "c": c, "threads": threads, "times": times.to_json(),
        "data_bytes": 8 * n * d, "peak_before": before, "peak_after": after, "asked_for": asked_for,
    }))
}

/// Data whose rows are shared, not copied, when they are cloned.
fn shared(data: Dataset) -> Result<Dataset> {
    let (columns, labels) = (data.columns(), data.labels().clone());
    let rows = data.rows().clone();
    drop(data);
    Ok(Dataset::new(Rows::shared(Arc::new(rows.into_values()), columns)?, labels)?)
}

/// What there is before the work begins.
struct Given<'a> {
    data: &'a Dataset,
    pairs: Option<&'a Pairs>,
    queries: Option<&'a Rows>,
}

fn work(kind: &str, given: &Given<'_>) -> Result<()> {
    let Given { data, pairs, queries } = given;
    let gmml = Gmml { t: TChoice::Fixed(0.5), memory_limit_gb: 64.0, ..Gmml::default() };
    match kind {
        "pairs" => drop(gmml.fit_pairs(data.rows(), pairs.context("no pairs were drawn")?)?),
        "fit" => drop(gmml.fit(data)?),
        "sampled" => drop(Gmml { pairs: PairRule::Sampled, ..gmml }.fit(data)?),
        "knn" => drop(Knn::new(data.rows().clone())?.search(queries.context("no queries were chosen")?, 5)?),
        _ => bail!("kind '{kind}': fit, sampled, pairs or knn"),
    }
    Ok(())
}

/// Adds blocks to moments, then fits; only that is timed, not the making of rows.
fn stream(n: usize, d: usize, c: usize, times: &mut Times) -> Result<()> {
    const ROWS: usize = 20_000;
    let gmml = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() };
    let mut moments = Moments::new(d)?;
    let mut sum = Times::default();
    for first in (0..n).step_by(ROWS) {
        let block = generated(ROWS.min(n - first), d, c)?;
        sum.add(|| moments.update(block.rows().as_mat(), block.labels(), None))?;
    }
    sum.add(|| gmml.fit_moments(&moments))?;
    times.push_total(&sum);
    Ok(())
}

/// The most memory this process has held so far (Linux).
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find(|line| line.starts_with("VmHWM")).context("no VmHWM in /proc/self/status")?;
    let kilobytes = line.split_whitespace().nth(1).context("VmHWM has no value")?;
    Ok(1024 * kilobytes.parse::<u64>()?)
}
