//! `mahala fit --method`: any method but GMML.

use crate::commands::configured::{Configured, Setup, configure};
use crate::commands::constraints::{Given, chunks, given_pairs, one_table};
use crate::commands::dataset::{dataset, rows, targets};
use crate::commands::described;
use crate::commands::explain::explain_setting;
use crate::commands::fit::choice::in_words;
use crate::commands::fit::gmml::labels_to_keep;
use crate::commands::fit::{keeps_rows, rows_not_kept};
use crate::options::fit::Fit;
use crate::options::learn::RankArg;
use crate::options::method::Method;
use crate::options::target::PairsArg;
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::{print_json, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Context as _, Result};
use mahala::learner::{Learned, Report, Training};
use mahala::metric::{
    best_threshold, squared_pair_distances, threshold_for_labels, threshold_in_coordinates,
};
use mahala::pairs::{Chunklets, Pairs};
use mahala::progress::Step;
use mahala::retrieval::Similarity;
use mahala::{Gmml, Labels, Model};
use mahala_io::AtomicFile;
use mahala_io::Table;
use mahala_io::tuples::{read_quadruplets, read_triplets};
use serde_json::json;

/// Learns, writes, reports.
pub(super) fn fit_method(
    args: &Fit,
    gmml: &Gmml,
    data: &mut Table,
    groups: Option<&Labels>,
    mut output: AtomicFile,
) -> Result<()> {
    let method = args.method();
    let steering = match args.learn.rank {
        Some(RankArg::Chosen) => args.steering.with("reduce", json!(true)),
        _ => args.steering.clone(),
    };
    let method = configure(&[method], &steering, gmml, args.learn.selection_rows, &Setup::default())?
        .pop()
        .context("no method")?;
    let (mut model, report) = match (&args.target.pairs, &args.target.triplets, &args.target.quadruplets) {
        (PairsArg::File(_), ..) => {
            let given = given_pairs(&args.target, &args.input, data)?;
            from_pairs(args, &method, data, given)?
        }
        (_, Some(path), _) => {
            let triplets = read_triplets(path, data)?;
            let rows = rows(data)?;
            let training = Training::Triplets(&rows, &triplets);
            from_constraints(args, &method, data, (&training, rows.len()), Some(&triplets.to_pairs()))?
        }
        (_, None, Some(path)) => {
            let quadruplets = read_quadruplets(path, data)?;
            let rows = rows(data)?;
            let training = Training::Quadruplets(&rows, &quadruplets);
            from_constraints(args, &method, data, (&training, rows.len()), Some(&quadruplets.to_pairs()))?
        }
        _ if args.target.chunks.is_some() => {
            let chunklets = Chunklets::new(&chunks(groups.context("there is no column of chunks")?))?;
            let rows = rows(data)?;
            let training = Training::Chunklets(&rows, &chunklets);
            from_constraints(args, &method, data, (&training, rows.len()), None)?
        }
        _ if args.target.regression => from_targets(args, &method, data)?,
        _ => from_labels(args, &method, data, groups)?,
    };
    if let Some(k) = args.learn.k {
        // What `predict` votes with; a method that votes itself has it among its parameters anyway.
        model.params["k"] = json!(k);
    }
    model.write_to(&mut output)?;
    output.commit()?;
    if !report.outcome.is_final() {
        print_message(&format!("warning: {}: {}", method.method.name(), report.outcome));
    }
    if args.json {
        let summary = json!({
            "model": args.output.display().to_string(), "n": data.n, "d": data.names.len(),
            "rank": model.metric.rank(), "threshold": model.threshold,
            "params": model.params, "diagnostics": model.diagnostics,
        });
        return print_json("fit", summary);
    }
    tell(args, method.method, data, &model, &report);
    Ok(())
}

fn from_labels(
    args: &Fit,
    method: &Configured,
    table: &mut Table,
    groups: Option<&Labels>,
) -> Result<(Model, Report)> {
    let data = dataset(table)?;
    let training = match groups {
        Some(groups) => Training::Grouped(&data, groups),
        None => Training::Labelled(&data),
    };
    let learned = learn(args, method, &training, table)?;
    let keep = keeps_rows(args, data.len(), learned.metric.rank());
    let references = keep.then_some((data.rows(), data.labels()));
    let report = learned.report.clone();
    let standardize = method.gmml.standardize;
    let mut model =
        learned.into_model(method.learner()?, standardize, table.names.clone(), references, None)?;
    model.keep_training_means(data.rows());
    let (labels, seed) = (data.labels(), method.gmml.seed);
    let is_linear = model.kernel.is_none() && model.similarity() == Similarity::L2;
    let threshold = match &model.references {
        _ if is_linear => threshold_for_labels(&model.metric, &data, seed),
        Some((z, _)) => threshold_in_coordinates(z, labels, seed),
        None => threshold_in_coordinates(&model.transform(data.rows())?, labels, seed),
    };
    // Without two classes there is nothing to tell apart.
    model.threshold = threshold.ok();
    Ok((model, report))
}

