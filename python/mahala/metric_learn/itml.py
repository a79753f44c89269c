"""Information-theoretic metric learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from ._native import drawn_pairs, keep, learn_pairs
from ._util import _initialize_metric_mahalanobis, components_from_metric
from .base_metric import MahalanobisMixin, _PairsClassifierMixin
from .constraints import renamed


class _BaseITML(MahalanobisMixin):
    """What both forms share."""

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        convergence_threshold: Any = "deprecated",
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = renamed("convergence_threshold", convergence_threshold, "tol", tol, stacklevel=4)
        self.prior = prior
        self.verbose = verbose
        self.random_state = random_state
        self.convergence_threshold = "deprecated"
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any, bounds: Any = None) -> None:
        pairs, y = self._prepare_inputs(pairs, y, type_of_inputs="tuples")
        self._learn(pairs, y, bounds)

    def _learn(self, pairs: Any, y: Any, bounds: Any = None) -> None:
        self.bounds_ = bounds_of(pairs, bounds)
        M = _initialize_metric_mahalanobis(pairs, self.prior, self.random_state, strict_pd=True, matrix_name="prior")
        # The LogDet divergence does not change with coordinates: in those of the prior, the prior is I.
        basis = components_from_metric(M)
        parameters = {
            "gamma": min(float(self.gamma), 1e300),
            "bounds": self.bounds_.tolist(),
            "max_projections": int(self.max_iter) * len(pairs),
            "tolerance": float(self.tol),
        }
        learned = learn_pairs(self, "itml", pairs @ basis.T, y, parameters)
        keep(self, learned, pairs.shape[2], basis)
        # Projections over there; sweeps over all pairs here.
        self.n_iter_ = max(1, -(-self.n_iter_ // len(pairs)))


def bounds_of(pairs: Any, bounds: Any) -> Any:
    """The two bounds given, or the 5th and the 95th percentile of the distances of the pairs' points."""
    if bounds is None:
        points = np.unique(np.vstack(list(pairs)), axis=0)
        found = np.percentile(pairwise_distances(points), (5, 95))
    else:
        found = check_array(bounds, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, copy=True).ravel()
        if found.size != 2:
            raise ValueError("`bounds` should be an array-like of two elements.")
    found[found == 0] = 1e-9
    return found


class ITML(_BaseITML, _PairsClassifierMixin):
    """Information-theoretic metric learning from pairs (Davis, Kulis, Jain, Sra, Dhillon 2007).

    Parameters
    ----------
    gamma : float, default=1.0
        What a violated constraint costs.
    max_iter : int, default=1000
        The most sweeps over all pairs.
    tol : float, default=1e-3
        Stop when a sweep changes the dual by a smaller share.
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
        The metric to stay near to.
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of a random prior.
    convergence_threshold
        The old name of ``tol``.

    Attributes
    ----------
    bounds_ : array of shape (2,)
        Squared distances that similar pairs should not exceed and dissimilar ones should reach.
    components_, n_iter_, threshold_

    Examples
    --------
    >>> from mahala.metric_learn import ITML
    >>> pairs = [[[1.2, 7.5], [1.3, 1.5]], [[6.4, 2.6], [6.2, 9.7]], [[1.3, 4.5], [3.2, 4.6]], [[6.2, 5.5], [5.4, 5.4]]]
    >>> ITML().fit(pairs, [1, 1, -1, -1]).predict(pairs)
    array([ 1,  1, -1, -1])
    """

    def fit(
        self, pairs: Any, y: Any, bounds: Any = None, calibration_params: dict[str, Any] | None = None
    ) -> ITML:
        """Learns from pairs, then sets the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
        y : array-like of shape (n_pairs,)
            +1 for similar pairs, -1 for dissimilar ones.
        bounds : array-like of two numbers, optional
        calibration_params : dict, optional
            Arguments of ``calibrate_threshold``.
        """
        return self._fit_and_calibrate(calibration_params, pairs, y, bounds=bounds)


class ITML_Supervised(TransformerMixin, _BaseITML):
    """ITML from labels, by way of pairs drawn from them.

    Parameters
    ----------
    n_constraints : int or None, default=None
        Pairs of either kind; 20 c^2 for c classes if None.
    gamma, max_iter, tol, prior, verbose, preprocessor, random_state, num_constraints, convergence_threshold
        As for ``ITML``; ``num_constraints`` is the old name of ``n_constraints``.

    Examples
    --------
    >>> from mahala.metric_learn import ITML_Supervised
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ITML_Supervised(n_constraints=200, random_state=0).fit(X, y).components_.shape
    (4, 4)
    """

    def __init__(
        self,
        gamma: float = 1.0,
        max_iter: int = 1000,
        tol: float = 1e-3,
        n_constraints: int | None = None,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
        convergence_threshold: Any = "deprecated",
    ) -> None:
        super().__init__(gamma, max_iter, tol, prior, verbose, preprocessor, random_state, convergence_threshold)
        self.n_constraints = renamed("num_constraints", num_constraints, "n_constraints", n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any, bounds: Any = None) -> ITML_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        bounds : array-like of two numbers, optional
        """
        pairs, marks = drawn_pairs(self, X, y)
        self._learn(pairs, marks, bounds)
        return self
