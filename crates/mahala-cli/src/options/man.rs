//! Options of `mahala man`.

use clap::Args;
use std::path::PathBuf;

/// Options of `mahala man`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala man ~/.local/share/man/man1        then: man mahala-fit
  mahala man pages                          into a folder of this name")]
pub(crate) struct Man {
    /// The folder to write to; it is made if there is none
    pub directory: PathBuf,
}
