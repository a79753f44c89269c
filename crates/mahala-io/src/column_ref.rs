//! A column as the user names it: by name or by position.

use std::convert::Infallible;
use std::str::FromStr;

use crate::error::{ReadError, list};

/// A column named by the user: by its name, by its position counted from 1, or by a negative
/// position counted from the end (`-1` is the last). A name that exists wins over a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef(pub(crate) String);

impl FromStr for ColumnRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.trim().to_owned()))
    }
}

impl ColumnRef {
    /// Whether this can only be a name.
    pub(crate) fn is_name(&self) -> bool {
        self.0.parse::<i64>().is_err()
    }

    /// The positions, from 0, of all columns so called; at least one.
    pub(crate) fn resolve(&self, source: &str, names: &[String]) -> Result<Vec<usize>, ReadError> {
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
        Err(ReadError::new(source, message).hint("positions count from 1, or from -1 at the end"))
    }

    pub(crate) fn resolve_one(&self, source: &str, names: &[String]) -> Result<usize, ReadError> {
        let found = self.resolve(source, names)?;
        match found[..] {
            [first, second, ..] => Err(duplicate(source, &self.0, first, second)),
            _ => Ok(found[0]),
        }
    }

    fn unknown(&self, source: &str, names: &[String]) -> ReadError {
        let message = format!("there is no column '{}'; the columns are {}", self.0, list(names));
        let error = ReadError::new(source, message);
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

/// Two columns with the name of one that is wanted.
pub(crate) fn duplicate(source: &str, name: &str, first: usize, second: usize) -> ReadError {
    let (first, second) = (first + 1, second + 1);
    let message = format!("columns {first} and {second} are both named '{name}'");
    ReadError::new(source, message)
        .hint(format!("rename one of them, or leave one out with --ignore {second}"))
}
