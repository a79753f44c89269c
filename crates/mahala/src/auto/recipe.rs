//! One way from labelled rows to a metric: what the automatic mode chooses among.

use crate::auto::evaluator::TrainingSums;
use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Labels};
use crate::error::{Error, MemoryRemedy, Result};
use crate::footprint::{self, Shape};
use crate::gmml::Diagnostics;
use crate::gmml::family::{Curve, Order};
use crate::gmml::regularize::Regularization;
use crate::gmml::span::InSpan;
use crate::metric::Metric;
use crate::scatter::ClassWeight;
use crate::scatter::all_pairs::check_labels;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The steps of a fit, each in closed form: standardise or not, reduce or not, solve over all pairs, then over
/// neighbourhoods, round after round.
///
/// ```
/// use mahala::{Dataset, Labels, Rows};
/// use mahala::auto::{Recipe, Round};
/// let rows = Rows::new((0..24).map(|i| f64::from((7 * i) % 24)).collect(), 2)?;
/// let data = Dataset::new(rows, Labels::new((0..12).map(|i| ["a", "b"][i % 2])))?;
/// let recipe = Recipe { rounds: vec![Round { neighbors: 3, t: 0.3 }], ..Recipe::all_pairs(0.5) };
/// assert_eq!(recipe.fit(&data)?.rank(), 2);
/// assert_eq!(recipe.to_string(), "all pairs at t = 0.5, then 3 neighbours at t = 0.3");
/// # Ok::<(), mahala::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Divide each column by its standard deviation first.
    pub standardize: bool,
    /// ρ: how far `S` is shrunk, in every step.
    pub shrinkage: f64,
    /// Towards the identity in the columns' own units, instead of the diagonal of `S`; within directions of the
    /// pencil, where similar pairs differ equally, the two are one.
    pub towards_identity: bool,
    /// `S` is the pooled scatter within classes, in which every row counts once, as in LDA and RCA; else every similar pair
    /// counts once, and a class by its number of rows.
    pub pooled: bool,
    /// β: what the part of `D` within classes is multiplied by; 1 for all pairs, 0 for the class means alone.
    pub beta: f64,
    /// Learn inside this many leading directions of the pencil `(D, S)`; if none is given, in the columns, or for
    /// another curve than the power in all directions.
    pub directions: Option<usize>,
    /// Which directions lead.
    pub order: Order,
    /// How the weight of a direction grows with its ratio.
    pub curve: Curve,
    /// The place on the geodesic of all pairs, or on the curve; none for the plain distance, without learning from
    /// all pairs.
    pub t: Option<f64>,
    /// What follows: each round's pairs are the neighbours under the metric so far.
    pub rounds: Vec<Round>,
}

/// One neighbourhood round; in a file `[neighbors, t]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(usize, f64)", into = "(usize, f64)")]
pub struct Round {
    /// How many nearest rows of its own class, and of other classes, each row is paired with.
    pub neighbors: usize,
    /// The place on the geodesic.
    pub t: f64,
}

impl Default for Recipe {
    /// The closed form over all pairs, half-way.
    fn default() -> Self {
        Self::all_pairs(0.5)
    }
}

impl From<(usize, f64)> for Round {
    fn from((neighbors, t): (usize, f64)) -> Self {
        Self { neighbors, t }
    }
}

impl From<Round> for (usize, f64) {
    fn from(Round { neighbors, t }: Round) -> Self {
        (neighbors, t)
    }
}

impl Recipe {
    /// The plain distance.
    pub fn euclidean(standardize: bool) -> Self {
        Self { standardize, t: None, ..Self::all_pairs(0.0) }
    }

    /// The closed form over all pairs, and nothing else.
    pub fn all_pairs(t: f64) -> Self {
        Self {
            standardize: false,
            shrinkage: 0.0,
            towards_identity: false,
            pooled: false,
            beta: 1.0,
            directions: None,
            order: Order::Ratio,
            curve: Curve::Power,
            t: Some(t),
            rounds: Vec::new(),
        }
    }

    /// Follows the recipe.
    ///
    /// # Errors
    /// A parameter out of range, one class only, no class with two rows, no column that varies, columns too far apart
    /// in scale, or too much memory needed.
    pub fn fit(&self, data: &Dataset) -> Result<Metric> {
        self.fit_across(data, None)
    }

