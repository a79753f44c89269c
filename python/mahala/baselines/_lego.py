"""LogDet exact gradient online."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, PairsLearner


class LEGO(PairsLearner):
    """LogDet exact gradient online (Jain, Kulis, Dhillon, Grauman 2008).

    An online learner of pairs that stays positive definite whatever the step.

    Parameters
    ----------
    step : float, default=1.0
        The step size, for rows in a ball of diameter 1.
    max_iter : int, default=5
        How often each pair is presented.
    {shared}

    Examples
    --------
    >>> from mahala import LEGO
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LEGO().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "lego"
    _names = NAMES | {"max_iter": "passes"}

    def __init__(
        self,
        *,
        step: float = 1.0,
        max_iter: int = 5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.step = step
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
