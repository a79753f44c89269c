//! Text for the person at the terminal, and results for the next program.

use crate::terminal::format::bytes;
use crate::terminal::json::versioned;
use crate::terminal::talk::{Level, painted, says};
use anyhow::Result;
use mahala_io::pairs::PairsError;
use mahala_io::{ReadError, WriteError};
use serde_json::Value;
use std::borrow::Cow;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

/// Writes a line to stderr; with `--quiet` warnings alone.
pub(crate) fn print_message(message: &str) {
    if says(Level::Normal) || message.starts_with("warning: ") {
        let _ = writeln!(std::io::stderr(), "{}", painted(&printable(message)));
    }
}

/// Writes a line to stderr if `--verbose` asks for it.
pub(crate) fn print_detail(message: &str) {
    if says(Level::Verbose) {
        print_message(message);
    }
}

/// Says what was written: its name, what is in it, its size. Nothing is said of standard output.
pub(crate) fn tell_written(path: &Path, what: &str) {
    if path.as_os_str() == "-" {
        return;
    }
    let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    let size = size.map_or(String::new(), |file| format!(", {}", bytes(file.len())));
    print_message(&format!("wrote {}: {what}{size}", path.display()));
}

/// Writes an object to stdout.
pub(crate) fn print_json(schema: &str, fields: Value) -> Result<()> {
    print_result(&format!("{:#}\n", versioned(schema, fields)))
}

/// Writes notes to stderr, each on a line of its own.
pub(crate) fn print_notes<S: AsRef<str>>(notes: impl IntoIterator<Item = S>) {
    notes.into_iter().for_each(|note| print_message(&format!("note: {}", note.as_ref())));
}

/// Writes text to stdout; a closed pipe is no error.
pub(crate) fn print_result(text: &str) -> Result<()> {
    Ok(mahala_io::write_atomic(Path::new("-"), printable(text).as_bytes())?)
}

/// Text for a terminal: control characters, which names and labels may hold, are shown and not obeyed.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    // Marks that reverse the direction of what follows are as treacherous.
    let obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if obeyed(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// An error and its causes, up to the first that already says what its own causes say.
pub(crate) fn full_message(error: &anyhow::Error) -> String {
    let mut parts = Vec::new();
    for cause in error.chain() {
        parts.push(cause.to_string());
        if says_its_causes(cause) {
            break;
        }
    }
    parts.join(": ")
}

/// Whether an error is one of [`mahala_io`], or one of the system that carries such an error.
fn says_its_causes(error: &(dyn Error + 'static)) -> bool {
    let carried = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let Some(carried) = carried else {
        return error.is::<ReadError>() || error.is::<PairsError>() || error.is::<WriteError>();
    };
    carried.is::<WriteError>()
}
