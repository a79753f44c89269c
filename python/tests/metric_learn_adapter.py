"""GMML and GMMLPairs as learners of metric-learn 0.7, so that its own test-suite runs on them.

metric-learn's learners do not centre (`transform` is `X @ components_.T`) and take a `preprocessor` also
where rows are labelled. The adapter adds these two habits and its base classes; learning, distances,
decisions, thresholds and their calibration are ours, which come first in the order of bases.
"""

import numpy as np
from mahala import GMML, GMMLPairs, _mahala
from metric_learn._util import check_input
from metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from sklearn.utils.validation import check_is_fitted


class Habits:
    """What metric-learn does and we do not: no centring, its own words for wrong input."""

    def _keep(self, learned):
        super()._keep(learned)
        self.components_ = _mahala.linear_map(self._state())
        self.mean_, self.scale_ = np.zeros(self.components_.shape[1]), None

    def _checked(self, X, y=None, kind="classic", **options):
        self._check_preprocessor()
        size = 2 if kind == "tuples" else None
        return check_input(X, y, preprocessor=self.preprocessor_, type_of_inputs=kind, estimator=self,
                           tuple_size=size, **options)  # fmt: skip

    def transform(self, X):
        check_is_fitted(self, "components_")
        return super().transform(self._checked(X, accept_sparse=False))

    def pair_distance(self, pairs):
        check_is_fitted(self, "components_")
        return super().pair_distance(self._checked(pairs, kind="tuples"))

    def score_pairs(self, pairs):
        return MahalanobisMixin.score_pairs(self, pairs)


class GMML_Supervised(Habits, GMML, MahalanobisMixin):
    def __init__(self, t="auto", reg=None, shrinkage=None, prior="identity", pairs="all", n_components=None,
                 standardize=False, k=5, folds=5, selection_rows=20_000, preprocessor=None,
                 random_state=None, n_jobs=None):  # fmt: skip
        GMML.__init__(self, t=t, reg=reg, shrinkage=shrinkage, prior=prior, pairs=pairs,
                      n_components=n_components, standardize=standardize, k=k, folds=folds,
                      selection_rows=selection_rows, random_state=random_state, n_jobs=n_jobs)  # fmt: skip
        self.preprocessor = preprocessor

    def fit(self, X, y=None):
        X, y = (X, None) if y is None else self._checked(X, y, ensure_min_samples=2)
        return super().fit(X, y)


class GMML_(Habits, GMMLPairs, MahalanobisMixin, _PairsClassifierMixin):
    def __init__(self, t="auto", reg=None, shrinkage=None, prior="identity", n_components=None,
                 standardize=False, folds=5, selection_rows=20_000, preprocessor=None, random_state=None,
                 n_jobs=None):  # fmt: skip
        GMMLPairs.__init__(self, t=t, reg=reg, shrinkage=shrinkage, prior=prior, n_components=n_components,
                           standardize=standardize, folds=folds, selection_rows=selection_rows,
                           preprocessor=preprocessor, random_state=random_state, n_jobs=n_jobs)  # fmt: skip

    def fit(self, pairs, y, calibration_params=None):
        if calibration_params is not None:
            self._validate_calibration_params(**calibration_params)
        pairs, y = self._checked(pairs, y, kind="tuples")
        return super().fit(pairs, y, calibration_params=calibration_params)

    def calibrate_threshold(self, pairs_valid, y_valid, strategy="accuracy", min_rate=None, beta=1.0):
        check_is_fitted(self, "components_")
        self._validate_calibration_params(strategy, min_rate, beta)
        pairs_valid, y_valid = self._checked(pairs_valid, y_valid, kind="tuples")
        return super().calibrate_threshold(pairs_valid, y_valid, strategy, min_rate, beta)
