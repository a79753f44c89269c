//! Errors of the library in the words of the command.

use crate::options::method::MethodArgs;
use crate::terminal::format;
use anyhow::anyhow;

/// The library's error in the words of the command: column names for numbers, options for parameters.
pub(crate) fn explain(error: mahala::Error, names: &[String]) -> anyhow::Error {
    let explained = in_words(error, names);
    if explained.is::<mahala::Error>() { explained } else { Refused(explained.to_string()).into() }
}

/// What the library refuses, in the words of the command.
#[derive(Debug)]
pub(crate) struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn in_words(error: mahala::Error, names: &[String]) -> anyhow::Error {
    let name = |j: usize| names.get(j).cloned().unwrap_or_else(|| format!("f{}", j + 1));
    match error {
        mahala::Error::ScaleSpread { wide, narrow, exponent } => anyhow!(
            "columns '{}' and '{}' differ in scale by a factor of 1e{exponent}; at most 1e70 can be represented \
             in one metric\nhint: --standardize, or rescale one of them",
            name(wide),
            name(narrow)
        ),
        mahala::Error::OneClass { class, rows } => anyhow!(
            "all {rows} rows belong to one class ('{class}'); at least two are needed\nhint: is --label the \
             right column? Without classes, mark pairs of rows as similar or not: --pairs FILE"
        ),
        mahala::Error::Parameter { name: "rank", value, allowed } if allowed.starts_with("left out") => {
            anyhow!("--rank is {value}; it must be {allowed}")
        }
        // Every cell was finite when it was read.
        mahala::Error::NotFinite { .. } => anyhow!(
            "a number outside the range of 64-bit numbers came up while learning: cells are very large or very \
             small\nhint: --standardize, or rescale the columns"
        ),
        mahala::Error::Parameter { name: "rank", value, .. } => anyhow!(
            "--rank is {value}; it must be at most the number of columns that vary (there are {})",
            format::count(names.len() as u64, "column")
        ),
        mahala::Error::Parameter { name: "t", value, allowed } => {
            anyhow!("t is {value}; it must be {allowed}\nhint: --t 0.5")
        }
        mahala::Error::Cancelled => anyhow!(
            "the time was up before everything was chosen, and nothing is written\nhint: a longer --time-limit, \
             less to try (--set budget=2), or --method gmml, which chooses t alone"
        ),
        mahala::Error::Memory { remedy, .. } => anyhow!(
            "{error}\nhint: {}",
            match remedy {
                mahala::error::MemoryRemedy::Principal => "--principal 256",
                mahala::error::MemoryRemedy::Landmarks => "--landmarks 500",
                _ => "--method gmml --principal 256",
            }
        ),
        mahala::Error::Parameter {
            name:
                parameter @ ("lambda" | "shrinkage" | "gamma" | "degree" | "coef0" | "landmarks" | "principal"),
            value,
            allowed,
        } => {
            anyhow!("--{parameter} is {value}; it must be {allowed}")
        }
        mahala::Error::Parameter { name: "balance", .. } => {
            anyhow!("--balance needs all pairs\nhint: leave --pairs sampled out")
        }
        mahala::Error::Parameter { name: "pairs", value, allowed } => {
            anyhow!("{value}: they must be {allowed}\nhint: leave --standardize and --pairs sampled out")
        }
        mahala::Error::Weight { index, value } => {
            anyhow!("the weight of row {} is {value}; weights must be finite and not negative", index + 1)
        }
        mahala::Error::NoUsableFold { rows } => anyhow!(
            "t cannot be chosen by cross-validation: {} are too few, or too alike, for a fold to learn from\n\
             hint: give t instead: --t 0.5",
            format::count(rows as u64, "row")
        ),
        mahala::Error::NotPositiveDefinite { what, .. } if what.contains("prior") => {
            anyhow!("{error}\nhint: --prior diagonal, or more rows than columns")
        }
        other => other.into(),
    }
}

/// The library's error about a parameter that was set, in the words it was set in.
pub(crate) fn explain_setting(
    steering: &MethodArgs,
    error: mahala::Error,
    names: &[String],
) -> anyhow::Error {
    match error {
        mahala::Error::Parameter { name, value, allowed }
            if steering.set.iter().any(|setting| setting.key == name) =>
        {
            anyhow!("--set {name}: {name} is {value}; it must be {allowed}")
        }
        other => explain(other, names),
    }
}
