//! Options of `mahala pairs`.

use crate::options::input::InputArgs;
use clap::Args;
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
// Each is a switch of its own.
#[allow(clippy::struct_excessive_bools)]
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
    #[arg(long, help_heading = "Output")]
    pub probabilities: bool,
    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    /// Where to write: .csv, .tsv (.gz, .zst) or .parquet [default: CSV to stdout]
    #[arg(
        short,
        long,
        default_value = "-",
        hide_default_value = true,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub output: PathBuf,
    /// Print a summary as JSON; the pairs go to -o FILE alone
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// With --json, also the distance and probability of each pair
    #[arg(long, requires = "json", help_heading = "Output")]
    pub each: bool,
    #[command(flatten)]
    pub input: InputArgs,
}

fn distance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(distance) if distance.is_finite() && distance >= 0.0 => Ok(distance),
        _ => Err("it must be a distance: a finite number, at least 0".into()),
    }
}
