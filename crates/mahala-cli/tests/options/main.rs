//! Every option in every place it can be typed: used or refused, never ignored.
//!
//! A cell is a command with a method and a source, and one option more. It is *refused* if the command ends with an
//! error that names the option, *used* if tensors, predictions, diagnostics or output are other than without it (what
//! the model merely records as its parameters does not count), *excused* if a rule of [`cells::excuse`] gives a
//! reason, and *ignored* otherwise, which fails.

#[path = "../common/mod.rs"]
mod common;

mod cells;
mod lists;
mod tables;

use cells::{Cell, cells};
use common::Place;
use mahala::Model;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a run left behind, but for what it records of its own parameters.
#[derive(Clone, PartialEq)]
struct Seen {
    code: i32,
    stderr: String,
    result: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Used,
    Refused,
    Excused,
    Ignored,
}

#[test]
fn every_option_is_used_or_refused() {
    let place = tables::place();
    let cells = cells();
    let next = AtomicUsize::new(0);
    let plain: Mutex<BTreeMap<String, Seen>> = Mutex::new(BTreeMap::new());
    let verdicts: Mutex<Vec<(usize, Verdict, String)>> = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (place, cells, next, plain, verdicts) = (&place, &cells, &next, &plain, &verdicts);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(at) else { break };
                    let known = plain.lock().expect("a lock").get(&cell.without()).cloned();
                    let before = known.unwrap_or_else(|| {
                        let seen = run(place, worker, &cell.without());
                        plain.lock().expect("a lock").insert(cell.without(), seen.clone());
                        seen
                    });
                    let of_line = |line: &String| {
                        let after = run(place, worker, line);
                        (judge(cell, &before, &after), after.stderr)
                    };
                    let mut seen = cell.lines().iter().map(of_line).collect::<Vec<_>>();
                    seen.sort_by_key(|one| one.0);
                    let (verdict, stderr) = seen.swap_remove(0);
                    verdicts.lock().expect("a lock").push((at, verdict, stderr));
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().expect("a lock");
    let count = |kind: Verdict| verdicts.iter().filter(|one| one.1 == kind).count();
    println!(
        "{} cells: {} used, {} refused, {} that rightly change nothing, {} ignored",
        verdicts.len(),
        count(Verdict::Used),
        count(Verdict::Refused),
        count(Verdict::Excused),
        count(Verdict::Ignored)
    );
    let mut ignored: Vec<String> = verdicts
        .iter()
        .filter(|one| one.1 == Verdict::Ignored)
        .map(|(at, _, stderr)| {
            format!("mahala {}\n    {}", cells[*at].lines()[0], stderr.replace('\n', "\n    "))
        })
        .collect();
    ignored.sort();
    assert!(ignored.is_empty(), "{} ignored:\n{}", ignored.len(), ignored.join("\n"));
}

#[test]
fn every_option_that_clap_knows_is_tried() {
    let place = Place::new();
    let commands: BTreeSet<&str> = cells::COMMANDS.iter().copied().collect();
    for command in &commands {
        let help = place.ok(&format!("{command} --help")).stdout;
        let known: BTreeSet<String> = help.lines().filter_map(option_of).collect();
        assert!(known.len() > 1, "{command}: {known:?}");
        let tried: BTreeSet<String> = cells::options_of(command).into_iter().collect();
        let missing: Vec<&String> = known.difference(&tried).collect();
        assert!(missing.is_empty(), "options of `mahala {command}` that no cell tries: {missing:?}");
        let gone: Vec<&String> = tried.difference(&known).collect();
        assert!(gone.is_empty(), "options that `mahala {command}` does not have: {gone:?}");
    }
    let help = place.ok("--help").stdout;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: BTreeSet<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let apart = BTreeSet::from(["help", "completions", "demo"]);
    assert_eq!(listed.difference(&apart).copied().collect::<BTreeSet<_>>(), commands);
}

