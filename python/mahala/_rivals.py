"""The methods GMML is compared with, each in its own words, all fitted alike."""

from __future__ import annotations

import json
import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from . import _mahala
from ._common import class_names, count, encode, number, seed, threads
from ._gmml import check_two
from ._metric import MetricMixin

Self = TypeVar("Self", bound="Rival")

#: Python's names of parameters, and the library's; others are the same in both.
NAMES = {
    "n_components": "rank",
    "max_iter": "max_iterations",
    "min_iter": "min_iterations",
    "tol": "tolerance",
    "random_state": "seed",
    "init": "start",
    "n_neighbors": "targets",
}
#: Whole numbers, with the least that makes sense.
COUNTS = {"selection_rows": 4, "n_components": 1, "max_iter": 1, "min_iter": 0, "k": 1, "n_neighbors": 1}
#: What steers a fit and is no parameter of the method.
STEERING = {"standardize", "n_jobs", "verbose", "time_limit"}


class Rival(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetricMixin):
    """What all of them share; not to be used by itself."""

    _method: ClassVar[str]
    _names: ClassVar[dict[str, str]] = NAMES
    _needs_labels: ClassVar[bool] = True

    standardize: bool

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Learns from rows and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        labels = None
        if self._needs_labels:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(y)
            classes, codes = encode(y)
            check_two(classes)
            labels = class_names(classes), codes
            self.classes_: NDArray[Any] = classes
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            if y is not None:
                check_consistent_length(X, y)
        self._keep(_mahala.learn(X, labels, self._plan()))
        self._warn()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # here, for scikit-learn to give it set_output
        return super().transform(X)

    transform.__doc__ = MetricMixin.transform.__doc__

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _plan(self) -> dict[str, Any]:
        """The parameters, checked, as the compiled part takes them."""
        given = self.get_params(deep=False)
        parameters: dict[str, Any] = {}
        for name, value in given.items():
            if name in STEERING:
                continue
            if name == "random_state":
                value = seed(value)
            elif name in COUNTS and value is not None:
                value = count(name, value, COUNTS[name])
            elif not (value is None or isinstance(value, (str, bool, np.bool_))):
                value = number(name, value)
            parameters[self._names.get(name, name)] = bool(value) if isinstance(value, np.bool_) else value
        time_limit = given.get("time_limit")
        if time_limit is not None:
            time_limit = number("time_limit", time_limit)
            if not time_limit > 0:
                raise ValueError(f"time_limit is {time_limit}; it must be above 0, in seconds")
        return {
            "method": self._method,
            "parameters": json.dumps(parameters),
            "standardize": bool(self.standardize),
            "time_limit": time_limit,
            "groups": None,
            "tell": self._tell if given.get("verbose") else None,
            "threads": threads(self.n_jobs),
        }

    def _tell(self, iteration: int, objective: float | None) -> None:
        value = "" if objective is None else f", objective {objective:.6g}"
        print(f"[{type(self).__name__}] iteration {iteration}{value}", flush=True)

    def _keep(self, learned: dict[str, Any]) -> None:
        super()._keep(learned)
        del self.t_, self.t_path_  # there is no t
        if "max_iter" in self.get_params(deep=False):
            self.n_iter_: int = self.diagnostics_["iterations"]
            self.objective_: float | None = self.diagnostics_["objective"]
            self.converged_: bool = self.diagnostics_["converged"]

    def _warn(self) -> None:
        if not self.diagnostics_["converged"]:
            message = f"{type(self).__name__}: {self.diagnostics_['outcome']}; raise max_iter, or loosen tol"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.target_tags.one_d_labels = self._needs_labels
        return tags


