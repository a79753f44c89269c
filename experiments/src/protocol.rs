//! The data sets of the paper, how each is divided, and the methods with the parameters the paper gives them.
//!
//! What the paper leaves open is decided in `docs/fidelity.md`.

use anyhow::Result;
use mahala::data::{Folds, Random};
use mahala::gmml::{PairRule, Regularization};
use mahala::learner::Learner;
use mahala::{Dataset, Gmml, Labels};
use mahala_baselines::named;
use serde_json::{Value, json};
use std::ops::Range;

/// A data set and its protocol.
pub(crate) struct Set {
    /// The key of files and options.
    pub name: &'static str,
    /// The paper's name.
    pub title: &'static str,
    /// The file in the folder of data sets.
    pub file: &'static str,
    /// The file in the repository's `data`, if the set is bundled.
    pub bundled: Option<&'static str>,
    /// The paper's bars to compare with, by its key.
    pub paper: &'static str,
    pub figure: Figure,
    pub division: Division,
    /// The paper's λ.
    pub lambda: f64,
    /// Rows, columns, classes.
    pub shape: (usize, usize, usize),
}

/// Where a set appears.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    Small,
    Large,
}

/// How rows are divided into those learned on and those tested.
pub(crate) enum Division {
    /// Random halves, each tested against the other.
    Halves,
    /// One split, the same in every run; a run is another seed.
    Fixed { train: Range<usize>, test: Range<usize> },
    /// A random share to learn on.
    Random { percent: usize },
}

/// Rows learned on, rows tested.
pub(crate) type Split = (Vec<usize>, Vec<usize>);

use Figure::{Large, Small};

pub(crate) const SETS: [Set; 15] = [
    set(Small, "wine", "Wine", "wine.csv", Division::Halves, (178, 13, 3)),
    set(Small, "pima", "Pima-diabetes", "pima.csv", Division::Halves, (768, 8, 2)),
    set(Small, "vehicle", "Vehicle", "vehicle.csv", Division::Halves, (846, 18, 4)),
    set(Small, "vowel", "Vowel", "vowel.csv", fixed(528, 990), (990, 10, 11)),
    set(Small, "german", "German", "german.csv", Division::Halves, (1000, 24, 2)),
    set(Small, "australian", "Australian", "australian.csv", Division::Halves, (690, 14, 2)),
    set(Small, "protein", "Protein", "protein.csv", Division::Halves, (116, 20, 6)),
    set(Small, "iris", "Iris", "iris.csv", Division::Halves, (150, 4, 3)),
    set(Small, "breast-cancer", "Breast-Cancer", "breast-cancer.csv", Division::Halves, (699, 9, 2)),
    set(
        Small,
        "breast-cancer-wdbc",
        "Breast-Cancer (Diagnostic)",
        "breast-cancer-wdbc.csv",
        Division::Halves,
        (569, 30, 2),
    ),
    set(Small, "segment", "Segment", "segment-lmnn.csv", fixed(1848, 2310), (2310, 19, 7)),
    set(Large, "usps", "USPS", "usps.csv.gz", Division::Random { percent: 70 }, (9298, 256, 10)),
    set(Large, "mnist", "MNIST", "mnist.csv.gz", fixed(2000, 4000), (4000, 784, 10)),
    set(Large, "isolet", "Isolet", "isolet.csv.gz", fixed(6238, 7797), (7797, 617, 26)),
    set(Large, "letters", "Letters", "letters.csv.gz", fixed(16_000, 20_000), (20_000, 16, 26)),
];

/// The sets of the figure "effect of t".
pub(crate) const CURVES: [&str; 6] =
    ["wine", "vehicle", "german", "protein", "breast-cancer", "breast-cancer-wdbc"];

/// The sets of Table 1.
pub(crate) const TIMED: [&str; 5] = ["segment", "letters", "usps", "isolet", "mnist"];

const fn set(
    figure: Figure,
    name: &'static str,
    title: &'static str,
    file: &'static str,
    division: Division,
    shape: (usize, usize, usize),
) -> Set {
    let (bundled, paper) = match name.as_bytes() {
        b"wine" => (Some("wine.csv"), name),
        b"iris" => (Some("iris.csv"), name),
        b"breast-cancer-wdbc" => (Some("breast-cancer-wdbc.csv"), "breast-cancer"),
        _ => (None, name),
    };
    let lambda = if matches!(name.as_bytes(), b"segment" | b"mnist") { 0.1 } else { 0.0 };
    Set { name, title, file, bundled, paper, figure, division, lambda, shape }
}

/// Rows up to `trained` against the rest up to `rows`.
const fn fixed(trained: usize, rows: usize) -> Division {
    Division::Fixed { train: 0..trained, test: trained..rows }
}

