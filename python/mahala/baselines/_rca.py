"""Relevant component analysis."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, ChunksLearner


class RCA(ChunksLearner):
    """Relevant component analysis (Shental, Hertz, Weinshall, Pavel 2002).

    The inverse of the covariance within classes, or within chunks of rows drawn from them; every row counts once.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    shrinkage : float or None, default=None
        From 0 to 1; if None, 0 unless it is singular, and 0.1 then.
    n_chunks : int or None, default=None
        Chunks drawn from the classes; every class is one if None.
    chunk_size : int, default=2
        The rows of a chunk that is drawn.
    {shared}

    Examples
    --------
    >>> from mahala import RCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RCA().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "rca"
    _names = NAMES | {"n_chunks": "chunklets", "chunk_size": "chunklet_size"}

    def __init__(
        self,
        *,
        n_components: int | None = None,
        shrinkage: float | None = None,
        n_chunks: int | None = None,
        chunk_size: int = 2,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.n_chunks = n_chunks
        self.chunk_size = chunk_size
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
