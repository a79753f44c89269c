//! `mahala moments`: the sums of a part of the rows, to be merged with those of others.

use crate::commands::create_output;
use crate::commands::stream_moments;
use crate::options::InputArgs;
use crate::say;
use crate::terminal::table;
use anyhow::Result;
use clap::Args;
use mahala_io::ColumnRef;
use mahala_io::Stream;
use std::io::Write as _;
use std::path::PathBuf;

/// Options of `mahala moments`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala moments monday.csv --label y -o monday.moments
  mahala moments tuesday.parquet --label y -o tuesday.moments
  mahala merge monday.moments tuesday.moments -o both.moments
  mahala fit --moments both.moments --t 0.5 -o m.safetensors")]
pub(crate) struct MomentsCommand {
    /// Rows: CSV, TSV or Parquet, .gz too; a folder or pattern; - for stdin
    pub data: PathBuf,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: ColumnRef,
    /// Where to write the sums
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Sums and writes.
pub(crate) fn run(args: &MomentsCommand) -> Result<()> {
    let mut output = create_output(&args.output, &[&args.data])?;
    let mut stream = Stream::open(&args.data, &args.input.options(Some(&args.label)))?;
    let moments = stream_moments::moments(&mut stream)?;
    output.write_all(&moments.to_bytes())?;
    output.commit()?;
    stream.notes().iter().for_each(|note| say(&format!("note: {note}")));
    say(&format!(
        "summed {} of {} in {}",
        table::count(moments.rows(), "row"),
        table::count(moments.classes().len() as u64, "class").replace("classs", "classes"),
        table::count(moments.columns() as u64, "column")
    ));
    Ok(())
}
