"""Online similarity."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, TripletsLearner


class OASIS(TripletsLearner):
    """Online algorithm for scalable image similarity (Chechik, Sharma, Shalit, Bengio 2010).

    A bilinear similarity learned from triplets, passive-aggressively; the metric is its positive part.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        The largest step.
    n_neighbors : int or None, default=None
        Nearest rows of its own class for each row; 3 if None. Not with triplets.
    n_impostors : int or None, default=None
        Nearest rows of other classes for each of these; 10 if None. Not with triplets.
    max_iter : int, default=1
        How often each triplet is presented.
    {shared}

    Examples
    --------
    >>> from mahala import OASIS
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> OASIS().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "oasis"
    _names = NAMES | {"max_iter": "passes", "n_impostors": "impostors"}

    def __init__(
        self,
        *,
        aggressiveness: float = 0.1,
        n_neighbors: int | None = None,
        n_impostors: int | None = None,
        max_iter: int = 1,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.aggressiveness = aggressiveness
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
