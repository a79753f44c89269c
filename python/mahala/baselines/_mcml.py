"""Maximally collapsing metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import Learner


class MCML(Learner):
    """Maximally collapsing metric learning (Globerson, Roweis 2005).

    A convex objective that is least where every class collapses into a point, far from the others.

    Parameters
    ----------
    max_iter : int, default=200
        The most iterations.
    tol : float, default=1e-6
        Stop when five iterations together lower the objective by a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import MCML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MCML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "mcml"

    def __init__(
        self,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
