"""Local Fisher discriminant analysis."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, Learner


class LFDA(Learner):
    """Local Fisher discriminant analysis (Sugiyama 2007).

    Discriminant analysis in which rows of one class that are far apart need not become near.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    n_neighbors : int, default=7
        The neighbour whose distance is the local scale.
    embedding : {"weighted", "orthonormal", "plain"}, default="weighted"
        The length of the directions.
    shrinkage : float or None, default=None
        From 0 to 1; if None, 0 unless the local scatter within classes is singular, and 0.1 then.
    {shared}

    Examples
    --------
    >>> from mahala import LFDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LFDA().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "lfda"
    _names = NAMES | {"n_neighbors": "neighbors"}

    def __init__(
        self,
        *,
        n_components: int | None = None,
        n_neighbors: int = 7,
        embedding: str = "weighted",
        shrinkage: float | None = None,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.embedding = embedding
        self.shrinkage = shrinkage
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
