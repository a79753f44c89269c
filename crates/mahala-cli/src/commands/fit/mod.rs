//! `mahala fit`: learn a metric and write it to a file.

mod gmml;
mod method;
mod stream;

use crate::commands::create_output;
use crate::commands::fit::gmml::fit_gmml;
use crate::commands::fit::method::fit_method;
use crate::commands::fit::stream::{Streams, fit_moments, fit_stream, streams};
use crate::options::extensions::BeyondArgs;
use crate::options::kernel::KernelArgs;
use crate::options::method::{Method, MethodArgs};
use crate::options::{InputArgs, LearnArgs, PriorArg};
use anyhow::{Result, bail};
use clap::Args;
use mahala::{Model, PairRule};
use mahala_io::{ColumnRef, Table};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
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
    pub beyond: BeyondArgs,
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

/// Learns, writes, reports.
pub(crate) fn run(args: &Fit) -> Result<()> {
    check_stdout(args)?;
    let output = create_output(&args.output, &inputs(args))?;
    let data = match (&args.moments, &args.data) {
        (Some(moments), _) => return fit_moments(args, moments, output),
        (None, Some(data)) => data,
        (None, None) => bail!("there are no rows to learn from"),
    };
    let read = |input: &InputArgs| {
        if args.reads_sparse() {
            return Ok((input.read_sparse(data, args.label.as_ref())?, None));
        }
        input.read_grouped(data, args.label.as_ref(), args.groups.as_ref())
    };
    let rows = match streams(args) {
        Streams::Always => None,
        Streams::IfLarge => {
            args.input.in_memory_or_stream(data, |input| read(input).map(Some), || Ok(None))?
        }
        Streams::Never => Some(read(&args.input)?),
    };
    let Some((mut data, groups)) = rows else { return fit_stream(args, data, output) };
    let weights = args.beyond.weights.as_ref().map(|name| data.take_column(name)).transpose()?;
    let gmml = args.learn.gmml(args.pairs.rule(), data.names.len())?;
    if args.label.is_none() && data.labels.is_none() && !args.has_pairs() {
        bail!(
            "there is nothing to learn from: no labels and no pairs\nhint: --label COLUMN, or --pairs FILE"
        );
    }
    if !args.has_pairs() {
        args.learn.check_folds(data.n)?;
    }
    if args.method() == Method::Gmml {
        return fit_gmml(args, &gmml, &mut data, groups.as_ref(), weights.as_deref(), output);
    }
    fit_method(args, &gmml, &mut data, groups.as_ref(), output)
}

impl Fit {
    /// The method asked for. Unless one is named, everything is chosen; from pairs and from sums, where the automatic
    /// mode cannot learn, t is.
    pub(crate) fn method(&self) -> Method {
        let no_labels = self.has_pairs() || self.moments.is_some();
        self.method.unwrap_or(if no_labels { Method::Gmml } else { Method::Auto })
    }

    pub(super) fn has_pairs(&self) -> bool {
        matches!(self.pairs, PairsArg::File(_))
    }

    /// Whether rows may stay sparse: only the closed form over all pairs of labelled rows takes them so.
    fn reads_sparse(&self) -> bool {
        let beyond = &self.beyond;
        let dense = beyond.weights.is_some()
            || beyond.multilabel.is_some()
            || beyond.local.is_some()
            || beyond.calibrate.is_some()
            || self.kernel.kernel.is_some();
        !dense && !self.has_pairs() && self.groups.is_none() && self.method() == Method::Gmml
    }
}

/// Said where `predict` will need the training rows again.
pub(super) fn rows_not_kept(data: &Table, model: &Model) -> Option<String> {
    let note = "the training rows are not kept in the model; `predict` will want them with --train";
    (data.labels.is_some() && model.references.is_none()).then(|| note.to_owned())
}

pub(super) fn is_stdout(args: &Fit) -> bool {
    args.output.as_os_str() == "-"
}

/// Whether the training rows are kept: as asked, or up to 100 MB.
pub(super) fn keeps_rows(args: &Fit, rows: usize, rank: usize) -> bool {
    args.keep_rows.unwrap_or(rows * rank * 8 <= 100_000_000)
}

/// A model is bytes: not for a terminal, nor for the same stream as JSON.
fn check_stdout(args: &Fit) -> Result<()> {
    if is_stdout(args) && args.json {
        bail!("the model and --json cannot both go to standard output\nhint: -o FILE");
    }
    if is_stdout(args) && std::io::stdout().is_terminal() {
        bail!("a model is not text, and standard output is a terminal\nhint: -o FILE");
    }
    Ok(())
}

/// Every file that is read.
fn inputs(args: &Fit) -> Vec<&Path> {
    let mut inputs: Vec<&Path> = args.data.iter().chain(&args.moments).map(PathBuf::as_path).collect();
    inputs.extend(args.second.as_deref());
    if let PairsArg::File(path) = &args.pairs {
        inputs.push(path);
    }
    if let PriorArg::File(path) = &args.learn.prior {
        inputs.push(path);
    }
    inputs
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".into()),
    }
}
