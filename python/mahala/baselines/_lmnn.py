"""Large margin nearest neighbours."""

from __future__ import annotations

from typing import Any

from .._learner import Learner


class LMNN(Learner):
    """Large margin nearest neighbours (Weinberger, Saul 2009).

    Pulls every row to its target neighbours and pushes rows of other classes out of their reach by a margin;
    the newer edition, with squared hinges, by default.

    Parameters
    ----------
    n_neighbors : int, default=3
        Target neighbours of each row: its nearest of the same class.
    n_components : int or None, default=None
        The rank; full if None.
    hinge : {"squared", "classic"}, default="squared"
        The newer edition's loss, or the first one's.
    push : float in [0, 1], default=0.5
        The share of the hinges in the classic objective.
    init : {"auto", "identity", "pca", "lda"}, default="pca"
        The first linear map.
    max_iter : int, default=100
        The most iterations.
    tol : float, default=1e-5
        Stop when five iterations together lower the objective by a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import LMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LMNN(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "lmnn"

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        n_components: int | None = None,
        hinge: str = "squared",
        push: float = 0.5,
        init: str = "pca",
        max_iter: int = 100,
        tol: float = 1e-5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.hinge = hinge
        self.push = push
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
