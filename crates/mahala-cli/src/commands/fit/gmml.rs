//! `mahala fit` by the closed form: from labels, from sets of labels, from pairs.

use crate::commands::constraints::{Given, chunks, given_pairs};
use crate::commands::dataset::{dataset, labels, rows};
use crate::commands::described;
use crate::commands::explain::explain;
use crate::commands::fit::{keeps_rows, rows_not_kept};
use crate::commands::label_sets::LabelSets;
use crate::options::extensions::LocalBy;
use crate::options::fit::{Fit, KeepRows};
use crate::options::target::PairsArg;
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::{print_json, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Context as _, Result, bail};
use mahala::data::SparseRows;
use mahala::gmml::FitOptions;
use mahala::gmml::{Criterion, Diagnostics, HeldOut, LearnedSpan, Selection};
use mahala::local::LocalGmml;
use mahala::local::LocalMetrics;
use mahala::metric::{
    best_threshold, squared_pair_distances, threshold_for_labels, threshold_in_coordinates,
};
use mahala::pairs::{Chunklets, Pairs};
use mahala::progress::Progress;
use mahala::{Dataset, Gmml, Labels, Model, Rows};
use mahala_io::AtomicFile;
use mahala_io::Table;
use mahala_io::tuples::{read_quadruplets, read_triplets};
use serde_json::json;

/// Training rows, as they are kept while learning.
enum Cells {
    Dense(Dataset),
    Sparse(SparseRows),
}

/// A model, and what the report tells beside it.
pub(super) struct Learned {
    pub model: Model,
    pub t: f64,
    pub diagnostics: Diagnostics,
}

/// Learns, writes, reports.
pub(super) fn fit_gmml(
    args: &Fit,
    gmml: &Gmml,
    data: &mut Table,
    groups: Option<&Labels>,
    weights: Option<&[f64]>,
    output: AtomicFile,
) -> Result<()> {
    let learned = match (&args.target.multilabel, args.extensions.local) {
        _ if args.target.chunks.is_some() => fit_chunks(args, gmml, data, groups)?,
        _ if args.target.has_pairs() => fit_pairs(args, gmml, data)?,
        (Some(separator), _) => fit_label_sets(args, gmml, data, separator)?,
        (None, Some(by)) => fit_local(args, gmml, data, by)?,
        (None, None) => fit_labels(args, gmml, data, groups, weights)?,
    };
    write_and_report(args, &learned, data, output)
}

/// Writes the model and tells about it; of the table, only names and counts are looked at.
pub(super) fn write_and_report(
    args: &Fit,
    learned: &Learned,
    data: &Table,
    mut output: AtomicFile,
) -> Result<()> {
    let model = &learned.model;
    model.write_to(&mut output)?;
    output.commit()?;
    if args.json {
        let summary = json!({
            "model": args.output.display().to_string(), "n": data.n, "d": data.names.len(),
            "rank": model.metric.rank(), "t": learned.t, "threshold": model.threshold,
            "params": model.params, "diagnostics": model.diagnostics,
        });
        return print_json("fit", summary);
    }
    report(args, learned, data);
    Ok(())
}

fn fit_labels(
    args: &Fit,
    gmml: &Gmml,
    table: &mut Table,
    groups: Option<&Labels>,
    weights: Option<&[f64]>,
) -> Result<Learned> {
    let labels = labels(table)?;
    let bar = Bar::over("choosing t", mahala::gmml::VALUES_OF_T * gmml.folds);
    let progress = &mut |step| bar.show(step);
    let (mut learned, z) = match args.kernel.kernel {
        Some(_) => fit_kernel(args, gmml, table, &labels, progress)?,
        None => fit_linear(args, gmml, table, &labels, (groups, weights), progress)?,
    };
    bar.finish();
    if learned.model.threshold.is_none() {
        learned.model.threshold = Some(threshold_in_coordinates(&z, &labels, gmml.seed)?);
    }
    if keeps_rows(args, z.len(), z.columns()) {
        learned.model.references = Some((z, labels));
    }
    Ok(learned)
}

