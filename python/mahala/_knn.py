"""Exact nearest neighbours under a learned metric: classification, regression, search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from . import _mahala
from ._common import check_classes, class_names, encode
from ._neighbors import Floats, Neighbors, WeightedNeighbors
from ._notice import validated


class MahalanobisKNN(ClassifierMixin, WeightedNeighbors):
    """Classification by a vote of the nearest neighbours under a metric, as ``KNeighborsClassifier`` does it.

    The search is exact; its index is built once, by ``fit``. A tie between classes goes to the smallest class, equal
    distances to the earlier row.

    Parameters
    ----------
    {weights}
    {metric}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    {fitted}

    See Also
    --------
    MahalanobisKNNRegressor : The same for numbers.
    MahalanobisNearestNeighbors : The search alone.

    Examples
    --------
    >>> from mahala import GMML, MahalanobisKNN
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> knn = MahalanobisKNN(metric=GMML(), weights="distance").fit(X[::2], y[::2])
    >>> bool(knn.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> MahalanobisKNN:
        """Keep the rows and build their index; learn the metric if it is not fitted yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. Sparse rows are made dense unless the metric transforms them.
        y : array-like of shape (n_samples,)
            Their classes.
        **fit_params : dict
            For the metric's own ``fit``, such as ``sample_weight`` or ``groups``; routed if metadata routing is enabled.

        Returns
        -------
        self : MahalanobisKNN
            The fitted classifier.
        """
        given = X
        check_one_output(y)
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], accept_sparse="csr")
        check_classes(y)
        self.classes_, self._codes = encode(y)
        self._fit_rows(given, X, y, fit_params)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The class with the most votes.
        """
        winners, _ = self._classify(X)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of the votes of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes)
            Shares, in the order of ``classes_``.
        """
        _, votes = self._classify(X)
        total = votes.sum(axis=1, keepdims=True)
        return votes / np.where(total == 0, 1.0, total)

    def _classify(self, X: Any) -> tuple[NDArray[np.int64], Floats]:
        found = self._found(X)
        return _mahala.vote(found, class_names(self.classes_), self._codes, self._weights(found))


class MahalanobisKNNRegressor(RegressorMixin, WeightedNeighbors):
    """Regression by the mean of the nearest neighbours under a metric, as ``KNeighborsRegressor`` does it.

    The search is exact; its index is built once, by ``fit``.

    Parameters
    ----------
    {weights}
    {metric}

    Attributes
    ----------
    {fitted}

    See Also
    --------
    MahalanobisKNN : The same for classes.
    MLKR : Learns a metric from numbers.

    Examples
    --------
    >>> from mahala import MLKR, MahalanobisKNNRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> knn = MahalanobisKNNRegressor(20, metric=MLKR(max_iter=10, tol=1.0)).fit(X[::2], y[::2])
    >>> bool(knn.score(X[1::2], y[1::2]) > 0.3)
    True
    """

    def fit(self, X: Any, y: Any, **fit_params: Any) -> MahalanobisKNNRegressor:
        """Keep the rows and build their index; learn the metric if it is not fitted yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows. Sparse rows are made dense unless the metric transforms them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their numbers.
        **fit_params : dict
            For the metric's own ``fit``; routed if metadata routing is enabled.

        Returns
        -------
        self : MahalanobisKNNRegressor
            The fitted regressor.
        """
        given = X
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], accept_sparse="csr", multi_output=True, y_numeric=True)
        self._targets: Floats = np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)
        self._one_output = np.ndim(y) == 1
        self._fit_rows(given, X, y, fit_params)
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the number of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            The weighted mean of the neighbours' numbers.
        """
        found = self._found(X)
        means = _mahala.neighbor_means(found, self._targets, self._weights(found))
        return means[:, 0] if self._one_output else means

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class MahalanobisNearestNeighbors(Neighbors):
    """Exact search of the nearest rows under a metric, as ``NearestNeighbors`` does it.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours ``kneighbors`` finds unless it is told.
    {metric}

    Attributes
    ----------
    {fitted}

    See Also
    --------
    MahalanobisKNN : Classification by the rows found.

    Examples
    --------
    >>> from mahala import GMML, MahalanobisNearestNeighbors
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> search = MahalanobisNearestNeighbors(metric=GMML(t=0.1).fit(X, y)).fit(X)
    >>> search.kneighbors(X[:1], n_neighbors=1, return_distance=False)
    array([[0]])
    """

    weights = None

    def __init__(self, n_neighbors: int = 5, *, metric: Any = None, n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> MahalanobisNearestNeighbors:
        """Keep the rows and build their index; learn the metric if it is not fitted yet.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to search among. Sparse rows are made dense unless the metric transforms them.
        y : array-like of shape (n_samples,), default=None
            What a metric that is not fitted yet learns from.
        **fit_params : dict
            For the metric's own ``fit``; routed if metadata routing is enabled.

        Returns
        -------
        self : MahalanobisNearestNeighbors
            The search, ready.
        """
        given = X
        X = validated(self, X, dtype=[np.float64, np.float32], accept_sparse="csr")
        self._fit_rows(given, X, y, fit_params)
        return self


def check_one_output(y: Any) -> None:
    """Refuses several labels a row, and says what takes them."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has shape {shape}; MahalanobisKNN decides one label a row: y should be a 1d array. "
            "sklearn.multioutput.MultiOutputClassifier(MahalanobisKNN()) fits one classifier for each column"
        )
