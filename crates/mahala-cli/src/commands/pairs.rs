//! `mahala pairs`: distances of pairs, and whether they are the same or different.

use crate::commands::{create_output, load_model};
use crate::options::{InputArgs, rows};
use crate::say;
use crate::terminal::table;
use anyhow::{Context as _, Result};
use clap::Args;
use mahala::{KernelMetric, Model, Pairs, Rows, area_under_curve, squared_pair_distances};
use mahala_io::pairs::{PairsFile, read_pairs};
use serde_json::json;
use std::io::Write as _;
use std::path::PathBuf;

/// Options of `mahala pairs`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala pairs m.safetensors rows.csv --pairs candidates.csv
      where candidates.csv has row numbers: first,second
  mahala pairs m.safetensors left.csv --second right.csv --pairs pairs.csv
  mahala pairs m.safetensors rows.csv --pairs candidates.csv --probabilities
  mahala pairs m.safetensors rows.csv --pairs marked.csv --json
      where marked.csv has first,second,similar: also says the accuracy")]
pub(crate) struct PairsCommand {
    /// The model
    pub model: PathBuf,
    /// Rows with the columns the model was learned on
    pub data: PathBuf,
    /// The pairs: row numbers from 1 in columns first and second, then similar and weight if known
    #[arg(long, value_name = "FILE")]
    pub pairs: PathBuf,
    /// The table with the second row of each pair [default: the same]
    #[arg(long, value_name = "FILE")]
    pub second: Option<PathBuf>,
    /// Call pairs at most this far apart the same [default: the model's]
    #[arg(long, value_name = "DISTANCE", value_parser = distance, allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Also write how likely each pair is the same (the model must be fitted with --calibrate)
    #[arg(long)]
    pub probabilities: bool,
    /// Where to write [default: stdout]
    #[arg(short, long, default_value = "-", hide_default_value = true, value_name = "FILE")]
    pub output: PathBuf,
    /// Write a summary as JSON instead of the pairs
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub input: InputArgs,
}

struct Summary {
    accuracy: f64,
    auc: f64,
}

/// Measures, decides, writes `first,second,distance,decision`.
pub(crate) fn run(args: &PairsCommand) -> Result<()> {
    let model = load_model(&args.model)?;
    let second = args.second.as_deref().unwrap_or(&args.data);
    let mut output = create_output(&args.output, &[&args.model, &args.data, second, &args.pairs])?;
    let mut first = args.input.read_for(&model, &args.data, None)?;
    let mut second = match &args.second {
        Some(path) => args.input.read_for(&model, path, None)?,
        None => first.clone(),
    };
    let file = read_pairs(&args.pairs, &first, &second, false)?;
    let threshold = args.threshold.or(model.threshold).context(
        "the model has no threshold\nhint: --threshold DISTANCE, or fit again with pairs or labels",
    )?;
    let squared = squared_distances(&model, &rows(&mut first)?, &rows(&mut second)?, &file.pairs)?;
    let distances: Vec<f64> = squared.into_iter().map(f64::sqrt).collect();
    let probabilities = probabilities(args, &model, &distances)?;
    // A graded pair has two entries; its first says all there is to write.
    let firsts: Vec<usize> =
        (0..distances.len()).filter(|&i| i == 0 || file.records[i] != file.records[i - 1]).collect();
    let summary = file.marked.then(|| summarise(&distances, &file, threshold));
    if args.json {
        let (accuracy, auc) = (summary.as_ref().map(|s| s.accuracy), summary.as_ref().map(|s| s.auc));
        let distances: Vec<f64> = firsts.iter().map(|&i| distances[i]).collect();
        let same = distances.iter().filter(|&&distance| distance <= threshold).count();
        let probabilities: Option<Vec<f64>> =
            probabilities.map(|all| firsts.iter().map(|&i| all[i]).collect());
        let json = json!({
            "pairs": distances.len(), "same": same, "threshold": threshold, "accuracy": accuracy, "auc": auc,
            "distances": distances, "probabilities": probabilities,
        });
        writeln!(output, "{json:#}")?;
        return Ok(output.commit()?);
    }
    let mut writer = csv::Writer::from_writer(&mut output);
    let mut header = vec!["first", "second", "distance", "decision"];
    header.extend(probabilities.as_ref().map(|_| "probability"));
    writer.write_record(&header)?;
    for i in firsts {
        let (pair, distance) = (&file.pairs.as_slice()[i], distances[i]);
        let decision = if distance <= threshold { "same" } else { "different" };
        let (a, b) = (first.row_numbers[pair.first], second.row_numbers[pair.second]);
        let mut record = vec![a.to_string(), b.to_string(), table::exact(distance), decision.to_owned()];
        record.extend(probabilities.as_ref().map(|all| table::exact(all[i])));
        writer.write_record(&record)?;
    }
    writer.flush()?;
    drop(writer);
    output.commit()?;
    if let Some(Summary { accuracy, auc }) = summary {
        say(&format!("{:.2} % decided right, area under the ROC curve {auc:.4}", 100.0 * accuracy));
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

fn distance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(distance) if distance.is_finite() && distance >= 0.0 => Ok(distance),
        _ => Err("it must be a distance: a finite number, at least 0".into()),
    }
}

fn summarise(distances: &[f64], file: &PairsFile, threshold: f64) -> Summary {
    let pairs = file.pairs.as_slice();
    let right = |(pair, distance): &(&mahala::Pair, &f64)| pair.similar == (**distance <= threshold);
    let right: f64 = pairs.iter().zip(distances).filter(right).map(|(pair, _)| pair.weight).sum();
    let all: f64 = pairs.iter().map(|pair| pair.weight).sum();
    let accuracy = if all > 0.0 { right / all } else { 0.0 };
    Summary { accuracy, auc: area_under_curve(distances, &file.pairs) }
}

fn squared_distances(model: &Model, first: &Rows, second: &Rows, pairs: &Pairs) -> Result<Vec<f64>> {
    Ok(match &model.kernel {
        None => squared_pair_distances(&model.metric, first, second, pairs)?,
        Some(map) => KernelMetric::new(map.clone(), model.metric.clone())?
            .squared_pair_distances(first, second, pairs)?,
    })
}
