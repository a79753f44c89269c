"""GMML of Tyler's estimators."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, PairsLearner


class RobustGMML(PairsLearner):
    """GMML of Tyler's estimators of the two scatter matrices, for labels of which some are wrong.

    Pairs count by their direction alone; ``diagnostics_["choice"]`` lists the similar pairs that are least so.

    Parameters
    ----------
    t : float, default=0.5
        The place on the geodesic.
    reg : float, default=0.0
        Added to the diagonals, whose mean is 1.
    shrinkage : float, default=0.05
        Towards the identity, above 0 and at most 1.
    max_iter : int, default=500
        The most iterations of the fixed point.
    tol : float, default=1e-9
        Stop when no entry changes by more.
    {shared}

    Examples
    --------
    >>> from mahala import RobustGMML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RobustGMML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "robust-gmml"
    _names = NAMES | {"reg": "lambda"}

    def __init__(
        self,
        *,
        t: float = 0.5,
        reg: float = 0.0,
        shrinkage: float = 0.05,
        max_iter: int = 500,
        tol: float = 1e-9,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.t = t
        self.reg = reg
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
