//! What is learned from, as it is typed: labels, groups, weights, pairs, tuples.

use crate::options::input::LabelsIn;
use clap::Args;
use mahala::gmml::PairRule;
use mahala_io::ColumnRef;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What is learned from.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetArgs {
    /// The column with the classes, by name or position (-1: the last)
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub label: Option<ColumnRef>,
    /// A file with the class of each row: NPY, or text with one column
    #[arg(long, value_name = "FILE", conflicts_with = "label")]
    pub labels: Option<PathBuf>,
    /// The labels are numbers, to be predicted by the mean of the nearest rows
    #[arg(long, hide_short_help = true)]
    pub regression: bool,
    /// The column that names each row's group
    ///
    /// Rows of one group stay together wherever rows are held out: in the folds on which something is chosen, and in those
    /// that `evaluate` tests.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub groups: Option<ColumnRef>,
    /// The column with the weight of each row, by name: a row of weight 2 counts as two
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    pub weights: Option<String>,
    /// The label holds several, with this between them, such as 'a;b': pairs are as similar as their labels overlap
    #[arg(long, value_name = "SEPARATOR", hide_short_help = true)]
    pub multilabel: Option<String>,
    /// Pairs to draw for --multilabel [default: 40c(c-1) for c labels, at least 20000]
    #[arg(long, value_name = "N", requires = "multilabel", hide_short_help = true)]
    pub pair_budget: Option<usize>,
    /// Pairs to learn from: all, a random sample, or a file of them
    ///
    /// From labels, all pairs of rows are used, or the paper's random sample of 40c(c-1) pairs for c classes. A file marks
    /// pairs by row numbers from 1, in columns first,second,similar.
    #[arg(long, default_value = "all", value_name = "all|sampled|FILE")]
    pub pairs: PairsArg,
    /// Triplets to learn from: a file of row numbers anchor,near,far
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub triplets: Option<PathBuf>,
    /// Quadruplets to learn from: a file of row numbers a,b,c,d and maybe a weight, where a and b are nearer than c and d
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub quadruplets: Option<PathBuf>,
    /// The column that names each row's chunk, whose rows are known to be of one class (-1: none); for rca and gmml
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true, hide_short_help = true)]
    pub chunks: Option<ColumnRef>,
    /// The table with the second row of each pair [default: the same]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub second: Option<PathBuf>,
}

impl TargetArgs {
    /// Whether something else than labels is learned from: pairs, triplets, quadruplets or chunks.
    pub(crate) fn has_pairs(&self) -> bool {
        self.constraint().is_some()
    }

    /// The first option that says so.
    pub(crate) fn constraint(&self) -> Option<&'static str> {
        self.constraints().first().copied()
    }

    /// Every option that says so.
    pub(crate) fn constraints(&self) -> Vec<&'static str> {
        let all = [
            ("--pairs FILE", matches!(self.pairs, PairsArg::File(_))),
            ("--triplets", self.triplets.is_some()),
            ("--quadruplets", self.quadruplets.is_some()),
            ("--chunks", self.chunks.is_some()),
        ];
        all.iter().filter(|one| one.1).map(|one| one.0).collect()
    }

    /// Where the labels are.
    pub(crate) fn labels_in(&self) -> LabelsIn<'_> {
        LabelsIn::of(self.label.as_ref(), self.labels.as_deref())
    }

    /// The column that is read beside the labels.
    pub(crate) fn beside(&self) -> Option<&ColumnRef> {
        self.groups.as_ref().or(self.chunks.as_ref())
    }

    /// The files that are read beside the table.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let files = [&self.labels, &self.second, &self.triplets, &self.quadruplets];
        let mut files: Vec<&Path> = files.into_iter().filter_map(Option::as_deref).collect();
        if let PairsArg::File(path) = &self.pairs {
            files.push(path);
        }
        files
    }
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
