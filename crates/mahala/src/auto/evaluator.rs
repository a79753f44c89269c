//! Where recipes are followed: the training rows and their sums, the coordinates a recipe learns in, and its paths.

use crate::auto::Auto;
use crate::auto::criterion::Judge;
use crate::auto::null_directions::NullDirections;
use crate::auto::recipe::Recipe;
use crate::auto::solved_paths::SolvedPaths;
use crate::data::column_stats::ColumnStatistics;
use crate::data::{Dataset, Labels, Rows};
use crate::error::{Error, Result};
use crate::gmml::family::{Curve, Order, no_weight};
use crate::gmml::regularize::Regularization;
use crate::gmml::select_t::weighted;
use crate::gmml::solution::Solution;
use crate::gmml::{Diagnostics, Gmml};
use crate::metric::{Metric, project, standardized};
use crate::pairs::Pairs;
use crate::retrieval::Similarity;
use crate::scatter::{ClassWeight, Scatter, ScatterParts};
use faer::Mat;
use mahala_kernels::blas::product;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// What every recipe needs of the training rows, computed once.
pub(crate) struct TrainingSums<'a> {
    pub(crate) data: &'a Dataset,
    /// Whether what is learned is judged by votes only, and not returned.
    trial: bool,
    /// How rows are seen where neighbours are searched.
    pub(crate) judge: Judge,
    groups: Option<&'a Labels>,
    pub(crate) statistics: ColumnStatistics,
    /// Sums over all pairs.
    scatter: Scatter,
    /// Sums within and between classes apart, unless pairs within groups are left out.
    parts: Option<ScatterParts>,
    /// Directions in which the rows do not vary.
    null: Option<Arc<NullDirections>>,
    /// The leading directions of pencils seen so far.
    pencils: Mutex<Vec<Arc<(PencilOf, Solution)>>>,
    /// Paths solved so far, where many recipes are followed.
    paths: Option<SolvedPaths>,
}

/// Which directions of which pencil.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PencilOf {
    regularization: Regularization,
    pooled: bool,
    beta: f64,
    order: Order,
    /// How many.
    leading: usize,
}

/// Training rows in the coordinates a recipe learns in: centred, scaled, reduced.
pub(crate) struct Frame {
    mean: Vec<f64>,
    scale: Option<Vec<f64>>,
    rows: Rows,
    labels: Labels,
    groups: Option<Labels>,
    null: Option<Arc<NullDirections>>,
    start: Start,
    trial: bool,
    judge: Judge,
}

enum Start {
    /// In the columns themselves.
    Columns(Scatter),
    /// In the directions of a pencil, where the sums are diagonal.
    Directions { v: Mat<f64>, log_mu: Vec<f64>, curve: Curve },
}

/// What t weighs in the coordinates of a frame.
pub(crate) enum Weighting {
    /// Weights on the coordinates as they are: a curve over `log μ`.
    Weights(Curve, Vec<f64>),
    Solved(Box<Solution>),
}

impl<'a> TrainingSums<'a> {
    pub(crate) fn of(data: &'a Dataset, groups: Option<&'a Labels>) -> Result<Self> {
        let (scatter, parts) = if let Some(groups) = groups {
            (Scatter::across_groups(data, groups)?, None)
        } else {
            let parts = ScatterParts::of(data)?;
            (parts.scatter(ClassWeight::Size, 1.0)?, Some(parts))
        };
        if (0..data.columns()).all(|j| scatter.s()[(j, j)] + scatter.d()[(j, j)] == 0.0) {
            return Err(Error::AllConstant { columns: data.columns() });
        }
        Ok(Self {
            data,
            trial: false,
            judge: Auto::default().judge(),
            groups,
            statistics: ColumnStatistics::of(data.rows()),
            null: NullDirections::of(&scatter)?.map(Arc::new),
            scatter,
            parts,
            pencils: Mutex::default(),
            paths: None,
        })
    }

    /// For trials: small eigenvalues need no relative accuracy.
    pub(crate) fn for_trials(self, judge: Judge) -> Self {
        Self { trial: true, ..self.judged_by(judge).for_many_recipes() }
    }

    /// What recipes have in common is solved once.
    pub(crate) fn for_many_recipes(self) -> Self {
        Self { paths: Some(SolvedPaths::default()), ..self }
    }

    /// Neighbours of rounds are searched as this judge sees rows.
    pub(crate) fn judged_by(self, judge: Judge) -> Self {
        Self { judge, ..self }
    }

