//! `mahala predict`: the class of each row, by a vote of its nearest neighbours.

use crate::commands::dataset::{labels, transformed};
use crate::commands::{create_output, load_model, with_outside};
use crate::options::input::{InputArgs, LabelsIn};
use crate::options::predict::Predict;
use crate::terminal::format;
use crate::terminal::message::print_message;
use crate::terminal::message::print_notes;
use crate::terminal::progress::Bar;
use anyhow::{Result, bail};
use mahala::data::canonical_label;
use mahala::local::LocalMaps;
use mahala::neighbors::Neighbors;
use mahala::{Knn, Labels, Model, Rows};
use mahala_io::Block;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

/// Predicts and writes `row,prediction,votes`.
pub(crate) fn run(args: &Predict) -> Result<()> {
    let mut model = load_model(&args.model)?;
    if args.train.is_some() {
        // Those kept in the model lie in the span of the training rows, where votes are exact without the rest.
        model = with_outside(model);
    }
    let train = args.train.as_deref().unwrap_or(&args.model);
    let mut inputs: Vec<&Path> = vec![&args.model, &args.data, train];
    inputs.extend(args.labels.as_deref());
    let mut output = create_output(&args.output, &inputs)?;
    let (voters, labels) = voters(args, &model)?;
    let k = neighbours(args, &model, voters.len())?;
    let voting = Voting::new(args, &model, voters, labels, k)?;
    let mut text = Text::default();
    text.header()?;
    let input = args.input.for_model(args.by_position);
    let truths = LabelsIn::of(args.label.as_ref(), args.labels.as_deref());
    let read = |input: &InputArgs| input.read_for(&model, &args.data, truths).map(Some);
    let table = match args.stream {
        true => None,
        false if truths.is_file() => read(&input)?,
        false => input.in_memory_or_stream(&args.data, read, || Ok(None))?,
    };
    let (score, labelled) = if let Some(mut table) = table {
        let found = voting.search(&transformed(&model, &mut table)?)?;
        let truth = |i: usize| table.labels.as_ref().map(|labels| labels[i].as_str());
        let score = text.rows(&voting, &found, &table.row_numbers, &truth)?;
        if truths.are_given() {
            score.check(&voting.labels)?;
        }
        output.write_all(&text.take()?)?;
        (score, table.labels.is_some())
    } else {
        let mut stream = input.stream_for(&model, &args.data, args.label.as_ref())?;
        let progress = Bar::spinner(&format!("predicting {}", stream.source));
        output.write_all(&text.take()?)?;
        let mut score = Score::default();
        let of_block =
            |block: &Block| -> Result<Found> { Ok(voting.search(&model.transform(&block.to_rows()?)?)?) };
        stream.each(of_block, |block, found| -> Result<()> {
            let numbers: Vec<u64> = block.numbers().collect();
            let truth = |i: usize| args.label.as_ref().map(|_| block.label(i));
            score.add(text.rows(&voting, &found?, &numbers, &truth)?);
            output.write_all(&text.take()?)?;
            Ok(())
        })?;
        progress.finish();
        print_notes(stream.notes());
        (score, args.label.is_some())
    };
    if truths.are_given() {
        score.check(&voting.labels)?;
    }
    output.commit()?;
    // The labels of a LIBSVM file are there unasked, and in a file of new rows often no classes.
    if labelled && score.unknown < score.rows {
        score.tell();
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
struct Voting<'a> {
    rows: Searched<'a>,
    labels: Labels,
    /// The classes' names as labels are compared: a model file of version 0.1.0 may spell them otherwise.
    canonical: Vec<String>,
    k: usize,
}

enum Searched<'a> {
    Global(Knn),
    Local(&'a LocalMaps, Rows),
}

/// Neighbours, and the class of each row by their vote.
struct Found {
    neighbors: Neighbors,
    classes: Vec<u32>,
}

impl<'a> Voting<'a> {
    fn new(args: &Predict, model: &'a Model, voters: Rows, labels: Labels, k: usize) -> Result<Self> {
        let rows = match (&args.train, &model.local) {
            (Some(_), Some(_)) => bail!(
                "this model has local metrics, which go with the rows they were learned on\nhint: leave --train out"
            ),
            (None, Some(maps)) => Searched::Local(maps, voters),
            _ => Searched::Global(Knn::new(voters)?),
        };
        let canonical = labels.names().iter().map(|name| canonical_label(name).into_owned()).collect();
        Ok(Self { rows, labels, canonical, k })
    }

    fn search(&self, z: &Rows) -> mahala::Result<Found> {
        let neighbors = match &self.rows {
            Searched::Global(knn) => knn.search(z, self.k)?,
            Searched::Local(maps, voters) => maps.search(voters, z, self.k)?,
        };
        let classes = neighbors.vote(&self.labels);
        Ok(Found { neighbors, classes })
    }
}

/// How many rows were predicted, how many of them wrongly, and how many are among those that vote.
#[derive(Default)]
struct Score {
    rows: usize,
    wrong: usize,
    learned: usize,
    /// Rows whose label is no class of those that vote, and some of these labels.
    unknown: usize,
    strange: BTreeSet<String>,
}

/// How many labels a message shows.
const SHOWN: usize = 5;

impl Score {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.wrong += other.wrong;
        self.learned += other.learned;
        self.unknown += other.unknown;
        other.strange.into_iter().for_each(|label| self.meet_strange(label));
    }

    fn meet_strange(&mut self, label: String) {
        if self.strange.len() < SHOWN {
            self.strange.insert(label);
        }
    }

    /// Counts a label that may be right, wrong, or none that could be predicted.
    fn judge(&mut self, truth: &str, predicted: u32, classes: &[String]) {
        let truth = canonical_label(truth);
        if classes[predicted as usize] == truth {
            return;
        }
        self.wrong += 1;
        if !classes.iter().any(|class| *class == truth) {
            self.unknown += 1;
            self.meet_strange(truth.into_owned());
        }
    }

    /// Errors cannot be counted where no label is a class.
    fn check(&self, labels: &Labels) -> Result<()> {
        if self.rows == 0 || self.unknown < self.rows {
            return Ok(());
        }
        let more = if self.strange.len() < SHOWN { "" } else { ", …" };
        let seen: Vec<&str> = self.strange.iter().map(String::as_str).collect();
        bail!(
            "none of the labels is a class of the rows that vote: the labels are {}{more}; the classes are {}\n\
             hint: is --label the right column? Without --label, rows are predicted and no errors are counted",
            seen.join(", "),
            listed(labels.names())
        );
    }

    fn tell(&self) {
        // A row at distance 0 is most likely the row itself.
        if 2 * self.learned > self.rows {
            let learned = format::count(self.learned as u64, "row");
            print_message(&format!(
                "note: {learned} also among those that vote: the error comes out too small"
            ));
        }
        if self.unknown > 0 {
            let seen: Vec<&str> = self.strange.iter().map(String::as_str).collect();
            print_message(&format!(
                "note: {} with a label that is no class of the rows that vote ({}): counted as wrong",
                format::count(self.unknown as u64, "row"),
                seen.join(", ")
            ));
        }
        let percent = 100.0 * self.wrong as f64 / self.rows as f64;
        print_message(&format!("{} of {} wrong ({percent:.2} %)", self.wrong, self.rows));
    }
}

