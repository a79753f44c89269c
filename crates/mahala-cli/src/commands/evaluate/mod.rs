//! `mahala evaluate`: the error of nearest neighbours on held-out rows, method by method.

mod impute;

use crate::commands::evaluate::impute::Gaps;
use crate::commands::fit::PairsArg;
use crate::commands::{create_output, print, write_figure};
use crate::options::method::{Configured, Method, MethodArgs, configure};
use crate::options::{InputArgs, LearnArgs, RankArg, at_least, dataset};
use crate::say;
use crate::terminal::progress::Progress;
use crate::terminal::table;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use mahala::learners::{Report, Training};
use mahala::{Dataset, Folds, Gmml, Labels, Random, wrong_votes};
use mahala_io::ColumnRef;
use mahala_plot::BarPlot;
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
  mahala evaluate wine.csv --label class --methods gmml --pairs sampled
      as in the paper
  mahala evaluate wine.csv --label class --methods gmml,itml --set gamma=0.1
  mahala evaluate wine.csv --label class --folds 10 --json
  mahala evaluate vowel.csv --label y --train-rows 1-528 --test-rows 529-990")]
pub(crate) struct Evaluate {
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// The methods to compare; an option goes to those that have it, and is refused if none has
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Method::Euclidean, Method::Auto])]
    pub methods: Vec<Method>,
    /// How often to draw halves, each tested against the other
    #[arg(long, default_value_t = 40, value_name = "N", value_parser = at_least(1))]
    #[arg(conflicts_with_all = ["folds", "train_rows", "test_rows"])]
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
    /// The column that names each row's group: no group is both learned on and tested, nor split where something is chosen
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub groups: Option<ColumnRef>,
    /// Draw the errors into this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub method: MethodArgs,
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

/// Rows, and the group of each if it is known.
struct Grouped {
    rows: Dataset,
    groups: Option<Labels>,
    gaps: Gaps,
}

/// The rows of one split to learn on, and the group of each if it is known.
struct Part {
    rows: Dataset,
    groups: Option<Labels>,
}

impl Grouped {
    /// The rows to learn on and those to test, missing cells of both replaced by means of the former alone.
    fn split(&self, split: &Split) -> Result<(Part, Dataset)> {
        let means = self.gaps.means(&self.rows, &split.train)?;
        let filled = |rows: &[usize]| self.gaps.filled(&self.rows, rows, means.as_deref());
        let groups = self.groups.as_ref().map(|groups| groups.subset(&split.train));
        Ok((Part { rows: filled(&split.train)?, groups }, filled(&split.test)?))
    }
}

impl Part {
    fn training(&self) -> Training<'_> {
        match &self.groups {
            Some(groups) => Training::Grouped(&self.rows, groups),
            None => Training::Labelled(&self.rows),
        }
    }
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
    /// One a split.
    reports: Vec<Report>,
    fit_seconds: f64,
    selection_seconds: f64,
}

/// Evaluates every method on the same splits.
pub(crate) fn run(args: &Evaluate) -> Result<()> {
    let svg = args.svg.as_ref().map(|path| create_output(path, &[&args.data])).transpose()?;
    let (mut table, groups) =
        args.input.read_grouped(&args.data, args.label.as_ref(), args.groups.as_ref())?;
    let data = Grouped { gaps: Gaps::of(&table), rows: dataset(&mut table)?, groups };
    let gmml = args.learn.gmml(args.pairs.rule(), data.rows.columns())?;
    let steering = match args.learn.rank {
        Some(RankArg::Chosen) => args.method.with("reduce", json!(true)),
        _ => args.method.clone(),
    };
    let methods = configure(&args.methods, &steering, &gmml)?;
    let (runs, protocol) = draw_runs(args, &data, &table.row_numbers)?;
    check_runs(&runs, gmml.k)?;
    runs.iter().flatten().try_for_each(|split| args.learn.check_folds(split.train.len()))?;
    let progress = Progress::bar("evaluating", args.methods.len() * runs.len());
    let outcomes = methods
        .iter()
        .map(|method| evaluate(method, &data, &runs, &progress))
        .collect::<Result<Vec<_>>>()
        .map_err(|error| match error.downcast::<mahala::Error>() {
            Ok(error) => args.method.explain(error, &table.names),
            Err(other) => other,
        })?;
    progress.finish();
    outcomes.iter().filter_map(Outcome::warning).for_each(|warning| say(&warning));
    if let (Some(svg), Some(path)) = (svg, &args.svg) {
        write_figure(svg, path, &figure(&table.source, &data.rows, &outcomes).to_svg())?;
    }
    let json = to_json(&table.source, &data.rows, &protocol, &outcomes);
    if args.json {
        print(&format!("{json:#}\n"))
    } else {
        print(&to_text(&table.source, &data.rows, &protocol, &outcomes))
    }
}

