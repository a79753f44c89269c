//! The options of each command, with values that must change something.

use crate::cells::Case;

const fn case(name: &'static str, value: &'static str) -> Case {
    Case { name, value, needs: "", table: "" }
}

const fn needing(name: &'static str, value: &'static str, needs: &'static str) -> Case {
    Case { name, value, needs, table: "" }
}

const fn seen_in(name: &'static str, value: &'static str, table: &'static str) -> Case {
    Case { name, value, needs: "", table }
}

/// How metrics are learned, in `fit`, `evaluate` and `tune`.
pub(crate) const LEARN: &[Case] = &[
    case("--t", "0.93"),
    case("--lambda", "1000"),
    case("--shrinkage", "0.9"),
    needing("--shrink-towards", "identity", "--shrinkage 0.9"),
    needing("--prior", "prior.csv", "--lambda 1000"),
    case("--standardize", ""),
    case("--rank", "1"),
    case("--rank", "0.3"),
    case("--rank", "auto"),
    case("--principal", "2"),
    case("-k", "17"),
    case("--folds", "2"),
    needing("--folds", "2", "--t 0.3"),
    case("--selection-rows", "20|16|12"),
    needing("--selection-rows", "20", "--t 0.3"),
    case("--balance", "classes"),
    case("--seed", "9|2|31"),
];

/// How methods that iterate are steered.
pub(crate) const STEER: &[Case] = &[
    case("--max-iterations", "1"),
    case("--time-limit", "0.000000001"),
    case("--keep-best", ""),
    case("--params", "other.st"),
    case("--criterion", "map@r|mrr|eer"),
    case("--similarity", "cosine"),
    case("--folds-over", "classes"),
    case("--set", "of the method"),
];

/// How a file is read.
pub(crate) const READ: &[Case] = &[
    case("--ignore", "b"),
    seen_in("--missing", "zero", "gap.csv"),
    seen_in("--header", "yes", "numbered.csv"),
    seen_in("--delimiter", ":", "colons.csv"),
    case("--format", "csv"),
    seen_in("--skip-bad-rows", "2", "bad.csv"),
    case("--array", "X"),
    case("--zero-based", ""),
];

/// What is learned from, in `fit` and `evaluate`.
pub(crate) const TARGET: &[Case] = &[
    case("--label", "y"),
    case("--labels", "labels.txt"),
    case("--regression", ""),
    case("--groups", "g"),
    case("--pairs", "all"),
    case("--pairs", "sampled"),
    case("--pairs", "pairs.csv"),
    case("--triplets", "triplets.csv"),
    case("--quadruplets", "quadruplets.csv"),
    case("--chunks", "g"),
    case("--second", "moved.csv"),
    case("--weights", "w"),
    seen_in("--multilabel", ";", "sets.csv"),
    Case { name: "--pair-budget", value: "40", needs: "--multilabel ;", table: "sets.csv" },
    case("--local", "cluster:2"),
    needing("--share", "0.9", "--local class"),
    case("--kernel", "rbf"),
    needing("--gamma", "0.7", "--kernel rbf"),
    needing("--gamma", "0.7", "--kernel linear"),
    needing("--degree", "2", "--kernel polynomial"),
    needing("--degree", "2", "--kernel rbf"),
    needing("--coef0", "5", "--kernel polynomial"),
    needing("--coef0", "5", "--kernel linear"),
    needing("--landmarks", "9", "--kernel rbf"),
];

pub(crate) const FIT: &[Case] = &[
    case("--output", "OUT.st"),
    case("--method", "mmc"),
    case("--keep-rows", "never"),
    case("--stream", ""),
    case("--moments", "moved.moments"),
    case("--json", ""),
    case("--calibrate", "platt"),
    case("--threads", "1"),
];

pub(crate) const EVALUATE: &[Case] = &[
    case("--method", "mmc"),
    case("--runs", "2"),
    needing("--runs", "2", "--test-folds 3"),
    needing("--runs", "2", "--train-rows 1-40 --test-rows 41-60"),
    needing("--test-folds", "3", "--test-folds 2"),
    needing("--train-rows", "1-30", "--test-rows 41-60"),
    needing("--test-rows", "31-50", "--train-rows 1-30"),
    case("--svg", "OUT.csv"),
    case("--by-position", ""),
    case("--json", ""),
    case("--threads", "1"),
];

