"""Sparse distance metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class SDML(PairsLearner):
    """Sparse distance metric learning (Qi et al. 2009).

    A metric with few entries off the diagonal, by the graphical lasso; columns are standardised.

    Parameters
    ----------
    balance : float, default=0.5
        The weight of the pairs beside the identity.
    sparsity : float, default=0.01
        The larger, the more entries are 0.
    similar_only : bool, default=False
        Learn from similar pairs alone: a sparse inverse of their covariance.
    max_iter : int, default=1000
        The most sweeps over the columns.
    tol : float, default=1e-6
        Stop when the duality gap a column is smaller.
    {shared}

    Examples
    --------
    >>> from mahala import SDML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SDML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "sdml"

    def __init__(
        self,
        *,
        balance: float = 0.5,
        sparsity: float = 0.01,
        similar_only: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.balance = balance
        self.sparsity = sparsity
        self.similar_only = similar_only
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
