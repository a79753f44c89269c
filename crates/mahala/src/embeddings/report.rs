//! What was tried, what was chosen and whether it is worth it.

use crate::embeddings::member::Member;
use crate::retrieval::PairedTest;
use serde_json::{Value, json};

/// A member's held-out measures: means over the queries of the folds it was measured on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// The closed form.
    pub member: Member,
    /// The criterion's mean.
    pub criterion: f64,
    /// The guard's mean.
    pub guard: f64,
    /// How many folds it was measured on.
    pub folds: usize,
}

/// What was tried, what was chosen and whether it is worth it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// What the choice is by.
    pub criterion: String,
    /// What the chosen member must not lose.
    pub guard: String,
    /// The closed form chosen.
    pub chosen: Member,
    /// The criterion of plain rows.
    pub before: f64,
    /// That of the best member.
    pub after: f64,
    /// On the same held-out queries, plain rows against the member that the *other* folds would choose, so that the choice
    /// among many does not flatter itself.
    pub gain: PairedTest,
    /// Whether the gain is beyond chance; rows are left as they are if not.
    pub worth_it: bool,
    /// In one sentence.
    pub reason: String,
    /// Everything measured.
    pub trials: Vec<Trial>,
    /// The held-out criterion of the chosen member reduced to fewer coordinates.
    pub sizes: Vec<(usize, f64)>,
}

impl Report {
    /// The report for a model file, or a program.
    pub fn to_json(&self) -> Value {
        let trial = |t: &Trial| json!({"member": t.member, "criterion": t.criterion, "guard": t.guard, "folds": t.folds});
        let gain = json!({
            "difference": self.gain.difference, "low": self.gain.low, "high": self.gain.high,
            "p_value": self.gain.p_value, "queries": self.gain.queries,
        });
        json!({
            "criterion": self.criterion, "guard": self.guard, "chosen": self.chosen, "before": self.before,
            "after": self.after, "gain": gain, "worth_it": self.worth_it, "reason": self.reason,
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(), "sizes": self.sizes,
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.reason)?;
        write!(f, "{:58} {:>10} {:>10}  folds", "member", self.criterion, self.guard)?;
        let mut trials = self.trials.clone();
        trials.sort_by(|a, b| b.folds.cmp(&a.folds).then(b.criterion.total_cmp(&a.criterion)));
        for t in trials {
            write!(f, "\n{:58} {:10.4} {:10.4}  {:5}", t.member.to_string(), t.criterion, t.guard, t.folds)?;
        }
        if !self.sizes.is_empty() {
            let sizes: Vec<String> =
                self.sizes.iter().map(|(size, value)| format!("{size}: {value:.4}")).collect();
            write!(f, "\ncoordinates: {}", sizes.join(", "))?;
        }
        Ok(())
    }
}