    /// Whether the sums within classes and between them are known apart.
    pub(crate) fn has_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// The sums that a recipe is made of.
    fn scatter_of(&self, recipe: &Recipe) -> Result<Cow<'_, Scatter>> {
        if !recipe.pooled && recipe.beta == 1.0 {
            return Ok(Cow::Borrowed(&self.scatter));
        }
        let Some(parts) = &self.parts else {
            let value = "given, with groups".to_owned();
            let allowed = "left out where pairs within groups are left out";
            return Err(Error::Parameter { name: "pooled or beta", value, allowed });
        };
        Ok(Cow::Owned(parts.scatter(recipe.class_weight(), recipe.beta)?))
    }

    /// The `r` leading directions in which the rows vary, or all there are. A pencil is solved once for all who ask for
    /// no more of it.
    pub(crate) fn subspace(&self, recipe: &Recipe, r: usize) -> Result<Arc<(PencilOf, Solution)>> {
        let wanted = PencilOf {
            regularization: recipe.regularization(),
            pooled: recipe.pooled,
            beta: recipe.beta,
            order: recipe.order,
            leading: r,
        };
        let mut pencils = self.pencils.lock().unwrap_or_else(PoisonError::into_inner);
        let serves = |known: &PencilOf| known.leading >= r && PencilOf { leading: r, ..*known } == wanted;
        if let Some(known) = pencils.iter().find(|known| serves(&known.0)) {
            return Ok(known.clone());
        }
        let mut subspace = Solution::of_pencil(&*self.scatter_of(recipe)?, recipe.regularization())?
            .ordered_by(recipe.order);
        if let Some(null) = &self.null {
            subspace = subspace.filtered(|direction| !null.contains(direction.iter().copied()));
        }
        let leading = Arc::new((wanted, subspace.truncated(r)));
        pencils.push(leading.clone());
        Ok(leading)
    }

    /// The diagnostics of a recipe's first solution, or of its last, if there are rounds.
    pub(crate) fn diagnostics(&self, recipe: &Recipe, path: &Weighting) -> Result<Option<Diagnostics>> {
        Ok(match path {
            Weighting::Solved(solution) => Some(solution.diagnostics().clone()),
            Weighting::Weights(..) if recipe.t.is_none() => None,
            Weighting::Weights(..) => {
                let r = recipe.pencil_directions(self.data.columns()).unwrap_or(1);
                Some(self.subspace(recipe, r)?.1.diagnostics().clone())
            }
        })
    }

    /// A recipe's coordinates, its last path, and the t on it. Steps that it has in common with a recipe followed before are
    /// not solved again.
    pub(crate) fn follow(&self, recipe: &Recipe) -> Result<(Frame, Arc<Weighting>, f64)> {
        let frame = self.frame(recipe)?;
        let columns = self.data.columns();
        let keep = |rounds: usize, path: &Arc<Weighting>| {
            self.paths.iter().for_each(|paths| paths.keep(recipe, rounds, path, columns));
        };
        let known = self.paths.as_ref().and_then(|paths| paths.longest(recipe));
        let (mut path, solved) = if let Some(known) = known {
            known
        } else {
            let first = Arc::new(frame.first(recipe, columns)?);
            keep(0, &first);
            (first, 0)
        };
        for (done, round) in recipe.rounds.iter().enumerate().skip(solved) {
            let t = recipe.t_after(done);
            path = Arc::new(frame.neighborhood(&path, t, round.neighbors, recipe.regularization())?);
            keep(done + 1, &path);
        }
        Ok((frame, path, recipe.t_after(recipe.rounds.len())))
    }

    fn frame(&self, recipe: &Recipe) -> Result<Frame> {
        match recipe.pencil_directions(self.data.columns()) {
            Some(r) => self.frame_within(&self.subspace(recipe, r)?.1, r, recipe.curve),
            None => self.frame_of_columns(recipe),
        }
    }

    /// The directions of a pencil do not depend on the columns' units, nor does shrinkage to the diagonal: there
    /// is nothing to standardise.
    pub(crate) fn frame_within(&self, subspace: &Solution, r: usize, curve: Curve) -> Result<Frame> {
        let r = r.min(subspace.log_eigenvalues().len());
        let v = subspace.directions().subcols(0, r).to_owned();
        let mean = self.statistics.mean.clone();
        let rows = finite(project(self.data.rows(), &mean, None, v.as_ref()), r)?;
        let start = Start::Directions { v, log_mu: subspace.log_eigenvalues()[..r].to_vec(), curve };
        let (labels, groups) = (self.data.labels().clone(), self.groups.cloned());
        Ok(Frame {
            mean,
            scale: None,
            rows,
            labels,
            groups,
            null: self.null.clone(),
            start,
            trial: self.trial,
            judge: self.judge,
        })
    }

    /// The mean that a recipe subtracts. The cosine of rows as they are is that about the origin.
    pub(crate) fn mean_for(&self, recipe: &Recipe) -> Vec<f64> {
        let about_origin =
            recipe.is_plain() && !recipe.standardize && self.judge.similarity == Similarity::Cosine;
        if about_origin { vec![0.0; self.data.columns()] } else { self.statistics.mean.clone() }
    }

    fn frame_of_columns(&self, recipe: &Recipe) -> Result<Frame> {
        let mean = self.mean_for(recipe);
        let scale = recipe.standardize.then(|| self.statistics.scale.clone());
        let rows =
            finite(standardized(self.data.rows().values(), &mean, scale.as_deref()), self.data.columns())?;
        let scatter = self.scatter_of(recipe)?.into_owned();
        let scatter = match &scale {
            Some(scale) => scatter.standardized(scale),
            None => scatter,
        };
        let (labels, groups) = (self.data.labels().clone(), self.groups.cloned());
        let (null, start) = (self.null.clone(), Start::Columns(scatter));
        Ok(Frame { mean, scale, rows, labels, groups, null, start, trial: self.trial, judge: self.judge })
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

    /// The path that rounds start from: of all pairs, or the rows as they are.
    fn first(&self, recipe: &Recipe, columns: usize) -> Result<Weighting> {
        match recipe.t {
            Some(_) => self.all_pairs(recipe.regularization()),
            None => Ok(Weighting::Weights(Curve::Power, vec![0.0; columns])),
        }
    }

    /// The path of all pairs.
    pub(crate) fn all_pairs(&self, shrinkage: Regularization) -> Result<Weighting> {
        match &self.start {
            Start::Columns(scatter) => self.solve(scatter, shrinkage),
            Start::Directions { log_mu, curve, .. } => Ok(Weighting::Weights(*curve, log_mu.clone())),
        }
    }

    /// The path of the pairs that are near at t on another path.
    pub(crate) fn neighborhood(
        &self,
        path: &Weighting,
        t: f64,
        neighbors: usize,
        shrinkage: Regularization,
    ) -> Result<Weighting> {
        let seen = self.judge.seen(path.rows_at(&path.coordinates(&self.rows), t)?)?;
        let pairs = Pairs::nearest_across(&seen, &self.labels, self.groups.as_ref(), neighbors)?;
        let shrinkage = match (&self.start, shrinkage) {
            // Here the diagonal is all pairs' S.
            (Start::Directions { .. }, Regularization::ShrinkSimilarToIdentity(rho)) => {
                Regularization::ShrinkSimilar(rho)
            }
            _ => shrinkage,
        };
        let scatter = if self.trial {
            Scatter::from_pairs_by_laplacian(&self.rows, &pairs)?
        } else {
            Scatter::from_pairs(&self.rows, &pairs)?
        };
        self.solve(&scatter, shrinkage)
    }

    fn solve(&self, scatter: &Scatter, regularization: Regularization) -> Result<Weighting> {
        let gmml = Gmml { regularization, ..Gmml::default() };
        let solution = if self.trial { gmml.solve_norm_wise(scatter) } else { gmml.solve(scatter) };
        Ok(Weighting::Solved(Box::new(solution?)))
    }

    /// The metric at t on a path, for rows as the user has them; without weight where those learned on do not vary.
    pub(crate) fn metric(&self, path: &Weighting, t: f64) -> Result<Metric> {
        let within = match path {
            Weighting::Weights(curve, log_mu) => {
                let weights = curve.log_weights(log_mu, t);
                let kept: Vec<usize> =
                    (0..weights.len()).filter(|&k| weights[k] > f64::NEG_INFINITY).collect();
                if kept.is_empty() {
                    return Err(no_weight());
                }
                let root = |k: usize| (0.5 * weights[k]).exp();
                Mat::from_fn(kept.len(), weights.len(), |i, j| if kept[i] == j { root(j) } else { 0.0 })
            }
            Weighting::Solved(solution) => solution.metric(t)?.components().to_owned(),
        };
        let components = match &self.start {
            Start::Columns(_) => within,
            Start::Directions { v, .. } => product(within.as_ref(), v.transpose()),
        };
        let components = match &self.null {
            Some(null) => null.taken_out_of(components.as_ref(), self.scale.as_deref()),
            None => components,
        };
        Metric::computed(components, self.mean.clone(), self.scale.clone())
    }
}

impl Weighting {
    /// Rows of the frame in the coordinates in which every t is a weight.
    pub(crate) fn coordinates(&self, rows: &Rows) -> Vec<f64> {
        match self {
            Self::Weights(..) => rows.values().to_vec(),
            Self::Solved(solution) => solution.coordinates_about(rows, &vec![0.0; rows.columns()]),
        }
    }

    /// Rows at t: coordinates times the roots of the weights of t.
    pub(crate) fn rows_at(&self, coordinates: &[f64], t: f64) -> Result<Rows> {
        let weights = match self {
            Self::Weights(curve, log_mu) => roots_of(&curve.log_weights(log_mu, t))?,
            Self::Solved(solution) => solution.weights(t),
        };
        weighted(coordinates, &weights, Vec::new())
    }
}

/// `exp(½(log w − max))`: the weights of coordinates, up to a common factor.
fn roots_of(log_weights: &[f64]) -> Result<Vec<f64>> {
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return Err(no_weight());
    }
    Ok(log_weights.iter().map(|log| (0.5 * (log - top)).exp()).collect())
}

fn finite(values: Vec<f64>, columns: usize) -> Result<Rows> {
    Rows::new(values, columns).map_err(|_| Error::OutOfRange { what: "a transformed coordinate" })
}
