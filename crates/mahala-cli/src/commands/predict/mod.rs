//! `mahala predict`: the class of each row, by a vote of its nearest neighbours.

mod regression;
mod score;

use crate::commands::dataset::{labels, transformed};
use crate::commands::read::in_stream;
use crate::commands::{create_beside, load_model, searching, shown, with_outside};
use crate::options::input::{InputArgs, LabelsIn};
use crate::options::predict::{Predict, Probabilities};
use crate::terminal::format;
use crate::terminal::message::{print_json, print_notes, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::data::canonical_label;
use mahala::local::LocalIndex;
use mahala::neighbors::Neighbors;
use mahala::{Knn, Labels, Model, Rows};
use mahala_io::table_writer::{Columns, Holds, TableForm, TableWriter};
use mahala_io::{Block, Table};
use score::Score;
use serde_json::json;
use std::path::Path;

/// Predicts and writes `row[,id],prediction,votes`, and probabilities if asked for.
pub(crate) fn run(args: &Predict) -> Result<()> {
    let mut model = load_model(&args.model)?;
    if model.is_regression() {
        return regression::run(args, model);
    }
    if args.train.is_some() {
        // Those kept in the model lie in the span of the training rows, where votes are exact without the rest.
        model = with_outside(model);
    }
    let train = args.train.as_deref().unwrap_or(&args.model);
    let mut inputs: Vec<&Path> = vec![&args.model, &args.data, train];
    inputs.extend(args.labels.as_deref());
    let form = TableForm::of(&args.output)?;
    form.check(&columns(args, &[]))?;
    let output = create_beside(&args.output, &inputs, args.json)?;
    let words = ["to vote", "--label and --keep-rows always"];
    let (voters, labels) = known_rows(args, &model, model.references.as_ref(), labels, words)?;
    let k = neighbours(args, &model, voters.len())?;
    let voting = Voting::new(args, &model, voters, labels, k)?;
    let columns = columns(args, voting.labels.names());
    let input = args.input.for_model(args.by_position);
    let truths = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let read = |input: &InputArgs| input.read_named(&model, &args.data, truths, args.id.as_ref()).map(Some);
    let table = match args.stream {
        true => None,
        // Labels in a file, or beside names, need all rows at hand.
        false if truths.is_file() || (truths.are_given() && args.id.is_some()) => read(&input)?,
        false => input.in_memory_or_stream(&args.data, read, || Ok(None))?,
    };
    let writer = |output| TableWriter::new(output, form, &columns);
    let (score, labelled, writer) = if let Some((mut table, ids)) = table {
        let z = transformed(&model, &mut table)?;
        let progress = Bar::spinner(&searching(z.len(), voting.len()));
        let found = voting.search(&z)?;
        progress.finish();
        let truth = |i: usize| table.labels.as_ref().map(|labels| labels[i].as_str());
        let (score, rows) = predicted(args, &voting, &found, (&table.row_numbers, ids), &truth);
        if truths.are_given() {
            score.check(&voting.labels)?;
        }
        let mut writer = output.map(writer).transpose()?;
        if let Some(writer) = &mut writer {
            writer.write(form.encode(rows)?)?;
        }
        (score, table.labels.is_some(), writer)
    } else {
        let mut stream = input.stream_for(&model, &args.data, in_stream(args.id.as_ref(), truths)?)?;
        let progress = Bar::reading(&format!("predicting {}", stream.source), stream.progress());
        let mut writer = output.map(writer).transpose()?;
        let mut score = Score::default();
        let of_block =
            |block: &Block| -> Result<Found> { Ok(voting.search(&model.transform(&block.to_rows()?)?)?) };
        stream.each(of_block, |block, found| -> Result<()> {
            let numbers: Vec<u64> = block.numbers().collect();
            let truth = |i: usize| args.label.as_ref().map(|_| block.label(i));
            let ids = args.id.as_ref().map(|_| (0..block.len()).map(|i| block.label(i).to_owned()).collect());
            let (more, rows) = predicted(args, &voting, &found?, (&numbers, ids), &truth);
            score.add(more);
            if let Some(writer) = &mut writer {
                writer.write(form.encode(rows)?)?;
            }
            Ok(())
        })?;
        progress.finish();
        print_notes(stream.notes());
        (score, args.label.is_some(), writer)
    };
    if truths.are_given() {
        score.check(&voting.labels)?;
    }
    writer.map(TableWriter::finish).transpose()?;
    let names = voting.labels.names();
    tell_written(&args.output, &format::table(score.rows, columns.len()));
    let known = labelled && score.is_known();
    if args.json {
        return print_json(
            "predict",
            json!({
                "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
                "output": shown(&args.output), "rows": score.rows, "k": k, "classes": names,
                "score": known.then(|| score.to_json(names)),
            }),
        );
    }
    if known {
        score.tell(names);
    }
    Ok(())
}

/// How many neighbours vote: as typed, or as the model was fitted; models of old may not tell.
fn neighbours(args: &Predict, model: &Model, voters: usize) -> Result<usize> {
    let fitted = model.params["k"].as_u64().and_then(|k| usize::try_from(k).ok());
    let k = args.k.or(fitted).unwrap_or(5);
    let rows = format::count(voters as u64, "row");
    match args.k {
        Some(k) if k > voters => bail!("-k is {k}, but only {rows} can vote"),
        None if k > voters => {
            bail!("the model votes with {k} neighbours, but only {rows} can vote\nhint: -k N")
        }
        _ => Ok(k),
    }
}

/// Rows that vote, and how they are searched.
struct Voting {
    rows: Searched,
    labels: Labels,
    /// The classes' names as labels are compared: a model file of version 0.1.0 may spell them otherwise.
    canonical: Vec<String>,
    k: usize,
}

enum Searched {
    Global(Knn),
    Local(LocalIndex),
}

/// Neighbours, and the class of each row by their vote.
struct Found {
    neighbors: Neighbors,
    classes: Vec<u32>,
}

impl Voting {
    /// How many rows vote.
    fn len(&self) -> usize {
        self.labels.codes().len()
    }

    fn new(args: &Predict, model: &Model, voters: Rows, labels: Labels, k: usize) -> Result<Self> {
        let rows = match (&args.train, &model.local) {
            (Some(_), Some(_)) => bail!(
                "this model has local metrics, which go with the rows they were learned on\nhint: leave --train out"
            ),
            (None, Some(maps)) => Searched::Local(maps.index(&voters)?),
            _ => Searched::Global(Knn::new(voters)?),
        };
        let canonical = labels.names().iter().map(|name| canonical_label(name).into_owned()).collect();
        Ok(Self { rows, labels, canonical, k })
    }

    fn search(&self, z: &Rows) -> mahala::Result<Found> {
        let neighbors = match &self.rows {
            Searched::Global(knn) => knn.search(z, self.k)?,
            Searched::Local(index) => index.search(z, self.k)?,
        };
        let classes = neighbors.vote(&self.labels);
        Ok(Found { neighbors, classes })
    }
}

/// The columns of the output.
fn columns(args: &Predict, classes: &[String]) -> Vec<(String, Holds)> {
    let id = args.id.as_ref().map(|_| ("id", Holds::Text));
    let rest = [("prediction", Holds::Text), ("votes", Holds::Integers)];
    let all = [("row", Holds::Integers)].into_iter().chain(id).chain(rest);
    let classes = classes.iter().filter(|_| args.probabilities.is_some());
    let shares = classes.map(|name| (format!("p_{name}"), Holds::Numbers));
    all.map(|(name, holds)| (name.to_owned(), holds)).chain(shares).collect()
}

/// Predictions as columns; the wrong ones are counted where the truth is known.
fn predicted<'a>(
    args: &Predict,
    voting: &Voting,
    found: &Found,
    (numbers, ids): (&[u64], Option<Vec<String>>),
    truth: &dyn Fn(usize) -> Option<&'a str>,
) -> (Score, Vec<Columns>) {
    let mut score = Score::of(numbers.len());
    let weights = match args.probabilities {
        Some(Probabilities::Distance) => Some(found.neighbors.inverse_distances()),
        _ => None,
    };
    let (mut names, mut counts) = (Vec::with_capacity(numbers.len()), Vec::with_capacity(numbers.len()));
    let mut likely = Vec::new();
    for (i, &class) in found.classes.iter().enumerate() {
        let votes = found.neighbors.votes(i, &voting.labels);
        counts.push(votes[class as usize] as u64);
        names.push(voting.labels.names()[class as usize].clone());
        if args.probabilities.is_some() {
            likely.extend(shares(voting, found, i, weights.as_deref(), &votes));
        }
        if let Some(truth) = truth(i) {
            score.judge(truth, class, &voting.canonical);
        }
        score.learned += usize::from(found.neighbors.distances(i)[0] == 0.0);
    }
    let mut columns = vec![Columns::Integers(numbers.to_vec())];
    columns.extend(ids.map(Columns::Text));
    columns.extend([Columns::Text(names), Columns::Integers(counts)]);
    columns.extend(args.probabilities.map(|_| Columns::Numbers(likely, voting.labels.names().len())));
    (score, columns)
}

