//! `mahala evaluate`: the error of nearest neighbours on held-out rows, method by method.

use crate::args::{InputArgs, LearnArgs, at_least, dataset, explain};
use crate::commands::fit::PairsArg;
use crate::commands::{create_output, print, write_figure};
use crate::figure::BarPlot;
use crate::input::ColumnRef;
use crate::methods::Method;
use crate::progress::Progress;
use crate::{say, table};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use mahala::{Dataset, Folds, Gmml, Random, wrong_votes};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

/// Options of `mahala evaluate`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala evaluate wine.csv --label class                    40 runs of halves
  mahala evaluate wine.csv --label class --pairs sampled    as in the paper
  mahala evaluate wine.csv --label class --folds 10 --json
  mahala evaluate vowel.csv --label y --train-rows 1-528 --test-rows 529-990")]
pub(crate) struct Evaluate {
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// The methods to compare
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Method::Euclidean, Method::Gmml])]
    pub methods: Vec<Method>,
    /// How often to draw halves, each tested against the other
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = at_least(1))]
    pub runs: usize,
    /// Cross-validate over this many folds instead of halves
    #[arg(long, value_name = "N", conflicts_with_all = ["train_rows", "test_rows"], value_parser = at_least(2))]
    pub folds: Option<usize>,
    /// Learn on these rows only, such as 1-528,600
    #[arg(long, value_name = "ROWS", requires = "test_rows")]
    pub train_rows: Option<RowRanges>,
    /// Test on these rows
    #[arg(long, value_name = "ROWS", requires = "train_rows")]
    pub test_rows: Option<RowRanges>,
    /// Pairs to learn from: all, or the paper's random sample
    #[arg(long, default_value = "all", value_name = "all|sampled")]
    pub pairs: PairsArg,
    /// Draw the errors into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Rows by number, from 1: `1-528,600`.
#[derive(Debug, Clone)]
pub(crate) struct RowRanges(Vec<(u64, u64)>);

/// One division of the rows: what to learn on and what to test.
struct Split {
    train: Vec<usize>,
    test: Vec<usize>,
}

/// Several splits whose errors are counted together.
type Run = Vec<Split>;

/// How many of the tested rows were put into a wrong class.
#[derive(Clone, Copy, Default)]
struct Count {
    wrong: usize,
    tested: usize,
}

struct Outcome {
    method: Method,
    /// One a run.
    counts: Vec<Count>,
    /// One a split.
    t: Vec<f64>,
    fit_seconds: f64,
    selection_seconds: f64,
}

/// Evaluates every method on the same splits.
pub(crate) fn run(args: &Evaluate) -> Result<()> {
    if matches!(args.pairs, PairsArg::File(_)) {
        bail!("--pairs must be all or sampled here: held-out rows need labels");
    }
    let svg = args.svg.as_ref().map(|path| create_output(path, &[&args.data])).transpose()?;
    let mut table = args.input.read(&args.data, args.label.as_ref())?;
    let data = dataset(&mut table)?;
    let gmml = args.learn.gmml(args.pairs.rule(), data.columns())?;
    let (runs, protocol) = draw_runs(args, &data, &table.row_numbers)?;
    check_runs(&runs, args.learn.k)?;
    let progress = Progress::bar("evaluating", args.methods.len() * runs.len());
    let outcomes = args
        .methods
        .iter()
        .map(|&method| evaluate(method, &gmml, &data, &runs, &progress))
        .collect::<Result<Vec<_>>>()
        .map_err(|error| match error.downcast::<mahala::Error>() {
            Ok(error) => explain(error, &table.names),
            Err(other) => other,
        })?;
    progress.finish();
    if let (Some(svg), Some(path)) = (svg, &args.svg) {
        write_figure(svg, path, &figure(&table.source, &data, &outcomes).to_svg())?;
    }
    let json = to_json(&table.source, &data, &protocol, &outcomes);
    if args.json {
        print(&format!("{json:#}\n"))
    } else {
        print(&to_text(&table.source, &data, &protocol, &outcomes))
    }
}

