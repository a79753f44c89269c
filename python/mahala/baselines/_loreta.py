"""Online learning on the manifold of low-rank matrices."""

from __future__ import annotations

from typing import Any

from .._learner import NAMES, TripletsLearner


class LORETA(TripletsLearner):
    """LORETA (Shalit, Weinshall, Chechik 2010).

    An online learner of triplets whose matrix keeps its rank.

    Parameters
    ----------
    form : {"psd", "general"}, default="psd"
        What keeps the rank: a metric ``UU'``, or a similarity ``AB'`` that need not be symmetric, of which the metric is the
        positive semidefinite part.
    n_components : int or None, default=None
        The rank; full if None.
    step : float, default=0.01
        The step size, for rows in a ball of radius 1.
    n_neighbors : int or None, default=None
        Nearest rows of its own class for each row; 3 if None. Not with triplets.
    n_impostors : int or None, default=None
        Nearest rows of other classes for each of these; 10 if None. Not with triplets.
    max_iter : int, default=1
        How often each triplet is presented.
    {shared}

    Examples
    --------
    >>> from mahala import LORETA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LORETA().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "loreta"
    _names = NAMES | {"max_iter": "passes", "n_impostors": "impostors"}

    def __init__(
        self,
        *,
        form: str = "psd",
        n_components: int | None = None,
        step: float = 0.01,
        n_neighbors: int | None = None,
        n_impostors: int | None = None,
        max_iter: int = 1,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.form = form
        self.n_components = n_components
        self.step = step
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
