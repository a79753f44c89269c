//! `mahala evaluate`: how good each method is on what was held out, and whether learning is worth it.

mod impute;
mod material;
mod model;
mod report;
mod splits;
mod targets;
mod verdict;

use crate::commands::configured::{Configured, Setup, configure};
use crate::commands::constraints::{self, Given};
use crate::commands::dataset::{self, dataset, rows};
use crate::commands::evaluate::impute::Gaps;
use crate::commands::evaluate::material::{Labelled, Material, Measure};
use crate::commands::explain::explain_setting;
use crate::commands::label_sets::LabelSets;
use crate::commands::{create_output, write_figure};
use crate::options::evaluate::Evaluate;
use crate::options::kernel::KernelName;
use crate::options::learn::RankArg;
use crate::options::method::{Method, MethodArgs};
use crate::terminal::message::{print_message, print_result};
use crate::terminal::progress::Bar;
use anyhow::{Context as _, Result};
use mahala::data::{Folds, Random};
use mahala::{Dataset, Gmml, Labels};
use mahala_io::Table;
use mahala_io::tuples::{read_quadruplets, read_triplets};
use rayon::prelude::*;
use report::{Outcome, Subject, figure, table_of, to_json, to_text};
use serde_json::{Value, json};
use splits::{Run, Split, Units, check_runs, draw_runs};
use std::path::Path;
use std::time::Instant;
use targets::Targeted;
use verdict::{Over, Verdict};

/// Evaluates every method on the same splits, or a model on rows.
pub(crate) fn run(args: &Evaluate) -> Result<()> {
    if let Some(model) = args.model() {
        return model::run(args, model);
    }
    let mut inputs: Vec<&Path> = vec![args.data()];
    inputs.extend(args.target.files());
    let svg = args.svg.as_ref().map(|path| create_output(path, &inputs)).transpose()?;
    let (mut table, beside) =
        args.input.read_grouped(args.data(), args.target.labels_in(), args.target.beside())?;
    let groups = if args.target.groups.is_some() { beside.as_ref() } else { None };
    let material = material(args, &mut table, beside.as_ref())?;
    let gmml = args.learn.gmml(args.target.pairs.rule(), material.rows().columns())?;
    let steering = match args.learn.rank {
        Some(RankArg::Chosen) => args.steering.with("reduce", json!(true)),
        _ => args.steering.clone(),
    };
    let setup = Setup {
        kernel: args.kernel.kernel.map(|_| args.kernel.clone()),
        local: args.extensions.local.map(|by| (by.0, args.extensions.share)),
    };
    let methods = configure(&args.methods(), &steering, &gmml, args.learn.selection_rows, &setup)?;
    let members = material.members();
    let units = Units::of(&material, members.as_deref(), groups, &table.row_numbers);
    let (runs, protocol) = draw_runs(args, &units)?;
    check_runs(&runs, gmml.k, &units)?;
    runs.iter().flatten().try_for_each(|split| args.learn.check_folds(split.train.len()))?;
    let outcomes =
        compare(&methods, &material, &runs).map_err(|error| match error.downcast::<mahala::Error>() {
            Ok(error) => explain_setting(&args.steering, error, &table.names),
            Err(other) => other,
        })?;
    let subject = subject(table.source, &material, protocol);
    outcomes.iter().filter_map(Outcome::warning).for_each(|warning| print_message(&warning));
    if let (Some(svg), Some(path)) = (svg, &args.svg) {
        write_figure(svg, path, &figure(&subject, &outcomes).to_svg())?;
    }
    let verdict = Verdict::of(&outcomes, &over(&runs, groups.filter(|_| members.is_none())))
        .map(|verdict| verdict.of_measure(material.measure()));
    if args.json {
        return print_result(&format!("{:#}\n", to_json(&subject, &outcomes, verdict.as_ref())));
    }
    print_result(&to_text(&subject, &outcomes, verdict.as_ref()))
}

/// What is divided, from what was asked for.
fn material(args: &Evaluate, table: &mut Table, beside: Option<&Labels>) -> Result<Material> {
    let target = &args.target;
    if target.has_pairs() && target.chunks.is_none() {
        if let Some(path) = &target.triplets {
            let triplets = read_triplets(path, table)?;
            return Ok(Material::Triplets(rows(table)?, triplets));
        }
        if let Some(path) = &target.quadruplets {
            let quadruplets = read_quadruplets(path, table)?;
            return Ok(Material::Quadruplets(rows(table)?, quadruplets));
        }
        let Given { first, second, pairs } = constraints::given_pairs(target, &args.input, table)?;
        let (rows, pairs) = constraints::one_table(first, second, pairs)?;
        let units = pairs.units();
        return Ok(Material::Pairs(rows, pairs, units));
    }
    if let Some(separator) = &target.multilabel {
        let sets = LabelSets::of(table, separator, target.pair_budget)?;
        return Ok(Material::Sets(rows(table)?, sets));
    }
    if target.regression {
        let (targets, gaps) = (dataset::targets(table)?, Gaps::of(table));
        return Ok(Material::Targeted(Targeted { rows: rows(table)?, targets, gaps }));
    }
    let weights = target.weights.as_ref().map(|name| table.take_column(name)).transpose()?;
    let gaps = Gaps::of(table);
    let chunks = match (&target.chunks, beside) {
        (Some(_), Some(names)) => Some(constraints::chunks(names)),
        _ => None,
    };
    let groups = if target.groups.is_some() { beside.cloned() } else { None };
    let precomputed = args.kernel.kernel == Some(KernelName::Precomputed);
    Ok(Material::Labelled(Labelled { data: dataset(table)?, groups, weights, chunks, gaps, precomputed }))
}

