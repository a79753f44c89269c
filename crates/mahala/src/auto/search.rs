//! The search of the automatic mode: what is tried, in which order, and what it may cost.
//!
//! Every recipe is first tried on a few hundred held-out queries, the same for all. The finalists are tried on all queries. What is
//! tried first is the path of the closed form itself, so that a search that is cut short is not worse than a choice of t.

use crate::auto::budget;
use crate::auto::budget::Budget;
use crate::auto::criterion::{Judge, Losses};
use crate::auto::ensemble::Blended;
use crate::auto::evaluator::{Frame, TrainingSums, Weighting};
use crate::auto::folds::{Fold, difference, repeats};
use crate::auto::race::Race;
use crate::auto::recipe::Recipe;
use crate::auto::stages;
use crate::auto::{Auto, Trial};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::gmml::select_t::is_lack_of_pairs;
use crate::metric::Metric;
use crate::progress::{Progress, Step, Stop};
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Queries on which every recipe is tried, as many folds as that takes; of small tables a share of the rows.
const FIRST_QUERIES: usize = 400;
const FIRST_SHARE: f64 = 0.4;
/// But of a small table at least so many: a handful of queries decides nothing.
const LEAST_QUERIES: usize = 150;

/// Rows are partitioned again for the first queries only where the budget has at least so many paths over t on them.
const LEAST_PATHS: f64 = 10.0;

