//! `mahala moments`: the sums of a part of the rows, to be merged with those of others.

use crate::commands::create_apart;
use crate::commands::shown;
use crate::commands::stream_moments;
use crate::options::moments::MomentsCommand;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, print_notes, tell_written};
use anyhow::Result;
use mahala::scatter::{ClassMoments, Moments};
use mahala_io::Stream;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;

/// Sums and writes.
pub(crate) fn run(args: &MomentsCommand) -> Result<()> {
    let mut output = create_apart(&args.output, &[&args.data], args.json)?;
    let mut stream = Stream::open(&args.data, &args.input.options(Some(&args.label)))?;
    let moments = stream_moments::moments(&mut stream)?;
    output.write_all(&moments.to_bytes())?;
    output.commit()?;
    print_notes(stream.notes());
    print_message(&format!(
        "summed {} of {} in {}",
        format::count(moments.rows(), "row"),
        format::classes(moments.classes().len()),
        format::count(moments.columns() as u64, "column")
    ));
    tell_written(&args.output, "sums of each class");
    if args.json {
        return print_json("moments", summary(&moments, &args.output));
    }
    Ok(())
}

/// What a file of sums holds, for `moments` and `merge`.
pub(crate) fn summary(moments: &Moments, output: &Path) -> Value {
    let class = |class: &ClassMoments| json!({"class": class.name(), "rows": class.rows()});
    json!({
        "output": shown(output), "rows": moments.rows(), "columns": moments.columns(),
        "classes": moments.classes().iter().map(class).collect::<Vec<Value>>(),
    })
}
