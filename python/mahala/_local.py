"""A metric for each class, or each cluster of rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import check_classes, class_names, count, encode, folds, learning_params, number, refuse, threads
from ._diagnostics import Diagnostics
from ._notice import validated, warn_of_labels

Floats = NDArray[np.float64]


class LocalClassifier(ClassifierMixin, BaseEstimator):
    """Votes of training rows, each measured by the metric of its group; not to be used by itself."""

    n_neighbors: int
    n_jobs: int | None
    components_: Floats
    mean_: Floats
    scale_: Floats | None
    local_maps_: Floats
    groups_: NDArray[np.uint32]
    classes_: NDArray[Any]
    _rows: Floats
    _codes: NDArray[np.uint32]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_queries,)
            The class with the most votes.
        """
        winners, _ = self._classify(X)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of neighbours in each class.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes)
            Shares, in the order of ``classes_``.
        """
        _, votes = self._classify(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def _classify(self, X: Any) -> tuple[NDArray[np.int64], Floats]:
        check_is_fitted(self, "components_")
        X = validated(self, X, reset=False, dtype=np.float64)
        jobs = threads(self.n_jobs)
        z = _mahala.transform((self.components_, self.mean_, self.scale_, None), X, jobs)
        # Of fewer rows than that, all vote.
        k = min(count("n_neighbors", self.n_neighbors, 1), len(self._rows))
        names = class_names(self.classes_)
        maps = list(self.local_maps_)
        return _mahala.classify_locally(self._rows, maps, self.groups_, names, self._codes, z, k, jobs)


class LocalGMML(LocalClassifier):
    """Nearest neighbours under local metrics, each on the geodesic from the global metric to its own.

    The distance from a row to a training row y is measured by the metric of y's group::

        A_g(s) = A #_s A_g

    with A the metric of all pairs and A_g that of the group's (of class c: pairs within c, and between c and the
    rest; of a cluster: the pairs of its rows), scaled to the determinant of A. With s between 0, the global metric,
    and 1, groups with few rows borrow strength from all.

    Parameters
    ----------
    by : {"class", "cluster"}, default="class"
        What has a metric of its own.
    n_clusters : int, default=8
        Clusters for ``by="cluster"`` (k-means under the global metric).
    share : "auto" or float in [0, 1], default="auto"
        The place s on the geodesic; "auto" chooses it by cross-validation. 0 is among the values tried.
    n_neighbors : int, default=5
        Neighbours that vote.
    t : "cv" or float in [0, 1], default="cv"
        Place between the inverse of S (0: shrink what similar pairs differ in) and D (1: stretch what
        dissimilar pairs differ in). "cv" chooses it by cross-validation of nearest neighbours.
    reg : float or None, default=None
        The paper's lambda: the weight of the prior.
    shrinkage : float in [0, 1], "analytic" or None, default=None
        Shrinks S and D towards their diagonals; "analytic" shrinks S alone, as far as the number of rows asks
        for. Not together with ``reg``.
    prior : {"identity", "diagonal", "covariance"} or array of shape (n_features, n_features), default="identity"
        The prior metric of ``reg``: Euclidean, inverse variances, inverse covariance, or a given one.
    standardize : bool, default=False
        Divide each column by its standard deviation first; new rows are divided, too.
    cv : int, splitter or iterable of splits, default=5
        What is chosen on: so many random folds, a scikit-learn splitter, or training and held-out row numbers.
    max_samples : int or float in (0, 1], default=20000
        Choose on at most this many rows, or on this share of them, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Decides the folds and all random draws. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: what joblib's ``parallel_config`` says, else RAYON_NUM_THREADS
        or OMP_NUM_THREADS if set, else all cores.
    verbose : int, default=0
        With 1, a line tells how far the fit is; ``mahala.progress`` tells a function.

    Attributes
    ----------
    share_ : float
        The s given or chosen.
    share_path_ : ndarray of shape (n_values, 2)
        Every s tried with its cross-validated error; empty if it was given.
    local_maps_ : ndarray of shape (n_groups, n_components, n_components)
        From the coordinates of the global metric to those of each group's.
    groups_ : ndarray of shape (n_samples,)
        The group of each training row.
    components_ : ndarray of shape (n_components, n_features)
        The linear map of the global metric.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from rows.
    scale_ : ndarray of shape (n_features,) or None
        What it divides by, if columns are standardised.
    t_ : float
        The t given or chosen for the global metric.
    diagnostics_ : dict
        Pairs, condition numbers, ridge, constant columns.
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    n_features_in_ : int
        How many columns the rows have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings.

    Examples
    --------
    >>> from mahala import LocalGMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> local = LocalGMML(standardize=True).fit(X[::2], y[::2])
    >>> bool(local.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        by: str = "class",
        n_clusters: int = 8,
        share: float | str = "auto",
        n_neighbors: int = 5,
        t: float | str = "cv",
        reg: float | None = None,
        shrinkage: float | None = None,
        prior: Any = "identity",
        standardize: bool = False,
        cv: Any = 5,
        max_samples: int | float = 20_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.by = by
        self.n_clusters = n_clusters
        self.share = share
        self.n_neighbors = n_neighbors
        self.t = t
        self.reg = reg
        self.shrinkage = shrinkage
        self.prior = prior
        self.standardize = standardize
        self.cv = cv
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, **refused: Any) -> LocalGMML:
        """Learn the global metric, then those of the classes or clusters, and keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, which are kept.
        y : array-like of shape (n_samples,)
            Their classes.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, such as its speaker: no group is split between training and held-out rows when
            something is chosen.
        **refused : dict
            Nothing else is taken: ``sample_weight`` is a TypeError.

        Returns
        -------
        self : LocalGMML
            The fitted classifier.
        """
        refuse(self, refused, "local metrics cannot weigh rows; MahalanobisKNN(metric=GMML()) takes a sample_weight")
        k = count("n_neighbors", self.n_neighbors, 1)
        X, y = validated(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, codes = encode(check_classes(y))
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        params = learning_params(self, self.n_features_in_, len(X), k=k)
        params |= folds(self.cv, X, y, groups, used=isinstance(self.t, str) or isinstance(self.share, str))
        learned = _mahala.fit_local(
            X, class_names(classes), codes, params, self._clusters(len(X)), self._share(), threads(self.n_jobs)
        )
        self.components_, self.mean_, self.scale_ = (learned[key] for key in ("components", "mean", "scale"))
        self.t_: float | None = learned["t"]
        self.share_: float = learned["share"]
        self.share_path_: Floats = np.array(learned["share_path"], dtype=np.float64).reshape(-1, 2)
        self.local_maps_: Floats = np.stack(learned["maps"])
        self.groups_: NDArray[np.uint32] = learned["groups"]
        self.diagnostics_: dict[str, Any] = Diagnostics(json.loads(learned["diagnostics"]))
        self.classes_, self._codes, self._rows = classes, codes, learned["rows"]
        warn_of_labels(classes, len(y))
        return self

    def _clusters(self, rows: int) -> int | None:
        if self.by == "class":
            return None
        if self.by != "cluster":
            raise ValueError(f"by is {self.by!r}; it must be 'class' or 'cluster'")
        return min(count("n_clusters", self.n_clusters, 1), rows)

    def _share(self) -> float | None:
        if isinstance(self.share, str):
            if self.share != "auto":
                raise ValueError(f"share is {self.share!r}; it must be 'auto' or a number between 0 and 1")
            return None
        return number("share", self.share)
