//! Which columns are features, which is the label.

use std::convert::Infallible;
use std::str::FromStr;

use crate::ReadOptions;
use crate::error::{InputError, list};

/// A column named by the user: by its name, by its position counted from 1, or by a negative
/// position counted from the end (`-1` is the last). A name that exists wins over a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef(String);

impl FromStr for ColumnRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.trim().to_owned()))
    }
}

impl ColumnRef {
    /// Whether this can only be a name.
    fn is_name(&self) -> bool {
        self.0.parse::<i64>().is_err()
    }

    /// The positions, from 0, of all columns so called; at least one.
    fn resolve(&self, source: &str, names: &[String]) -> Result<Vec<usize>, InputError> {
        let named: Vec<usize> = (0..names.len()).filter(|&j| names[j] == self.0).collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let Ok(position) = self.0.parse::<i64>() else {
            return Err(self.unknown(source, names));
        };
        let width = names.len() as u64;
        let index = match position {
            1.. => position.unsigned_abs() - 1,
            _ => width.wrapping_sub(position.unsigned_abs()),
        };
        if index < width {
            return Ok(vec![index as usize]);
        }
        let message = format!("there is no column {position}: the file has {width} columns");
        Err(InputError::new(source, message).hint("positions count from 1, or from -1 at the end"))
    }

    fn resolve_one(&self, source: &str, names: &[String]) -> Result<usize, InputError> {
        let found = self.resolve(source, names)?;
        match found[..] {
            [first, second, ..] => Err(duplicate(source, &self.0, first, second)),
            _ => Ok(found[0]),
        }
    }

    fn unknown(&self, source: &str, names: &[String]) -> InputError {
        let message = format!("there is no column '{}'; the columns are {}", self.0, list(names));
        let error = InputError::new(source, message);
        let near = names.iter().find(|name| name.eq_ignore_ascii_case(&self.0));
        match (near, names) {
            (Some(name), _) => error.hint(format!("did you mean '{name}'?")),
            (None, [_]) => error.hint(
                "with one column, is the separator another? --delimiter names it; comment lines must go",
            ),
            (None, _) if names.iter().enumerate().all(|(j, name)| *name == format!("f{}", j + 1)) => error.hint(
                "the columns have no names; count them from 1, or if the first line names them: --header yes",
            ),
            (None, _) => error,
        }
    }
}

impl ReadOptions {
    /// Whether the cell is a name by which the user called a column.
    pub(crate) fn mentions(&self, cell: &[u8]) -> bool {
        let same = |name: &str| name.as_bytes() == cell;
        let refs = self.label.iter().chain(&self.ignore);
        let mut names = refs.filter(|column| column.is_name()).map(|column| &column.0);
        names.any(|name| same(name)) || self.features.iter().flatten().any(|name| same(name))
    }
}

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
pub(crate) fn plan(source: &str, columns: &Columns, options: &ReadOptions) -> Result<Plan, InputError> {
    let names = &columns.names;
    let label = options.label.as_ref();
    let label = label.map(|label| label.resolve_one(source, names)).transpose()?;
    let left_out = left_out(source, names, label, options)?;
    let kept: Vec<usize> = (0..names.len()).filter(|&j| !left_out[j]).collect();
    let features = match &options.features {
        Some(wanted) if columns.named => pick(source, names, wanted)?,
        Some(wanted) => by_position(source, kept, wanted.len())?,
        None => distinct(source, names, kept)?,
    };
    if names.is_empty() {
        return Err(InputError::new(source, "the file has no columns"));
    }
    if features.is_empty() {
        let message = format!("no feature columns are left of {}", list(names));
        return Err(InputError::new(source, message).hint("check --label and --ignore"));
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
) -> Result<Vec<bool>, InputError> {
    let mut left_out = vec![false; names.len()];
    for column in &options.ignore {
        for j in column.resolve(source, names)? {
            left_out[j] = true;
        }
    }
    if let Some(j) = label {
        if left_out[j] {
            let message = format!("column '{}' is both the label and left out", names[j]);
            return Err(InputError::new(source, message).hint("drop either --label or --ignore"));
        }
        left_out[j] = true;
    }
    Ok(left_out)
}

fn pick(source: &str, names: &[String], wanted: &[String]) -> Result<Vec<usize>, InputError> {
    let find = |name: &String| names.iter().position(|other| other == name);
    let missing: Vec<&String> = wanted.iter().filter(|name| find(name).is_none()).collect();
    if !missing.is_empty() {
        let message = format!(
            "the model needs columns that the file does not have: {}; the file has {}",
            list(&missing),
            list(names)
        );
        return Err(InputError::new(source, message));
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

fn by_position(source: &str, kept: Vec<usize>, wanted: usize) -> Result<Vec<usize>, InputError> {
    if kept.len() == wanted {
        return Ok(kept);
    }
    let message = format!(
        "the model has {wanted} features, but the file has {} columns beside the label, without names",
        kept.len()
    );
    Err(InputError::new(source, message)
        .hint("name the label with --label, leave columns out with --ignore, or add a header"))
}

fn distinct(source: &str, names: &[String], kept: Vec<usize>) -> Result<Vec<usize>, InputError> {
    let mut seen = std::collections::HashMap::new();
    for &j in &kept {
        if let Some(first) = seen.insert(names[j].as_str(), j) {
            return Err(duplicate(source, &names[j], first, j));
        }
    }
    Ok(kept)
}

fn duplicate(source: &str, name: &str, first: usize, second: usize) -> InputError {
    let (first, second) = (first + 1, second + 1);
    let message = format!("columns {first} and {second} are both named '{name}'");
    InputError::new(source, message)
        .hint(format!("rename one of them, or leave one out with --ignore {second}"))
}