fn listed(names: &[String]) -> String {
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    names[..names.len().min(SHOWN)].join(", ") + &more
}

/// Lines of the output.
struct Text(csv::Writer<Vec<u8>>);

impl Default for Text {
    fn default() -> Self {
        Self(csv::Writer::from_writer(Vec::new()))
    }
}

impl Text {
    fn header(&mut self) -> Result<()> {
        Ok(self.0.write_record(["row", "prediction", "votes"])?)
    }

    /// Adds predictions; counts the wrong ones where the truth is known.
    fn rows<'a>(
        &mut self,
        voting: &Voting<'_>,
        found: &Found,
        numbers: &[u64],
        truth: &dyn Fn(usize) -> Option<&'a str>,
    ) -> Result<Score> {
        let mut score = Score { rows: numbers.len(), ..Score::default() };
        for (i, (&class, number)) in found.classes.iter().zip(numbers).enumerate() {
            let votes = found.neighbors.votes(i, &voting.labels)[class as usize].to_string();
            let name = &voting.labels.names()[class as usize];
            self.0.write_record([&number.to_string(), name, &votes])?;
            if let Some(truth) = truth(i) {
                score.judge(truth, class, &voting.canonical);
            }
            score.learned += usize::from(found.neighbors.distances(i)[0] == 0.0);
        }
        Ok(score)
    }

    /// The lines so far.
    fn take(&mut self) -> Result<Vec<u8>> {
        Ok(std::mem::take(self).0.into_inner().map_err(csv::IntoInnerError::into_error)?)
    }
}

/// The transformed rows that vote, and their labels.
fn voters(args: &Predict, model: &Model) -> Result<(Rows, Labels)> {
    match (&args.train, &model.references) {
        (Some(path), _) => {
            let input = args.input.for_model(args.by_position);
            let mut table = input.read_for(model, path, args.train_label.as_ref())?;
            if table.labels.is_none() {
                bail!(
                    "{} was read without labels\nhint: name their column with --train-label COLUMN",
                    table.source
                );
            }
            let labels = labels(&table)?;
            Ok((transformed(model, &mut table)?, labels))
        }
        (None, Some(references)) => Ok(references.clone()),
        (None, None) => bail!(
            "{} holds no training rows to vote\nhint: --train FILE --train-label COLUMN, or fit again with --label \
             and --keep-rows always",
            args.model.display()
        ),
    }
}
