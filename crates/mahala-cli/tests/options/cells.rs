//! The cells: contexts (command, method, source) times options with values that must change something.

use crate::lists::*;

/// The commands that are tried; each of their options is in a list below.
pub(crate) const COMMANDS: [&str; 16] = [
    "fit",
    "evaluate",
    "adapt",
    "retrieval",
    "tune",
    "explore",
    "transform",
    "predict",
    "neighbors",
    "pairs",
    "moments",
    "merge",
    "methods",
    "man",
    "inspect",
    "export",
];

const METHODS: [&str; 31] = [
    "euclidean",
    "covariance",
    "gmml",
    "auto",
    "auto-kernel",
    "recipe",
    "itml",
    "lmnn",
    "nca",
    "mcml",
    "mmc",
    "flatgeo",
    "rca",
    "lda",
    "lfda",
    "kissme",
    "xqda",
    "dmlmj",
    "ncmml",
    "ldml",
    "scml",
    "lsml",
    "sdml",
    "robust-gmml",
    "lego",
    "pola",
    "oasis",
    "loreta",
    "moml",
    "gmml-regression",
    "mlkr",
];

/// Those that learn from labels that are numbers.
const REGRESSION: [&str; 2] = ["gmml-regression", "mlkr"];

/// An option with a value, and what it needs beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// As it is typed, and named in messages.
    pub(crate) name: &'static str,
    /// Or several, separated by bars: rows are few, and not every value changes a count of wrong votes.
    pub(crate) value: &'static str,
    /// Options without which this one means nothing; they stand on both sides of the comparison.
    pub(crate) needs: &'static str,
    /// The table on which it can be seen, instead of `t.csv`.
    pub(crate) table: &'static str,
}

/// A command line without the option.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) command: &'static str,
    pub(crate) method: &'static str,
    pub(crate) source: &'static str,
    line: String,
}

/// One option in one context.
pub(crate) struct Cell {
    pub(crate) context: Context,
    pub(crate) option: Case,
}

impl Cell {
    /// The line to compare with: without the option, or with another value of it.
    pub(crate) fn without(&self) -> String {
        let mut words = self.words();
        if let Some(at) = self.place(&words)
            && (self.option.value.is_empty() || words[at + 1] == self.option.value)
        {
            words.drain(at..=at + usize::from(!self.option.value.is_empty()));
        }
        words.join(" ")
    }

    /// The lines with the option, one a value.
    pub(crate) fn lines(&self) -> Vec<String> {
        let value = match (self.option.name, self.context.method) {
            ("--set", method) => setting(method),
            _ => self.option.value,
        };
        value.split('|').map(|value| self.with(value)).collect()
    }

    fn with(&self, value: &str) -> String {
        let mut words = self.words();
        // What may be repeated stands beside the first.
        if !["--set", "--ignore"].contains(&self.option.name)
            && let Some(at) = self.place(&words)
        {
            words.drain(at..=at + usize::from(!self.option.value.is_empty()));
        }
        words.extend([self.option.name.to_owned(), value.to_owned()]);
        words.join(" ").trim_end().to_owned()
    }

    fn words(&self) -> Vec<String> {
        let line = format!("{} {}", self.context.line, self.option.needs);
        let table = |word: &str| match word {
            "t.csv" | "sets.csv" if !self.option.table.is_empty() => self.option.table.to_owned(),
            other => other.to_owned(),
        };
        let mut words: Vec<String> = line.split_whitespace().map(table).collect();
        // Runs go with halves alone.
        if ["--test-folds", "--train-rows", "--test-rows"].contains(&self.option.name)
            && let Some(at) = words.iter().position(|word| word == "--runs")
        {
            words.drain(at..=at + 1);
        }
        words
    }

    fn place(&self, words: &[String]) -> Option<usize> {
        words.iter().position(|word| word == self.option.name)
    }

