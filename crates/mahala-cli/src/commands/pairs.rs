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
use serde_json::json;

struct Summary {
    accuracy: f64,
    auc: f64,
}

/// Measures, decides, writes `first,second,distance,decision`.
pub(crate) fn run(args: &PairsCommand) -> Result<()> {
    let model = load_model(&args.model)?;
    let second = args.second.as_deref().unwrap_or(&args.data);
    let mut output = create_beside(&args.output, &[&args.model, &args.data, second, &args.pairs], args.json)?;
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
    let mut writer = csv::Writer::from_writer(&mut output);
    let mut header = vec!["first", "second", "distance", "decision"];
    header.extend(probabilities.as_ref().map(|_| "probability"));
    writer.write_record(&header)?;
    for &i in &firsts {
        let (pair, distance) = (&file.pairs.as_slice()[i], distances[i]);
        let decision = if distance <= threshold { "same" } else { "different" };
        let (a, b) = (first.row_numbers[pair.first], second.row_numbers[pair.second]);
        let mut record = vec![a.to_string(), b.to_string(), format::exact(distance), decision.to_owned()];
        record.extend(probabilities.as_ref().map(|all| format::exact(all[i])));
        writer.write_record(&record)?;
    }
    writer.flush()?;
    drop(writer);
    output.commit()?;
    tell_written(&args.output, &format::table(firsts.len(), header.len()));
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

fn summarise(distances: &[f64], file: &PairsFile, threshold: f64) -> Summary {
    let pairs = file.pairs.as_slice();
    let right = |(pair, distance): &(&mahala::pairs::Pair, &f64)| pair.similar == (**distance <= threshold);
    let right: f64 = pairs.iter().zip(distances).filter(right).map(|(pair, _)| pair.weight).sum();
    let all: f64 = pairs.iter().map(|pair| pair.weight).sum();
    let accuracy = if all > 0.0 { right / all } else { 0.0 };
    Summary { accuracy, auc: area_under_curve(distances, &file.pairs) }
}
