//! One file per subcommand.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod neighbors;
pub(crate) mod pairs;
pub(crate) mod predict;
pub(crate) mod transform;
pub(crate) mod tune;

use anyhow::{Context as _, Result};
use mahala::Model;
use std::path::Path;

/// Reads a model file.
pub(crate) fn load_model(path: &Path) -> Result<Model> {
    Model::load(path).context("the model cannot be used")
}

/// Writes text to stdout; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    crate::output::write_atomic(Path::new("-"), text.as_bytes())
}
