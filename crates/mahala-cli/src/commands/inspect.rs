//! `mahala inspect`: what a model file holds.

use crate::commands::{kept_rows, load_model};
use crate::options::inspect::Inspect;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_result};
use anyhow::Result;
use mahala::kernel::{Kernel, KernelMap};
use mahala::metric::Calibration;
use mahala::{Model, Rows};
use serde_json::{Value, json};

/// Shows the model.
pub(crate) fn run(args: &Inspect) -> Result<()> {
    let model = load_model(&args.model)?;
    let classes = model.references.as_ref().map(|(_, labels)| labels.names().to_vec());
    let rows = kept_rows(&model).map(Rows::len);
    let targets = model.targets.as_ref().and_then(|(_, targets)| range(targets));
    if args.json {
        let json = json!({
            "file": args.model.display().to_string(), "d": model.columns(), "rank": model.metric.rank(),
            "feature_names": model.feature_names, "classes": classes, "kept_rows": rows,
            "regression": model.is_regression(), "targets": targets,
            "calibration": model.calibration.as_ref().map(Calibration::to_json),
            "local_metrics": model.local.as_ref().map(|local| local.maps().len()),
            "kernel": model.kernel.as_ref().map(|map| map.kernel().to_json()),
            "weight_outside": model.weight_outside(),
            "standardized": is_standardized(&model), "threshold": model.threshold,
            "params": model.params, "diagnostics": model.diagnostics,
        });
        return print_json("inspect", json);
    }
    print_result(&to_text(args, &model, classes.as_deref(), rows))
}

fn to_text(args: &Inspect, model: &Model, classes: Option<&[String]>, rows: Option<usize>) -> String {
    let mut lines = vec![("file", args.model.display().to_string()), ("maps", maps(model))];
    lines.extend(if model.diagnostics["outcome"].is_string() { iterated(model) } else { closed_form(model) });
    if let Some(kernel) = &model.kernel {
        lines.insert(2, ("kernel", kernel_of(kernel)));
    }
    if let Some(directions) = model.diagnostics["span"]["directions"].as_u64() {
        let outside = model.diagnostics["span"]["outside"].as_f64().unwrap_or(0.0);
        let weight = model.weight_outside().map_or("0".into(), format::rounded);
        let share = format!("{:.2} % of the rows outside, weight there {weight}", 100.0 * outside);
        lines.push(("learned in", format!("{}, {share}", format::count(directions, "direction"))));
    }
    if let Some(reason) = model.diagnostics["ridge_reason"].as_str() {
        lines.push(("ridge", reason.to_owned()));
    }
    if let Some(lost @ 1..) = model.diagnostics["clamped_eigenvalues"].as_u64() {
        let all = model.diagnostics["log_eigenvalues"].as_array().map_or(0, Vec::len);
        lines.push(("rounding", format!("{lost} of {all} eigenvalues of SD are at or below it")));
    }
    if let Some(classes) = classes {
        let names: Vec<&str> = classes.iter().map(String::as_str).take(12).collect();
        let more = if classes.len() > names.len() { ", …" } else { "" };
        lines.push(("classes", format!("{}: {}{more}", classes.len(), names.join(", "))));
    }
    if model.is_regression() {
        let range = model.targets.as_ref().and_then(|(_, targets)| range(targets));
        let of = |[low, high]: [f64; 2]| {
            format!("numbers from {} to {}", format::rounded(low), format::rounded(high))
        };
        lines.push(("targets", range.map_or("numbers".into(), of)));
    }
    lines.push(("rows kept", rows.map_or("none".into(), |n| format::grouped(n as u64))));
    if let Some(threshold) = model.threshold {
        lines.push(("same if within", format::rounded(threshold)));
    }
    if let Some(calibration) = &model.calibration {
        lines.push(("probabilities", probabilities(calibration)));
    }
    if let Some(local) = &model.local {
        let share = model.params["share_used"].as_f64().unwrap_or(1.0);
        lines.push(("local metrics", format!("{}, share {share}", local.maps().len())));
    }
    if let Some(balance) = model.params["balance"].as_str().filter(|balance| *balance != "none") {
        lines.push(("balance", balance.replace('-', " ")));
    }
    let mut text = String::new();
    lines.iter().for_each(|(key, value)| text.push_str(&format!("{key:>15}  {value}\n")));
    text.push_str(&spectrum(model));
    if model.kernel.is_none() {
        text.push_str(&weights(model));
    }
    text
}

