//! One way from labelled rows to a metric: what the automatic mode chooses among.

use crate::dataset::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::gmml::Gmml;
use crate::linalg::product;
use crate::metric::{Metric, project, standardized};
use crate::pairs::Pairs;
use crate::regularize::Regularization;
use crate::scatter::Scatter;
use crate::select::{is_lack_of_pairs, weighted};
use crate::solution::{Solution, weights_at};
use crate::standardize::ColumnStatistics;
use crate::subspace::Subspace;
use faer::Mat;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The steps of a fit, each in closed form: standardise or not, reduce or not, solve over all pairs, then over
/// neighbourhoods, round after round.
///
/// ```
/// use mahala::{Dataset, Labels, Recipe, Round, Rows};
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
    /// Learn inside this many leading directions of the pencil `(D, S)`; all columns if none is given.
    pub directions: Option<usize>,
    /// The place on the geodesic of all pairs; none for the plain distance, without learning.
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
            directions: None,
            t: Some(t),
            rounds: Vec::new(),
        }
    }

    /// Follows the recipe.
    ///
    /// # Errors
    /// As [`Gmml::fit`]; a parameter out of range.
    pub fn fit(&self, data: &Dataset) -> Result<Metric> {
        self.fit_across(data, None)
    }

    /// The same without pairs within a family.
    pub(crate) fn fit_across(&self, data: &Dataset, families: Option<&Labels>) -> Result<Metric> {
        self.check()?;
        match self.t {
            Some(_) => self.fit_on(&Ground::of(data, families)?),
            None => self.plain(ColumnStatistics::of(data.rows())),
        }
    }

    /// The same where the sums over all rows are known.
    pub(crate) fn fit_on(&self, ground: &Ground<'_>) -> Result<Metric> {
        if self.t.is_none() {
            return self.plain(ground.statistics.clone());
        }
        let (frame, path, last) = ground.follow(self)?;
        frame.metric(&path, last)
    }

    fn plain(&self, statistics: ColumnStatistics) -> Result<Metric> {
        let (d, scale) = (statistics.mean.len(), self.standardize.then_some(statistics.scale));
        Metric::new(Mat::identity(d, d), statistics.mean, scale)
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

    /// Whether the t of the last step is all that differs.
    pub(crate) fn differs_in_t_alone(&self, other: &Self) -> bool {
        self.t.is_some() && other.t.is_some() && self.with_last_t(0.0) == other.with_last_t(0.0)
    }

    /// Whether the first solution is the same but for t: the same columns or directions, as much shrinkage.
    pub(crate) fn starts_like(&self, other: &Self) -> bool {
        (self.standardize, self.shrinkage, self.towards_identity, self.directions)
            == (other.standardize, other.shrinkage, other.towards_identity, other.directions)
    }

    /// How much there is to a recipe: of two that are as good, the simpler is chosen.
    pub(crate) fn complexity(&self) -> usize {
        let learned = usize::from(self.t.is_some());
        let reduced = usize::from(self.directions.is_some());
        let shrunk = usize::from(self.shrinkage > 0.0 && self.t.is_some());
        8 * self.rounds.len() + 4 * learned + 2 * reduced + shrunk + usize::from(self.standardize)
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
        let whole = [self.directions.is_some(), self.towards_identity, self.standardize];
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
        Ok(())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.standardize {
            f.write_str("standardised, ")?;
        }
        let Some(t) = self.t else { return f.write_str("plain distance") };
        if let Some(r) = self.directions {
            write!(f, "{r} leading directions, ")?;
        }
        if self.shrinkage > 0.0 {
            let whither = if self.towards_identity { " to the identity" } else { "" };
            write!(f, "S shrunk by {}{whither}, ", self.shrinkage)?;
        }
        write!(f, "all pairs at t = {t}")?;
        for round in &self.rounds {
            write!(f, ", then {} neighbours at t = {}", round.neighbors, round.t)?;
        }
        Ok(())
    }
}

/// What every recipe needs of the training rows, computed once.
pub(crate) struct Ground<'a> {
    pub(crate) data: &'a Dataset,
    families: Option<&'a Labels>,
    pub(crate) statistics: ColumnStatistics,
    scatter: Scatter,
}

