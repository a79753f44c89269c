"""Exact nearest neighbours under a learned metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import check_classes, class_names, count, encode, threads
from ._notice import validated

Floats = NDArray[np.float64]


class MahalanobisKNN(ClassifierMixin, BaseEstimator):
    """Classification by a vote of the nearest neighbours under a metric.

    The search is exact. A tie between classes goes to the smallest class, equal distances to the earlier row.

    Parameters
    ----------
    metric : None, "euclidean", array of shape (n_features, n_features) or estimator, default=None
        Under which rows are near: Euclidean, a positive definite matrix, or anything with ``transform``
        (GMML, NeighborhoodComponentsAnalysis, a pipeline). A fitted estimator is used as it is; one that is
        not fitted yet is cloned and fitted first. Note that scikit-learn's ``clone``, and so
        cross-validation, un-fits estimators; ``sklearn.frozen.FrozenEstimator`` prevents it.
    n_neighbors : int, default=5
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: RAYON_NUM_THREADS if set, else all cores.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    metric_ : the fitted estimator, or None
    n_features_in_, feature_names_in_, n_samples_fit_

    Examples
    --------
    >>> from mahala import GMML, MahalanobisKNN
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> knn = MahalanobisKNN(metric=GMML()).fit(X[::2], y[::2])
    >>> bool(knn.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(self, *, metric: Any = None, n_neighbors: int = 5, n_jobs: int | None = None) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> MahalanobisKNN:
        """Keeps the rows, and learns the metric if it is not fitted yet."""
        count("n_neighbors", self.n_neighbors, 1)
        given = X
        X, y = validated(self, X, y, dtype=np.float64)
        check_classes(y)
        self._linear: Floats | None = None
        self.metric_ = None
        if hasattr(self.metric, "transform"):
            self.metric_ = self.metric if is_fitted(self.metric) else clone(self.metric).fit(given, y)
        elif self.metric is not None and not isinstance(self.metric, str):
            matrix = check_array(self.metric, dtype=np.float64, input_name="metric")
            if matrix.shape != (X.shape[1], X.shape[1]):
                raise ValueError(f"metric is {matrix.shape}; for {X.shape[1]} features it must be square so")
            self._linear = _mahala.components_of(matrix)
        elif self.metric not in (None, "euclidean"):
            raise ValueError(
                f"metric is {self.metric!r}; it must be None, 'euclidean', a matrix, or an estimator with "
                "transform"
            )
        self.classes_, self._codes = encode(y)
        # A copy: the caller's array may change.
        self._rows = np.array(self._project(given, X))
        self.n_samples_fit_ = len(self._rows)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        winners, _ = self._classify(X)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> Floats:
        """The share of neighbours in each class, in the order of ``classes_``."""
        _, votes = self._classify(X)
        return votes / self.n_neighbors

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest training rows of each row: distances and indices, nearest first.

        Without X, the neighbours of the training rows among the others.
        """
        check_is_fitted(self, "classes_")
        k = self._k(self.n_neighbors if n_neighbors is None else n_neighbors, among=X is None)
        if X is not None:
            indices, distances = _mahala.neighbors(self._rows, self._queries(X), k, threads(self.n_jobs))
        else:
            found = _mahala.neighbors(self._rows, self._rows, k + 1, threads(self.n_jobs))
            indices, distances = (without_self(found[0], part) for part in found)
        return (distances, indices) if return_distance else indices

    def _classify(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        check_is_fitted(self, "classes_")
        queries, k = self._queries(X), self._k(self.n_neighbors)
        names = class_names(self.classes_)
        return _mahala.classify(self._rows, names, self._codes, queries, k, threads(self.n_jobs))

    def _k(self, k: Any, among: bool = False) -> int:
        k = count("n_neighbors", k, 1)
        if k + among > self.n_samples_fit_:
            raise ValueError(
                f"Expected n_neighbors {'<' if among else '<='} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {self.n_samples_fit_}"
            )
        return k

    def _queries(self, X: Any) -> Floats:
        checked = validated(self, X, reset=False, dtype=np.float64)
        return self._project(X, checked)

    def _project(self, given: Any, checked: Floats) -> Floats:
        """Rows where the metric is Euclidean; an estimator sees them as given, with their column names."""
        if self.metric_ is not None:
            names = hasattr(self.metric_, "feature_names_in_")
            return np.asarray(self.metric_.transform(given if names else checked), dtype=np.float64)
        if self._linear is not None:
            zeros = np.zeros(self._linear.shape[1])
            return _mahala.transform((self._linear, zeros, None, None), checked, threads(self.n_jobs))
        return checked


def is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def without_self(indices: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
    """Drops from each row of `part` the place where its own index stands, or else the last."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return part[~own].reshape(len(part), -1)
