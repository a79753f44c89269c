//! `mahala retrieval`: measures of a search, before and after a model's map.

use crate::commands::adapt::embeddings;
use crate::commands::{load_model, searching};
use crate::options::input::LabelsIn;
use crate::options::retrieval::Retrieval;
use crate::terminal::message::{print_json, print_result};
use crate::terminal::progress::Bar;
use crate::terminal::table::render;
use anyhow::{Result, bail};
use mahala::data::Embeddings;
use mahala::retrieval::{
    Interval, Judgement, PairedTest, Resampling, Scores, Similarity, bootstrap_interval, by_judgements,
    by_labels, paired_test,
};
use mahala::{Labels, Model, Rows};
use mahala_io::Table;
use mahala_io::judgements::read_judgements;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What is searched, by what, and what is relevant.
struct Question {
    gallery: Embeddings,
    queries: Option<Embeddings>,
    relevance: Relevance,
}

enum Relevance {
    /// Codes of the gallery's rows, then of the queries'.
    Codes(Vec<u32>),
    Judged(Vec<Judgement>),
}

/// Measures and prints.
pub(crate) fn run(args: &Retrieval) -> Result<()> {
    let model = args.model.as_deref().map(load_model).transpose()?;
    let similarity = similarity(args, model.as_ref())?;
    let question = read(args, model.as_ref())?;
    let progress = Bar::spinner(&searching(
        question.queries.as_ref().map_or(question.gallery.len(), Embeddings::len),
        question.gallery.len(),
    ));
    let before = measured(args, &question, similarity)?;
    let after = match &model {
        Some(model) => Some(measured(args, &mapped(model, question)?, similarity)?),
        None => None,
    };
    progress.tell("resampling queries for the intervals");
    let resampling = Resampling { confidence: args.confidence, seed: args.seed, ..Resampling::default() };
    let mut rows = Vec::new();
    for (place, measure) in args.criterion.iter().enumerate() {
        let interval = |scores: &Scores| bootstrap_interval(&scores.values[place], None, resampling);
        let compared = after.as_ref().map(|after| -> Result<(Interval, PairedTest)> {
            let test = paired_test(&before.values[place], &after.values[place], None, resampling)?;
            Ok((interval(after)?, test))
        });
        rows.push((measure.to_string(), interval(&before)?, compared.transpose()?));
    }
    progress.finish();
    if args.json {
        return print_json("retrieval", as_json(&rows, similarity));
    }
    print_result(&as_text(&rows, similarity))
}

/// The similarity is the model's: said once, checked ever after.
fn similarity(args: &Retrieval, model: Option<&Model>) -> Result<Similarity> {
    let Some(model) = model else { return Ok(args.metric.unwrap_or(Similarity::Cosine)) };
    let own = model.searched_by();
    match (args.metric, own) {
        (Some(asked), Some(own)) if asked != own => bail!(
            "--metric {asked}: the model is for {own}\nhint: leave --metric out, or adapt again with --metric {asked}"
        ),
        (asked, own) => Ok(own.or(asked).unwrap_or(Similarity::L2)),
    }
}

fn read(args: &Retrieval, model: Option<&Model>) -> Result<Question> {
    let input = args.input.for_model(args.by_position).for_embeddings();
    let table = |path, labels: Option<&PathBuf>| {
        let labels = LabelsIn::of(args.label.as_ref(), labels.map(PathBuf::as_path));
        match model {
            Some(model) => input.read_for(model, path, labels),
            None => input.read(path, labels),
        }
    };
    if args.labels.is_some() && args.queries.is_some() && args.query_labels.is_none() {
        bail!(
            "--labels has the classes of the gallery alone\nhint: give those of the queries with --query-labels FILE"
        );
    }
    let mut gallery = table(&args.data, args.labels.as_ref())?;
    let queries = args.queries.as_deref();
    let mut queries = queries.map(|path| table(path, args.query_labels.as_ref())).transpose()?;
    let relevance = match (&args.judgements, &queries) {
        (Some(path), Some(queries)) => Relevance::Judged(read_judgements(path, queries, &gallery)?),
        _ => Relevance::Codes(codes(&gallery, queries.as_ref())?),
    };
    let queries = queries.as_mut().map(embeddings).transpose()?;
    Ok(Question { gallery: embeddings(&mut gallery)?, queries, relevance })
}

/// One numbering of the classes of both tables.
fn codes(gallery: &Table, queries: Option<&Table>) -> Result<Vec<u32>> {
    let mut names = Vec::new();
    for table in std::iter::once(gallery).chain(queries) {
        match &table.labels {
            Some(labels) => names.extend(labels),
            None => bail!(
                "{} was read without labels\nhint: name the label column with --label COLUMN, or a file with --labels FILE",
                table.source
            ),
        }
    }
    Ok(Labels::new(names).codes().to_vec())
}

fn mapped(model: &Model, question: Question) -> Result<Question> {
    let of = |table: &Embeddings| -> Result<Embeddings> {
        if model.params["method"] == "embeddings" {
            return Ok(mahala::embeddings::Adaptation::from_model(model)?.transform(table)?);
        }
        let cells = (0..table.len()).flat_map(|i| table.row(i)).collect();
        Ok(Embeddings::from(&model.transform(&Rows::new(cells, table.columns())?)?))
    };
    let queries = question.queries.as_ref().map(of).transpose()?;
    Ok(Question { gallery: of(&question.gallery)?, queries, relevance: question.relevance })
}

fn measured(args: &Retrieval, question: &Question, similarity: Similarity) -> Result<Scores> {
    let Question { gallery, queries, relevance } = question;
    Ok(match (relevance, queries) {
        (Relevance::Judged(judged), Some(queries)) => {
            by_judgements(gallery, queries, judged, &args.criterion, similarity)?
        }
        (Relevance::Codes(codes), queries) => {
            let (own, asked) = codes.split_at(gallery.len());
            by_labels(
                gallery,
                own,
                queries.as_ref().map(|queries| (queries, asked)),
                &args.criterion,
                similarity,
            )?
        }
        (Relevance::Judged(_), None) => bail!("--judgements needs --queries FILE"),
    })
}

type Row = (String, Interval, Option<(Interval, PairedTest)>);

fn as_text(rows: &[Row], similarity: Similarity) -> String {
    let compared = rows.iter().any(|row| row.2.is_some());
    let name = format!("{similarity}");
    let header = if compared { vec![&*name, "before", "after", "difference"] } else { vec![&*name, "mean"] };
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|(measure, before, after)| {
            let mut line = vec![measure.clone(), before.to_string()];
            line.extend(after.iter().flat_map(|(after, test)| [after.to_string(), test.to_string()]));
            line
        })
        .collect();
    let queries = rows.first().map_or(0, |row| row.1.queries);
    format!("{}  {queries} queries\n", render(&header, &lines))
}

fn as_json(rows: &[Row], similarity: Similarity) -> Value {
    let interval = |i: &Interval| json!({"mean": i.mean, "low": i.low, "high": i.high, "queries": i.queries});
    let test =
        |t: &PairedTest| json!({"mean": t.difference, "low": t.low, "high": t.high, "p_value": t.p_value});
    let measures: serde_json::Map<String, Value> = rows
        .iter()
        .map(|(measure, before, after)| {
            let mut entry = json!({"before": interval(before)});
            if let Some((after, difference)) = after {
                entry["after"] = interval(after);
                entry["difference"] = test(difference);
            }
            (measure.clone(), entry)
        })
        .collect();
    json!({"metric": similarity.to_string(), "measures": measures})
}
