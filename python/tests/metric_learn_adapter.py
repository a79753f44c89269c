"""GMML and GMMLPairs as learners of metric-learn 0.7, so that its own test-suite runs on them.

metric-learn does not centre (`transform` is `X @ components_.T`) and has a `preprocessor` for labelled rows
too. The adapter adds these habits; learning, distances, decisions, thresholds and calibration are ours.
"""

import contextlib
import warnings

import numpy as np
from mahala import GMML, GMMLPairs, MahalanobisDistance, _mahala
from mahala._pairs import check_calibration
from metric_learn._util import _check_n_components, check_input, check_y_valid_values_for_pairs
from metric_learn.base_metric import MahalanobisMixin, _PairsClassifierMixin
from sklearn.datasets import make_spd_matrix
from sklearn.utils.validation import check_is_fitted


class Habits:
    """What metric-learn does and we do not: no centring, its own words for wrong input."""

    def _keep(self, learned):
        super()._keep(learned)
        self.components_ = _mahala.linear_map(self._state())
        self.mean_, self.scale_ = np.zeros(self.components_.shape[1]), None

    @contextlib.contextmanager
    def _for_fit(self, d):
        """metric-learn's words for a bad rank, and its prior='random'."""
        _check_n_components(d, self.n_components)
        given = self.reg, self.prior
        if isinstance(self.prior, str) and self.prior == "random":
            self.reg, self.prior = 1.0, make_spd_matrix(d, random_state=self.random_state)
        yield
        self.reg, self.prior = given

    def get_metric(self):
        check_is_fitted(self, "components_")
        return MahalanobisDistance(self.components_)

    def _checked(self, X, y=None, kind="classic", fitting=False, **options):
        if fitting:
            self._check_preprocessor()
        size = 2 if kind == "tuples" else None
        with warnings.catch_warnings():
            # It calls scikit-learn by names that scikit-learn 1.6 deprecated.
            warnings.simplefilter("ignore", FutureWarning)
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
    def __init__(self, t="cv", reg=None, shrinkage=None, prior="identity", pairs="all", n_components=None,
                 standardize=False, k=5, cv=5, selection_rows=20_000, preprocessor=None,
                 random_state=None, n_jobs=None):  # fmt: skip
        GMML.__init__(self, t=t, reg=reg, shrinkage=shrinkage, prior=prior, pairs=pairs,
                      n_components=n_components, standardize=standardize, k=k, cv=cv,
                      selection_rows=selection_rows, random_state=random_state, n_jobs=n_jobs)  # fmt: skip
        self.preprocessor = preprocessor

    def fit(self, X, y=None):
        if y is None:
            return super().fit(X, y)
        X, y = self._checked(X, y, fitting=True, ensure_min_samples=2)
        with self._for_fit(X.shape[1]):
            return super().fit(X, y)


@_PairsClassifierMixin.register  # not as a base: its order of scikit-learn's bases is not today's
class GMML_(Habits, GMMLPairs, MahalanobisMixin):
    def __init__(self, t="cv", reg=None, shrinkage=None, prior="identity", n_components=None,
                 standardize=False, cv=5, selection_rows=20_000, preprocessor=None, random_state=None,
                 n_jobs=None):  # fmt: skip
        GMMLPairs.__init__(self, t=t, reg=reg, shrinkage=shrinkage, prior=prior, n_components=n_components,
                           standardize=standardize, cv=cv, selection_rows=selection_rows,
                           preprocessor=preprocessor, random_state=random_state, n_jobs=n_jobs)  # fmt: skip

    def fit(self, pairs, y, calibration_params=None):
        check_calibration(**(calibration_params or {}))
        pairs, y = self._checked(pairs, y, kind="tuples", fitting=True)
        check_y_valid_values_for_pairs(y)  # ours takes 0 and 1, too
        with self._for_fit(pairs.shape[2]):
            return super().fit(pairs, y, calibration_params=calibration_params)

    _validate_calibration_params = staticmethod(check_calibration)

    def calibrate_threshold(self, pairs_valid, y_valid, strategy="accuracy", min_rate=None, beta=1.0):
        check_is_fitted(self, "components_")
        pairs_valid, y_valid = self._checked(pairs_valid, y_valid, kind="tuples")
        return super().calibrate_threshold(pairs_valid, y_valid, strategy, min_rate, beta)
