//! The finalists of a search: tried on all held-out queries, beside the methods that they must justify themselves against.

use crate::auto::MOST_KEPT;
use crate::auto::criterion::{Judge, Losses};
use crate::auto::evaluator::TrainingSums;
use crate::auto::folds::{Fold, difference};
use crate::auto::race::is_behind;
use crate::auto::recipe::Recipe;
use crate::auto::search::{Going, Search, in_pool};
use crate::error::Result;
use crate::gmml::family::Curve;
use crate::metric::Metric;

/// The best recipes by the first queries, beside the members of a blend of them.
const BEST: usize = 4;
/// What a standard error is multiplied by for an interval of 95 %.
const NORMAL: f64 = 1.96;

/// A method that everybody knows, on the same held-out queries.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reference {
    /// The name that the method is known by.
    pub name: String,
    /// The recipe that is this method.
    pub recipe: Recipe,
    /// The criterion of the choice, for this method.
    pub error: f64,
    /// The number of held-out queries that the method was tried on.
    pub queries: usize,
}

/// By how much the chosen metric has less loss than the plain distance on the same held-out queries.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gain {
    /// The mean of the differences.
    pub difference: f64,
    /// The lower end of its interval of 95 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Gain {
    /// Whether it is above what chance explains.
    pub fn is_beyond_chance(&self) -> bool {
        self.low > 0.0
    }
}

impl Search<'_, '_> {
    /// Tries the finalists on the folds that hold every row out once. One that is clearly behind is dropped on the way; the
    /// references are not.
    pub(crate) fn promote(&mut self) -> Going<()> {
        let references: Vec<usize> = self.references().into_iter().map(|(_, trial)| trial).collect();
        let mut finalists = references.clone();
        let of_members: Vec<Recipe> = self.members().into_iter().map(|member| member.0).collect();
        let is_member = |&i: &usize| of_members.contains(&self.trials[i].recipe);
        let ranking = self.ranking();
        let depth = ranking.first().map_or(0, |&first| self.losses[first].len());
        let best = ranking.iter().copied().filter(|&i| self.losses[i].len() == depth);
        let best: Vec<usize> = best.clone().take(BEST).chain(best.filter(is_member)).collect();
        finalists.extend(best);
        let mut seen = Vec::new();
        finalists.retain(|i| {
            !seen.contains(i) && {
                seen.push(*i);
                true
            }
        });
        for fold in 0..self.looked {
            // All at one fold before the next, so that those behind are known.
            finalists = self.promote_on(fold, finalists, &references)?;
        }
        Ok(())
    }

    /// The finalists that are left after one more fold.
    fn promote_on(&mut self, fold: usize, finalists: Vec<usize>, kept: &[usize]) -> Going<Vec<usize>> {
        let queries: usize = (0..fold).map(|fold| self.folds[fold].1.test.len()).sum();
        let mut left = Vec::new();
        for i in finalists {
            if self.losses[i].len() > queries {
                left.push(i);
                continue;
            }
            let recipe = self.trials[i].recipe.clone();
            if self.losses[i].len() < queries || self.budget.is_exceeded_by(self.work(&recipe, 1)) {
                continue;
            }
            self.step(&recipe, 1)?;
            let (at, judge) = (&self.folds[fold], self.judge);
            let Ok((metric, losses)) = in_pool(|| learned(at, &recipe, judge)) else { continue };
            self.extend(i, &losses);
            self.remember(i, fold, metric);
            left.push(i);
        }
        let leader = self.ranking().first().copied();
        left.retain(|&i| {
            let behind =
                |leader: usize| is_behind(&self.losses[i].compared, &self.losses[leader].compared, self.rows);
            kept.contains(&i) || !leader.is_some_and(behind)
        });
        Ok(left)
    }