class PairsRival(Rival):
    """One that learns from pairs, too."""

    def fit_pairs(self: Self, pairs: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from pairs of rows, without classes.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
        y : array-like of shape (n_pairs,)
            +1 for a similar pair, -1 for a dissimilar one.
        sample_weight : array-like of shape (n_pairs,), optional
        """
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
        pairs, y = self._check_pairs(pairs), np.asarray(y)
        if y.shape != (len(pairs),) or not np.isin(y, (-1, 1)).all():
            raise ValueError("y must have one mark for each pair: +1 (similar) or -1 (dissimilar)")
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        learned = _mahala.learn_pairs(first, second, (y == 1).tolist(), sample_weight, self._plan())
        self.n_features_in_ = pairs.shape[2]
        self._keep(learned)
        self._warn()
        return self


class Euclidean(Rival):
    """The plain distance, for comparison: nothing is learned but, if asked, the scales of the columns.

    Parameters
    ----------
    standardize : bool, default=False
        Divide each column by its standard deviation.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_, mean_, scale_
        As for GMML.

    Examples
    --------
    >>> from mahala import Euclidean
    >>> Euclidean().fit([[0.0, 1.0], [2.0, 5.0]]).get_mahalanobis_matrix()
    array([[1., 0.],
           [0., 1.]])
    """

    _method = "euclidean"
    _needs_labels = False

    def __init__(self, *, standardize: bool = False, n_jobs: int | None = None) -> None:
        self.standardize = standardize
        self.n_jobs = n_jobs


class Covariance(Rival):
    """The inverse covariance of the rows: the classic Mahalanobis distance, without labels.

    If the covariance is singular, its pseudo-inverse: directions in which no row differs weigh nothing.

    Parameters
    ----------
    standardize : bool, default=False
        Changes nothing but rounding, for the inverse covariance is indifferent to units.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_, mean_, scale_
        As for GMML.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import Covariance
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> A = Covariance().fit(X).get_mahalanobis_matrix()
    >>> bool(np.allclose(A, np.linalg.inv(np.cov(X.T))))
    True
    """

    _method = "covariance"
    _needs_labels = False

    def __init__(self, *, standardize: bool = False, n_jobs: int | None = None) -> None:
        self.standardize = standardize
        self.n_jobs = n_jobs


SHARED = """standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    time_limit : float or None, default=None
        Stop after this many seconds, with the best metric so far.
    verbose : bool, default=False
        Print iteration and objective, a few times a second.
    random_state : int, RandomState instance or None, default=None
        Decides all random draws. None means 0: a fit is reproducible unless a generator is given.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_, mean_, scale_
        As for GMML.
    n_iter_ : int
    objective_ : float or None
        The method's objective at the metric returned.
    converged_ : bool
        If not, a ``ConvergenceWarning`` was given, and the metric is the best so far.
    diagnostics_ : dict
        These three, and why the fit stopped."""


class ITML(PairsRival):
    """Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007).

    The metric nearest to the identity in the LogDet divergence under which similar pairs are near and
    dissimilar pairs far, by Bregman projections; labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    gamma : "auto" or float, default=1.0
        What a violated constraint costs. "auto" chooses it from 1e-4 to 1e4 by two-fold cross-validation of
        nearest neighbours.
    max_iter : int, default=100000
        The most projections.
    tol : float, default=0.01
        Stop when a sweep over all pairs changes the dual by a smaller share.
    k : int, default=5
        Neighbours that vote when gamma is chosen.
    {shared}

    Examples
    --------
    >>> from mahala import ITML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = ITML().fit(X, y)
    >>> itml.converged_
    True
    >>> itml.transform(X).shape
    (150, 4)
    """

    _method = "itml"
    _names = NAMES | {"max_iter": "max_projections"}

    def __init__(
        self,
        *,
        gamma: float | str = 1.0,
        max_iter: int = 100_000,
        tol: float = 0.01,
        k: int = 5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.k = k
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


class FlatGeo(PairsRival):
    """Regression on fixed-rank matrices in the flat geometry (Meyer, Bonnabel, Sepulchre 2011), in one batch.

    Pairs that are farther apart, or nearer, than they should be are penalised by the square of the excess;
    gradient descent on G with A = G G^T. Labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    tol : float, default=1e-5
        Stop when the objective, or its decrease as a share of it, is below this.
    min_iter : int, default=0
        But not before this many iterations; the GMML paper's experiment has 10000.
    max_iter : int, default=100000
        The most iterations.
    {shared}

    Examples
    --------
    >>> from mahala import FlatGeo
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> FlatGeo(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "flatgeo"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        tol: float = 1e-5,
        min_iter: int = 0,
        max_iter: int = 100_000,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.min_iter = min_iter
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


class MMC(PairsRival):
    """Metric learning for clustering with side information (Xing, Ng, Jordan, Russell 2002).

    Dissimilar pairs as far apart as they can be while the squared distances of similar pairs sum up to no more
    than a constant. Labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    diagonal : bool, default=False
        Learn a diagonal matrix: one weight a column.
    max_iter : int, default=100
        The most iterations.
    tol : float or None, default=None
        Stop when a step is shorter than this share of A (full; None: 0.01), or lowers the objective by less
        (diagonal; None: 0.001).
    {shared}

    Examples
    --------
    >>> from mahala import MMC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MMC().fit(X, y).converged_
    True
    """

    _method = "mmc"

    def __init__(
        self,
        *,
        diagonal: bool = False,
        max_iter: int = 100,
        tol: float | None = None,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.diagonal = diagonal
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


class LMNN(Rival):
    """Large margin nearest neighbours (Weinberger, Saul 2009).

    Pulls every row to its target neighbours and pushes rows of other classes out of their reach by a margin;
    the newer edition, with squared hinges, by default.

    Parameters
    ----------
    n_neighbors : int, default=3
        Target neighbours of each row: its nearest of the same class.
    n_components : int or None, default=None
        The rank; full if None.
    hinge : {"squared", "classic"}, default="squared"
        The newer edition's loss, or the first one's.
    push : float in [0, 1], default=0.5
        The share of the hinges in the classic objective.
    init : {"auto", "identity", "pca", "lda"}, default="pca"
        The first linear map.
    max_iter : int, default=100
        The most iterations.
    tol : float, default=1e-5
        Stop when one iteration lowers the objective by a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import LMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LMNN(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "lmnn"

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        n_components: int | None = None,
        hinge: str = "squared",
        push: float = 0.5,
        init: str = "pca",
        max_iter: int = 100,
        tol: float = 1e-5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.hinge = hinge
        self.push = push
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


class NCA(Rival):
    """Neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov 2004).

    Maximises the expected number of rows that a random neighbour, drawn by distance, would classify right.

    Parameters
    ----------
    n_components : int or None, default=None
        The rank; full if None.
    init : {"auto", "identity", "pca", "lda"}, default="auto"
        The first linear map.
    max_iter : int, default=50
        The most iterations.
    tol : float, default=1e-5
        Stop when one iteration gains a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import NCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NCA(n_components=2, max_iter=200).fit(X, y).transform(X).shape
    (150, 2)
    """

    _method = "nca"

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: str = "auto",
        max_iter: int = 50,
        tol: float = 1e-5,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


class MCML(Rival):
    """Maximally collapsing metric learning (Globerson, Roweis 2005).

    A convex objective that is least where every class collapses into a point, far from the others.

    Parameters
    ----------
    max_iter : int, default=200
        The most iterations.
    tol : float, default=1e-6
        Stop when one iteration lowers the objective by a smaller share.
    {shared}

    Examples
    --------
    >>> from mahala import MCML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MCML().fit(X, y).transform(X).shape
    (150, 4)
    """

    _method = "mcml"

    def __init__(
        self,
        *,
        max_iter: int = 200,
        tol: float = 1e-6,
        standardize: bool = False,
        time_limit: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs


#: By the library's names.
RIVALS: dict[str, type[Rival]] = {
    rival._method: rival for rival in (Euclidean, Covariance, ITML, LMNN, NCA, MCML, MMC, FlatGeo)
}
for _rival in RIVALS.values():
    _rival.__doc__ = (_rival.__doc__ or "").replace("{shared}", SHARED)


def unfitted(params: dict[str, Any]) -> Rival:
    """The estimator a model file's parameters describe."""
    rival = RIVALS[params["method"]]
    names = {theirs: ours for ours, theirs in rival._names.items()}
    known = rival._get_param_names()
    wanted = {names.get(key, key): value for key, value in params.items()}
    return rival(**{key: value for key, value in wanted.items() if key in known})
