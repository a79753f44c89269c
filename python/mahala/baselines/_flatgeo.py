"""Low-rank metrics in flat geometry."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class FlatGeo(PairsLearner):
    """Regression on fixed-rank matrices in the flat geometry (Meyer, Bonnabel, Sepulchre 2011), in one batch.

    Pairs that are farther apart, or nearer, than they should be are penalised by the square of the excess;
    gradient descent on G with A = G G^T. Labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    tol : float, default=1e-5
        Stop when the objective, or its decrease as a share of it, is below this.
    min_iter : int, default=0
        But not before this many iterations; the GMML paper's experiment has 10000.
    max_iter : int, default=100000
        The most iterations.
    {shared}

    Examples
    --------
    >>> from mahala import FlatGeo
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> FlatGeo(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "flatgeo"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        tol: float = 1e-5,
        min_iter: int = 0,
        max_iter: int = 100_000,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
