"""Nearest class mean metric learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax  # type: ignore[import-untyped, unused-ignore]
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .._learner import Learner


class NCMML(ClassifierMixin, Learner):
    """Nearest class mean metric learning (Mensink, Verbeek, Perronnin, Csurka 2012).

    Maximises the likelihood of the classes under a softmax of the distances to their means, and classifies by the nearest mean:
    one row a class is all that it keeps. ``save`` writes the means into the model file, where they vote for ``mahala predict
    --neighbors 1``.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    init : {"auto", "identity", "pca", "lda"}, default="auto"
        The first linear map.
    max_iter : int, default=200
        The most iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when five iterations together gain less.
    {shared}
    class_means_ : ndarray of shape (n_classes, n_components)
        The means of the classes, in the coordinates of ``transform`` and in the order of ``classes_``.

    Examples
    --------
    >>> from mahala import NCMML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NCMML().fit(X, y).transform(X).shape
    (150, 4)
    >>> NCMML().fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    _method = "ncmml"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, **refused: Any) -> NCMML:
        """Learn the metric, and keep the means of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : NCMML
            The fitted metric and classifier.
        """
        super().fit(X, y, **refused)
        self._keep_means(self._coordinates(X), np.searchsorted(self.classes_, np.ravel(np.asarray(y))))
        return self

    def _keep_means(self, Z: Any, codes: NDArray[Any]) -> None:
        Z = np.asarray(Z, dtype=np.float64)
        count = int(codes.max()) + 1
        self.class_means_: NDArray[np.float64] = np.stack([Z[codes == code].mean(axis=0) for code in range(count)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the nearest mean.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The classes.
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class: the softmax that the fit maximised.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return np.asarray(softmax(self._scores(X), axis=1))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Half the negative squared distance to the mean of each class."""
        check_is_fitted(self, "class_means_")
        Z = np.asarray(self._coordinates(X), dtype=np.float64)
        # Means one after the other: a difference squared, with nothing subtracted that is large.
        return np.stack([-0.5 * np.sum((Z - mean) ** 2, axis=1) for mean in self.class_means_], axis=1)

    def _coordinates(self, X: Any) -> Any:
        from sklearn import config_context

        with config_context(transform_output="default"):
            return Learner.transform(self, X)
