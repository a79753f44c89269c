//! Which columns are features, which is the label.

use crate::column_ref::duplicate;
use crate::error::{ReadError, list};
use crate::options::ReadOptions;

/// The columns of a file.
pub(crate) struct Columns {
    names: Vec<String>,
    /// Whether the names come from the file, rather than from the positions.
    named: bool,
}

impl Columns {
    /// Columns with names; those with an empty name get one from their position.
    pub(crate) fn named(names: Vec<String>) -> Self {
        let position = |(j, name): (usize, String)| {
            if name.is_empty() { format!("f{}", j + 1) } else { name }
        };
        Self { names: names.into_iter().enumerate().map(position).collect(), named: true }
    }

    /// Columns without names: `f1`, `f2`, … by position.
    pub(crate) fn numbered(width: usize) -> Self {
        Self { names: (1..=width).map(|j| format!("f{j}")).collect(), named: false }
    }
}

/// The part each column of the file plays.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The positions in the file of the features, in the order of `names`.
    pub(crate) features: Vec<usize>,
    pub(crate) names: Vec<String>,
    pub(crate) label: Option<usize>,
    pub(crate) label_name: Option<String>,
}

/// Finds the features and the label among the columns of a file.
pub(crate) fn plan(source: &str, columns: &Columns, options: &ReadOptions) -> Result<Plan, ReadError> {
    let names = &columns.names;
    let label = options.label.as_ref();
    let label = label.map(|label| label.resolve_one(source, names)).transpose()?;
    let left_out = left_out(source, names, label, options)?;
    let kept: Vec<usize> = (0..names.len()).filter(|&j| !left_out[j]).collect();
    let features = match &options.features {
        Some(wanted) if columns.named && !options.by_position => pick(source, names, wanted)?,
        Some(wanted) => by_position(source, kept, wanted.len(), columns.named)?,
        None => distinct(source, names, kept)?,
    };
    if let Some(j) = label.filter(|j| features.contains(j)) {
        let message =
            format!("column '{}' is a feature of the model, and cannot name or label the rows", names[j]);
        return Err(ReadError::new(source, message).hint("give another column with --label or --id"));
    }
    if names.is_empty() {
        return Err(ReadError::new(source, "the file has no columns"));
    }
    if features.is_empty() {
        let message = format!("no feature columns are left of {}", list(names));
        return Err(ReadError::new(source, message).hint("check --label and --ignore"));
    }
    let chosen = features.iter().map(|&j| names[j].clone());
    Ok(Plan {
        names: options.features.clone().unwrap_or_else(|| chosen.collect()),
        features,
        label,
        label_name: label.map(|j| names[j].clone()),
    })
}

/// Marks the columns that are not features: the label and those the user does not want.
fn left_out(
    source: &str,
    names: &[String],
    label: Option<usize>,
    options: &ReadOptions,
) -> Result<Vec<bool>, ReadError> {
    let mut left_out = vec![false; names.len()];
    for column in &options.ignore {
        for j in column.resolve(source, names)? {
            left_out[j] = true;
        }
    }
    if let Some(j) = label {
        if left_out[j] {
            let message = format!("column '{}' is both the label and left out", names[j]);
            return Err(ReadError::new(source, message).hint("drop either --label or --ignore"));
        }
        left_out[j] = true;
    }
    Ok(left_out)
}

fn pick(source: &str, names: &[String], wanted: &[String]) -> Result<Vec<usize>, ReadError> {
    let find = |name: &String| names.iter().position(|other| other == name);
    let missing: Vec<&String> = wanted.iter().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        let message = format!(
            "the model needs columns that the file does not have: {}; the file has {}",
            list(&missing),
            list(names)
        );
        let error = ReadError::new(source, message);
        return Err(if are_numbered(wanted) {
            error.hint(
                "the model was learned on columns without names; --by-position takes those of the file in their order",
            )
        } else {
            error
        });
    }
    let found: Vec<usize> = wanted.iter().filter_map(find).collect();
    for &first in &found {
        let after = (first + 1..names.len()).find(|&j| names[j] == names[first]);
        if let Some(second) = after {
            return Err(duplicate(source, &names[first], first, second));
        }
    }
    Ok(found)
}

/// Whether columns have the names that those without names get: `f1`, `f2`, …
pub fn are_numbered(names: &[String]) -> bool {
    (1..).zip(names).all(|(j, name): (usize, &String)| {
        name.strip_prefix('f').is_some_and(|digits| digits == j.to_string())
    })
}

fn by_position(source: &str, kept: Vec<usize>, wanted: usize, named: bool) -> Result<Vec<usize>, ReadError> {
    if kept.len() == wanted {
        return Ok(kept);
    }
    let kept = kept.len();
    if named {
        let message =
            format!("the model has {wanted} features, but the file has {kept} columns beside the label");
        return Err(ReadError::new(source, message)
            .hint("name the label with --label, or leave columns out with --ignore"));
    }
    let message = format!(
        "the model has {wanted} features, but the file has {kept} columns beside the label, without names"
    );
    Err(ReadError::new(source, message)
        .hint("name the label with --label, leave columns out with --ignore, or add a header"))
}

fn distinct(source: &str, names: &[String], kept: Vec<usize>) -> Result<Vec<usize>, ReadError> {
    let mut seen = std::collections::HashMap::new();
    for &j in &kept {
        if let Some(first) = seen.insert(names[j].as_str(), j) {
            return Err(duplicate(source, &names[j], first, j));
        }
    }
    Ok(kept)
}
