//! The command `mahala`: learn a metric from a file, apply it, look at it.
//!
//! The command holds no mathematics; it reads files, calls the library, and writes files.
//! Data go to stdout, talk to stderr.

mod commands;
mod compat;
mod options;
mod system;
mod terminal;

use anyhow::Result;
use clap::{CommandFactory as _, FromArgMatches as _};
use std::io::Write as _;
use std::process::ExitCode;
use terminal::message::{full_message, printable};

/// Blocks of a stream come and go by the megabyte; this allocator keeps their pages, where others return them to the
/// system and ask again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = options::Cli::command().get_matches();
    let cli = options::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let given = compat::Given::of(&matches);
    terminal::signals::handle();
    match compat::check(&cli.command, &given).and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", printable(&full_message(&error)));
            ExitCode::from(1)
        }
    }
}

fn run(cli: options::Cli) -> Result<()> {
    let threads = match system::threads_within_addresses(cli.threads)? {
        Some(threads) => Some(threads),
        None => cli.threads,
    };
    if let Some(threads) = threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    system::tell_memory()?;
    match cli.command {
        options::Command::Demo(demo) => commands::demo::run(&demo),
        options::Command::Fit(fit) => commands::fit::run(&fit),
        options::Command::Evaluate(evaluate) => commands::evaluate::run(&evaluate),
        options::Command::Adapt(adapt) => commands::adapt::run(&adapt),
        options::Command::Retrieval(retrieval) => commands::retrieval::run(&retrieval),
        options::Command::Tune(tune) => commands::tune::run(&tune),
        options::Command::Explore(explore) => commands::explore::run(&explore),
        options::Command::Transform(transform) => commands::transform::run(&transform),
        options::Command::Predict(predict) => commands::predict::run(&predict),
        options::Command::Neighbors(neighbors) => commands::neighbors::run(&neighbors),
        options::Command::Pairs(pairs) => commands::pairs::run(&pairs),
        options::Command::Moments(moments) => commands::moments::run(&moments),
        options::Command::Merge(merge) => commands::merge::run(&merge),
        options::Command::Inspect(inspect) => commands::inspect::run(&inspect),
        options::Command::Export(export) => commands::export::run(&export),
        options::Command::Completions { shell } => commands::completions::run(shell),
    }
}