/// Why a search ends before its end.
pub(crate) enum End {
    /// The caller wants what there is.
    Early,
    Failed(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What goes on unless a search ends.
pub(crate) type Going<T> = std::result::Result<T, End>;

pub(crate) struct Search<'a, 'w> {
    pub(crate) auto: &'a Auto,
    pub(crate) judge: Judge,
    pub(crate) folds: Vec<(TrainingSums<'a>, &'a Fold)>,
    pub(crate) rows: usize,
    /// The folds on which every recipe is tried.
    first: usize,
    /// The folds that hold every row out, on which finalists are tried; the others are for the members of a blend.
    pub(crate) looked: usize,
    pub(crate) trials: Vec<Trial>,
    /// The losses of each trial.
    pub(crate) losses: Vec<Losses>,
    /// Metrics of finalists on single folds.
    pub(crate) metrics: HashMap<(usize, usize), Metric>,
    pub(crate) columns: usize,
    pub(crate) classes: usize,
    pub(crate) budget: Budget,
    /// Recipes times folds that were tried.
    pub(crate) steps: usize,
    stage: &'static str,
    progress: &'a mut Progress<'w>,
}

impl<'a, 'w> Search<'a, 'w> {
    pub(crate) fn new(
        auto: &'a Auto,
        folds: &'a [Fold],
        part: &Dataset,
        budget: Budget,
        steps: usize,
        progress: &'a mut Progress<'w>,
    ) -> Result<Self> {
        let mut of_folds = Vec::new();
        for fold in folds {
            match TrainingSums::of(&fold.train, fold.groups.as_ref()) {
                Ok(training) => of_folds.push((training.for_trials(auto.judge()), fold)),
                Err(error) if is_lack_of_pairs(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if of_folds.is_empty() {
            return Err(Error::NoUsableFold { rows: part.len() });
        }
        let classes = part.labels().class_sizes().iter().filter(|&&size| size > 0).count();
        let columns = folds.iter().map(|fold| fold.train.columns()).min().unwrap_or(0);
        let until = |queries: usize| {
            let mut sum = 0;
            let enough = |fold: &(TrainingSums<'_>, &Fold)| {
                sum += fold.1.test.len();
                sum >= queries
            };
            of_folds.iter().position(enough).map_or(of_folds.len(), |last| last + 1)
        };
        let rows = part.len();
        // A partition's folds may test some of the rows only.
        let drawn = folds.iter().all(|fold| fold.own.is_some() && fold.voters.len() == rows);
        let partition = folds.len().div_ceil(if drawn { repeats(rows) } else { 1 });
        let tested: usize = folds.iter().take(partition).map(|fold| fold.test.len()).sum();
        let few = FIRST_QUERIES.min(LEAST_QUERIES.max((FIRST_SHARE * rows as f64) as usize));
        // Beyond one partition whole ones, so that every row counts the same.
        let few = if few > tested { tested * few.div_ceil(tested).min(folds.len() / partition) } else { few };
        let (all, whole) = (until(few), until(rows.min(tested)));
        // A small budget goes into more recipes rather than into more partitions.
        let path = budget::trial(&folds[0], columns, &Recipe::all_pairs(0.5), stages::PATH.len());
        let first = if budget.forbids(LEAST_PATHS * all as f64 * path) { all.min(whole) } else { all };
        Ok(Self {
            auto,
            judge: auto.judge(),
            rows,
            first,
            looked: first.max(whole),
            folds: of_folds,
            trials: Vec::new(),
            losses: Vec::new(),
            metrics: HashMap::new(),
            columns,
            classes,
            budget,
            steps,
            stage: "",
            progress,
        })
    }

    /// What was chosen, and whether the search was cut short.
    pub(crate) fn result(&mut self) -> Result<(Option<Blended>, bool)> {
        let chosen = self.run().and_then(|()| self.choose());
        match chosen {
            Ok(chosen) => Ok((chosen, false)),
            Err(End::Early) => Ok((self.best_so_far(), true)),
            Err(End::Failed(error)) => Err(error),
        }
    }

    /// How much larger one trial's losses are on the queries of both, and the standard error of that.
    pub(crate) fn difference(&self, a: usize, b: usize) -> (f64, f64) {
        difference(&self.losses[a].compared, &self.losses[b].compared, self.rows)
    }

    pub(super) fn order(&self, a: usize, b: usize) -> std::cmp::Ordering {
        // Those that were tried on more folds came through every comparison before.
        let key =
            |i: usize| (self.losses[i].len(), self.trials[i].smoothed, self.trials[i].recipe.complexity());
        let ((m, x, p), (n, y, q)) = (key(a), key(b));
        n.cmp(&m).then(x.total_cmp(&y)).then(p.cmp(&q)).then(a.cmp(&b))
    }

    /// All trials, best first.
    pub(crate) fn ranking(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.trials.len()).collect();
        order.sort_by(|&a, &b| self.order(a, b));
        order
    }

    /// The best recipes, no two of which differ in t alone.
    pub(super) fn best(&self, count: usize) -> Vec<Recipe> {
        let mut best: Vec<Recipe> = Vec::new();
        for i in self.ranking() {
            let recipe = &self.trials[i].recipe;
            if best.len() < count && !best.iter().any(|other| recipe.differs_in_t_alone(other)) {
                best.push(recipe.clone());
            }
        }
        best
    }

    /// Tries a recipe at several values of its last t.
    pub(crate) fn try_at(&mut self, recipe: &Recipe, values: &[f64]) -> Going<()> {
        let named = |t: f64| if recipe.t.is_some() { recipe.with_last_t(t) } else { recipe.clone() };
        let is_new = |t: &&f64| !self.trials.iter().any(|trial| trial.recipe == named(**t));
        let values: Vec<f64> = values.iter().filter(is_new).copied().collect();
        if values.is_empty() || self.too_much(recipe, values.len()) {
            return Ok(());
        }
        let mut race = Race::new(values.len());
        for fold in 0..self.first {
            let running = race.running();
            self.step(recipe, running.len())?;
            let values: Vec<f64> = running.iter().map(|&at| values[at]).collect();
            let ((training, fold), judge) = (&self.folds[fold], self.judge);
            let losses = in_pool(|| {
                let (frame, path, _) = training.follow(recipe)?;
                losses(fold, &frame, &path, &values, judge)
            });
            // A recipe that cannot be followed is no candidate.
            let Ok(losses) = losses else { return Ok(()) };
            race.extend(&running, losses);
            if race.drop_behind(self.leader(), self.rows) {
                break;
            }
        }
        self.keep(race, |at| named(values[at]));
        Ok(())
    }

    /// The losses of the best recipe so far.
    fn leader(&self) -> Option<&[f32]> {
        let first = (0..self.trials.len()).min_by(|&a, &b| self.order(a, b))?;
        Some(&self.losses[first].compared)
    }

    /// Tries numbers of leading directions, each at several values of t: one factorisation a fold for all.
    pub(super) fn try_directions(&mut self, base: &Recipe, at_t: &'static [f64]) -> Going<()> {
        let counts = self.counts();
        let of_count = |&r: &usize| self.work(&Recipe { directions: Some(r), ..base.clone() }, at_t.len());
        if self.budget.forbids(self.first as f64 * counts.iter().map(of_count).sum::<f64>()) {
            return Ok(());
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut race = Race::new(counts.len() * at_t.len());
        for fold in 0..self.first {
            let running = race.running();
            let regularization = base.regularization();
            let training = &self.folds[fold].0;
            let Ok(subspace) = in_pool(|| training.subspace(base, most)) else { return Ok(()) };
            let mut all = Vec::new();
            for (which, &r) in counts.iter().enumerate() {
                let at = |&&at: &&usize| at / at_t.len() == which;
                let values: Vec<f64> = running.iter().filter(at).map(|at| at_t[at % at_t.len()]).collect();
                if values.is_empty() {
                    continue;
                }
                self.step(&Recipe { directions: Some(r), ..base.clone() }, values.len())?;
                let ((training, fold), judge) = (&self.folds[fold], self.judge);
                let more = in_pool(|| {
                    let frame = training.frame_within(&subspace.1, r, base.curve)?;
                    losses(fold, &frame, &frame.all_pairs(regularization)?, &values, judge)
                });
                let Ok(more) = more else { return Ok(()) };
                all.extend(more);
            }
            race.extend(&running, all);
            if race.drop_behind(self.leader(), self.rows) {
                break;
            }
        }
        self.keep(race, |at| {
            let (r, t) = (counts[at / at_t.len()], at_t[at % at_t.len()]);
            Recipe { directions: Some(r), ..base.clone() }.with_last_t(t)
        });
        Ok(())
    }

    /// Counts the work of one fold, and asks whether to go on.
    pub(crate) fn step(&mut self, recipe: &Recipe, values: usize) -> Going<()> {
        self.go_on()?;
        self.budget.spent += self.work(recipe, values);
        self.steps += 1;
        Ok(())
    }

    /// What is being tried.
    pub(crate) fn enter(&mut self, stage: &'static str) {
        self.stage = stage;
    }

    /// Tells how far the budget is spent, and asks whether to go on.
    pub(crate) fn go_on(&mut self) -> Going<()> {
        if self.auto.max_trials.is_some_and(|most| self.steps >= most) {
            return Err(End::Early);
        }
        let best = (0..self.trials.len()).min_by(|&a, &b| self.order(a, b)).map(|i| self.trials[i].error);
        let step = Step::of(self.budget.thousandths(), 1000).trying(self.stage, best);
        match (self.progress)(step) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(Stop::TimeUp) => Err(End::Early),
            ControlFlow::Break(Stop::Cancelled) => Err(End::Failed(Error::Cancelled)),
        }
    }

    pub(crate) fn work(&self, recipe: &Recipe, values: usize) -> f64 {
        budget::trial(self.folds[0].1, self.columns, recipe, values)
    }

    /// Whether a recipe would go beyond the budget, of which a part is kept for the blend.
    fn too_much(&self, recipe: &Recipe, values: usize) -> bool {
        self.budget.forbids(self.first as f64 * self.work(recipe, values))
    }

    /// More losses for a trial.
    pub(crate) fn extend(&mut self, trial: usize, losses: &Losses) {
        self.losses[trial].extend(losses);
        (self.trials[trial].smoothed, self.trials[trial].error) = self.losses[trial].means();
        self.trials[trial].queries = self.losses[trial].len();
    }

    /// Enters what was tried into the table.
    fn keep(&mut self, race: Race, recipe: impl Fn(usize) -> Recipe) {
        for (at, losses) in race.losses.into_iter().enumerate() {
            let recipe = recipe(at);
            if self.trials.iter().any(|trial| trial.recipe == recipe) {
                continue;
            }
            let (smoothed, error) = losses.means();
            self.trials.push(Trial { recipe, kernel: None, error, smoothed, queries: losses.len() });
            self.losses.push(losses);
        }
    }
}

/// The losses of the queries at each t.
fn losses(fold: &Fold, frame: &Frame, path: &Weighting, values: &[f64], judge: Judge) -> Result<Vec<Losses>> {
    let placed = |part: &Dataset| -> Result<Vec<f64>> { Ok(path.coordinates(&frame.place(part.rows())?)) };
    let (voters, queries) = (placed(&fold.voters)?, placed(&fold.test)?);
    let search = |&t: &f64| -> Result<Losses> {
        judge.losses(fold, path.rows_at(&voters, t)?, &path.rows_at(&queries, t)?)
    };
    values.par_iter().map(search).collect()
}

/// Runs work on a thread of the pool: what it does in parallel there needs no change of threads to begin.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}