/// The option that a line of the help describes.
fn option_of(line: &str) -> Option<String> {
    let text = line.trim_start();
    let deep = line.len() - text.len();
    if !text.starts_with('-') || !(2..=6).contains(&deep) {
        return None;
    }
    let long = text.split([' ', ',']).find(|word| word.starts_with("--"))?;
    let name: String = long.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    (!["--help", "--version"].contains(&&*name)).then_some(name)
}

fn judge(cell: &Cell, before: &Seen, after: &Seen) -> Verdict {
    let names_it = after.stderr.contains(cell.option.name);
    match (after.code, before == after) {
        // It came to its end, as asked.
        (1, _) if after.stderr.contains("the time was up") => Verdict::Used,
        // It left too few pairs on one side of a split, or to choose on.
        (1, false)
            if after.stderr.contains("no similar pair") || after.stderr.contains("when there are so few") =>
        {
            Verdict::Used
        }
        (1 | 2, _) if names_it => Verdict::Refused,
        // The option it depends on is refused.
        (1 | 2, _) if before.code != 0 && cell.needs_refused(&before.stderr) => Verdict::Refused,
        (0, false) => Verdict::Used,
        (0, true) if cell.excuse().is_some() => Verdict::Excused,
        // It got further, or failed at something else.
        (1 | 2, false) if before.code != 0 => Verdict::Used,
        _ => Verdict::Ignored,
    }
}

/// Runs a line; `OUT` in it is a file of this worker's own.
fn run(place: &Place, worker: usize, line: &str) -> Seen {
    let out = format!("out-{worker}");
    let names = ["st", "csv", "npy", "onnx", "json", "moments", "html"];
    names.iter().for_each(|end| _ = std::fs::remove_file(place.path(&format!("{out}.{end}"))));
    let ran = place.run(&line.replace("OUT", &out));
    let mut result = without_times(&ran.stdout.replace(&out, "OUT"));
    for end in names {
        let name = format!("{out}.{end}");
        if !place.path(&name).exists() {
            continue;
        }
        match end {
            "st" => {
                result.extend(tensors(&place.model(&name)));
                // What the model votes with; `--train` where it keeps no rows.
                let (file, label) = match line {
                    _ if line.contains("precomputed") => ("gram.csv", "y"),
                    _ if line.contains("--regression") => ("t.csv", "2"),
                    _ => ("t.csv", "y"),
                };
                let voters = format!("{file} --label {label}");
                let plain = place.run(&format!("predict {name} {voters}"));
                let ran = if plain.code == 0 {
                    plain
                } else {
                    place.run(&format!("predict {name} {voters} --train {file} --train-label {label}"))
                };
                result.extend(ran.stdout.replace(&out, "OUT").into_bytes());
            }
            _ => result.extend(place.read(&name)),
        }
    }
    Seen { code: ran.code, stderr: ran.stderr.replace(&out, "OUT"), result }
}

/// The model without the list of parameters it was asked for.
fn tensors(model: &Model) -> Vec<u8> {
    let mut model = model.clone();
    model.params = Value::Null;
    strip(&mut model.diagnostics, &["folds", "rows"]);
    model.to_bytes()
}

/// JSON without what differs from run to run, or repeats the question; other text as it is.
fn without_times(text: &str) -> Vec<u8> {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) if value.is_object() => {
            strip(
                &mut value,
                &[
                    "fit_seconds",
                    "selection_seconds",
                    "params",
                    "folds",
                    "rows",
                    "protocol",
                    "model",
                    "dataset",
                ],
            );
            value.to_string().into_bytes()
        }
        _ => text.as_bytes().to_vec(),
    }
}

fn strip(value: &mut Value, keys: &[&str]) {
    match value {
        Value::Object(fields) => {
            keys.iter().for_each(|key| _ = fields.remove(*key));
            fields.values_mut().for_each(|value| strip(value, keys));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| strip(value, keys)),
        _ => {}
    }
}