    /// Whether a message refuses what this option needs.
    pub(crate) fn needs_refused(&self, message: &str) -> bool {
        self.option.needs.split_whitespace().any(|word| word.starts_with("--") && message.contains(word))
    }

    /// Why the option rightly changes nothing here.
    pub(crate) fn excuse(&self) -> Option<&'static str> {
        let Context { command, method, source, .. } = self.context;
        match (self.option.name, command) {
            ("--threads", _) => Some("results do not depend on the number of threads"),
            ("--seed", "fit" | "evaluate") if method != "auto" => Some(
                "a table so small is used whole: folds of a closed t, pairs and landmarks may not be drawn",
            ),
            ("--standardize", "evaluate")
                if ["covariance", "mcml", "rca", "lda", "kissme", "xqda", "scml", "sdml"]
                    .contains(&method) =>
            {
                Some("the metric is the same in any unit")
            }
            ("--standardize", "evaluate") if REGRESSION.contains(&method) => {
                Some("it standardises the columns anyway")
            }
            ("--standardize", "evaluate") if method.starts_with("auto") => {
                Some("standardised columns are among what is tried; fit shows that it is used")
            }
            ("--max-iterations", _) if ["oasis", "loreta", "moml"].contains(&method) => {
                Some("one pass is what is made anyway")
            }
            ("--label", "evaluate") if source == "model and pairs" => {
                Some("the columns a model wants are picked by name; pairs judge it")
            }
            ("--chunks", "fit" | "evaluate") if source == "chunks" => Some("g is the column before the last"),
            ("--quiet", _) => Some("it leaves out what is said, where something is"),
            ("--color", _) => Some("nothing that is said here has colours"),
            ("--keep-best", _) => Some("it says what Ctrl-C does"),
            ("--format", "export") => Some("it says what the name says, too"),
            ("--keep-rows", "fit") if source == "moments and rows" => {
                Some("a sample is kept only if asked for; 'never' is what is done")
            }
            ("--format", _) => Some("it says what the first bytes say, too"),
            ("--output", _) => Some("it says where the same goes"),
            ("--stream", _) => Some("the same numbers, in less memory"),
            ("--pairs", "fit" | "evaluate" | "tune" | "explore") if self.option.value == "all" => {
                Some("it says what is done anyway")
            }
            ("--ignore", "evaluate") if source.starts_with("model") => {
                Some("the columns a model wants are picked by name; others need not be named")
            }
            ("--ignore", "transform" | "predict" | "neighbors" | "pairs") => {
                Some("the columns a model wants are picked by name; others need not be named")
            }
            ("--header", "transform" | "predict" | "neighbors" | "pairs") => {
                Some("a first line with the names of the model's columns is a header")
            }
            _ => None,
        }
    }
}

/// A parameter of the method's own that changes what it learns.
fn setting(method: &str) -> &'static str {
    match method {
        "auto" | "auto-kernel" => "reduce=true",
        "recipe" | "robust-gmml" | "gmml-regression" => "t=0.9",
        "itml" => "gamma=0.01",
        "lmnn" => "targets=1",
        "nca" | "mcml" => "tolerance=0.5",
        "mmc" => "diagonal=true",
        "flatgeo" | "lda" | "lfda" | "xqda" | "dmlmj" | "ncmml" | "ldml" | "loreta" | "mlkr" => "rank=1",
        "rca" => "chunklets=5",
        "kissme" => "shrinkage=0.9",
        "scml" => "bases=2",
        "lsml" => "quadruplets=3",
        "sdml" => "sparsity=0.5",
        "lego" | "moml" => "step=0.3",
        "pola" => "passes=1",
        "oasis" => "aggressiveness=0.001",
        _ => "anything=1",
    }
}

