//! The parameters of the methods in words: type, allowed values, meaning.

/// Type, allowed values and meaning.
type Words = (&'static str, &'static str, &'static str);

const INTEGER: &str = "integer";
const NUMBER: &str = "number";
const SWITCH: &str = "true or false";
const OPEN_INTEGER: &str = "integer or null";
const OPEN_NUMBER: &str = "number or null";
const ONE: &str = "at least 1";
const ABOVE: &str = "above 0";
const SHARE: &str = "between 0 and 1";
const COLUMNS: &str = "1 to the number of columns";

/// What a parameter of a method is; empty where there is none of the name.
pub(super) fn meaning_of(method: &str, key: &str) -> Words {
    let of = |name: &str| {
        let found = OF_METHODS.iter().find(|entry| entry.0.contains(&name) && entry.1 == key);
        found.map(|entry| entry.2)
    };
    let found = of(method).or_else(|| SHARED.iter().find(|entry| entry.0 == key).map(|entry| entry.1));
    found.unwrap_or(("", "", ""))
}

/// Parameters that mean the same wherever they are.
const SHARED: &[(&str, Words)] = &[
    ("seed", (INTEGER, "at least 0", "decides all random draws")),
    ("k", (INTEGER, ONE, "neighbours that vote")),
    ("rank", (OPEN_INTEGER, COLUMNS, "coordinates to keep; null: all columns")),
    (
        "shrinkage",
        (OPEN_NUMBER, SHARE, "how far the inner matrix is shrunk; null: only where it is singular"),
    ),
    ("max_iterations", (INTEGER, ONE, "stop after so many iterations")),
    ("tolerance", (NUMBER, "0 or above", "converged when a step changes less")),
    ("start", ("text or rows", "auto, identity, pca, lda, or {\"given\": rows}", "the first L")),
    ("targets", (OPEN_INTEGER, ONE, "nearest rows of its own class for each labelled row; null: 3")),
    ("impostors", (OPEN_INTEGER, ONE, "nearest rows of other classes for each of these; null: 10")),
    ("passes", (INTEGER, ONE, "how often each pair or triplet is presented")),
    ("neighbors", (INTEGER, ONE, "nearest rows that are looked at")),
    ("step", (NUMBER, ABOVE, "the size of a step")),
    ("row_units", (SWITCH, "true or false", "measure the prior in the units of the rows")),
];

/// Parameters that mean something of their own in some methods.
const OF_METHODS: &[(&[&str], &str, Words)] = &[
    (
        &["lmnn", "nca", "mcml", "ncmml", "ldml", "lsml"],
        "max_iterations",
        (INTEGER, "at least 0", "stop after so many iterations"),
    ),
    (&["auto", "auto-kernel"], "budget", (NUMBER, ONE, "work of the search, in plain fits that choose t")),
    (&["auto", "auto-kernel"], "selection_rows", (INTEGER, "at least 4", "choose on at most so many rows")),
    (
        &["auto", "auto-kernel"],
        "reduce",
        (SWITCH, "true or false", "learn inside leading directions, as --rank auto"),
    ),
    (&["auto", "auto-kernel"], "kernels", (SWITCH, "true or false", "try RBF kernels, too")),
    (
        &["auto", "auto-kernel"],
        "criterion",
        (
            "text",
            "knn-error, balanced-error, r@1, recall@5, map@r, mrr, ndcg@10, roc-auc or eer",
            "what is chosen by",
        ),
    ),
    (&["auto", "auto-kernel"], "similarity", ("text", "l2 or cosine", "how rows are compared")),
    (
        &["auto", "auto-kernel"],
        "folds_over",
        (
            "text or null",
            "rows, groups or classes",
            "what is held out together; null: groups if there are some",
        ),
    ),
    (
        &["auto", "auto-kernel"],
        "folds",
        (OPEN_INTEGER, "at least 2", "folds; null: by the size of the table"),
    ),
    (
        &["auto", "auto-kernel"],
        "max_trials",
        (OPEN_INTEGER, "at least 0", "stop after so many trials, with the best so far"),
    ),
    (
        &["recipe"],
        "standardize",
        (SWITCH, "true or false", "divide columns by their standard deviations first"),
    ),
    (&["recipe"], "shrinkage", (NUMBER, SHARE, "how far S is shrunk, in every step")),
    (
        &["recipe"],
        "towards_identity",
        (SWITCH, "true or false", "shrink towards the identity, not the diagonal of S"),
    ),
    (&["recipe"], "pooled", (SWITCH, "true or false", "every row counts once in S, as in LDA")),
    (&["recipe"], "beta", (NUMBER, SHARE, "what the part of D within classes is multiplied by")),
    (
        &["recipe"],
        "directions",
        (OPEN_INTEGER, ONE, "learn inside so many leading directions; null: in the columns"),
    ),
    (&["recipe"], "order", ("text", "as a model file records it", "which directions lead")),
    (
        &["recipe"],
        "curve",
        ("text", "as a model file records it", "how the weight of a direction grows with its ratio"),
    ),
    (&["recipe"], "t", (OPEN_NUMBER, SHARE, "the place on the geodesic; null: the plain distance")),
    (&["recipe"], "rounds", ("list", "[[neighbours, t], …]", "rounds of neighbourhoods that follow")),
    (&["itml"], "gamma", ("number or text", "auto, or above 0", "the cost of a violated constraint")),
    (
        &["itml"],
        "bounds",
        ("list or null", "[l, u], squared distances", "bounds of pairs; null: from the rows"),
    ),
    (&["itml"], "max_projections", (INTEGER, ONE, "stop after so many projections")),
    (&["lmnn"], "targets", (INTEGER, ONE, "target neighbours of each row")),
    (&["lmnn"], "hinge", ("text", "squared or classic", "the loss of an impostor inside the margin")),
    (&["lmnn"], "push", (NUMBER, SHARE, "the share of the hinges in the classic objective")),
    (&["mmc"], "diagonal", (SWITCH, "true or false", "learn a weight for each column alone")),
    (&["mmc"], "tolerance", (OPEN_NUMBER, "0 or above", "stop at shorter steps; null: 0.01, diagonal 0.001")),
    (&["flatgeo"], "min_iterations", (INTEGER, "at least 0", "the least number of iterations")),
    (&["rca"], "chunklets", (OPEN_INTEGER, ONE, "chunks drawn from labelled rows; null: every class is one")),
    (&["rca"], "chunklet_size", (INTEGER, "at least 2", "rows of a chunk that is drawn")),
    (&["lda"], "rank", (OPEN_INTEGER, COLUMNS, "coordinates to keep; null: one less than classes")),
    (&["xqda"], "rank", (OPEN_INTEGER, COLUMNS, "directions to keep; null: all that tell more than noise")),
    (&["xqda"], "ridge", (NUMBER, ABOVE, "added to the variances of similar differences")),
    (&["lfda"], "embedding", ("text", "weighted, orthonormal or plain", "the length of the directions")),
    (&["scml"], "bases", (INTEGER, ONE, "the number of bases")),
    (&["scml"], "beta", (NUMBER, "0 or above", "penalty on the weights: the larger, the fewer bases")),
    (&["scml"], "gamma", (NUMBER, ABOVE, "the larger, the shorter the steps")),
    (&["scml"], "batch", (INTEGER, ONE, "triplets of a step")),
    (&["scml"], "max_iterations", (INTEGER, ONE, "the number of stochastic steps")),
    (&["lsml"], "quadruplets", (OPEN_INTEGER, ONE, "drawn from labelled rows; null: 40c(c-1) for c classes")),
    (&["sdml"], "balance", (NUMBER, "0 or above", "the weight of the pairs beside the prior")),
    (&["sdml"], "sparsity", (NUMBER, "0 or above", "the larger, the more entries of A are 0")),
    (&["sdml"], "similar_only", (SWITCH, "true or false", "learn from similar pairs alone")),
    (&["sdml"], "row_units", (SWITCH, "true or false", "columns are not standardised first")),
    (&["robust-gmml"], "t", (NUMBER, SHARE, "the place on the geodesic from the inverse of S to D")),
    (&["robust-gmml"], "lambda", (NUMBER, "0 or above", "added beside eigenvalues of 1 on average")),
    (&["robust-gmml"], "shrinkage", (NUMBER, "above 0 and at most 1", "how far both estimators are shrunk")),
    (
        &["gmml-regression"],
        "t",
        (OPEN_NUMBER, SHARE, "the place on the geodesic; null: by the error of held-out rows"),
    ),
    (&["gmml-regression"], "bandwidth", (NUMBER, ABOVE, "h, in standard deviations of the targets")),
    (&["gmml-regression"], "slices", (INTEGER, "at least 2", "the most slices of the targets")),
    (&["gmml-regression"], "shrinkage", (NUMBER, SHARE, "how far S and D are shrunk to their diagonals")),
    (&["gmml-regression"], "selection_rows", (INTEGER, "at least 10", "t is chosen on at most so many rows")),
    (&["gmml-regression"], "k", (INTEGER, ONE, "neighbours whose mean is the prediction")),
    (
        &["mlkr"],
        "standardize",
        (SWITCH, "true or false", "divide columns by their standard deviations first"),
    ),
    (&["mlkr"], "start", ("text or rows", "auto, identity, pca, or {\"given\": rows}", "the first L")),
    (&["loreta"], "form", ("text", "psd or general", "a metric, or a similarity that need not be symmetric")),
    (&["oasis"], "aggressiveness", (NUMBER, ABOVE, "C, the largest step")),
];
