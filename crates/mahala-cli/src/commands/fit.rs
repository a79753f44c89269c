//! `mahala fit`: learn a metric and write it to a file.

use crate::args::{InputArgs, LearnArgs, PriorArg, dataset, explain, rows};
use crate::beyond::{BeyondArgs, LocalBy, describe_local};
use crate::commands::fit_method::fit_method;
use crate::commands::{create_output, print};
use crate::input::{ColumnRef, Table};
use crate::methods::{Method, MethodArgs};
use crate::pairs_file::{read_pairs, select_aligned};
use crate::progress::Progress;
use crate::{say, table};
use anyhow::{Result, bail};
use clap::Args;
use mahala::{
    Criterion, Dataset, Gmml, HeldOut, LocalGmml, Model, PairRule, Pairs, Rows, Selection, best_threshold,
    squared_pair_distances, threshold_for_labels,
};
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of `mahala fit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit wine.csv --label class --method auto -o wine.safetensors
  mahala fit wine.csv --label class --method itml -o wine.safetensors
  mahala fit emb.npy --label -1 --shrinkage 0.1 -o emb.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors
      where pairs.csv has row numbers: first,second,similar
  mahala fit left.csv --second right.csv --pairs pairs.csv -o m.safetensors
  mahala fit posts.csv --label tags --multilabel ';' -o m.safetensors
  mahala fit wine.csv --label class --local class -o local.safetensors
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
    /// How to learn
    #[arg(long, value_enum, default_value_t = Method::Gmml)]
    pub method: Method,
    /// For --method auto: the column that names each row's family; families are not torn between folds
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub groups: Option<ColumnRef>,
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
    pub steering: MethodArgs,
    #[command(flatten)]
    pub beyond: BeyondArgs,
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
    args.beyond.check(matches!(args.pairs, PairsArg::File(_)), args.keep_rows)?;
    let mut output = create_output(&args.output, &inputs(args))?;
    let (mut data, groups) =
        args.input.read_grouped(&args.data, args.label.as_ref(), args.groups.as_ref())?;
    if groups.is_some() && args.method != Method::Auto {
        bail!("--groups has no effect on {}\nhint: it goes with --method auto", args.method.name());
    }
    let weights = args.beyond.weights.as_ref().map(|name| data.take_column(name)).transpose()?;
    let gmml = args.learn.gmml(args.pairs.rule(), data.names.len())?;
    if args.method != Method::Gmml || !args.steering.set.is_empty() || args.steering.max_iterations.is_some()
    {
        return fit_method(args, &gmml, &data, groups.as_ref(), output);
    }
    let (fit, model) = match &args.pairs {
        PairsArg::File(path) => fit_pairs(args, &gmml, &data, path)?,
        _ if args.label.is_none() && data.labels.is_none() => {
            bail!(
                "there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE"
            )
        }
        _ if args.second.is_some() => bail!("--second goes with --pairs FILE"),
        _ => match (&args.beyond.multilabel, args.beyond.local) {
            (Some(separator), _) => fit_label_sets(args, &gmml, &data, separator)?,
            (None, Some(by)) => fit_local(args, &gmml, &data, by)?,
            (None, None) => fit_labels(args, &gmml, &data, weights.as_deref())?,
        },
    };
    output.write_all(&model.to_bytes())?;
    output.commit()?;
    if args.json {
        let summary = json!({
            "model": args.output.display().to_string(), "n": data.n, "d": data.names.len(),
            "rank": model.metric.rank(), "t": fit.t, "threshold": model.threshold,
            "params": model.params, "diagnostics": model.diagnostics,
        });
        return print(&format!("{summary:#}\n"));
    }
    report(args, &fit, &data, &model);
    Ok(())
}

fn fit_labels(
    args: &Fit,
    gmml: &Gmml,
    table: &Table,
    weights: Option<&[f64]>,
) -> Result<(mahala::Fit, Model)> {
    let data = dataset(table)?;
    let progress = Progress::bar("choosing t", mahala::VALUES_OF_T * gmml.folds);
    let watch = &mut |done, total| {
        progress.at(done, total);
        true
    };
    let fit = match weights {
        Some(weights) => gmml.fit_weighted(&data, weights, watch),
        None => gmml.fit_watched(&data, watch),
    };
    let fit = fit.map_err(|error| explain(error, &table.names))?;
    progress.finish();
    let references = keeps_rows(args, data.len(), fit.metric.rank()).then_some((data.rows(), data.labels()));
    let mut model = fit.clone().into_model(gmml, table.names.clone(), references, None)?;
    model.threshold = Some(match args.beyond.calibrate {
        Some(method) => {
            let held = gmml.held_out_rows(&data, fit.t)?;
            model.calibration = Some(method.fit(&held)?);
            best_threshold(&held.distances, &held.pairs)
        }
        None => threshold_for_labels(&fit.metric, &data, gmml.seed)?,
    });
    Ok((fit, model))
}

fn fit_local(args: &Fit, gmml: &Gmml, table: &Table, by: LocalBy) -> Result<(mahala::Fit, Model)> {
    let data = dataset(table)?;
    let local = LocalGmml { gmml: gmml.clone(), by: by.0, share: args.beyond.share };
    let progress = Progress::bar("choosing t and share", mahala::VALUES_OF_T * gmml.folds);
    let watch = &mut |done, total| {
        progress.at(done, total);
        true
    };
    let local = local.fit_watched(&data, watch).map_err(|error| explain(error, &table.names))?;
    progress.finish();
    let threshold = threshold_for_labels(&local.fit.metric, &data, gmml.seed)?;
    let fit = local.fit.clone();
    let mut model = fit.clone().into_model(gmml, table.names.clone(), None, Some(threshold))?;
    model.params["local"] = json!(by.to_string());
    model.params["share_used"] = json!(local.share);
    model.diagnostics["share_curve"] = json!(local.curve);
    say(&describe_local(&local));
    (model.references, model.local) = (Some(local.references), Some(local.maps));
    Ok((fit, model))
}

/// Rows with several labels each: pairs of them, as similar as their labels overlap.
fn fit_label_sets(args: &Fit, gmml: &Gmml, table: &Table, separator: &str) -> Result<(mahala::Fit, Model)> {
    let pairs = args.beyond.pairs_of_sets(table, separator, gmml.seed)?;
    let rows = rows(table)?;
    let (fit, mut model) = learn_pairs(args, gmml, table, [&rows, &rows], &pairs)?;
    model.params["multilabel"] = json!(separator);
    Ok((fit, model))
}

fn fit_pairs(args: &Fit, gmml: &Gmml, table: &Table, path: &Path) -> Result<(mahala::Fit, Model)> {
    let Given { first, second, pairs } = given_pairs(args, table, path)?;
    learn_pairs(args, gmml, table, [&first, &second], &pairs)
}

/// Whether the training rows are kept: as asked, or up to 100 MB.
pub(super) fn keeps_rows(args: &Fit, rows: usize, rank: usize) -> bool {
    args.keep_rows.unwrap_or(rows * rank * 8 <= 100_000_000)
}

/// Pairs, and the tables of their first and second rows.
pub(super) struct Given {
    pub first: Rows,
    pub second: Rows,
    pub pairs: Pairs,
}

/// Reads the pairs of a file.
pub(super) fn given_pairs(args: &Fit, table: &Table, path: &Path) -> Result<Given> {
    let second_table = match &args.second {
        Some(second) => {
            let second = args.input.read(second, args.label.as_ref())?;
            Some(select_aligned(&table.names, second)?)
        }
        None => None,
    };
    let second_table = second_table.as_ref().unwrap_or(table);
    if !path.exists() && path.as_os_str() != "-" {
        bail!(
            "--pairs {}: there is no such file\nhint: all, sampled, or a file that marks pairs",
            path.display()
        );
    }
    let pairs = read_pairs(path, table, second_table, true)?.pairs;
    Ok(Given { first: rows(table)?, second: rows(second_table)?, pairs })
}

/// The rows to keep in a model learned from pairs: those that have labels.
pub(super) fn labelled_rows(args: &Fit, table: &Table) -> Result<Option<Dataset>> {
    if table.labels.is_some() && args.keep_rows.unwrap_or(true) { dataset(table).map(Some) } else { Ok(None) }
}

/// Learns from pairs between two tables, then sets threshold and probabilities.
fn learn_pairs(
    args: &Fit,
    gmml: &Gmml,
    table: &Table,
    [first, second]: [&Rows; 2],
    pairs: &Pairs,
) -> Result<(mahala::Fit, Model)> {
    let explained = |error| explain(error, &table.names);
    let fit = gmml.fit_two_tables(first, second, pairs).map_err(explained)?;
    let held = if args.beyond.calibrate.is_some() {
        gmml.held_out_pairs(first, second, pairs, fit.t).map_err(explained)?
    } else {
        let squared = squared_pair_distances(&fit.metric, first, second, pairs)?;
        HeldOut { distances: squared.into_iter().map(f64::sqrt).collect(), pairs: pairs.clone() }
    };
    let threshold = best_threshold(&held.distances, &held.pairs);
    let data = labelled_rows(args, table)?;
    let references = data.as_ref().map(|data| (data.rows(), data.labels()));
    let mut model = fit.clone().into_model(gmml, table.names.clone(), references, Some(threshold))?;
    model.params["pairs"] = json!("given");
    model.calibration = args.beyond.calibrate.map(|method| method.fit(&held)).transpose()?;
    Ok((fit, model))
}

fn report(args: &Fit, fit: &mahala::Fit, data: &Table, model: &Model) {
    let diagnostics = &fit.diagnostics;
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
        None => say(&format!("t = {} as given", fit.t)),
    }
    say(&format!("condition of S {:.1e}, of D {:.1e}", diagnostics.condition_s, diagnostics.condition_d));
    notes(args, fit, data, model).iter().for_each(|note| say(&format!("note: {note}")));
    if !is_stdout(args) {
        say(&format!("wrote {}", args.output.display()));
    }
}

/// How t was chosen, and how good it was.
fn choice(selection: &Selection) -> String {
    let least = selection.curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let (on, score) = match selection.criterion {
        Criterion::KnnError => ("row", format!("error {:.2} %", 100.0 * least)),
        Criterion::BalancedKnnError => ("row", format!("mean error of the classes {:.2} %", 100.0 * least)),
        Criterion::PairRanking => ("pair", format!("area under the ROC curve {:.4}", 1.0 - least)),
    };
    format!(
        "t = {} chosen on {} by cross-validation over {} ({score})",
        selection.t,
        table::count(selection.rows as u64, on),
        table::count(selection.folds as u64, "fold")
    )
}

fn notes(args: &Fit, fit: &mahala::Fit, data: &Table, model: &Model) -> Vec<String> {
    let diagnostics = &fit.diagnostics;
    let mut notes: Vec<String> = diagnostics.ridge_reason().into_iter().collect();
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
    let labelled = diagnostics.selection.as_ref().filter(|s| s.criterion != Criterion::PairRanking);
    if let Some(selection) = labelled {
        let fewest = selection.rows - selection.rows.div_ceil(args.learn.cv_folds.min(selection.rows));
        if args.learn.k > fewest {
            notes.push(format!(
                "t was chosen with {fewest} voting neighbours, as there are not {}",
                args.learn.k
            ));
        }
    }
    notes.extend(rows_not_kept(data, model));
    notes
}

/// Said where `predict` will need the training rows again.
pub(super) fn rows_not_kept(data: &Table, model: &Model) -> Option<String> {
    let note = "the training rows are not kept in the model; `predict` will want them with --train";
    (data.labels.is_some() && model.references.is_none()).then(|| note.to_owned())
}

pub(super) fn is_stdout(args: &Fit) -> bool {
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