fn lists(command: &str) -> Vec<&'static [Case]> {
    match command {
        "fit" => vec![LEARN, STEER, READ, TARGET, FIT],
        "evaluate" => vec![LEARN, STEER, READ, TARGET, EVALUATE],
        "tune" => vec![LEARN, READ, TUNE],
        "explore" => vec![LEARN, READ, EXPLORE],
        "adapt" => vec![READ, ADAPT],
        "retrieval" => vec![READ, RETRIEVAL],
        "transform" => vec![READ, TRANSFORM],
        "predict" => vec![READ, PREDICT],
        "neighbors" => vec![READ, NEIGHBORS],
        "pairs" => vec![READ, PAIRS],
        "moments" => vec![READ, MOMENTS],
        "merge" => vec![MERGE],
        "methods" => vec![METHODS_LIST],
        "man" => vec![MAN],
        "inspect" => vec![INSPECT],
        _ => vec![EXPORT],
    }
}

/// The long names of the options that are tried.
pub(crate) fn options_of(command: &str) -> Vec<String> {
    let long = |case: &Case| if case.name == "-k" { "--k".to_owned() } else { case.name.to_owned() };
    lists(command).into_iter().flatten().chain(GLOBAL).map(long).collect()
}

fn context(command: &'static str, method: &'static str, source: &'static str, line: &str) -> Context {
    Context { command, method, source, line: format!("{command} {line}") }
}

