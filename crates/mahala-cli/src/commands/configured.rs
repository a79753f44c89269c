//! A method with its parameters, ready to learn.

use crate::options::kernel::KernelArgs;
use crate::options::method::{LIMITS, Method, MethodArgs};
use crate::terminal::message::print_detail;
use crate::terminal::signals;
use anyhow::{Result, anyhow};
use clap::ValueEnum as _;
use mahala::gmml::FitOptions;
use mahala::gmml::{Components, TChoice};
use mahala::kernel::KernelFit;
use mahala::learner::{Learned, Learner, Report, Training, learn_standardized};
use mahala::local::{LocalGmml, LocalMetrics, Locality, Share};
use mahala::neighbors::misclassified;
use mahala::progress::{Step, Stop, silent};
use mahala::{Dataset, Fit, Gmml};
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
    setup: Setup,
}

/// What GMML alone can do beside a metric of rows.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    pub kernel: Option<KernelArgs>,
    pub local: Option<(Locality, Share)>,
}

/// What was learned, for tests on other rows.
pub(crate) struct Answer {
    learned: Learned,
    local: Option<LocalMetrics>,
    /// The t, if there is one.
    pub t: Option<f64>,
    pub report: Report,
}

impl Answer {
    fn new(learned: Learned, local: Option<LocalMetrics>, t: Option<f64>) -> Self {
        let report = learned.report.clone();
        Self { learned, local, t, report }
    }

    /// The one metric for all rows.
    pub(crate) fn global(&self) -> &Learned {
        &self.learned
    }

    /// Of each test row, whether its nearest training rows put it into a wrong class.
    pub(crate) fn misclassified(
        &self,
        train: &Dataset,
        test: &Dataset,
        k: usize,
    ) -> mahala::Result<Vec<bool>> {
        if let Some(local) = &self.local {
            let (theirs, ours) = (local.references.1.names(), test.labels().names());
            let predicted = local.predict(test.rows(), k)?;
            let wrong = |(&p, &t): (&u32, &u32)| theirs[p as usize] != ours[t as usize];
            return Ok(predicted.iter().zip(test.labels().codes()).map(wrong).collect());
        }
        let moved =
            |part: &Dataset| Dataset::new(self.learned.transform(part.rows())?, part.labels().clone());
        misclassified(&moved(train)?, &moved(test)?, k)
    }
}

impl Configured {
    /// The method's name, with its kernel or local metrics.
    pub(crate) fn full_name(&self) -> String {
        let name = self.method.name();
        let kernel = self.setup.kernel.as_ref().and_then(|args| args.kernel);
        match (kernel.and_then(|kernel| kernel.to_possible_value()), self.setup.local) {
            (Some(kernel), _) => format!("{name}, {} kernel", kernel.get_name()),
            (None, Some((Locality::Class, _))) => format!("{name}, local by class"),
            (None, Some((Locality::Cluster(count), _))) => format!("{name}, {count} local clusters"),
            (None, None) => name.to_owned(),
        }
    }

    /// Learns as `fit` does, with weights, a kernel or local metrics if the method has them.
    pub(crate) fn answer(&self, training: &Training<'_>, weights: Option<&[f64]>) -> mahala::Result<Answer> {
        let data = match training {
            Training::Labelled(data) | Training::Grouped(data, _) if self.learner.is_none() => data,
            _ => {
                let (learned, t) = self.learn(training, &mut |_| ())?;
                return Ok(Answer::new(learned, None, t));
            }
        };
        let options = FitOptions { weights, groups: training.groups() };
        if let Some((by, share)) = self.setup.local {
            let local = LocalGmml { gmml: self.gmml.clone(), by, share };
            let local = local.fit_with(data, &options, &mut silent)?;
            let learned = Learned::new(local.fit.metric.clone(), Report::closed_form());
            let t = Some(local.fit.t);
            return Ok(Answer::new(learned, Some(local), t));
        }
        if let Some(kernel) = &self.setup.kernel {
            let kernel = kernel.kernel_gmml(&self.gmml, data.rows());
            let KernelFit { metric, t, .. } = kernel.fit_with(data, &options, &mut silent)?;
            let (map, metric) = metric.into_parts();
            let learned = Learned { kernel: Some(map), ..Learned::new(metric, Report::closed_form()) };
            return Ok(Answer::new(learned, None, Some(t)));
        }
        let Fit { metric, t, .. } = self.gmml.fit_with(data, &options, &mut silent)?;
        Ok(Answer::new(Learned::new(metric, Report::closed_form()), None, Some(t)))
    }

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
                Training::Chunklets(rows, chunklets) => self.gmml.fit(&chunklets.as_classes(rows)?)?,
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
                _ if signals::is_stopped() => ControlFlow::Break(Stop::TimeUp),
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
        Ok(Self {
            method: self.method,
            gmml,
            learner,
            time_limit: self.time_limit,
            setup: self.setup.clone(),
        })
    }
}

/// Every method with its parameters, which `check_steering` has seen.
pub(crate) fn configure(
    methods: &[Method],
    args: &MethodArgs,
    gmml: &Gmml,
    selection_rows: Option<usize>,
    setup: &Setup,
) -> Result<Vec<Configured>> {
    let time_limit = args.time_limit.map(Duration::from_secs_f64);
    if args.keep_best {
        signals::stop_at_interrupt();
        print_detail("Ctrl-C stops with the best metric so far");
    }
    let configured = |&method: &Method| {
        let learner = match method {
            Method::Gmml => None,
            _ => Some(named(method.name(), parameters(&method.keys()?, args, gmml, selection_rows))?),
        };
        // Only GMML has kernels and local metrics.
        let setup = if method == Method::Gmml { setup.clone() } else { Setup::default() };
        Ok(Configured { method, gmml: gmml.clone(), learner, time_limit, setup })
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
    if let Some(criterion) = args.criterion {
        put("criterion", json!(criterion));
    }
    if let Some(similarity) = args.similarity {
        put("similarity", json!(similarity));
    }
    if let Some(folds_over) = args.folds_over {
        put("folds_over", json!(folds_over));
    }
    args.set.iter().for_each(|setting| put(&setting.key, setting.value.clone()));
    Value::Object(fields)
}
