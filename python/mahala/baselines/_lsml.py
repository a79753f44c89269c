"""Least squared-residual metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, QuadrupletsLearner


class LSML(QuadrupletsLearner):
    """Least squared-residual metric learning (Liu, Guo, Wang, Li 2012).

    Similar pairs should be nearer than dissimilar ones, over quadruplets drawn from the classes; near to the
    identity.

    Parameters
    ----------
    n_quadruplets : int or None, default=None
        Quadruplets drawn; 40 c (c - 1) for c classes if None.
    max_iter : int, default=1000
        The most iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when five iterations together gain less.
    {shared}

    Examples
    --------
    >>> from mahala import LSML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LSML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "lsml"
    _names = NAMES | {"n_quadruplets": "quadruplets"}

    def __init__(
        self,
        *,
        n_quadruplets: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_quadruplets = n_quadruplets
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
