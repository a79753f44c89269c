//! `mahala transform`: rows in the coordinates where the metric is Euclidean.

use crate::commands::coordinates::{self, Coordinates};
use crate::commands::read::in_stream;
use crate::commands::{create_apart, load_model, shown};
use crate::options::input::InputArgs;
use crate::options::transform::Transform;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, print_notes, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::Model;
use mahala_io::AtomicFile;
use mahala_io::Block;
use mahala_io::Missing;
use mahala_io::table_writer::{Columns, Encoded, Holds, TableForm, TableWriter};
use serde_json::json;

/// Transforms and writes.
pub(crate) fn run(args: &Transform) -> Result<()> {
    let model = load_model(&args.model)?;
    let form = TableForm::of(&args.output)?;
    if args.id.is_some() {
        form.check(&[("id".to_owned(), Holds::Text)])?;
    }
    if let Some(weight) = model.metric.weight_outside().filter(|_| model.kernel.is_none()) {
        print_message(&format!(
            "note: what lies outside the span of the training rows (weight {}) is not in these coordinates: distances \
             between other rows come out too small\nhint: mahala export -o map.npy writes a map with it",
            format::rounded(weight)
        ));
    }
    let output = create_apart(&args.output, &[&args.model, &args.data], args.json)?;
    let input = args.input.for_model(args.by_position);
    let read = |input: &InputArgs| {
        input.read_named(&model, &args.data, args.label.as_ref(), args.id.as_ref()).map(Some)
    };
    let table = match (args.stream, args.label.as_ref().and(args.id.as_ref())) {
        (true, _) => None,
        // Labels and names are two passes over the file.
        (false, Some(_)) => read(&input)?,
        (false, None) => input.in_memory_or_stream(&args.data, read, || Ok(None))?,
    };
    let Some((mut table, ids)) = table else { return stream(args, &input, &model, (form, output)) };
    let coordinates = Coordinates::new(&model, table.single)?;
    let z = coordinates.of_table(&mut table)?;
    let shape = Shape::of(args, form, &model, coordinates.holds(), table.labels.is_some());
    let mut writer = TableWriter::new(output, form, &shape.columns())?;
    for first in (0..table.n).step_by(ROWS) {
        let rows = first..table.n.min(first + ROWS);
        let part = |texts: &Option<Vec<String>>| texts.as_ref().map(|texts| texts[rows.clone()].to_vec());
        let numbers = table.row_numbers[rows.clone()].to_vec();
        writer.write(form.encode(shape.rows(
            coordinates::part(&z, rows.clone()),
            numbers,
            part(&ids),
            part(&table.labels),
        ))?)?;
    }
    writer.finish()?;
    tell(args, table.n, shape)
}

/// Says what was written.
fn tell(args: &Transform, rows: usize, shape: Shape) -> Result<()> {
    tell_written(&args.output, &format::table(rows, shape.columns().len()));
    if !args.json {
        return Ok(());
    }
    print_json(
        "transform",
        json!({
            "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
            "output": shown(&args.output), "rows": rows, "coordinates": shape.coordinates,
            "labelled": shape.labelled,
        }),
    )
}

/// Rows that are written at once.
const ROWS: usize = 4096;

/// The columns of the output: the coordinates, and what stands beside them.
#[derive(Clone, Copy)]
struct Shape {
    coordinates: usize,
    holds: Holds,
    named: bool,
    /// Row numbers, where rows may be left out and nothing else names them.
    numbered: bool,
    labelled: bool,
}

impl Shape {
    /// An array holds numbers alone, of which the first should be a coordinate.
    fn of(args: &Transform, form: TableForm, model: &Model, holds: Holds, labelled: bool) -> Self {
        let array = form == TableForm::Npy;
        let named = args.id.is_some();
        let numbered = !named && args.input.missing == Missing::Drop;
        if array && args.label.is_some() {
            print_message(
                "note: an array holds numbers alone: the labels are left out\nhint: .csv, .tsv and .parquet have them",
            );
        }
        if array && numbered {
            print_message(
                "note: an array does not tell which rows were dropped\nhint: .csv, .tsv and .parquet have their numbers",
            );
        }
        let coordinates = model.metric.rank();
        Self { coordinates, holds, named, numbered: numbered && !array, labelled: labelled && !array }
    }

    fn columns(self) -> Vec<(String, Holds)> {
        let id = self.named.then(|| ("id".to_owned(), Holds::Text));
        let number = self.numbered.then(|| ("row".to_owned(), Holds::Integers));
        let label = self.labelled.then(|| ("label".to_owned(), Holds::Text));
        let z = (1..=self.coordinates).map(|j| (format!("z{j}"), self.holds));
        id.into_iter().chain(number).chain(z).chain(label).collect()
    }

    fn rows(
        self,
        z: Columns,
        numbers: Vec<u64>,
        ids: Option<Vec<String>>,
        labels: Option<Vec<String>>,
    ) -> Vec<Columns> {
        let ids = ids.filter(|_| self.named).map(Columns::Text);
        let numbers = self.numbered.then_some(Columns::Integers(numbers));
        let labels = labels.filter(|_| self.labelled).map(Columns::Text);
        ids.into_iter().chain(numbers).chain([z]).chain(labels).collect()
    }
}

/// What a thread makes of a block.
enum Made {
    Coordinates(Columns),
    Encoded(Encoded),
}

/// Transforms block by block; each is encoded by the thread that parsed it.
fn stream(
    args: &Transform,
    input: &InputArgs,
    model: &Model,
    (form, output): (TableForm, AtomicFile),
) -> Result<()> {
    let beside = in_stream(args.id.as_ref(), args.label.as_ref().into())?;
    let mut stream = input.stream_for(model, &args.data, beside)?;
    let progress = Bar::reading(&format!("transforming {}", stream.source), stream.progress());
    let coordinates = Coordinates::new(model, stream.is_single())?;
    let shape = Shape::of(args, form, model, coordinates.holds(), args.label.is_some());
    let mut writer = TableWriter::new(output, form, &shape.columns())?;
    let text =
        |block: &Block| -> Vec<String> { (0..block.len()).map(|i| block.label(i).to_owned()).collect() };
    let (ids, labels) = (args.id.is_some(), args.label.is_some());
    let all = |block: &Block, z: Columns, numbers: Vec<u64>| {
        let (ids, labels) = (ids.then(|| text(block)), labels.then(|| text(block)));
        form.encode(shape.rows(z, numbers, ids, labels))
    };
    // The numbers of rows are known only in the order of the file.
    let of_block = |block: &Block| -> Result<Made> {
        let z = coordinates.of_rows(&block.to_rows()?)?;
        if shape.numbered {
            return Ok(Made::Coordinates(z));
        }
        Ok(Made::Encoded(all(block, z, Vec::new())?))
    };
    let mut rows = 0;
    stream.each(of_block, |block, made| -> Result<()> {
        rows += block.len();
        writer.write(match made? {
            Made::Encoded(encoded) => encoded,
            Made::Coordinates(z) => all(&block, z, block.numbers().collect())?,
        })?;
        Ok(())
    })?;
    progress.finish();
    if coordinates.holds() == Holds::Singles && !stream.is_single() {
        bail!(
            "{}: the first file has single precision, and another has double\nhint: give the files one type, or transform them \
             apart",
            stream.source
        );
    }
    writer.finish()?;
    print_notes(stream.notes());
    tell(args, rows, shape)
}
