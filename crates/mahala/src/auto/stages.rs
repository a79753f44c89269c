//! What the automatic mode tries, and in which order: the closed form first, then kinds of recipes, what lies between the best
//! of them, and neighbourhood rounds.

use crate::auto::kinds::Kind;
use crate::auto::recipe::{Recipe, Round};
use crate::auto::search::{Going, Search};

/// The closed form itself; half-way first.
pub(super) const PATH: [f64; 6] = [0.5, 0.0, 0.1, 0.3, 0.7, 0.9];
/// Values of t after a round.
const AFTER: [f64; 7] = [0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0];
/// From how many recipes neighbourhood rounds start.
const STARTS: usize = 4;

impl Search<'_, '_> {
    pub(super) fn run(&mut self) -> Going<()> {
        let mut kinds = vec![Kind::Directions, Kind::RidgeDirections];
        if !self.auto.reduce {
            self.enter("all pairs");
            self.try_at(&Recipe::euclidean(false), &[0.0])?;
            self.try_at(&Recipe::all_pairs(0.5), &PATH)?;
            self.try_at(&Recipe::euclidean(true), &[0.0])?;
            kinds =
                vec![Kind::Columns, Kind::Standardized, Kind::Ridge, Kind::Directions, Kind::RidgeDirections];
            if self.folds[0].0.has_parts() {
                kinds.extend([Kind::Kissme, Kind::Means]);
                self.try_at(&self.lda(), &[0.0])?;
            }
        }
        for &kind in &kinds {
            for &shrinkage in kind.shrinkages().0 {
                self.try_kind(kind, shrinkage)?;
            }
        }
        for kind in self.surviving(&kinds) {
            for &shrinkage in kind.shrinkages().1 {
                self.try_kind(kind, shrinkage)?;
            }
        }
        self.enter("other shrinkages");
        for recipe in self.best(1) {
            let Some(t) = recipe.t else { continue };
            let near = [(t - 0.05).max(0.0), t, (t + 0.1).min(1.0)].map(rounded);
            for &shrinkage in between(recipe.shrinkage, recipe.towards_identity) {
                self.try_at(&Recipe { shrinkage, ..recipe.clone() }, &near)?;
            }
        }
        self.enter("values of t");
        for recipe in self.best(4) {
            let Some(t) = recipe.t else { continue };
            let near = [-0.1, -0.05, 0.05, 0.1].map(|step| rounded(t + step));
            let near: Vec<f64> = near.into_iter().filter(|t| (0.0..=1.0).contains(t)).collect();
            self.try_at(&recipe, &near)?;
        }
        self.try_rounds()?;
        self.try_other_counts()
    }

    /// LDA.
    pub(crate) fn lda(&self) -> Recipe {
        let directions = Some((self.classes - 1).clamp(1, self.columns));
        Recipe { pooled: true, beta: 0.0, directions, ..Recipe::all_pairs(0.0) }
    }

    /// How many directions are best may change with the rounds that follow: the next fewer and the next more.
    fn try_other_counts(&mut self) -> Going<()> {
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
    pub(super) fn counts(&self) -> Vec<usize> {
        let steps = [1, 2, 4, 8].map(|m| m * (self.classes - 1)).into_iter().filter(|&r| r < self.columns);
        steps.chain([self.columns.min(16 * self.classes)]).collect()
    }

    /// Neighbourhood rounds from where they are most likely to help.
    pub(crate) fn try_rounds(&mut self) -> Going<()> {
        self.enter("neighbourhood rounds");
        for start in self.starts(STARTS) {
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

    pub(crate) fn try_kind(&mut self, kind: Kind, shrinkage: f64) -> Going<()> {
        self.enter(kind.in_words());
        let recipe = kind.recipe(shrinkage);
        if kind.reduces() {
            return self.try_directions(&recipe, kind.values());
        }
        let directions = (kind == Kind::Means).then(|| (self.classes - 1).clamp(1, self.columns));
        self.try_at(&Recipe { directions, ..recipe }, kind.values())
    }

    /// The two better kinds; the better one alone if the other is behind by more than three standard errors.
    fn surviving(&self, kinds: &[Kind]) -> Vec<Kind> {
        let best = |kind: Kind| {
            let of_kind = (0..self.trials.len()).filter(|&i| Kind::of(&self.trials[i].recipe) == Some(kind));
            of_kind.min_by(|&a, &b| self.order(a, b)).map(|i| (kind, i))
        };
        let mut found: Vec<(Kind, usize)> = kinds.iter().copied().filter_map(best).collect();
        found.sort_by(|a, b| self.order(a.1, b.1));
        let Some(&(_, first)) = found.first() else { return Vec::new() };
        let near = |i: usize| {
            let (gap, standard_error) = self.difference(i, first);
            gap <= 3.0 * standard_error
        };
        found.into_iter().take(2).filter(|&(_, i)| near(i)).map(|(kind, _)| kind).collect()
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
        starts.truncate(count);
        for recipe in self.best(count) {
            if starts.len() < count && !starts.contains(&recipe) {
                starts.push(recipe);
            }
        }
        starts
    }

    fn try_round(&mut self, start: &Recipe, neighbors: usize) -> Going<()> {
        let mut recipe = start.clone();
        recipe.rounds.push(Round { neighbors, t: 0.0 });
        self.try_at(&recipe, &AFTER)
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
