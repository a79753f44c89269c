//! Parameters and diagnostics in words that a file can hold.

use crate::auto::{AutoFit, Trial};
use crate::auto_kernel::KernelChoice;
use crate::dataset::{Labels, Rows};
use crate::gmml::{Diagnostics, Fit, Gmml, PairRule, TChoice};
use crate::kernel::Kernel;
use crate::kernel_gmml::{KernelFit, KernelGmml};
use crate::learners::{Learned, Learner, Report};
use crate::metric::Metric;
use crate::model::Model;
use crate::recipe::{Recipe, Round};
use crate::regularize::{Prior, Regularization};
use crate::scatter::PairCount;
use crate::select::{Criterion, Selection};
use crate::subspace::Components;
use crate::weights::Balance;
use crate::wide::LearnedSpan;
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

impl Kernel {
    /// The kernel, for the model file.
    pub fn to_json(self) -> Value {
        match self {
            Self::Linear => json!({"kernel": "linear"}),
            Self::Rbf { gamma } => json!({"kernel": "rbf", "gamma": gamma}),
            Self::Polynomial { degree, gamma, coef0 } => {
                json!({"kernel": "polynomial", "degree": degree, "gamma": gamma, "coef0": coef0})
            }
            Self::Precomputed => json!({"kernel": "precomputed"}),
        }
    }

    /// The kernel that [`Kernel::to_json`] wrote.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| value[key].as_f64();
        Some(match value["kernel"].as_str()? {
            "linear" => Self::Linear,
            "rbf" => Self::Rbf { gamma: number("gamma")? },
            "polynomial" => Self::Polynomial {
                degree: u32::try_from(value["degree"].as_u64()?).ok()?,
                gamma: number("gamma")?,
                coef0: number("coef0")?,
            },
            "precomputed" => Self::Precomputed,
            _ => return None,
        })
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

    /// What was lost to rounding, if anything was: the metric says nothing reliable about directions of such eigenvalues.
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

    /// Why a ridge was added, if one was.
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

impl Fit {
    /// The model file's content for this fit; `references` are the training rows, not yet transformed.
    ///
    /// # Errors
    /// Rows that do not fit the metric.
    pub fn into_model(
        self,
        gmml: &Gmml,
        feature_names: Vec<String>,
        references: Option<(&Rows, &Labels)>,
        threshold: Option<f64>,
    ) -> crate::Result<Model> {
        let references = kept(&self.metric, references)?;
        let mut params = gmml.to_json();
        params["t_used"] = json!(self.t);
        Ok(Model {
            log_eigenvalues: self.diagnostics.log_eigenvalues.clone(),
            feature_names,
            references,
            threshold,
            params,
            diagnostics: self.diagnostics.to_json(),
            ..Model::new(self.metric)
        })
    }
}

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
                "towards_identity": recipe.towards_identity,
                "directions": recipe.directions, "t": recipe.t, "rounds": rounds(&recipe.rounds),
            })
        };
        json!({
            "recipes": self.recipes.iter().map(recipe).collect::<Vec<_>>(), "reason": self.reason,
            "error": self.error, "cost": self.cost, "rows": self.rows, "folds": self.folds,
            "trials": self.trials.iter().map(trial).collect::<Vec<_>>(),
        })
    }
}

impl Report {
    /// The report, for the model file and for machines to read.
    pub fn to_json(&self) -> Value {
        json!({
            "iterations": self.iterations, "objective": self.objective, "outcome": self.outcome.to_string(),
            "converged": self.outcome.is_final(), "choice": self.choice,
        })
    }
}

impl Learned {
    /// The model file's content; `references` are the training rows, not yet transformed.
    ///
    /// # Errors
    /// Rows that do not fit the metric.
    pub fn into_model(
        self,
        method: &dyn Learner,
        standardize: bool,
        feature_names: Vec<String>,
        references: Option<(&Rows, &Labels)>,
        threshold: Option<f64>,
    ) -> crate::Result<Model> {
        let kept = |(rows, labels): (&Rows, &Labels)| Ok((self.transform(rows)?, labels.clone()));
        let references = references.map(kept).transpose()?;
        let mut params = method.parameters();
        params["method"] = json!(method.name());
        // A recipe may say so too.
        params["standardize"] = json!(standardize || params["standardize"] == true);
        Ok(Model {
            feature_names,
            references,
            threshold,
            params,
            diagnostics: self.report.to_json(),
            kernel: self.kernel,
            ..Model::new(self.metric)
        })
    }
}

/// The training rows as a model keeps them: transformed.
fn kept(metric: &Metric, references: Option<(&Rows, &Labels)>) -> crate::Result<Option<(Rows, Labels)>> {
    references.map(|(rows, labels)| Ok((metric.transform(rows)?, labels.clone()))).transpose()
}
impl KernelFit {
    /// The model file's content for this fit: the metric inside the span it was learned in.
    pub fn into_model(self, gmml: &KernelGmml, feature_names: Vec<String>) -> Model {
        let mut params = gmml.gmml.to_json();
        params["t_used"] = json!(self.t);
        params["kernel"] = gmml.kernel.to_json();
        params["landmarks"] = json!(gmml.landmarks);
        let (kernel, metric) = self.metric.into_parts();
        Model {
            kernel: Some(kernel),
            log_eigenvalues: self.diagnostics.log_eigenvalues.clone(),
            feature_names,
            params,
            diagnostics: self.diagnostics.to_json(),
            ..Model::new(metric)
        }
    }
}
