"""Metric learning for kernel regression."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import _mahala
from .._common import refuse
from .._learner import Learner
from .._notice import validated

Self = TypeVar("Self", bound="MLKR")


class MLKR(Learner):
    """Metric learning for kernel regression (Weinberger, Tesauro 2007).

    For targets that are numbers: minimises the squared error of each row's target against the mean of the others,
    weighted by a Gaussian kernel of the distance. Memory does not grow with the square of the rows.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    max_iter : int, default=100
        The most iterations of L-BFGS.
    tol : float, default=1e-5
        Stop when five iterations together gain a smaller share.
    {shared}

    Notes
    -----
    The kernel's bandwidth is in the metric, so the result depends on the scale of the columns: ``standardize`` is True
    by default here.

    Examples
    --------
    >>> from mahala import MLKR
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> MLKR(n_components=2, max_iter=5, tol=1.0).fit(X, y).transform(X).shape
    (442, 2)
    """

    _method = "mlkr"
    # Columns are divided before the method sees them, as for every other estimator.
    _fixed: ClassVar[dict[str, Any]] = {"standardize": False}

    def __init__(
        self,
        *,
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-5,
        standardize: bool = True,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self: Self, X: Any, y: Any = None, **refused: Any) -> Self:
        """Learn from rows and a number for each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The number of each row.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : MLKR
            The fitted metric.
        """
        refuse(self, refused, "rows cannot be weighted here; GMML weighs rows of classes")
        X, y = validated(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
        self._keep(_mahala.learn_targets(X, np.ascontiguousarray(y, dtype=np.float64), self._plan()))
        self._warn()
        return self
