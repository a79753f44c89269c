//! The table: which option is used by which methods, from which sources.

use crate::options::method::Method;
use anyhow::{Result, bail};

use Method as M;
use Source as S;

/// What a metric is learned from, and in what form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Labelled rows.
    Labels,
    /// A file of pairs.
    Pairs,
    /// Rows with several labels each.
    Multilabel,
    /// Labelled rows, with a metric for each class or cluster.
    Local,
    /// Labelled rows, in the feature space of a kernel.
    Kernel,
    /// Labelled rows, read in one pass.
    Stream,
    /// Sums of labelled rows.
    Moments,
    /// Rows with a number each.
    Regression,
}

/// Where an option is used: by these methods, from these sources.
pub(super) struct Rule {
    /// clap's name, with the kind of value where that matters.
    pub(super) key: &'static str,
    pub(super) option: &'static str,
    methods: &'static [Method],
    sources: &'static [Source],
}

const GMML: &[Method] = &[M::Gmml];

const AUTOMATIC: &[Method] = &[M::Auto, M::AutoKernel];

const EVERY_METHOD: &[Method] = &[
    M::Euclidean,
    M::Covariance,
    M::Gmml,
    M::Auto,
    M::AutoKernel,
    M::Recipe,
    M::Itml,
    M::Lmnn,
    M::Nca,
    M::Mcml,
    M::Mmc,
    M::Flatgeo,
    M::Rca,
    M::Lda,
    M::Lfda,
    M::Kissme,
    M::Xqda,
    M::Dmlmj,
    M::Ncmml,
    M::Ldml,
    M::Scml,
    M::Lsml,
    M::Sdml,
    M::RobustGmml,
    M::Lego,
    M::Pola,
    M::Oasis,
    M::Loreta,
    M::Moml,
    M::GmmlRegression,
    M::Mlkr,
];

/// Methods that learn from labels that are numbers, or from none.
const REGRESSION: &[Method] = &[M::Euclidean, M::Covariance, M::GmmlRegression, M::Mlkr];

/// Methods with a rank.
const RANKED: &[Method] = &[
    M::Gmml,
    M::Lmnn,
    M::Nca,
    M::Flatgeo,
    M::Rca,
    M::Lda,
    M::Lfda,
    M::Kissme,
    M::Xqda,
    M::Dmlmj,
    M::Ncmml,
    M::Ldml,
    M::Loreta,
    M::Mlkr,
];

/// Methods that learn from pairs.
const FROM_PAIRS: &[Method] = &[
    M::Gmml,
    M::Itml,
    M::Flatgeo,
    M::Mmc,
    M::Kissme,
    M::Xqda,
    M::Ldml,
    M::Sdml,
    M::RobustGmml,
    M::Lego,
    M::Pola,
];

/// Methods that learn from triplets; those that learn from pairs take a triplet for two.
const FROM_TRIPLETS: &[Method] = &[
    M::Gmml,
    M::Itml,
    M::Flatgeo,
    M::Mmc,
    M::Kissme,
    M::Xqda,
    M::Ldml,
    M::Sdml,
    M::RobustGmml,
    M::Lego,
    M::Pola,
    M::Scml,
    M::Lsml,
    M::Oasis,
    M::Loreta,
    M::Moml,
];

/// Methods that learn from quadruplets; those that learn from pairs take a quadruplet for two.
const FROM_QUADRUPLETS: &[Method] = &[
    M::Gmml,
    M::Itml,
    M::Flatgeo,
    M::Mmc,
    M::Kissme,
    M::Xqda,
    M::Ldml,
    M::Sdml,
    M::RobustGmml,
    M::Lego,
    M::Pola,
    M::Lsml,
];

/// Methods that learn from chunks of rows known to be of one class.
const FROM_CHUNKS: &[Method] = &[M::Rca, M::Gmml];

/// Methods that choose something on held-out rows.
const SELECTING: &[Method] = &[M::Gmml, M::Auto, M::AutoKernel, M::GmmlRegression];

/// Methods that learn from all pairs of labelled rows.
const ALL_PAIRS: &[Method] = &[M::Gmml, M::Auto, M::AutoKernel, M::Recipe];

const EVERY_SOURCE: &[Source] =
    &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Kernel, S::Stream, S::Moments, S::Regression];

const ONE_METRIC: &[Source] =
    &[S::Labels, S::Pairs, S::Multilabel, S::Kernel, S::Stream, S::Moments, S::Regression];

const NO_KERNEL: &[Source] = &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Stream, S::Moments];

