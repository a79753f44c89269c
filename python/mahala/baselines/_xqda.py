"""KISSME in a discriminant subspace."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class XQDA(PairsLearner):
    """Cross-view quadratic discriminant analysis (Liao et al. 2015).

    KISSME in the directions in which dissimilar pairs differ more than similar ones, with a ridge.

    Parameters
    ----------
    n_components : int or None, default=None
        The most directions; all that separate if None.
    ridge : float, default=1e-3
        Added to the covariance of similar pairs, in units of the columns' variances.
    {shared}

    Examples
    --------
    >>> from mahala import XQDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> XQDA().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "xqda"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        ridge: float = 1e-3,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
