"""Neighbourhood components analysis."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, known, labels_of, plan_of, require_y
from ._util import _check_n_components, _initialize_components
from .base_metric import MahalanobisMixin


class NCA(TransformerMixin, MahalanobisMixin):
    """Neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov 2004).

    Parameters
    ----------
    init : {"auto", "pca", "lda", "identity", "random"} or array of shape (n_components, n_features)
    n_components : int or None, default=None
        The rank; full if None.
    max_iter : int, default=100
    tol : float or None, default=None
        1e-5 if None.
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of a random start.

    Attributes
    ----------
    components_, n_iter_
    """

    def __init__(
        self,
        init: Any = "auto",
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.init = init
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any) -> NCA:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, dtype="float64")
        rank = _check_n_components(X.shape[1], self.n_components)
        X, y = known(X, y)
        labels = labels_of(y)
        start = _initialize_components(rank, X, y, self.init, self.verbose, self.random_state)
        parameters = {
            "rank": rank,
            "start": {"given": start.tolist()},
            "max_iterations": int(self.max_iter),
            "tolerance": 1e-5 if self.tol is None else float(self.tol),
        }
        keep(self, _mahala.learn(X, labels, plan_of(self, "nca", parameters)), rank)
        return self
