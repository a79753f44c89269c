"""Mahalanobis metric learning for clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from ._native import drawn_pairs, keep, learn_pairs
from ._util import _initialize_metric_mahalanobis
from .base_metric import MahalanobisMixin, _PairsClassifierMixin
from .constraints import renamed


class _BaseMMC(MahalanobisMixin):
    """What both forms share."""

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10_000,
        tol: float = 1e-3,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        convergence_threshold: Any = "deprecated",
    ) -> None:
        self.max_iter = max_iter
        self.max_proj = max_proj
        self.tol = renamed("convergence_threshold", convergence_threshold, "tol", tol, stacklevel=4)
        self.init = init
        self.diagonal = diagonal
        self.diagonal_c = diagonal_c
        self.verbose = verbose
        self.random_state = random_state
        self.convergence_threshold = "deprecated"
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any) -> None:
        self._learn(*self._prepare_inputs(pairs, y, type_of_inputs="tuples"))

    def _learn(self, pairs: Any, y: Any) -> None:
        M = _initialize_metric_mahalanobis(pairs, self.init, self.random_state, matrix_name="init")
        parameters = {
            "diagonal": bool(self.diagonal),
            "max_iterations": int(self.max_iter),
            "tolerance": float(self.tol),
        }
        keep(self, learn_pairs(self, "mmc", pairs, y, parameters), pairs.shape[2])
        self.components_ *= np.sqrt(self._scale(pairs, y, M))
        self.A_ = self.get_mahalanobis_matrix()

    def _scale(self, pairs: Any, y: Any, M: Any) -> float:
        """How much larger the minimum is than that of the identity and c = 1.

        Both problems are homogeneous. The full one has the similar pairs' distances sum to a hundredth of what
        they are at the start, so the start decides the size and nothing else; the compiled part starts at 0.1 I.
        The diagonal one is proportional to c.
        """
        if self.diagonal:
            return float(self.diagonal_c)
        v = (pairs[:, 0] - pairs[:, 1])[np.asarray(y) == 1]
        size = float(np.sum(v * v))
        return 10 * float(np.sum((v @ M) * v)) / size if size > 0 else 1.0


class MMC(_BaseMMC, _PairsClassifierMixin):
    """Mahalanobis metric learning for clustering, from pairs (Xing, Ng, Jordan, Russell 2002).

    Parameters
    ----------
    max_iter : int, default=100
    max_proj : int, default=10000
        Not used: a projection onto both constraints is found directly.
    tol : float, default=1e-3
    init : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
        The problem is convex: the start decides the size of the metric and nothing else.
    diagonal : bool, default=False
        One weight a column.
    diagonal_c : float, default=1.0
        The weight of the dissimilar pairs in the diagonal objective.
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of a random start.
    convergence_threshold
        The old name of ``tol``.

    Attributes
    ----------
    A_ : array of shape (n_features, n_features)
        The matrix of the metric.
    components_, n_iter_, threshold_
    """

    def fit(self, pairs: Any, y: Any, calibration_params: dict[str, Any] | None = None) -> MMC:
        """Learns from pairs, then sets the threshold on them.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a preprocessor
        y : array-like of shape (n_pairs,)
            +1 for similar pairs, -1 for dissimilar ones.
        calibration_params : dict, optional
            Arguments of ``calibrate_threshold``.
        """
        return self._fit_and_calibrate(calibration_params, pairs, y)


class MMC_Supervised(TransformerMixin, _BaseMMC):
    """MMC from labels, by way of pairs drawn from them.

    Parameters
    ----------
    n_constraints : int or None, default=None
        Pairs of either kind; 20 c^2 for c classes if None.
    max_iter, max_proj, tol, init, diagonal, diagonal_c, verbose, preprocessor, random_state
        As for ``MMC``.
    num_constraints, convergence_threshold
        The old names of ``n_constraints`` and ``tol``.
    """

    def __init__(
        self,
        max_iter: int = 100,
        max_proj: int = 10_000,
        tol: float = 1e-6,
        n_constraints: int | None = None,
        init: Any = "identity",
        diagonal: bool = False,
        diagonal_c: float = 1.0,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
        convergence_threshold: Any = "deprecated",
    ) -> None:
        super().__init__(
            max_iter, max_proj, tol, init, diagonal, diagonal_c, verbose, preprocessor, random_state,
            convergence_threshold,
        )  # fmt: skip
        self.n_constraints = renamed("num_constraints", num_constraints, "n_constraints", n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any) -> MMC_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        self._learn(*drawn_pairs(self, X, y))
        return self
