"""Geometric mean metric learning for targets that are numbers."""

from __future__ import annotations

from typing import Any

from .._learner import TargetsLearner


class GMMLRegression(TargetsLearner):
    """Geometric mean metric learning for targets that are numbers, in closed form.

    Rows are as similar as their targets are near, ``k = exp(-(y_i - y_j)^2 / 2h^2)``: every pair counts k in S and 1 - k in D.
    The targets are cut into slices, so that the cost is that of one pass over the rows. With ``MahalanobisKNNRegressor(metric=
    GMMLRegression())`` it predicts.

    Parameters
    ----------
    t : float in [0, 1] or None, default=None
        The place on the geodesic; None chooses it by the cross-validated error of nearest-neighbour regression.
    bandwidth : float, default=0.5
        The width h, in standard deviations of the targets.
    n_slices : int, default=64
        The most slices of the targets; where there are no more distinct targets, nothing is approximated.
    shrinkage : float in [0, 1], default=0.01
        How far S and D are shrunk towards their diagonals.
    n_votes : int, default=5
        Neighbours whose mean is the prediction, where t is chosen.
    max_samples : int, default=20000
        The most rows on which t is chosen.
    {shared}

    Examples
    --------
    >>> from mahala import GMMLRegression, MahalanobisKNNRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> knn = MahalanobisKNNRegressor(metric=GMMLRegression(), n_neighbors=15).fit(X[::2], y[::2])
    >>> bool(knn.score(X[1::2], y[1::2]) > 0.35)
    True
    """

    _method = "gmml-regression"
    _names = {"n_slices": "slices", "n_votes": "k", "max_samples": "selection_rows", "random_state": "seed"}

    def __init__(
        self,
        *,
        t: float | None = None,
        bandwidth: float = 0.5,
        n_slices: int = 64,
        shrinkage: float = 0.01,
        n_votes: int = 5,
        max_samples: int = 20_000,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.t = t
        self.bandwidth = bandwidth
        self.n_slices = n_slices
        self.shrinkage = shrinkage
        self.n_votes = n_votes
        self.max_samples = max_samples
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
