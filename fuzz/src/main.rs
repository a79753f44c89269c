//! Damaged files for every reader: `mahala-fuzz TARGET|all [--runs N] [--seed N] [--replay FILE]`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports to a terminal")]

mod mutate;
mod seeds;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use mahala::gmml::TChoice;
use mahala::scatter::Moments;
use mahala::{Gmml, Model};
use mahala_io::{ReadOptions, Stream, Table, read_table};
use mutate::{Random, damaged};
use sha2::{Digest as _, Sha256};

/// What a target makes of bytes: whether it read them, or words about what is wrong with what it made.
type Verdict = Result<bool, String>;

struct Target {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    read: fn(&Path, &[u8]) -> Verdict,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let wanted = words.next().ok_or("usage: mahala-fuzz TARGET|all [--runs N] [--seed N] [--replay FILE]")?;
    let (mut runs, mut seed, mut replay) = (2000u64, 0u64, None);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--runs" => runs = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--replay" => replay = Some(std::fs::read(value)?),
            _ => return Err(format!("there is no option {word}").into()),
        }
    }
    let folder = tempfile::tempdir()?;
    let targets = targets(folder.path())?;
    let chosen: Vec<&Target> = targets.iter().filter(|t| wanted == "all" || t.name == wanted).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = targets.iter().map(|target| target.name).collect();
        return Err(format!("there is no target '{wanted}'; the targets are {}", names.join(", ")).into());
    }
    let mut failed = 0;
    for target in &chosen {
        failed += usize::from(!fuzz(target, folder.path(), (runs, seed), replay.as_deref())?);
    }
    println!("{} passed, {failed} failed", chosen.len() - failed);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} targets failed", chosen.len()).into()) }
}

/// Whether a target takes all damage; the first file that it does not take is kept.
fn fuzz(
    target: &Target,
    folder: &Path,
    (runs, seed): (u64, u64),
    replay: Option<&[u8]>,
) -> Result<bool, Box<dyn std::error::Error>> {
    let file = folder.join(format!("damaged.{}", target.name));
    let of_run = |run: u64| {
        let random = &mut Random::new(seed, run);
        replay
            .map_or_else(|| damaged(&target.seeds[random.below(target.seeds.len())], random), <[u8]>::to_vec)
    };
    for whole in &target.seeds {
        if !judged(target, &file, whole)? {
            return Err(format!("{}: a seed that is whole was refused", target.name).into());
        }
    }
    let mut read = 0;
    for run in 0..if replay.is_some() { 1 } else { runs } {
        let bytes = of_run(run);
        match judged(target, &file, &bytes) {
            Ok(was_read) => read += u64::from(was_read),
            Err(problem) => {
                let kept = std::env::temp_dir().join(format!("mahala-fuzz-{}-{seed}-{run}", target.name));
                std::fs::write(&kept, &bytes)?;
                println!(
                    "FAILED {}: run {run} of seed {seed}, kept as {}: {problem}",
                    target.name,
                    kept.display()
                );
                return Ok(false);
            }
        }
    }
    println!("ok     {}: {runs} damaged files, {read} of them read, the others refused", target.name);
    Ok(true)
}

/// Reads bytes as a file; a panic is an error.
fn judged(target: &Target, file: &Path, bytes: &[u8]) -> Verdict {
    std::fs::write(file, bytes).map_err(|error| error.to_string())?;
    catch_unwind(AssertUnwindSafe(|| (target.read)(file, bytes))).unwrap_or_else(|_| Err("a panic".into()))
}

fn targets(folder: &Path) -> Result<Vec<Target>, Box<dyn std::error::Error>> {
    let target = |name, seeds, read| Target { name, seeds, read };
    Ok(vec![
        target("model", seeds::models()?, |_, bytes| Ok(Model::from_bytes(bytes).is_ok())),
        target("moments", seeds::moments()?, |_, bytes| Ok(Moments::from_bytes(bytes).is_ok())),
        target("forged", seeds::moments()?, |_, bytes| Ok(learned_from_forged(bytes))),
        target("csv", seeds::csv(), |path, _| both_ways(path)),
        target("jsonl", seeds::jsonl(), |path, _| both_ways(path)),
        target("npy", seeds::npy()?, |path, _| both_ways(path)),
        target("npz", seeds::npz()?, |path, _| {
            whole(path, &ReadOptions { array: Some("X".into()), ..options() })
        }),
        target("libsvm", seeds::libsvm(), |path, _| both_ways(path)),
        target("parquet", vec![seeds::table(folder, "seed.parquet")?], |path, _| both_ways(path)),
        target("arrow", seeds::arrow()?, |path, _| both_ways(path)),
        target("gzip", vec![seeds::table(folder, "seed.csv.gz")?], |path, _| both_ways(path)),
        target("pairs", seeds::pairs(), |path, _| Ok(mahala_io::read_records(path, &options()).is_ok())),
    ])
}

/// Moments with damaged content and a fresh checksum, which damage alone never has: whether they are read. What is read is
/// learned from, which may fail in words.
fn learned_from_forged(bytes: &[u8]) -> bool {
    let content = &bytes[..bytes.len().saturating_sub(32)];
    let signed = [content, &Sha256::digest(content)[..]].concat();
    let moments = Moments::from_bytes(&signed);
    if let Ok(moments) = &moments {
        let _ = Gmml { t: TChoice::Fixed(0.5), ..Gmml::default() }.fit_moments(moments);
    }
    moments.is_ok()
}

/// Labels are not asked for: damage may have taken their name.
fn options() -> ReadOptions {
    ReadOptions { most_bytes: Some(1 << 28), ignore: Vec::new(), ..ReadOptions::default() }
}

/// As a whole table, with the last column for the label, and as a stream that leaves bad rows out.
fn both_ways(path: &Path) -> Verdict {
    let labelled = ReadOptions { label: "-1".parse().ok(), ..options() };
    let skipping = ReadOptions { skip_bad_rows: Some(5), ..labelled.clone() };
    let read = whole(path, &labelled)? | whole(path, &options())?;
    if let Ok(stream) = Stream::open(path, &skipping)
        && let Ok(table) = stream.into_table()
    {
        is_whole(&table)?;
    }
    Ok(read)
}

fn whole(path: &Path, options: &ReadOptions) -> Verdict {
    match read_table(path, options) {
        Ok(table) => is_whole(&table).map(|()| true),
        Err(error) if error.to_string().trim().is_empty() => Err("an error without words".into()),
        Err(_) => Ok(false),
    }
}

/// What every table that is read must be.
fn is_whole(table: &Table) -> Result<(), String> {
    let columns = table.names.len();
    if table.sparse.is_none() && table.rows.len() != table.n * columns {
        return Err(format!("{} cells in {} rows of {columns} columns", table.rows.len(), table.n));
    }
    if let Some(cell) = table.rows.iter().find(|cell| !cell.is_finite()) {
        return Err(format!("a cell is {cell}"));
    }
    match &table.labels {
        Some(labels) if labels.len() != table.n => {
            Err(format!("{} labels for {} rows", labels.len(), table.n))
        }
        _ => Ok(()),
    }
}
