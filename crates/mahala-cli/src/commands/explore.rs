//! `mahala explore`: a page on which t moves the points.

use crate::commands::create_output;
use crate::commands::dataset::dataset;
use crate::commands::explain::explain;
use crate::options::explore::Explore;
use crate::terminal::message::print_message;
use crate::terminal::progress::Bar;
use anyhow::{Result, anyhow};
use mahala_page::{Explorer, Settings, Source};
use std::io::Write as _;
use std::path::Path;

/// Learns, chooses t, writes the page.
pub(crate) fn run(args: &Explore) -> Result<()> {
    let mut output = create_output(&args.output, &[&args.data])?;
    let (mut table, groups) =
        args.input.read_grouped(&args.data, args.label.as_ref(), args.groups.as_ref())?;
    let data = dataset(&mut table)?;
    args.learn.check_folds(data.len())?;
    let settings = Settings {
        gmml: args.learn.gmml(args.pairs.rule(), data.columns())?,
        max_rows: args.max_rows,
        coordinates: args.coordinates,
        steps: args.steps as usize,
    };
    let title = name_of(&table.source);
    let source = Source {
        title: &title,
        columns: &table.names,
        row_numbers: Some(&table.row_numbers),
        groups: groups.as_ref(),
    };
    let bar = Bar::spinner("learning, and holding rows out");
    let page = Explorer::new(&data, &source, &settings, &mut |step| bar.show(step));
    bar.finish();
    let page = page.map_err(|error| in_options(error, &table.names))?;
    output.write_all(page.to_html().as_bytes())?;
    output.commit()?;
    let shown = data.len().min(args.max_rows);
    let of = if shown < data.len() { format!(" of {}", data.len()) } else { String::new() };
    print_message(&format!(
        "wrote {}: {shown}{of} rows, which t moves; open it in a browser",
        args.output.display()
    ));
    Ok(())
}

/// The file's name without its folders.
fn name_of(source: &str) -> String {
    Path::new(source)
        .file_name()
        .map_or_else(|| source.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn in_options(error: mahala::Error, names: &[String]) -> anyhow::Error {
    match error {
        mahala::Error::Parameter { name: "max_rows", value, allowed } => {
            anyhow!(
                "--max-rows is {value}; it must be {allowed}\nhint: --max-rows 10000, or fewer --coordinates"
            )
        }
        other => explain(other, names),
    }
}