impl Set {
    /// A set by its key.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        SETS.iter().find(|set| set.name == name)
    }

    /// The paper's number of runs.
    pub(crate) fn runs(&self) -> usize {
        if self.figure == Figure::Small { 40 } else { 5 }
    }

    /// The group of each training row, if rows come in groups that the test rows are not of: the eight speakers
    /// of Vowel, of 66 rows each, and the four parts of Isolet, of 1560 rows or two fewer.
    pub(crate) fn groups(&self, rows: usize) -> Option<Labels> {
        let size = match self.name {
            "vowel" => 66,
            "isolet" => 1560,
            _ => return None,
        };
        Some(Labels::new((0..rows).map(|i| (i / size).to_string())))
    }

    /// The paper's number of folds when something is chosen.
    pub(crate) fn folds(&self) -> usize {
        if self.figure == Figure::Small { 5 } else { 3 }
    }

    /// The splits of a run, whose errors are counted together.
    pub(crate) fn splits(&self, data: &Dataset, seed: u64, run: usize) -> Result<Vec<Split>> {
        let mut random = Random::new(seed, run as u64);
        Ok(match &self.division {
            Division::Halves => {
                let halves = Folds::new(data.len(), 2, &mut random)?;
                (0..2).map(|half| halves.split(half)).collect()
            }
            Division::Fixed { train, test } => vec![(train.clone().collect(), test.clone().collect())],
            Division::Random { percent } => {
                let mut order = random.permutation(data.len());
                let mut test = order.split_off(data.len() * percent / 100);
                order.sort_unstable();
                test.sort_unstable();
                vec![(order, test)]
            }
        })
    }

    /// The division in words.
    pub(crate) fn division_text(&self) -> String {
        match &self.division {
            Division::Halves => "random halves, each tested against the other".into(),
            Division::Fixed { train, test } => {
                let rows = |range: &Range<usize>| format!("{}–{}", range.start + 1, range.end);
                format!("rows {} against {}", rows(train), rows(test))
            }
            Division::Random { percent } => format!("random {percent}/{}", 100 - percent),
        }
    }
}

/// A column of the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Euclidean,
    Gmml,
    Lmnn,
    Itml,
    FlatGeo,
    Nca,
    Auto,
    AutoKernel,
    /// GMML over all pairs in place of the paper's sample.
    GmmlAll,
    Covariance,
    Mcml,
    Mmc,
    MmcDiagonal,
    /// The automatic mode, given the groups of the training rows; on sets that have some.
    AutoGrouped,
}

/// The columns of the paper's figures and of its table; the last three are not in the paper.
pub(crate) const METHODS: [Method; 8] = [
    Method::Euclidean,
    Method::Gmml,
    Method::Lmnn,
    Method::Itml,
    Method::FlatGeo,
    Method::Nca,
    Method::Auto,
    Method::AutoKernel,
];

/// Methods that neither the paper nor its figures have: a table of their own, on the small sets.
pub(crate) const OTHERS: [Method; 5] =
    [Method::GmmlAll, Method::Covariance, Method::Mcml, Method::Mmc, Method::MmcDiagonal];

