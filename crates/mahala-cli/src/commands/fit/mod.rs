//! `mahala fit`: learn a metric and write it to a file.

mod choice;
mod gmml;
mod method;
mod stream;

use crate::commands::create_output;
use crate::commands::fit::gmml::fit_gmml;
use crate::commands::fit::method::fit_method;
use crate::commands::fit::stream::{Streams, fit_moments, fit_stream, streams};
use crate::options::fit::{Fit, KeepRows};
use crate::options::input::InputArgs;
use crate::options::learn::PriorArg;
use crate::options::method::Method;
use anyhow::{Result, bail};
use mahala::Model;
use mahala_io::Table;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Learns, writes, reports.
pub(crate) fn run(args: &Fit) -> Result<()> {
    check_stdout(args)?;
    let output = create_output(&args.output, &inputs(args))?;
    let data = match (&args.moments, &args.data) {
        (Some(moments), _) => return fit_moments(args, moments, output),
        (None, Some(data)) => data,
        (None, None) => bail!("there are no rows to learn from"),
    };
    let read = |input: &InputArgs| {
        if args.reads_sparse() {
            return Ok((input.read_sparse(data, args.target.labels_in())?, None));
        }
        input.read_grouped(data, args.target.labels_in(), args.target.beside())
    };
    let rows = match streams(args) {
        Streams::Always => None,
        Streams::IfLarge => {
            args.input.in_memory_or_stream(data, |input| read(input).map(Some), || Ok(None))?
        }
        Streams::Never => Some(read(&args.input)?),
    };
    let Some((mut data, groups)) = rows else { return fit_stream(args, data, output) };
    let weights = args.target.weights.as_ref().map(|name| data.take_column(name)).transpose()?;
    let gmml = args.learn.gmml(args.target.pairs.rule(), data.names.len())?;
    if !args.target.labels_in().are_given() && data.labels.is_none() && !args.target.has_pairs() {
        bail!(
            "there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE"
        );
    }
    if !args.target.has_pairs() {
        args.learn.check_folds(data.n)?;
    }
    if args.method() == Method::Gmml {
        return fit_gmml(args, &gmml, &mut data, groups.as_ref(), weights.as_deref(), output);
    }
    fit_method(args, &gmml, &mut data, groups.as_ref(), output)
}

/// Said where `predict` will need the training rows again.
pub(super) fn rows_not_kept(data: &Table, model: &Model) -> Option<String> {
    let note = "the training rows are not kept in the model; `predict` will want them with --train";
    (data.labels.is_some() && model.references.is_none() && model.targets.is_none()).then(|| note.to_owned())
}

pub(super) fn is_stdout(args: &Fit) -> bool {
    args.output.as_os_str() == "-"
}

/// Whether the training rows are kept: as asked, or up to 100 MB.
pub(super) fn keeps_rows(args: &Fit, rows: usize, rank: usize) -> bool {
    match args.keep_rows {
        KeepRows::Always => true,
        KeepRows::Never => false,
        KeepRows::Auto => rows * rank * 8 <= 100_000_000,
    }
}

/// A model is bytes: not for a terminal, nor for the same stream as JSON.
fn check_stdout(args: &Fit) -> Result<()> {
    if is_stdout(args) && args.json {
        bail!("the model and --json cannot both go to standard output\nhint: -o FILE");
    }
    if is_stdout(args) && std::io::stdout().is_terminal() {
        bail!("a model is not text, and standard output is a terminal\nhint: -o FILE");
    }
    Ok(())
}

/// Every file that is read.
fn inputs(args: &Fit) -> Vec<&Path> {
    let mut inputs: Vec<&Path> = args.data.iter().chain(&args.moments).map(PathBuf::as_path).collect();
    inputs.extend(args.target.files());
    if let PriorArg::File(path) = &args.learn.prior {
        inputs.push(path);
    }
    inputs
}
