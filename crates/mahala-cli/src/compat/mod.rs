//! Which option goes with which method and source: one table, asked by every command before a file is read.
//!
//! An option that was typed is either used or refused with what to do instead. Defaults are never refused: only what
//! stands on the command line is looked up.

mod rules;
mod settings;

use crate::options::Command;
use crate::options::evaluate::Evaluate;
use crate::options::export::{Export, Form, form_of};
use crate::options::fit::{Fit, KeepRows};
use crate::options::kernel::KernelName;
use crate::options::learn::{LearnArgs, RankArg};
use crate::options::method::{Method, MethodArgs};
use crate::options::target::PairsArg;
use crate::options::tune::Tune;
use Method as M;
use Source as S;
use anyhow::{Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use mahala::gmml::{Components, TChoice};
use mahala::local::Share;
use rules::{RULES, Rule, Source, check_methods, check_source, rule_of};
use serde_json::json;
use settings::check_steering;
use std::collections::BTreeSet;

/// The options that were typed, by the names clap has for them.
pub(crate) struct Given(BTreeSet<String>);

impl Given {
    /// Those of the subcommand.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let Some((_, matches)) = matches.subcommand() else { return Self(BTreeSet::new()) };
        let typed = |id: &&clap::Id| {
            // Groups of options have names, too, and no source.
            matches.try_contains_id(id.as_str()).is_ok()
                && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
        };
        Self(matches.ids().filter(typed).map(|id| id.as_str().to_owned()).collect())
    }

    fn has(&self, id: &str) -> bool {
        self.0.contains(id)
    }
}

/// Refuses an option that would change nothing, with what to do instead.
pub(crate) fn check(command: &Command, given: &Given) -> Result<()> {
    match command {
        Command::Fit(fit) => check_fit(fit, given),
        Command::Evaluate(evaluate) => check_evaluate(evaluate, given),
        Command::Tune(tune) => check_tune(tune, given),
        Command::Export(export) => check_export(export, given),
        // Their options go with any model; what does not is refused where the model is known.
        Command::Demo(_)
        | Command::Transform(_)
        | Command::Predict(_)
        | Command::Neighbors(_)
        | Command::Pairs(_)
        | Command::Moments(_)
        | Command::Merge(_)
        | Command::Inspect(_)
        | Command::Completions { .. } => Ok(()),
    }
}

/// The keys of the table for what was typed.
fn keys(given: &Given, learn: &LearnArgs, pairs: &PairsArg) -> Vec<&'static str> {
    let kind = |rule: &&Rule| match rule.key.split_once('=') {
        None if rule.key == "rank" => {
            given.has("rank") && matches!(learn.rank, Some(RankArg::Given(Components::Count(_))))
        }
        None => given.has(rule.key),
        Some(("rank", "auto")) => matches!(learn.rank, Some(RankArg::Chosen)),
        Some(("rank", _)) => matches!(learn.rank, Some(RankArg::Given(Components::Share(_)))),
        Some((_, "all")) => given.has("pairs") && *pairs == PairsArg::All,
        Some((_, "sampled")) => *pairs == PairsArg::Sampled,
        Some(_) => matches!(pairs, PairsArg::File(_)),
    };
    RULES.iter().filter(kind).map(|rule| rule.key).collect()
}

/// Refuses folds and samples where nothing is chosen on them.
fn check_choice(keys: &[&str], learn: &LearnArgs, chosen: Chosen, methods: &[Method]) -> Result<()> {
    if learn.t == TChoice::CrossValidated || methods.iter().any(|method| method.chooses()) {
        return Ok(());
    }
    for (key, used) in [("folds", chosen.folds), ("selection_rows", chosen.rows)] {
        if keys.contains(&key) && !used {
            let option = rule_of(key).map_or(key, |rule| rule.option);
            bail!(
                "{option} has no effect: t is given, so nothing is chosen\nhint: leave {option} or --t out"
            );
        }
    }
    Ok(())
}

/// What else than t is chosen on folds, or on a sample of the rows.
#[derive(Clone, Copy)]
struct Chosen {
    folds: bool,
    rows: bool,
}

