//! Options of `mahala inspect`.

use clap::Args;
use std::path::PathBuf;

/// Options of `mahala inspect`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala inspect wine.safetensors
  mahala inspect wine.safetensors --json | jq .diagnostics.condition_s")]
pub(crate) struct Inspect {
    /// The model
    pub model: PathBuf,
    /// Print everything but the matrices as JSON
    #[arg(long)]
    pub json: bool,
}