fn draw_runs(args: &Evaluate, data: &Dataset, row_numbers: &[u64]) -> Result<(Vec<Run>, String)> {
    let n = data.len();
    if let (Some(train), Some(test)) = (&args.train_rows, &args.test_rows) {
        let split = Split { train: train.positions(row_numbers)?, test: test.positions(row_numbers)? };
        let protocol = format!("rows {train} against rows {test}");
        return Ok((vec![vec![split]], protocol));
    }
    let folds = args.folds.unwrap_or(2);
    let runs = if args.folds.is_some() { 1 } else { args.runs };
    let draw = |run: usize| -> Result<Run> {
        let folds = Folds::new(n, folds, &mut Random::new(args.learn.seed, run as u64))?;
        let split = |fold| {
            let (train, test) = folds.split(fold);
            Split { train, test }
        };
        Ok((0..folds.len()).map(split).collect())
    };
    let protocol = match args.folds {
        Some(k) => format!("{k}-fold cross-validation"),
        None => {
            format!("{} of random halves, each tested against the other", table::count(runs as u64, "run"))
        }
    };
    Ok(((0..runs).map(draw).collect::<Result<_>>()?, protocol))
}

/// Refuses more neighbours than rows to learn on; says when rows are both learned on and tested.
fn check_runs(runs: &[Run], k: usize) -> Result<()> {
    for split in runs.iter().flatten() {
        if k > split.train.len() {
            let rows = table::count(split.train.len() as u64, "row");
            bail!("-k is {k}, but only {rows} can vote");
        }
        let learned: HashSet<&usize> = split.train.iter().collect();
        let both = split.test.iter().filter(|row| learned.contains(row)).count();
        if both > 0 {
            let rows = table::count(both as u64, "row");
            say(&format!("note: {rows} both learned on and tested: the error comes out too small"));
        }
    }
    Ok(())
}

fn evaluate(
    method: Method,
    gmml: &Gmml,
    data: &Dataset,
    runs: &[Run],
    progress: &Progress,
) -> Result<Outcome> {
    let results = runs
        .par_iter()
        .map(|run| {
            let result = evaluate_run(method, gmml, data, run);
            progress.step();
            result
        })
        .collect::<Result<Vec<_>>>()?;
    let counts = results.iter().map(|(count, _)| *count).collect();
    let t = results.into_iter().flat_map(|(_, t)| t).collect();
    let (fit_seconds, selection_seconds) = measure(method, gmml, &data.subset(&runs[0][0].train))?;
    Ok(Outcome { method, counts, t, fit_seconds, selection_seconds })
}

fn evaluate_run(method: Method, gmml: &Gmml, data: &Dataset, run: &Run) -> Result<(Count, Vec<f64>)> {
    let (mut count, mut ts) = (Count::default(), Vec::new());
    for split in run {
        let (train, test) = (data.subset(&split.train), data.subset(&split.test));
        let learned = method.learn(gmml, &train)?;
        let transformed = |part: &Dataset| -> Result<Dataset> {
            Ok(Dataset::new(learned.metric.transform(part.rows())?, part.labels().clone())?)
        };
        count.wrong += wrong_votes(&transformed(&train)?, &transformed(&test)?, gmml.k)?;
        count.tested += test.len();
        ts.extend(learned.t);
    }
    Ok((count, ts))
}

/// The time of one fit with every choice made, and of making the choices: the least of three.
fn measure(method: Method, gmml: &Gmml, train: &Dataset) -> Result<(f64, f64)> {
    let start = Instant::now();
    let learned = method.learn(gmml, train)?;
    let whole = start.elapsed().as_secs_f64();
    let fixed = Method::fixed(gmml, &learned);
    let mut fit = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        method.learn(&fixed, train)?;
        fit = fit.min(start.elapsed().as_secs_f64());
    }
    Ok((fit, (whole - fit).max(0.0)))
}

fn to_json(source: &str, data: &Dataset, protocol: &str, outcomes: &[Outcome]) -> Value {
    let results: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let errors = outcome.errors();
            let (error_mean, error_std) = mean_and_std(&errors);
            let Count { wrong, tested } = outcome.total();
            let t_mean = (!outcome.t.is_empty()).then(|| mean_and_std(&outcome.t).0);
            json!({
                "method": outcome.method.name(), "error_mean": error_mean, "error_std": error_std,
                "t_mean": t_mean, "fit_seconds": outcome.fit_seconds,
                "selection_seconds": outcome.selection_seconds, "errors": errors, "t": outcome.t, "wrong": wrong, "tested": tested,
            })
        })
        .collect();
    let c = data.labels().class_count();
    json!({
        "dataset": source, "n": data.len(), "d": data.columns(), "c": c, "protocol": protocol, "results": results,
    })
}