    /// Tries the members of the blend so far, and the plain distance, on the folds that repeat, as far as the budget goes.
    pub(crate) fn deepen(&mut self) -> Going<()> {
        if self.looked == self.folds.len() {
            return Ok(());
        }
        let members = self.members();
        let is_member = |recipe: &Recipe| members.iter().any(|member| member.0 == *recipe);
        let is_plain = |&i: &usize| self.trials[i].recipe.is_plain();
        let depth = self.ranking().first().map_or(0, |&first| self.losses[first].len());
        let whole = self.ranking().into_iter().filter(|&i| self.losses[i].len() == depth);
        let (plain, others): (Vec<usize>, Vec<usize>) = whole.partition(is_plain);
        let others = others.into_iter().filter(|&i| is_member(&self.trials[i].recipe));
        let finalists: Vec<usize> = plain.into_iter().chain(others).collect();
        for i in finalists {
            let recipe = self.trials[i].recipe.clone();
            let left = (self.folds.len() - self.looked) as f64;
            if self.budget.is_exceeded_by(left * self.work(&recipe, 1)) {
                break;
            }
            let mut more = Losses::default();
            for fold in self.looked..self.folds.len() {
                self.step(&recipe, 1)?;
                let (at, judge) = (&self.folds[fold], self.judge);
                let Ok((metric, losses)) = in_pool(|| learned(at, &recipe, judge)) else { break };
                self.remember(i, fold, metric);
                more.extend(&losses);
            }
            self.extend(i, &more);
        }
        Ok(())
    }

    /// Keeps a finalist's metric on one fold for the blend, unless it is large.
    fn remember(&mut self, trial: usize, fold: usize, metric: Metric) {
        if self.columns <= MOST_KEPT {
            self.metrics.insert((trial, fold), metric);
        }
    }

    /// The methods that everybody knows, as far as they were tried: the plain distance, GMML half-way and at the best t, LDA.
    fn references(&self) -> Vec<(&'static str, usize)> {
        let tried = |recipe: &Recipe| self.trials.iter().position(|trial| trial.recipe == *recipe);
        let is_path = |i: &usize| {
            let recipe = &self.trials[*i].recipe;
            recipe.curve == Curve::Power && recipe.t.is_some_and(|t| *recipe == Recipe::all_pairs(t))
        };
        let path = self.ranking().into_iter().find(is_path);
        let found = [
            ("Euclidean", tried(&Recipe::euclidean(false))),
            ("GMML, t = 0.5", tried(&Recipe::all_pairs(0.5))),
            ("GMML, t chosen", path),
            ("LDA", tried(&self.lda())),
        ];
        found.into_iter().filter_map(|(name, trial)| Some((name, trial?))).collect()
    }

    /// How those did.
    pub(crate) fn reference_results(&self) -> Vec<Reference> {
        let result = |(name, i): (&str, usize)| Reference {
            name: name.to_owned(),
            recipe: self.trials[i].recipe.clone(),
            error: self.trials[i].error,
            queries: self.losses[i].len(),
        };
        self.references().into_iter().map(result).collect()
    }

    /// What is gained over the plain distance; none if it was not tried.
    pub(crate) fn gain(&self, chosen: &Losses) -> Option<Gain> {
        Some(gain_over(self.plain_losses()?, chosen, self.rows))
    }

    /// The losses of the plain distance, if it was tried.
    pub(crate) fn plain_losses(&self) -> Option<&Losses> {
        let plain = self.trials.iter().position(|trial| trial.recipe == Recipe::euclidean(false))?;
        Some(&self.losses[plain])
    }
}

/// What is gained over the plain distance on the queries of both.
pub(crate) fn gain_over(plain: &Losses, chosen: &Losses, rows: usize) -> Gain {
    let (difference, standard_error) = difference(&plain.reported, &chosen.reported, rows);
    Gain { difference, low: difference - NORMAL * standard_error, high: difference + NORMAL * standard_error }
}

/// A recipe's metric on one fold, and the losses under it.
fn learned(at: &(TrainingSums<'_>, &Fold), recipe: &Recipe, judge: Judge) -> Result<(Metric, Losses)> {
    let (training, fold) = at;
    let metric = recipe.fit_on(training)?;
    let seen = |part: &crate::data::Dataset| metric.transform(part.rows());
    let losses = judge.losses(fold, seen(&fold.voters)?, &seen(&fold.test)?)?;
    Ok((metric, losses))
}
