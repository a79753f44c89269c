"""Local Fisher discriminant analysis."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, known, labels_of, plan_of, require_y
from ._util import _check_n_components
from .base_metric import MahalanobisMixin

#: metric-learn's names of embeddings, and the library's.
EMBEDDINGS = {"weighted": "weighted", "orthonormalized": "orthonormal", "plain": "plain"}


class LFDA(TransformerMixin, MahalanobisMixin):
    """Local Fisher discriminant analysis (Sugiyama 2007).

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    k : int or None, default=None
        The neighbour whose distance is the local scale; the smaller of 7 and n_features - 1 if None.
    embedding_type : {"weighted", "orthonormalized", "plain"}
    preprocessor : array-like, callable or None, default=None

    Attributes
    ----------
    components_

    Notes
    -----
    The formula of the paper. metric-learn takes the k-th neighbour along the wrong axis, adds the scatter within
    classes to that between them, and lowers k for all later classes after a small one.
    """

    def __init__(
        self,
        n_components: int | None = None,
        k: int | None = None,
        embedding_type: str = "weighted",
        preprocessor: Any = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.embedding_type = embedding_type
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any) -> LFDA:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, dtype="float64")
        if self.embedding_type not in EMBEDDINGS:
            raise ValueError(f"Invalid embedding_type: {self.embedding_type!r}")
        d = X.shape[1]
        rank, k = _check_n_components(d, self.n_components), self._neighbors(d)
        X, y = known(X, y)
        parameters = {"rank": rank, "neighbors": k, "embedding": EMBEDDINGS[self.embedding_type]}
        keep(self, _mahala.learn(X, labels_of(y), plan_of(self, "lfda", parameters)), rank)
        return self

    def _neighbors(self, d: int) -> int:
        if self.k is None:
            return max(1, min(7, d - 1))
        if self.k < 1:
            raise ValueError(f"k is {self.k}; it must be at least 1")
        if self.k >= d > 1:
            warnings.warn(f"Chosen k ({self.k}) too large, using {d - 1} instead.", stacklevel=3)
            return d - 1
        return int(self.k)
