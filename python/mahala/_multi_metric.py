"""Large margin nearest neighbours with a metric for each class."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from . import _mahala
from ._common import check_classes, class_names, count, encode, number, plan, seed
from ._diagnostics import Diagnostics
from ._labelled import check_two
from ._local import LocalClassifier
from ._notice import validated, warn_of_labels
from ._progress import reporter

Floats = NDArray[np.float64]


class MultiMetricLMNN(LocalClassifier):
    """Large margin nearest neighbours with a metric for each class (Weinberger, Saul 2008).

    The distance from a row to a training row y of class c is measured by the metric of c, and all metrics minimise one
    objective: that of LMNN, in which a target is as far as the metric of its class says, and an impostor as the metric of the
    impostor's. The minimisation starts at the global metric of ``LMNN``, and its objective is never above that one's.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote.
    n_targets : int, default=3
        Target neighbours of each row: its nearest of the same class.
    n_components : int or None, default=None
        The rank of all metrics, in the span of the global one; full if None.
    hinge : {"squared", "classic"}, default="squared"
        The newer edition's loss, or the first one's.
    push : float in [0, 1], default=0.5
        The share of the hinges in the classic objective.
    init : {"auto", "identity", "pca", "lda"}, default="pca"
        The first linear map of the global metric.
    max_iter : int, default=100
        The most iterations, of the global metric and then of those of the classes.
    tol : float, default=1e-5
        Stop when the objective falls by a smaller share.
    time_limit : float or None, default=None
        Stop after this many seconds, with the best metrics so far.
    verbose : int, default=0
        With 1, a line tells iteration and objective, a few times a second; ``mahala.progress`` tells a function.
    random_state : int, RandomState instance or None, default=None
        Kept in the model file; nothing is drawn.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    local_maps_ : ndarray of shape (n_classes, n_components, n_components)
        From the coordinates of the rows to those of each class, in the order of ``groups_``.
    groups_ : ndarray of shape (n_samples,)
        The number of each training row's map.
    components_ : ndarray of shape (n_components, n_features)
        From rows to these coordinates: the identity at full rank, else the map of the global metric.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from rows.
    scale_ : None
        Columns are not standardised.
    objective_ : float
        The objective of all metrics together.
    n_iter_ : int
        Iterations done for the metrics of the classes.
    converged_ : bool
        If not, a ``ConvergenceWarning`` was given.
    diagnostics_ : dict
        These three, and why the fit stopped.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import MultiMetricLMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(MultiMetricLMNN().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9)
    True
    """

    scale_ = None

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_targets: int = 3,
        n_components: int | None = None,
        hinge: str = "squared",
        push: float = 0.5,
        init: str = "pca",
        max_iter: int = 100,
        tol: float = 1e-5,
        time_limit: float | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_targets = n_targets
        self.n_components = n_components
        self.hinge = hinge
        self.push = push
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> MultiMetricLMNN:
        """Learn the global metric, then those of the classes, and keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, which are kept.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : MultiMetricLMNN
            The fitted classifier.
        """
        count("n_neighbors", self.n_neighbors, 1)
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, codes = encode(check_classes(y))
        check_two(classes)
        warn_of_labels(classes, len(y))
        learned = _mahala.learn_multi_metric((X, class_names(classes), codes), self._plan())
        self.components_, self.mean_ = learned["components"], learned["mean"]
        self.local_maps_: Floats = np.stack(learned["maps"])
        self.groups_: NDArray[np.uint32] = learned["groups"]
        self.classes_, self._codes, self._rows = classes, codes, learned["rows"]
        self._keep_report(json.loads(learned["params"]), json.loads(learned["diagnostics"]))
        if not self.converged_:
            message = f"MultiMetricLMNN: {self.diagnostics_['outcome']}; raise max_iter, or loosen tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _keep_report(self, params: dict[str, Any], diagnostics: dict[str, Any]) -> None:
        self.model_params_, self.diagnostics_ = params, Diagnostics(diagnostics)
        self.objective_: float = diagnostics["objective"]
        self.n_iter_: int = max(1, diagnostics["iterations"])
        self.converged_: bool = diagnostics["converged"]

    def _plan(self) -> dict[str, Any]:
        rank = self.n_components
        parameters = {
            "targets": count("n_targets", self.n_targets, 1),
            "rank": None if rank is None else count("n_components", rank, 1),
            "hinge": self.hinge,
            "push": number("push", self.push),
            "start": self.init,
            "max_iterations": count("max_iter", self.max_iter, 1),
            "tolerance": number("tol", self.tol),
            "seed": seed(self.random_state),
        }
        limit = None if self.time_limit is None else number("time_limit", self.time_limit)
        if limit is not None and not limit > 0:
            raise ValueError(f"time_limit is {limit}; it must be above 0, in seconds")
        return plan("multi-metric-lmnn", parameters, self.n_jobs, time_limit=limit, progress=reporter(self))
