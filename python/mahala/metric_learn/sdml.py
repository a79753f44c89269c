"""Sparse distance metric learning."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import TransformerMixin

from ._native import drawn_pairs, keep, learn_pairs
from ._util import _initialize_metric_mahalanobis
from .base_metric import MahalanobisMixin, _PairsClassifierMixin
from .constraints import renamed


class _BaseSDML(MahalanobisMixin):
    """What both forms share."""

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        self.balance_param = balance_param
        self.sparsity_param = sparsity_param
        self.prior = prior
        self.verbose = verbose
        self.random_state = random_state
        super().__init__(preprocessor)

    def _fit(self, pairs: Any, y: Any) -> None:
        self._learn(*self._prepare_inputs(pairs, y, type_of_inputs="tuples"))

    def _learn(self, pairs: Any, y: Any) -> None:
        n_features = pairs.shape[2]
        if n_features < 2:
            raise ValueError(f"Cannot fit SDML with {n_features} feature(s)")
        _, inverse = _initialize_metric_mahalanobis(
            pairs, self.prior, self.random_state, return_inverse=True, strict_pd=True, matrix_name="prior"
        )
        # A pair of a point with itself adds nothing to the sum.
        proper = (pairs[:, 0] != pairs[:, 1]).any(axis=1)
        parameters = {
            # The sum over pairs, where the compiled part has their mean.
            "balance": float(self.balance_param) * max(1, int(proper.sum())),
            "sparsity": float(self.sparsity_param),
            "row_units": True,
            "prior_inverse": inverse.tolist(),
        }
        learned = learn_pairs(self, "sdml", pairs[proper], y[proper], parameters)
        ridge = keep(self, learned, n_features)["choice"]["ridge"]
        if ridge > 0:
            warnings.warn(
                f"{type(self).__name__}: the matrix given to the graphical lasso is not positive definite, and "
                f"{ridge:.3g} was added to its diagonal; lower balance_param (it is {self.balance_param}) to need "
                "no such ridge",
                stacklevel=3,
            )


class SDML(_BaseSDML, _PairsClassifierMixin):
    """Sparse distance metric learning from pairs (Qi, Tang, Zha, Chua, Zhang 2009).

    Parameters
    ----------
    balance_param : float, default=0.5
        The weight of the pairs beside the prior.
    sparsity_param : float, default=0.01
        The larger, the more entries of the metric are 0.
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
    verbose : bool, default=False
    preprocessor : array-like, callable or None, default=None
    random_state : int, RandomState instance or None, default=None
        Of a random prior.

    Attributes
    ----------
    components_, threshold_

    Notes
    -----
    Where dissimilar pairs outweigh the prior, the problem has no solution. metric-learn fails there; here a ridge
    makes it solvable, with a warning that names it.
    """

    def fit(self, pairs: Any, y: Any, calibration_params: dict[str, Any] | None = None) -> SDML:
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


class SDML_Supervised(TransformerMixin, _BaseSDML):
    """SDML from labels, by way of pairs drawn from them.

    Parameters
    ----------
    n_constraints : int or None, default=None
        Pairs of either kind; 20 c^2 for c classes if None.
    balance_param, sparsity_param, prior, verbose, preprocessor, random_state
        As for ``SDML``.
    num_constraints
        The old name of ``n_constraints``.
    """

    def __init__(
        self,
        balance_param: float = 0.5,
        sparsity_param: float = 0.01,
        prior: Any = "identity",
        n_constraints: int | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
    ) -> None:
        super().__init__(balance_param, sparsity_param, prior, verbose, preprocessor, random_state)
        self.n_constraints = renamed("num_constraints", num_constraints, "n_constraints", n_constraints)
        self.num_constraints = "deprecated"

    def fit(self, X: Any, y: Any) -> SDML_Supervised:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples,) with a preprocessor
        y : array-like of shape (n_samples,)
            Classes; a negative number is an unknown one.
        """
        self._learn(*drawn_pairs(self, X, y))
        return self
