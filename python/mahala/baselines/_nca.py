"""Neighbourhood components analysis."""

from __future__ import annotations

from typing import Any

from .._learner import Learner


class NCA(Learner):
    """Neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov 2004).

    Maximises the expected number of rows that a random neighbour, drawn by distance, would classify right.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    init : {"auto", "identity", "pca", "lda"}, default="auto"
        The first linear map.
    max_iter : int, default=50
        The most iterations.
    tol : float, default=1e-5
        Stop when five iterations together gain a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NCA(n_components=2, max_iter=200).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "nca"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: str = "auto",
        max_iter: int = 50,
        tol: float = 1e-5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
