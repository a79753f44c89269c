//! Parameters that a model records, as the options that ask for them: `--params FILE`.
//!
//! They are typed for the user before the line is understood, so that every check sees them; what the user types himself
//! stands.

use crate::commands::load_model;
use crate::compat::Given;
use crate::options::Command;
use crate::options::method::{Method, MethodArgs};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum as _;
use mahala::metric::Calibration;
use mahala::{Gmml, Model};
use mahala_baselines::named;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::Path;

/// What a file records.
struct Recorded {
    params: Map<String, Value>,
    /// The model, if it is one.
    model: Option<Model>,
}

/// The line with the options that a file of parameters stands for; none if no file is named.
pub(crate) fn expanded(
    words: &[OsString],
    command: &Command,
    given: &Given,
) -> Result<Option<Vec<OsString>>> {
    let (path, steering, has_pairs, evaluates) = match command {
        Command::Fit(fit) => (&fit.params, &fit.steering, fit.target.has_pairs(), false),
        Command::Evaluate(evaluate) if evaluate.model().is_none() => {
            (&evaluate.params, &evaluate.steering, evaluate.target.has_pairs(), true)
        }
        _ => return Ok(None),
    };
    let Some(path) = path else { return Ok(None) };
    let recorded = read(path)?;
    let method = method_of(&recorded, path)?;
    if recorded.params.get("pairs") == Some(&json!("given")) && !has_pairs {
        bail!(
            "{}: these parameters are of a model learned from pairs or tuples\nhint: name them: --pairs FILE, --triplets \
             FILE, --quadruplets FILE or --chunks COLUMN",
            path.display()
        );
    }
    let mut asked = Asked { given, steering, words: Vec::new() };
    if given.has("method") {
        let typed = match command {
            Command::Fit(fit) => fit.method.into_iter().collect(),
            Command::Evaluate(evaluate) => evaluate.method.clone(),
            _ => Vec::new(),
        };
        if !typed.contains(&method) {
            bail!(
                "--method and --params {} say different things: it has parameters of {}\nhint: leave one of them out",
                path.display(),
                method.name()
            );
        }
    } else {
        let compared = if evaluates && method != Method::Euclidean { "euclidean," } else { "" };
        asked.option("method", "--method", Some(&format!("{compared}{}", method.name())));
    }
    if method.is_regression() || recorded.params.get("regression") == Some(&json!(true)) {
        asked.option("regression", "--regression", None);
    }
    match method {
        Method::Gmml => gmml(&mut asked, &recorded, path, evaluates)?,
        _ => of_method(&mut asked, &recorded, method, path)?,
    }
    let mut all = words.to_vec();
    let end = all.iter().position(|word| word == "--").unwrap_or(all.len());
    all.splice(end..end, asked.words.into_iter().map(OsString::from));
    Ok(Some(all))
}

/// Reads the parameters from a model, or from JSON: the object of `params`, or one that has it, such as `inspect --json`.
fn read(path: &Path) -> Result<Recorded> {
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("json")) {
        let model = load_model(path)?;
        let params = model.params.as_object().cloned().unwrap_or_default();
        return Ok(Recorded { params, model: Some(model) });
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let value: Value = serde_json::from_str(&text).with_context(|| {
        format!("{}: this is not JSON\nhint: mahala inspect MODEL --json", path.display())
    })?;
    match (&value["params"], &value) {
        (Value::Object(params), _) | (_, Value::Object(params)) => {
            Ok(Recorded { params: params.clone(), model: None })
        }
        _ => bail!("{}: there is no object of parameters\nhint: mahala inspect MODEL --json", path.display()),
    }
}

fn method_of(recorded: &Recorded, path: &Path) -> Result<Method> {
    let name = recorded.params.get("method").and_then(Value::as_str).unwrap_or_default();
    let known = Method::value_variants().iter().copied().find(|method| method.name() == name);
    known.with_context(|| {
        format!(
            "{}: the parameter 'method' is '{name}', which fit does not have\nhint: mahala methods lists those it has",
            path.display()
        )
    })
}

/// Options in the making.
struct Asked<'a> {
    given: &'a Given,
    steering: &'a MethodArgs,
    words: Vec<String>,
}

impl Asked<'_> {
    /// Types an option, unless the user did.
    fn option(&mut self, id: &str, option: &str, value: Option<&str>) {
        if !self.given.has(id) {
            // With =, so that a value that begins with a hyphen is one.
            self.words.push(value.map_or_else(|| option.to_owned(), |value| format!("{option}={value}")));
        }
    }

    /// Types `--set KEY=VALUE`, unless the user did.
    fn set(&mut self, key: &str, value: &Value) {
        if !self.steering.set.iter().any(|setting| setting.key == key) {
            self.words.push(format!("--set={key}={value}"));
        }
    }
}

/// A value as it is typed.
fn typed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What of a model is no parameter that could be asked for: what was found, and what is said by naming the data.
const FOUND: [&str; 6] = ["method", "pairs", "t_used", "share_used", "splits", "regression"];

