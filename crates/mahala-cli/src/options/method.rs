//! The methods, and how those that iterate are steered, as it is typed.

use crate::options::parse::at_least;
use anyhow::Result;
use clap::{Args, ValueEnum};
use mahala::auto::{Criterion, FoldsOver};
use mahala::retrieval::Similarity;
use mahala_baselines::named;
use serde_json::{Value, json};
use std::str::FromStr;

/// A method of `fit` and `evaluate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// No learning: the plain distance
    Euclidean,
    /// The inverse covariance, without labels
    Covariance,
    /// Geometric mean metric learning, t chosen
    Gmml,
    /// GMML with everything chosen: standardisation, shrinkage, directions, rounds, t
    Auto,
    /// All that auto chooses, and RBF kernels: the distance may be nonlinear
    AutoKernel,
    /// One recipe of those that auto tries, given: --set t=0.3 --set 'rounds=[[3,0.2]]' --set directions=25
    Recipe,
    /// Information-theoretic metric learning
    Itml,
    /// Large margin nearest neighbours
    Lmnn,
    /// Neighbourhood components analysis
    Nca,
    /// Maximally collapsing metric learning
    Mcml,
    /// Metric learning for clustering
    Mmc,
    /// Regression on fixed-rank matrices, flat geometry
    Flatgeo,
    /// Relevant component analysis: the inverse covariance within classes
    Rca,
    /// Linear discriminant analysis
    Lda,
    /// Local Fisher discriminant analysis
    Lfda,
    /// Keep it simple and straightforward: the difference of two inverse covariances
    Kissme,
    /// Cross-view quadratic discriminant analysis: kissme in a discriminant subspace
    Xqda,
    /// Distance metric learning by the Jeffrey divergence
    Dmlmj,
    /// Nearest class mean metric learning
    Ncmml,
    /// Logistic discriminant metric learning
    Ldml,
    /// Sparse compositional metric learning
    Scml,
    /// Least squared-residual metric learning
    Lsml,
    /// Sparse distance metric learning by the graphical lasso
    Sdml,
    /// gmml of Tyler's estimators, for labels of which some are wrong
    RobustGmml,
    /// LogDet exact gradient online
    Lego,
    /// Pseudo-metric online learning algorithm
    Pola,
    /// Online algorithm for scalable image similarity
    Oasis,
    /// Online learning on the manifold of low-rank matrices
    Loreta,
    /// Mahalanobis-based online metric learning
    Moml,
    /// gmml of rows that are as similar as their targets are near; with --regression
    GmmlRegression,
    /// Metric learning for kernel regression; with --regression
    Mlkr,
}

/// How a method that iterates is steered.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Set a parameter of the method, such as gamma=0.1
    ///
    /// May be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// Stop after this many iterations
    #[arg(long, value_name = "N", value_parser = at_least(1), hide_short_help = true)]
    pub max_iterations: Option<usize>,
    /// Stop a fit after this time, with the best metric so far
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds, hide_short_help = true)]
    pub time_limit: Option<f64>,
    /// At Ctrl-C stop with the best metric so far, and write it; a second Ctrl-C ends the command
    #[arg(long, hide_short_help = true)]
    pub keep_best: bool,
    /// What the automatic mode chooses by: knn-error, balanced-error, r@1, recall@5, map@r, mrr, ndcg@10, roc-auc or eer
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub criterion: Option<Criterion>,
    /// How the automatic mode compares rows: by the distance, or by the cosine of what the metric maps them to
    #[arg(long, value_name = "l2|cosine", value_parser = similarity, hide_short_help = true)]
    pub similarity: Option<Similarity>,
    /// What the automatic mode holds out together; classes: for classes that are not known yet
    #[arg(long, value_name = "rows|groups|classes", value_parser = folds_over, hide_short_help = true)]
    pub folds_over: Option<FoldsOver>,
}

