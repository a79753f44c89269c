//! What the automatic mode may cost, in multiplications: about, but the same on every machine.

use crate::auto::Auto;
use crate::auto::folds::Fold;
use crate::auto::recipe::Recipe;
use crate::data::Dataset;

/// What there is to spend, and what is spent.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// A plain fit that chooses t: what budget and cost are counted in.
    pub(crate) plain: f64,
    /// For everything.
    pub(crate) total: f64,
    /// For the search under way.
    pub(crate) limit: f64,
    pub(crate) spent: f64,
}

/// The share of the budget for trials; the rest is for the blend.
const FOR_TRIALS: f64 = 0.8;
/// Multiplications of one solution, over d³.
const SOLUTION: f64 = 9.0;

impl Budget {
    /// For these rows.
    pub(crate) fn of(auto: &Auto, part: &Dataset) -> Self {
        let (n, d) = (part.len() as f64, part.columns() as f64);
        // Five folds of twenty searches, six solutions.
        let plain = 100.0 * 0.16 * n * n * d + 6.0 * (n * d * d + SOLUTION * d.powi(3));
        let total = auto.budget * plain;
        Self { plain, total, limit: total, spent: 0.0 }
    }

    /// A budget with as many kernel fits on top, which the search under way may not spend.
    pub(crate) fn with_kernels(self, auto: &Auto, part: &Dataset, landmarks: usize) -> Self {
        let more = 6.0 * in_features(part.len() as f64, part.columns() as f64, landmarks as f64);
        Self { plain: self.plain + more, total: self.total + auto.budget * more, ..self }
    }

    /// A budget of which the search under way may spend all.
    pub(crate) fn whole(self) -> Self {
        Self { limit: self.total, ..self }
    }

    /// Whether so much more would take what is kept for the blend.
    pub(crate) fn forbids(&self, work: f64) -> bool {
        self.spent + work > FOR_TRIALS * self.limit
    }

    /// Whether so much more would be too much for the blend, too.
    pub(crate) fn is_exceeded_by(&self, work: f64) -> bool {
        self.spent + work > self.limit
    }

    /// How far it is spent, in thousandths.
    pub(crate) fn thousandths(&self) -> usize {
        (1000.0 * (self.spent / self.total).min(1.0)) as usize
    }
}

/// Trying a recipe at so many values of t on one fold, in so many columns.
pub(crate) fn trial(fold: &Fold, columns: usize, recipe: &Recipe, values: usize) -> f64 {
    let (train, test, voters) = (fold.train.len() as f64, fold.test.len() as f64, fold.voters.len() as f64);
    let r = recipe.directions.unwrap_or(columns) as f64;
    let d = columns as f64;
    let searches = values as f64 * test * voters * r;
    // Two searches, two products with a Laplacian's rows, a solution.
    let round = train * train * r + 2.0 * train * r * r + SOLUTION * r.powi(3);
    let start = if recipe.directions.is_none() { SOLUTION * d.powi(3) } else { train * d * r };
    searches + recipe.rounds.len() as f64 * round + start
}

/// The directions of a pencil of so many columns.
pub(crate) fn pencil(columns: usize) -> f64 {
    SOLUTION * (columns as f64).powi(3)
}

/// Bringing the rows of a fold into the features of so many landmarks, and their sums.
pub(crate) fn features(fold: &Fold, landmarks: usize) -> f64 {
    let rows = fold.train.len() + fold.test.len() + fold.voters.len();
    in_features(rows as f64, fold.train.columns() as f64, landmarks as f64)
}

/// Kernel values, features, sums; the landmarks' own kernel.
fn in_features(rows: f64, d: f64, landmarks: f64) -> f64 {
    rows * landmarks * (d + 2.0 * landmarks) + 2.0 * SOLUTION * landmarks.powi(3)
}
