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
//! | [`Rows`], [`SparseRows`](data::SparseRows), [`Labels`], [`Dataset`] | | finite rows, class labels: the only way in for data |
//! | [`Pairs`](pairs::Pairs) | 𝒮, 𝒟 | pairs given, all, or sampled `40c(c−1)` |
//! | [`Moments`](scatter::Moments), [`Window`](scatter::Window) | | per class count, mean, scatter: update, merge, subtract, forget |
//! | [`ClassMeans`](scatter::ClassMeans), [`Summed`](scatter::Summed) | | two passes, for too many classes to keep moments; sums of rows that are not kept |
//! | [`Scatter`](scatter::Scatter) | eq. 7 | `S` and `D`, from pairs or moments |
//! | [`Spd`](geometry::Spd) | | a positive definite matrix, by construction |
//! | [`Geodesic`](geometry::Geodesic) | `♯_t`, `δ_R` | the path, factorised once, any t |
//! | [`Gmml`] | Algorithm 1 | parameters → [`Fit`]: metric and diagnostics |
//! | [`h`](geometry::h), [`gradient_of_h`](geometry::gradient_of_h), [`regularized_objective`](geometry::regularized_objective), [`h_t`](geometry::h_t) | eqs. 8, 12, 13, 17 | what is minimised |
//! | [`KernelGmml`](kernel::KernelGmml) | | the same in the feature space of a kernel |
//! | [`Metric`] | `d_A` | `L` with `A = LᵀL`: distance, transform, rank |
//! | [`Knn`] | | exact nearest neighbours and their vote |
//! | [`CrossValidation`](gmml::CrossValidation) | Sec. 3.1 | folds, errors over t, the two-step choice |
//! | [`Balance`](scatter::Balance), [`Calibration`](metric::Calibration), [`Pairs::graded`](pairs::Pairs::graded), [`LocalGmml`](local::LocalGmml) | | beyond the paper |
//! | [`embeddings`] | | embeddings adapted in closed form, for any vector store |
//! | [`retrieval`] | | measures of a ranking, with intervals and a paired test |
//! | [`learner`] | Sec. 4 | the trait of every method; those the paper compares with are in `mahala-baselines` |
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
//! value seen, the value allowed and the remedy. A fit whose estimated memory exceeds [`memory_limit_gb`](footprint::memory_limit_gb) is refused
//! before it allocates.
#![forbid(unsafe_code)]

pub mod auto;
pub mod data;
pub mod embeddings;
pub mod error;
pub mod evaluation;
pub mod footprint;
pub mod geometry;
pub mod gmml;
pub mod kernel;
pub mod learner;
pub mod local;
pub mod metric;
#[cfg(feature = "model")]
pub mod model;
pub mod neighbors;
pub mod pairs;
pub mod progress;
pub mod retrieval;
pub mod scatter;

pub use auto::{Auto, AutoFit};
pub use data::{Dataset, Labels, Rows};
pub use error::{Error, Result};
pub use faer::{Mat, MatRef};
pub use gmml::{Fit, Gmml};
pub use metric::Metric;
#[cfg(feature = "model")]
pub use model::Model;
pub use neighbors::Knn;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
