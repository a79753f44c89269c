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
use serde_json::json;
use std::path::Path;

/// Searches and writes `row,rank,neighbor,distance[,label]`.
pub(crate) fn run(args: &Neighbors) -> Result<()> {
    let model = with_outside(load_model(&args.model)?);
    let among = args.among.as_ref().unwrap_or(&args.data);
    let mut inputs: Vec<&Path> = vec![&args.model, &args.data, among];
    inputs.extend(args.labels.as_deref());
    let mut output = create_apart(&args.output, &inputs, args.json)?;
    let input = args.input.for_model(args.by_position);
    let labels = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let mut among = input.read_for(&model, among, labels)?;
    let z = transformed(&model, &mut among)?;
    let found = match &args.among {
        Some(_) if args.k > among.n => {
            bail!("-k is {}, but {} has only {}", args.k, among.source, format::count(among.n as u64, "row"))
        }
        Some(_) => {
            let mut table = input.read_for(&model, &args.data, LabelsIn::Nowhere)?;
            list(&z, &transformed(&model, &mut table)?, args.k, &table.row_numbers)?
        }
        None => list_others(&z, args.k, &among.row_numbers)?,
    };
    let mut writer = csv::Writer::from_writer(&mut output);
    let mut header = vec!["row", "rank", "neighbor", "distance"];
    header.extend(among.labels.as_ref().map(|_| "label"));
    writer.write_record(&header)?;
    let queries = found.len();
    for (row, neighbors) in found {
        for (rank, (index, distance)) in neighbors.into_iter().enumerate() {
            let mut record =
                vec![row.to_string(), (rank + 1).to_string(), among.row_numbers[index].to_string()];
            record.push(format::exact(distance));
            record.extend(among.labels.as_ref().map(|labels| labels[index].clone()));
            writer.write_record(&record)?;
        }
    }
    writer.flush()?;
    drop(writer);
    output.commit()?;
    tell_written(&args.output, &format::table(queries * args.k, header.len()));
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
