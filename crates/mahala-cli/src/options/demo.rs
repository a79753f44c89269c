//! Options of `mahala demo`.

use clap::Args;
use std::path::PathBuf;

/// Options of `mahala demo`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala demo
  mahala demo -o try --runs 5")]
pub(crate) struct Demo {
    /// Where to put the model and the figures
    #[arg(short, long, default_value = "mahala-demo", value_name = "DIRECTORY")]
    pub output: PathBuf,
    /// How often to draw halves
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: u16,
    /// Print a summary as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