/// Where all rows are at hand.
const NO_STREAM: &[Source] =
    &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Kernel, S::Moments, S::Regression];

/// Where every pair of rows is looked at by its classes.
const CLASSES: &[Source] = &[S::Labels, S::Local, S::Kernel, S::Stream, S::Moments];

const ROWS_AND_CLASSES: &[Source] = &[S::Labels, S::Local, S::Kernel];

const ROWS: &[Source] = &[S::Labels, S::Pairs, S::Multilabel, S::Local, S::Kernel, S::Stream, S::Regression];

const fn rule(
    key: &'static str,
    option: &'static str,
    methods: &'static [Method],
    sources: &'static [Source],
) -> Rule {
    Rule { key, option, methods, sources }
}

pub(super) const RULES: &[Rule] = &[
    rule("labels", "--labels", EVERY_METHOD, NO_STREAM),
    rule("regression", "--regression", REGRESSION, &[S::Regression]),
    rule("t", "--t", GMML, EVERY_SOURCE),
    rule("lambda", "--lambda", GMML, EVERY_SOURCE),
    rule("shrinkage", "--shrinkage", GMML, EVERY_SOURCE),
    rule("shrink_towards", "--shrink-towards", GMML, EVERY_SOURCE),
    rule("prior", "--prior", GMML, NO_KERNEL),
    rule("standardize", "--standardize", EVERY_METHOD, EVERY_SOURCE),
    rule("rank", "--rank", RANKED, ONE_METRIC),
    rule("rank=share", "--rank with a share", GMML, ONE_METRIC),
    rule("rank=auto", "--rank auto", AUTOMATIC, &[S::Labels]),
    rule("principal", "--principal", GMML, &[S::Labels]),
    rule("k", "-k", EVERY_METHOD, EVERY_SOURCE),
    rule("folds", "--folds", GMML, EVERY_SOURCE),
    rule("selection_rows", "--selection-rows", SELECTING, EVERY_SOURCE),
    rule("balance", "--balance", GMML, CLASSES),
    rule("seed", "--seed", EVERY_METHOD, EVERY_SOURCE),
    rule("groups", "--groups", &[M::Gmml, M::Auto, M::AutoKernel, M::Recipe, M::Itml], &[S::Labels]),
    rule("pairs=all", "--pairs all", ALL_PAIRS, CLASSES),
    rule("pairs=sampled", "--pairs sampled", GMML, ROWS_AND_CLASSES),
    rule("pairs=file", "--pairs FILE", FROM_PAIRS, &[S::Pairs]),
    rule("triplets", "--triplets", FROM_TRIPLETS, &[S::Pairs]),
    rule("quadruplets", "--quadruplets", FROM_QUADRUPLETS, &[S::Pairs]),
    rule("chunks", "--chunks", FROM_CHUNKS, &[S::Pairs]),
    rule("second", "--second", EVERY_METHOD, &[S::Pairs]),
    rule("weights", "--weights", GMML, &[S::Labels]),
    rule("calibrate", "--calibrate", GMML, &[S::Labels, S::Pairs, S::Multilabel]),
    rule("multilabel", "--multilabel", GMML, &[S::Multilabel]),
    rule("pair_budget", "--pair-budget", GMML, &[S::Multilabel]),
    rule("local", "--local", GMML, &[S::Local]),
    rule("share", "--share", GMML, &[S::Local]),
    rule("kernel", "--kernel", GMML, &[S::Kernel]),
    rule("gamma", "--gamma", GMML, &[S::Kernel]),
    rule("degree", "--degree", GMML, &[S::Kernel]),
    rule("coef0", "--coef0", GMML, &[S::Kernel]),
    rule("landmarks", "--landmarks", GMML, &[S::Kernel]),
    rule("stream", "--stream", GMML, &[S::Stream]),
    rule("moments", "--moments", GMML, &[S::Moments]),
    rule("keep_rows", "--keep-rows", EVERY_METHOD, EVERY_SOURCE),
    rule("set", "--set", EVERY_METHOD, ROWS),
    rule("params", "--params", EVERY_METHOD, EVERY_SOURCE),
    rule("max_iterations", "--max-iterations", EVERY_METHOD, ROWS),
    rule("time_limit", "--time-limit", EVERY_METHOD, ROWS),
    rule("keep_best", "--keep-best", EVERY_METHOD, ROWS),
    rule("criterion", "--criterion", AUTOMATIC, &[S::Labels]),
    rule("similarity", "--similarity", AUTOMATIC, &[S::Labels]),
    rule("folds_over", "--folds-over", AUTOMATIC, &[S::Labels]),
];

