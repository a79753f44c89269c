//! Class labels: names in order, and a code for each row.

use crate::data::label_spelling::canonical_label;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A label for each row: class names in order, and each row's class as a code into them.
///
/// Labels that spell one number are one class, see [`canonical_label`]. Names that are all integers are ordered as
/// numbers, others as text; the order decides ties in a vote of neighbours.
///
/// ```
/// use mahala::Labels;
/// let labels = Labels::new(["10", "9", "9.0"]);
/// assert_eq!(labels.names(), ["9", "10"]);
/// assert_eq!(labels.codes(), [1, 0, 0]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
    codes: Vec<u32>,
}

impl Labels {
    /// Labels as text; see the type for what is one class, and for their order.
    pub fn new<T: AsRef<str>>(labels: impl IntoIterator<Item = T>) -> Self {
        let mut spelled: BTreeMap<String, u32> = BTreeMap::new();
        let mut codes = Vec::new();
        for label in labels {
            let label = label.as_ref();
            let next = spelled.len() as u32;
            let code = match spelled.get(label) {
                Some(&code) => code,
                None => *spelled.entry(label.to_owned()).or_insert(next),
            };
            codes.push(code);
        }
        let mut spellings = vec![String::new(); spelled.len()];
        spelled.into_iter().for_each(|(label, code)| spellings[code as usize] = label);
        Self::merged(&spellings, codes)
    }

    /// Labels as codes into a list of spellings, of which several may be of one class: read block by block, or
    /// from a source with codes of its own.
    ///
    /// ```
    /// use mahala::Labels;
    /// let labels = Labels::from_spellings(&["2.0".into(), "2".into(), "1".into()], vec![0, 1, 2])?;
    /// assert_eq!(labels, Labels::new(["2", "2", "1"]));
    /// # Ok::<(), mahala::Error>(())
    /// ```
    ///
    /// # Errors
    /// A code beyond the list.
    pub fn from_spellings(spellings: &[String], codes: Vec<u32>) -> Result<Self> {
        check_codes(&codes, spellings.len())?;
        Ok(Self::merged(spellings, codes))
    }

    /// Spellings of one class become its canonical name. The codes must be below the number of spellings.
    fn merged(spellings: &[String], mut codes: Vec<u32>) -> Self {
        let mut named: Vec<(Cow<'_, str>, usize)> =
            spellings.iter().map(|label| canonical_label(label)).zip(0..).collect();
        sort_class_names(&mut named, |(name, _)| name);
        let mut names: Vec<String> = Vec::new();
        let mut class_of = vec![0u32; spellings.len()];
        for (name, spelling) in named {
            if names.last().is_none_or(|last| *last != *name) {
                names.push(name.into_owned());
            }
            class_of[spelling] = names.len() as u32 - 1;
        }
        codes.iter_mut().for_each(|code| *code = class_of[*code as usize]);
        Self { names, codes }
    }

    /// Labels as whole numbers.
    pub fn from_integers(labels: &[i64]) -> Self {
        Self::new(labels.iter().map(i64::to_string))
    }

    /// Labels as codes into a list of classes, whose names and order are kept: those of a model file.
    ///
    /// # Errors
    /// A code beyond the list, or a name that is there twice.
    pub fn from_parts(names: Vec<String>, codes: Vec<u32>) -> Result<Self> {
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        if let Some([name, ..]) = sorted.windows(2).find(|two| two[0] == two[1]) {
            let value = format!("'{name}' twice");
            return Err(Error::Parameter { name: "class name", value, allowed: "there only once" });
        }
        check_codes(&codes, names.len())?;
        Ok(Self { names, codes })
    }

    /// The class names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Each row's class, as an index into [`Labels::names`].
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The number of classes, those included that no row of a subset has.
    pub fn class_count(&self) -> usize {
        self.names.len()
    }

    /// How many rows each class has.
    pub fn class_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.names.len()];
        self.codes.iter().for_each(|&code| sizes[code as usize] += 1);
        sizes
    }

    /// Refuses another number of labels than this.
    pub(crate) fn check_length(&self, what: &'static str, expected: usize) -> Result<()> {
        let seen = self.len();
        if seen == expected { Ok(()) } else { Err(Error::Length { what, seen, expected }) }
    }

    /// The labels of the chosen rows; the classes stay the same.
    #[must_use]
    pub fn subset(&self, rows: &[usize]) -> Self {
        Self { names: self.names.clone(), codes: rows.iter().map(|&i| self.codes[i]).collect() }
    }
}

fn check_codes(codes: &[u32], classes: usize) -> Result<()> {
    match codes.iter().find(|&&code| code as usize >= classes) {
        Some(code) => {
            let value = code.to_string();
            Err(Error::Parameter { name: "class code", value, allowed: "below the number of classes" })
        }
        None => Ok(()),
    }
}

/// Orders class names: as numbers if all are integers, else as text.
pub(crate) fn sort_class_names<T>(items: &mut [T], name: impl Fn(&T) -> &str) {
    let integers = items.iter().all(|item| name(item).parse::<i128>().is_ok());
    items.sort_by(|a, b| {
        let (a, b) = (name(a), name(b));
        let by_number = match (a.parse::<i128>(), b.parse::<i128>()) {
            (Ok(a), Ok(b)) if integers => a.cmp(&b),
            _ => Ordering::Equal,
        };
        by_number.then_with(|| a.cmp(b))
    });
}

/// The rows of each class.
pub(crate) fn members_by_class(labels: &Labels) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = labels.class_sizes().into_iter().map(Vec::with_capacity).collect();
    labels.codes().iter().enumerate().for_each(|(i, &code)| members[code as usize].push(i));
    members
}
