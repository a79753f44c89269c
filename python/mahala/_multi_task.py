"""One metric a task, drawn towards what the tasks share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from . import _mahala
from ._common import check_classes, class_names, count, encode, number, threads
from ._metric import MahalanobisDistance
from ._notice import validated

Floats = NDArray[np.float64]


class MultiTaskGMML(BaseEstimator):
    """Geometric mean metric learning for several tasks: one metric each, drawn towards their common mean.

    For task k with S_k and D_k, the means over all similar and all dissimilar pairs of its rows::

        A_k = (S_k + reg inv(A_0))^-1 #_t (D_k + reg A_0)

    and A_0 the Karcher mean of the A_k, in turn. A task of few rows borrows from the others.

    Parameters
    ----------
    t : float in [0, 1], default=0.5
        The place on the geodesics.
    reg : float, default=0.1
        The pull of the common metric: 0 leaves the tasks to themselves, a large number makes their metrics one.
    n_rounds : int, default=5
        How often metrics and mean are computed in turn.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    tasks_ : ndarray of shape (n_tasks,)
        The names of the tasks, sorted.
    task_components_ : ndarray of shape (n_tasks, n_features, n_features)
        The linear map of each task's metric.
    task_means_ : ndarray of shape (n_tasks, n_features)
        The mean of each task's rows, which ``transform`` subtracts.
    components_ : ndarray of shape (n_features, n_features)
        The linear map of the common metric: for rows of a new task.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import MultiTaskGMML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tasks = np.arange(150) % 3
    >>> model = MultiTaskGMML().fit(X, y, tasks)
    >>> model.transform(X, tasks).shape, model.distance(2)(X[2], X[2])
    ((150, 4), 0.0)
    """

    def __init__(self, *, t: float = 0.5, reg: float = 0.1, n_rounds: int = 5, n_jobs: int | None = None) -> None:
        self.t = t
        self.reg = reg
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, tasks: Any) -> MultiTaskGMML:
        """Learn a metric for every task.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of all tasks.
        y : array-like of shape (n_samples,)
            Their classes; those of one task need not be those of another.
        tasks : array-like of shape (n_samples,)
            The task of each row.

        Returns
        -------
        self : MultiTaskGMML
            The fitted metrics.
        """
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        y, tasks = check_classes(y), column_or_1d(tasks)
        check_consistent_length(X, tasks)
        names, codes = np.unique(tasks, return_inverse=True)
        parts = []
        for task in range(len(names)):
            rows = codes == task
            classes, labels = encode(y[rows])
            if len(classes) < 2:
                raise ValueError(f"task {names[task].item()!r} has one class; every task needs two at least")
            parts.append((np.ascontiguousarray(X[rows]), class_names(classes), labels))
        t, reg, rounds = number("t", self.t), number("reg", self.reg), count("n_rounds", self.n_rounds, 1)
        metrics, self.components_ = _mahala.fit_multi_task(parts, t, reg, rounds, threads(self.n_jobs))
        self.tasks_: NDArray[Any] = names
        self.task_components_: Floats = np.stack([components for components, _ in metrics])
        self.task_means_: Floats = np.stack([mean for _, mean in metrics])
        return self

    def transform(self, X: Any, tasks: Any) -> Floats:
        """Transform each row to the coordinates in which its task's distance is Euclidean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        tasks : array-like of shape (n_samples,)
            The task of each; coordinates of different tasks are not to be compared.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
            The coordinates.
        """
        check_is_fitted(self, "task_components_")
        X = validated(self, X, reset=False, dtype=np.float64)
        tasks = column_or_1d(tasks)
        check_consistent_length(X, tasks)
        codes = np.array([self._number(task) for task in tasks.tolist()], dtype=np.intp)
        Z = np.empty((len(X), self.task_components_.shape[1]))
        for task in np.unique(codes):
            rows = codes == task
            state = self.task_components_[task], self.task_means_[task], None, None
            Z[rows] = _mahala.transform(state, np.ascontiguousarray(X[rows]), threads(self.n_jobs))
        return Z

    def distance(self, task: Any = None) -> MahalanobisDistance:
        """Return the distance of a task, or of all together.

        Parameters
        ----------
        task : object, default=None
            The name of a task; None for the common metric.

        Returns
        -------
        distance : MahalanobisDistance
            A function of two points.
        """
        check_is_fitted(self, "task_components_")
        return MahalanobisDistance(self.components_ if task is None else self.task_components_[self._number(task)])

    def _number(self, task: Any) -> int:
        found = np.flatnonzero(self.tasks_ == task)
        if len(found) != 1:
            raise ValueError(f"there is no task {task!r}; the tasks are {self.tasks_.tolist()}")
        return int(found[0])
