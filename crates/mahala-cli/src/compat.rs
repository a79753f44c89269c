//! Which option goes with which method and source: one table, asked by every command before a file is read.
//!
//! An option that was typed is either used or refused with what to do instead. Defaults are never refused: only what
//! stands on the command line is looked up.

use crate::commands::evaluate::Evaluate;
use crate::commands::export::{Export, Form, form_of};
use crate::commands::fit::{Fit, PairsArg};
use crate::commands::tune::Tune;
use crate::options::kernel::KernelName;
use crate::options::method::{Method, MethodArgs, check_steering};
use crate::options::{Command, LearnArgs, RankArg};
use anyhow::{Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;
use mahala::{Components, Share, TChoice};
use serde_json::json;
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

/// What a metric is learned from, and in what form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Labelled rows.
    Labels,
    /// A file of pairs.
    Pairs,
    /// Rows with several labels each.
    Multilabel,
    /// Labelled rows, with a metric for each class or cluster.
    Local,
    /// Labelled rows, in the feature space of a kernel.
    Kernel,
    /// Labelled rows, read in one pass.
    Stream,
    /// Sums of labelled rows.
    Moments,
}

/// Where an option is used: by these methods, from these sources.
struct Rule {
    /// clap's name, with the kind of value where that matters.
    key: &'static str,
    option: &'static str,
    methods: &'static [Method],
    sources: &'static [Source],
}

use Method as M;
use Source as S;

const GMML: &[Method] = &[M::Gmml];
const AUTOMATIC: &[Method] = &[M::Auto, M::AutoKernel];
const EVERY_METHOD: &[Method] = &[
    M::Euclidean,
    M::Covariance,
    M::Gmml,
    M::Auto,
    M::AutoKernel,
    M::Recipe,
    M::Itml,
    M::Lmnn,
    M::Nca,
    M::Mcml,
    M::Mmc,
    M::Flatgeo,
];
/// Methods that learn from all pairs of labelled rows.
const ALL_PAIRS: &[Method] = &[M::Gmml, M::Auto, M::AutoKernel, M::Recipe];
const EVERY_SOURCE: &[Source] =
    &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Kernel, S::Stream, S::Moments];
const ONE_METRIC: &[Source] = &[S::Labels, S::Pairs, S::Multilabel, S::Kernel, S::Stream, S::Moments];
const NO_KERNEL: &[Source] = &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Stream, S::Moments];
/// Where every pair of rows is looked at by its classes.
const CLASSES: &[Source] = &[S::Labels, S::Local, S::Kernel, S::Stream, S::Moments];
const ROWS_AND_CLASSES: &[Source] = &[S::Labels, S::Local, S::Kernel];
const ROWS: &[Source] = &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Kernel, S::Stream];

const fn rule(
    key: &'static str,
    option: &'static str,
    methods: &'static [Method],
    sources: &'static [Source],
) -> Rule {
    Rule { key, option, methods, sources }
}

