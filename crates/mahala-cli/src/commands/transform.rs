//! `mahala transform`: rows in the coordinates where the metric is Euclidean.

use crate::commands::dataset::transformed;
use crate::commands::{create_apart, load_model, shown};
use crate::options::input::InputArgs;
use crate::options::transform::Transform;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, print_notes, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::{Model, Rows};
use mahala_io::AtomicFile;
use mahala_io::Block;
use mahala_io::npy::npy_header;
use serde_json::json;
use std::io::{Seek as _, Write};
use std::path::Path;

/// Transforms and writes.
pub(crate) fn run(args: &Transform) -> Result<()> {
    let model = load_model(&args.model)?;
    check_form(&args.output)?;
    if let Some(weight) = model.metric.weight_outside().filter(|_| model.kernel.is_none()) {
        print_message(&format!(
            "note: what lies outside the span of the training rows (weight {}) is not in these coordinates: distances \
             between other rows come out too small\nhint: mahala export -o map.npy writes a map with it",
            format::rounded(weight)
        ));
    }
    let mut output = create_apart(&args.output, &[&args.model, &args.data], args.json)?;
    let input = args.input.for_model(args.by_position);
    let read = |input: &InputArgs| input.read_for(&model, &args.data, args.label.as_ref()).map(Some);
    let table = if args.stream { None } else { input.in_memory_or_stream(&args.data, read, || Ok(None))? };
    let Some(mut table) = table else { return stream(args, &model, output) };
    let z = transformed(&model, &mut table)?;
    if is_npy(&args.output) {
        write_npy(&mut output, &z)?;
    } else {
        write_csv(&mut output, &z, table.labels.as_deref())?;
    }
    output.commit()?;
    tell(args, z.len(), z.columns(), table.labels.is_some() && !is_npy(&args.output))
}

/// Says what was written.
fn tell(args: &Transform, rows: usize, coordinates: usize, labelled: bool) -> Result<()> {
    tell_written(&args.output, &format::table(rows, coordinates + usize::from(labelled)));
    if !args.json {
        return Ok(());
    }
    print_json(
        "transform",
        json!({
            "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
            "output": shown(&args.output), "rows": rows, "coordinates": coordinates, "labelled": labelled,
        }),
    )
}

/// Refuses names that promise another form than CSV or NPY.
fn check_form(path: &Path) -> Result<()> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ["gz", "json", "libsvm", "npz", "parquet", "pq", "svm", "tsv"].contains(&&*extension) {
        bail!("{}: rows are written as .csv or .npy", path.display());
    }
    Ok(())
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// Transforms block by block; each is written as text or bytes by the thread that parsed it.
fn stream(args: &Transform, model: &Model, mut output: AtomicFile) -> Result<()> {
    let mut stream =
        args.input.for_model(args.by_position).stream_for(model, &args.data, args.label.as_ref())?;
    let progress = Bar::spinner(&format!("transforming {}", stream.source));
    let npy = is_npy(&args.output);
    let columns = model.metric.rank();
    // The header of an array tells how many rows follow, so these wait for it in a file of their own.
    let mut spool = if npy { Some(tempfile::tempfile()?) } else { None };
    if !npy {
        output.write_all(&csv_bytes(Some(csv_header(columns, args.label.is_some())), None)?)?;
    }
    let of_block = |block: &Block| -> Result<Vec<u8>> {
        let z = model.transform(&block.to_rows()?)?;
        if npy {
            return Ok(z.values().iter().flat_map(|value| value.to_le_bytes()).collect());
        }
        let label = |i: usize| args.label.as_ref().map(|_| block.label(i));
        csv_bytes(None, Some((&z, &label)))
    };
    let mut rows = 0;
    stream.each(of_block, |block, bytes| -> Result<()> {
        rows += block.len();
        match &mut spool {
            Some(spool) => spool.write_all(&bytes?)?,
            None => output.write_all(&bytes?)?,
        }
        Ok(())
    })?;
    if let Some(mut spool) = spool {
        output.write_all(&npy_header(&[rows, columns]))?;
        spool.rewind()?;
        std::io::copy(&mut spool, &mut output)?;
    }
    progress.finish();
    output.commit()?;
    print_notes(stream.notes());
    tell(args, rows, columns, args.label.is_some() && !npy)
}

fn write_npy(output: &mut impl Write, z: &Rows) -> Result<()> {
    output.write_all(&npy_header(&[z.len(), z.columns()]))?;
    for value in z.values() {
        output.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

fn write_csv(output: &mut impl Write, z: &Rows, labels: Option<&[String]>) -> Result<()> {
    let label = |i: usize| labels.map(|labels| labels[i].as_str());
    let header = csv_header(z.columns(), labels.is_some());
    Ok(output.write_all(&csv_bytes(Some(header), Some((z, &label)))?)?)
}

fn csv_header(columns: usize, labelled: bool) -> Vec<String> {
    let label = labelled.then(|| "label".to_owned());
    (1..=columns).map(|j| format!("z{j}")).chain(label).collect()
}

/// Rows as text, with their labels behind them.
type Labelled<'a> = (&'a Rows, &'a dyn Fn(usize) -> Option<&'a str>);

fn csv_bytes(header: Option<Vec<String>>, rows: Option<Labelled<'_>>) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(header) = header {
        writer.write_record(&header)?;
    }
    let mut record: Vec<String> = Vec::new();
    if let Some((z, label)) = rows {
        for i in 0..z.len() {
            record.clear();
            record.extend(z.row(i).iter().map(|&z| format::exact(z)));
            record.extend(label(i).map(str::to_owned));
            writer.write_record(&record)?;
        }
    }
    Ok(writer.into_inner().map_err(csv::IntoInnerError::into_error)?)
}