pub(super) fn rule_of(key: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.key == key)
}

/// What a method learns from, by the names of the sources of constraints; nothing where rows alone are enough.
pub(crate) fn learns_from(method: Method) -> Vec<&'static str> {
    let sources = [
        ("pairs", FROM_PAIRS),
        ("triplets", FROM_TRIPLETS),
        ("quadruplets", FROM_QUADRUPLETS),
        ("chunks", FROM_CHUNKS),
    ];
    if method.is_regression() {
        return vec!["targets"];
    }
    let labels = !matches!(method, M::Euclidean | M::Covariance);
    let others = sources.into_iter().filter(|(_, methods)| methods.contains(&method));
    labels.then_some("labels").into_iter().chain(others.map(|(name, _)| name)).collect()
}

/// Refuses an option that none of the methods has.
pub(super) fn check_methods(key: &str, methods: &[Method]) -> Result<()> {
    let Some(rule) = rule_of(key) else { return Ok(()) };
    if methods.iter().any(|method| rule.methods.contains(method)) {
        return Ok(());
    }
    let names: Vec<&str> = methods.iter().map(|method| method.name()).collect();
    let (option, name) = (rule.option, names.join(", "));
    if key == "pairs=file" {
        bail!(
            "{name} does not learn from pairs\nhint: --method gmml, itml, flatgeo, mmc or kissme; or --label COLUMN without \
             --pairs"
        );
    }
    let takers: Vec<&str> = rule.methods.iter().map(|method| method.name()).collect();
    let mut hint = match key {
        "rank" if methods.iter().any(|method| method.chooses()) => {
            "--rank auto lets it choose how many; a number goes with --method gmml, lmnn, nca or flatgeo"
                .to_owned()
        }
        "pairs=all" => format!("leave it out; {name} draws pairs of its own, or needs none"),
        _ => match takers.split_last() {
            Some((last, [])) => format!("it goes with --method {last}"),
            Some((last, rest)) => format!("it goes with --method {} or {last}", rest.join(", ")),
            None => "leave it out".to_owned(),
        },
    };
    if let [method] = methods
        && method.has_parameters()
        && !method.chooses()
    {
        hint.push_str(&format!("; parameters of {name} are set with --set KEY=VALUE"));
    }
    bail!("{option} has no effect on {name}\nhint: {hint}");
}

/// Refuses an option that is not used with what is learned from.
pub(super) fn check_source(key: &str, source: Source) -> Result<()> {
    let Some(rule) = rule_of(key).filter(|rule| !rule.sources.contains(&source)) else { return Ok(()) };
    let option = rule.option;
    match (source, key) {
        (S::Stream, _) => bail!("{option} needs all rows at once\nhint: leave {option} or --stream out"),
        (S::Moments, _) => {
            bail!("{option} needs all rows, and --moments has their sums alone\nhint: leave {option} out")
        }
        (S::Pairs, "weights") => bail!(
            "--weights goes with --label, not with --pairs FILE\nhint: the weights of pairs are in their file, in a \
             column 'weight'"
        ),
        (S::Pairs, "multilabel" | "pair_budget") => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: graded pairs have a column 'similarity' in \
             their file"
        ),
        (S::Pairs, "local" | "share") => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: with --label, each class or cluster can have a \
             metric"
        ),
        (S::Pairs, _) => bail!(
            "{option} goes with --label, not with --pairs FILE\nhint: leave {option} out, or learn from labels \
             without --pairs"
        ),
        (_, "second") => bail!("--second goes with --pairs FILE"),
        (S::Labels, _) => bail!("{option} does not go with labelled rows\nhint: leave {option} out"),
        (S::Multilabel, _) => {
            bail!("{option} and --multilabel cannot be combined\nhint: leave one of them out")
        }
        (S::Regression, _) => {
            bail!("{option} goes with classes, not with --regression\nhint: leave {option} out")
        }
        (S::Local, "rank") => bail!(
            "--rank and --local cannot be combined: local metrics need all coordinates\nhint: leave one of them out"
        ),
        (S::Local, _) => bail!("{option} and --local cannot be combined\nhint: leave one of them out"),
        (S::Kernel, "principal") => {
            bail!(
                "--principal and --kernel cannot be combined\nhint: --landmarks limits the work of a kernel"
            )
        }
        (S::Kernel, "prior") => {
            bail!("--prior and --kernel cannot be combined: the prior of a kernel is the identity")
        }
        (S::Kernel, _) => bail!("{option} and --kernel cannot be combined\nhint: leave one of them out"),
    }
}
