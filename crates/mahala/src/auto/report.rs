//! What the automatic mode tried and chose, as JSON.

use crate::auto::kernels::KernelChoice;
use crate::auto::recipe::{Recipe, Round};
use crate::auto::{AutoFit, Trial};
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
            json!({"recipe": recipe, "error": trial.error, "smoothed": trial.smoothed})
        };
        let chosen = self.kernel.as_ref().map(|kernel| kernel.0);
        let rounds = |rounds: &[Round]| -> Vec<Value> {
            rounds.iter().map(|round| json!({"neighbors": round.neighbors, "t": round.t})).collect()
        };
        let recipe = |recipe: &Recipe| {
            json!({
                "recipe": in_words(chosen, recipe), "standardize": recipe.standardize, "shrinkage": recipe.shrinkage,
                "towards_identity": recipe.towards_identity, "pooled": recipe.pooled, "beta": recipe.beta,
                "directions": recipe.directions, "order": recipe.order, "curve": recipe.curve,
                "t": recipe.t, "rounds": rounds(&recipe.rounds),
            })
        };
        json!({
            "recipes": self.recipes.iter().map(recipe).collect::<Vec<_>>(), "reason": self.reason,
            "error": self.error, "cost": self.cost, "rows": self.rows, "folds": self.folds,
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
        })
    }
}