const RULES: &[Rule] = &[
    rule("t", "--t", GMML, EVERY_SOURCE),
    rule("lambda", "--lambda", GMML, EVERY_SOURCE),
    rule("shrinkage", "--shrinkage", GMML, EVERY_SOURCE),
    rule("shrink_towards", "--shrink-towards", GMML, EVERY_SOURCE),
    rule("prior", "--prior", GMML, NO_KERNEL),
    rule("standardize", "--standardize", EVERY_METHOD, EVERY_SOURCE),
    rule("rank", "--rank", &[M::Gmml, M::Lmnn, M::Nca, M::Flatgeo], ONE_METRIC),
    rule("rank=share", "--rank with a share", GMML, ONE_METRIC),
    rule("rank=auto", "--rank auto", AUTOMATIC, &[S::Labels]),
    rule("principal", "--principal", GMML, &[S::Labels]),
    rule("k", "-k", EVERY_METHOD, EVERY_SOURCE),
    rule("cv_folds", "--cv-folds", GMML, EVERY_SOURCE),
    rule("selection_rows", "--selection-rows", &[M::Gmml, M::Auto, M::AutoKernel], EVERY_SOURCE),
    rule("balance", "--balance", GMML, CLASSES),
    rule("seed", "--seed", EVERY_METHOD, EVERY_SOURCE),
    rule("groups", "--groups", &[M::Gmml, M::Auto, M::AutoKernel, M::Recipe, M::Itml], &[S::Labels]),
    rule("pairs=all", "--pairs all", ALL_PAIRS, CLASSES),
    rule("pairs=sampled", "--pairs sampled", GMML, ROWS_AND_CLASSES),
    rule("pairs=file", "--pairs FILE", &[M::Gmml, M::Itml, M::Flatgeo, M::Mmc], &[S::Pairs]),
    rule("second", "--second", EVERY_METHOD, &[S::Pairs]),
    rule("weights", "--weights", GMML, &[S::Labels]),
    rule("calibrate", "--calibrate", GMML, &[S::Labels, S::Pairs, S::Multilabel]),
    rule("multilabel", "--multilabel", GMML, &[S::Multilabel]),
    rule("pair_budget", "--pair-budget", GMML, &[S::Multilabel]),
    rule("local", "--local", GMML, &[S::Local]),
    rule("share", "--share", GMML, &[S::Local]),
    rule("kernel", "--kernel", GMML, &[S::Kernel]),
    rule("gamma", "--gamma", GMML, &[S::Kernel]),
    rule("degree", "--degree", GMML, &[S::Kernel]),
    rule("coef0", "--coef0", GMML, &[S::Kernel]),
    rule("landmarks", "--landmarks", GMML, &[S::Kernel]),
    rule("stream", "--stream", GMML, &[S::Stream]),
    rule("moments", "--moments", GMML, &[S::Moments]),
    rule("keep_rows", "--keep-rows", EVERY_METHOD, EVERY_SOURCE),
    rule("set", "--set", EVERY_METHOD, ROWS),
    rule("max_iterations", "--max-iterations", EVERY_METHOD, ROWS),
    rule("time_limit", "--time-limit", EVERY_METHOD, ROWS),
];

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

fn rule_of(key: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.key == key)
}

/// Refuses an option that none of the methods has.
fn check_methods(key: &str, methods: &[Method]) -> Result<()> {
    let Some(rule) = rule_of(key) else { return Ok(()) };
    if methods.iter().any(|method| rule.methods.contains(method)) {
        return Ok(());
    }
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let (option, name) = (rule.option, names.join(", "));
    if key == "pairs=file" {
        bail!(
            "{name} does not learn from pairs\nhint: --method gmml, itml, flatgeo or mmc; or --label COLUMN without \
             --pairs"
        );
    }
    let takers: Vec<&str> = rule.methods.iter().map(|method| method.name()).collect();
    let mut hint = match key {
        "rank" if methods.iter().any(|method| method.chooses()) => {
            "--rank auto lets it choose how many; a number goes with --method gmml, lmnn, nca or flatgeo"
                .to_owned()
        }
        "pairs=all" => format!("leave it out; {name} draws pairs of its own, or needs none"),
        _ => match takers.split_last() {
            Some((last, [])) => format!("it goes with --method {last}"),
            Some((last, rest)) => format!("it goes with --method {} or {last}", rest.join(", ")),
            None => "leave it out".to_owned(),
        },
    };
    if let [method] = methods
        && method.has_parameters()
        && !method.chooses()
    {
        hint.push_str(&format!("; parameters of {name} are set with --set KEY=VALUE"));
    }
    bail!("{option} has no effect on {name}\nhint: {hint}");
}

