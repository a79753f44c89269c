//! One file per subcommand.

pub(crate) mod adapt;
pub(crate) mod completions;
mod configured;
mod constraints;
mod coordinates;
mod dataset;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod explore;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod inspect;
mod label_sets;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod methods;
pub(crate) mod moments;
pub(crate) mod neighbors;
pub(crate) mod pairs;
pub(crate) mod predict;
mod read;
pub(crate) mod retrieval;
mod stream_moments;
pub(crate) mod transform;
pub(crate) mod tune;

use crate::terminal::format;
use crate::terminal::message::{full_message, print_message, tell_written};
use anyhow::{Result, anyhow, bail};
use mahala::scatter::Moments;
use mahala::{Error, Model, Rows};
use mahala_io::AtomicFile;
use std::fs::canonicalize;
use std::io::{Read as _, Write as _};
use std::path::Path;

/// A file that is not what is asked for, in words.
#[derive(Debug)]
pub(crate) struct Unreadable(String);

impl Unreadable {
    fn of(error: &anyhow::Error) -> anyhow::Error {
        Self(full_message(error)).into()
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// Reads a model file.
pub(crate) fn load_model(path: &Path) -> Result<Model> {
    read_model(path).map_err(|error| Unreadable::of(&error))
}

fn read_model(path: &Path) -> Result<Model> {
    let shown = path.display();
    if path.is_dir() {
        bail!("{shown}: this is a directory, not a model file");
    }
    if !path.exists() {
        bail!("{shown}: there is no such file\nhint: a model is written by mahala fit");
    }
    Model::load(path).map_err(|error| match error {
        Error::Bytes { .. } if is_moments(path) => anyhow!(
            "{shown}: this file holds sums of mahala moments, not a model\nhint: learn from them first: mahala fit \
             --moments {shown} --t 0.5 -o m.safetensors"
        ),
        Error::Bytes { reason, .. } => anyhow!(
            "not a model file: {reason}\nhint: a model is written by mahala fit, and named before the data"
        ),
        other => other.into(),
    })
}

/// The model with its weight outside the span of the training rows, if it has one, among its coordinates: what
/// searches among rows it was not learned on. Where there are too many columns for that, the user is told.
pub(crate) fn with_outside(mut model: Model) -> Model {
    let Some(weight) = model.metric.weight_outside().filter(|_| model.kernel.is_none()) else { return model };
    match model.metric.with_outside_as_components() {
        Ok(metric) => model.metric = metric,
        Err(_) => print_message(&format!(
            "note: {} columns are too many to search with what lies outside the span of the training rows (weight {}): \
             distances between other rows come out too small",
            model.columns(),
            format::rounded(weight)
        )),
    }
    model
}

/// Reads a file of moments.
pub(crate) fn load_moments(path: &Path) -> Result<Moments> {
    read_moments(path).map_err(|error| Unreadable::of(&error))
}

fn read_moments(path: &Path) -> Result<Moments> {
    let shown = path.display();
    let bytes = read_begun_by(path, "MAHALAM").map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow!("{shown}: there is no such file\nhint: sums are written by mahala moments")
        }
        _ => anyhow!("{shown}: cannot be read: {error}"),
    })?;
    Moments::from_bytes(&bytes).map_err(|error| {
        if Model::load(path).is_ok() {
            return anyhow!(
                "{shown}: this is a model, not a file of sums\nhint: sums are written by mahala moments and by mahala merge"
            );
        }
        anyhow!("{shown}: {error}\nhint: sums are written by mahala moments and by mahala merge")
    })
}

/// Whether a file holds sums.
fn is_moments(path: &Path) -> bool {
    read_begun_by(path, "MAHALAM").is_ok_and(|bytes| Moments::from_bytes(&bytes).is_ok())
}

/// The bytes of a file, or only its first where they are not those of the format: a device has no end.
fn read_begun_by(path: &Path, begin: &str) -> std::io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (std::fs::File::open(path)?, Vec::new());
    (&mut file).take(64).read_to_end(&mut bytes)?;
    if bytes.starts_with(begin.as_bytes()) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Opens a file to write, unless it is one of those that are read.
pub(crate) fn create_output(path: &Path, inputs: &[&Path]) -> Result<AtomicFile> {
    if let Ok(target) = canonicalize(path)
        && target.is_file()
        && inputs.iter().any(|input| canonicalize(input).is_ok_and(|input| input == target))
    {
        bail!("cannot write {}: it is also read; choose another name", path.display());
    }
    Ok(AtomicFile::create(path)?)
}

/// Opens a file to write rows to; none with `--json` alone, where standard output is for the summary.
pub(crate) fn create_beside(path: &Path, inputs: &[&Path], json: bool) -> Result<Option<AtomicFile>> {
    let nowhere = json && path.as_os_str() == "-";
    if nowhere { Ok(None) } else { create_output(path, inputs).map(Some) }
}

/// Opens a file for rows that have no summary to be printed in their place.
pub(crate) fn create_apart(path: &Path, inputs: &[&Path], json: bool) -> Result<AtomicFile> {
    if json && path.as_os_str() == "-" {
        bail!("the rows and --json cannot both go to standard output\nhint: -o FILE");
    }
    create_output(path, inputs)
}

/// The name of an output in JSON; none for standard output.
pub(crate) fn shown(path: &Path) -> Option<String> {
    (path.as_os_str() != "-").then(|| path.display().to_string())
}

/// What is said of a search that takes long.
pub(crate) fn searching(queries: usize, among: usize) -> String {
    let rows = |number: usize| format::count(number as u64, "row");
    format!("searching the neighbours of {} among {}", rows(queries), rows(among))
}

/// The rows that a model keeps: they vote, or their targets are averaged.
pub(crate) fn kept_rows(model: &Model) -> Option<&Rows> {
    let voters = model.references.as_ref().map(|references| &references.0);
    voters.or_else(|| model.targets.as_ref().map(|targets| &targets.0))
}

/// What a model file holds, in a few words.
pub(crate) fn described(model: &Model) -> String {
    let (columns, rank) = (model.columns() as u64, model.metric.rank() as u64);
    let kept = kept_rows(model).map_or(0, Rows::len);
    let kept = if kept > 0 { format!(", {} kept", format::count(kept as u64, "row")) } else { String::new() };
    format!("{} to {}{kept}", format::count(columns, "column"), format::count(rank, "coordinate"))
}

/// Completes the file of a figure.
pub(crate) fn write_figure(mut file: AtomicFile, path: &Path, svg: &str) -> Result<()> {
    file.write_all(svg.as_bytes())?;
    file.commit()?;
    tell_written(path, "a figure");
    Ok(())
}
