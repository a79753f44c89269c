//! How the command ends when it cannot do what was asked: in words, or with `--json` as an object.

use crate::commands::Unreadable;
use crate::commands::explain::Refused;
use crate::terminal::json::versioned;
use crate::terminal::message::{full_message, printable};
use crate::terminal::talk::painted;
use clap::error::ErrorKind;
use mahala_io::pairs::PairsError;
use mahala_io::{ReadError, WriteError};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write as _;

/// What kind of thing went wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The words typed are none that the command knows.
    Usage,
    /// Options that do not go together.
    Options,
    /// A file that cannot be read as asked.
    Input,
    /// A file that cannot be written.
    Output,
    /// Data or parameters that the library refuses.
    Learning,
    /// Anything else.
    Other,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Options => "options",
            Self::Input => "input",
            Self::Output => "output",
            Self::Learning => "learning",
            Self::Other => "other",
        }
    }

    /// From the causes of an error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let mut causes = error.chain();
        causes
            .find_map(|cause| {
                if cause.is::<ReadError>() || cause.is::<PairsError>() || cause.is::<Unreadable>() {
                    return Some(Self::Input);
                }
                if cause.is::<WriteError>() {
                    return Some(Self::Output);
                }
                if let Some(carrier) = cause.downcast_ref::<std::io::Error>() {
                    let written =
                        carrier.get_ref().is_some_and(|inner| inner.downcast_ref::<WriteError>().is_some());
                    return Some(if written { Self::Output } else { Self::Input });
                }
                (cause.is::<mahala::Error>() || cause.is::<Refused>()).then_some(Self::Learning)
            })
            .unwrap_or(Self::Other)
    }
}

/// Whether `--json` is among the words typed: asked before they are understood, for they may not be.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Says on stderr what went wrong.
pub(crate) fn tell(error: &anyhow::Error, kind: Kind, as_json: bool) {
    let message = full_message(error);
    let text = if as_json {
        let (message, hint) = match message.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint.replace("\nhint: ", "\n"))),
            None => (&*message, None),
        };
        object(kind, message, hint.as_deref(), 1).to_string()
    } else {
        painted(&format!("error: {}", printable(&message)))
    };
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Ends the command after words that clap does not know; help and version are no errors.
pub(crate) fn misused(error: &clap::Error, as_json: bool) -> ! {
    let shown = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if shown || !as_json {
        error.exit();
    }
    let text = error.render().to_string();
    let mut parts = text.split("\n\n");
    let message = parts.next().unwrap_or_default().trim_start_matches("error: ").trim_end().to_owned();
    let tips: Vec<&str> =
        text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: ")).map(str::trim).collect();
    let hint = if tips.is_empty() { None } else { Some(tips.join("\n")) };
    let _ = writeln!(std::io::stderr(), "{}", object(Kind::Usage, &message, hint.as_deref(), 2));
    std::process::exit(2);
}

fn object(kind: Kind, message: &str, hint: Option<&str>, exit_code: i32) -> Value {
    let error = json!({"kind": kind.name(), "message": message, "hint": hint, "exit_code": exit_code});
    versioned("error", json!({"error": error}))
}
