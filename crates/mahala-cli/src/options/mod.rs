//! What can be typed: subcommands, and the groups of options they share.

pub(crate) mod adapt;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod explore;
pub(crate) mod export;
pub(crate) mod extensions;
pub(crate) mod fit;
pub(crate) mod input;
pub(crate) mod inspect;
pub(crate) mod kernel;
pub(crate) mod learn;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod method;
pub(crate) mod methods;
pub(crate) mod moments;
pub(crate) mod neighbors;
pub(crate) mod pairs;
mod parse;
pub(crate) mod predict;
pub(crate) mod retrieval;
pub(crate) mod target;
pub(crate) mod transform;
pub(crate) mod tune;

use crate::terminal::talk::Color;
use clap::builder::RangedU64ValueParser;
use clap::{Parser, Subcommand};

/// Learn a distance under which nearest neighbours are right.
#[derive(Parser, Debug)]
#[command(name = "mahala", version, max_term_width = 100)]
#[command(after_help = "Examples:
  mahala demo                               see it work on a bundled data set
  mahala fit wine.csv --label class -o wine.safetensors
  mahala predict wine.safetensors new-wines.csv
  mahala evaluate wine.csv --label class    is it better? on held-out rows
  mahala COMMAND --help                     more examples")]
pub(crate) struct Cli {
    /// Use this many threads [default: all cores]; results do not depend on it
    #[arg(long, global = true, value_name = "N", display_order = 1000, hide_short_help = true)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub threads: Option<usize>,
    /// Say nothing but warnings and errors
    #[arg(short, long, global = true, display_order = 1001, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say how long each part took
    #[arg(short, long, global = true, display_order = 1002, hide_short_help = true)]
    pub verbose: bool,
    /// When messages have colours; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, display_order = 1003, value_enum, default_value_t, value_name = "WHEN")]
    #[arg(hide_short_help = true, hide_possible_values = true)]
    pub color: Color,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// See what it does, on a bundled data set: no files needed
    Demo(demo::Demo),
    /// Learn a metric from rows and labels, or from pairs, and write it to a file
    Fit(fit::Fit),
    /// Measure the error of nearest neighbours under each method, on held-out rows
    Evaluate(evaluate::Evaluate),
    /// Adapt embeddings to labels, pairs or clicks, for any vector store
    Adapt(adapt::Adapt),
    /// Measure a search: recall, MRR, nDCG, MAP@R, before and after a model
    Retrieval(retrieval::Retrieval),
    /// Show the cross-validated error for every t
    Tune(tune::Tune),
    /// Write a page to play with: t moves the points, a click shows neighbours
    Explore(explore::Explore),
    /// Write rows in the coordinates where the metric is Euclidean
    Transform(transform::Transform),
    /// Predict the class of rows by a vote of their nearest neighbours
    Predict(predict::Predict),
    /// Find the nearest neighbours of rows
    Neighbors(neighbors::Neighbors),
    /// Measure pairs of rows, and decide whether they are the same or different
    Pairs(pairs::PairsCommand),
    /// Sum up rows class by class, for `merge` and `fit --moments`
    Moments(moments::MomentsCommand),
    /// Add the sums of parts together
    Merge(merge::Merge),
    /// List the methods, or the parameters of one
    Methods(methods::Methods),
    /// Show what a model file holds
    Inspect(inspect::Inspect),
    /// Write a model for other programs: ONNX, NPY, CSV, JSON
    Export(export::Export),
    /// Write man pages into a folder
    Man(man::Man),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETION_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

const COMPLETION_EXAMPLES: &str = "Examples:
  mahala completions bash > ~/.local/share/bash-completion/completions/mahala
  mahala completions zsh > ~/.zfunc/_mahala
  mahala completions fish > ~/.config/fish/completions/mahala.fish";