fn subject(source: String, material: &Material, protocol: String) -> Subject {
    let classes = match material {
        Material::Labelled(labelled) => Some(labelled.data.labels().class_count()),
        _ => None,
    };
    let tuples = material.members().map(|members| (members.len(), material.noun()));
    let (rows, columns) = (material.rows().len(), material.rows().columns());
    Subject { source, rows, columns, classes, tuples, measure: material.measure(), protocol }
}

/// Over what the intervals of the verdict are taken.
fn over<'a>(runs: &'a [Run], groups: Option<&'a Labels>) -> Over<'a> {
    match runs {
        [run] if run.len() == 1 => Over::Units(groups, &run[0].test),
        _ => {
            let (splits, sum) = runs.iter().flatten().fold((0.0, 0.0), |(count, sum), split| {
                (count + 1.0, sum + split.test.len() as f64 / split.train.len() as f64)
            });
            Over::Splits(sum / splits)
        }
    }
}

/// Every method on the same splits.
fn compare(methods: &[Configured], material: &Material, runs: &[Run]) -> Result<Vec<Outcome>> {
    let progress = Bar::over("evaluating", methods.len() * runs.len());
    let outcomes = methods.iter().map(|method| evaluate(method, material, runs, &progress)).collect();
    progress.finish();
    outcomes
}

fn evaluate(method: &Configured, material: &Material, runs: &[Run], progress: &Bar) -> Result<Outcome> {
    let name = method.full_name();
    progress.tell(&format!("evaluating {name}"));
    let results = runs
        .par_iter()
        .map(|run| {
            let result = run.iter().map(|split| material.judge(method, split)).collect::<Result<Vec<_>>>();
            progress.step();
            result
        })
        .collect::<Result<Vec<_>>>()?;
    let mut outcome = Outcome::empty(method.method, name);
    let units = material.len();
    results.into_iter().for_each(|run| outcome.add(run, units));
    (outcome.fit_seconds, outcome.selection_seconds) = measure(method, material, &runs[0][0])?;
    Ok(outcome)
}

/// The time of one fit with every choice made, and of making the choices: the least of three, or of those
/// that a second has room for.
fn measure(method: &Configured, material: &Material, split: &Split) -> Result<(f64, f64)> {
    let start = Instant::now();
    let t = material.learn(method, &split.train)?.t;
    let whole = start.elapsed().as_secs_f64();
    let fixed = method.with_t(t)?;
    let mut fit = if t.is_some() { f64::INFINITY } else { whole };
    for _ in 0..3 {
        if fit.is_finite() && start.elapsed().as_secs_f64() > 1.0 {
            break;
        }
        let start = Instant::now();
        material.learn(&fixed, &split.train)?;
        fit = fit.min(start.elapsed().as_secs_f64());
    }
    Ok((fit, (whole - fit).max(0.0)))
}

/// What `evaluate` says of labelled rows without options, over so many runs: the table and the verdict.
pub(crate) fn compare_on_halves(data: &Dataset, gmml: &Gmml, runs: usize) -> Result<(String, Value)> {
    let draw = |run: usize| -> Result<Run> {
        let folds = Folds::new(data.len(), 2, &mut Random::new(gmml.seed, run as u64))?;
        let split = |fold| {
            let (train, test) = folds.split(fold);
            Split { train, test }
        };
        Ok((0..2).map(split).collect())
    };
    let runs: Vec<Run> = (0..runs).map(draw).collect::<Result<_>>()?;
    let plain = MethodArgs {
        max_iterations: None,
        time_limit: None,
        keep_best: false,
        criterion: None,
        similarity: None,
        folds_over: None,
        set: Vec::new(),
    };
    let methods =
        configure(&[Method::Euclidean, Method::Lda, Method::Auto], &plain, gmml, None, &Setup::default())?;
    let labelled = Labelled {
        data: data.clone(),
        groups: None,
        weights: None,
        chunks: None,
        gaps: Gaps::none(),
        precomputed: false,
    };
    let outcomes = compare(&methods, &Material::Labelled(labelled), &runs)?;
    let verdict = Verdict::of(&outcomes, &over(&runs, None)).context("nothing to compare")?;
    let json = json!({
        "results": outcomes.iter().map(|outcome| outcome.to_json(Measure::Votes)).collect::<Vec<Value>>(),
        "verdict": verdict.to_json(),
    });
    Ok((format!("{}\n{verdict}\n", table_of(Measure::Votes, &outcomes)), json))
}
