//! Options of `mahala fit`.

use crate::options::extensions::ExtensionArgs;
use crate::options::input::InputArgs;
use crate::options::kernel::KernelArgs;
use crate::options::learn::LearnArgs;
use crate::options::method::{Method, MethodArgs};
use clap::Args;
use mahala::gmml::PairRule;
use mahala_io::ColumnRef;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `mahala fit`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala fit wine.csv --label class -o wine.safetensors
  mahala fit wine.csv --label class --method gmml -o wine.safetensors
  mahala fit wine.csv --label class --method itml -o wine.safetensors
  mahala fit emb.npy --label -1 --method gmml --shrinkage 0.1 -o m.safetensors
  mahala fit rows.csv --pairs pairs.csv -o m.safetensors
      where pairs.csv has row numbers: first,second,similar
  mahala fit rows.csv --triplets triplets.csv --method scml -o m.safetensors
  mahala fit left.csv --second right.csv --pairs pairs.csv -o m.safetensors
  mahala fit posts.csv --label tags --method gmml --multilabel ';' -o m.st
  mahala fit wine.csv --label class --method gmml --local class -o local.st
  mahala fit rings.csv --label ring --method gmml --kernel rbf -o rings.st
  mahala fit rings.csv --label ring --method auto-kernel -o rings.safetensors
  mahala fit texts.svm --method gmml --principal 300 -o m.st    sparse stays so
  mahala fit big.parquet --label y --method gmml -o m.st        in one pass
  mahala fit 'part-*.csv.gz' --label y -o m.safetensors    a folder or pattern
  mahala fit --moments all.moments --t 0.3 -o m.safetensors
  zcat big.csv.gz | mahala fit - --label y --method gmml --stream -o m.st")]
pub(crate) struct Fit {
    /// Rows: CSV, TSV, NPY, LIBSVM or Parquet, .gz too; a folder or pattern; - for stdin
    #[arg(required_unless_present = "moments")]
    pub data: Option<PathBuf>,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// Where to write the model
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How to learn [default: auto, which chooses everything; gmml from --pairs FILE and --moments]
    #[arg(long, value_enum, hide_default_value = true)]
    pub method: Option<Method>,
    /// The column that names each row's group; whatever is chosen is chosen on folds that keep groups whole
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub groups: Option<ColumnRef>,
    /// Pairs to learn from: all, the paper's random sample, or a file that marks pairs of rows
    #[arg(long, default_value = "all", value_name = "all|sampled|FILE")]
    pub pairs: PairsArg,
    /// Triplets to learn from: a file of row numbers anchor,near,far
    #[arg(long, value_name = "FILE")]
    pub triplets: Option<PathBuf>,
    /// Quadruplets to learn from: a file of row numbers a,b,c,d and maybe a weight, where a and b are nearer than c and d
    #[arg(long, value_name = "FILE")]
    pub quadruplets: Option<PathBuf>,
    /// The column that names each row's chunk, whose rows are known to be of one class (-1: none); for rca
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub chunks: Option<ColumnRef>,
    /// The table with the second row of each pair [default: the same]
    #[arg(long, value_name = "FILE")]
    pub second: Option<PathBuf>,
    /// Keep the training rows in the model, for `predict` and `neighbors` [default: up to 100 MB]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    pub keep_rows: Option<bool>,
    /// Read in one pass, a block at a time, and choose t on a sample [default: gmml above 256 MB of numbers]
    #[arg(long, conflicts_with = "moments")]
    pub stream: bool,
    /// Sums of `mahala moments` to learn from; rows, if there are some, are the sample on which t is chosen
    #[arg(long, value_name = "FILE")]
    pub moments: Option<PathBuf>,
    /// Print what was learned as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub learn: LearnArgs,
    #[command(flatten)]
    pub steering: MethodArgs,
    #[command(flatten)]
    pub extensions: ExtensionArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

/// Where pairs come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PairsArg {
    All,
    Sampled,
    File(PathBuf),
}

impl FromStr for PairsArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "all" => Self::All,
            "sampled" => Self::Sampled,
            file => Self::File(file.into()),
        })
    }
}

impl PairsArg {
    /// The rule for labelled rows; a file is not one.
    pub(crate) fn rule(&self) -> PairRule {
        if *self == Self::Sampled { PairRule::Sampled } else { PairRule::All }
    }
}

impl Fit {
    /// The method asked for. Unless one is named, everything is chosen; from pairs and from sums, where the automatic
    /// mode cannot learn, t is.
    pub(crate) fn method(&self) -> Method {
        let no_labels = self.has_pairs() || self.moments.is_some();
        let unnamed = match no_labels {
            true if self.chunks.is_some() => Method::Rca,
            true => Method::Gmml,
            false => Method::Auto,
        };
        self.method.unwrap_or(unnamed)
    }

    /// Whether something else than labels is learned from: pairs, triplets, quadruplets or chunks.
    pub(crate) fn has_pairs(&self) -> bool {
        matches!(self.pairs, PairsArg::File(_))
            || self.triplets.is_some()
            || self.quadruplets.is_some()
            || self.chunks.is_some()
    }

    /// Whether rows may stay sparse: only the closed form over all pairs of labelled rows takes them so.
    pub(crate) fn reads_sparse(&self) -> bool {
        let extensions = &self.extensions;
        let dense = extensions.weights.is_some()
            || extensions.multilabel.is_some()
            || extensions.local.is_some()
            || extensions.calibrate.is_some()
            || self.kernel.kernel.is_some();
        !dense && !self.has_pairs() && self.groups.is_none() && self.method() == Method::Gmml
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".into()),
    }
}