/// Of the neighbours of one row, the share of each class, each neighbour counting its weight or 1.
fn shares(
    voting: &Voting,
    found: &Found,
    row: usize,
    weights: Option<&[f64]>,
    votes: &[usize],
) -> impl Iterator<Item = f64> {
    let mut sums: Vec<f64> = votes.iter().map(|&count| count as f64).collect();
    if let Some(weights) = weights {
        sums.fill(0.0);
        let k = found.neighbors.k();
        let of_row = found.neighbors.indices(row).iter().zip(&weights[row * k..(row + 1) * k]);
        of_row.for_each(|(&i, weight)| sums[voting.labels.codes()[i] as usize] += weight);
    }
    let all: f64 = sums.iter().sum();
    sums.into_iter().map(move |sum| sum / all)
}

/// The transformed rows of `--train`, or those that the model keeps, with what `answers` reads from their labels. What is
/// missing is said in words: what the rows are for, and how to fit again.
fn known_rows<T: Clone>(
    args: &Predict,
    model: &Model,
    kept: Option<&(Rows, T)>,
    answers: impl Fn(&Table) -> Result<T>,
    [purpose, again]: [&str; 2],
) -> Result<(Rows, T)> {
    match (&args.train, kept) {
        (Some(path), _) => {
            let input = args.input.for_model(args.by_position);
            let mut table = input.read_for(model, path, args.train_label.as_ref())?;
            if table.labels.is_none() {
                bail!(
                    "{} was read without labels\nhint: name their column with --train-label COLUMN",
                    table.source
                );
            }
            let answers = answers(&table)?;
            Ok((transformed(model, &mut table)?, answers))
        }
        (None, Some(kept)) => Ok(kept.clone()),
        (None, None) => bail!(
            "{} holds no training rows {purpose}\nhint: --train FILE --train-label COLUMN, or fit again with {again}",
            args.model.display()
        ),
    }
}
