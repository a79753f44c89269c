"""Sparse compositional metric learning with weights that depend on the row."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import check_classes, class_names, count, encode, number, plan, seed
from ._diagnostics import Diagnostics
from ._labelled import check_two
from ._local import LocalClassifier
from ._notice import validated, warn_of_labels
from ._progress import reporter
from ._threads import threads

Floats = NDArray[np.float64]


class LocalSCML(LocalClassifier):
    """SCML with a metric at every point (Shi, Bellet, Sha 2014), and the vote of nearest rows under it.

    All metrics are sums of the same bases; the weight of a basis at a row is the square of a linear function of the row's kernel
    principal components. Bases and first weights are those of the global form, ``SCML``, and the objective is never above that
    of this start. The distance from a query to the training rows is measured by the metric at the query.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote.
    n_bases : int, default=400
        The bases that the global form draws.
    beta : float, default=1e-5
        The penalty: the larger, the fewer bases are used.
    gamma : float, default=5e-3
        Of the global form: the larger, the shorter its steps.
    n_targets : int or None, default=None
        Nearest rows of its own class for each row; 3 if None.
    n_impostors : int or None, default=None
        Nearest rows of other classes for each of these; 10 if None.
    n_components : int, default=8
        The kernel principal components that weights depend on.
    n_landmarks : int, default=200
        The rows that kernels are taken with.
    step : float, default=0.3
        The length of a basis's first step, in roots of the mean weight.
    max_iter : int, default=10000
        Steps of the global form, and then of the local one.
    time_limit : float or None, default=None
        Stop after this many seconds, with the best weights so far.
    verbose : int, default=0
        With 1, a line tells step and objective, a few times a second; ``mahala.progress`` tells a function.
    random_state : int, RandomState instance or None, default=None
        Of bases, landmarks and steps.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    bases_ : ndarray of shape (n_bases_used, n_features)
        The bases in use, for standardised rows.
    objective_ : float
        The objective reached.
    global_objective_ : float
        That of the start: the global form's weights.
    n_iter_ : int
        Steps made.
    diagnostics_ : dict
        How the fit ended.
    components_ : ndarray of shape (n_features, n_features)
        What brings rows to length 1 on average.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from rows.
    scale_ : ndarray of shape (n_features,)
        What columns are divided by.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    See Also
    --------
    SCML : The global form.
    MultiMetricLMNN : A metric for each class.

    Examples
    --------
    >>> from mahala import LocalSCML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> local = LocalSCML(max_iter=1000, random_state=0).fit(X[::2], y[::2])
    >>> bool(local.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_bases: int = 400,
        beta: float = 1e-5,
        gamma: float = 5e-3,
        n_targets: int | None = None,
        n_impostors: int | None = None,
        n_components: int = 8,
        n_landmarks: int = 200,
        step: float = 0.3,
        max_iter: int = 10_000,
        time_limit: float | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_bases = n_bases
        self.beta = beta
        self.gamma = gamma
        self.n_targets = n_targets
        self.n_impostors = n_impostors
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.step = step
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> LocalSCML:
        """Learn bases and weights, and keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, which are kept.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : LocalSCML
            The fitted classifier.
        """
        count("n_neighbors", self.n_neighbors, 1)
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, codes = encode(check_classes(y))
        check_two(classes)
        warn_of_labels(classes, len(y))
        learned = _mahala.learn_local_scml((X, class_names(classes), codes), self._plan())
        self.components_, self.mean_, self.scale_ = learned["components"], learned["mean"], learned["scale"]
        names = "bases", "weights", "landmarks", "kernel_mean", "directions", "rows"
        self._parts: dict[str, Any] = {name: learned[name] for name in names}
        self.bases_: Floats = learned["bases"]
        self.classes_, self._codes, self._rows = classes, codes, learned["rows"]
        self.diagnostics_ = Diagnostics(json.loads(learned["diagnostics"]))
        self.objective_: float = self.diagnostics_["objective"]
        self.global_objective_: float = learned["global_objective"]
        self.n_iter_: int = max(1, self.diagnostics_["iterations"])
        return self

    def weights(self, X: Any) -> Floats:
        """Return the weight of each basis at each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        w : ndarray of shape (n_queries, n_bases_used)
            The weights: the metric at row i is that of the bases, each times the root of its weight.
        """
        check_is_fitted(self, "components_")
        X = validated(self, X, reset=False, dtype=np.float64)
        labels = class_names(self.classes_), self._codes
        return _mahala.local_scml_weights((self.components_, self.mean_, self.scale_, None), self._parts, labels, X)

    def _classify(self, X: Any) -> tuple[NDArray[np.int64], Floats]:
        check_is_fitted(self, "components_")
        X = validated(self, X, reset=False, dtype=np.float64)
        # Of fewer rows than that, all vote.
        k = min(count("n_neighbors", self.n_neighbors, 1), len(self._rows))
        state, labels = (self.components_, self.mean_, self.scale_, None), (class_names(self.classes_), self._codes)
        return _mahala.classify_local_scml(state, self._parts, labels, X, k, threads(self.n_jobs))

    def _plan(self) -> dict[str, Any]:
        steps = count("max_iter", self.max_iter, 1)
        parameters = {
            "scml": {
                "bases": count("n_bases", self.n_bases, 1),
                "beta": number("beta", self.beta),
                "gamma": number("gamma", self.gamma),
                "targets": None if self.n_targets is None else count("n_targets", self.n_targets, 1),
                "impostors": None if self.n_impostors is None else count("n_impostors", self.n_impostors, 1),
                "max_iterations": steps,
                "seed": seed(self.random_state),
            },
            "components": count("n_components", self.n_components, 1),
            "landmarks": count("n_landmarks", self.n_landmarks, 1),
            "step": number("step", self.step),
            "max_iterations": steps,
        }
        limit = None if self.time_limit is None else number("time_limit", self.time_limit)
        if limit is not None and not limit > 0:
            raise ValueError(f"time_limit is {limit}; it must be above 0, in seconds")
        return plan("local-scml", parameters, self.n_jobs, time_limit=limit, progress=reporter(self))