fn contexts() -> Vec<Context> {
    let mut all = Vec::new();
    // Little, but enough for some recipes of every kind.
    let least = |method: &str| if method.starts_with("auto") { "--set budget=6" } else { "" };
    for method in METHODS {
        let least = least(method);
        let label = if REGRESSION.contains(&method) { "2 --ignore y --regression" } else { "y" };
        let line = format!("t.csv --label {label} --method {method} {least} --output OUT.st");
        all.push(context("fit", method, "labels", &line));
        let runs = if least.is_empty() { 3 } else { 1 };
        let line = format!("t.csv --label {label} --runs {runs} --json --method {method} {least}");
        all.push(context("evaluate", method, "labels", &line));
    }
    for method in ["gmml", "itml", "mmc", "flatgeo"] {
        let line = format!("t.csv --label y --pairs pairs.csv --method {method} --output OUT.st");
        all.push(context("fit", method, "pairs", &line));
    }
    for (method, source, option) in [
        ("gmml", "triplets", "--triplets triplets.csv"),
        ("scml", "triplets", "--triplets triplets.csv"),
        ("moml", "triplets", "--triplets triplets.csv"),
        ("lsml", "quadruplets", "--quadruplets quadruplets.csv"),
        ("kissme", "quadruplets", "--quadruplets quadruplets.csv"),
        ("rca", "chunks", "--chunks -2"),
        ("gmml", "chunks", "--chunks -2"),
    ] {
        let line = format!("t.csv --label y {option} --method {method} --output OUT.st");
        all.push(context("fit", method, source, &line));
    }
    for (source, line) in [
        ("multilabel", "sets.csv --label y --multilabel ;"),
        ("local", "t.csv --label y --local class"),
        ("kernel:rbf", "t.csv --label y --kernel rbf"),
        ("kernel:polynomial", "t.csv --label y --kernel polynomial --gamma 0.1"),
        ("kernel:precomputed", "gram.csv --label y --kernel precomputed"),
        ("stream", "t.csv --label y --stream"),
        ("moments", "--moments t.moments --t 0.4"),
        ("moments and rows", "t.csv --label y --moments t.moments"),
    ] {
        all.push(context("fit", "gmml", source, &format!("{line} --method gmml --output OUT.st")));
    }
    for (source, line) in [
        ("pairs", "t.csv --label y --pairs pairs.csv --method euclidean,gmml"),
        ("triplets", "t.csv --label y --triplets triplets.csv --method gmml"),
        ("quadruplets", "t.csv --label y --quadruplets quadruplets.csv --method lsml"),
        ("chunks", "t.csv --label y --chunks -2 --method rca"),
        ("multilabel", "sets.csv --label y --multilabel ; --method gmml"),
        ("local", "t.csv --label y --local class --method gmml"),
        ("kernel:rbf", "t.csv --label y --kernel rbf --method gmml"),
        ("kernel:precomputed", "gram.csv --label y --kernel precomputed --method gmml"),
        ("weights", "t.csv --label y --weights w --method gmml"),
    ] {
        let method = line.rsplit([' ', ',']).next().unwrap_or_default();
        let method = METHODS.into_iter().find(|name| *name == method).expect("a method");
        all.push(context("evaluate", method, source, &format!("{line} --runs 3 --json")));
    }
    for (source, line) in
        [("model", "gmml.st t.csv --label y"), ("model and pairs", "gmml.st t.csv --pairs pairs.csv")]
    {
        all.push(context("evaluate", "", source, &format!("{line} --json")));
    }
    all.push(context("tune", "gmml", "labels", "t.csv --label y --steps 20 --json"));
    all.push(context("explore", "gmml", "labels", "t.csv --label y --steps 10 --output OUT.html"));
    for model in ["gmml", "calibrated", "kernel", "local", "regression"] {
        all.push(context("transform", "", model, &format!("{model}.st t.csv")));
        all.push(context("predict", "", model, &format!("{model}.st t.csv")));
        all.push(context("neighbors", "", model, &format!("{model}.st t.csv")));
        // A regression has no threshold.
        if model != "regression" {
            all.push(context("pairs", "", model, &format!("{model}.st t.csv --pairs pairs.csv")));
        }
        all.push(context("inspect", "", model, &format!("{model}.st")));
        // A kernel's metric is no matrix: none of this could be seen.
        for form in if model == "kernel" { &[][..] } else { &["onnx", "npy", "csv", "json"] } {
            all.push(context("export", "", model, &format!("{model}.st --output OUT.{form}")));
        }
    }
    let adapted = "--output OUT.st --json --metric l2";
    all.push(context("adapt", "", "labels", &format!("t.csv --label y {adapted}")));
    for (source, options) in [
        ("pairs", "--pairs pairs.csv"),
        ("triplets", "--triplets triplets.csv"),
        ("clicks", "--clicks clicks.csv --queries moved.csv"),
    ] {
        all.push(context("adapt", "", source, &format!("t.csv --ignore y {options} {adapted}")));
    }
    all.push(context("retrieval", "", "labels", "t.csv --label y"));
    all.push(context("methods", "", "", "lda"));
    all.push(context("man", "", "", "pages"));
    all.push(context("moments", "", "", "t.csv --label y --output OUT.moments"));
    all.push(context("merge", "", "", "t.moments moved.moments --output OUT.moments"));
    all
}

/// Every cell.
pub(crate) fn cells() -> Vec<Cell> {
    let of = |context: Context| {
        let options = lists(context.command).into_iter().flatten().chain(GLOBAL).copied();
        let precomputed = context.source == "kernel:precomputed";
        let automatic = context.method.starts_with("auto");
        let weighted = context.source == "weights";
        let chunked = context.source == "chunks";
        let judged = context.command == "evaluate" && context.source.starts_with("model");
        // A table of kernel values is read as any other; another method has no budget.
        let tried = move |option: &Case| {
            let read = READ.iter().any(|read| read.name == option.name);
            let method = option.name.starts_with("--method");
            // It has no column g; and of the columns the prior is for, one is the weight or the chunk.
            // A model wants columns by name, and these are numbers whether or not they are taken for names.
            let elsewhere = (precomputed && option.name == "--groups")
                || ((weighted || chunked) && option.name == "--prior")
                || (judged && option.name == "--header");
            !((precomputed && read) || (automatic && method) || elsewhere)
        };
        let options = options.filter(tried);
        options.map(move |option| Cell { context: context.clone(), option })
    };
    contexts().into_iter().flat_map(of).collect()
}
