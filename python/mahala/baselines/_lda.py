"""Linear discriminant analysis."""

from __future__ import annotations

from typing import Any

from .._learner import Learner


class LDA(Learner):
    """Linear discriminant analysis as a metric (Fisher 1936, Rao 1948).

    The leading directions of the scatter between classes, in units of the scatter within them.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; one less than there are classes if None.
    shrinkage : float or None, default=None
        From 0 to 1; if None, 0 unless the scatter within classes is singular, and 0.1 then.
    {shared}

    Examples
    --------
    >>> from mahala import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LDA().fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "lda"

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
