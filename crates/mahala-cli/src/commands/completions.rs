//! `mahala completions`: a completion script for a shell.

use anyhow::Result;
use clap::CommandFactory as _;

/// Prints the script.
pub(crate) fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::options::Cli::command(), "mahala", &mut script);
    Ok(mahala_io::write_atomic(std::path::Path::new("-"), &script)?)
}
