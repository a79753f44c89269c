"""Information-theoretic metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, PairsLearner


class ITML(PairsLearner):
    """Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007).

    The metric nearest to the identity in the LogDet divergence under which similar pairs are near and
    dissimilar pairs far, by Bregman projections; labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    gamma : "auto" or float, default=1.0
        What a violated constraint costs. "auto" chooses it from 1e-4 to 1e4 by two-fold cross-validation of
        nearest neighbours.
    bounds : pair of float or None, default=None
        Squared distances that similar pairs should not exceed and dissimilar ones should reach; from a sample of
        the rows' own distances if None.
    max_iter : int, default=100000
        The most projections.
    tol : float, default=0.01
        Stop when a sweep over all pairs changes the dual by a smaller share.
    n_neighbors : int, default=5
        Neighbours that vote when gamma is chosen.
    {shared}

    Examples
    --------
    >>> from mahala import ITML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = ITML().fit(X, y)
    >>> itml.converged_
    True
    >>> itml.transform(X).shape
    (150, 4)
    """

    _method = "itml"
    _names = NAMES | {"max_iter": "max_projections", "n_neighbors": "k"}

    def __init__(
        self,
        *,
        gamma: float | str = 1.0,
        bounds: tuple[float, float] | None = None,
        max_iter: int = 100_000,
        tol: float = 0.01,
        n_neighbors: int = 5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.bounds = bounds
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
