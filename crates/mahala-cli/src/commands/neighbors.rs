//! `mahala neighbors`: the nearest neighbours of rows.

use crate::commands::dataset::transformed;
use crate::commands::{create_apart, load_model, searching, shown, with_outside};
use crate::options::input::LabelsIn;
use crate::options::neighbors::Neighbors;
use crate::terminal::format;
use crate::terminal::message::{print_json, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::{Knn, Rows};
use mahala_io::Table;
use mahala_io::table_writer::{Columns, Holds, TableForm, TableWriter};
use serde_json::json;
use std::path::Path;

/// Searches and writes `row[,id],rank,neighbor[,neighbor_id],distance[,label]`.
pub(crate) fn run(args: &Neighbors) -> Result<()> {
    let model = with_outside(load_model(&args.model)?);
    let among = args.among.as_ref().unwrap_or(&args.data);
    let mut inputs: Vec<&Path> = vec![&args.model, &args.data, among];
    inputs.extend(args.labels.as_deref());
    let form = TableForm::of(&args.output)?;
    let output = create_apart(&args.output, &inputs, args.json)?;
    let input = args.input.for_model(args.by_position);
    let labels = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let (mut among, names) = input.read_named(&model, among, labels, args.id.as_ref())?;
    if form == TableForm::Npy && !labels.are_given() {
        // The labels of a LIBSVM file are there unasked.
        among.labels = None;
    }
    let columns = columns(args.id.is_some(), among.labels.is_some());
    form.check(&columns)?;
    let z = transformed(&model, &mut among)?;
    let mut of_queries = None;
    let found = match &args.among {
        Some(_) if args.k > among.n => {
            bail!("-k is {}, but {} has only {}", args.k, among.source, format::count(among.n as u64, "row"))
        }
        Some(_) => {
            let (mut table, named) =
                input.read_named(&model, &args.data, LabelsIn::Nowhere, args.id.as_ref())?;
            of_queries = Some(named);
            list(&z, &transformed(&model, &mut table)?, args.k, &table.row_numbers)?
        }
        None => list_others(&z, args.k, &among.row_numbers)?,
    };
    let queries = found.len();
    let names = Names { queries: of_queries.as_ref().unwrap_or(&names).as_deref(), among: names.as_deref() };
    let mut writer = TableWriter::new(output, form, &columns)?;
    for (part, found) in found.chunks(QUERIES).enumerate() {
        writer.write(form.encode(names.rows(part * QUERIES, found, &among))?)?;
    }
    writer.finish()?;
    tell_written(&args.output, &format::table(queries * args.k, columns.len()));
    if args.json {
        return print_json(
            "neighbors",
            json!({
                "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
                "among": args.among.as_ref().map(|path| path.display().to_string()), "output": shown(&args.output),
                "rows": queries, "searched": z.len(), "k": args.k,
            }),
        );
    }
    Ok(())
}

/// Queries whose neighbours are written at once.
const QUERIES: usize = 4096;

/// The columns of the output.
fn columns(named: bool, labelled: bool) -> Vec<(String, Holds)> {
    let mut columns = vec![("row", Holds::Integers)];
    columns.extend(named.then_some(("id", Holds::Text)));
    columns.extend([("rank", Holds::Integers), ("neighbor", Holds::Integers)]);
    columns.extend(named.then_some(("neighbor_id", Holds::Text)));
    columns.push(("distance", Holds::Numbers));
    columns.extend(labelled.then_some(("label", Holds::Text)));
    columns.into_iter().map(|(name, holds)| (name.to_owned(), holds)).collect()
}

/// What rows are called beside their numbers.
struct Names<'a> {
    queries: Option<&'a [String]>,
    among: Option<&'a [String]>,
}

impl Names<'_> {
    /// The neighbours of some queries, the first of which has this index.
    fn rows(&self, first: usize, found: &[Found], among: &Table) -> Vec<Columns> {
        let each = || {
            (first..).zip(found).flat_map(|(query, (row, near))| {
                (1..).zip(near).map(move |(rank, &(index, distance))| (query, *row, rank, index, distance))
            })
        };
        let text = |of: &[String], at: &dyn Fn(usize, usize) -> usize| {
            Columns::Text(each().map(|(query, _, _, index, _)| of[at(query, index)].clone()).collect())
        };
        let mut columns = vec![Columns::Integers(each().map(|one| one.1).collect())];
        columns.extend(self.queries.map(|names| text(names, &|query, _| query)));
        columns.push(Columns::Integers(each().map(|one| one.2).collect()));
        columns.push(Columns::Integers(each().map(|one| among.row_numbers[one.3]).collect()));
        columns.extend(self.among.map(|names| text(names, &|_, index| index)));
        columns.push(Columns::Numbers(each().map(|one| one.4).collect(), 1));
        columns.extend(among.labels.as_ref().map(|labels| text(labels, &|_, index| index)));
        columns
    }
}

/// A row's number, and its neighbours by index with their distances.
type Found = (u64, Vec<(usize, f64)>);

fn list(among: &Rows, queries: &Rows, k: usize, row_numbers: &[u64]) -> Result<Vec<Found>> {
    let progress = Bar::spinner(&searching(queries.len(), among.len()));
    let found = Knn::new(among.clone())?.search(queries, k)?;
    progress.finish();
    Ok(listed(&found, row_numbers))
}

fn listed(found: &mahala::neighbors::Neighbors, row_numbers: &[u64]) -> Vec<Found> {
    let neighbors =
        |i: usize| found.indices(i).iter().copied().zip(found.distances(i).iter().copied()).collect();
    (0..found.len()).map(|i| (row_numbers[i], neighbors(i))).collect()
}

fn list_others(rows: &Rows, k: usize, row_numbers: &[u64]) -> Result<Vec<Found>> {
    if k >= rows.len() {
        let others = format::count(rows.len().saturating_sub(1) as u64, "other");
        bail!("-k is {k}, but each row has only {others}");
    }
    let progress = Bar::spinner(&searching(rows.len(), rows.len()));
    let found = Knn::new(rows.clone())?.search_others(k)?;
    progress.finish();
    Ok(listed(&found, row_numbers))
}
