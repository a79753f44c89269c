//! `mahala fit`: learn a metric and write it to a file.

use crate::args::{InputArgs, LearnArgs, dataset, explain, rows};
use crate::commands::{create_output, print};
use crate::input::{ColumnRef, Table};
use crate::pairs_file::{read_pairs, select_aligned};
use crate::progress::Progress;
use crate::{say, table};
use anyhow::{Result, bail};
use clap::Args;
use mahala::{Gmml, Model, PairRule, best_threshold, squared_pair_distances, threshold_for_labels};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `mahala fit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit emb.npy --label -1 --shrinkage 0.1 -o emb.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors
      where pairs.csv has row numbers: first,second,similar
  mahala fit left.csv --second right.csv --pairs pairs.csv -o m.safetensors
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
    let data = args.input.read(&args.data, args.label.as_ref())?;
    let gmml = args.learn.gmml(args.pairs.rule(), data.names.len())?;
    let (fit, model) = match &args.pairs {
        PairsArg::File(path) => fit_pairs(args, &gmml, &data, path)?,
        _ if args.label.is_none() && data.labels.is_none() => {
            bail!(
                "there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE"
            )
        }
        _ if args.second.is_some() => bail!("--second goes with --pairs FILE"),
        _ => fit_labels(args, &gmml, &data)?,
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

fn fit_labels(args: &Fit, gmml: &Gmml, table: &Table) -> Result<(mahala::Fit, Model)> {
    let data = dataset(table)?;
    let progress = Progress::bar("choosing t", mahala::VALUES_OF_T * gmml.folds);
    let watch = &mut |done, total| {
        progress.at(done, total);
        true
    };
    let fit = gmml.fit_watched(&data, watch).map_err(|error| explain(error, &table.names))?;
    progress.finish();
    let threshold = threshold_for_labels(&fit.metric, &data, gmml.seed)?;
    let keep = args.keep_rows.unwrap_or(data.len() * fit.metric.rank() * 8 <= 100_000_000);
    let references = keep.then_some((data.rows(), data.labels()));
    let model = fit.clone().into_model(gmml, table.names.clone(), references, Some(threshold))?;
    Ok((fit, model))
}

fn fit_pairs(args: &Fit, gmml: &Gmml, table: &Table, path: &std::path::Path) -> Result<(mahala::Fit, Model)> {
    let second_table = match &args.second {
        Some(second) => {
            let second = args.input.read(second, args.label.as_ref())?;
            Some(select_aligned(&table.names, second)?)
        }
        None => None,
    };
    let second_table = second_table.as_ref().unwrap_or(table);
    let pairs = read_pairs(path, &args.input, table, second_table, true)?;
    let (first, second) = (rows(table)?, rows(second_table)?);
    let fit =
        gmml.fit_two_tables(&first, &second, &pairs.pairs).map_err(|error| explain(error, &table.names))?;
    let squared = squared_pair_distances(&fit.metric, &first, &second, &pairs.pairs)?;
    let distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
    let threshold = best_threshold(&distances, &pairs.pairs);
    let keep = args.keep_rows.unwrap_or(true);
    let data = if table.labels.is_some() { Some(dataset(table)?) } else { None };
    let references = data.as_ref().filter(|_| keep).map(|data| (data.rows(), data.labels()));
    let mut model = fit.clone().into_model(gmml, table.names.clone(), references, Some(threshold))?;
    model.params["pairs"] = json!("given");
    Ok((fit, model))
}

fn report(args: &Fit, fit: &mahala::Fit, data: &Table, model: &Model) {
    let diagnostics = &fit.diagnostics;
    say(&format!(
        "learned from {} rows x {} columns: {} similar and {} dissimilar pairs",
        table::grouped(data.n as u64),
        data.names.len(),
        table::grouped(diagnostics.similar.pairs),
        table::grouped(diagnostics.dissimilar.pairs)
    ));
    match &diagnostics.selection {
        Some(selection) => {
            let least = selection.curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
            let on = if selection.criterion == mahala::Criterion::KnnError { "rows" } else { "pairs" };
            say(&format!(
                "t = {} chosen on {} {on} by {}-fold cross-validation (error {:.2} %)",
                fit.t,
                table::grouped(selection.rows as u64),
                selection.folds,
                100.0 * least
            ));
        }
        None => say(&format!("t = {} as given", fit.t)),
    }
    say(&format!("condition of S {:.1e}, of D {:.1e}", diagnostics.condition_s, diagnostics.condition_d));
    if let Some(reason) = diagnostics.ridge_reason() {
        say(&format!("note: {reason}"));
    }
    if !diagnostics.constant_columns.is_empty() {
        let names: Vec<&str> =
            diagnostics.constant_columns.iter().map(|&j| &*data.names[j]).take(10).collect();
        let more = diagnostics.constant_columns.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        say(&format!("note: constant columns have weight 0: {}{more}", names.join(", ")));
    }
    if data.labels.is_some() && model.references.is_none() {
        say("note: the training rows are not kept in the model; `predict` will want them with --train");
    }
    say(&format!("wrote {}", args.output.display()));
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".into()),
    }
}