/// Training rows in the coordinates a recipe learns in: centred, scaled, reduced.
pub(crate) struct Frame {
    mean: Vec<f64>,
    scale: Option<Vec<f64>>,
    rows: Rows,
    labels: Labels,
    families: Option<Labels>,
    start: Start,
}

enum Start {
    /// In the columns themselves.
    Columns(Scatter),
    /// In the directions of a pencil, where `S⁻¹ ♯_t D = diag(μᵗ)`.
    Directions { v: Mat<f64>, log_mu: Vec<f64> },
}

/// A geodesic in the coordinates of a frame.
pub(crate) enum Path {
    /// Weights `μ^{t/2}` on the coordinates as they are.
    Weights(Vec<f64>),
    Solved(Box<Solution>),
}

impl<'a> Ground<'a> {
    pub(crate) fn of(data: &'a Dataset, families: Option<&'a Labels>) -> Result<Self> {
        let (mut scatter, _) = Scatter::all_pairs_of(data)?;
        if let Some(families) = families {
            scatter = across_families(&scatter, data, families).unwrap_or(scatter);
        }
        if (0..data.columns()).all(|j| scatter.s()[(j, j)] + scatter.d()[(j, j)] == 0.0) {
            return Err(Error::AllConstant { columns: data.columns() });
        }
        Ok(Self { data, families, statistics: ColumnStatistics::of(data.rows()), scatter })
    }

    /// The leading directions, all of them: a recipe takes the first few.
    pub(crate) fn subspace(&self, shrinkage: Regularization) -> Result<Subspace> {
        Subspace::of(&self.scatter, shrinkage)
    }

    /// A recipe's coordinates, its last path, and the t on it.
    pub(crate) fn follow(&self, recipe: &Recipe) -> Result<(Frame, Path, f64)> {
        let frame = self.frame(recipe)?;
        let (path, last) = match recipe.t {
            Some(t) => frame.follow(t, &recipe.rounds, recipe.regularization())?,
            None => (Path::Weights(vec![0.0; self.data.columns()]), 0.0),
        };
        Ok((frame, path, last))
    }

    fn frame(&self, recipe: &Recipe) -> Result<Frame> {
        match recipe.directions {
            Some(r) => self.frame_within(&self.subspace(recipe.regularization())?, r),
            None => self.frame_of_columns(recipe.standardize),
        }
    }

    /// The directions of a pencil do not depend on the columns' units, nor does shrinkage to the diagonal: there
    /// is nothing to standardise.
    pub(crate) fn frame_within(&self, subspace: &Subspace, r: usize) -> Result<Frame> {
        let r = r.min(subspace.log_ratios().len());
        let v = subspace.directions().subcols(0, r).to_owned();
        let mean = self.statistics.mean.clone();
        let rows = finite(project(self.data.rows(), &mean, None, v.as_ref()), r)?;
        let start = Start::Directions { v, log_mu: subspace.log_ratios()[..r].to_vec() };
        let (labels, families) = (self.data.labels().clone(), self.families.cloned());
        Ok(Frame { mean, scale: None, rows, labels, families, start })
    }

    fn frame_of_columns(&self, standardize: bool) -> Result<Frame> {
        let mean = self.statistics.mean.clone();
        let scale = standardize.then(|| self.statistics.scale.clone());
        let rows =
            finite(standardized(self.data.rows().values(), &mean, scale.as_deref()), self.data.columns())?;
        let scatter = match &scale {
            Some(scale) => self.scatter.clone().standardized(scale),
            None => self.scatter.clone(),
        };
        let (labels, families) = (self.data.labels().clone(), self.families.cloned());
        Ok(Frame { mean, scale, rows, labels, families, start: Start::Columns(scatter) })
    }
}

impl Frame {
    /// Rows in the same coordinates.
    pub(crate) fn place(&self, rows: &Rows) -> Result<Rows> {
        match &self.start {
            Start::Columns(_) => {
                finite(standardized(rows.values(), &self.mean, self.scale.as_deref()), rows.columns())
            }
            Start::Directions { v, .. } => {
                finite(project(rows, &self.mean, self.scale.as_deref(), v.as_ref()), v.ncols())
            }
        }
    }

