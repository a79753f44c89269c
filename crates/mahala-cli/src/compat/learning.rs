//! What `fit` and `evaluate` learn: one check for both.

use crate::compat::rules::{Source, check_methods, check_source, rule_of};
use crate::compat::settings::check_steering;
use crate::compat::{Given, keys};
use crate::options::evaluate::Evaluate;
use crate::options::extensions::ExtensionArgs;
use crate::options::fit::{Fit, KeepRows};
use crate::options::kernel::{KernelArgs, KernelName};
use crate::options::learn::LearnArgs;
use crate::options::method::{Method, MethodArgs};
use crate::options::target::{PairsArg, TargetArgs};
use Method as M;
use Source as S;
use anyhow::{Result, bail};
use mahala::gmml::TChoice;
use mahala::local::Share;
use serde_json::json;

/// The options that `fit` and `evaluate` share.
struct Asked<'a> {
    methods: Vec<Method>,
    target: &'a TargetArgs,
    learn: &'a LearnArgs,
    steering: &'a MethodArgs,
    extensions: &'a ExtensionArgs,
    kernel: &'a KernelArgs,
    stream: bool,
    moments: bool,
    calibrate: bool,
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

pub(super) fn check_fit(fit: &Fit, given: &Given) -> Result<()> {
    let asked = Asked {
        methods: vec![fit.method()],
        target: &fit.target,
        learn: &fit.learn,
        steering: &fit.steering,
        extensions: &fit.extensions,
        kernel: &fit.kernel,
        stream: fit.stream,
        moments: fit.moments.is_some(),
        calibrate: fit.calibrate.is_some(),
    };
    let source = source_of(&asked)?;
    check(&asked, source, given, &[])?;
    if fit.target.groups.is_some() {
        if fit.calibrate.is_some() || fit.target.weights.is_some() {
            let option = if fit.target.weights.is_some() { "--weights" } else { "--calibrate" };
            bail!("--groups and {option} cannot be combined\nhint: leave one of them out");
        }
        check_groups(fit.method(), &fit.learn, &fit.steering)?;
    }
    check_rows(fit, given, source)
}

/// Options that say how splits are drawn, or how a method learns: a model that is judged has neither.
const OF_A_MODEL: &[&str] = &[
    "files",
    "json",
    "label",
    "labels",
    "by_position",
    "array",
    "zero_based",
    "groups",
    "pairs",
    "triplets",
    "quadruplets",
    "second",
    "k",
    "ignore",
    "missing",
    "header",
    "delimiter",
    "format",
    "skip_bad_rows",
    "threads",
    "quiet",
    "verbose",
    "color",
];

pub(super) fn check_evaluate(evaluate: &Evaluate, given: &Given) -> Result<()> {
    if evaluate.model().is_some() {
        return check_judged(evaluate, given);
    }
    let asked = Asked {
        methods: evaluate.methods(),
        target: &evaluate.target,
        learn: &evaluate.learn,
        steering: &evaluate.steering,
        extensions: &evaluate.extensions,
        kernel: &evaluate.kernel,
        stream: false,
        moments: false,
        calibrate: false,
    };
    if evaluate.by_position {
        bail!(
            "--by-position goes with a model that is judged\nhint: mahala evaluate MODEL DATA --by-position"
        );
    }
    let source = source_of(&asked)?;
    if evaluate.target.chunks.is_some() && !evaluate.target.labels_in().are_given() {
        bail!("--chunks is tested by labels\nhint: --label COLUMN");
    }
    if evaluate.target.chunks.is_some() && evaluate.target.groups.is_some() {
        bail!("--groups and --chunks cannot be combined\nhint: leave one of them out");
    }
    if let Some(option) = evaluate.target.constraint() {
        check_every(&asked, option)?;
    }
    if given.has("k") && (source == S::Multilabel || (source == S::Pairs && evaluate.target.chunks.is_none()))
    {
        bail!(
            "-k has no effect: held-out pairs and tuples are measured, and nothing votes\nhint: leave it out"
        );
    }
    // Groups are kept whole by the split into what is learned on and what is tested, whatever the method.
    check(&asked, source, given, &["groups"])
}

/// What goes with a model that is judged.
fn check_judged(evaluate: &Evaluate, given: &Given) -> Result<()> {
    if let Some(id) = given.ids().find(|id| !OF_A_MODEL.contains(&id.as_str())) {
        bail!(
            "--{} has no effect on a model that is judged\nhint: leave it out, or name the rows alone, without a model",
            id.replace('_', "-")
        );
    }
    let target = &evaluate.target;
    if let [one, other, ..] = target.constraints()[..] {
        bail!("{one} and {other} cannot be combined\nhint: leave one of them out");
    }
    let from_file = matches!(target.pairs, PairsArg::File(_));
    let wrong = [
        ("--pairs all or sampled", given.has("pairs") && !from_file),
        ("--second", given.has("second") && !from_file),
        ("--groups", given.has("groups") && target.has_pairs()),
        ("--labels", given.has("labels") && target.has_pairs()),
        ("-k", given.has("k") && target.has_pairs()),
    ];
    match wrong.iter().find(|one| one.1) {
        Some((option, _)) => {
            bail!(
                "{option} has no effect on how the model is judged here\nhint: leave it out, or --pairs FILE"
            )
        }
        None => Ok(()),
    }
}

