//! What the automatic mode tried and chose, as JSON.

use crate::auto::kernels::KernelChoice;
use crate::auto::recipe::{Recipe, Round};
use crate::auto::{AutoFit, Criterion, Reference, Trial};
use crate::gmml::Diagnostics;
use serde_json::{Value, json};

impl AutoFit {
    /// The recipe, why it was chosen, and what else was tried.
    pub fn to_json(&self) -> Value {
        let in_words = |kernel: Option<KernelChoice>, recipe: &Recipe| match kernel {
            Some(kernel) => format!("{kernel}, {recipe}"),
            None => recipe.to_string(),
        };
        let trial = |trial: &Trial| {
            let recipe = in_words(trial.kernel, &trial.recipe);
            json!({"recipe": recipe, "error": trial.error, "smoothed": trial.smoothed, "queries": trial.queries})
        };
        let chosen = self.kernel.as_ref().map(|kernel| kernel.0);
        let rounds = |rounds: &[Round]| -> Vec<Value> {
            rounds.iter().map(|round| json!({"neighbors": round.neighbors, "t": round.t})).collect()
        };
        let recipe = |(recipe, weight): (&Recipe, &f64)| {
            json!({
                "weight": weight, "recipe": in_words(chosen, recipe), "standardize": recipe.standardize, "shrinkage": recipe.shrinkage,
                "towards_identity": recipe.towards_identity, "pooled": recipe.pooled, "beta": recipe.beta,
                "directions": recipe.directions, "order": recipe.order, "curve": recipe.curve,
                "t": recipe.t, "rounds": rounds(&recipe.rounds),
            })
        };
        let reference = |reference: &Reference| {
            json!({
                "name": reference.name, "recipe": reference.recipe.to_string(), "error": reference.error,
                "queries": reference.queries,
            })
        };
        let gain = self.gain.map(|gain| {
            let beyond = gain.is_beyond_chance();
            json!({"difference": gain.difference, "low": gain.low, "high": gain.high, "beyond_chance": beyond})
        });
        json!({
            "recipes": self.recipes.iter().zip(&self.weights).map(recipe).collect::<Vec<_>>(), "known_as": self.known_as,
            "reason": self.reason, "verdict": self.verdict(), "criterion": self.criterion, "similarity": self.similarity,
            "error": self.error, "cost": self.cost, "rows": self.rows, "folds": self.folds,
            "trials_done": self.trials_done, "cut_short": self.cut_short,
            "references": self.references.iter().map(reference).collect::<Vec<_>>(), "gain": gain,
            "diagnostics": self.diagnostics.as_ref().map(diagnostics),
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
        })
    }

    /// Whether it is worth it, in a sentence.
    pub fn verdict(&self) -> String {
        let Some(gain) = self.gain else { return "the plain distance was not tried".to_owned() };
        let points = |x: f64| format!("{:.2}", 100.0 * x);
        let interval = format!("{} to {}", points(gain.low), points(gain.high));
        let what = match self.criterion {
            Criterion::KnnError | Criterion::BalancedError => "points of error",
            _ => "points of the criterion",
        };
        if self.recipes.len() == 1 && self.recipes[0].is_plain() {
            return "not worth it: nothing that was tried is better than the plain distance".to_owned();
        }
        if gain.is_beyond_chance() {
            return format!(
                "worth it: {} {what} better than the plain distance on the same held-out rows (95 % interval {interval})",
                points(gain.difference)
            );
        }
        format!(
            "not worth it: the gain over the plain distance, {} {what}, is within chance (95 % interval {interval}); the plain distance does as well",
            points(gain.difference)
        )
    }
}

/// The diagnostics that a plain fit has.
fn diagnostics(diagnostics: &Diagnostics) -> Value {
    json!({
        "similar_pairs": diagnostics.similar.pairs, "dissimilar_pairs": diagnostics.dissimilar.pairs,
        "condition_s": diagnostics.condition_s, "condition_d": diagnostics.condition_d, "ridge": diagnostics.ridge,
        "constant_columns": diagnostics.constant_columns, "clamped": diagnostics.clamped,
    })
}

/// What speaks for these recipes, in a sentence.
pub(crate) fn reason(
    recipes: &[Recipe],
    kernel: Option<KernelChoice>,
    trials: &[Trial],
    error: f64,
    criterion: Criterion,
) -> String {
    let tried = trials.len();
    if tried == 0 {
        return "nothing was tried".to_owned();
    }
    let shown = |error: f64| match criterion {
        Criterion::KnnError => format!("{:.2} % wrong", 100.0 * error),
        Criterion::BalancedError => format!("balanced error {:.2} %", 100.0 * error),
        Criterion::Eer => format!("equal error rate {:.2} %", 100.0 * error),
        other => format!("{other} {:.2} %", 100.0 * (1.0 - error)),
    };
    let whole = trials.iter().map(|trial| trial.queries).max().unwrap_or(0);
    if let [_] = recipes {
        let ranked = match criterion {
            // The error of exactly k neighbours, which is shown, may be less for another.
            Criterion::KnnError
                if trials.iter().any(|trial| trial.queries == whole && trial.error < error) =>
            {
                "; recipes are ranked by the mean error of k - 2, k and k + 2 neighbours, and those that differ by chance \
                 alone by how simple they are"
            }
            _ => "",
        };
        return format!("of {tried} recipes it did best on held-out rows: {}{ranked}", shown(error));
    }
    let of_members = trials.iter().filter(|trial| trial.kernel == kernel && recipes.contains(&trial.recipe));
    let best = of_members.map(|trial| trial.error).fold(f64::INFINITY, f64::min);
    let numbers = format!(
        "of {tried} recipes these {} did best on held-out rows: together {}, the best of them alone {}",
        recipes.len(),
        shown(error),
        shown(best)
    );
    if error < best {
        return numbers;
    }
    format!(
        "{numbers}; the blend is taken because it is within one standard error of the best alone, and the least of {tried} errors \
         is partly luck"
    )
}