fn draw_runs(args: &Evaluate, data: &Grouped, row_numbers: &[u64]) -> Result<(Vec<Run>, String)> {
    let n = data.rows.len();
    if let (Some(train), Some(test)) = (&args.train_rows, &args.test_rows) {
        let split = Split { train: train.positions(row_numbers)?, test: test.positions(row_numbers)? };
        if let Some(groups) = &data.groups {
            check_apart(&split, groups)?;
        }
        let protocol = format!("rows {train} against rows {test}");
        return Ok((vec![vec![split]], protocol));
    }
    let folds = args.folds.unwrap_or(2);
    let runs = if args.folds.is_some() { 1 } else { args.runs };
    if let Some(groups) = &data.groups {
        let seen = groups.class_sizes().iter().filter(|&&size| size > 0).count();
        if seen < folds {
            bail!(
                "--groups names {}, too few for {folds} folds that keep them whole",
                table::count(seen as u64, "group")
            );
        }
    }
    let draw = |run: usize| -> Result<Run> {
        let random = &mut Random::new(args.learn.seed, run as u64);
        let folds = match &data.groups {
            Some(groups) => Folds::by_shuffled_group(groups, folds, random),
            None => Folds::new(n, folds, random),
        }?;
        let split = |fold| {
            let (train, test) = folds.split(fold);
            Split { train, test }
        };
        Ok((0..folds.len()).map(split).collect())
    };
    let mut protocol = match args.folds {
        Some(k) => format!("{k}-fold cross-validation"),
        None => {
            format!("{} of random halves, each tested against the other", table::count(runs as u64, "run"))
        }
    };
    if data.groups.is_some() {
        protocol += "; groups are kept whole";
    }
    Ok(((0..runs).map(draw).collect::<Result<_>>()?, protocol))
}

