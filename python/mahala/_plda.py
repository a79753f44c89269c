"""Probabilistic linear discriminant analysis: is a pair of rows of one class?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import check_classes, class_names, count, encode, number, threads
from ._constraint_input import formed_tuples, stacked
from ._labelled import check_two
from ._notice import validated, warn_of_labels

Floats = NDArray[np.float64]


class PLDA(BaseEstimator):
    """Probabilistic linear discriminant analysis with two covariances (Ioffe 2006), for verification.

    A row is the mean of its class, drawn with one covariance, and a deviation, drawn with another. The score of a pair is the
    logarithm of how much likelier it is under one class than under two: above 0, the rows are taken for one class. It is no
    distance, and needs no threshold to be tuned. Classes of tomorrow are scored like those of today.

    Parameters
    ----------
    n_components : int or None, default=None
        The most directions, of those in which classes differ most; all in which they differ if None.
    shrinkage : float in [0, 1], default=0.0
        How far the covariance within classes is shrunk towards its diagonal.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        From rows, centred and divided by ``scale_``, to coordinates in which the covariance within classes is the identity.
    between_ : ndarray of shape (n_components,)
        The variance between classes in each of them, in descending order.
    mean_ : ndarray of shape (n_features,)
        The mean of the rows.
    scale_ : ndarray of shape (n_features,)
        The standard deviations of the columns.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import PLDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> plda = PLDA().fit(X, y)
    >>> [bool(score > 0) for score in plda.score_pairs(X[[0, 0]], X[[1, 100]])]
    [True, False]
    """

    def __init__(
        self, *, n_components: int | None = None, shrinkage: float = 0.0, n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> PLDA:
        """Estimate both covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes, such as speakers; some of two rows at least.

        Returns
        -------
        self : PLDA
            The fitted model.
        """
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, codes = encode(check_classes(y))
        check_two(classes)
        warn_of_labels(classes, len(y))
        rank = None if self.n_components is None else count("n_components", self.n_components, 1)
        shrinkage = number("shrinkage", self.shrinkage)
        fitted = _mahala.fit_plda(X, class_names(classes), codes, rank, shrinkage, threads(self.n_jobs))
        self.components_, self.mean_, self.scale_ = (fitted[key] for key in ("components", "mean", "scale"))
        self.between_: Floats = fitted["between"]
        self.classes_: NDArray[Any] = classes
        return self

    def score_pairs(self, first: Any, second: Any) -> Floats:
        """Return the logarithm of the likelihood ratio of pairs of rows.

        Parameters
        ----------
        first : array-like of shape (n_pairs, n_features)
            First ends.
        second : array-like of shape (n_pairs, n_features)
            Second ends.

        Returns
        -------
        llr : ndarray of shape (n_pairs,)
            Above 0 where one class is likelier than two; natural logarithms.
        """
        check_is_fitted(self, "components_")
        first, second = (check_array(ends, dtype=np.float64) for ends in (first, second))
        for ends in (first, second):
            if ends.shape != (len(first), self.n_features_in_):
                raise ValueError(
                    f"the ends of the pairs have shapes {first.shape} and {second.shape}; both must have one row a pair and "
                    f"{self.n_features_in_} columns"
                )
        state = self.components_, self.mean_, self.scale_, None
        return _mahala.score_plda(state, self.between_, first, second, threads(self.n_jobs))

    def decision_function(self, pairs: Any) -> Floats:
        """Return the logarithm of the likelihood ratio of pairs, as scikit-learn's scorers ask for it.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or a tuple of two arrays (n_pairs, n_features)
            Both ends of each pair.

        Returns
        -------
        llr : ndarray of shape (n_pairs,)
            Above 0 where one class is likelier than two.
        """
        pairs = formed_tuples(stacked(pairs), 2, None, type(self).__name__)
        return self.score_pairs(pairs[:, 0], pairs[:, 1])

    def predict(self, pairs: Any) -> NDArray[np.int64]:
        """Decide whether pairs are of one class.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or a tuple of two arrays (n_pairs, n_features)
            Both ends of each pair.

        Returns
        -------
        y : ndarray of shape (n_pairs,)
            1 where the score is above 0, else -1.
        """
        return np.where(self.decision_function(pairs) > 0, 1, -1)