    /// Follows the recipe without pairs within a group.
    pub(crate) fn fit_across(&self, data: &Dataset, groups: Option<&Labels>) -> Result<Metric> {
        self.check()?;
        let shape = Shape::labelled(data.rows(), data.labels().class_count());
        footprint::check("recipe", self.peak(&shape), shape.columns, MemoryRemedy::Columns)?;
        if self.is_in_span(&shape) {
            check_labels(data.labels())?;
            let span = InSpan::of(data.rows(), self.standardize)?;
            let within = Dataset::new(span.rows.clone(), data.labels().clone())?;
            let recipe = Self { standardize: false, ..self.clone() };
            return span.composed(&recipe.fit_on(&TrainingSums::of(&within, groups)?)?);
        }
        if self.is_plain() {
            return self.plain(ColumnStatistics::of(data.rows()));
        }
        self.fit_on(&TrainingSums::of(data, groups)?)
    }

    /// Follows the recipe where the sums over all rows are known.
    pub(crate) fn fit_on(&self, training: &TrainingSums<'_>) -> Result<Metric> {
        if self.is_plain() {
            return self.plain(self.statistics_on(training));
        }
        let (frame, path, last) = training.follow(self)?;
        frame.metric(&path, last)
    }

    /// Follows the recipe, and tells how it went; nothing is to tell of the plain distance.
    pub(crate) fn fit_diagnosed(&self, training: &TrainingSums<'_>) -> Result<(Metric, Option<Diagnostics>)> {
        if self.is_plain() {
            return Ok((self.plain(self.statistics_on(training))?, None));
        }
        let (frame, path, last) = training.follow(self)?;
        Ok((frame.metric(&path, last)?, training.diagnostics(self, &path)?))
    }

    /// Whether nothing is learned but the standard deviations.
    pub fn is_plain(&self) -> bool {
        self.t.is_none() && self.rounds.is_empty()
    }

    /// How many directions of a pencil are learned in; none for the columns themselves.
    pub(crate) fn pencil_directions(&self, columns: usize) -> Option<usize> {
        match (self.directions, self.curve) {
            (None, Curve::Power) => None,
            (None, Curve::Kissme) => Some(columns),
            (Some(r), _) => Some(r),
        }
    }

    /// Whether the metric lies in the span of the rows and turns with them: then it is learned there.
    fn is_in_span(&self, shape: &Shape) -> bool {
        shape.columns > shape.rows && !self.is_plain() && self.shrinkage == 0.0
    }

    /// Numbers held at the peak: S and D of all rows and those of the recipe's coordinates, a solution, the rows in
    /// these coordinates and under the metric.
    pub(crate) fn peak(&self, shape: &Shape) -> f64 {
        if self.is_in_span(shape) {
            return shape.span() + shape.in_span().matrices(18.0, 6.0);
        }
        if self.is_plain() { shape.matrices(2.0, 0.0) } else { shape.matrices(22.0, 6.0) }
    }

    fn statistics_on(&self, training: &TrainingSums<'_>) -> ColumnStatistics {
        let mut statistics = training.statistics.clone();
        statistics.mean = training.mean_for(self);
        statistics
    }

    fn plain(&self, statistics: ColumnStatistics) -> Result<Metric> {
        let (d, scale) = (statistics.mean.len(), self.standardize.then_some(statistics.scale));
        Metric::computed(Mat::identity(d, d), statistics.mean, scale)
    }

    /// The t of the last step; the one that is free to vary.
    pub(crate) fn with_last_t(&self, t: f64) -> Self {
        let mut recipe = self.clone();
        match recipe.rounds.last_mut() {
            Some(round) => round.t = t,
            None => recipe.t = Some(t),
        }
        recipe
    }

    /// The t after so many rounds; 0 where nothing was solved yet.
    pub(crate) fn t_after(&self, rounds: usize) -> f64 {
        rounds.checked_sub(1).map_or(self.t.unwrap_or(0.0), |last| self.rounds[last].t)
    }

    /// The recipe up to so many rounds, without the t of its last step; none where nothing is solved by then.
    pub(crate) fn beginning(&self, rounds: usize) -> Option<Self> {
        let beginning = Self { rounds: self.rounds[..rounds].to_vec(), ..self.clone() };
        (!beginning.is_plain()).then(|| beginning.with_last_t(0.0))
    }

    /// Whether the t of the last step is all that differs.
    pub(crate) fn differs_in_t_alone(&self, other: &Self) -> bool {
        self.t.is_some() && other.t.is_some() && self.with_last_t(0.0) == other.with_last_t(0.0)
    }