    /// The path of all pairs.
    pub(crate) fn all_pairs(&self, shrinkage: Regularization) -> Result<Path> {
        match &self.start {
            Start::Columns(scatter) => solve(scatter, shrinkage),
            Start::Directions { log_mu, .. } => Ok(Path::Weights(log_mu.clone())),
        }
    }

    /// The path of the pairs that are near at t on another path.
    pub(crate) fn neighborhood(
        &self,
        path: &Path,
        t: f64,
        neighbors: usize,
        shrinkage: Regularization,
    ) -> Result<Path> {
        let seen = path.rows_at(&path.coordinates(&self.rows), t)?;
        let pairs = Pairs::nearest_across(&seen, &self.labels, self.families.as_ref(), neighbors)?;
        let shrinkage = match (&self.start, shrinkage) {
            // Here the diagonal is all pairs' S.
            (Start::Directions { .. }, Regularization::ShrinkSimilarToIdentity(rho)) => {
                Regularization::ShrinkSimilar(rho)
            }
            _ => shrinkage,
        };
        solve(&Scatter::from_pairs(&self.rows, &pairs)?, shrinkage)
    }

    /// All pairs, then round after round: the last path, and the t on it.
    fn follow(&self, t: f64, rounds: &[Round], shrinkage: Regularization) -> Result<(Path, f64)> {
        let (mut path, mut t) = (self.all_pairs(shrinkage)?, t);
        for round in rounds {
            path = self.neighborhood(&path, t, round.neighbors, shrinkage)?;
            t = round.t;
        }
        Ok((path, t))
    }

    /// The metric at t on a path, for rows as the user has them.
    fn metric(&self, path: &Path, t: f64) -> Result<Metric> {
        let within = match path {
            Path::Weights(log_mu) => {
                let r = log_mu.len();
                Mat::from_fn(r, r, |i, j| if i == j { (0.5 * t * log_mu[i]).exp() } else { 0.0 })
            }
            Path::Solved(solution) => solution.metric(t)?.components().to_owned(),
        };
        let components = match &self.start {
            Start::Columns(_) => within,
            Start::Directions { v, .. } => product(within.as_ref(), v.transpose()),
        };
        Metric::new(components, self.mean.clone(), self.scale.clone())
    }
}

impl Path {
    /// Rows of the frame in the coordinates in which every t is a weight.
    pub(crate) fn coordinates(&self, rows: &Rows) -> Vec<f64> {
        match self {
            Self::Weights(_) => rows.values().to_vec(),
            Self::Solved(solution) => solution.coordinates(rows, &vec![0.0; rows.columns()]),
        }
    }

    /// Those coordinates, weighted.
    pub(crate) fn rows_at(&self, coordinates: &[f64], t: f64) -> Result<Rows> {
        let weights = match self {
            Self::Weights(log_mu) => weights_at(log_mu, t),
            Self::Solved(solution) => solution.weights(t),
        };
        weighted(coordinates, &weights, Vec::new())
    }
}

/// All pairs but those within a family: what rows of one family share is not there between strangers. Pairs within
/// families are the similar ones if families are the classes.
fn across_families(all: &Scatter, data: &Dataset, families: &Labels) -> Option<Scatter> {
    let similar = |labels: Labels| match Scatter::all_pairs_of(&Dataset::new(data.rows().clone(), labels)?) {
        Ok((scatter, _)) => Ok(Some(scatter)),
        Err(error) if is_lack_of_pairs(&error) => Ok(None),
        Err(error) => Err(error),
    };
    let both = data.labels().codes().iter().zip(families.codes());
    let both = Labels::new(both.map(|(class, family)| format!("{class} {family}")));
    let within = similar(families.clone()).ok()??;
    all.clone().across(&within, similar(both).ok()?.as_ref())
}

fn solve(scatter: &Scatter, regularization: Regularization) -> Result<Path> {
    let gmml = Gmml { regularization, ..Gmml::default() };
    Ok(Path::Solved(Box::new(gmml.solve(scatter)?)))
}

pub(crate) fn finite(values: Vec<f64>, columns: usize) -> Result<Rows> {
    Rows::new(values, columns).map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
}