/// The model, and the rows in its coordinates.
fn fit_linear(
    args: &Fit,
    gmml: &Gmml,
    table: &mut Table,
    labels: &Labels,
    (groups, weights): (Option<&Labels>, Option<&[f64]>),
    progress: &mut Progress<'_>,
) -> Result<(Learned, Rows)> {
    let cells = match table.sparse.take() {
        Some(rows) => Cells::Sparse(rows),
        None => Cells::Dense(Dataset::new(rows(table)?, labels.clone())?),
    };
    let options = FitOptions { weights, groups };
    let fit = match &cells {
        Cells::Sparse(rows) => gmml.fit_sparse(rows, labels, progress),
        Cells::Dense(data) => gmml.fit_with(data, &options, progress),
    };
    let fit = fit.map_err(|error| explain(error, &table.names))?;
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let mut model = fit.into_model(gmml, table.names.clone(), None, None)?;
    let z = match &cells {
        Cells::Sparse(rows) => model.transform_sparse(rows)?,
        Cells::Dense(data) => model.transform(data.rows())?,
    };
    if let (Some(method), Cells::Dense(data)) = (args.calibrate, &cells) {
        let held = gmml.held_out_rows(data, t)?;
        model.calibration = Some(method.fit(&held)?);
        model.threshold = Some(best_threshold(&held.distances, &held.pairs));
    }
    Ok((Learned { model, t, diagnostics }, z))
}

/// The same with a kernel.
fn fit_kernel(
    args: &Fit,
    gmml: &Gmml,
    table: &mut Table,
    labels: &Labels,
    progress: &mut Progress<'_>,
) -> Result<(Learned, Rows)> {
    let data = Dataset::new(rows(table)?, labels.clone())?;
    let kernel = args.kernel.kernel_gmml(gmml, data.rows());
    let fit = kernel
        .fit_with(&data, &FitOptions::default(), progress)
        .map_err(|error| explain(error, &table.names))?;
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let mut model = fit.into_model(&kernel, table.names.clone());
    model.keep_training_means(data.rows());
    let z = model.transform(data.rows())?;
    Ok((Learned { model, t, diagnostics }, z))
}

fn fit_local(args: &Fit, gmml: &Gmml, table: &mut Table, by: LocalBy) -> Result<Learned> {
    let data = dataset(table)?;
    let local = LocalGmml { gmml: gmml.clone(), by: by.0, share: args.extensions.share };
    let bar = Bar::over("choosing t and share", mahala::gmml::VALUES_OF_T * gmml.folds);
    let progress = &mut |step| bar.show(step);
    let local = local
        .fit_with(&data, &FitOptions::default(), progress)
        .map_err(|error| explain(error, &table.names))?;
    bar.finish();
    let threshold = threshold_for_labels(&local.fit.metric, &data, gmml.seed)?;
    print_message(&describe_local(&local));
    let (t, diagnostics) = (local.fit.t, local.fit.diagnostics.clone());
    let mut model = local.fit.into_model(gmml, table.names.clone(), None, Some(threshold))?;
    model.params["local"] = json!(by.to_string());
    model.params["share_used"] = json!(local.share);
    model.diagnostics["share_curve"] = json!(local.curve);
    (model.references, model.local) = (Some(local.references), Some(local.maps));
    Ok(Learned { model, t, diagnostics })
}

/// Rows with several labels each: pairs of them, as similar as their labels overlap.
fn fit_label_sets(args: &Fit, gmml: &Gmml, table: &mut Table, separator: &str) -> Result<Learned> {
    let sets = LabelSets::of(table, separator, args.target.pair_budget)?;
    let pairs = sets.pairs(&(0..sets.len()).collect::<Vec<_>>(), gmml.seed)?;
    let rows = rows(table)?;
    let mut learned = learn_pairs(args, gmml, table, [&rows, &rows], &pairs)?;
    learned.model.params["multilabel"] = json!(separator);
    Ok(learned)
}

