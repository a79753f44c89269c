//! Options of `mahala merge`.

use clap::Args;
use std::path::PathBuf;

/// Options of `mahala merge`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala merge monday.moments tuesday.moments -o both.moments
  mahala merge part-*.moments -o all.moments")]
pub(crate) struct Merge {
    /// Files of `mahala moments`; added in this order, so that the same files give the same bits
    #[arg(required = true)]
    pub parts: Vec<PathBuf>,
    /// Where to write the sum
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print a summary as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
