//! The search of the automatic mode: what is tried, in which order, and what it may cost.

use crate::auto::budget;
use crate::auto::budget::Budget;
use crate::auto::evaluator::{Frame, Ground, Path};
use crate::auto::folds::{Fold, WRONG_AT_K, difference};
use crate::auto::race::{Race, smoothed};
use crate::auto::recipe::{Recipe, Round};
use crate::auto::{Auto, Trial};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::gmml::select_t::is_lack_of_pairs;
use crate::progress::{Progress, Step};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// What is tried first; the others only where that did well.
const FIRST_SHRINKAGES: [f64; 1] = [0.1];
const OTHER_SHRINKAGES: [f64; 3] = [0.3, 0.0, 0.6];
const FIRST_RIDGES: [f64; 2] = [0.1, 0.8];
const OTHER_RIDGES: [f64; 2] = [0.02, 0.4];
const COARSE: [f64; 6] = [0.0, 0.15, 0.3, 0.45, 0.6, 0.8];
const WITHIN: [f64; 4] = [0.0, 0.25, 0.5, 0.75];
const AFTER: [f64; 7] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0];

/// Where a recipe learns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Columns,
    Standardized,
    Directions,
    /// In the columns, with `S` shrunk towards the identity.
    Ridge,
    /// In the directions of such a pencil.
    RidgeDirections,
}

impl Kind {
    pub(crate) fn of(recipe: &Recipe) -> Option<Self> {
        recipe.t?;
        Some(match (recipe.directions, recipe.towards_identity) {
            (Some(_), false) => Self::Directions,
            (Some(_), true) => Self::RidgeDirections,
            (None, true) => Self::Ridge,
            (None, false) if recipe.standardize => Self::Standardized,
            (None, false) => Self::Columns,
        })
    }

    /// A recipe of this kind, but for its directions and its t.
    fn recipe(self, shrinkage: f64) -> Recipe {
        let towards_identity = matches!(self, Self::Ridge | Self::RidgeDirections);
        let standardize = self == Self::Standardized;
        Recipe { standardize, shrinkage, towards_identity, ..Recipe::all_pairs(0.0) }
    }

    fn reduces(self) -> bool {
        matches!(self, Self::Directions | Self::RidgeDirections)
    }

    /// How far `S` is shrunk: what is tried first, and what is tried where that did well.
    fn shrinkages(self) -> (&'static [f64], &'static [f64]) {
        match self {
            Self::Ridge | Self::RidgeDirections => (&FIRST_RIDGES, &OTHER_RIDGES),
            _ => (&FIRST_SHRINKAGES, &OTHER_SHRINKAGES),
        }
    }
}

pub(crate) struct Search<'a, 'w> {
    pub(crate) auto: &'a Auto,
    pub(crate) folds: Vec<(Ground<'a>, &'a Fold)>,
    pub(crate) rows: usize,
    /// The folds that hold every row out once, on which all recipes are tried; the others are for the finalists.
    pub(crate) looked: usize,
    pub(crate) trials: Vec<Trial>,
    /// For each trial the quarters of a wrong vote of every test row.
    pub(crate) wrong: Vec<Vec<u8>>,
    pub(crate) columns: usize,
    classes: usize,
    pub(crate) budget: Budget,
    progress: &'a mut Progress<'w>,
}

