//! `mahala adapt`: embeddings adapted in closed form.

use crate::commands::dataset::{labels, rows};
use crate::commands::{create_output, described};
use crate::options::adapt::Adapt;
use crate::options::input::LabelsIn;
use crate::terminal::message::tell_written;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::data::Embeddings;
use mahala::embeddings::{Adaptation, Adapter, Classes};
use mahala::progress::silent;
use mahala_io::Table;
use mahala_io::judgements::read_judgements;
use mahala_io::pairs::read_pairs;
use mahala_io::tuples::read_triplets;
use serde_json::json;
use std::path::Path;

/// Learns, reports and writes.
pub(crate) fn run(args: &Adapt) -> Result<()> {
    let files = [&args.labels, &args.pairs, &args.triplets, &args.clicks, &args.queries];
    let mut inputs: Vec<&Path> = files.into_iter().flatten().map(|path| &**path).collect();
    inputs.push(&args.data);
    let output = args.output.as_deref().map(|path| create_output(path, &inputs)).transpose()?;
    let labels = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let mut table = args.input.for_embeddings().read(&args.data, labels)?;
    let names = table.names.clone();
    let adapter = Adapter {
        similarity: args.metric,
        classes: args.classes.unwrap_or_default(),
        n_components: args.n_components,
        criterion: args.criterion,
        max_gallery: args.selection_rows,
        seed: args.seed,
        ..Adapter::default()
    };
    let progress = Bar::spinner("choosing by held-out retrieval");
    let fit = fit(args, &adapter, &mut table)?;
    progress.finish();
    report(args, &fit)?;
    if let (Some(mut output), Some(path)) = (output, &args.output) {
        let mut model = fit.to_model();
        // Names that say no more than the place of a column would refuse rows from other files.
        if names.iter().enumerate().any(|(i, name)| *name != format!("f{}", i + 1)) {
            model.feature_names = names;
        }
        model.write_to(&mut output)?;
        output.commit()?;
        tell_written(path, &described(&model));
    }
    Ok(())
}

fn fit(args: &Adapt, adapter: &Adapter, table: &mut Table) -> Result<Adaptation> {
    if let Some(path) = &args.pairs {
        let file = read_pairs(path, table, table, true)?;
        let all = embeddings(table)?;
        let pairs = file.pairs.as_slice();
        if pairs.iter().any(|pair| pair.weight != 1.0) {
            bail!(
                "{}: pairs with weights or grades are not used here\nhint: leave the column of weights out",
                path.display()
            );
        }
        let side =
            |of: fn(&mahala::pairs::Pair) -> usize| all.subset(&pairs.iter().map(of).collect::<Vec<_>>());
        let similar: Vec<bool> = pairs.iter().map(|pair| pair.similar).collect();
        return Ok(adapter.fit_pairs(
            &side(|pair| pair.first)?,
            &side(|pair| pair.second)?,
            &similar,
            &mut silent,
        )?);
    }
    if let Some(path) = &args.triplets {
        let triplets = read_triplets(path, table)?;
        let all = embeddings(table)?;
        let list = triplets.as_slice();
        let side =
            |of: fn(&mahala::pairs::Triplet) -> usize| all.subset(&list.iter().map(of).collect::<Vec<_>>());
        let [queries, near, far] = [side(|t| t.anchor)?, side(|t| t.near)?, side(|t| t.far)?];
        return Ok(adapter.fit_triplets(&queries, &near, &far, &mut silent)?);
    }
    if let (Some(path), Some(queries)) = (&args.clicks, &args.queries) {
        let mut asked = args.input.for_embeddings().read(queries, None)?;
        let judgements = read_judgements(path, &asked, table)?;
        let (queries, documents) = (embeddings(&mut asked)?, embeddings(table)?);
        return Ok(adapter.fit_clicks(&queries, &documents, &judgements, &mut silent)?);
    }
    let labels = labels(table)?;
    let classes = labels.class_count();
    if adapter.classes == Classes::Unseen && classes < 4 {
        bail!(
            "--classes unseen holds out whole classes, and {} has {classes}; at least 4 are needed\nhint: label rows of more \
             classes, or leave --classes out",
            table.source
        );
    }
    Ok(adapter.fit_labels(&embeddings(table)?, labels.codes())?)
}

/// A table's rows in the precision they are held in; the cells are taken out of it.
pub(crate) fn embeddings(table: &mut Table) -> Result<Embeddings> {
    match table.embeddings.take() {
        Some(rows) => Ok(rows),
        None => Ok(Embeddings::from_rows(&rows(table)?)?),
    }
}

fn report(args: &Adapt, fit: &Adaptation) -> Result<()> {
    let Some(report) = fit.report() else { return Ok(()) };
    if args.json {
        let mut all = report.to_json();
        all["metric"] = json!(fit.similarity().to_string());
        return crate::terminal::message::print_json("adapt", all);
    }
    crate::terminal::message::print_result(&format!("{report}\n"))
}
