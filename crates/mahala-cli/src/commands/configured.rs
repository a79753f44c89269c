//! A method with its parameters, ready to learn.

use crate::options::method::{LIMITS, Method, MethodArgs};
use anyhow::{Result, anyhow};
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, TChoice};
use mahala::learner::{Learned, Learner, Report, Training, learn_standardized};
use mahala::progress::{Step, Stop, silent};
use mahala::{Fit, Gmml};
use mahala_baselines::named;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A method with its parameters.
pub(crate) struct Configured {
    pub method: Method,
    pub gmml: Gmml,
    /// None for GMML, whose parameters are above.
    learner: Option<Box<dyn Learner>>,
    time_limit: Option<Duration>,
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
                Training::Grouped(data, groups) => {
                    self.gmml.fit_with(data, &FitOptions::grouped(groups), &mut silent)?
                }
                _ => {
                    let pairs = training.pairs(self.gmml.name(), self.gmml.seed)?;
                    self.gmml.fit_pairs(training.rows(), &pairs)?
                }
            };
            return Ok((Learned::new(metric, Report::closed_form()), Some(t)));
        };
        let start = Instant::now();
        let progress = &mut |step: Step| {
            tell(step);
            match self.time_limit {
                Some(limit) if start.elapsed() >= limit => ControlFlow::Break(Stop::TimeUp),
                _ => ControlFlow::Continue(()),
            }
        };
        let learned = if self.gmml.standardize {
            learn_standardized(&**learner, training, progress)
        } else {
            learner.learn(training, progress)
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

/// Every method with its parameters, which `check_steering` has seen.
pub(crate) fn configure(
    methods: &[Method],
    args: &MethodArgs,
    gmml: &Gmml,
    selection_rows: Option<usize>,
) -> Result<Vec<Configured>> {
    let time_limit = args.time_limit.map(Duration::from_secs_f64);
    let configured = |&method: &Method| {
        let learner = match method {
            Method::Gmml => None,
            _ => Some(named(method.name(), parameters(&method.keys()?, args, gmml, selection_rows))?),
        };
        Ok(Configured { method, gmml: gmml.clone(), learner, time_limit })
    };
    methods.iter().map(configured).collect()
}

/// The options that a method has a parameter for.
fn parameters(keys: &[String], args: &MethodArgs, gmml: &Gmml, selection_rows: Option<usize>) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        if keys.iter().any(|known| known == key) {
            fields.insert(key.to_owned(), value);
        }
    };
    put("seed", json!(gmml.seed));
    put("k", json!(gmml.k));
    if let Some(rows) = selection_rows {
        put("selection_rows", json!(rows));
    }
    if let Some(Components::Count(rank)) = gmml.rank {
        put("rank", json!(rank));
    }
    if let Some(limit) = args.max_iterations {
        LIMITS.iter().for_each(|key| put(key, json!(limit)));
    }
    args.set.iter().for_each(|setting| put(&setting.key, setting.value.clone()));
    Value::Object(fields)
}