/// Refuses a given split that learns on rows of a group and tests others of it.
fn check_apart(split: &Split, groups: &Labels) -> Result<()> {
    let learned: HashSet<u32> = split.train.iter().map(|&i| groups.codes()[i]).collect();
    if let Some(&row) = split.test.iter().find(|&&i| learned.contains(&groups.codes()[i])) {
        let group = &groups.names()[groups.codes()[row] as usize];
        bail!("group '{group}' is in --train-rows and in --test-rows\nhint: divide the rows between groups");
    }
    Ok(())
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

fn evaluate(method: &Configured, data: &Grouped, runs: &[Run], progress: &Progress) -> Result<Outcome> {
    let results = runs
        .par_iter()
        .map(|run| {
            let result = evaluate_run(method, data, run);
            progress.step();
            result
        })
        .collect::<Result<Vec<_>>>()?;
    let (fit_seconds, selection_seconds) = measure(method, &data.split(&runs[0][0])?.0)?;
    let mut outcome = Outcome {
        method: method.method,
        counts: Vec::new(),
        t: Vec::new(),
        reports: Vec::new(),
        fit_seconds,
        selection_seconds,
    };
    for (count, t, reports) in results {
        outcome.counts.push(count);
        outcome.t.extend(t);
        outcome.reports.extend(reports);
    }
    Ok(outcome)
}

fn evaluate_run(method: &Configured, data: &Grouped, run: &Run) -> Result<(Count, Vec<f64>, Vec<Report>)> {
    let (mut count, mut ts, mut reports) = (Count::default(), Vec::new(), Vec::new());
    for split in run {
        let (part, test) = data.split(split)?;
        let (learned, t) = method.learn(&part.training(), &mut |_| ())?;
        let train = part.rows;
        let transformed = |part: &Dataset| -> Result<Dataset> {
            Ok(Dataset::new(learned.transform(part.rows())?, part.labels().clone())?)
        };
        count.wrong += wrong_votes(&transformed(&train)?, &transformed(&test)?, method.gmml.k)?;
        count.tested += test.len();
        ts.extend(t);
        reports.push(learned.report);
    }
    Ok((count, ts, reports))
}

/// The time of one fit with every choice made, and of making the choices: the least of three, or of those
/// that a second has room for.
fn measure(method: &Configured, train: &Part) -> Result<(f64, f64)> {
    let training = train.training();
    let start = Instant::now();
    let (_, t) = method.learn(&training, &mut |_| ())?;
    let whole = start.elapsed().as_secs_f64();
    let fixed = method.with_t(t)?;
    let mut fit = if t.is_some() { f64::INFINITY } else { whole };
    for _ in 0..3 {
        if fit.is_finite() && start.elapsed().as_secs_f64() > 1.0 {
            break;
        }
        let start = Instant::now();
        fixed.learn(&training, &mut |_| ())?;
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
                "iterations_mean": outcome.iterations(), "objective_mean": outcome.objective(),
                "fits": outcome.reports.len(), "converged": outcome.converged(),
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
    // What iterates says how long and how far; where nothing does, two columns would be empty.
    let iterating = outcomes.iter().any(|outcome| outcome.iterations() > 0.0);
    let rows: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| {
            let (mean, std) = mean_and_std(&outcome.errors());
            let selecting = outcome.selection_seconds > 0.0 && !outcome.t.is_empty();
            let mut row = vec![
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
            ];
            if iterating {
                let iterations = outcome.iterations();
                row.push(if iterations > 0.0 { format!("{iterations:.0}") } else { "–".into() });
                row.push(outcome.objective().map_or("–".into(), table::rounded));
            }
            row
        })
        .collect();
    let header = ["method", "error %", "mean t", "one fit", "choosing t", "iterations", "objective"];
    table::render(if iterating { &header } else { &header[..5] }, &rows)
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
    let plain = MethodArgs { max_iterations: None, time_limit: None, set: Vec::new() };
    let methods = configure(&[Method::Euclidean, Method::Gmml], &plain, gmml)?;
    let data = Grouped { rows: data.clone(), groups: None, gaps: Gaps::none() };
    let compare = |method: &Configured| evaluate(method, &data, &runs, &progress);
    let outcomes = methods.iter().map(compare).collect::<Result<Vec<_>>>()?;
    Ok(table_of(&outcomes))
}

impl Outcome {
    /// In percent, one a run.
    fn errors(&self) -> Vec<f64> {
        self.counts.iter().map(|count| 100.0 * count.wrong as f64 / count.tested as f64).collect()
    }

    /// The mean over all fits.
    fn iterations(&self) -> f64 {
        self.reports.iter().map(|report| report.iterations as f64).sum::<f64>() / self.reports.len() as f64
    }

    /// The mean over all fits, if every one has an objective.
    fn objective(&self) -> Option<f64> {
        let objectives: Option<Vec<f64>> = self.reports.iter().map(|report| report.objective).collect();
        objectives.filter(|list| !list.is_empty()).map(|list| mean_and_std(&list).0)
    }

    /// How many fits went to their end.
    fn converged(&self) -> usize {
        self.reports.iter().filter(|report| report.outcome.is_final()).count()
    }

    /// What to say of fits that did not.
    fn warning(&self) -> Option<String> {
        let open = self.reports.len() - self.converged();
        let last = self.reports.iter().map(|report| report.outcome).find(|outcome| !outcome.is_final())?;
        let (name, fits) = (self.method.name(), self.reports.len());
        Some(format!("warning: {name}: {open} of {fits} fits {last}"))
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