fn check_fit(fit: &Fit, given: &Given) -> Result<()> {
    let (method, source) = (fit.method(), source_of(fit)?);
    let keys = keys(given, &fit.learn, &fit.target.pairs);
    for key in &keys {
        check_methods(key, &[method])?;
    }
    for key in &keys {
        check_source(key, source).map_err(|error| of_the_option_typed(fit, &error))?;
    }
    let open_share = source == S::Local && fit.extensions.share == Share::CrossValidated;
    let folds = open_share || fit.calibrate.is_some();
    let rows = open_share || source == S::Stream;
    check_choice(&keys, &fit.learn, Chosen { folds, rows }, &[method])?;
    check_steering(&[method], &fit.steering, &fit.learn)?;
    check_kernel(fit, given)?;
    check_weights(fit)?;
    if fit.target.groups.is_some() {
        if fit.calibrate.is_some() || fit.target.weights.is_some() {
            let option = if fit.target.weights.is_some() { "--weights" } else { "--calibrate" };
            bail!("--groups and {option} cannot be combined\nhint: leave one of them out");
        }
        check_groups(method, &fit.learn, &fit.steering)?;
    }
    check_rows(fit, given, source)
}

/// A refusal with the option that was typed for the constraints instead of --pairs FILE.
fn of_the_option_typed(fit: &Fit, error: &anyhow::Error) -> anyhow::Error {
    let options = [
        ("--triplets", fit.target.triplets.is_some()),
        ("--quadruplets", fit.target.quadruplets.is_some()),
        ("--chunks", fit.target.chunks.is_some()),
    ];
    let option = options.iter().find(|option| option.1).map_or("--pairs FILE", |option| option.0);
    let text = error.to_string().replace("--pairs FILE", option);
    anyhow::anyhow!(
        "{}",
        text.replace("without --pairs", &format!("without {}", option.replace(" FILE", "")))
    )
}

/// What is learned from; two at once are refused.
fn source_of(fit: &Fit) -> Result<Source> {
    let constraints = [
        ("--pairs FILE", matches!(fit.target.pairs, PairsArg::File(_))),
        ("--triplets", fit.target.triplets.is_some()),
        ("--quadruplets", fit.target.quadruplets.is_some()),
        ("--chunks", fit.target.chunks.is_some()),
    ];
    let constraints: Vec<&str> = constraints.iter().filter(|one| one.1).map(|one| one.0).collect();
    if let [one, other, ..] = constraints[..] {
        bail!("{one} and {other} cannot be combined\nhint: leave one of them out");
    }
    if let ([option @ ("--triplets" | "--quadruplets" | "--chunks")], true) =
        (&constraints[..], fit.target.second.is_some())
    {
        bail!("--second and {option} cannot be combined\nhint: --second goes with --pairs FILE");
    }
    let asked = [
        ("--pairs FILE", S::Pairs, fit.target.has_pairs()),
        ("--moments", S::Moments, fit.moments.is_some()),
        ("--stream", S::Stream, fit.stream),
        ("--multilabel", S::Multilabel, fit.target.multilabel.is_some()),
        ("--local", S::Local, fit.extensions.local.is_some()),
        ("--kernel", S::Kernel, fit.kernel.kernel.is_some()),
    ];
    let asked: Vec<(&str, Source)> =
        asked.into_iter().filter(|one| one.2).map(|(option, source, _)| (option, source)).collect();
    match asked[..] {
        [] => Ok(S::Labels),
        // Pairs, sums and streams say themselves what does not go with them.
        [(_, source @ (S::Pairs | S::Moments | S::Stream)), ..] | [(_, source)] => Ok(source),
        [(one, _), (other, _), ..] => {
            bail!("{one} and {other} cannot be combined\nhint: leave one of them out")
        }
    }
}

/// Groups are of use where something is chosen by held-out rows, or, to the recipe, where pairs are summed.
fn check_groups(method: Method, learn: &LearnArgs, steering: &MethodArgs) -> Result<()> {
    match method {
        M::Gmml if learn.t != TChoice::CrossValidated => {
            bail!("--groups has no effect where t is given\nhint: leave out --t, or --groups")
        }
        M::Itml if !steering.sets("gamma", &json!("auto")) => {
            bail!("--groups has no effect where gamma is given\nhint: --set gamma=auto")
        }
        _ => Ok(()),
    }
}