impl Method {
    /// The key of files, options and the paper's values.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Gmml => "gmml",
            Self::Lmnn => "lmnn",
            Self::Itml => "itml",
            Self::FlatGeo => "flatgeo",
            Self::Nca => "nca",
            Self::Auto => "auto",
            Self::AutoKernel => "auto-kernel",
            Self::GmmlAll => "gmml-all",
            Self::Covariance => "covariance",
            Self::Mcml => "mcml",
            Self::Mmc => "mmc",
            Self::MmcDiagonal => "mmc-diagonal",
            Self::AutoGrouped => "auto-groups",
        }
    }

    /// The printed name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Euclidean => "Euclidean",
            Self::Gmml => "GMML",
            Self::Lmnn => "LMNN",
            Self::Itml => "ITML",
            Self::FlatGeo => "FlatGeo",
            Self::Nca => "NCA",
            Self::Auto => "GMML auto",
            Self::AutoKernel => "GMML auto, kernels",
            Self::GmmlAll => "GMML, all pairs",
            Self::Covariance => "Inverse covariance",
            Self::Mcml => "MCML",
            Self::Mmc => "MMC",
            Self::MmcDiagonal => "MMC, diagonal",
            Self::AutoGrouped => "GMML auto, groups given",
        }
    }

    /// Every method, in the order of the report.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        METHODS.into_iter().chain(OTHERS).chain([Self::AutoGrouped])
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|method| method.name() == name)
    }

    /// Whether its error is computed on a set.
    pub(crate) fn is_run_on(self, set: &Set) -> bool {
        match self {
            Self::AutoGrouped => set.groups(0).is_some(),
            _ => set.figure == Small || !OTHERS.contains(&self),
        }
    }

    /// The library's name of the learner.
    fn learner_name(self) -> &'static str {
        match self {
            Self::GmmlAll => "gmml",
            Self::MmcDiagonal => "mmc",
            Self::AutoGrouped => "auto",
            _ => self.name(),
        }
    }

    /// Whether it is given the groups of the training rows, where a set has them.
    pub(crate) fn takes_groups(self) -> bool {
        self == Self::AutoGrouped
    }

    /// Whether a seed changes nothing, so that a second run on a fixed split would only repeat the first.
    pub(crate) fn is_deterministic(self) -> bool {
        matches!(self, Self::Euclidean | Self::Lmnn | Self::Nca | Self::Covariance | Self::Mcml)
    }

    /// The parameters of a method whose seed is `seed`; for GMML see [`gmml`].
    fn parameters(self, seed: u64, fixed: bool) -> Value {
        match self {
            Self::Itml => json!({"gamma": if fixed { json!(1.0) } else { json!("auto") }, "seed": seed}),
            // "a minimum iterations of 10^4", Experiment 1.
            Self::FlatGeo => json!({"min_iterations": 10_000, "seed": seed}),
            Self::MmcDiagonal => json!({"diagonal": true, "seed": seed}),
            Self::Auto | Self::AutoKernel | Self::AutoGrouped | Self::Mmc => json!({"seed": seed}),
            _ => json!({}),
        }
    }

    /// The method itself; `fixed`: with every choice made, as Table 1 times it.
    pub(crate) fn learner(self, set: &Set, seed: u64, fixed: bool) -> Result<Box<dyn Learner>> {
        Ok(match self {
            Self::Gmml if fixed => {
                Box::new(Gmml { t: mahala::gmml::TChoice::Fixed(0.5), ..gmml(set, seed) }) as Box<dyn Learner>
            }
            Self::Gmml => Box::new(gmml(set, seed)),
            Self::GmmlAll => Box::new(gmml_all(set, seed)),
            _ => named(self.learner_name(), self.parameters(seed, fixed))?,
        })
    }
}

/// The paper as written: sampled pairs, its λ, t in two steps.
pub(crate) fn gmml(set: &Set, seed: u64) -> Gmml {
    let regularization =
        if set.lambda > 0.0 { Regularization::Lambda(set.lambda) } else { Regularization::None };
    Gmml { regularization, folds: set.folds(), seed, ..Gmml::paper() }
}

/// GMML with S and D over all pairs; λ, folds and the choice of t as in the paper.
pub(crate) fn gmml_all(set: &Set, seed: u64) -> Gmml {
    Gmml { pairs: PairRule::All, ..gmml(set, seed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::{Labels, Rows};

    fn counting(rows: usize) -> Dataset {
        let labels = Labels::new((0..rows).map(|i| ["a", "b"][i % 2]));
        Dataset::new(Rows::new((0..rows).map(|i| i as f64).collect(), 1).unwrap(), labels).unwrap()
    }

    #[test]
    fn halves_test_every_row_once_and_differ_from_run_to_run() {
        let (set, data) = (Set::named("wine").unwrap(), counting(178));
        let splits = set.splits(&data, 0, 3).unwrap();
        let mut tested: Vec<usize> = splits.iter().flat_map(|(_, test)| test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..178).collect::<Vec<_>>());
        assert_eq!(splits[0].0, splits[1].1);
        assert_ne!(splits, set.splits(&data, 0, 4).unwrap());
        assert_eq!(splits, set.splits(&data, 0, 3).unwrap());
    }

    #[test]
    fn fixed_and_random_splits_have_the_sizes_of_the_protocol() {
        let sizes = |name: &str, rows: usize| {
            let splits = Set::named(name).unwrap().splits(&counting(rows), 0, 0).unwrap();
            (splits.len(), splits[0].0.len(), splits[0].1.len())
        };
        assert_eq!(sizes("vowel", 990), (1, 528, 462));
        assert_eq!(sizes("segment", 2310), (1, 1848, 462));
        assert_eq!(sizes("isolet", 7797), (1, 6238, 1559));
        assert_eq!(sizes("usps", 9298), (1, 6508, 2790));
    }

    #[test]
    fn every_method_has_its_parameters() {
        for set in &SETS {
            for method in Method::all() {
                assert_eq!(method.learner(set, 1, false).unwrap().name(), method.learner_name());
            }
        }
        assert_eq!(gmml(Set::named("mnist").unwrap(), 0).regularization, Regularization::Lambda(0.1));
        assert_eq!(gmml(Set::named("mnist").unwrap(), 0).folds, 3);
    }
}
