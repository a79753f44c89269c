//! The extension module `mahala._mahala`: arrays in, the library's answers out. No mathematics here.
//!
//! The estimators in `python/mahala` check their input with scikit-learn, call these functions, and keep what
//! comes back in NumPy attributes.

mod array;
mod embeddings;
mod explore;
mod fit;
mod generate;
mod kernel;
mod learn;
mod local_scml;
mod metric;
mod model;
mod moments;
mod neighbors;
mod online;
mod params;
mod plda;
mod retrieval;
mod run;
mod several;
mod spd;
mod watch;

use pyo3::prelude::*;

#[pymodule]
mod _mahala {
    #[pymodule_export]
    use super::array::canonical_labels;
    #[pymodule_export]
    use super::embeddings::{Adaptation, adapt_clicks, adapt_labels, adapt_pairs, adapt_triplets};
    #[pymodule_export]
    use super::explore::explore;
    #[pymodule_export]
    use super::fit::{
        calibrate, fit_label_sets, fit_labels, fit_local, fit_moments, fit_pairs, fit_sparse, probabilities,
        search_t, selection_splits,
    };
    #[pymodule_export]
    use super::generate::{generate_chunks, generate_pairs, generate_quadruplets, generate_triplets};
    #[pymodule_export]
    use super::kernel::{fit_kernel, gamma_for, transform_kernel};
    #[pymodule_export]
    use super::learn::{learn, learn_chunks, learn_pairs, learn_targets, learn_tuples};
    #[pymodule_export]
    use super::local_scml::{classify_local_scml, learn_local_scml, local_scml_weights};
    #[pymodule_export]
    use super::metric::{
        PreparedMetric, components_of, label_threshold, linear_map, matrix, onnx, pair_distances, transform,
        whole_map, write_file,
    };
    #[pymodule_export]
    use super::model::{load_model, save_kernel_model, save_model};
    #[pymodule_export]
    use super::moments::{Moments, Window};
    #[pymodule_export]
    use super::neighbors::{NeighborIndex, classify_locally, inverse_distances, neighbor_means, vote};
    #[pymodule_export]
    use super::online::Online;
    #[pymodule_export]
    use super::plda::{fit_plda, score_plda};
    #[pymodule_export]
    use super::retrieval::{
        bootstrap_interval, measures_by_judgements, measures_by_labels, nearest, paired_test, verification,
    };
    #[pymodule_export]
    use super::run::{limit_threads, thread_count};
    #[pymodule_export]
    use super::several::{fit_multi_task, learn_multi_metric, save_local_model};
    #[pymodule_export]
    use super::spd::{geometric_mean, logdet_divergence, riemannian_distance, symmetrized_logdet_divergence};
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
