"""GMML from triplets, quadruplets and chunks: each is some similar and some dissimilar pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from . import _mahala
from ._common import threads
from ._constraint_input import formed_tuples, whole_numbers
from ._metric import MetricMixin

Self = TypeVar("Self", bound="GMMLFromTuples")


class GMMLFromTuples(MetricMixin):
    """What GMML learns from besides labelled rows."""

    scoring: Any
    _moments: Any

    if TYPE_CHECKING:  # the closed form has its own parameters

        def fit(self, X: Any, y: Any) -> Any:
            """Learn from labelled rows."""

        def _params(self, X: Any, y: Any, groups: Any = None) -> dict[str, Any]:
            """Return the parameters, checked, as the compiled part takes them."""

    def fit_triplets(self: Self, triplets: Any, *, preprocessor: Any = None) -> Self:
        """Learn from triplets: the first point and the second are a similar pair, the first and the third not.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3) with a preprocessor
            The points, or their row numbers or keys.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by their row numbers, by the keys of its index (a pandas data frame), or by whatever the
            callable understands.

        Returns
        -------
        self : GMML
            The fitted estimator.

        Examples
        --------
        >>> from mahala import GMML, constraints
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> triplets = constraints.knn_triplets(X, y)
        >>> GMML(t=0.5).fit_triplets(triplets, preprocessor=X).transform(X).shape
        (150, 4)
        """
        formed = formed_tuples(triplets, 3, preprocessor, type(self).__name__)
        return self._fit_comparisons(formed[:, [0, 1]], formed[:, [0, 2]], None)

    def fit_quadruplets(
        self: Self, quadruplets: Any, sample_weight: Any = None, *, preprocessor: Any = None
    ) -> Self:
        """Learn from quadruplets: the first two points are a similar pair, the last two a dissimilar one.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features), or (n_quadruplets, 4) with a preprocessor
            The points, or their row numbers or keys.
        sample_weight : array-like of shape (n_quadruplets,), default=None
            Weights of the quadruplets.
        preprocessor : array-like of shape (n_points, n_features), DataFrame, callable or None, default=None
            What looks points up by their row numbers, by the keys of its index (a pandas data frame), or by whatever the
            callable understands.

        Returns
        -------
        self : GMML
            The fitted estimator.
        """
        formed = formed_tuples(quadruplets, 4, preprocessor, type(self).__name__)
        return self._fit_comparisons(formed[:, [0, 1]], formed[:, [2, 3]], sample_weight)

    def fit_chunks(self: Self, X: Any, chunks: Any) -> Self:
        """Learn from rows of which some are known to be of one class, whichever it is: a chunk is a class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        chunks : array-like of shape (n_samples,)
            The chunk of each row as a whole number; rows with a negative number are left out.

        Returns
        -------
        self : GMML
            The fitted estimator.
        """
        chunks = whole_numbers("chunks", chunks)
        check_consistent_length(X, chunks)
        self.fit(_safe_indexing(X, np.flatnonzero(chunks >= 0)), chunks[chunks >= 0])
        del self.classes_  # chunks are none
        return self

    def _fit_comparisons(self: Self, near: Any, far: Any, sample_weight: Any) -> Self:
        """Similar pairs and dissimilar ones, as many of either."""
        if self.scoring is not None:
            raise ValueError("scoring judges a vote of labelled rows; here are none: leave it out")
        pairs, n = np.concatenate([near, far]), len(near)
        if sample_weight is not None:
            sample_weight = np.tile(_check_sample_weight(sample_weight, near[:, 0], dtype=np.float64), 2)
        for name in ("feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
        self.n_features_in_ = pairs.shape[2]
        marks = np.repeat([1.0, 0.0], n)
        params, jobs = self._params(pairs[:, 0], marks), threads(self.n_jobs)
        self._keep(_mahala.fit_pairs(pairs[:, 0], pairs[:, 1], marks.tolist(), sample_weight, params, None, jobs))
        self._moments = None
        return self
