//! placeholder
mod dataset;
mod describe;
mod error;
mod geodesic;
mod gmml;
mod gram;
mod knn;
mod metric;
mod model;
mod moments;
mod moments_bytes;
mod objective;
mod pairs;
mod random;
mod regularize;
mod scatter;
mod select;
mod solution;
mod spd;
mod standardize;
mod verify;

pub use dataset::{Dataset, Labels, Rows};
pub use error::{Error, Result};
pub use faer::{Mat, MatRef};
pub use geodesic::{
    Geodesic, geometric_mean, logdet_divergence, riemannian_distance, symmetrized_logdet_divergence,
};
pub use gmml::{Diagnostics, Fit, Gmml, PairRule, TChoice};
pub use knn::{Knn, Neighbors};
pub use metric::Metric;
pub use model::Model;
pub use moments::{ClassMoments, Moments};
pub use objective::{gradient_of_h, h, h_t, regularized_objective};
pub use pairs::{Pair, Pairs, pair_budget};
pub use random::Random;
pub use regularize::{Prior, Regularization};
pub use scatter::{PairCount, Scatter};
pub use select::{
    Criterion, CrossValidation, Folds, Selection, VALUES_OF_T, Watch, two_step_search, wrong_votes,
};
pub use solution::Solution;
pub use spd::Spd;
pub use standardize::ColumnStatistics;
pub use verify::{area_under_curve, best_threshold, squared_pair_distances, threshold_for_labels};
