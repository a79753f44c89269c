//! `mahala predict`: the class of each row, by a vote of its nearest neighbours.

use crate::args::{InputArgs, at_least, labels, transformed};
use crate::commands::{create_output, load_model};
use crate::input::ColumnRef;
use crate::{say, table};
use anyhow::{Result, bail};
use clap::Args;
use mahala::{Knn, Labels, Model, Rows};
use std::path::PathBuf;

/// Options of `mahala predict`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala predict wine.safetensors new-wines.csv
  mahala predict wine.safetensors test.csv --label class    counts the errors
  mahala predict m.safetensors new.csv --train old.csv --train-label class")]
pub(crate) struct Predict {
    /// The model
    pub model: PathBuf,
    /// Rows with the columns the model was learned on; - for stdin
    pub data: PathBuf,
    /// The true classes, if known: counts the errors
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Rows that vote [default: those kept in the model]
    #[arg(long, value_name = "FILE", requires = "train_label")]
    pub train: Option<PathBuf>,
    /// The column with their classes
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub train_label: Option<ColumnRef>,
    /// Neighbours that vote
    #[arg(short, long, default_value_t = 5, value_parser = at_least(1))]
    pub k: usize,
    /// Where to write [default: stdout]
    #[arg(short, long, default_value = "-", hide_default_value = true, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Predicts and writes `row,prediction,votes`.
pub(crate) fn run(args: &Predict) -> Result<()> {
    let model = load_model(&args.model)?;
    let train = args.train.as_deref().unwrap_or(&args.model);
    let mut output = create_output(&args.output, &[&args.model, &args.data, train])?;
    let (voters, labels) = voters(args, &model)?;
    if args.k > voters.len() {
        bail!("-k is {}, but only {} can vote", args.k, table::count(voters.len() as u64, "row"));
    }
    let mut table = args.input.read_for(&model, &args.data, args.label.as_ref())?;
    let z = transformed(&model, &mut table)?;
    let found = match (&args.train, &model.local) {
        (Some(_), Some(_)) => {
            bail!(
                "this model has local metrics, which go with the rows they were learned on\nhint: leave --train out"
            )
        }
        (None, Some(maps)) => maps.search(&voters, &z, args.k)?,
        _ => Knn::new(voters)?.search(&z, args.k)?,
    };
    let predicted = found.vote(&labels);
    let mut writer = csv::Writer::from_writer(&mut output);
    writer.write_record(["row", "prediction", "votes"])?;
    for (i, &class) in predicted.iter().enumerate() {
        let votes = found.votes(i, &labels)[class as usize].to_string();
        writer.write_record([&table.row_numbers[i].to_string(), &labels.names()[class as usize], &votes])?;
    }
    writer.flush()?;
    drop(writer);
    output.commit()?;
    if let Some(truth) = &table.labels {
        let wrong =
            predicted.iter().zip(truth).filter(|(p, truth)| labels.names()[**p as usize] != **truth).count();
        let percent = 100.0 * wrong as f64 / truth.len() as f64;
        // A row at distance 0 is most likely the row itself.
        let learned = (0..found.len()).filter(|&i| found.distances(i)[0] == 0.0).count();
        if 2 * learned > truth.len() {
            let learned = table::count(learned as u64, "row");
            say(&format!("note: {learned} also among those that vote: the error comes out too small"));
        }
        say(&format!("{wrong} of {} wrong ({percent:.2} %)", truth.len()));
    }
    Ok(())
}

/// The transformed rows that vote, and their labels.
fn voters(args: &Predict, model: &Model) -> Result<(Rows, Labels)> {
    match (&args.train, &model.references) {
        (Some(path), _) => {
            let mut table = args.input.read_for(model, path, args.train_label.as_ref())?;
            let labels = labels(&table)?;
            Ok((transformed(model, &mut table)?, labels))
        }
        (None, Some(references)) => Ok(references.clone()),
        (None, None) => bail!(
            "{} holds no training rows to vote\nhint: --train FILE --train-label COLUMN, or fit again with --label \
             and --keep-rows yes",
            args.model.display()
        ),
    }
}