pub(crate) const TUNE: &[Case] = &[
    case("--label", "y"),
    case("--labels", "labels.txt"),
    case("--steps", "7"),
    case("--svg", "OUT.csv"),
    case("--pairs", "all"),
    case("--pairs", "sampled"),
    case("--json", ""),
    case("--threads", "1"),
];

pub(crate) const EXPLORE: &[Case] = &[
    needing("--label", "g", "--ignore y"),
    case("--groups", "g"),
    case("--pairs", "all"),
    case("--pairs", "sampled"),
    case("--steps", "7"),
    case("--max-rows", "20"),
    case("--coordinates", "2"),
    case("--output", "OUT.csv"),
    case("--threads", "1"),
];

pub(crate) const ADAPT: &[Case] = &[
    case("--label", "y"),
    case("--labels", "labels.txt"),
    case("--pairs", "pairs.csv"),
    case("--triplets", "triplets.csv"),
    needing("--clicks", "clicks.csv", "--queries moved.csv"),
    needing("--queries", "moved.csv", "--clicks clicks.csv"),
    case("--classes", "unseen"),
    case("--metric", "l2"),
    case("--n-components", "2"),
    case("--criterion", "recall@5"),
    case("--selection-rows", "12"),
    case("--seed", "9"),
    case("--output", "OUT.st"),
    case("--json", ""),
    case("--threads", "1"),
];

pub(crate) const RETRIEVAL: &[Case] = &[
    case("--label", "y"),
    case("--labels", "labels.txt"),
    needing("--query-labels", "labels.txt", "--queries moved.csv"),
    case("--queries", "moved.csv"),
    needing("--judgements", "clicks.csv", "--queries moved.csv"),
    case("--model", "gmml.st"),
    case("--criterion", "mrr"),
    case("--metric", "l2"),
    case("--confidence", "0.5"),
    needing("--by-position", "", "--model gmml.st"),
    case("--seed", "9"),
    case("--json", ""),
    case("--threads", "1"),
];

pub(crate) const TRANSFORM: &[Case] = &[
    needing("--json", "", "--output OUT.csv"),
    case("--output", "OUT.csv"),
    case("--label", "y"),
    case("--id", "y"),
    case("--by-position", ""),
    case("--stream", ""),
    case("--threads", "1"),
];

pub(crate) const PREDICT: &[Case] = &[
    case("--label", "y"),
    case("--labels", "labels.txt"),
    case("--id", "y"),
    case("--by-position", ""),
    needing("--train", "moved.csv", "--train-label y"),
    case("--train-label", "y"),
    case("--k", "17"),
    case("--stream", ""),
    case("--output", "OUT.csv"),
    case("--probabilities", ""),
    case("--json", ""),
    case("--threads", "1"),
];

pub(crate) const NEIGHBORS: &[Case] = &[
    case("--among", "moved.csv"),
    case("--label", "y"),
    case("--labels", "labels.txt"),
    case("--id", "y"),
    case("--by-position", ""),
    case("--k", "2"),
    case("--output", "OUT.csv"),
    needing("--json", "", "--output OUT.csv"),
    case("--threads", "1"),
];

pub(crate) const PAIRS: &[Case] = &[
    case("--pairs", "pairs.csv"),
    case("--second", "moved.csv"),
    case("--threshold", "0.01"),
    case("--probabilities", ""),
    case("--by-position", ""),
    case("--output", "OUT.csv"),
    case("--json", ""),
    needing("--each", "", "--json"),
    case("--threads", "1"),
];

pub(crate) const MOMENTS: &[Case] = &[
    needing("--label", "g", "--ignore y"),
    case("--output", "OUT.moments"),
    case("--json", ""),
    case("--threads", "1"),
];
pub(crate) const METHODS_LIST: &[Case] = &[case("--json", ""), case("--threads", "1")];
pub(crate) const MAN: &[Case] = &[case("--threads", "1")];
/// Options of every command.
pub(crate) const GLOBAL: &[Case] = &[case("--quiet", ""), case("--verbose", ""), case("--color", "always")];
pub(crate) const MERGE: &[Case] =
    &[case("--output", "OUT.moments"), case("--json", ""), case("--threads", "1")];
pub(crate) const INSPECT: &[Case] = &[case("--json", ""), case("--threads", "1")];
pub(crate) const EXPORT: &[Case] = &[
    case("--output", "OUT.csv"),
    case("--format", "json"),
    case("--what", "matrix"),
    case("--f32", ""),
    case("--json", ""),
    case("--threads", "1"),
];