impl MethodArgs {
    /// These options with one more parameter set.
    pub(crate) fn with(&self, key: &str, value: Value) -> Self {
        let mut steering = self.clone();
        steering.set.push(Setting { key: key.to_owned(), value });
        steering
    }

    /// Whether a parameter is set to this.
    pub(crate) fn sets(&self, key: &str, value: &Value) -> bool {
        self.set.iter().any(|setting| setting.key == key && setting.value == *value)
    }
}

/// `key=value`; the value is a number, true or false, null, or else text.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub key: String,
    pub value: Value,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Covariance => "covariance",
            Self::Gmml => "gmml",
            Self::Auto => "auto",
            Self::AutoKernel => "auto-kernel",
            Self::Recipe => "recipe",
            Self::Itml => "itml",
            Self::Lmnn => "lmnn",
            Self::Nca => "nca",
            Self::Mcml => "mcml",
            Self::Mmc => "mmc",
            Self::Flatgeo => "flatgeo",
            Self::Rca => "rca",
            Self::Lda => "lda",
            Self::Lfda => "lfda",
            Self::Kissme => "kissme",
            Self::Xqda => "xqda",
            Self::Dmlmj => "dmlmj",
            Self::Ncmml => "ncmml",
            Self::Ldml => "ldml",
            Self::Scml => "scml",
            Self::Lsml => "lsml",
            Self::Sdml => "sdml",
            Self::RobustGmml => "robust-gmml",
            Self::Lego => "lego",
            Self::Pola => "pola",
            Self::Oasis => "oasis",
            Self::Loreta => "loreta",
            Self::Moml => "moml",
            Self::GmmlRegression => "gmml-regression",
            Self::Mlkr => "mlkr",
        }
    }

    /// Whether there is nothing that could be stopped half-way.
    pub(crate) fn is_closed_form(self) -> bool {
        matches!(
            self,
            Self::Euclidean
                | Self::Covariance
                | Self::Gmml
                | Self::Recipe
                | Self::Rca
                | Self::Lda
                | Self::Lfda
                | Self::Kissme
                | Self::Xqda
                | Self::Dmlmj
        )
    }

    /// Whether it learns from labels that are numbers.
    pub(crate) fn is_regression(self) -> bool {
        matches!(self, Self::GmmlRegression | Self::Mlkr)
    }

    /// Whether it is the automatic mode.
    pub(crate) fn chooses(self) -> bool {
        matches!(self, Self::Auto | Self::AutoKernel)
    }

    /// Whether it has parameters that are set with --set.
    pub(crate) fn has_parameters(self) -> bool {
        self.keys().is_ok_and(|keys| !keys.is_empty())
    }

    /// The names of its parameters.
    pub(crate) fn keys(self) -> Result<Vec<String>> {
        if self == Self::Gmml {
            return Ok(Vec::new());
        }
        let parameters = named(self.name(), json!({}))?.parameters();
        Ok(parameters.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default())
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((key, value)) = text.split_once('=') else {
            return Err("it must be KEY=VALUE, such as gamma=0.1".into());
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        Ok(Self { key: key.trim().to_owned(), value })
    }
}

fn similarity(text: &str) -> Result<Similarity, String> {
    match text.parse() {
        Ok(found @ (Similarity::L2 | Similarity::Cosine)) => Ok(found),
        _ => Err("it must be l2 or cosine".into()),
    }
}

fn folds_over(text: &str) -> Result<FoldsOver, String> {
    match text {
        "rows" => Ok(FoldsOver::Rows),
        "groups" => Ok(FoldsOver::Groups),
        "classes" => Ok(FoldsOver::Classes),
        _ => Err("it must be rows, groups or classes".into()),
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e9 => Ok(seconds),
        _ => Err("it must be a number of seconds above 0".into()),
    }
}

/// What the methods call their limit of iterations.
pub(crate) const LIMITS: [&str; 3] = ["max_iterations", "max_projections", "passes"];
