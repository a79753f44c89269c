//! Retrieval measured: rankings of a gallery, measures of each query, intervals and tests over queries, verification of pairs.
//!
//! ```
//! use mahala::data::Embeddings;
//! use mahala::retrieval::{Measure, Similarity, by_labels};
//! let gallery = Embeddings::single(vec![1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9], 2)?;
//! let measures = [Measure::RecallAt(1), Measure::MapAtR];
//! // Each row is a query among the others.
//! let scores = by_labels(&gallery, &[0, 0, 1, 1], None, &measures, Similarity::Cosine)?;
//! assert_eq!((scores.mean(0), scores.mean(1)), (1.0, 1.0));
//! # Ok::<(), mahala::Error>(())
//! ```

mod bootstrap;
mod measure;
mod ranking;
mod search;
mod verification;

pub use bootstrap::{Interval, PairedTest, Resampling, bootstrap_interval, paired_test};
pub(crate) use measure::Ranked;
pub use measure::{Measure, Scores};
pub use ranking::{Judgement, by_judgements, by_labels};
pub use search::{Nearest, Similarity, nearest};
pub use verification::{Verification, verification};

pub(crate) use measure::mean_known;
pub(crate) use ranking::grouped;
pub(crate) use search::scan;
