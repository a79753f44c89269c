"""Large margin nearest neighbours."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin

from .. import _mahala
from ._native import keep, known, labels_of, plan_of, require_y
from ._util import _check_n_components, _initialize_components
from .base_metric import MahalanobisMixin
from .constraints import renamed


class LMNN(TransformerMixin, MahalanobisMixin):
    """Large margin nearest neighbours (Weinberger, Saul 2009), the classic objective, by L-BFGS.

    Parameters
    ----------
    init : {"auto", "pca", "lda", "identity", "random"} or array of shape (n_components, n_features)
    n_neighbors : int, default=3
        Targets of each row; for the rows of a smaller class, its size - 1.
    min_iter : int, default=50
        Not used: L-BFGS stops at a minimum.
    max_iter : int, default=1000
    learn_rate : float, default=1e-7
        Not used: a line search decides the length of steps.
    regularization : float, default=0.5
        The share of the hinges in the objective, between 0 and 1.
    convergence_tol : float, default=0.001
        A thousandth of it, as a share of the objective, is where L-BFGS stops.
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    n_components : int or None, default=None
        The rank; full if None.
    random_state : int, RandomState instance or None, default=None
        Of a random start.
    k
        The old name of ``n_neighbors``.

    Attributes
    ----------
    components_, n_iter_
    """

    def __init__(
        self,
        init: Any = "auto",
        n_neighbors: int = 3,
        min_iter: int = 50,
        max_iter: int = 1000,
        learn_rate: float = 1e-7,
        regularization: float = 0.5,
        convergence_tol: float = 0.001,
        verbose: bool = False,
        preprocessor: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
        k: Any = "deprecated",
    ) -> None:
        self.init = init
        self.n_neighbors = renamed("k", k, "n_neighbors", n_neighbors)
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.learn_rate = learn_rate
        self.regularization = regularization
        self.convergence_tol = convergence_tol
        self.verbose = verbose
        self.n_components = n_components
        self.random_state = random_state
        self.k = "deprecated"
        super().__init__(preprocessor)

    def fit(self, X: Any, y: Any) -> LMNN:
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
            "targets": int(self.n_neighbors),
            "rank": rank,
            "hinge": "classic",
            "push": float(self.regularization),
            "start": {"given": start.tolist()},
            "max_iterations": int(self.max_iter),
            "tolerance": float(self.convergence_tol) * 1e-3,
        }
        keep(self, _mahala.learn(X, labels, plan_of(self, "lmnn", parameters)), rank)
        return self