/// The least and the largest of the targets.
fn range(targets: &[f64]) -> Option<[f64; 2]> {
    let least = targets.iter().copied().reduce(f64::min)?;
    Some([least, targets.iter().copied().reduce(f64::max)?])
}

fn is_standardized(model: &Model) -> bool {
    model.metric.scale().is_some() || model.kernel.as_ref().is_some_and(|map| map.scale().is_some())
}

fn kernel_of(map: &KernelMap) -> String {
    let name = match map.kernel() {
        Kernel::Linear => "linear".to_owned(),
        Kernel::Rbf { gamma } => format!("rbf, gamma {gamma}"),
        Kernel::Polynomial { degree, gamma, coef0 } => {
            format!("polynomial, degree {degree}, gamma {gamma}, coef0 {coef0}")
        }
        Kernel::Precomputed => "precomputed".to_owned(),
    };
    let with = map.landmarks().map(|rows| format!(", with {}", format::count(rows.len() as u64, "row")));
    name + &with.unwrap_or_default()
}

/// What there is to say of GMML.
fn closed_form(model: &Model) -> Vec<(&'static str, String)> {
    vec![
        ("t", model.params["t_used"].as_f64().map_or("?".into(), format::exact)),
        ("pairs", pairs(model)),
        ("regularisation", regularisation(&model.params)),
        standardised(model),
        ("condition", conditions(&model.diagnostics)),
    ]
}

/// What there is to say of the other methods.
fn iterated(model: &Model) -> Vec<(&'static str, String)> {
    let mut lines = vec![("method", show(&model.params["method"]))];
    let fields = model.params.as_object().into_iter().flatten();
    let own: Vec<String> = fields
        .filter(|(key, _)| !["method", "standardize", "pairs", "regression"].contains(&&***key))
        .map(|(key, value)| format!("{key} {}", show(value)))
        .collect();
    if !own.is_empty() {
        lines.push(("parameters", own.join(", ")));
    }
    lines.push(standardised(model));
    let iterations = model.diagnostics["iterations"].as_u64().unwrap_or(0);
    if iterations > 0 {
        lines.push(("iterations", format::grouped(iterations)));
    }
    if let Some(objective) = model.diagnostics["objective"].as_f64() {
        lines.push(("objective", format::rounded(objective)));
    }
    let choice = &model.diagnostics["choice"];
    if let Some(gamma) = choice["gamma"].as_f64() {
        lines.push(("gamma chosen", gamma.to_string()));
    }
    for member in choice["recipes"].as_array().into_iter().flatten() {
        lines.push(("recipe", show(&member["recipe"])));
    }
    if let Some(reason) = choice["reason"].as_str() {
        lines.push(("reason", reason.to_owned()));
    }
    lines.push(("outcome", show(&model.diagnostics["outcome"])));
    lines
}

/// Whether columns are divided by their deviations; the recipes of the automatic mode each say so for themselves.
fn standardised(model: &Model) -> (&'static str, String) {
    let recipes: Vec<&Value> =
        model.diagnostics["choice"]["recipes"].as_array().into_iter().flatten().collect();
    let yes = recipes.iter().filter(|recipe| recipe["standardize"] == true).count();
    let text = match (recipes.len(), yes) {
        (0, _) if model.params["standardize"].as_bool().unwrap_or(is_standardized(model)) => "yes".into(),
        (0, _) | (_, 0) => "no".into(),
        (all, yes) if all == yes => "yes".into(),
        (all, yes) => format!("in {yes} of {all} recipes"),
    };
    ("standardised", text)
}

