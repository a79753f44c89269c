"""Nearest class mean metric learning."""

from __future__ import annotations

from typing import Any

from .._learner import Learner


class NCMML(Learner):
    """Nearest class mean metric learning (Mensink, Verbeek, Perronnin, Csurka 2012).

    Maximises the likelihood of the classes under a softmax of the distances to their means.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    init : {"auto", "identity", "pca", "lda"}, default="auto"
        The first linear map.
    max_iter : int, default=200
        The most iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when five iterations together gain less.
    {shared}

    Examples
    --------
    >>> from mahala import NCMML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NCMML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "ncmml"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
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
