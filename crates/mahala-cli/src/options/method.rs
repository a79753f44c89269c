//! The methods, behind one face: which there are, and how the options reach them.

use crate::options::{LearnArgs, RankArg, at_least, explain};
use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use mahala::learners::{Learned, Learner, Order, Report, Step, Training, learn_standardized, named};
use mahala::{Components, Fit, Gmml, TChoice};
use serde_json::{Map, Value, json};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A method of `fit` and `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// No learning: the plain distance
    Euclidean,
    /// The inverse covariance, without labels
    Covariance,
    /// Geometric mean metric learning, t chosen
    Gmml,
    /// The same with everything chosen: standardisation, shrinkage, directions, rounds, t
    Auto,
    /// The same, and RBF kernels: the distance may be nonlinear
    AutoKernel,
    /// One recipe of those, given: --set t=0.3 --set 'rounds=[[3,0.2]]' --set directions=25
    Recipe,
    /// Information-theoretic metric learning
    Itml,
    /// Large margin nearest neighbours
    Lmnn,
    /// Neighbourhood components analysis
    Nca,
    /// Maximally collapsing metric learning
    Mcml,
    /// Metric learning for clustering
    Mmc,
    /// Regression on fixed-rank matrices, flat geometry
    Flatgeo,
}

/// How a method that iterates is steered.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Methods that iterate")]
pub(crate) struct MethodArgs {
    /// Stop after this many iterations
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    pub max_iterations: Option<usize>,
    /// Stop a fit after this time, with the best metric so far
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds)]
    pub time_limit: Option<f64>,
    /// Set a parameter of the method, such as gamma=0.1 (may be given several times)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
}

impl MethodArgs {
    /// The library's error about a parameter that was set, in the words it was set in.
    pub(crate) fn explain(&self, error: mahala::Error, names: &[String]) -> anyhow::Error {
        match error {
            mahala::Error::Parameter { name, value, allowed }
                if self.set.iter().any(|setting| setting.key == name) =>
            {
                anyhow!("--set {name}: {name} is {value}; it must be {allowed}")
            }
            other => explain(other, names),
        }
    }

    /// The same with one more parameter set.
    pub(crate) fn with(&self, key: &str, value: Value) -> Self {
        let mut steering = self.clone();
        steering.set.push(Setting { key: key.to_owned(), value });
        steering
    }

    /// Whether a parameter is set to this.
    pub(crate) fn sets(&self, key: &str, value: &Value) -> bool {
        self.set.iter().any(|setting| setting.key == key && setting.value == *value)
    }
}

/// `key=value`; the value is a number, true or false, null, or else text.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    key: String,
    value: Value,
}

/// A method with its parameters.
pub(crate) struct Configured {
    pub method: Method,
    pub gmml: Gmml,
    /// None for GMML, whose parameters are above.
    learner: Option<Box<dyn Learner>>,
    time_limit: Option<Duration>,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Covariance => "covariance",
            Self::Gmml => "gmml",
            Self::Auto => "auto",
            Self::AutoKernel => "auto-kernel",
            Self::Recipe => "recipe",
            Self::Itml => "itml",
            Self::Lmnn => "lmnn",
            Self::Nca => "nca",
            Self::Mcml => "mcml",
            Self::Mmc => "mmc",
            Self::Flatgeo => "flatgeo",
        }
    }

    /// Whether there is nothing that could be stopped half-way.
    fn is_closed_form(self) -> bool {
        matches!(self, Self::Euclidean | Self::Covariance | Self::Gmml | Self::Recipe)
    }

    /// Whether it is the automatic mode.
    pub(crate) fn chooses(self) -> bool {
        matches!(self, Self::Auto | Self::AutoKernel)
    }

    /// Whether it has parameters that are set with --set.
    pub(crate) fn has_parameters(self) -> bool {
        self.keys().is_ok_and(|keys| !keys.is_empty())
    }

    /// The names of its parameters.
    fn keys(self) -> Result<Vec<String>> {
        if self == Self::Gmml {
            return Ok(Vec::new());
        }
        let parameters = named(self.name(), json!({}))?.parameters();
        Ok(parameters.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default())
    }
}

/// Refuses what is set twice, and what none of the methods has.
pub(crate) fn check_steering(methods: &[Method], args: &MethodArgs, learn: &LearnArgs) -> Result<()> {
    let keys = methods.iter().map(|method| method.keys()).collect::<Result<Vec<_>>>()?;
    let known = |key: &str| keys.iter().flatten().any(|known| known == key);
    if let Some(Setting { key, .. }) = args.set.iter().find(|setting| !known(&setting.key)) {
        bail!("--set {key}: there is no such parameter\nhint: {}", list(methods, &keys));
    }
    for (i, Setting { key, .. }) in args.set.iter().enumerate() {
        if args.set[..i].iter().any(|earlier| earlier.key == *key) {
            bail!("--set {key} is given twice\nhint: leave one of them out");
        }
        if let Some(option) = option_for(key, args, learn) {
            bail!("--set {key} and {option} say the same\nhint: leave one of them out");
        }
    }
    if args.max_iterations.is_some() && !LIMITS.iter().any(|key| known(key)) {
        bail!("--max-iterations has no effect: none of the methods iterates\nhint: leave it out; {CLOSED}");
    }
    if args.time_limit.is_some() && methods.iter().all(|method| method.is_closed_form()) {
        bail!("--time-limit has no effect: none of the methods iterates\nhint: leave it out; {CLOSED}");
    }
    Ok(())
}

/// The option that sets a parameter, if it was typed.
fn option_for(key: &str, args: &MethodArgs, learn: &LearnArgs) -> Option<&'static str> {
    let options = [
        ("k", "-k", learn.k.is_some()),
        ("rank", "--rank", learn.rank.is_some()),
        ("reduce", "--rank auto", learn.rank == Some(RankArg::Chosen)),
        ("selection_rows", "--selection-rows", learn.selection_rows.is_some()),
        (LIMITS[0], "--max-iterations", args.max_iterations.is_some()),
        (LIMITS[1], "--max-iterations", args.max_iterations.is_some()),
    ];
    options.into_iter().find(|option| option.0 == key && option.2).map(|option| option.1)
}

/// Every method with its parameters, which [`check_steering`] has seen.
pub(crate) fn configure(methods: &[Method], args: &MethodArgs, gmml: &Gmml) -> Result<Vec<Configured>> {
    let time_limit = args.time_limit.map(Duration::from_secs_f64);
    let configured = |&method: &Method| {
        let learner = match method {
            Method::Gmml => None,
            _ => Some(named(method.name(), parameters(&method.keys()?, args, gmml))?),
        };
        Ok(Configured { method, gmml: gmml.clone(), learner, time_limit })
    };
    methods.iter().map(configured).collect()
}

/// Why there is nothing to stop.
const CLOSED: &str = "a closed form is one step, and so is each fit of a cross-validation";

/// What the methods call their limit of iterations.
const LIMITS: [&str; 2] = ["max_iterations", "max_projections"];

/// The options that a method has a parameter for.
fn parameters(keys: &[String], args: &MethodArgs, gmml: &Gmml) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        if keys.iter().any(|known| known == key) {
            fields.insert(key.to_owned(), value);
        }
    };
    put("seed", json!(gmml.seed));
    put("k", json!(gmml.k));
    put("selection_rows", json!(gmml.selection_rows));
    if let Some(Components::Count(rank)) = gmml.rank {
        put("rank", json!(rank));
    }
    if let Some(limit) = args.max_iterations {
        LIMITS.iter().for_each(|key| put(key, json!(limit)));
    }
    args.set.iter().for_each(|setting| put(&setting.key, setting.value.clone()));
    Value::Object(fields)
}

fn list(methods: &[Method], keys: &[Vec<String>]) -> String {
    let one = |(method, keys): (&Method, &Vec<String>)| match method {
        Method::Gmml => "gmml has options of its own (--t, --lambda, --shrinkage)".to_owned(),
        _ if keys.is_empty() => format!("{} has no parameters", method.name()),
        _ => format!("{} has {}", method.name(), keys.join(", ")),
    };
    methods.iter().zip(keys).map(one).collect::<Vec<_>>().join("; ")
}

impl Configured {
    /// Learns a metric, choosing what is left open; and the t, if there is one.
    pub(crate) fn learn(
        &self,
        training: &Training<'_>,
        tell: &mut dyn FnMut(Step),
    ) -> mahala::Result<(Learned, Option<f64>)> {
        let Some(learner) = &self.learner else {
            let Fit { metric, t, .. } = match training {
                Training::Labelled(data) => self.gmml.fit(data)?,
                Training::Grouped(data, groups) => self.gmml.fit_grouped(data, groups, &mut |_, _| true)?,
                Training::Paired(rows, pairs) => self.gmml.fit_pairs(rows, pairs)?,
            };
            return Ok((Learned::new(metric, Report::closed_form()), Some(t)));
        };
        let start = Instant::now();
        let observer = &mut |step: Step| {
            tell(step);
            match self.time_limit {
                Some(limit) if start.elapsed() >= limit => Order::TimeUp,
                _ => Order::GoOn,
            }
        };
        let learned = if self.gmml.standardize {
            learn_standardized(&**learner, training, observer)
        } else {
            learner.learn(training, observer)
        };
        Ok((learned?, None))
    }

    /// The method, unless it is GMML.
    pub(crate) fn learner(&self) -> Result<&dyn Learner> {
        self.learner.as_deref().ok_or_else(|| anyhow!("gmml is fitted by itself"))
    }

    /// The same with every choice made: what one fit alone costs.
    pub(crate) fn with_t(&self, t: Option<f64>) -> Result<Self> {
        let learner = match &self.learner {
            Some(learner) => Some(named(learner.name(), learner.parameters())?),
            None => None,
        };
        let gmml = Gmml { t: t.map_or(self.gmml.t, TChoice::Fixed), ..self.gmml.clone() };
        Ok(Self { method: self.method, gmml, learner, time_limit: self.time_limit })
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((key, value)) = text.split_once('=') else {
            return Err("it must be KEY=VALUE, such as gamma=0.1".into());
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Ok(Self { key: key.trim().to_owned(), value })
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e9 => Ok(seconds),
        _ => Err("it must be a number of seconds above 0".into()),
    }
}