impl<'a, 'w> Search<'a, 'w> {
    pub(crate) fn new(
        auto: &'a Auto,
        folds: &'a [Fold],
        part: &Dataset,
        budget: Budget,
        progress: &'a mut Progress<'w>,
    ) -> Result<Self> {
        let mut grounds = Vec::new();
        for fold in folds {
            match Ground::of(&fold.train, fold.groups.as_ref()) {
                Ok(ground) => grounds.push((ground.for_trials(), fold)),
                Err(error) if is_lack_of_pairs(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if grounds.is_empty() {
            return Err(Error::NoUsableFold { rows: part.len() });
        }
        let classes = part.labels().class_sizes().iter().filter(|&&size| size > 0).count();
        let columns = folds.iter().map(|fold| fold.train.columns()).min().unwrap_or(0);
        let (trials, wrong) = (Vec::new(), Vec::new());
        let mut queries = 0;
        let enough = |fold: &(Ground<'_>, &Fold)| {
            queries += fold.1.test.len();
            queries >= part.len()
        };
        let looked = grounds.iter().position(enough).map_or(grounds.len(), |last| last + 1);
        Ok(Self {
            auto,
            folds: grounds,
            rows: part.len(),
            looked,
            trials,
            wrong,
            columns,
            classes,
            budget,
            progress,
        })
    }

    pub(crate) fn run(&mut self) -> Result<()> {
        let mut kinds = vec![Kind::Directions, Kind::RidgeDirections];
        if !self.auto.reduce {
            for standardize in [false, true] {
                self.try_at(&Recipe::euclidean(standardize), &[0.0])?;
            }
            kinds.splice(0..0, [Kind::Columns, Kind::Standardized, Kind::Ridge]);
        }
        for &kind in &kinds {
            for &shrinkage in kind.shrinkages().0 {
                self.try_kind(kind, shrinkage)?;
            }
        }
        // Halving: the kind that did worst is left out, and any that is clearly behind.
        for kind in self.worth_while(&kinds) {
            for &shrinkage in kind.shrinkages().1 {
                self.try_kind(kind, shrinkage)?;
            }
        }
        for recipe in self.best(1) {
            let Some(t) = recipe.t else { continue };
            let near = [(t - 0.05).max(0.0), t, (t + 0.1).min(1.0)].map(rounded);
            for &shrinkage in between(recipe.shrinkage, recipe.towards_identity) {
                self.try_at(&Recipe { shrinkage, ..recipe.clone() }, &near)?;
            }
        }
        for recipe in self.best(4) {
            let Some(t) = recipe.t else { continue };
            let near = [-0.1, -0.05, 0.05, 0.1].map(|step| rounded(t + step));
            let near: Vec<f64> = near.into_iter().filter(|t| (0.0..=1.0).contains(t)).collect();
            self.try_at(&recipe, &near)?;
        }
        self.try_rounds()?;
        self.try_other_counts()
    }

    /// How many directions are best may change with the rounds that follow: the next fewer and the next more.
    fn try_other_counts(&mut self) -> Result<()> {
        let counts = self.counts();
        for recipe in self.best(2) {
            let (Some(r), Some(t)) = (recipe.directions, recipe.rounds.last().map(|round| round.t)) else {
                continue;
            };
            let fewer = counts.iter().copied().filter(|&count| count < r).max();
            let more = counts.iter().copied().filter(|&count| count > r).min();
            let near = [rounded((t - 0.1).max(0.0)), t, rounded((t + 0.1).min(1.0))];
            for directions in [fewer, more].into_iter().flatten() {
                self.try_at(&Recipe { directions: Some(directions), ..recipe.clone() }, &near)?;
            }
        }
        Ok(())
    }

    /// The numbers of leading directions that are tried.
    fn counts(&self) -> Vec<usize> {
        let steps = [1, 2, 4, 8].map(|m| m * (self.classes - 1)).into_iter().filter(|&r| r < self.columns);
        steps.chain([self.columns.min(16 * self.classes)]).collect()
    }

    /// Neighbourhood rounds from where they are most likely to help.
    pub(crate) fn try_rounds(&mut self) -> Result<()> {
        for start in self.starts(3) {
            if start.t.is_none() {
                continue;
            }
            let before = self.trials.len();
            for neighbors in [3, 10] {
                self.try_round(&start, neighbors)?;
            }
            // A second round where the first one helped.
            let Some(first) = (before..self.trials.len()).min_by(|&a, &b| self.order(a, b)) else { continue };
            let gained = self.trials.iter().find(|trial| trial.recipe == start);
            if gained.is_some_and(|trial| self.trials[first].smoothed < trial.smoothed) {
                let recipe = self.trials[first].recipe.clone();
                let neighbors = recipe.rounds.last().map_or(3, |round| round.neighbors);
                self.try_round(&recipe, neighbors)?;
            }
        }
        Ok(())
    }

    pub(crate) fn try_kind(&mut self, kind: Kind, shrinkage: f64) -> Result<()> {
        let recipe = kind.recipe(shrinkage);
        if kind.reduces() { self.try_directions(&recipe) } else { self.try_at(&recipe, &COARSE) }
    }

    /// The two better kinds; the better one alone if the other is behind by more than three standard errors.
    fn worth_while(&self, kinds: &[Kind]) -> Vec<Kind> {
        let best = |kind: Kind| {
            let of_kind = (0..self.trials.len()).filter(|&i| Kind::of(&self.trials[i].recipe) == Some(kind));
            of_kind.min_by(|&a, &b| self.order(a, b)).map(|i| (kind, i))
        };
        let mut found: Vec<(Kind, usize)> = kinds.iter().copied().filter_map(best).collect();
        found.sort_by(|a, b| self.order(a.1, b.1));
        let Some(&(_, first)) = found.first() else { return Vec::new() };
        let gap = |i: usize| difference(&self.wrong[i], &self.wrong[first], self.rows).0;
        let near = found.into_iter().take(2).filter(|&(_, i)| gap(i) <= 3.0 * self.doubt(i, first));
        near.map(|(kind, _)| kind).collect()
    }

    /// The standard error of the difference of two recipes on the same rows.
    pub(crate) fn doubt(&self, a: usize, b: usize) -> f64 {
        difference(&self.wrong[a], &self.wrong[b], self.rows).1
    }

    fn order(&self, a: usize, b: usize) -> std::cmp::Ordering {
        // Those that were tried on all folds came through every comparison before.
        let key =
            |i: usize| (self.wrong[i].len(), self.trials[i].smoothed, self.trials[i].recipe.complexity());
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
    fn best(&self, count: usize) -> Vec<Recipe> {
        let mut best: Vec<Recipe> = Vec::new();
        for i in self.ranking() {
            let recipe = &self.trials[i].recipe;
            if best.len() < count && !best.iter().any(|other| recipe.differs_in_t_alone(other)) {
                best.push(recipe.clone());
            }
        }
        best
    }

    /// Where rounds start: from the best recipe of each kind that is not far behind, then from the best of the rest.
    fn starts(&self, count: usize) -> Vec<Recipe> {
        let mut kinds = Vec::new();
        let mut leads = |(recipe, _): &(Recipe, f64)| {
            let kind = Kind::of(recipe);
            let new = !kinds.contains(&kind);
            kinds.push(kind);
            new
        };
        let mut starts: Vec<Recipe> =
            self.members().into_iter().filter(|member| leads(member)).map(|member| member.0).collect();
        for recipe in self.best(count) {
            if starts.len() < count && !starts.contains(&recipe) {
                starts.push(recipe);
            }
        }
        starts
    }

    /// Tries a recipe at several values of its last t.
    fn try_at(&mut self, recipe: &Recipe, values: &[f64]) -> Result<()> {
        if self.too_much(recipe, values.len()) {
            return Ok(());
        }
        let mut race = Race::new(values.len());
        for fold in 0..self.looked {
            let running = race.running();
            self.step(recipe, running.len())?;
            let values: Vec<f64> = running.iter().map(|&at| values[at]).collect();
            let ((ground, fold), k) = (&self.folds[fold], self.auto.k);
            let votes = in_pool(|| {
                let (frame, path, _) = ground.follow(recipe)?;
                votes(fold, &frame, &path, &values, k)
            });
            // A recipe that cannot be followed is no candidate.
            let Ok(votes) = votes else { return Ok(()) };
            race.extend(&running, votes);
            if race.drop_behind(self.leader(), self.rows) {
                break;
            }
        }
        let named =
            |at: usize| if recipe.t.is_some() { recipe.with_last_t(values[at]) } else { recipe.clone() };
        self.keep(race, named);
        Ok(())
    }

    /// The votes of the best recipe so far.
    fn leader(&self) -> Option<&[u8]> {
        let first = (0..self.trials.len()).min_by(|&a, &b| self.order(a, b))?;
        Some(&self.wrong[first])
    }

    /// Tries numbers of leading directions, each at several values of t: one factorisation a fold for all.
    fn try_directions(&mut self, base: &Recipe) -> Result<()> {
        let counts = self.counts();
        let of_count = |&r: &usize| self.work(&Recipe { directions: Some(r), ..base.clone() }, WITHIN.len());
        if self.budget.forbids(self.looked as f64 * counts.iter().map(of_count).sum::<f64>()) {
            return Ok(());
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut race = Race::new(counts.len() * WITHIN.len());
        for fold in 0..self.looked {
            let running = race.running();
            let regularization = base.regularization();
            let ground = &self.folds[fold].0;
            let Ok(subspace) = in_pool(|| ground.subspace(base, most)) else { return Ok(()) };
            let mut all = Vec::new();
            for (which, &r) in counts.iter().enumerate() {
                let at = |&&at: &&usize| at / WITHIN.len() == which;
                let values: Vec<f64> =
                    running.iter().filter(at).map(|at| WITHIN[at % WITHIN.len()]).collect();
                if values.is_empty() {
                    continue;
                }
                self.step(&Recipe { directions: Some(r), ..base.clone() }, values.len())?;
                let ((ground, fold), k) = (&self.folds[fold], self.auto.k);
                let more = in_pool(|| {
                    let frame = ground.frame_within(&subspace.1, r, base.curve)?;
                    votes(fold, &frame, &frame.all_pairs(regularization)?, &values, k)
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
            let (r, t) = (counts[at / WITHIN.len()], WITHIN[at % WITHIN.len()]);
            Recipe { directions: Some(r), ..base.clone() }.with_last_t(t)
        });
        Ok(())
    }

    fn try_round(&mut self, start: &Recipe, neighbors: usize) -> Result<()> {
        let mut recipe = start.clone();
        recipe.rounds.push(Round { neighbors, t: 0.0 });
        self.try_at(&recipe, &AFTER)
    }

    /// Counts the work of one fold, and asks whether to go on.
    pub(crate) fn step(&mut self, recipe: &Recipe, values: usize) -> Result<()> {
        self.budget.spent += self.work(recipe, values);
        self.go_on()
    }

    /// Tells how far the budget is spent, and asks whether to go on.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        match (self.progress)(Step::of(self.budget.thousandths(), 1000)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(Error::Cancelled),
        }
    }

    fn work(&self, recipe: &Recipe, values: usize) -> f64 {
        budget::trial(self.folds[0].1, self.columns, recipe, values)
    }

    /// Whether a recipe would go beyond the budget, of which a part is kept for the blend.
    fn too_much(&self, recipe: &Recipe, values: usize) -> bool {
        self.budget.forbids(self.looked as f64 * self.work(recipe, values))
    }

    pub(crate) fn too_much_to_blend(&self, members: &[(Recipe, f64)]) -> bool {
        let work: f64 = members.iter().map(|(recipe, _)| self.work(recipe, 1)).sum();
        // Once a fold, and once for all rows.
        self.budget.is_exceeded_by((self.folds.len() + 2) as f64 * work)
    }

    /// Tries the finalists on the folds that are left, as far as the budget goes: the plain distance, then the members
    /// of the blend so far, best first.
    pub(crate) fn deepen(&mut self) -> Result<()> {
        if self.looked == self.folds.len() {
            return Ok(());
        }
        let members = self.members();
        let is_member = |recipe: &Recipe| members.iter().any(|member| member.0 == *recipe);
        let is_plain = |&i: &usize| self.trials[i].recipe.t.is_none();
        let (plain, others): (Vec<usize>, Vec<usize>) = self.ranking().into_iter().partition(is_plain);
        let others = others.into_iter().filter(|&i| is_member(&self.trials[i].recipe));
        let finalists: Vec<usize> = plain.into_iter().chain(others).collect();
        for i in finalists {
            let recipe = self.trials[i].recipe.clone();
            let left = (self.folds.len() - self.looked) as f64;
            if self.budget.is_exceeded_by(left * self.work(&recipe, 1)) {
                break;
            }
            let mut wrong = Vec::new();
            for fold in self.looked..self.folds.len() {
                self.step(&recipe, 1)?;
                let ((ground, fold), k) = (&self.folds[fold], self.auto.k);
                let more = in_pool(|| {
                    let (frame, path, t) = ground.follow(&recipe)?;
                    votes(fold, &frame, &path, &[t], k)
                });
                let Ok(more) = more else { break };
                wrong.extend(more.into_iter().flatten());
            }
            self.extend(i, wrong);
        }
        Ok(())
    }

    /// More votes for a trial.
    fn extend(&mut self, trial: usize, votes: Vec<u8>) {
        let n = self.wrong[trial].len() as f64;
        let at_k = |votes: &[u8]| votes.iter().filter(|&&vote| vote & WRONG_AT_K != 0).count() as f64;
        let all = n + votes.len() as f64;
        let known = &mut self.trials[trial];
        known.error = (known.error * n + at_k(&votes)) / all;
        self.wrong[trial].extend(votes.into_iter().map(|vote| vote & 7));
        known.smoothed = self.wrong[trial].iter().map(|&w| f64::from(w)).sum::<f64>() / (4.0 * all);
    }

    /// Enters what was tried into the table.
    fn keep(&mut self, race: Race, recipe: impl Fn(usize) -> Recipe) {
        for (at, votes) in race.votes.into_iter().enumerate() {
            let recipe = recipe(at);
            if self.trials.iter().any(|trial| trial.recipe == recipe) {
                continue;
            }
            let n = votes.len().max(1) as f64;
            let error = votes.iter().filter(|&&w| w & WRONG_AT_K != 0).count() as f64 / n;
            let wrong = smoothed(&votes);
            let mean = wrong.iter().map(|&w| f64::from(w)).sum::<f64>() / (4.0 * n);
            self.trials.push(Trial { recipe, kernel: None, error, smoothed: mean });
            self.wrong.push(wrong);
        }
    }
}

/// The quarters of a wrong vote of each test row at each t.
fn votes(fold: &Fold, frame: &Frame, path: &Path, values: &[f64], k: usize) -> Result<Vec<Vec<u8>>> {
    let placed = |part: &Dataset| -> Result<Vec<f64>> { Ok(path.coordinates(&frame.place(part.rows())?)) };
    let (voters, queries) = (placed(&fold.voters)?, placed(&fold.test)?);
    let search = |&t: &f64| -> Result<Vec<u8>> {
        fold.wrong(path.rows_at(&voters, t)?, &path.rows_at(&queries, t)?, k)
    };
    values.par_iter().map(search).collect()
}

/// Runs work on a thread of the pool: what it does in parallel there needs no change of threads to begin.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}

/// The values on both sides of a shrinkage, half-way to the next one tried.
fn between(shrinkage: f64, ridge: bool) -> &'static [f64] {
    match shrinkage {
        x if ridge && x < 0.05 => &[0.05],
        x if ridge && x < 0.3 => &[0.05, 0.2],
        x if ridge && x < 0.6 => &[0.2, 0.6],
        _ if ridge => &[0.6, 0.9],
        x if x < 0.05 => &[0.05],
        x if x < 0.2 => &[0.05, 0.2],
        x if x < 0.5 => &[0.2, 0.45],
        _ => &[0.45],
    }
}

fn rounded(t: f64) -> f64 {
    (100.0 * t).round() / 100.0
}
