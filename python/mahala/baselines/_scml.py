"""Sparse compositional metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, TripletsLearner


class SCML(TripletsLearner):
    """Sparse compositional metric learning (Shi, Bellet, Sha 2014).

    A sparse sum of local discriminant directions, learned from triplets by dual averaging; columns are standardised.

    Parameters
    ----------
    n_bases : int, default=400
        The number of directions to choose from.
    beta : float, default=1e-5
        The penalty on the sum of the weights.
    gamma : float, default=5e-3
        The larger, the shorter the steps.
    n_neighbors : int or None, default=None
        Nearest rows of its own class for each row; 3 if None. Not with triplets.
    n_impostors : int or None, default=None
        Nearest rows of other classes for each of these; 10 if None. Not with triplets.
    max_iter : int, default=10000
        The number of stochastic steps.
    {shared}

    Examples
    --------
    >>> from mahala import SCML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SCML().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "scml"
    _names = NAMES | {"n_bases": "bases", "n_impostors": "impostors"}

    def __init__(
        self,
        *,
        n_bases: int = 400,
        beta: float = 1e-5,
        gamma: float = 5e-3,
        n_neighbors: int | None = None,
        n_impostors: int | None = None,
        max_iter: int = 10_000,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_bases = n_bases
        self.beta = beta
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