fn probabilities(calibration: &Calibration) -> String {
    match calibration {
        Calibration::Platt { a, b } => {
            format!("1/(1 + exp({} x + {})) at distance x", format::rounded(*a), format::rounded(*b))
        }
        Calibration::Isotonic { distances, .. } => format!("isotonic, {} points", distances.len()),
    }
}

fn maps(model: &Model) -> String {
    let count = |number: usize, noun| format::count(number as u64, noun);
    format!("{} to {}", count(model.columns(), "column"), count(model.metric.rank(), "coordinate"))
}

fn pairs(model: &Model) -> String {
    let count = |kind: &str| format::grouped(model.diagnostics[kind]["pairs"].as_u64().unwrap_or(0));
    format!(
        "{}: {} similar, {} dissimilar",
        show(&model.params["pairs"]),
        count("similar"),
        count("dissimilar")
    )
}

fn regularisation(params: &Value) -> String {
    let number = |key: &str| params[key].as_f64().unwrap_or(0.0);
    if number("lambda") > 0.0 {
        return format!("lambda {}, prior {}", number("lambda"), show(&params["prior"]));
    }
    let target = match params["shrinkage_target"].as_str() {
        Some("similar") => "of S towards its diagonal",
        Some("similar-identity") => "of S towards the identity",
        Some("identity") => "of S and D towards the identity",
        _ => "of S and D towards their diagonals",
    };
    match (&params["shrinkage"], number("shrinkage")) {
        (Value::String(how), _) => format!("{how} shrinkage {target}"),
        (_, rho) if rho > 0.0 => format!("shrinkage {rho} {target}"),
        _ => "none".into(),
    }
}

fn conditions(diagnostics: &Value) -> String {
    let number = |key: &str| diagnostics[key].as_f64().map_or("?".into(), |x| format!("{x:.1e}"));
    format!("S {}, D {}", number("condition_s"), number("condition_d"))
}

/// The leading eigenvalues.
fn spectrum(model: &Model) -> String {
    let logs = &model.log_eigenvalues;
    let Some(first) = logs.first() else { return String::new() };
    let shown = logs.iter().take(8).map(|l| format!("{:.2}", (l - first) * std::f64::consts::LOG10_E));
    let more = if logs.len() > 8 { " …" } else { "" };
    format!("{:>15}  {}{more}\n", "spectrum", shown.collect::<Vec<_>>().join(" "))
        + &format!("{:>15}  (log10 of the eigenvalues of SD, relative to the first)\n", "")
}

/// The columns a unit of which counts most.
fn weights(model: &Model) -> String {
    let a = model.metric.diagonal();
    let mut order: Vec<usize> = (0..a.len()).collect();
    order.sort_by(|&i, &j| a[j].total_cmp(&a[i]));
    let most = order.first().map_or(1.0, |&j| a[j].max(f64::MIN_POSITIVE));
    let mut text = String::from("\nweight of one unit of each column (diagonal of A, relative):\n");
    for &j in order.iter().take(10) {
        let name = shortened(model.feature_names.get(j).cloned().unwrap_or_else(|| format!("f{}", j + 1)));
        let share = a[j] / most;
        let bar = "▇".repeat((30.0 * share.sqrt()).round() as usize);
        text.push_str(&format!("{name:>30}  {share:9.2e}  {bar}\n"));
    }
    if order.len() > 10 {
        text.push_str(&format!("{:>30}\n", format!("and {} more", order.len() - 10)));
    }
    text
}

/// At most as wide as its column; long names often differ at the end.
fn shortened(name: String) -> String {
    const WIDEST: usize = 30;
    let length = name.chars().count();
    if length <= WIDEST {
        return name;
    }
    let (head, tail) = (WIDEST / 2 - 1, WIDEST / 2);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

fn show(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