    /// Whether the first solution is the same but for t: the same columns or directions, as much shrinkage.
    pub(crate) fn starts_like(&self, other: &Self) -> bool {
        let start = |recipe: &Self| Self { t: recipe.t.map(|_| 0.0), rounds: Vec::new(), ..recipe.clone() };
        start(self) == start(other)
    }

    /// How much there is to a recipe: of two that are as good, the simpler is chosen.
    pub(crate) fn complexity(&self) -> usize {
        let learned = usize::from(self.t.is_some());
        let reduced = usize::from(self.directions.is_some());
        let shrunk = usize::from(self.shrinkage > 0.0 && self.t.is_some());
        8 * self.rounds.len() + 4 * learned + 2 * reduced + shrunk + usize::from(self.standardize)
    }

    /// What a class weighs in `S` over all pairs.
    pub(crate) fn class_weight(&self) -> ClassWeight {
        if self.pooled { ClassWeight::One } else { ClassWeight::Size }
    }

    /// How `S` is shrunk in the columns.
    pub(crate) fn regularization(&self) -> Regularization {
        if self.towards_identity {
            Regularization::ShrinkSimilarToIdentity(self.shrinkage)
        } else {
            Regularization::ShrinkSimilar(self.shrinkage)
        }
    }

    /// How many steps there are to it beyond the closed form over all pairs; shrinkage is half a step.
    pub(crate) fn steps(&self) -> f64 {
        let other_sums = self.pooled || self.beta != 1.0;
        let whole = [self.directions.is_some(), self.towards_identity, self.standardize, other_sums];
        let whole = self.rounds.len() + whole.into_iter().filter(|&step| step).count();
        whole as f64 + if self.shrinkage > 0.0 { 0.5 } else { 0.0 }
    }

    fn check(&self) -> Result<()> {
        self.regularization().check()?;
        let least = self.rounds.iter().map(|round| round.neighbors).chain(self.directions).min();
        if least == Some(0) {
            let name = "rounds or directions";
            return Err(Error::Parameter { name, value: "0".into(), allowed: "at least 1" });
        }
        for t in self.t.into_iter().chain(self.rounds.iter().map(|round| round.t)) {
            if !(0.0..=1.0).contains(&t) {
                return Err(Error::Parameter { name: "t", value: t.to_string(), allowed: "between 0 and 1" });
            }
        }
        if !(0.0..=1.0).contains(&self.beta) {
            let value = self.beta.to_string();
            return Err(Error::Parameter { name: "beta", value, allowed: "between 0 and 1" });
        }
        self.check_effects()
    }

    /// Refuses what would have no effect.
    fn check_effects(&self) -> Result<()> {
        let start =
            Self { standardize: self.standardize, rounds: self.rounds.clone(), ..Self::all_pairs(0.0) };
        let shrinkage = if self.rounds.is_empty() { 0.0 } else { self.shrinkage };
        let alone = Self { shrinkage, towards_identity: self.towards_identity, ..start };
        if self.t.is_none() && *self != (Self { t: None, ..alone }) {
            let value = "none, with parameters of the sums over all pairs".to_owned();
            return Err(Error::Parameter { name: "t", value, allowed: "given with them" });
        }
        if self.order != Order::Ratio && self.directions.is_none() {
            let (value, allowed) = ("divergence".to_owned(), "given with a number of directions");
            return Err(Error::Parameter { name: "order", value, allowed });
        }
        Ok(())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.standardize {
            f.write_str("standardised, ")?;
        }
        match self.t {
            None => f.write_str("plain distance")?,
            Some(t) => self.write_start(t, f)?,
        }
        for round in &self.rounds {
            write!(f, ", then {} neighbours at t = {}", round.neighbors, round.t)?;
        }
        Ok(())
    }
}

impl Recipe {
    /// The solution over all pairs, in words.
    fn write_start(&self, t: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(r) = self.directions {
            let order = if self.order == Order::Divergence { " by divergence" } else { "" };
            write!(f, "{r} leading directions{order}, ")?;
        }
        if self.shrinkage > 0.0 {
            let whither = if self.towards_identity { " to the identity" } else { "" };
            write!(f, "S shrunk by {}{whither}, ", self.shrinkage)?;
        }
        if self.pooled {
            f.write_str("S pooled, ")?;
        }
        if self.beta != 1.0 {
            write!(f, "D's part within classes times {}, ", self.beta)?;
        }
        let curve = if self.curve == Curve::Kissme { "KISSME's curve" } else { "all pairs" };
        write!(f, "{curve} at t = {t}")
    }
}
