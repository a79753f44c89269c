//! The parameters of GMML, which are options of `fit` and `evaluate`.

use crate::commands::methods::Parameter;
use crate::options::Cli;
use clap::{Arg, CommandFactory as _};
use mahala::Gmml;
use serde_json::Value;

/// Each by clap's name, with its type and what is allowed.
const OPTIONS: [(&str, &str, &str); 13] = [
    ("t", "number or text", "auto, or between 0 and 1"),
    ("lambda", "number", "0 or above"),
    ("prior", "text", "identity, diagonal, covariance, or a file"),
    ("shrinkage", "number or text", "analytic, or between 0 and 1"),
    ("shrink_towards", "text", "diagonal, similar, similar-identity or identity"),
    ("standardize", "switch", "given or not"),
    ("rank", "number", "at least 1, or a share below 1"),
    ("principal", "integer", "at least 1"),
    ("k", "integer", "at least 1"),
    ("balance", "text", "none, classes or class-pairs"),
    ("folds", "integer", "at least 2"),
    ("selection_rows", "integer", "at least 4"),
    ("seed", "integer", "at least 0"),
];

/// The options of `fit` that are parameters of GMML, with the defaults and the words of its help.
pub(super) fn options() -> Vec<Parameter> {
    let (command, plain) = (Cli::command(), Gmml::default().to_json());
    let Some(fit) = command.find_subcommand("fit") else { return Vec::new() };
    let of = |(id, kind, allowed)| {
        let arg = fit.get_arguments().find(|arg| arg.get_id() == id)?;
        let name = arg.get_long().map_or_else(|| format!("-{id}"), |long| format!("--{long}"));
        let meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
        // The default stands in a column of its own.
        let meaning = meaning.split(" [default").next().unwrap_or_default().to_owned();
        Some(Parameter { name, kind, default: default_of(id, arg, &plain), allowed, meaning })
    };
    OPTIONS.into_iter().filter_map(of).collect()
}

/// The default that clap knows, or that of the library.
fn default_of(id: &str, arg: &Arg, plain: &Value) -> Value {
    match arg.get_default_values() {
        [value] => value.to_str().map_or(Value::Null, |text| {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        }),
        // A switch that is not given; a number that is 0 means none, too.
        _ if id == "shrinkage" || id == "lambda" => Value::Null,
        _ => plain[id].clone(),
    }
}
