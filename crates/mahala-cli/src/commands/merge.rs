//! `mahala merge`: sums of parts added together.

use crate::commands::{create_output, load_moments};
use crate::{say, table};
use anyhow::{Context as _, Result};
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};

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
}

/// Adds and writes.
pub(crate) fn run(args: &Merge) -> Result<()> {
    let inputs: Vec<&Path> = args.parts.iter().map(PathBuf::as_path).collect();
    let mut output = create_output(&args.output, &inputs)?;
    let mut sum = load_moments(&args.parts[0])?;
    for path in &args.parts[1..] {
        let part = load_moments(path)?;
        sum.merge(&part).with_context(|| path.display().to_string())?;
    }
    output.write_all(&sum.to_bytes())?;
    output.commit()?;
    let parts = table::count(args.parts.len() as u64, "part");
    say(&format!("added {parts}: {}", table::count(sum.rows(), "row")));
    Ok(())
}
