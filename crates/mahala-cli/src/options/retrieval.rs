//! Options of `mahala retrieval`.

use crate::options::input::InputArgs;
use clap::{ArgGroup, Args};
use mahala::retrieval::{Measure, Similarity};
use mahala_io::ColumnRef;
use std::path::PathBuf;

/// Options of `mahala retrieval`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("relevance").required(true).args(["label", "labels", "judgements"]))]
#[command(after_help = "Examples:
  mahala retrieval rows.parquet --label intent
      each row searches among the others
  mahala retrieval rows.parquet --label intent --model adapter.safetensors
      before and after, with intervals and a paired test
  mahala retrieval documents.npy --queries queries.npy --judgements judged.csv")]
pub(crate) struct Retrieval {
    /// The gallery, one embedding a row
    pub data: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    /// The column with the classes, in both files: rows of the query's class are relevant
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// The classes of the gallery in a file of their own, one a row
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// The classes of the queries in a file of their own
    #[arg(long, value_name = "FILE", requires_all = ["labels", "queries"], conflicts_with_all = ["label", "judgements"])]
    pub query_labels: Option<PathBuf>,
    /// The queries [default: every row of the gallery, among the others]
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// What is relevant: a file of row numbers query,document and maybe a gain
    #[arg(long, value_name = "FILE", requires = "queries")]
    pub judgements: Option<PathBuf>,
    /// A model: rows are measured before and after its map
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Take the columns in their order, whatever their names, for a model learned on columns without names
    #[arg(long, requires = "model", help_heading = "Input", hide_short_help = true)]
    pub by_position: bool,
    /// The measures, separated by commas: r@1, recall@5, precision@5, mrr, ndcg@10, map@r
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    #[arg(default_values_t = [Measure::RecallAt(1), Measure::RecallAt(5), Measure::Mrr, Measure::MapAtR])]
    pub criterion: Vec<Measure>,
    /// What rows are ranked by [default: the model's; cosine without a model]
    #[arg(long, value_name = "cosine|l2|dot")]
    pub metric: Option<Similarity>,
    /// The share of bootstrap resamples inside an interval
    #[arg(long, default_value_t = 0.95, value_name = "SHARE")]
    pub confidence: f64,
    /// Decides the bootstrap's draws
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
