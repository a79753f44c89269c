"""Pseudo-metric online learning."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, PairsLearner


class POLA(PairsLearner):
    """Pseudo-metric online learning algorithm (Shalev-Shwartz, Singer, Ng 2004).

    An online learner of pairs: projections on a margin and on the cone of metrics.

    Parameters
    ----------
    max_iter : int, default=5
        How often each pair is presented.
    {shared}

    Examples
    --------
    >>> from mahala import POLA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> POLA().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "pola"
    _names = NAMES | {"max_iter": "passes"}

    def __init__(
        self,
        *,
        max_iter: int = 5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
