//! Options of `mahala fit`.

use crate::options::extensions::{CalibrationMethod, ExtensionArgs};
use crate::options::input::InputArgs;
use crate::options::kernel::KernelArgs;
use crate::options::learn::LearnArgs;
use crate::options::method::{Method, MethodArgs};
use crate::options::target::TargetArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of `mahala fit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit wine.csv --label class --method gmml --t 0.3 -o wine.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors")]
#[command(after_long_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit wine.csv --label class --method gmml -o wine.safetensors
  mahala fit wine.csv --label class --method itml -o wine.safetensors
  mahala fit X.npy --labels y.npy -o m.safetensors
  mahala fit emb.npy --label -1 --method gmml --shrinkage 0.1 -o m.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors
      where pairs.csv has row numbers: first,second,similar
  mahala fit rows.csv --triplets triplets.csv --method scml -o m.safetensors
  mahala fit left.csv --second right.csv --pairs pairs.csv -o m.safetensors
  mahala fit posts.csv --label tags --method gmml --multilabel ';' -o m.st
  mahala fit wine.csv --label class --method gmml --local class -o local.st
  mahala fit rings.csv --label ring --method gmml --kernel rbf -o rings.st
  mahala fit rings.csv --label ring --method auto-kernel -o rings.safetensors
  mahala fit texts.svm --method gmml --principal 3 -o m.st    sparse stays so
  mahala fit big.parquet --label y --method gmml -o m.st      in one pass
  mahala fit 'part-*.csv.gz' --label y -o m.safetensors    a folder or pattern
  mahala fit --moments all.moments --t 0.3 -o m.safetensors
  zcat big.csv.gz | mahala fit - --label y --method gmml --stream -o m.st")]
pub(crate) struct Fit {
    /// Rows: CSV, TSV, JSON Lines, NPY, NPZ, LIBSVM, Parquet or Arrow, .gz and .zst too; a folder or pattern; - for stdin
    #[arg(required_unless_present = "moments")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    /// Read in one pass, a block at a time, and choose t on a sample [default: gmml above 256 MB of numbers]
    #[arg(long, conflicts_with = "moments", help_heading = "Input", hide_short_help = true)]
    pub stream: bool,
    /// Sums of `mahala moments` to learn from; rows, if there are some, are the sample on which t is chosen
    #[arg(long, value_name = "FILE", help_heading = "Input", hide_short_help = true)]
    pub moments: Option<PathBuf>,
    #[command(flatten)]
    pub target: TargetArgs,
    /// How to learn [default: auto]; `mahala methods` lists all
    ///
    /// Without it everything is chosen (auto); from --pairs FILE, --triplets, --quadruplets and --moments, where the
    /// automatic mode cannot learn, gmml with t chosen; from --chunks rca; with --regression gmml-regression.
    #[arg(long, value_enum, value_name = "NAME", hide_default_value = true, hide_possible_values = true)]
    #[arg(help_heading = "Method")]
    pub method: Option<Method>,
    /// Parameters as a model records them: a model file, or JSON of `inspect`; what is typed beside it stands
    #[arg(long, value_name = "FILE", help_heading = "Method", hide_short_help = true)]
    pub params: Option<PathBuf>,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub steering: MethodArgs,
    #[command(flatten)]
    pub extensions: ExtensionArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Where to write the model
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: PathBuf,
    /// Probabilities for `pairs`, from held-out pairs; they set the threshold, too
    #[arg(long, value_enum, value_name = "METHOD", help_heading = "Output", hide_short_help = true)]
    pub calibrate: Option<CalibrationMethod>,
    /// Whether the training rows are kept in the model, for `predict` and `neighbors`; auto: up to 100 MB
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output",
        hide_short_help = true
    )]
    pub keep_rows: KeepRows,
    /// Print what was learned as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Whether training rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum KeepRows {
    /// Up to 100 MB
    #[default]
    Auto,
    /// All of them
    Always,
    /// None
    Never,
}

impl Fit {
    /// The method asked for. Unless one is named, everything is chosen; from pairs and from sums, where the automatic
    /// mode cannot learn, t is.
    pub(crate) fn method(&self) -> Method {
        let no_labels = self.target.has_pairs() || self.moments.is_some();
        let unnamed = match no_labels {
            false if self.target.regression => Method::GmmlRegression,
            true if self.target.chunks.is_some() => Method::Rca,
            true => Method::Gmml,
            false => Method::Auto,
        };
        self.method.unwrap_or(unnamed)
    }

    /// Whether rows may stay sparse: only the closed form over all pairs of labelled rows takes them so.
    pub(crate) fn reads_sparse(&self) -> bool {
        let dense = self.target.weights.is_some()
            || self.target.multilabel.is_some()
            || self.extensions.local.is_some()
            || self.calibrate.is_some()
            || self.kernel.kernel.is_some();
        !dense && !self.target.has_pairs() && self.target.groups.is_none() && self.method() == Method::Gmml
    }
}
