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
