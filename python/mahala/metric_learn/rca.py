"""Relevant component analysis."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, plan_of, require_y
from ._util import _check_n_components
from .base_metric import MahalanobisMixin
from .constraints import Constraints, renamed


class RCA(TransformerMixin, MahalanobisMixin):
    """Relevant component analysis (Shental, Hertz, Weinshall, Pavel 2002).

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    preprocessor : array-like, callable or None, default=None

    Attributes
    ----------
    components_

    Notes
    -----
    Where the covariance within chunks is singular, it is shrunk towards the total covariance by 0.1, with a
    warning; metric-learn's components may be NaN there.
    """

    def __init__(self, n_components: int | None = None, preprocessor: Any = None) -> None:
        self.n_components = n_components
        super().__init__(preprocessor)

    def fit(self, X: Any, chunks: Any) -> RCA:
        """Learns from rows in chunks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        chunks : array-like of shape (n_samples,)
            The chunk of each row; a negative number is none.
        """
        require_y(self, chunks)
        X, chunks = self._prepare_inputs(X, chunks, ensure_min_samples=2, dtype="float64")
        self._learn(X, chunks)
        return self

    def _learn(self, X: Any, chunks: Any) -> None:
        rank = _check_n_components(X.shape[1], self.n_components)
        chunks = np.asarray(chunks)
        if chunks.dtype.kind not in "biuf":
            chunks = np.unique(chunks, return_inverse=True)[1].ravel()
        plan = plan_of(self, "rca", {"rank": rank})
        diagnostics = keep(self, _mahala.learn_chunks(X, chunks.astype(np.int64), plan), rank)
        if diagnostics.get("choice"):
            warnings.warn(
                "The inner covariance matrix is not invertible: it was shrunk towards the covariance of all rows by "
                "0.1. More or larger chunks, or fewer features (for instance by sklearn.decomposition.PCA), would "
                "make it invertible.",
                stacklevel=3,
            )


class RCA_Supervised(RCA):
    """RCA from labels, by way of chunks drawn from them.

    Parameters
    ----------
    n_components : int or None, default=None
    n_chunks : int, default=100
    chunk_size : int, default=2
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of the chunks.
    num_chunks
        The old name of ``n_chunks``.
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_chunks: int = 100,
        chunk_size: int = 2,
        preprocessor: Any = None,
        random_state: Any = None,
        num_chunks: Any = "deprecated",
    ) -> None:
        super().__init__(n_components, preprocessor)
        self.n_chunks = renamed("num_chunks", num_chunks, "n_chunks", n_chunks)
        self.chunk_size = chunk_size
        self.random_state = random_state
        self.num_chunks = "deprecated"

    def fit(self, X: Any, y: Any) -> RCA_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, dtype="float64")
        self._learn(X, Constraints(y).chunks(self.n_chunks, self.chunk_size, self.random_state))
        return self