/// Options of GMML; what is as it would be anyway is left out.
fn gmml(asked: &mut Asked<'_>, recorded: &Recorded, path: &Path, evaluates: bool) -> Result<()> {
    let params = &recorded.params;
    let plain = Gmml::default().to_json();
    let of_their_own =
        ["lambda", "shrinkage", "shrinkage_target", "prior", "kernel", "landmarks", "local", "multilabel"];
    let wrong = params.keys().find(|key| {
        plain.get(key.as_str()).is_none()
            && !FOUND.contains(&key.as_str())
            && !of_their_own.contains(&key.as_str())
    });
    if let Some(key) = wrong {
        bail!("{}: gmml has no parameter '{key}'\nhint: mahala methods gmml lists them", path.display());
    }
    let get = |key: &str| params.get(key).filter(|value| !value.is_null());
    for (id, option) in [
        ("t", "--t"),
        ("rank", "--rank"),
        ("principal", "--principal"),
        ("k", "--k"),
        ("folds", "--folds"),
        ("selection_rows", "--selection-rows"),
        ("seed", "--seed"),
        ("balance", "--balance"),
    ] {
        if let Some(value) = get(id).filter(|value| **value != plain[id]) {
            asked.option(id, option, Some(&typed(value)));
        }
    }
    if get("standardize") == Some(&json!(true)) {
        asked.option("standardize", "--standardize", None);
    }
    if get("pairs") == Some(&json!("sampled")) {
        asked.option("pairs", "--pairs", Some("sampled"));
    }
    if !["lambda", "shrinkage"].iter().any(|id| asked.given.has(id)) {
        regularised(asked, params, path)?;
    }
    if let Some(kernel) = get("kernel") {
        for (key, option) in
            [("kernel", "--kernel"), ("gamma", "--gamma"), ("degree", "--degree"), ("coef0", "--coef0")]
        {
            if let Some(value) = kernel.get(key) {
                asked.option(key, option, Some(&typed(value)));
            }
        }
        if let Some(landmarks) = get("landmarks") {
            asked.option("landmarks", "--landmarks", Some(&typed(landmarks)));
        }
    }
    if let Some(separator) = get("multilabel") {
        asked.option("multilabel", "--multilabel", Some(&typed(separator)));
    }
    if let Some(by) = get("local") {
        asked.option("local", "--local", Some(&typed(by)));
        let curve = recorded.model.as_ref().map(|model| &model.diagnostics["share_curve"]);
        let chosen = curve.and_then(Value::as_array).is_some_and(|curve| !curve.is_empty());
        if let Some(share) = get("share_used").filter(|_| !chosen) {
            asked.option("share", "--share", Some(&typed(share)));
        }
    }
    match recorded.model.as_ref().and_then(|model| model.calibration.as_ref()).filter(|_| !evaluates) {
        Some(Calibration::Platt { .. }) => asked.option("calibrate", "--calibrate", Some("platt")),
        Some(Calibration::Isotonic { .. }) => asked.option("calibrate", "--calibrate", Some("isotonic")),
        None => {}
    }
    Ok(())
}

fn regularised(asked: &mut Asked<'_>, params: &Map<String, Value>, path: &Path) -> Result<()> {
    let number = |key: &str| params.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
    if number("lambda") > 0.0 {
        asked.option("lambda", "--lambda", Some(&params["lambda"].to_string()));
        match text("prior") {
            "matrix" if !asked.given.has("prior") => bail!(
                "{}: the prior was a matrix from a file, which is not recorded\nhint: name it: --prior FILE",
                path.display()
            ),
            "matrix" | "identity" | "" => {}
            prior => asked.option("prior", "--prior", Some(prior)),
        }
    }
    if text("shrinkage") == "analytic" {
        asked.option("shrinkage", "--shrinkage", Some("analytic"));
    } else if number("shrinkage") > 0.0 {
        asked.option("shrinkage", "--shrinkage", Some(&params["shrinkage"].to_string()));
        if !matches!(text("shrinkage_target"), "diagonal" | "") {
            asked.option("shrink_towards", "--shrink-towards", Some(text("shrinkage_target")));
        }
    }
    Ok(())
}

/// Options of another method: its parameters by `--set`, but for those that all methods share.
fn of_method(asked: &mut Asked<'_>, recorded: &Recorded, method: Method, path: &Path) -> Result<()> {
    let plain = named(method.name(), json!({}))?.parameters();
    for (key, value) in &recorded.params {
        match key.as_str() {
            // A parameter of the method's own, which is set unless told otherwise.
            "standardize" if plain.get(key) == Some(&json!(true)) => {
                if *value != json!(true) {
                    asked.set(key, value);
                }
            }
            "standardize" if *value == json!(true) => asked.option(key, "--standardize", None),
            "standardize" => {}
            "seed" if *value == json!(0) => {}
            "seed" => asked.option(key, "--seed", Some(&value.to_string())),
            "k" if *value == json!(5) => {}
            "k" => asked.option(key, "--k", Some(&value.to_string())),
            key if FOUND.contains(&key) => {}
            _ if plain.get(key).is_none() => bail!(
                "{}: {} has no parameter '{key}'\nhint: mahala methods {} lists them",
                path.display(),
                method.name(),
                method.name()
            ),
            // An option of the same parameter, where there is one, is what the user typed.
            "rank" if asked.given.has("rank") => {}
            "criterion" | "similarity" | "folds_over" | "selection_rows" if asked.given.has(key) => {}
            "max_iterations" | "max_projections" | "passes" if asked.given.has("max_iterations") => {}
            _ if *value == plain[key] => {}
            _ => asked.set(key, value),
        }
    }
    Ok(())
}
