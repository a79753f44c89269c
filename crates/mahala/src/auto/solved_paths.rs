//! The paths last solved on some training rows: recipes that begin alike solve their common steps once.

use crate::auto::evaluator::Weighting;
use crate::auto::recipe::Recipe;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers that are kept of wide tables; a path holds a square matrix.
const MOST_NUMBERS: usize = 1 << 23;
/// Paths that are kept of narrow tables.
const MOST_PATHS: usize = 32;

/// The last paths, the latest first. A path is that of a recipe up to its last t, which is free to vary.
#[derive(Default)]
pub(crate) struct SolvedPaths(Mutex<VecDeque<(Recipe, Arc<Weighting>)>>);

impl SolvedPaths {
    /// How many paths are kept.
    fn most(columns: usize) -> usize {
        (MOST_NUMBERS / (columns * columns).max(1)).clamp(2, MOST_PATHS)
    }

    /// Numbers that are kept at most.
    pub(crate) fn numbers(columns: usize) -> f64 {
        Self::most(columns) as f64 * (columns as f64).powi(2)
    }

    /// The longest known beginning of a recipe: its path, and the number of rounds it has.
    pub(crate) fn longest(&self, recipe: &Recipe) -> Option<(Arc<Weighting>, usize)> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (0..=recipe.rounds.len()).rev().find_map(|rounds| {
            let beginning = recipe.beginning(rounds)?;
            let at = known.iter().position(|(of, _)| *of == beginning)?;
            let found = known.remove(at)?;
            let path = found.1.clone();
            known.push_front(found);
            Some((path, rounds))
        })
    }

    /// Keeps the path of a recipe's beginning of so many rounds.
    pub(crate) fn keep(&self, recipe: &Recipe, rounds: usize, path: &Arc<Weighting>, columns: usize) {
        let Some(beginning) = recipe.beginning(rounds) else { return };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push_front((beginning, path.clone()));
        known.truncate(Self::most(columns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::evaluator::TrainingSums;
    use crate::auto::recipe::Round;
    use crate::data::random::Random;
    use crate::data::{Dataset, Labels, Rows};

    fn made() -> Dataset {
        let mut random = Random::new(5, 0);
        let rows = Rows::new((0..60 * 3).map(|_| random.uniform()).collect(), 3).unwrap();
        Dataset::new(rows, Labels::new((0..60).map(|i| ["a", "b", "c"][i % 3]))).unwrap()
    }

    fn with_rounds(t: f64, rounds: &[(usize, f64)]) -> Recipe {
        let rounds = rounds.iter().map(|&round| Round::from(round)).collect();
        Recipe { rounds, ..Recipe::all_pairs(t) }
    }

    #[test]
    fn what_was_followed_before_changes_no_bit() {
        let data = made();
        let shared = TrainingSums::of(&data, None).unwrap().for_many_recipes();
        let recipes = [
            with_rounds(0.5, &[]),
            with_rounds(0.3, &[]),
            with_rounds(0.5, &[(3, 0.2)]),
            with_rounds(0.3, &[(3, 0.2)]),
            with_rounds(0.3, &[(3, 0.7), (3, 1.0)]),
            with_rounds(0.3, &[(3, 0.2), (3, 1.0)]),
            Recipe { shrinkage: 0.1, ..with_rounds(0.3, &[(3, 0.2)]) },
            Recipe { standardize: true, t: None, ..with_rounds(0.0, &[(3, 0.2)]) },
            Recipe { t: None, ..with_rounds(0.0, &[(3, 0.2)]) },
        ];
        for recipe in &recipes {
            let alone = recipe.fit_on(&TrainingSums::of(&data, None).unwrap()).unwrap();
            let after_others = recipe.fit_on(&shared).unwrap();
            assert_eq!(alone.components(), after_others.components(), "{recipe}");
        }
    }

    #[test]
    fn the_longest_beginning_is_found_and_the_oldest_is_forgotten() {
        let paths = SolvedPaths::default();
        let path = || Arc::new(Weighting::Weights(crate::gmml::family::Curve::Power, Vec::new()));
        let recipe = with_rounds(0.3, &[(3, 0.2), (5, 1.0)]);
        assert!(paths.longest(&recipe).is_none());
        paths.keep(&recipe, 0, &path(), 2000);
        paths.keep(&recipe, 1, &path(), 2000);
        assert_eq!(paths.longest(&recipe).unwrap().1, 1);
        // A t before the last step is another beginning.
        assert_eq!(paths.longest(&with_rounds(0.4, &[(3, 0.2), (5, 1.0)])).unwrap().1, 0);
        assert!(paths.longest(&Recipe { shrinkage: 0.1, ..recipe.clone() }).is_none());
        // Two of so wide a table are kept: the one last asked for, and what comes.
        paths.keep(&with_rounds(0.1, &[(7, 0.2)]), 1, &path(), 2000);
        assert_eq!(paths.longest(&recipe).unwrap().1, 0);
    }
}
