//! How much is said, and in which colours: decided once, by the options.

use clap::{ColorChoice, ValueEnum};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Warnings and errors.
    Quiet = 0,
    /// Warnings, errors, and what was done.
    Normal = 1,
    /// All of that, and how long each part took.
    Verbose = 2,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Normal as u8);
static COLOURED: AtomicBool = AtomicBool::new(false);

/// When text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Decides for the rest of the run.
pub(crate) fn decide(level: Level, color: Color) {
    LEVEL.store(level as u8, Ordering::Relaxed);
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let coloured = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            std::io::stderr().is_terminal() && !set("NO_COLOR") && !dumb
        }
    };
    COLOURED.store(coloured, Ordering::Relaxed);
}

/// The colours that were asked for among the words typed, before these are understood: help and misuse have colours, too.
pub(crate) fn typed_colour(words: &[std::ffi::OsString]) -> Color {
    let value = words.iter().enumerate().find_map(|(i, word)| match word.to_str()? {
        "--color" => words.get(i + 1)?.to_str(),
        word => word.strip_prefix("--color="),
    });
    value.and_then(|value| Color::from_str(value, false).ok()).unwrap_or_default()
}

/// Whether this much is to be said.
pub(crate) fn says(level: Level) -> bool {
    LEVEL.load(Ordering::Relaxed) >= level as u8
}

/// A message with its first word in the colour of what it is.
pub(crate) fn painted(message: &str) -> String {
    let colours = [("error: ", "1;31"), ("warning: ", "1;33"), ("note: ", "36")];
    let found = colours.iter().find(|(word, _)| message.starts_with(word));
    match found.filter(|_| COLOURED.load(Ordering::Relaxed)) {
        Some((word, colour)) => {
            let (head, rest) = message.split_at(word.len() - 1);
            format!(
                "\u{1b}[{colour}m{head}\u{1b}[0m{}",
                rest.replace("\nhint: ", "\n\u{1b}[32mhint:\u{1b}[0m ")
            )
        }
        None => message.to_owned(),
    }
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}