/// Rows in chunks: those of one are similar, those of two are not. t is chosen as if chunks were classes.
fn fit_chunks(args: &Fit, gmml: &Gmml, table: &mut Table, names: Option<&Labels>) -> Result<Learned> {
    let chunklets = Chunklets::new(&chunks(names.context("there is no column of chunks")?))?;
    let labels = labels_to_keep(args, table)?;
    let rows = rows(table)?;
    let data = chunklets.as_classes(&rows)?;
    let bar = Bar::over("choosing t", mahala::gmml::VALUES_OF_T * gmml.folds);
    let fit = gmml.fit_with(&data, &FitOptions::default(), &mut |step| bar.show(step));
    let fit = fit.map_err(|error| explain(error, &table.names))?;
    bar.finish();
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let threshold = threshold_for_labels(&fit.metric, &data, gmml.seed)?;
    let references = labels.as_ref().map(|labels| (&rows, labels));
    let mut model = fit.into_model(gmml, table.names.clone(), references, Some(threshold))?;
    model.params["pairs"] = json!("given");
    if let Some(method) = args.calibrate {
        let held = gmml.held_out_rows(&data, t)?;
        model.calibration = Some(method.fit(&held)?);
        model.threshold = Some(best_threshold(&held.distances, &held.pairs));
    }
    Ok(Learned { model, t, diagnostics })
}

fn fit_pairs(args: &Fit, gmml: &Gmml, table: &mut Table) -> Result<Learned> {
    let Given { first, second, pairs } =
        match (&args.target.pairs, &args.target.triplets, &args.target.quadruplets) {
            (PairsArg::File(_), ..) => given_pairs(&args.target, &args.input, table)?,
            (_, Some(path), _) => of_one_table(table, |table| Ok(read_triplets(path, table)?.to_pairs()))?,
            (_, None, Some(path)) => {
                of_one_table(table, |table| Ok(read_quadruplets(path, table)?.to_pairs()))?
            }
            _ => bail!("there are no pairs to learn from\nhint: --pairs FILE"),
        };
    learn_pairs(args, gmml, table, [&first, second.as_ref().unwrap_or(&first)], &pairs)
}

fn of_one_table(table: &mut Table, read: impl FnOnce(&Table) -> Result<Pairs>) -> Result<Given> {
    let pairs = read(table)?;
    Ok(Given { first: rows(table)?, second: None, pairs })
}

/// The labels of rows to keep in a model learned from pairs, if they have some.
pub(super) fn labels_to_keep(args: &Fit, table: &Table) -> Result<Option<Labels>> {
    if table.labels.is_some() && args.keep_rows != KeepRows::Never {
        labels(table).map(Some)
    } else {
        Ok(None)
    }
}

/// Learns from pairs between two tables, then sets threshold and probabilities.
fn learn_pairs(
    args: &Fit,
    gmml: &Gmml,
    table: &Table,
    [first, second]: [&Rows; 2],
    pairs: &Pairs,
) -> Result<Learned> {
    let explained = |error| explain(error, &table.names);
    let fit = gmml.fit_two_tables(first, second, pairs).map_err(explained)?;
    let held = if args.calibrate.is_some() {
        gmml.held_out_pairs(first, second, pairs, fit.t).map_err(explained)?
    } else {
        let squared = squared_pair_distances(&fit.metric, first, second, pairs)?;
        HeldOut { distances: squared.into_iter().map(f64::sqrt).collect(), pairs: pairs.clone() }
    };
    let threshold = best_threshold(&held.distances, &held.pairs);
    let labels = labels_to_keep(args, table)?;
    let references = labels.as_ref().map(|labels| (first, labels));
    let (t, diagnostics) = (fit.t, fit.diagnostics.clone());
    let mut model = fit.into_model(gmml, table.names.clone(), references, Some(threshold))?;
    model.params["pairs"] = json!("given");
    model.calibration = args.calibrate.map(|method| method.fit(&held)).transpose()?;
    Ok(Learned { model, t, diagnostics })
}

