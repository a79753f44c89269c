//! Options of `mahala adapt`.

use crate::options::input::InputArgs;
use crate::options::parse::at_least;
use clap::{ArgGroup, Args};
use mahala::embeddings::Classes;
use mahala::retrieval::{Measure, Similarity};
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala adapt`.
#[derive(Args, Debug)]
#[command(
    override_usage = "mahala adapt [OPTIONS] --label COLUMN|--labels FILE|--pairs FILE|--triplets FILE|--clicks FILE DATA"
)]
#[command(group = ArgGroup::new("source").required(true).args(["label", "labels", "pairs", "triplets", "clicks"]))]
#[command(after_help = "Examples:
  mahala adapt rows.parquet --label intent -o adapter.safetensors
  mahala adapt rows.npy --labels y.npy --classes unseen -o adapter.safetensors
  mahala adapt documents.npy --queries queries.npy --clicks clicks.csv -o adapter.safetensors
  mahala transform adapter.safetensors rows.npy -o adapted.npy")]
pub(crate) struct Adapt {
    /// Embeddings, one a row; - for stdin
    pub data: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, help_heading = "Target")]
    pub label: Option<ColumnRef>,
    /// The classes in a file of their own, one a row
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub labels: Option<PathBuf>,
    /// Pairs to learn from: a file of row numbers first,second,similar
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub pairs: Option<PathBuf>,
    /// Triplets to learn from: a file of row numbers anchor,near,far
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub triplets: Option<PathBuf>,
    /// Clicks or judgements: a file of row numbers query,document and maybe a gain
    #[arg(long, value_name = "FILE", requires = "queries", help_heading = "Target")]
    pub clicks: Option<PathBuf>,
    /// The embeddings of the queries of --clicks
    #[arg(long, value_name = "FILE", requires = "clicks", help_heading = "Target")]
    pub queries: Option<PathBuf>,
    /// Which classes future rows will have: those of the labels, or others [default: seen]
    #[arg(long, value_name = "seen|unseen", conflicts_with_all = ["pairs", "triplets", "clicks"])]
    pub classes: Option<Classes>,
    /// By which the adapted rows will be searched
    #[arg(long, value_name = "cosine|l2", default_value = "cosine", value_parser = metric)]
    pub metric: Similarity,
    /// The most coordinates to keep [default: all]
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    pub n_components: Option<usize>,
    /// What the choice is by, such as map@r, r@1, recall@5, mrr, ndcg@10; by default map@r, ndcg@10 for clicks
    #[arg(long, value_name = "MEASURE", conflicts_with = "pairs")]
    pub criterion: Option<Measure>,
    /// The most rows in the gallery of the held-out search, or held-out pairs; the map is learned from all
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least(4))]
    pub selection_rows: usize,
    /// Decides what is held out
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Where to write the model [default: it is not written]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Cosine or L2.
fn metric(text: &str) -> Result<Similarity, String> {
    match text.parse() {
        Ok(metric) if metric != Similarity::Dot => Ok(metric),
        _ => Err("it must be cosine or l2".into()),
    }
}
