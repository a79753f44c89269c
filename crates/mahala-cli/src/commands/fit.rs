//! `mahala fit`: learn a metric and write it to a file.

use crate::args::{InputArgs, LearnArgs, PriorArg, explain, labels, rows};
use crate::commands::{create_output, print};
use crate::input::{ColumnRef, Table};
use crate::kernel_args::KernelArgs;
use crate::pairs_file::{read_pairs, select_aligned};
use crate::progress::Progress;
use crate::{say, table};
use anyhow::{Result, bail};
use clap::Args;
use mahala::{
    Criterion, Dataset, Diagnostics, Gmml, Labels, LearnedSpan, Model, PairRule, Rows, Selection, SparseRows,
    Watch, best_threshold, squared_pair_distances, threshold_in_coordinates,
};
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of `mahala fit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit emb.npy --label -1 --shrinkage 0.1 -o emb.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors
      where pairs.csv has row numbers: first,second,similar
  mahala fit left.csv --second right.csv --pairs pairs.csv -o m.safetensors
  mahala fit rings.csv --label ring --kernel rbf -o rings.safetensors
  mahala fit texts.svm --principal 300 -o m.safetensors    sparse stays so
  zcat big.csv.gz | mahala fit - --label y --t 0.3 -o m.safetensors")]
pub(crate) struct Fit {
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Where to write the model
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Pairs to learn from: all, the paper's random sample, or a file that marks pairs of rows
    #[arg(long, default_value = "all", value_name = "all|sampled|FILE")]
    pub pairs: PairsArg,
    /// The table with the second row of each pair [default: the same]
    #[arg(long, value_name = "FILE")]
    pub second: Option<PathBuf>,
    /// Keep the training rows in the model, for `predict` and `neighbors` [default: up to 100 MB]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    pub keep_rows: Option<bool>,
    /// Print what was learned as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Where pairs come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PairsArg {
    All,
    Sampled,
    File(PathBuf),
}

impl FromStr for PairsArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "all" => Self::All,
            "sampled" => Self::Sampled,
            file => Self::File(file.into()),
        })
    }
}

impl PairsArg {
    /// The rule for labelled rows; a file is not one.
    pub(crate) fn rule(&self) -> PairRule {
        if *self == Self::Sampled { PairRule::Sampled } else { PairRule::All }
    }
}

/// Learns, writes, reports.
pub(crate) fn run(args: &Fit) -> Result<()> {
    check_stdout(args)?;
    let mut output = create_output(&args.output, &inputs(args))?;
    let with_pairs = matches!(args.pairs, PairsArg::File(_));
    let mut data = if with_pairs || args.kernel.kernel.is_some() {
        args.input.read(&args.data, args.label.as_ref())?
    } else {
        args.input.read_sparse(&args.data, args.label.as_ref())?
    };
    let gmml = args.learn.gmml(args.pairs.rule(), data.names.len())?;
    let learned = match &args.pairs {
        PairsArg::File(_) if args.kernel.kernel.is_some() => {
            bail!("--kernel goes with labels, not with pairs")
        }
        PairsArg::File(path) => fit_pairs(args, &gmml, &mut data, path)?,
        _ if args.label.is_none() && data.labels.is_none() => {
            bail!(
                "there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE"
            )
        }
        _ if args.second.is_some() => bail!("--second goes with --pairs FILE"),
        _ => fit_labels(args, &gmml, &mut data)?,
    };
    let model = &learned.model;
    model.write_to(&mut output)?;
    output.commit()?;
    if args.json {
        let summary = json!({
            "model": args.output.display().to_string(), "n": data.n, "d": data.names.len(),
            "rank": model.metric.rank(), "t": learned.t, "threshold": model.threshold,
            "params": model.params, "diagnostics": model.diagnostics,
        });
        return print(&format!("{summary:#}\n"));
    }
    report(args, &learned, &data);
    Ok(())
}

/// Training rows, as they are kept while learning.
enum Cells {
    Dense(Dataset),
    Sparse(SparseRows),
}

/// A model, and what the report tells beside it.
struct Learned {
    model: Model,
    t: f64,
    diagnostics: Diagnostics,
}

fn fit_labels(args: &Fit, gmml: &Gmml, table: &mut Table) -> Result<Learned> {
    let labels = labels(table)?;
    let progress = Progress::bar("choosing t", mahala::VALUES_OF_T * gmml.folds);
    let watch = &mut |done, total| {
        progress.at(done, total);
        true
    };
    let (mut learned, z) = match args.kernel.kernel {
        Some(_) => fit_kernel(args, gmml, table, &labels, watch)?,
        None => fit_linear(gmml, table, &labels, watch)?,
    };
    progress.finish();
    learned.model.threshold = Some(threshold_in_coordinates(&z, &labels, gmml.seed)?);
    if args.keep_rows.unwrap_or(z.values().len() * 8 <= 100_000_000) {
        learned.model.references = Some((z, labels));
    }
    Ok(learned)
}

/// The model, and the rows in its coordinates.
fn fit_linear(
    gmml: &Gmml,
    table: &mut Table,
    labels: &Labels,
    watch: &mut Watch<'_>,
) -> Result<(Learned, Rows)> {
    let cells = match table.sparse.take() {
        Some(rows) => Cells::Sparse(rows),
        None => Cells::Dense(Dataset::new(rows(table)?, labels.clone())?),
    };
    let fit = match &cells {
        Cells::Sparse(rows) => gmml.fit_sparse_watched(rows, labels, watch),
        Cells::Dense(data) => gmml.fit_watched(data, watch),
    };
    let fit = fit.map_err(|error| explain(error, &table.names))?;
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let model = fit.into_model(gmml, table.names.clone(), None, None)?;
    let z = match &cells {
        Cells::Sparse(rows) => model.transform_sparse(rows)?,
        Cells::Dense(data) => model.transform(data.rows())?,
    };
    Ok((Learned { model, t, diagnostics }, z))
}

/// The same with a kernel.
fn fit_kernel(
    args: &Fit,
    gmml: &Gmml,
    table: &mut Table,
    labels: &Labels,
    watch: &mut Watch<'_>,
) -> Result<(Learned, Rows)> {
    let data = Dataset::new(rows(table)?, labels.clone())?;
    let kernel = args.kernel.kernel_gmml(gmml, data.rows())?;
    let fit = kernel.fit_watched(&data, watch).map_err(|error| explain(error, &table.names))?;
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let model = fit.into_model(&kernel, table.names.clone());
    let z = model.transform(data.rows())?;
    Ok((Learned { model, t, diagnostics }, z))
}

fn fit_pairs(args: &Fit, gmml: &Gmml, table: &mut Table, path: &Path) -> Result<Learned> {
    let mut second_table = match &args.second {
        Some(second) => {
            let second = args.input.read(second, args.label.as_ref())?;
            Some(select_aligned(&table.names, second)?)
        }
        None => None,
    };
    if !path.exists() && path.as_os_str() != "-" {
        bail!(
            "--pairs {}: there is no such file\nhint: all, sampled, or a file that marks pairs",
            path.display()
        );
    }
    let pairs = read_pairs(path, table, second_table.as_ref().unwrap_or(table), true)?;
    let first = rows(table)?;
    let second = second_table.as_mut().map_or_else(|| Ok(first.clone()), rows)?;
    let fit =
        gmml.fit_two_tables(&first, &second, &pairs.pairs).map_err(|error| explain(error, &table.names))?;
    let squared = squared_pair_distances(&fit.metric, &first, &second, &pairs.pairs)?;
    let distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
    let threshold = best_threshold(&distances, &pairs.pairs);
    let keep = args.keep_rows.unwrap_or(true) && table.labels.is_some();
    let labels = if keep { Some(labels(table)?) } else { None };
    let references = labels.as_ref().map(|labels| (&first, labels));
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let mut model = fit.into_model(gmml, table.names.clone(), references, Some(threshold))?;
    model.params["pairs"] = json!("given");
    Ok(Learned { model, t, diagnostics })
}

fn report(args: &Fit, learned: &Learned, data: &Table) {
    let diagnostics = &learned.diagnostics;
    say(&format!(
        "learned from {} x {}: {} similar and {} dissimilar {}",
        table::count(data.n as u64, "row"),
        table::count(data.names.len() as u64, "column"),
        table::grouped(diagnostics.similar.pairs),
        table::grouped(diagnostics.dissimilar.pairs),
        if diagnostics.dissimilar.pairs == 1 { "pair" } else { "pairs" }
    ));
    match &diagnostics.selection {
        Some(selection) => say(&choice(selection)),
        None => say(&format!("t = {} as given", learned.t)),
    }
    say(&format!("condition of S {:.1e}, of D {:.1e}", diagnostics.condition_s, diagnostics.condition_d));
    notes(args, learned, data).iter().for_each(|note| say(&format!("note: {note}")));
    if !is_stdout(args) {
        say(&format!("wrote {}", args.output.display()));
    }
}

/// How t was chosen, and how good it was.
fn choice(selection: &Selection) -> String {
    let least = selection.curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let (on, score) = match selection.criterion {
        Criterion::KnnError => ("row", format!("error {:.2} %", 100.0 * least)),
        Criterion::PairRanking => ("pair", format!("area under the ROC curve {:.4}", 1.0 - least)),
    };
    format!(
        "t = {} chosen on {} by cross-validation over {} ({score})",
        selection.t,
        table::count(selection.rows as u64, on),
        table::count(selection.folds as u64, "fold")
    )
}

fn notes(args: &Fit, learned: &Learned, data: &Table) -> Vec<String> {
    let (diagnostics, model) = (&learned.diagnostics, &learned.model);
    let mut notes: Vec<String> = diagnostics.span.as_ref().map(span).into_iter().collect();
    notes.extend(diagnostics.ridge_reason());
    if !diagnostics.constant_columns.is_empty() {
        let names: Vec<&str> =
            diagnostics.constant_columns.iter().map(|&j| &*data.names[j]).take(10).collect();
        let more = diagnostics.constant_columns.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let which = match args.pairs {
            PairsArg::File(_) => "columns that differ in no pair",
            _ => "constant columns",
        };
        notes.push(format!("{which} have weight 0: {}{more}", names.join(", ")));
    }
    let labelled = diagnostics.selection.as_ref().filter(|s| s.criterion == Criterion::KnnError);
    if let Some(selection) = labelled {
        let fewest = selection.rows - selection.rows.div_ceil(args.learn.cv_folds.min(selection.rows));
        if args.learn.k > fewest {
            notes.push(format!(
                "t was chosen with {fewest} voting neighbours, as there are not {}",
                args.learn.k
            ));
        }
    }
    if data.labels.is_some() && model.references.is_none() {
        let note = "the training rows are not kept in the model; `predict` will want them with --train";
        notes.push(note.to_owned());
    }
    notes
}

/// Where learning happened, if not in all columns.
fn span(span: &LearnedSpan) -> String {
    let directions = table::count(span.directions as u64, "direction");
    if span.randomized {
        let outside = 100.0 * span.outside;
        return format!(
            "learned inside {directions}; {outside:.2} % of the rows' squared lengths lie outside"
        );
    }
    format!("learned inside the {directions} that the rows span")
}

fn is_stdout(args: &Fit) -> bool {
    args.output.as_os_str() == "-"
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
    let mut inputs: Vec<&Path> = vec![&args.data];
    inputs.extend(args.second.as_deref());
    if let PairsArg::File(path) = &args.pairs {
        inputs.push(path);
    }
    if let PriorArg::File(path) = &args.learn.prior {
        inputs.push(path);
    }
    inputs
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".into()),
    }
}
