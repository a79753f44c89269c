//! Parameters and diagnostics as JSON, for the model file.

use crate::gmml::low_rank::LearnedSpan;
use crate::gmml::pencil::Components;
use crate::gmml::regularize::{Prior, Regularization};
use crate::gmml::select_t::{Criterion, Selection};
use crate::gmml::{Diagnostics, Gmml, PairRule, TChoice};
use crate::scatter::PairCount;
use crate::scatter::balanced::Balance;
use serde_json::{Value, json};

impl Gmml {
    /// The parameters, for the model file.
    pub fn to_json(&self) -> Value {
        let t = match self.t {
            TChoice::CrossValidated => json!("auto"),
            TChoice::Fixed(t) => json!(t),
        };
        let (lambda, shrinkage, target) = match self.regularization {
            Regularization::None => (0.0, json!(0.0), "diagonal"),
            Regularization::Lambda(lambda) => (lambda, json!(0.0), "diagonal"),
            Regularization::Shrinkage(rho) => (0.0, json!(rho), "diagonal"),
            Regularization::ShrinkSimilar(rho) => (0.0, json!(rho), "similar"),
            Regularization::ShrinkSimilarToIdentity(rho) => (0.0, json!(rho), "similar-identity"),
            Regularization::ShrinkToIdentity(rho) => (0.0, json!(rho), "identity"),
            Regularization::Analytic => (0.0, json!("analytic"), "similar"),
        };
        let prior = match self.prior {
            Prior::Identity => "identity",
            Prior::Diagonal => "diagonal",
            Prior::Covariance => "covariance",
            Prior::Matrix(_) => "matrix",
        };
        let pairs = match self.pairs {
            PairRule::All => "all",
            PairRule::Sampled => "sampled",
        };
        let rank = self.rank.map(|rank| match rank {
            Components::Count(r) => json!(r),
            Components::Share(share) => json!(share),
        });
        let balance = match self.balance {
            Balance::None => "none",
            Balance::Classes => "classes",
            Balance::ClassPairs => "class-pairs",
        };
        let mut parameters = json!({
            "method": "gmml", "t": t, "lambda": lambda, "shrinkage": shrinkage,
            "shrinkage_target": target, "prior": prior, "pairs": pairs,
            "standardize": self.standardize, "rank": rank, "principal": self.principal, "k": self.k,
            "folds": self.folds, "selection_rows": self.selection_rows, "seed": self.seed, "balance": balance,
        });
        if let Some(splits) = &self.splits {
            parameters["folds"] = json!(splits.len());
            parameters["splits"] = json!("given");
        }
        parameters
    }
}

impl Diagnostics {
    /// The diagnostics, for the model file and for machines to read.
    pub fn to_json(&self) -> Value {
        let count = |pairs: PairCount| json!({"pairs": pairs.pairs, "weight": pairs.weight});
        json!({
            "similar": count(self.similar),
            "dissimilar": count(self.dissimilar),
            "condition_s": self.condition_s,
            "condition_d": self.condition_d,
            "ridge": self.ridge,
            "ridge_reason": self.ridge_reason(),
            "constant_columns": self.constant_columns,
            "clamped_eigenvalues": self.clamped,
            "log_eigenvalues": self.log_eigenvalues,
            "span": self.span.as_ref().map(LearnedSpan::to_json),
            "selection": self.selection.as_ref().map(Selection::to_json),
        })
    }

    /// The warning about eigenvalues lost to rounding, if any were: the metric is not reliable in their
    /// directions.
    pub fn rounding_reason(&self) -> Option<String> {
        (self.clamped > 0).then(|| {
            format!(
                "{} of {} eigenvalues of SD are at or below rounding and stand at its size: the weights of their directions are \
                 not reliable (leave out columns that follow from others, or use shrinkage; for units far apart, standardise)",
                self.clamped,
                self.log_eigenvalues.len()
            )
        })
    }

    /// The warning about a ridge, if one was added.
    pub fn ridge_reason(&self) -> Option<String> {
        (self.ridge > 0.0).then(|| {
            format!(
                "S was singular or nearly so; {:.0e} of each column's variance was added to its diagonal \
                 (more rows, shrinkage or lambda would make it regular)",
                self.ridge
            )
        })
    }
}

impl LearnedSpan {
    fn to_json(&self) -> Value {
        json!({"directions": self.directions, "randomized": self.randomized, "outside": self.outside})
    }
}

impl Selection {
    fn to_json(&self) -> Value {
        let criterion = match self.criterion {
            Criterion::KnnError => "error of k nearest neighbours",
            Criterion::BalancedKnnError => "error of k nearest neighbours, each class counted the same",
            Criterion::PairRanking => "1 - area under the ROC curve of held-out pairs",
        };
        json!({
            "t": self.t, "criterion": criterion, "folds": self.folds, "rows": self.rows,
            "curve": self.curve.iter().map(|&(t, error)| json!([t, error])).collect::<Vec<_>>(),
        })
    }
}
