//! `mahala moments`: the sums of a part of the rows, to be merged with those of others.

use crate::commands::create_output;
use crate::commands::stream_moments;
use crate::options::moments::MomentsCommand;
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::print_notes;
use anyhow::Result;
use mahala_io::Stream;
use std::io::Write as _;

/// Sums and writes.
pub(crate) fn run(args: &MomentsCommand) -> Result<()> {
    let mut output = create_output(&args.output, &[&args.data])?;
    let mut stream = Stream::open(&args.data, &args.input.options(Some(&args.label)))?;
    let moments = stream_moments::moments(&mut stream)?;
    output.write_all(&moments.to_bytes())?;
    output.commit()?;
    print_notes(stream.notes());
    print_message(&format!(
        "summed {} of {} in {}",
        format::count(moments.rows(), "row"),
        format::count(moments.classes().len() as u64, "class").replace("classs", "classes"),
        format::count(moments.columns() as u64, "column")
    ));
    Ok(())
}
