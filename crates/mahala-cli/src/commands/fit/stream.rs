//! `mahala fit` without all rows at hand: in a stream, or from sums.

use crate::commands::dataset::dataset;
use crate::commands::explain::explain;
use crate::commands::fit::gmml::{Learned, write_and_report};
use crate::commands::fit::keeps_rows;
use crate::commands::load_moments;
use crate::commands::stream_moments;
use crate::options::fit::{Fit, KeepRows};
use crate::options::method::Method;
use crate::options::target::PairsArg;
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::print_notes;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::gmml::{PairRule, TChoice};
use mahala::metric::threshold_in_coordinates;
use mahala::scatter::Summed;
use mahala::{Dataset, Gmml};
use mahala_io::AtomicFile;
use mahala_io::Stream;
use mahala_io::Table;
use std::path::Path;

/// Whether the rows are read in a stream.
pub(super) enum Streams {
    Always,
    IfLarge,
    Never,
}

/// In a stream if asked for, or if they are many and nothing else needs them.
pub(super) fn streams(args: &Fit) -> Streams {
    match args.stream {
        true => Streams::Always,
        false if !needs_rows(args) && args.target.label.is_some() => Streams::IfLarge,
        false => Streams::Never,
    }
}

/// Whether all rows must be at hand.
fn needs_rows(args: &Fit) -> bool {
    let extensions = &args.extensions;
    args.method() != Method::Gmml
        || args.target.groups.is_some()
        || args.target.pairs != PairsArg::All
        || args.target.has_pairs()
        || args.kernel.kernel.is_some()
        || args.learn.principal.is_some()
        || args.target.weights.is_some()
        || args.calibrate.is_some()
        || args.target.multilabel.is_some()
        || extensions.local.is_some()
}

/// Learns from a stream.
pub(super) fn fit_stream(args: &Fit, data: &Path, output: AtomicFile) -> Result<()> {
    let Some(label) = &args.target.label else {
        bail!("a stream is learned from by its labels\nhint: --label COLUMN");
    };
    let mut stream = Stream::open(data, &args.input.options(Some(label)))?;
    let gmml = args.learn.gmml(PairRule::All, stream.names.len())?;
    let (summed, sample) = stream_moments::all_pairs(&mut stream, &gmml)?;
    print_notes(stream.notes());
    let (rows, whole) = (sample.seen(), sample.is_whole());
    let sample = sample.into_data()?;
    if gmml.t == TChoice::CrossValidated {
        let (rows, sample) = (format::count(rows as u64, "row"), format::count(sample.len() as u64, "row"));
        print_message(&format!(
            "streamed {rows}; t chosen on {}",
            if whole { "all".into() } else { format!("a sample of {sample}") }
        ));
    }
    let names = stream.names.clone();
    let learned = learn(args, &gmml, summed, Some((&sample, whole)), &names)?;
    write_and_report(args, &learned, &described(stream.source, names, rows), output)
}

/// Learns from sums; rows, if there are some, are a sample.
pub(super) fn fit_moments(args: &Fit, path: &Path, output: AtomicFile) -> Result<()> {
    let moments = load_moments(path)?;
    let gmml = args.learn.gmml(PairRule::All, moments.columns())?;
    let sample = args.data.as_ref().map(|data| sample_of(args, data, &moments)).transpose()?;
    if gmml.t == TChoice::CrossValidated && sample.is_none() {
        bail!(
            "t cannot be chosen on sums alone\nhint: --t 0.5, or a sample of the rows: mahala fit sample.csv --label y \
             --moments {}",
            path.display()
        );
    }
    let names = moments.names().to_vec();
    let summed = Summed::of(&moments, gmml.balance).map_err(|error| explain(error, &names))?;
    let learned = learn(args, &gmml, summed, sample.as_ref().map(|sample| (sample, false)), &names)?;
    let shown =
        if names.is_empty() { (1..=moments.columns()).map(|j| format!("f{j}")).collect() } else { names };
    let data = described(path.display().to_string(), shown, moments.rows() as usize);
    write_and_report(args, &learned, &data, output)
}

/// The rows on which t is chosen, with the columns of the sums.
fn sample_of(args: &Fit, data: &Path, moments: &mahala::scatter::Moments) -> Result<Dataset> {
    let mut table = args.input.read(data, args.target.labels_in())?;
    let (seen, wanted) = (&table.names, moments.names());
    if seen.len() != moments.columns() || (!wanted.is_empty() && seen != wanted) {
        bail!(
            "{} has other feature columns than the sums: {} where they have {}\nhint: --ignore leaves columns out",
            table.source,
            seen.join(", "),
            if wanted.is_empty() { format!("{} columns", moments.columns()) } else { wanted.join(", ") }
        );
    }
    dataset(&mut table)
}

/// Solves; the sample, if there is one, also gives the threshold, and votes in predictions if it is all rows or so
/// asked.
fn learn(
    args: &Fit,
    gmml: &Gmml,
    summed: Summed,
    sample: Option<(&Dataset, bool)>,
    names: &[String],
) -> Result<Learned> {
    let bar = Bar::over("choosing t", mahala::gmml::VALUES_OF_T * gmml.folds);
    let progress = &mut |step| bar.show(step);
    let fit = gmml
        .fit_summed(summed, sample.map(|sample| sample.0), progress)
        .map_err(|error| explain(error, names))?;
    bar.finish();
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let mut model = fit.into_model(gmml, names.to_vec(), None, None)?;
    if let Some((sample, whole)) = sample {
        let z = model.transform(sample.rows())?;
        // A sample of one class tells nothing apart.
        model.threshold = threshold_in_coordinates(&z, sample.labels(), gmml.seed).ok();
        if args.keep_rows == KeepRows::Always && !whole {
            let kept = format::count(z.len() as u64, "row");
            print_message(&format!("note: a sample of {kept} is kept in the model, not all"));
        }
        if args.keep_rows == KeepRows::Always || (whole && keeps_rows(args, z.len(), z.columns())) {
            model.references = Some((z, sample.labels().clone()));
        }
    }
    Ok(Learned { model, t, diagnostics })
}

/// A table of which only names and counts are left.
fn described(source: String, names: Vec<String>, n: usize) -> Table {
    Table {
        source,
        names,
        rows: Vec::new(),
        sparse: None,
        embeddings: None,
        single: false,
        n,
        records: n as u64,
        labels: Some(Vec::new()),
        row_numbers: Vec::new(),
        gaps: Vec::new(),
        notes: Vec::new(),
    }
}
