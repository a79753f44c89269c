//! `mahala evaluate`: the error of nearest neighbours on held-out rows, method by method.

mod impute;
mod report;
mod verdict;

use crate::commands::configured::{Configured, configure};
use crate::commands::dataset::dataset;
use crate::commands::evaluate::impute::Gaps;
use crate::commands::explain::explain_setting;
use crate::commands::{create_output, write_figure};
use crate::options::evaluate::Evaluate;
use crate::options::learn::RankArg;
use crate::options::method::{Method, MethodArgs};
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::print_result;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::data::{Folds, Random};
use mahala::learner::{Report, Training};
use mahala::neighbors::misclassified;
use mahala::{Dataset, Gmml, Labels};
use rayon::prelude::*;
use report::{Count, Outcome, figure, table_of, to_json, to_text};
use serde_json::json;
use std::collections::HashSet;
use std::time::Instant;
use verdict::Verdict;

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

/// Evaluates every method on the same splits.
pub(crate) fn run(args: &Evaluate) -> Result<()> {
    let svg = args.svg.as_ref().map(|path| create_output(path, &[&args.data])).transpose()?;
    let (mut table, groups) =
        args.input.read_grouped(&args.data, args.label.as_ref(), args.groups.as_ref())?;
    let data = Grouped { gaps: Gaps::of(&table), rows: dataset(&mut table)?, groups };
    let gmml = args.learn.gmml(args.pairs.rule(), data.rows.columns())?;
    let steering = match args.learn.rank {
        Some(RankArg::Chosen) => args.steering.with("reduce", json!(true)),
        _ => args.steering.clone(),
    };
    let methods = configure(&args.method, &steering, &gmml, args.learn.selection_rows)?;
    let (runs, protocol) = draw_runs(args, &data, &table.row_numbers)?;
    check_runs(&runs, gmml.k)?;
    runs.iter().flatten().try_for_each(|split| args.learn.check_folds(split.train.len()))?;
    let progress = Bar::over("evaluating", args.method.len() * runs.len());
    let outcomes = methods
        .iter()
        .map(|method| evaluate(method, &data, &runs, &progress))
        .collect::<Result<Vec<_>>>()
        .map_err(|error| match error.downcast::<mahala::Error>() {
            Ok(error) => explain_setting(&args.steering, error, &table.names),
            Err(other) => other,
        })?;
    progress.finish();
    outcomes.iter().filter_map(Outcome::warning).for_each(|warning| print_message(&warning));
    if let (Some(svg), Some(path)) = (svg, &args.svg) {
        write_figure(svg, path, &figure(&table.source, &data.rows, &outcomes).to_svg())?;
    }
    let verdict = Verdict::of(&outcomes, &tested(&runs, data.rows.len()), data.groups.as_ref());
    let json = to_json(&table.source, &data.rows, &protocol, &outcomes, verdict.as_ref());
    if args.json {
        print_result(&format!("{json:#}\n"))
    } else {
        print_result(&to_text(&table.source, &data.rows, &protocol, &outcomes, verdict.as_ref()))
    }
}

/// How often each row is tested.
fn tested(runs: &[Run], rows: usize) -> Vec<u32> {
    let mut times = vec![0; rows];
    runs.iter().flatten().flat_map(|split| &split.test).for_each(|&row| times[row] += 1);
    times
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
    let folds = args.test_folds.unwrap_or(2);
    let runs = if args.test_folds.is_some() { 1 } else { args.runs };
    if let Some(groups) = &data.groups {
        let seen = groups.class_sizes().iter().filter(|&&size| size > 0).count();
        if seen < folds {
            bail!(
                "--groups names {}, too few for {folds} folds that keep them whole",
                format::count(seen as u64, "group")
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
    let mut protocol = match args.test_folds {
        Some(k) => format!("{k}-fold cross-validation"),
        None => {
            format!("{} of random halves, each tested against the other", format::count(runs as u64, "run"))
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
            let rows = format::count(split.train.len() as u64, "row");
            bail!("-k is {k}, but only {rows} can vote");
        }
        let learned: HashSet<&usize> = split.train.iter().collect();
        let both = split.test.iter().filter(|row| learned.contains(row)).count();
        if both > 0 {
            let rows = format::count(both as u64, "row");
            print_message(&format!("note: {rows} both learned on and tested: the error comes out too small"));
        }
    }
    Ok(())
}

fn evaluate(method: &Configured, data: &Grouped, runs: &[Run], progress: &Bar) -> Result<Outcome> {
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
        wrong: vec![0; data.rows.len()],
        t: Vec::new(),
        reports: Vec::new(),
        fit_seconds,
        selection_seconds,
    };
    for result in results {
        outcome.counts.push(Count { wrong: result.wrong.len(), tested: result.tested });
        result.wrong.into_iter().for_each(|row| outcome.wrong[row] += 1);
        outcome.t.extend(result.t);
        outcome.reports.extend(result.reports);
    }
    Ok(outcome)
}

/// What one run gave.
#[derive(Default)]
struct RunResult {
    /// The rows put into a wrong class.
    wrong: Vec<usize>,
    tested: usize,
    /// One a split.
    t: Vec<f64>,
    reports: Vec<Report>,
}

fn evaluate_run(method: &Configured, data: &Grouped, run: &Run) -> Result<RunResult> {
    let mut result = RunResult::default();
    for split in run {
        let (part, test) = data.split(split)?;
        let (learned, t) = method.learn(&part.training(), &mut |_| ())?;
        let train = part.rows;
        let transformed = |part: &Dataset| -> Result<Dataset> {
            Ok(Dataset::new(learned.transform(part.rows())?, part.labels().clone())?)
        };
        let wrong = misclassified(&transformed(&train)?, &transformed(&test)?, method.gmml.k)?;
        result.wrong.extend(split.test.iter().zip(wrong).filter(|(_, wrong)| *wrong).map(|(&row, _)| row));
        result.tested += test.len();
        result.t.extend(t);
        result.reports.push(learned.report);
    }
    Ok(result)
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

/// Euclidean against GMML over repeated halves, as a table: for the demonstration.
pub(crate) fn compare_on_halves(data: &Dataset, gmml: &Gmml, runs: usize) -> Result<String> {
    let draw = |run: usize| -> Result<Run> {
        let (train, test) = Folds::new(data.len(), 2, &mut Random::new(gmml.seed, run as u64))?.split(0);
        Ok(vec![Split { train: train.clone(), test: test.clone() }, Split { train: test, test: train }])
    };
    let runs: Vec<Run> = (0..runs).map(draw).collect::<Result<_>>()?;
    let progress = Bar::over("comparing", 2 * runs.len());
    let plain = MethodArgs { max_iterations: None, time_limit: None, set: Vec::new() };
    let methods = configure(&[Method::Euclidean, Method::Gmml], &plain, gmml, None)?;
    let data = Grouped { rows: data.clone(), groups: None, gaps: Gaps::none() };
    let compare = |method: &Configured| evaluate(method, &data, &runs, &progress);
    let outcomes = methods.iter().map(compare).collect::<Result<Vec<_>>>()?;
    Ok(table_of(&outcomes))
}
