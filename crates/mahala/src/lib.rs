//! Metric learning in closed form.
//!
//! Given rows with labels, or pairs marked similar and dissimilar, learn a Mahalanobis distance
//! `d_A(x, y) = (x − y)ᵀA(x − y)` under which nearest neighbours are right. Geometric mean metric learning
//! (GMML; Zadeh, Hosseini, Sra, ICML 2016) has the solution in closed form, a weighted geometric mean of
//! positive definite matrices:
//!
//! ```text
//! A = (S + λA₀⁻¹)⁻¹ ♯_t (D + λA₀)
//! ```
//!
//! with `S` the scatter of similar pairs, `D` that of dissimilar pairs, `A₀` a prior, and t the place on the
//! geodesic from `S⁻¹` (t = 0: shrink what similar pairs differ in) to `D` (t = 1: stretch what dissimilar
//! pairs differ in).
//!
//! # The pipeline: one type per arrow
//!
//! ```text
//! rows, labels ─▶ Dataset ─▶ Pairs, Moments ─▶ Scatter{S,D} ─▶ Geodesic ──at(t)──▶ Metric{L} ─▶ Knn
//!                                                    └──────── Gmml: all of it, and the choice of t
//! ```
//!
//! | type | paper | what it is |
//! |---|---|---|
//! | [`Rows`], [`SparseRows`], [`Labels`], [`Dataset`] | | finite rows, class labels: the only door for data |
//! | [`Pairs`] | 𝒮, 𝒟 | pairs given, all, or sampled `40c(c−1)` |
//! | [`Moments`], [`Window`] | | per class count, mean, scatter: update, merge, subtract, forget |
//! | [`ClassMeans`], [`Summed`] | | too many classes for that: two passes; rows no longer at hand |
//! | [`Scatter`] | eq. 7 | `S` and `D`, from pairs or moments |
//! | [`Spd`] | | a positive definite matrix, by construction |
//! | [`Geodesic`] | `♯_t`, `δ_R` | the path, factorised once, any t |
//! | [`Gmml`] | Algorithm 1 | parameters → [`Fit`]: metric and diagnostics |
//! | [`h`], [`gradient_of_h`], [`regularized_objective`], [`h_t`] | eqs. 8, 12, 13, 17 | what is minimised |
//! | [`KernelGmml`] | | the same in the feature space of a kernel |
//! | [`Metric`] | `d_A` | `L` with `A = LᵀL`: distance, transform, rank |
//! | [`Knn`] | | exact nearest neighbours and their vote |
//! | [`CrossValidation`] | Sec. 3.1 | folds, errors over t, the two-step choice |
//! | [`Balance`], [`Calibration`], [`Pairs::graded`], [`LocalGmml`] | | beyond the paper |
//! | [`learners`] | Sec. 4 | the methods the paper compares with, behind one trait |
//! | [`Model`] | | the model file |
//!
//! # Example
//!
//! ```
//! use mahala::{Dataset, Gmml, Knn, Labels, Rows};
//!
//! // Two classes that differ in the second column; the first is noise.
//! let rows = Rows::new(vec![0.0, 0.0, 9.0, 0.1, 4.0, 0.2, 8.0, 1.0, 1.0, 1.1, 5.0, 1.2], 2)?;
//! let data = Dataset::new(rows, Labels::new(["a", "a", "a", "b", "b", "b"]))?;
//!
//! let fit = Gmml { k: 1, ..Gmml::default() }.fit(&data)?;
//! let knn = Knn::new(fit.metric.transform(data.rows())?)?;
//! let query = fit.metric.transform(&Rows::new(vec![9.0, 1.05], 2)?)?;
//! assert_eq!(knn.search(&query, 1)?.vote(data.labels()), [1]); // "b"
//! # Ok::<(), mahala::Error>(())
//! ```
//!
//! # What holds everywhere
//!
//! Nothing is printed, no clock, environment or global generator is read: randomness is a seed. The same
//! input and seed give the same bits, whatever the number of threads. Every error names what was wrong, the
//! value seen, the value allowed and the remedy. A fit whose estimated memory exceeds [`memory_limit_gb`] is refused
//! before it allocates.

mod across_groups;
mod all_pairs;
mod auto;
mod auto_budget;
mod auto_folds;
mod auto_kernel;
mod auto_search;
mod blend;
mod calibrate;
mod canonical;
mod centred;
mod class_means;
mod columns;
mod dataset;
mod dependent;
mod describe;
mod distance;
mod error;
mod features;
mod file;
mod folds;
mod footprint;
mod fused;
mod geodesic;
mod gmml;
mod graded;
mod gram;
mod ground;
mod jacobi;
mod kernel;
mod kernel_gmml;
mod kmeans;
mod knn;
mod knn_candidates;
mod knn_kernel;
mod knn_panels;
pub mod learners;
mod linalg;
mod local;
mod memory;
mod metric;
mod model;
mod moments;
mod moments_bytes;
mod narrow;
mod neighborhood;
mod neighbors;
mod null_directions;
mod objective;
mod onnx;
mod outside;
mod pairs;
mod random;
mod recipe;
mod reduction;
mod regularize;
mod relative;
mod scatter;
mod secular;
mod select;
mod simd;
mod small;
mod solution;
mod span;
mod sparse;
mod spd;
mod standardize;
mod strips;
mod subspace;
mod summed;
mod tensor;
mod tiles;
mod training_means;
mod tree;
mod tridiagonal;
mod units;
mod verify;
mod weights;
mod wide;
mod window;

pub use auto::{Auto, AutoFit, Trial};
pub use auto_kernel::KernelChoice;
pub use calibrate::{Calibration, HeldOut};
pub use canonical::{canonical_label, same_label};
pub use class_means::{ClassMeans, PairSums};
pub use dataset::{Dataset, Labels, Rows};
pub use error::{Error, MemoryRemedy, Result};
pub use faer::{Mat, MatRef};
pub use file::write_file;
pub use folds::Folds;
pub use footprint::{Shape, memory_limit_gb, set_memory_limit_gb};
pub use geodesic::{
    Geodesic, geometric_mean, logdet_divergence, riemannian_distance, symmetrized_logdet_divergence,
};
pub use gmml::{Diagnostics, Fit, Gmml, PairRule, TChoice};
pub use kernel::{Kernel, KernelMap};
pub use kernel_gmml::{KernelFit, KernelGmml, KernelMetric};
pub use knn::Knn;
pub use local::{LocalGmml, LocalMaps, LocalMetrics, Locality, SHARES, Share};
pub use metric::Metric;
pub use model::Model;
pub use moments::{ClassMoments, Moments};
pub use neighbors::Neighbors;
pub use objective::{gradient_of_h, h, h_t, regularized_objective};
pub use onnx::{Precision, onnx_model};
pub use pairs::{Pair, Pairs, pair_budget};
pub use random::{Random, Stream};
pub use recipe::{Recipe, Round};
pub use regularize::{Prior, Regularization, analytic_shrinkage};
pub use scatter::{PairCount, Scatter};
pub use select::{Criterion, CrossValidation, Selection, VALUES_OF_T, Watch, two_step_search, wrong_votes};
pub use solution::Solution;
pub use sparse::SparseRows;
pub use spd::Spd;
pub use standardize::ColumnStatistics;
pub use subspace::{Components, Subspace};
pub use summed::Summed;
pub use verify::{
    area_under_curve, best_threshold, squared_pair_distances, threshold_for_labels, threshold_in_coordinates,
};
pub use weights::Balance;
pub use wide::LearnedSpan;
pub use window::Window;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
