//! What went wrong while a file was read, where, and what to do about it.

use std::error::Error;
use std::io;

/// A failure to read a table: the place, what was wrong there and, where there is one, the remedy.
///
/// It is displayed as `place: message`, with the remedy on a second line that starts with `hint: `. The message says
/// what the source, if there is one, says.
#[derive(Debug, thiserror::Error)]
#[error("{}{message}{}", prefix(.place), hint_line(.hint.as_deref()))]
pub struct ReadError {
    place: String,
    message: String,
    hint: Option<String>,
    /// The rows are more than was allowed, and nothing else is wrong.
    too_large: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

fn prefix(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("{place}: ") }
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map_or(String::new(), |hint| format!("\nhint: {hint}"))
}

impl ReadError {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), hint: None, too_large: false, source: None }
    }

    /// A sentence about a whole table, with the table in it.
    pub(crate) fn of_table(message: impl Into<String>) -> Self {
        Self::new("", message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What a library or the system said.
    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Rows of which so many bytes of numbers were read, where fewer may be held.
    pub(crate) fn too_large(source: &str, most: u64) -> Self {
        let message = format!(
            "its rows take more than {:.1} GB as numbers, and memory for them and for learning is not there",
            most as f64 / 1e9
        );
        let hint = "fit --method gmml, transform and predict read large files in a stream; else fewer rows or columns";
        Self { too_large: true, ..Self::new(source, message).hint(hint) }
    }

    /// Whether the rows were more than was allowed, and nothing else is wrong.
    pub fn is_too_large(&self) -> bool {
        self.too_large
    }

    /// Without the remedy, as one of several.
    pub(crate) fn in_one_line(&self) -> String {
        prefix(&self.place) + &self.message
    }

    /// A file that cannot be opened, in words.
    pub(crate) fn open(source: &str, error: io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "permission to read is denied".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        Self::new(source, message).caused_by(error)
    }

    /// A failure while bytes are read: most are those of the decompressor.
    pub(crate) fn read(source: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::new(source, "the compressed data end too early")
                .hint("the file is truncated; copy or download it again")
                .caused_by(error),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::new(source, format!("the compressed data are damaged ({error})"))
                    .hint("copy or download the file again")
                    .caused_by(error)
            }
            _ => Self::open(source, error),
        }
    }
}

/// `iris.csv, line 52`
pub(crate) fn at(source: &str, unit: &str, position: u64) -> String {
    format!("{source}, {unit} {position}")
}

/// `iris.csv, line 52, column 'petal length'`
pub(crate) fn at_column(source: &str, unit: &str, position: u64, column: &str) -> String {
    format!("{source}, {unit} {position}, column '{column}'")
}

/// A label that is no number and no name.
pub(crate) fn infinite_label(place: String, label: &str) -> ReadError {
    ReadError::new(place, format!("the label {} is not a finite number", excerpt(label.as_bytes())))
        .hint("correct it, or leave it empty and choose --missing drop")
}

/// The text of a cell or line, in quotes, short enough for one line of a terminal.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let head = &bytes[..bytes.len().min(4 * (LONGEST + 1))];
    let text = String::from_utf8_lossy(head);
    let mut shown = String::new();
    for character in text.chars().take(LONGEST) {
        // Control characters would hurt the terminal; quotes and accents do not.
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    let dots = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
    format!("\"{shown}{dots}\"")
}

/// A name as it can be typed into a shell.
pub(crate) fn shell(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// At most twenty names, and how many more there are.
pub(crate) fn list<S: AsRef<str>>(names: &[S]) -> String {
    const MOST: usize = 20;
    let shown: Vec<&str> = names.iter().take(MOST).map(AsRef::as_ref).collect();
    let more = names.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// `1 row`, `2 rows`
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