fn report(args: &Fit, learned: &Learned, data: &Table) {
    let diagnostics = &learned.diagnostics;
    print_message(&format!(
        "learned from {} x {}: {} similar and {} dissimilar {}",
        format::count(data.n as u64, "row"),
        format::count(data.names.len() as u64, "column"),
        format::grouped(diagnostics.similar.pairs),
        format::grouped(diagnostics.dissimilar.pairs),
        if diagnostics.dissimilar.pairs == 1 { "pair" } else { "pairs" }
    ));
    match &diagnostics.selection {
        Some(selection) => print_message(&choice(selection)),
        None => print_message(&format!("t = {} as given", learned.t)),
    }
    print_message(&format!(
        "condition of S {:.1e}, of D {:.1e}",
        diagnostics.condition_s, diagnostics.condition_d
    ));
    if let Some(reason) = diagnostics.rounding_reason() {
        print_message(&format!("warning: {reason}"));
    }
    notes(args, learned, data).iter().for_each(|note| print_message(&format!("note: {note}")));
    tell_written(&args.output, &described(&learned.model));
}

/// How t was chosen, and how good it was.
fn choice(selection: &Selection) -> String {
    let least = selection.curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let (on, score) = match selection.criterion {
        Criterion::KnnError => ("row", format!("error {:.2} %", 100.0 * least)),
        Criterion::BalancedKnnError => ("row", format!("mean error of the classes {:.2} %", 100.0 * least)),
        Criterion::PairRanking => ("pair", format!("area under the ROC curve {:.4}", 1.0 - least)),
    };
    format!(
        "t = {} chosen on {} by cross-validation over {} ({score})",
        selection.t,
        format::count(selection.rows as u64, on),
        format::count(selection.folds as u64, "fold")
    )
}

fn notes(args: &Fit, learned: &Learned, data: &Table) -> Vec<String> {
    let (diagnostics, model) = (&learned.diagnostics, &learned.model);
    let mut notes: Vec<String> = diagnostics.span.iter().map(|s| span(s, model.weight_outside())).collect();
    notes.extend(diagnostics.ridge_reason());
    if !diagnostics.constant_columns.is_empty() {
        let names: Vec<&str> = diagnostics.constant_columns.iter().map(|&j| &*data.names[j]).collect();
        let which =
            if args.target.has_pairs() { "columns that differ in no pair" } else { "constant columns" };
        notes.push(format!("{which} have weight 0: {}", format::first_names(&names)));
    }
    let labelled = diagnostics.selection.as_ref().filter(|s| s.criterion != Criterion::PairRanking);
    if let Some(selection) = labelled {
        let plain = Gmml::default();
        let (k, folds) = (args.learn.k.unwrap_or(plain.k), args.learn.folds.unwrap_or(plain.folds));
        let fewest = selection.rows - selection.rows.div_ceil(folds.min(selection.rows));
        if k > fewest {
            notes.push(format!("t was chosen with {fewest} voting neighbours, as there are not {k}"));
        }
    }
    notes.extend(rows_not_kept(data, model));
    notes
}

/// Where learning happened, if not in all columns, and what the rest counts.
fn span(span: &LearnedSpan, weight_outside: Option<f64>) -> String {
    let directions = format::count(span.directions as u64, "direction");
    let weight = weight_outside.map_or("0".into(), format::rounded);
    if span.randomized {
        let outside = 100.0 * span.outside;
        return format!(
            "learned inside {directions}; {outside:.2} % of the rows' squared lengths lie outside, with weight {weight}"
        );
    }
    format!("learned inside the {directions} that the rows span; what lies outside has weight {weight}")
}

/// What was learned locally, in words.
pub(crate) fn describe_local(local: &LocalMetrics) -> String {
    let metrics = format::count(local.maps.maps().len() as u64, "local metric");
    let error = |share: f64| local.curve.iter().find(|point| point.0 == share).map(|point| 100.0 * point.1);
    match (error(0.0), error(local.share)) {
        (Some(global), Some(least)) => format!(
            "{metrics}: share {} chosen by cross-validation (error {least:.2} %, global {global:.2} %)",
            local.share
        ),
        _ => format!("{metrics}: share {} as given", local.share),
    }
}
