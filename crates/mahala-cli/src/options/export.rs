//! Options of `mahala export`.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `mahala export`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala export wine.safetensors -o wine.onnx    from X [n, d] to Z [n, rank]
  mahala export emb.safetensors -o map.npy       z = map · x up to a shift
  mahala export wine.safetensors --what matrix -o a.csv
  mahala export wine.safetensors -o wine.json    z = components · (x - mean)")]
pub(crate) struct Export {
    /// The model
    pub model: PathBuf,
    /// Where to write: .onnx, .npy, .csv or .json
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The format [default: from the name]
    #[arg(long, value_enum)]
    pub format: Option<Form>,
    /// Which matrix goes to NPY or CSV
    #[arg(long, value_enum, default_value_t = What::Components)]
    pub what: What,
    /// Single precision in ONNX
    #[arg(long)]
    pub f32: bool,
    /// Print a summary as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// A form to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A graph that maps rows to coordinates
    Onnx,
    /// An array for numpy.load
    Npy,
    /// A matrix as text
    Csv,
    /// Everything, as JSON
    Json,
}

impl Form {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::Npy => "npy",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// A matrix of the model, for rows as the user has them (scales included).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The map L: z = L·x up to a shift
    Components,
    /// The matrix A = L'L of the metric
    Matrix,
}

/// The form asked for, or else that of the name.
pub(crate) fn form_of(args: &Export) -> Result<Form> {
    let extension = args.output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    Ok(match (args.format, extension.as_deref()) {
        (Some(form), _) => form,
        (None, Some("onnx")) => Form::Onnx,
        (None, Some("npy")) => Form::Npy,
        (None, Some("csv")) => Form::Csv,
        (None, Some("json")) => Form::Json,
        _ => bail!(
            "{}: the name does not tell the format\nhint: --format onnx|npy|csv|json",
            args.output.display()
        ),
    })
}
