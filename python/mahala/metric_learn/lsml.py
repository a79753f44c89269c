"""Least squared-residual metric learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from ._native import constraints_wanted, keep, learn_tuples, require_y
from ._util import _initialize_metric_mahalanobis, components_from_metric
from .base_metric import MahalanobisMixin, _QuadrupletsClassifierMixin
from .constraints import Constraints, renamed


class _BaseLSML(MahalanobisMixin):
    """What both forms share."""

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.prior = prior
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _learn(self, quadruplets: Any, weights: Any = None) -> None:
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != (len(quadruplets),):
                raise ValueError(
                    f"weights have shape {weights.shape}; they must be one for each of the {len(quadruplets)} "
                    "quadruplets"
                )
        self.w_ = np.ones(len(quadruplets)) if weights is None else weights
        self.w_ = self.w_ / self.w_.sum()
        M = _initialize_metric_mahalanobis(
            quadruplets, self.prior, self.random_state, strict_pd=True, matrix_name="prior"
        )
        # tr(A M^-1) - log det A does not change with coordinates: in those of the prior, the prior is I.
        basis = components_from_metric(M)
        parameters = {"row_units": True, "max_iterations": int(self.max_iter), "tolerance": float(self.tol) * 1e-3}
        learned = learn_tuples(self, "lsml", quadruplets @ basis.T, self.w_, parameters)
        keep(self, learned, quadruplets.shape[2], basis)


class LSML(_BaseLSML, _QuadrupletsClassifierMixin):
    """Least squared-residual metric learning from quadruplets (Liu, Guo, Wang, Li 2012).

    Parameters
    ----------
    tol : float, default=1e-3
        A thousandth of it is where L-BFGS stops, which is sharper than a gradient descent with this step tolerance.
    max_iter : int, default=1000
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of a random prior.

    Attributes
    ----------
    w_ : array of shape (n_quadruplets,)
        The weights, which sum to 1.
    components_, n_iter_
    """

    def fit(self, quadruplets: Any, weights: Any = None) -> LSML:
        """Learns from quadruplets.

        Parameters
        ----------
        quadruplets : array-like of shape (n_quadruplets, 4, n_features), or (n_quadruplets, 4) with a preprocessor
            The first two points of each are nearer to each other than the last two.
        weights : array-like of shape (n_quadruplets,), optional
        """
        self._learn(self._prepare_inputs(quadruplets, type_of_inputs="tuples"), weights)
        return self


class LSML_Supervised(TransformerMixin, _BaseLSML):
    """LSML from labels, by way of quadruplets drawn from them.

    Parameters
    ----------
    n_constraints : int or None, default=None
        Quadruplets; 20 c^2 for c classes if None.
    weights : array-like of shape (n_constraints,), optional
    tol, max_iter, prior, verbose, preprocessor, random_state
        As for ``LSML``.
    num_constraints
        The old name of ``n_constraints``.
    """

    def __init__(
        self,
        tol: float = 1e-3,
        max_iter: int = 1000,
        prior: Any = "identity",
        n_constraints: int | None = None,
        weights: Any = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
    ) -> None:
        super().__init__(tol, max_iter, prior, verbose, preprocessor, random_state)
        self.n_constraints = renamed("num_constraints", num_constraints, "n_constraints", n_constraints)
        self.weights = weights
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any) -> LSML_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        require_y(self, y)
        X, y = self._prepare_inputs(X, y, ensure_min_samples=2)
        wanted = constraints_wanted(self, y)
        chosen = Constraints(y).positive_negative_pairs(wanted, same_length=True, random_state=self.random_state)
        if len(chosen[0]) == 0:
            raise ValueError(f"no class has two rows among the n_samples={len(X)}: there is no quadruplet to draw")
        self._learn(X[np.column_stack(chosen)], self.weights)
        return self
