"""The difference of two inverse covariances."""

from __future__ import annotations

from typing import Any

from .._learner import PairsLearner


class KISSME(PairsLearner):
    """Keep it simple and straightforward metric learning (Köstinger et al. 2012).

    The inverse covariance of similar pairs less that of dissimilar pairs, where that is positive.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    shrinkage : float or None, default=None
        From 0 to 1; if None, 0 unless the covariance of similar pairs is singular, and 0.1 then.
    {shared}

    Examples
    --------
    >>> from mahala import KISSME
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KISSME().fit(X, y).transform(X).shape[0]
    150
    """

    _method = "kissme"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        shrinkage: float | None = None,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
