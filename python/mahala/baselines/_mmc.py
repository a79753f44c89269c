"""Mahalanobis metric for clustering."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class MMC(PairsLearner):
    """Metric learning for clustering with side information (Xing, Ng, Jordan, Russell 2002).

    Dissimilar pairs as far apart as they can be while the squared distances of similar pairs sum up to no more
    than a constant. Labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    diagonal : bool, default=False
        Learn a diagonal matrix: one weight a column.
    max_iter : int, default=100
        The most iterations.
    tol : float or None, default=None
        Stop when a step is shorter than this share of A (full; None: 0.01), or lowers the objective by less
        (diagonal; None: 0.001).
    {shared}

    Examples
    --------
    >>> from mahala import MMC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MMC().fit(X, y).converged_
    True
    """

    _method = "mmc"

    def __init__(
        self,
        *,
        diagonal: bool = False,
        max_iter: int = 100,
        tol: float | None = None,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.diagonal = diagonal
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
