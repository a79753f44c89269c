"""The methods GMML is compared with: each one's parameters, in its own words."""

from __future__ import annotations

from typing import Any

from ._learner import NAMES, SHARED, PairsRival, Rival


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


class RecipeGMML(Rival):
    """GMML step by step: leading directions, all pairs, then neighbourhood rounds, each in closed form.

    What ``AutoGMML`` chooses among by itself (its ``recipes_``), with everything given. In a round, S is made of each row's
    nearest rows of its own class and D of its nearest rows of other classes, under the metric so far.

    Parameters
    ----------
    t : float in [0, 1] or None, default=0.5
        The place on the geodesic over all pairs; None for the plain distance.
    rounds : sequence of (int, float), default=()
        For each round, how many neighbours, and t.
    directions : int or None, default=None
        Learn inside this many leading directions of the pencil (D, S).
    shrinkage : float in [0, 1], default=0.0
        How far S is shrunk in every step.
    towards_identity : bool, default=False
        Towards the identity, for columns of one unit, instead of the diagonal of S.
    standardize : bool, default=False
        Divide each column by its standard deviation first; ``transform`` does it too.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    components_, mean_, scale_
        As for GMML.

    Examples
    --------
    >>> from mahala import RecipeGMML
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> RecipeGMML(t=0.25, rounds=[(3, 0.25), (3, 0.5)], directions=4, shrinkage=0.1).fit(X, y).transform(X).shape
    (178, 4)
    """

    _method = "recipe"

    def __init__(
        self,
        *,
        t: float | None = 0.5,
        rounds: Any = (),
        directions: int | None = None,
        shrinkage: float = 0.0,
        towards_identity: bool = False,
        standardize: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.t = t
        self.rounds = rounds
        self.directions = directions
        self.shrinkage = shrinkage
        self.towards_identity = towards_identity
        self.standardize = standardize
        self.n_jobs = n_jobs


class ITML(PairsRival):
    """Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon 2007).

    The metric nearest to the identity in the LogDet divergence under which similar pairs are near and
    dissimilar pairs far, by Bregman projections; labelled rows stand for 40 c (c - 1) random pairs.

    Parameters
    ----------
    gamma : "auto" or float, default=1.0
        What a violated constraint costs. "auto" chooses it from 1e-4 to 1e4 by two-fold cross-validation of
        nearest neighbours.
    bounds : pair of float or None, default=None
        Squared distances that similar pairs should not exceed and dissimilar ones should reach; from a sample of
        the rows' own distances if None.
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
        bounds: tuple[float, float] | None = None,
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
        self.bounds = bounds
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
        Stop when five iterations together lower the objective by a smaller share.
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
        Stop when five iterations together gain a smaller share.
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
        Stop when five iterations together lower the objective by a smaller share.
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
    rival._method: rival for rival in (Euclidean, Covariance, RecipeGMML, ITML, LMNN, NCA, MCML, MMC, FlatGeo)
}
for _rival in RIVALS.values():
    _rival.__doc__ = (_rival.__doc__ or "").replace("{shared}", SHARED)


def unfitted(params: dict[str, Any]) -> Rival:
    """The estimator a model file's parameters describe."""
    rival = RIVALS[params["method"]]
    names = {theirs: ours for ours, theirs in rival._names.items()}
    known = rival._get_param_names()
    wanted = {names.get(key, key): value for key, value in params.items()}
    if "rounds" in wanted:
        wanted["rounds"] = [tuple(step) for step in wanted["rounds"]]
    return rival(**{key: value for key, value in wanted.items() if key in known})
