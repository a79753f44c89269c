"""Logistic discriminant metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class LDML(PairsLearner):
    """Logistic discriminant metric learning (Guillaumin, Verbeek, Schmid 2009).

    Maximises the likelihood that pairs are similar, a logistic function of their distance and a threshold.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    max_iter : int, default=200
        The most iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when five iterations together gain less.
    {shared}

    Examples
    --------
    >>> from mahala import LDML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LDML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "ldml"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
