"""Mahalanobis-based online metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, TripletsLearner


class MOML(TripletsLearner):
    """Mahalanobis-based online metric learning (Li et al. 2018).

    An online learner of triplets with a fixed step; the metric is the positive part.

    Parameters
    ----------
    step : float, default=0.01
        The step size, for rows in a ball of radius 1.
    n_neighbors : int or None, default=None
        Nearest rows of its own class for each row; 3 if None. Not with triplets.
    n_impostors : int or None, default=None
        Nearest rows of other classes for each of these; 10 if None. Not with triplets.
    max_iter : int, default=1
        How often each triplet is presented.
    {shared}

    Examples
    --------
    >>> from mahala import MOML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MOML().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "moml"
    _names = NAMES | {"max_iter": "passes", "n_impostors": "impostors"}

    def __init__(
        self,
        *,
        step: float = 0.01,
        n_neighbors: int | None = None,
        n_impostors: int | None = None,
        max_iter: int = 1,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.step = step
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