/// Refuses a method that does not learn from the pairs or tuples given; the plain distance needs none.
fn check_every(asked: &Asked<'_>, option: &str) -> Result<()> {
    let key = match option {
        "--pairs FILE" => "pairs=file",
        other => other.trim_start_matches('-'),
    };
    let learns = |method: &&Method| !matches!(method, M::Euclidean | M::Covariance);
    asked.methods.iter().filter(learns).try_for_each(|&method| check_methods(key, &[method]))
}

/// Everything but groups and rows.
fn check(asked: &Asked<'_>, source: Source, given: &Given, but: &[&str]) -> Result<()> {
    let keys: Vec<&str> = keys(given, asked.learn, &asked.target.pairs);
    let keys: Vec<&str> = keys.into_iter().filter(|key| !but.contains(key)).collect();
    for key in &keys {
        check_methods(key, &asked.methods)?;
    }
    for key in &keys {
        check_source(key, source).map_err(|error| of_the_option_typed(asked.target, &error))?;
    }
    let open_share = source == S::Local && asked.extensions.share == Share::CrossValidated;
    let folds = open_share || asked.calibrate;
    let rows = open_share || source == S::Stream;
    check_choice(&keys, asked.learn, Chosen { folds, rows }, &asked.methods)?;
    check_steering(&asked.methods, asked.steering, asked.learn)?;
    check_kernel(asked.kernel, given)?;
    check_regression(asked)?;
    check_weights(asked)
}

/// Refuses a regression by a method of classes, and classes for a method of regression.
fn check_regression(asked: &Asked<'_>) -> Result<()> {
    let wrong = |method: &&Method| {
        if asked.target.regression {
            check_methods("regression", &[**method]).is_err()
        } else {
            method.is_regression()
        }
    };
    match (asked.methods.iter().find(wrong), asked.target.regression) {
        (None, _) => Ok(()),
        (Some(method), true) => check_methods("regression", &[*method]),
        (Some(method), false) => bail!(
            "{} predicts numbers, and the labels are taken for classes\nhint: --regression",
            method.name()
        ),
    }
}

/// A refusal with the option that was typed for the constraints instead of --pairs FILE.
fn of_the_option_typed(target: &TargetArgs, error: &anyhow::Error) -> anyhow::Error {
    let option = target.constraint().unwrap_or("--pairs FILE");
    let text = error.to_string().replace("--pairs FILE", option);
    anyhow::anyhow!(
        "{}",
        text.replace("without --pairs", &format!("without {}", option.replace(" FILE", "")))
    )
}

/// What is learned from; two at once are refused.
fn source_of(asked: &Asked<'_>) -> Result<Source> {
    let Asked { target, extensions, kernel, .. } = asked;
    let constraints = target.constraints();
    if let [one, other, ..] = constraints[..] {
        bail!("{one} and {other} cannot be combined\nhint: leave one of them out");
    }
    if let ([option @ ("--triplets" | "--quadruplets" | "--chunks")], true) =
        (&constraints[..], target.second.is_some())
    {
        bail!("--second and {option} cannot be combined\nhint: --second goes with --pairs FILE");
    }
    let sources = [
        ("--pairs FILE", S::Pairs, target.has_pairs()),
        ("--moments", S::Moments, asked.moments),
        ("--regression", S::Regression, target.regression),
        ("--stream", S::Stream, asked.stream),
        ("--multilabel", S::Multilabel, target.multilabel.is_some()),
        ("--local", S::Local, extensions.local.is_some()),
        ("--kernel", S::Kernel, kernel.kernel.is_some()),
    ];
    let asked: Vec<(&str, Source)> =
        sources.into_iter().filter(|one| one.2).map(|(option, source, _)| (option, source)).collect();
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
fn check_kernel(kernel: &KernelArgs, given: &Given) -> Result<()> {
    use KernelName as K;
    let Some(kernel) = kernel.kernel else { return Ok(()) };
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
fn check_weights(asked: &Asked<'_>) -> Result<()> {
    if asked.target.weights.is_none() {
        return Ok(());
    }
    let others = [
        ("--calibrate", asked.calibrate),
        ("--standardize", asked.learn.standardize),
        ("--pairs sampled", asked.target.pairs == PairsArg::Sampled),
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
    if source == S::Pairs && given.has("keep_rows") && !fit.target.labels_in().are_given() {
        bail!("--keep-rows has no effect without labels\nhint: rows vote by their labels: --label COLUMN");
    }
    if fit.data.is_some() {
        return Ok(());
    }
    let of_rows = [
        "label",
        "labels",
        "keep_rows",
        "ignore",
        "missing",
        "header",
        "delimiter",
        "format",
        "array",
        "zero_based",
        "skip_bad_rows",
    ];
    match of_rows.iter().find(|id| given.has(id)) {
        Some(id) => bail!(
            "--{} has no effect on --moments without rows\nhint: leave it out, or name a sample of the rows: mahala fit \
             sample.csv --label COLUMN --moments FILE",
            id.replace('_', "-")
        ),
        None => Ok(()),
    }
}
