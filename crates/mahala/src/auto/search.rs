//! The search of the automatic mode: what is tried, in which order, and what it may cost.

use crate::auto::budget;
use crate::auto::budget::Budget;
use crate::auto::evaluator::{Frame, Ground, Path};
use crate::auto::folds::{Fold, WRONG_AT_K, difference};
use crate::auto::recipe::{Recipe, Round};
use crate::auto::{Auto, Trial};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::gmml::select_t::is_lack_of_pairs;
use crate::progress::{Progress, Step};
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
    /// How often each row is tested.
    pub(crate) repeats: usize,
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
        repeats: usize,
        part: &Dataset,
        budget: Budget,
        progress: &'a mut Progress<'w>,
    ) -> Result<Self> {
        let mut grounds = Vec::new();
        for fold in folds {
            match Ground::of(&fold.train, fold.groups.as_ref()) {
                Ok(ground) => grounds.push((ground, fold)),
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
        Ok(Self {
            auto,
            folds: grounds,
            rows: part.len(),
            repeats,
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
        self.try_rounds()
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
        let gap = |i: usize| self.trials[i].smoothed - self.trials[first].smoothed;
        let near = found.into_iter().take(2).filter(|&(_, i)| gap(i) <= 3.0 * self.doubt(i, first));
        near.map(|(kind, _)| kind).collect()
    }

    /// The standard error of the difference of two recipes on the same rows.
    pub(crate) fn doubt(&self, a: usize, b: usize) -> f64 {
        difference(&self.wrong[a], &self.wrong[b], self.repeats).1
    }

    fn order(&self, a: usize, b: usize) -> std::cmp::Ordering {
        let key = |i: usize| (self.trials[i].smoothed, self.trials[i].recipe.complexity());
        let ((x, p), (y, q)) = (key(a), key(b));
        x.total_cmp(&y).then(p.cmp(&q)).then(a.cmp(&b))
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
        let tried: Result<Vec<Vec<Vec<u8>>>> = (0..self.folds.len())
            .map(|fold| {
                self.step(recipe, values.len())?;
                let (frame, path, _) = self.folds[fold].0.follow(recipe)?;
                self.votes(fold, &frame, &path, values)
            })
            .collect();
        self.keep(
            tried,
            |at| if recipe.t.is_some() { recipe.with_last_t(values[at]) } else { recipe.clone() },
        )
    }

    /// Tries numbers of leading directions, each at several values of t: one factorisation a fold for all.
    fn try_directions(&mut self, base: &Recipe) -> Result<()> {
        let steps = [1, 2, 4, 8].map(|m| m * (self.classes - 1)).into_iter().filter(|&r| r < self.columns);
        let counts: Vec<usize> = steps.chain([self.columns.min(16 * self.classes)]).collect();
        if self.too_much(&Recipe { directions: counts.last().copied(), ..base.clone() }, 2 * WITHIN.len()) {
            return Ok(());
        }
        let tried: Result<Vec<Vec<Vec<u8>>>> = (0..self.folds.len())
            .map(|fold| {
                let most = counts.iter().copied().max().unwrap_or(0);
                let subspace = self.folds[fold].0.subspace(base.regularization(), most)?;
                let mut found = Vec::new();
                for &r in &counts {
                    self.step(&Recipe { directions: Some(r), ..base.clone() }, WITHIN.len())?;
                    let frame = self.folds[fold].0.frame_within(&subspace, r)?;
                    found.extend(self.votes(
                        fold,
                        &frame,
                        &frame.all_pairs(base.regularization())?,
                        &WITHIN,
                    )?);
                }
                Ok(found)
            })
            .collect();
        self.keep(tried, |at| {
            let (r, t) = (counts[at / WITHIN.len()], WITHIN[at % WITHIN.len()]);
            Recipe { directions: Some(r), ..base.clone() }.with_last_t(t)
        })
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
        self.budget.forbids(self.folds.len() as f64 * self.work(recipe, values))
    }

    pub(crate) fn too_much_to_blend(&self, members: &[(Recipe, f64)]) -> bool {
        let work: f64 = members.iter().map(|(recipe, _)| self.work(recipe, 1)).sum();
        // Once a fold, and once for all rows.
        self.budget.is_exceeded_by((self.folds.len() + 2) as f64 * work)
    }

    /// The quarters of a wrong vote of each test row at each t.
    fn votes(&self, fold: usize, frame: &Frame, path: &Path, values: &[f64]) -> Result<Vec<Vec<u8>>> {
        let fold = self.folds[fold].1;
        let placed =
            |part: &Dataset| -> Result<Vec<f64>> { Ok(path.coordinates(&frame.place(part.rows())?)) };
        let (voters, queries) = (placed(&fold.voters)?, placed(&fold.test)?);
        let search = |&t: &f64| -> Result<Vec<u8>> {
            let (rows, queries) = (path.rows_at(&voters, t)?, path.rows_at(&queries, t)?);
            fold.wrong(rows, &queries, self.auto.k)
        };
        values.iter().map(search).collect()
    }

    /// Keeps what was tried, fold after fold; a recipe that cannot be followed is no candidate.
    fn keep(&mut self, tried: Result<Vec<Vec<Vec<u8>>>>, recipe: impl Fn(usize) -> Recipe) -> Result<()> {
        let by_fold = match tried {
            Ok(by_fold) => by_fold,
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return Ok(()),
        };
        for at in 0..by_fold.first().map_or(0, Vec::len) {
            let recipe = recipe(at);
            if self.trials.iter().any(|trial| trial.recipe == recipe) {
                continue;
            }
            let wrong: Vec<u8> = by_fold.iter().flat_map(|fold| fold[at].iter().copied()).collect();
            let n = wrong.len().max(1) as f64;
            let error = wrong.iter().filter(|&&w| w & WRONG_AT_K != 0).count() as f64 / n;
            let wrong: Vec<u8> = wrong.into_iter().map(|w| w & 7).collect();
            let smoothed = wrong.iter().map(|&w| f64::from(w)).sum::<f64>() / (4.0 * n);
            self.trials.push(Trial { recipe, kernel: None, error, smoothed });
            self.wrong.push(wrong);
        }
        Ok(())
    }
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
