"""Distance metric learning by the Jeffrey divergence."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, Learner


class DMLMJ(Learner):
    """Distance metric learning through the maximisation of the Jeffrey divergence (Nguyen et al. 2017).

    The directions in which near rows of other classes differ most from near rows of the same class.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    n_neighbors : int, default=3
        Nearest rows of its own class and of others for each row.
    shrinkage : float or None, default=None
        From 0 to 1; if None, 0 unless the covariance of near rows of one class is singular, and 0.1 then.
    {shared}

    Examples
    --------
    >>> from mahala import DMLMJ
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> DMLMJ().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "dmlmj"
    _names = NAMES | {"n_neighbors": "neighbors"}

    def __init__(
        self,
        *,
        n_components: int | None = None,
        n_neighbors: int = 3,
        shrinkage: float | None = None,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
