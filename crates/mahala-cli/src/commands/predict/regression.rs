//! `mahala predict` with a model of regression: the mean of the nearest rows' targets.

use crate::commands::dataset::{target, targets, transformed};
use crate::commands::predict::{known_rows, neighbours};
use crate::commands::read::in_stream;
use crate::commands::{create_beside, searching, shown, with_outside};
use crate::options::input::{InputArgs, LabelsIn};
use crate::options::predict::Predict;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, print_notes, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::evaluation::SquaredErrors;
use mahala::{Knn, Model, Rows};
use mahala_io::table_writer::{Columns, Holds, TableForm, TableWriter};
use mahala_io::{AtomicFile, Block, Table};
use serde_json::{Value, json};
use std::path::Path;

/// Rows whose targets are averaged.
struct Averaging {
    knn: Knn,
    targets: Vec<f64>,
    k: usize,
}

/// What was predicted so far.
#[derive(Default)]
struct Predicted {
    rows: usize,
    /// Rows at distance 0 of one that is kept.
    met_again: usize,
    errors: SquaredErrors,
}

/// Predicts and writes `row[,id],prediction`.
pub(super) fn run(args: &Predict, model: Model) -> Result<()> {
    if args.probabilities.is_some() {
        bail!("--probabilities goes with classes, and this model predicts numbers\nhint: leave it out");
    }
    let model = if args.train.is_some() { with_outside(model) } else { model };
    let train = args.train.as_deref().unwrap_or(&args.model);
    let mut inputs: Vec<&Path> = vec![&args.model, &args.data, train];
    inputs.extend(args.labels.as_deref());
    let form = TableForm::of(&args.output)?;
    form.check(&columns(args))?;
    let output = create_beside(&args.output, &inputs, args.json)?;
    let words = ["whose targets could be averaged", "--keep-rows always"];
    let (rows, targets) = known_rows(args, &model, model.targets.as_ref(), targets, words)?;
    let k = neighbours(args, &model, rows.len())?;
    let averaging = Averaging { knn: Knn::new(rows)?, targets, k };
    let truths = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let predicted = predict_all(args, &model, &averaging, truths, (form, output))?;
    tell_written(&args.output, &format::table(predicted.rows, columns(args).len()));
    let known = truths.are_given() && predicted.errors.rows() > 0;
    if args.json {
        return print_json(
            "predict",
            json!({
                "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
                "output": shown(&args.output), "rows": predicted.rows, "k": k, "classes": Value::Null,
                "score": known.then(|| predicted.to_json()),
            }),
        );
    }
    if known {
        predicted.tell();
    }
    Ok(())
}

/// Reads, predicts and writes, in memory or block by block.
fn predict_all(
    args: &Predict,
    model: &Model,
    averaging: &Averaging,
    truths: LabelsIn<'_>,
    (form, output): (TableForm, Option<AtomicFile>),
) -> Result<Predicted> {
    let input = args.input.for_model(args.by_position);
    let read = |input: &InputArgs| input.read_named(model, &args.data, truths, args.id.as_ref()).map(Some);
    let table = match args.stream {
        true => None,
        false if truths.is_file() || (truths.are_given() && args.id.is_some()) => read(&input)?,
        false => input.in_memory_or_stream(&args.data, read, || Ok(None))?,
    };
    let columns = columns(args);
    let mut writer = output.map(|output| TableWriter::new(output, form, &columns)).transpose()?;
    let mut predicted = Predicted::default();
    if let Some((table, ids)) = table {
        let rows = averaging.of_table(model, table, (truths, ids), &mut predicted)?;
        if let Some(writer) = &mut writer {
            writer.write(form.encode(rows)?)?;
        }
    } else {
        let mut stream = input.stream_for(model, &args.data, in_stream(args.id.as_ref(), truths)?)?;
        let progress = Bar::spinner(&format!("predicting {}", stream.source));
        let source = stream.source.clone();
        let of_block = |block: &Block| -> Result<_> { averaging.means(&model.transform(&block.to_rows()?)?) };
        stream.each(of_block, |block, found| -> Result<()> {
            let (means, met_again) = found?;
            let numbers: Vec<u64> = block.numbers().collect();
            if args.label.is_some() {
                let truth = |i: usize| target(block.label(i), numbers[i], &source);
                (0..block.len()).try_for_each(|i| truth(i).map(|y| predicted.errors.push(y, means[i])))?;
            }
            let ids = args.id.as_ref().map(|_| (0..block.len()).map(|i| block.label(i).to_owned()).collect());
            predicted.rows += means.len();
            predicted.met_again += met_again;
            if let Some(writer) = &mut writer {
                writer.write(form.encode(written(numbers, ids, means))?)?;
            }
            Ok(())
        })?;
        progress.finish();
        print_notes(stream.notes());
    }
    writer.map(TableWriter::finish).transpose()?;
    Ok(predicted)
}

impl Averaging {
    /// The mean target of the nearest rows of each row, and how many rows are at distance 0 of one.
    fn means(&self, z: &Rows) -> Result<(Vec<f64>, usize)> {
        let found = self.knn.search(z, self.k)?;
        let met_again = (0..found.len()).filter(|&i| found.distances(i)[0] == 0.0).count();
        Ok((found.mean_targets(&self.targets)?, met_again))
    }

    fn of_table(
        &self,
        model: &Model,
        mut table: Table,
        (truths, ids): (LabelsIn<'_>, Option<Vec<String>>),
        predicted: &mut Predicted,
    ) -> Result<Vec<Columns>> {
        let truth = if truths.are_given() { targets(&table)? } else { Vec::new() };
        let z = transformed(model, &mut table)?;
        let progress = Bar::spinner(&searching(z.len(), self.targets.len()));
        let (means, met_again) = self.means(&z)?;
        progress.finish();
        truth.iter().zip(&means).for_each(|(y, mean)| predicted.errors.push(*y, *mean));
        predicted.rows += means.len();
        predicted.met_again += met_again;
        Ok(written(table.row_numbers, ids, means))
    }
}

impl Predicted {
    fn tell(&self) {
        if 2 * self.met_again > self.rows {
            let rows = format::count(self.met_again as u64, "row");
            print_message(&format!(
                "note: {rows} also among those that are averaged: the error comes out too small"
            ));
        }
        let rmse = format::rounded(self.errors.rmse());
        print_message(&match self.errors.r_squared() {
            Some(r2) => format!("R² {r2:.4}, RMSE {rmse} over {}", format::count(self.rows as u64, "row")),
            None => format!("RMSE {rmse}; all targets are the same, and R² is not defined"),
        });
    }

    fn to_json(&self) -> Value {
        let Self { errors, met_again, .. } = self;
        json!({"r2": errors.r_squared(), "rmse": errors.rmse(), "also_voting": met_again})
    }
}

/// The columns of the output.
fn columns(args: &Predict) -> Vec<(String, Holds)> {
    let id = args.id.as_ref().map(|_| ("id", Holds::Text));
    let all = [("row", Holds::Integers)].into_iter().chain(id).chain([("prediction", Holds::Numbers)]);
    all.map(|(name, holds)| (name.to_owned(), holds)).collect()
}

fn written(numbers: Vec<u64>, ids: Option<Vec<String>>, means: Vec<f64>) -> Vec<Columns> {
    let id = ids.map(Columns::Text);
    [Columns::Integers(numbers)].into_iter().chain(id).chain([Columns::Numbers(means, 1)]).collect()
}