/// Refuses an option that is not used with what is learned from.
fn check_source(key: &str, source: Source) -> Result<()> {
    let Some(rule) = rule_of(key).filter(|rule| !rule.sources.contains(&source)) else { return Ok(()) };
    let option = rule.option;
    match (source, key) {
        (S::Stream, _) => bail!("{option} needs all rows at once\nhint: leave {option} or --stream out"),
        (S::Moments, _) => {
            bail!("{option} needs all rows, and --moments has their sums alone\nhint: leave {option} out")
        }
        (S::Pairs, "weights") => bail!(
            "--weights goes with --label, not with --pairs FILE\nhint: the weights of pairs are in their file, in a \
             column 'weight'"
        ),
        (S::Pairs, "multilabel" | "pair_budget") => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: graded pairs have a column 'similarity' in \
             their file"
        ),
        (S::Pairs, "local" | "share") => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: with --label, each class or cluster can have a \
             metric"
        ),
        (S::Pairs, _) => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: leave {option} out, or learn from labels \
             without --pairs"
        ),
        (_, "second") => bail!("--second goes with --pairs FILE"),
        (S::Labels, _) => bail!("{option} does not go with labelled rows\nhint: leave {option} out"),
        (S::Multilabel, _) => {
            bail!("{option} and --multilabel cannot be combined\nhint: leave one of them out")
        }
        (S::Local, "rank") => bail!(
            "--rank and --local cannot be combined: local metrics need all coordinates\nhint: leave one of them out"
        ),
        (S::Local, _) => bail!("{option} and --local cannot be combined\nhint: leave one of them out"),
        (S::Kernel, "principal") => {
            bail!(
                "--principal and --kernel cannot be combined\nhint: --landmarks limits the work of a kernel"
            )
        }
        (S::Kernel, "prior") => {
            bail!("--prior and --kernel cannot be combined: the prior of a kernel is the identity")
        }
        (S::Kernel, _) => bail!("{option} and --kernel cannot be combined\nhint: leave one of them out"),
    }
}

/// Refuses folds and samples where nothing is chosen on them.
fn check_choice(keys: &[&str], learn: &LearnArgs, chosen: Chosen, methods: &[Method]) -> Result<()> {
    if learn.t == TChoice::CrossValidated || methods.iter().any(|method| method.chooses()) {
        return Ok(());
    }
    for (key, used) in [("cv_folds", chosen.folds), ("selection_rows", chosen.rows)] {
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
    let keys = keys(given, &fit.learn, &fit.pairs);
    for key in &keys {
        check_methods(key, &[method])?;
    }
    for key in &keys {
        check_source(key, source)?;
    }
    let open_share = source == S::Local && fit.beyond.share == Share::CrossValidated;
    let folds = open_share || fit.beyond.calibrate.is_some();
    let rows = open_share || source == S::Stream;
    check_choice(&keys, &fit.learn, Chosen { folds, rows }, &[method])?;
    check_steering(&[method], &fit.steering, &fit.learn)?;
    check_kernel(fit, given)?;
    check_weights(fit)?;
    if fit.groups.is_some() {
        if fit.beyond.calibrate.is_some() || fit.beyond.weights.is_some() {
            let option = if fit.beyond.weights.is_some() { "--weights" } else { "--calibrate" };
            bail!("--groups and {option} cannot be combined\nhint: leave one of them out");
        }
        check_groups(method, &fit.learn, &fit.steering)?;
    }
    check_rows(fit, given, source)
}

/// What is learned from; two at once are refused.
fn source_of(fit: &Fit) -> Result<Source> {
    let asked = [
        ("--pairs FILE", S::Pairs, matches!(fit.pairs, PairsArg::File(_))),
        ("--moments", S::Moments, fit.moments.is_some()),
        ("--stream", S::Stream, fit.stream),
        ("--multilabel", S::Multilabel, fit.beyond.multilabel.is_some()),
        ("--local", S::Local, fit.beyond.local.is_some()),
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
    if fit.beyond.weights.is_none() {
        return Ok(());
    }
    let others = [
        ("--calibrate", fit.beyond.calibrate.is_some()),
        ("--standardize", fit.learn.standardize),
        ("--pairs sampled", fit.pairs == PairsArg::Sampled),
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
    if source == S::Local && fit.keep_rows == Some(false) {
        bail!("--local needs the training rows in the model\nhint: leave --keep-rows no out");
    }
    if source == S::Pairs && fit.keep_rows.is_some() && fit.label.is_none() {
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
        check_methods(key, &evaluate.methods)
            .map_err(|error| anyhow::anyhow!("{}", error.to_string().replace("--method ", "--methods ")))?;
    }
    check_choice(&keys, &evaluate.learn, Chosen { folds: false, rows: false }, &evaluate.methods)?;
    check_steering(&evaluate.methods, &evaluate.method, &evaluate.learn)
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
        bail!("--what has no effect: {has}\nhint: leave it out, or --form npy or csv");
    }
    if export.f32 && form != Form::Onnx {
        bail!("--f32 is for ONNX alone\nhint: leave it out, or --form onnx");
    }
    Ok(())
}
