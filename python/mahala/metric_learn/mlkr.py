"""Metric learning for kernel regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, plan_of, require_y
from ._util import _check_n_components, _initialize_components
from .base_metric import MahalanobisMixin


class MLKR(TransformerMixin, MahalanobisMixin):
    """Metric learning for kernel regression (Weinberger, Tesauro 2007), in bounded memory.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    init : {"auto", "pca", "identity", "random"} or array of shape (n_components, n_features)
    tol : float or None, default=None
        1e-5 if None.
    max_iter : int, default=1000
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
        n_components: int | None = None,
        init: Any = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any) -> MLKR:
        """Learns from rows and a number for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2, y_numeric=True, dtype="float64")
        rank = _check_n_components(X.shape[1], self.n_components)
        start = _initialize_components(
            rank, X, y, self.init, self.verbose, self.random_state, has_classes=False
        )
        parameters = {
            "rank": rank,
            "standardize": False,
            "start": {"given": start.tolist()},
            "max_iterations": int(self.max_iter),
            "tolerance": 1e-5 if self.tol is None else float(self.tol),
        }
        targets = np.asarray(y, dtype=np.float64)
        keep(self, _mahala.learn_targets(X, targets, plan_of(self, "mlkr", parameters)), rank)
        return self
