"""scikit-learn's own checks, on every estimator and several of its settings."""

import warnings

from mahala import (
    GMML,
    AutoGMML,
    ITML,
    LMNN,
    MCML,
    MMC,
    NCA,
    RecipeGMML,
    Covariance,
    Euclidean,
    FlatGeo,
    GMMLPairs,
    KernelGMML,
    LocalGMML,
    MahalanobisKNN,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

# The only check that may fail, and why. What it means to show is shown, on distances, by
# test_gmml.py::test_a_weight_of_two_is_the_row_twice.
SINGULAR = {
    "check_sample_weight_equivalence_on_dense_data": (
        "15 rows of 30 features leave S singular: the 18 coordinates that only the ridge determines are "
        "unique up to rotation, and the check compares coordinates. With t='auto', repeated rows also fall "
        "into other folds, as in scikit-learn's own estimators with built-in cross-validation"
    ),
    "check_sample_weight_equivalence_on_sparse_data": (
        "as above; and rows without weights are learned on inside their span, in 14 coordinates, rows with "
        "weights in all 30"
    ),
}

# Sampled pairs are drawn, not summed, and principal directions are those of all rows: there are no weights of
# rows and no sums to add to, and both are refused with a ValueError that says so.
NO_SUMS = dict.fromkeys(
    [
        "check_fit_score_takes_y",
        "check_n_features_in_after_fitting",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
    ],
    "pairs='sampled' and principal refuse sample_weight and partial_fit",
)

# scikit-learn sets n_components=1 where there is such a parameter; kernel="auto" chooses the coordinates, and refuses
# it with a ValueError that says so.
CHOSEN = dict.fromkeys(
    [
        "check_dont_overwrite_parameters",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
    ],
    "kernel='auto' refuses n_components",
)

ESTIMATORS = [
    GMML(),
    AutoGMML(budget=2.0),
    AutoGMML(reduce=True, budget=2.0),
    GMML(t=0.5),
    GMML(t=0.3, shrinkage=0.1, n_components=1),
    GMML(standardize=True, pairs="sampled"),
    GMML(t=0.5, reg=0.1, n_jobs=2),
    GMML(t=0.5, balance="classes"),
    LocalGMML(),
    LocalGMML(by="cluster", n_clusters=2, t=0.5, share=0.5),
    GMML(t=0.5, principal=2),
    KernelGMML(),
    KernelGMML(kernel="poly", t=0.3, reg=0.1, n_components=1),
    KernelGMML(kernel="linear", t=0.5, landmarks=6, standardize=True),
    KernelGMML(kernel="auto", budget=2.0),
    MahalanobisKNN(),
    MahalanobisKNN(metric=GMML(t=0.5)),
    Euclidean(),
    Euclidean(standardize=True),
    Covariance(),
    ITML(),
    LMNN(),
    NCA(),
    RecipeGMML(rounds=[(3, 0.5)]),
    MCML(),
    MMC(),
    MMC(diagonal=True),
    FlatGeo(max_iter=1000),
    # Takes pairs: scikit-learn has only its checks of parameters and tags for input of three dimensions
    # and warns that it has no others; test_pairs.py goes through the rest by hand.
    GMMLPairs(),
]


def expected(estimator):
    if isinstance(estimator, KernelGMML) and estimator.kernel == "auto":
        return CHOSEN
    if not isinstance(estimator, GMML) or estimator.shrinkage is not None:
        return {}
    return SINGULAR | NO_SUMS if estimator.pairs == "sampled" or estimator.principal else SINGULAR


with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
    def test_check(estimator, check):
        check(estimator)
