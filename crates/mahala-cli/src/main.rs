//! The command `mahala`: learn a metric from a file, apply it, look at it.
//!
//! The command holds no mathematics; it reads files, calls the library, and writes files.
//! Data go to stdout, talk to stderr.

mod commands;
mod compat;
mod errors;
mod options;
mod recorded;
mod system;
mod terminal;

use anyhow::Result;
use clap::{CommandFactory as _, FromArgMatches as _};
use errors::Kind;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;
use terminal::format;
use terminal::message::print_detail;
use terminal::talk::{self, Level};

/// Blocks of a stream come and go by the megabyte; this allocator keeps their pages, where others return them to the
/// system and ask again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let as_json = errors::wants_json(&words);
    talk::decide(Level::Normal, talk::typed_colour(&words));
    let (mut cli, mut given) = understood(&words, as_json);
    talk::decide(level(&cli), cli.color);
    match recorded::expanded(&words, &cli.command, &given) {
        Ok(Some(words)) => (cli, given) = understood(&words, as_json),
        Ok(None) => {}
        Err(error) => {
            errors::tell(&error, Kind::Options, as_json);
            return ExitCode::from(1);
        }
    }
    terminal::signals::handle();
    let done = match compat::check(&cli.command, &given) {
        Err(error) => Err((error, Kind::Options)),
        Ok(()) => run(&cli).map_err(|error| {
            let kind = Kind::of(&error);
            (error, kind)
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((error, kind)) => {
            errors::tell(&error, kind, as_json);
            ExitCode::from(1)
        }
    }
}

/// What is asked for, and what of it was typed; ends the command where clap does not know the words.
fn understood(words: &[OsString], as_json: bool) -> (options::Cli, compat::Given) {
    let command = options::Cli::command().color(talk::typed_colour(words).into());
    let matches =
        command.try_get_matches_from(words).unwrap_or_else(|error| errors::misused(&error, as_json));
    let cli =
        options::Cli::from_arg_matches(&matches).unwrap_or_else(|error| errors::misused(&error, as_json));
    (cli, compat::Given::of(&matches))
}

fn level(cli: &options::Cli) -> Level {
    match (cli.quiet, cli.verbose) {
        (true, _) => Level::Quiet,
        (_, true) => Level::Verbose,
        _ => Level::Normal,
    }
}

fn run(cli: &options::Cli) -> Result<()> {
    let threads = match system::threads_within_addresses(cli.threads)? {
        Some(threads) => Some(threads),
        None => cli.threads,
    };
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    system::tell_memory()?;
    let start = Instant::now();
    let done = command(&cli.command);
    let took = format::seconds(start.elapsed().as_secs_f64());
    print_detail(&format!("took {took} on {}", format::count(rayon::current_num_threads() as u64, "thread")));
    done
}

fn command(command: &options::Command) -> Result<()> {
    match command {
        options::Command::Demo(demo) => commands::demo::run(demo),
        options::Command::Fit(fit) => commands::fit::run(fit),
        options::Command::Evaluate(evaluate) => commands::evaluate::run(evaluate),
        options::Command::Adapt(adapt) => commands::adapt::run(adapt),
        options::Command::Retrieval(retrieval) => commands::retrieval::run(retrieval),
        options::Command::Tune(tune) => commands::tune::run(tune),
        options::Command::Explore(explore) => commands::explore::run(explore),
        options::Command::Transform(transform) => commands::transform::run(transform),
        options::Command::Predict(predict) => commands::predict::run(predict),
        options::Command::Neighbors(neighbors) => commands::neighbors::run(neighbors),
        options::Command::Pairs(pairs) => commands::pairs::run(pairs),
        options::Command::Moments(moments) => commands::moments::run(moments),
        options::Command::Merge(merge) => commands::merge::run(merge),
        options::Command::Methods(methods) => commands::methods::run(methods),
        options::Command::Man(man) => commands::man::run(man),
        options::Command::Inspect(inspect) => commands::inspect::run(inspect),
        options::Command::Export(export) => commands::export::run(export),
        options::Command::Completions { shell } => commands::completions::run(*shell),
    }
}
