//! `mahala methods`: what can be learned, from what, and with which parameters.

mod gmml;
mod minimised;
mod parameters;

use crate::compat::learns_from;
use crate::options::method::Method;
use crate::options::methods::Methods;
use crate::terminal::json::versioned;
use crate::terminal::message::print_result;
use anyhow::Result;
use clap::ValueEnum as _;
use mahala_baselines::named;
use minimised::minimised;
use parameters::meaning_of;
use serde_json::{Value, json};

/// A parameter, as people set it.
struct Parameter {
    /// The key of `--set`, or the option.
    name: String,
    kind: &'static str,
    default: Value,
    allowed: &'static str,
    meaning: String,
}

/// Lists the methods, or the parameters of one.
pub(crate) fn run(args: &Methods) -> Result<()> {
    let asked: Vec<Method> = match args.name {
        Some(method) => vec![method],
        None => Method::value_variants().to_vec(),
    };
    if args.json {
        let list = asked.into_iter().map(to_json).collect::<Result<Vec<Value>>>()?;
        return print_result(&format!("{:#}\n", versioned("methods", json!({"methods": list}))));
    }
    match args.name {
        Some(method) => print_result(&one(method)?),
        None => print_result(&all(&asked)),
    }
}

/// The parameters of a method, in the order of their names.
fn parameters(method: Method) -> Result<Vec<Parameter>> {
    if method == Method::Gmml {
        return Ok(gmml::options());
    }
    let fields = named(method.name(), json!({}))?.parameters();
    let keys = method.keys()?;
    let described = |key: String| {
        let (kind, allowed, meaning) = meaning_of(method.name(), &key);
        Parameter { default: fields[&key].clone(), name: key, kind, allowed, meaning: meaning.to_owned() }
    };
    Ok(keys.into_iter().map(described).collect())
}

fn to_json(method: Method) -> Result<Value> {
    let of = |parameter: Parameter| {
        json!({
            "name": parameter.name, "type": parameter.kind, "default": parameter.default,
            "allowed": parameter.allowed, "meaning": parameter.meaning,
        })
    };
    Ok(json!({
        "name": method.name(), "title": title(method), "learns_from": learns_from(method),
        "minimises": minimised(method), "iterates": !method.is_closed_form(),
        "parameters": parameters(method)?.into_iter().map(of).collect::<Vec<Value>>(),
    }))
}

/// What the methods are called in full.
fn title(method: Method) -> String {
    let value = method.to_possible_value();
    value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
}

/// The letters under which the table says what a method learns from.
const SOURCES: [(&str, char); 5] =
    [("labels", 'L'), ("pairs", 'P'), ("triplets", 'T'), ("quadruplets", 'Q'), ("chunks", 'C')];

/// The letter, in the place of labels, of a method that learns from labels that are numbers.
const TARGETS: char = 'N';

fn all(methods: &[Method]) -> String {
    let mut text = format!("  {:<15} {:<10} {}\n  {}\n", "method", "from", "minimises", "─".repeat(78));
    for &method in methods {
        let from = learns_from(method);
        let letter = |(name, letter): &(&str, char)| if from.contains(name) { *letter } else { '·' };
        let mut letters: Vec<String> = SOURCES.iter().map(|source| letter(source).to_string()).collect();
        if method.is_regression() {
            letters[0] = TARGETS.to_string();
        }
        text += &format!("  {:<15} {:<10} {}\n", method.name(), letters.join(" "), minimised(method));
    }
    text + "\nL labels, P pairs, T triplets, Q quadruplets, C chunks of rows known to be of one class,\n\
            N labels that are numbers (--regression).\n\
            mahala methods NAME lists the parameters of one.\n"
}

fn one(method: Method) -> Result<String> {
    let from = learns_from(method);
    let from = if from.is_empty() { "rows alone".to_owned() } else { from.join(", ") };
    let mut text = format!(
        "{}: {}\nlearns from {from}\nminimises {}\n",
        method.name(),
        title(method),
        minimised(method)
    );
    let parameters = parameters(method)?;
    if parameters.is_empty() {
        return Ok(text + "\nno parameters\n");
    }
    let how = if method == Method::Gmml { "options" } else { "parameters, each set by --set NAME=VALUE" };
    text += &format!("\n{how}:\n");
    let default = |parameter: &Parameter| match &parameter.default {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let width = |of: &dyn Fn(&Parameter) -> usize| parameters.iter().map(of).max().unwrap_or(0);
    let widths = [
        width(&|one| one.name.chars().count()),
        width(&|one| one.kind.chars().count()),
        width(&|one| default(one).chars().count() + 8),
    ];
    for one in &parameters {
        text += &format!(
            "  {:<a$}  {:<b$}  {:<c$}  {}; {}\n",
            one.name,
            one.kind,
            format!("default {}", default(one)),
            one.allowed,
            one.meaning,
            a = widths[0],
            b = widths[1],
            c = widths[2],
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_of_every_method_is_described() {
        for &method in Method::value_variants() {
            let parameters = parameters(method).expect("parameters");
            assert_eq!(parameters.is_empty(), matches!(method, Method::Euclidean | Method::Covariance));
            for parameter in parameters {
                let whole = !parameter.kind.is_empty() && !parameter.allowed.is_empty();
                assert!(whole && !parameter.meaning.is_empty(), "{}: {}", method.name(), parameter.name);
            }
            assert!(minimised(method).chars().count() <= 51, "{}", method.name());
        }
    }
}
