"""scikit-learn's own checks, on every estimator and several of its settings."""

import warnings

from mahala import (
    GMML,
    AutoGMML,
    DMLMJ,
    ITML,
    KISSME,
    LDA,
    LDML,
    LEGO,
    LFDA,
    LMNN,
    LORETA,
    LSML,
    MCML,
    MLKR,
    MMC,
    MOML,
    NCA,
    NCMML,
    OASIS,
    POLA,
    RCA,
    SCML,
    SDML,
    XQDA,
    RecipeGMML,
    RobustGMML,
    Covariance,
    Euclidean,
    FlatGeo,
    GMMLPairs,
    GMMLRegression,
    KernelGMML,
    LocalGMML,
    MahalanobisKNN,
    MahalanobisKNNRegressor,
    MahalanobisNearestNeighbors,
    LocalSCML,
    MultiMetricLMNN,
    PairClassifier,
)
from mahala.embeddings import Adapter, Member
from mahala.online import OnlineGMML, OnlineLEGO, OnlineLORETA, OnlineMOML, OnlineOASIS, OnlinePOLA
from sklearn.utils.estimator_checks import parametrize_with_checks

# The only check that may fail for the closed form at a given t, and only where S is left singular. What it means to show
# is shown, on distances, by test_gmml.py::test_a_weight_of_two_is_the_row_twice.
SINGULAR = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "15 different rows of 30 features leave S and D singular: 16 coordinates are decided by rounding and the ridge alone, and "
    "the check compares coordinates; with reg or shrinkage it passes",
)

# Where held-out neighbours vote, a row votes once, whatever its weight, and a row that is there twice votes twice.
VOTING = dict.fromkeys(SINGULAR, "t is chosen by a vote of neighbours, and neighbours have no weights")

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
    GMML(t=0.5, shrinkage=0.1),
    GMML(t=0.5, class_weight="balanced"),
    LocalGMML(),
    LocalGMML(by="cluster", n_clusters=2, t=0.5, share=0.5),
    GMML(t=0.5, principal=2),
    KernelGMML(),
    KernelGMML(kernel="poly", t=0.3, reg=0.1, n_components=1),
    KernelGMML(kernel="linear", t=0.5, landmarks=6, standardize=True),
    KernelGMML(kernel="auto", budget=2.0),
    MahalanobisKNN(),
    MahalanobisKNN(metric=GMML(t=0.5)),
    MahalanobisKNN(weights="distance"),
    MahalanobisKNNRegressor(),
    MahalanobisKNNRegressor(weights="distance"),
    MahalanobisNearestNeighbors(),
    GMML(scoring="balanced_accuracy", cv=2),
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
    *[RCA(), LDA(), LFDA(), KISSME(), XQDA(), DMLMJ(), NCMML(), LDML(), SCML(max_iter=500), LSML(), SDML(), RobustGMML()],
    *[LEGO(), POLA(), OASIS(), LORETA(), MOML()],
    MLKR(),
    GMMLRegression(),
    GMMLRegression(t=0.5),
    MultiMetricLMNN(max_iter=10),
    LocalSCML(max_iter=300, n_bases=40),
    # Takes pairs: scikit-learn has only its checks of parameters and tags for input of three dimensions
    # and warns that it has no others; test_pairs.py goes through the rest by hand.
    GMMLPairs(),
    PairClassifier(ITML()),
    Adapter(),
    Adapter(metric="l2", member=Member("gmml", 0.1, t=0.3)),
    # Take pairs or triplets, like the two above.
    *[OnlineGMML(reg=0.1), OnlineLEGO(), OnlinePOLA(), OnlineOASIS(), OnlineLORETA(), OnlineMOML()],
]


# The landmarks, the gamma that suits the rows and the mean of their kernel values are those of the rows as they are: equal
# rows are more landmarks. Distances are compared by test_wide_and_kernel.py::test_weights_in_a_linear_kernel_are_weights_of_rows.
LANDMARKS = dict.fromkeys(SINGULAR, "coordinates in feature space depend on the landmarks, which have no weights")

# Refused with a ValueError that says so, as for GMML.
UNWEIGHTED = dict.fromkeys(
    [name for name in NO_SUMS if "sample_weight" in name] + ["check_all_zero_sample_weights_error", *SINGULAR],
    "kernel='auto' and standardize refuse sample_weight",
)


def expected(estimator):
    if isinstance(estimator, KernelGMML):
        refusing = estimator.kernel == "auto" or estimator.standardize
        return (CHOSEN if estimator.kernel == "auto" else {}) | (UNWEIGHTED if refusing else LANDMARKS)
    if not isinstance(estimator, GMML):
        return {}
    failing = NO_SUMS if estimator.pairs == "sampled" or estimator.principal else {}
    if estimator.t == "cv":
        return failing | VOTING
    return failing | SINGULAR if estimator.shrinkage is None and estimator.reg is None else failing


with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
    def test_check(estimator, check):
        check(estimator)