/// The parameters that a kernel does not have.
fn check_kernel(fit: &Fit, given: &Given) -> Result<()> {
    use KernelName as K;
    let Some(kernel) = fit.kernel.kernel else { return Ok(()) };
    let wrong = |id: &str, kernels: &[K]| given.has(id) && !kernels.contains(&kernel);
    for (id, kernels, names) in [
        ("gamma", &[K::Rbf, K::Polynomial][..], "rbf or polynomial"),
        ("degree", &[K::Polynomial], "polynomial"),
        ("coef0", &[K::Polynomial], "polynomial"),
        ("landmarks", &[K::Linear, K::Rbf, K::Polynomial], "linear, rbf or polynomial"),
        ("standardize", &[K::Linear, K::Rbf, K::Polynomial], "linear, rbf or polynomial"),
    ] {
        if wrong(id, kernels) {
            bail!("--{id} goes with --kernel {names}\nhint: leave --{id} out");
        }
    }
    Ok(())
}

/// What weights of rows do not go with.
fn check_weights(fit: &Fit) -> Result<()> {
    if fit.target.weights.is_none() {
        return Ok(());
    }
    let others = [
        ("--calibrate", fit.calibrate.is_some()),
        ("--standardize", fit.learn.standardize),
        ("--pairs sampled", fit.target.pairs == PairsArg::Sampled),
    ];
    match others.iter().find(|other| other.1) {
        Some((option, _)) => {
            bail!("--weights and {option} cannot be combined\nhint: leave one of them out")
        }
        None => Ok(()),
    }
}

/// Options about rows where there are none, or none to keep.
fn check_rows(fit: &Fit, given: &Given, source: Source) -> Result<()> {
    if source == S::Local && fit.keep_rows == KeepRows::Never {
        bail!("--local needs the training rows in the model\nhint: leave --keep-rows never out");
    }
    if source == S::Pairs && given.has("keep_rows") && fit.target.label.is_none() {
        bail!("--keep-rows has no effect without labels\nhint: rows vote by their labels: --label COLUMN");
    }
    if fit.data.is_some() {
        return Ok(());
    }
    let of_rows =
        ["label", "keep_rows", "ignore", "missing", "header", "delimiter", "format", "skip_bad_rows"];
    match of_rows.iter().find(|id| given.has(id)) {
        Some(id) => bail!(
            "--{} has no effect on --moments without rows\nhint: leave it out, or name a sample of the rows: mahala fit \
             sample.csv --label COLUMN --moments FILE",
            id.replace('_', "-")
        ),
        None => Ok(()),
    }
}

fn check_evaluate(evaluate: &Evaluate, given: &Given) -> Result<()> {
    let keys = keys(given, &evaluate.learn, &evaluate.pairs);
    if matches!(evaluate.pairs, PairsArg::File(_)) {
        bail!("--pairs must be all or sampled here: held-out rows need labels");
    }
    // Groups are kept whole by the split into rows learned on and rows tested, whatever the method.
    for key in keys.iter().filter(|key| **key != "groups") {
        check_methods(key, &evaluate.method)?;
    }
    check_choice(&keys, &evaluate.learn, Chosen { folds: false, rows: false }, &evaluate.method)?;
    check_steering(&evaluate.method, &evaluate.steering, &evaluate.learn)
}

fn check_tune(tune: &Tune, given: &Given) -> Result<()> {
    if matches!(tune.pairs, PairsArg::File(_)) {
        bail!("--pairs must be all or sampled here: the curve needs labels");
    }
    if given.has("t") {
        bail!("--t has no effect on tune, which tries every t\nhint: leave it out, or --steps N");
    }
    match tune.learn.rank {
        Some(RankArg::Chosen) => bail!("--rank auto has no effect on tune\nhint: mahala fit --rank auto"),
        Some(RankArg::Given(_)) => bail!(
            "--rank has no effect on tune: t is chosen with all coordinates, before some are left out\nhint: leave it out"
        ),
        None => Ok(()),
    }
}

fn check_export(export: &Export, given: &Given) -> Result<()> {
    let form = form_of(export)?;
    if given.has("what") && !matches!(form, Form::Npy | Form::Csv) {
        let has = if form == Form::Json { "JSON holds both matrices" } else { "ONNX holds the map of rows" };
        bail!("--what has no effect: {has}\nhint: leave it out, or --format npy or csv");
    }
    if export.f32 && form != Form::Onnx {
        bail!("--f32 is for ONNX alone\nhint: leave it out, or --format onnx");
    }
    Ok(())
}