/// Learns from labels that are numbers; the rows are kept with them.
fn from_targets(args: &Fit, method: &Configured, table: &mut Table) -> Result<(Model, Report)> {
    let targets = targets(table)?;
    let rows = rows(table)?;
    let learned = learn(args, method, &Training::Targets(&rows, &targets), table)?;
    let keep = keeps_rows(args, rows.len(), learned.metric.rank());
    let report = learned.report.clone();
    let standardize = method.gmml.standardize;
    let mut model = learned.into_model(method.learner()?, standardize, table.names.clone(), None, None)?;
    model.params["regression"] = json!(true);
    if keep {
        model.targets = Some((model.transform(&rows)?, targets));
    }
    model.keep_training_means(&rows);
    Ok((model, report))
}

fn from_pairs(args: &Fit, method: &Configured, table: &Table, given: Given) -> Result<(Model, Report)> {
    let first = given.first.len();
    let (rows, pairs) = one_table(given.first, given.second, given.pairs)?;
    from_constraints(args, method, table, (&Training::Paired(&rows, &pairs), first), Some(&pairs))
}

/// Learns from pairs, triplets, quadruplets or chunks; the first rows, if they have labels, may be kept. Pairs give
/// the threshold.
fn from_constraints(
    args: &Fit,
    method: &Configured,
    table: &Table,
    (training, first): (&Training<'_>, usize),
    pairs: Option<&Pairs>,
) -> Result<(Model, Report)> {
    let rows = training.rows();
    let learned = learn(args, method, training, table)?;
    let threshold = match pairs {
        Some(pairs) => {
            let squared = squared_pair_distances(&learned.metric, rows, rows, pairs)?;
            let distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
            Some(best_threshold(&distances, pairs))
        }
        None => None,
    };
    let labels = labels_to_keep(args, table)?;
    let kept = rows.subset(&(0..first).collect::<Vec<_>>());
    let references = labels.as_ref().map(|labels| (&kept, labels));
    let report = learned.report.clone();
    let standardize = method.gmml.standardize;
    let mut model =
        learned.into_model(method.learner()?, standardize, table.names.clone(), references, threshold)?;
    model.params["pairs"] = json!("given");
    model.keep_training_means(rows);
    Ok((model, report))
}

fn learn(args: &Fit, method: &Configured, training: &Training<'_>, table: &Table) -> Result<Learned> {
    let name = method.method.name();
    let progress = Bar::spinner(name);
    let show = &mut |step: Step| {
        let objective =
            step.objective.map_or(String::new(), |x| format!(", objective {}", format::rounded(x)));
        progress.tell(&match method.method {
            method if method.chooses() => {
                let share = step.done as f64 / step.total.unwrap_or(1).max(1) as f64;
                let best =
                    step.objective.map_or(String::new(), |x| format!(", best so far {:.2} %", 100.0 * x));
                let what = step.trying.unwrap_or("recipes");
                format!("{name}: trying {what}{best}; {:.0} % of the budget used", 100.0 * share)
            }
            _ => format!("{name}: iteration {}{objective}", step.done),
        });
    };
    let (learned, _) =
        method.learn(training, show).map_err(|error| explain_setting(&args.steering, error, &table.names))?;
    progress.finish();
    Ok(learned)
}

fn tell(args: &Fit, method: Method, data: &Table, model: &Model, report: &Report) {
    let (rows, columns) =
        (format::count(data.n as u64, "row"), format::count(data.names.len() as u64, "column"));
    print_message(&format!("learned by {} from {rows} x {columns}", method.name()));
    if report.iterations > 0 {
        let objective =
            report.objective.map_or(String::new(), |x| format!(", objective {}", format::rounded(x)));
        let iterations = format::count(report.iterations as u64, "iteration");
        print_message(&format!("{iterations}{objective}: {}", report.outcome));
    }
    if let Some(choice) = &report.choice {
        in_words(choice).iter().for_each(|line| print_message(line));
    }
    if let Some(note) = without_weight(data, model) {
        print_message(&format!("note: {note}"));
    }
    rows_not_kept(data, model).iter().for_each(|note| print_message(&format!("note: {note}")));
    tell_written(&args.output, &described(model));
}

/// Columns that change no distance; with a kernel all may.
fn without_weight(data: &Table, model: &Model) -> Option<String> {
    if model.kernel.is_some() {
        return None;
    }
    let l = model.metric.components();
    let idle = |j: &usize| l.col(*j).iter().all(|x| *x == 0.0);
    let names: Vec<&str> = (0..l.ncols()).filter(idle).map(|j| &*data.names[j]).collect();
    (!names.is_empty()).then(|| format!("columns with weight 0: {}", format::first_names(&names)))
}
