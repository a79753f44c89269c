//! `mahala pairs`: distances of pairs, and whether they are the same or different.

use crate::commands::dataset::rows;
use crate::commands::{create_beside, load_model, shown};
use crate::options::input::LabelsIn;
use crate::options::pairs::PairsCommand;
use crate::terminal::format;
use crate::terminal::message::{print_json, print_message, tell_written};
use crate::terminal::progress::Bar;
use anyhow::{Context as _, Result};
use mahala::Model;
use mahala::metric::area_under_curve;
use mahala_io::pairs::{PairsFile, read_pairs};
use mahala_io::table_writer::{Columns, Holds, TableForm, TableWriter};
use serde_json::json;

struct Summary {
    accuracy: f64,
    auc: f64,
}

/// Measures, decides, writes `first,second,distance,decision`.
pub(crate) fn run(args: &PairsCommand) -> Result<()> {
    let model = load_model(&args.model)?;
    let second = args.second.as_deref().unwrap_or(&args.data);
    let form = TableForm::of(&args.output)?;
    let names = columns(args.probabilities);
    form.check(&names)?;
    let output = create_beside(&args.output, &[&args.model, &args.data, second, &args.pairs], args.json)?;
    let input = args.input.for_model(args.by_position);
    let mut first = input.read_for(&model, &args.data, LabelsIn::Nowhere)?;
    let mut second = match &args.second {
        Some(path) => input.read_for(&model, path, LabelsIn::Nowhere)?,
        None => first.clone(),
    };
    let file = read_pairs(&args.pairs, &first, &second, false)?;
    let threshold = args.threshold.or(model.threshold).context(
        "the model has no threshold\nhint: --threshold DISTANCE, or fit again with pairs or labels",
    )?;
    let progress = Bar::spinner(&format!("measuring {}", format::count(file.pairs.len() as u64, "pair")));
    let squared = model.squared_pair_distances(&rows(&mut first)?, &rows(&mut second)?, &file.pairs)?;
    let distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
    progress.finish();
    let probabilities = probabilities(args, &model, &distances)?;
    // A graded pair has two entries; its first says all there is to write.
    let firsts: Vec<usize> =
        (0..distances.len()).filter(|&i| i == 0 || file.records[i] != file.records[i - 1]).collect();
    let summary = file.marked.then(|| summarise(&distances, &file, threshold));
    if let Some(output) = output {
        let pairs = || firsts.iter().map(|&i| &file.pairs.as_slice()[i]);
        let numbers = |all: &[f64]| Columns::Numbers(firsts.iter().map(|&i| all[i]).collect(), 1);
        let decision = |&i: &usize| if distances[i] <= threshold { "same" } else { "different" }.to_owned();
        let mut columns = vec![
            Columns::Integers(pairs().map(|pair| first.row_numbers[pair.first]).collect()),
            Columns::Integers(pairs().map(|pair| second.row_numbers[pair.second]).collect()),
            numbers(&distances),
            Columns::Text(firsts.iter().map(decision).collect()),
        ];
        columns.extend(probabilities.as_deref().map(numbers));
        let mut writer = TableWriter::new(output, form, &names)?;
        writer.write(form.encode(columns)?)?;
        writer.finish()?;
    }
    tell_written(&args.output, &format::table(firsts.len(), names.len()));
    if args.json {
        let each = |all: &[f64]| -> Vec<f64> { firsts.iter().map(|&i| all[i]).collect() };
        let same = firsts.iter().filter(|&&i| distances[i] <= threshold).count();
        let (accuracy, auc) = (summary.as_ref().map(|s| s.accuracy), summary.as_ref().map(|s| s.auc));
        let mut json = json!({
            "model": args.model.display().to_string(), "dataset": args.data.display().to_string(),
            "output": shown(&args.output), "pairs": firsts.len(), "same": same, "threshold": threshold,
            "accuracy": accuracy, "auc": auc,
        });
        if args.each {
            json["distances"] = json!(each(&distances));
            json["probabilities"] = json!(probabilities.as_deref().map(each));
        }
        return print_json("pairs", json);
    }
    if let Some(Summary { accuracy, auc }) = summary {
        print_message(&format!("{:.2} % decided right, area under the ROC curve {auc:.4}", 100.0 * accuracy));
    }
    Ok(())
}

/// How likely each pair is the same, if that is asked for.
fn probabilities(args: &PairsCommand, model: &Model, distances: &[f64]) -> Result<Option<Vec<f64>>> {
    if !args.probabilities {
        return Ok(None);
    }
    let calibration = model.calibration.as_ref().context(
        "--probabilities: the model has none\nhint: fit it with --calibrate platt, or --calibrate isotonic",
    )?;
    Ok(Some(distances.iter().map(|&distance| calibration.probability(distance)).collect()))
}

/// The columns of the output.
fn columns(probabilities: bool) -> Vec<(String, Holds)> {
    let rows = [("first", Holds::Integers), ("second", Holds::Integers)];
    let judged = [("distance", Holds::Numbers), ("decision", Holds::Text)];
    let likely = probabilities.then_some(("probability", Holds::Numbers));
    let all = rows.into_iter().chain(judged).chain(likely);
    all.map(|(name, holds)| (name.to_owned(), holds)).collect()
}

fn summarise(distances: &[f64], file: &PairsFile, threshold: f64) -> Summary {
    let pairs = file.pairs.as_slice();
    let right = |(pair, distance): &(&mahala::pairs::Pair, &f64)| pair.similar == (**distance <= threshold);
    let right: f64 = pairs.iter().zip(distances).filter(right).map(|(pair, _)| pair.weight).sum();
    let all: f64 = pairs.iter().map(|pair| pair.weight).sum();
    let accuracy = if all > 0.0 { right / all } else { 0.0 };
    Summary { accuracy, auc: area_under_curve(distances, &file.pairs) }
}