fn figure(source: &str, data: &Dataset, outcomes: &[Outcome]) -> BarPlot {
    let (n, d, c) = (data.len(), data.columns(), data.labels().class_count());
    let bar =
        |outcome: &Outcome| (outcome.method.name().to_owned(), vec![Some(mean_and_std(&outcome.errors()))]);
    BarPlot {
        title: "Error of nearest neighbours on held-out rows".into(),
        y_label: "error, %".into(),
        groups: vec![(source.to_owned(), format!("n = {n}, d = {d}, c = {c}"))],
        series: outcomes.iter().map(bar).collect(),
    }
}

fn to_text(source: &str, data: &Dataset, protocol: &str, outcomes: &[Outcome]) -> String {
    let (n, d, c) = (data.len(), data.columns(), data.labels().class_count());
    let columns = table::count(d as u64, "column");
    format!("{source}: {n} rows, {columns}, {c} classes\n{protocol}\n\n{}", table_of(outcomes))
}

fn table_of(outcomes: &[Outcome]) -> String {
    let rows: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| {
            let (mean, std) = mean_and_std(&outcome.errors());
            let selecting = outcome.selection_seconds > 0.0 && !outcome.t.is_empty();
            vec![
                outcome.method.name().to_owned(),
                match outcome.counts[..] {
                    [Count { wrong, tested }] => format!("{wrong}/{tested} = {mean:.2}"),
                    _ => format!("{mean:.2} ± {std:.2}"),
                },
                if outcome.t.is_empty() {
                    "–".into()
                } else {
                    format!("{:.3}", mean_and_std(&outcome.t).0)
                },
                table::seconds(outcome.fit_seconds),
                if selecting { table::seconds(outcome.selection_seconds) } else { "–".into() },
            ]
        })
        .collect();
    table::render(&["method", "error %", "mean t", "one fit", "choosing t"], &rows)
}

fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

/// Euclidean against GMML over repeated halves, as a table: for the demonstration.
pub(crate) fn compare_on_halves(data: &Dataset, gmml: &Gmml, runs: usize) -> Result<String> {
    let draw = |run: usize| -> Result<Run> {
        let (train, test) = Folds::new(data.len(), 2, &mut Random::new(gmml.seed, run as u64))?.split(0);
        Ok(vec![Split { train: train.clone(), test: test.clone() }, Split { train: test, test: train }])
    };
    let runs: Vec<Run> = (0..runs).map(draw).collect::<Result<_>>()?;
    let progress = Progress::bar("comparing", 2 * runs.len());
    let compare = |&method: &Method| evaluate(method, gmml, data, &runs, &progress);
    let outcomes = [Method::Euclidean, Method::Gmml].iter().map(compare).collect::<Result<Vec<_>>>()?;
    Ok(table_of(&outcomes))
}

impl Outcome {
    /// In percent, one a run.
    fn errors(&self) -> Vec<f64> {
        self.counts.iter().map(|count| 100.0 * count.wrong as f64 / count.tested as f64).collect()
    }

    /// Over all runs.
    fn total(&self) -> Count {
        let add = |a: Count, b: &Count| Count { wrong: a.wrong + b.wrong, tested: a.tested + b.tested };
        self.counts.iter().fold(Count::default(), add)
    }
}

impl FromStr for RowRanges {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim().parse::<u64>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("'{text}' is not a row number (rows count from 1)")),
        };
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            match (number(from)?, number(to)?) {
                (from, to) if from <= to => Ok((from, to)),
                (from, to) => Err(format!("{from}-{to} runs backwards")),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

impl std::fmt::Display for RowRanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self
            .0
            .iter()
            .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
        write!(f, "{}", parts.collect::<Vec<_>>().join(","))
    }
}

impl RowRanges {
    /// The positions of these rows among those that were read.
    fn positions(&self, row_numbers: &[u64]) -> Result<Vec<usize>> {
        let last = row_numbers.last().copied().unwrap_or(0);
        if let Some((_, to)) = self.0.iter().find(|(_, to)| *to > last) {
            bail!("row {to} does not exist; the file has rows 1 to {last} (the header does not count)");
        }
        let inside = |number: u64| self.0.iter().any(|&(from, to)| (from..=to).contains(&number));
        let rows: Vec<usize> = (0..row_numbers.len()).filter(|&i| inside(row_numbers[i])).collect();
        (!rows.is_empty()).then_some(rows).context("all of these rows were dropped for missing cells")
    }
}
