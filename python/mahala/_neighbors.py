"""What the estimators of nearest neighbours share: rows kept under a metric, and their exact search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._common import count, issparse, number, threads
from ._native import frozen, kept
from ._notice import validated

Floats = NDArray[np.float64]
Found = tuple[NDArray[np.int64], Floats]
Self = TypeVar("Self", bound="Neighbors")
#: Rows that are converted, projected and searched at a time: of single precision there is no second whole table.
CHUNK = 65_536
#: Neighbours that a search in a ball starts with, and numbers that it may hold.
FIRST, HELD = 32, 2**24
#: The parts of the docstrings that all share.
METRIC = """metric : None, "euclidean", array of shape (n_features, n_features) or estimator, default=None
        Under which rows are near: Euclidean, a positive definite matrix, or anything with ``transform``
        (GMML, NeighborhoodComponentsAnalysis, a pipeline). A fitted estimator is used as it is; one that is
        not fitted yet is cloned and fitted first. Note that scikit-learn's ``clone``, and so
        cross-validation, un-fits estimators; ``sklearn.frozen.FrozenEstimator`` prevents it.
    n_jobs : int or None, default=None
        Threads; results do not depend on it. None: what joblib's ``parallel_config`` says, else RAYON_NUM_THREADS
        or OMP_NUM_THREADS if set, else all cores."""
WEIGHTS = """n_neighbors : int, default=5
        How many neighbours {what}.
    weights : {{"uniform", "distance"}}, callable or None, default="uniform"
        "uniform" or None: all neighbours count the same. "distance": each by the inverse of its distance; where
        training rows are at distance 0, they alone. A function gets the array of distances and returns one of weights."""
FITTED = """metric_ : estimator or None
        The fitted estimator, if the metric is one.
    n_samples_fit_ : int
        How many training rows are kept.
    n_features_in_ : int
        How many columns they have.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if they are all strings."""


class Neighbors(BaseEstimator):
    """What all of them share; not to be used by itself."""

    metric: Any
    n_neighbors: int
    n_jobs: int | None
    weights: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        what = "vote" if issubclass(cls, ClassifierMixin) else "are averaged"
        text = (cls.__doc__ or "").replace("{metric}", METRIC).replace("{fitted}", FITTED)
        cls.__doc__ = text.replace("{weights}", WEIGHTS.format(what=what))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training rows of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            The rows. None: the training rows, of which none is its own neighbour.
        n_neighbors : int, default=None
            How many; None for the estimator's own number.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            The distances, ascending; only if ``return_distance``.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            The positions of the neighbours among the training rows; of equal distances, the earlier row first.
        """
        indices, distances = self._found(X, n_neighbors)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Make the sparse graph of the nearest training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            The rows. None: the training rows, of which none is its own neighbour.
        n_neighbors : int, default=None
            How many; None for the estimator's own number.
        mode : {"connectivity", "distance"}, default="connectivity"
            What edges hold: 1, or the distance.

        Returns
        -------
        A : csr_matrix of shape (n_queries, n_samples_fit)
            The edge from each row to its neighbours.
        """
        check_mode(mode)
        indices, distances = self._found(X, n_neighbors)
        cells = np.ones(indices.size) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, indices.size + 1, indices.shape[1])
        return csr_matrix((cells, indices.ravel(), starts), shape=(len(indices), self.n_samples_fit_))

    def radius_neighbors(self, X: Any = None, radius: float = 1.0, return_distance: bool = True) -> Any:
        """Find all training rows within a distance of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            The rows. None: the training rows, of which none is its own neighbour.
        radius : float, default=1.0
            The largest distance, itself included.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries,) of ndarrays
            The distances, ascending; only if ``return_distance``.
        neigh_ind : ndarray of shape (n_queries,) of ndarrays
            The positions of the neighbours among the training rows; of equal distances, the earlier row first.
        """
        found = self._within(X, radius)
        indices, distances = np.empty(len(found), dtype=object), np.empty(len(found), dtype=object)
        for i, (near, far) in enumerate(found):
            indices[i], distances[i] = near, far
        return (distances, indices) if return_distance else indices

    def radius_neighbors_graph(self, X: Any = None, radius: float = 1.0, mode: str = "connectivity") -> Any:
        """Make the sparse graph of the training rows within a distance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), default=None
            The rows. None: the training rows, of which none is its own neighbour.
        radius : float, default=1.0
            The largest distance, itself included.
        mode : {"connectivity", "distance"}, default="connectivity"
            What edges hold: 1, or the distance.

        Returns
        -------
        A : csr_matrix of shape (n_queries, n_samples_fit)
            The edge from each row to its neighbours.
        """
        check_mode(mode)
        found = self._within(X, radius)
        starts = np.cumsum([0, *(len(near) for near, _ in found)])
        indices = np.concatenate([near for near, _ in found])
        cells = np.ones(len(indices)) if mode == "connectivity" else np.concatenate([far for _, far in found])
        return csr_matrix((cells, indices, starts), shape=(len(found), self.n_samples_fit_))

    def get_metadata_routing(self) -> Any:
        """Say which metadata reach the metric's ``fit``.

        Returns
        -------
        routing : MetadataRouter
            From this estimator's ``fit`` to that of the metric, if it is an estimator.
        """
        router = MetadataRouter(owner=type(self).__name__)
        if hasattr(self.metric, "get_metadata_routing"):
            router.add(metric=self.metric, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def _fit_rows(self: Self, given: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        """Keeps rows, projected, and learns the metric if it is not fitted yet."""
        count("n_neighbors", self.n_neighbors, 1)
        self._linear: Floats | None = None
        self.metric_ = None
        if hasattr(self.metric, "transform"):
            self.metric_ = self.metric
            if not is_fitted(self.metric):
                self.metric_ = clone(self.metric)
                self.metric_.fit(given, y, **self._routed(fit_params))
                fit_params = {}
        elif self.metric is not None and not isinstance(self.metric, str):
            matrix = check_array(self.metric, dtype=np.float64, input_name="metric")
            if matrix.shape != (X.shape[1], X.shape[1]):
                raise ValueError(f"metric is {matrix.shape}; for {X.shape[1]} features it must be square so")
            self._linear = frozen(_mahala.components_of(matrix))
        elif self.metric not in (None, "euclidean"):
            raise ValueError(
                f"metric is {self.metric!r}; it must be None, 'euclidean', a matrix, or an estimator with "
                "transform"
            )
        if fit_params:
            raise TypeError(f"fit got {', '.join(fit_params)}, and there is no metric to learn that takes it")
        # A copy: the caller's array may change.
        self._keep_rows(np.concatenate(list(self._projected(given, X))))

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        if not fit_params or not routing_is_enabled():
            return fit_params
        return dict(process_routing(self, "fit", **fit_params).metric.fit)

    def _keep_rows(self, rows: Floats) -> None:
        """Keeps rows in coordinates where the metric is Euclidean, and their index."""
        self._rows = frozen(rows)
        self.n_samples_fit_ = len(rows)
        self._index()

    def _index(self) -> _mahala.NeighborIndex:
        """The index of the training rows: built once, and again after unpickling."""
        rows = self._rows
        return kept(self, (rows,), lambda: _mahala.NeighborIndex(rows, threads(self.n_jobs)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        frozen(self.__dict__.get("_rows"))

    def _found(self, X: Any, n_neighbors: int | None = None) -> Found:
        """Indices and distances."""
        check_is_fitted(self, "n_samples_fit_")
        k = self._k(self.n_neighbors if n_neighbors is None else n_neighbors, among=X is None)
        if X is not None:
            jobs = threads(self.n_jobs)
            parts = [self._index().search(part, k, jobs) for part in self._queries(X)]
            return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))  # type: ignore[return-value]
        indices, distances = self._index().search(self._rows, k + 1, threads(self.n_jobs))
        return without_self(indices, indices), without_self(indices, distances)

    def _weights(self, found: Found) -> Floats | None:
        """The weight of every neighbour; None for all the same."""
        if self.weights in (None, "uniform"):
            return None
        if isinstance(self.weights, str) and self.weights == "distance":
            return _mahala.inverse_distances(found)
        if not callable(self.weights):
            raise ValueError(f"weights is {self.weights!r}; it must be 'uniform', 'distance', None or a function")
        weights = np.ascontiguousarray(self.weights(found[1]), dtype=np.float64)
        if weights.shape != found[1].shape:
            raise ValueError(f"weights returned shape {weights.shape} for distances of shape {found[1].shape}")
        return weights

    def _k(self, k: Any, among: bool = False) -> int:
        k = count("n_neighbors", k, 1)
        if k + among > self.n_samples_fit_:
            raise ValueError(
                f"Expected n_neighbors {'<' if among else '<='} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {self.n_samples_fit_}"
            )
        return k

    def _within(self, X: Any, radius: Any) -> list[Found]:
        """Indices and distances of each row's neighbours in a ball: more are asked for until one lies outside."""
        check_is_fitted(self, "n_samples_fit_")
        radius, index, found = number("radius", radius), self._index(), []
        if not radius >= 0:
            raise ValueError(f"radius is {radius}; it must be 0 or above")
        for queries in [self._rows] if X is None else self._queries(X):
            balls: list[Any] = [None] * len(queries)
            pending, k = np.arange(len(queries)), min(FIRST, self.n_samples_fit_)
            while len(pending):
                open_balls = []
                for part in np.array_split(pending, -(-len(pending) * k // HELD)):
                    indices, distances = index.search(np.ascontiguousarray(queries[part]), k, threads(self.n_jobs))
                    whole = (distances[:, -1] > radius) | (k == self.n_samples_fit_)
                    for i in np.flatnonzero(whole):
                        inside = distances[i] <= radius
                        if X is None:
                            inside &= indices[i] != part[i]
                        balls[part[i]] = indices[i][inside], distances[i][inside]
                    open_balls.append(part[~whole])
                pending, k = np.concatenate(open_balls), min(4 * k, self.n_samples_fit_)
            found += balls
        return found

    def _queries(self, X: Any) -> Iterator[Floats]:
        """Rows where the metric is Euclidean, a part at a time."""
        checked = validated(self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse="csr")
        return self._projected(X, checked)

    def _projected(self, given: Any, checked: Any) -> Iterator[Floats]:
        """Parts of a table, converted and projected one after the other."""
        rows = checked.shape[0]
        if rows <= CHUNK:
            yield self._project(given, checked.astype(np.float64, copy=False))
            return
        for start in range(0, rows, CHUNK):
            part = slice(start, start + CHUNK)
            yield self._project(_safe_indexing(given, part), checked[part].astype(np.float64, copy=False))

    def _project(self, given: Any, checked: Any) -> Floats:
        """Rows where the metric is Euclidean; an estimator sees them as given, with their column names."""
        if self.metric_ is not None:
            names = hasattr(self.metric_, "feature_names_in_")
            return np.asarray(self.metric_.transform(given if names else checked), dtype=np.float64)
        if issparse(checked):
            checked = checked.toarray()
        if self._linear is not None:
            zeros = np.zeros(self._linear.shape[1])
            return _mahala.transform((self._linear, zeros, None, None), checked, threads(self.n_jobs))
        return np.asarray(checked)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_samples_fit_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class WeightedNeighbors(Neighbors):
    """Neighbours that vote, or are averaged; not to be used by itself."""

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[[Floats], Any] | None = "uniform",
        metric: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.n_jobs = n_jobs


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator has learned."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def routing_is_enabled() -> bool:
    """Whether scikit-learn routes metadata."""
    from sklearn import get_config

    return bool(get_config().get("enable_metadata_routing", False))


def without_self(indices: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
    """Drops from each row of `part` the place where its own index stands, or else the last."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return part[~own].reshape(len(part), -1)


def check_mode(mode: Any) -> None:
    """Refuses edges that a graph does not have."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode is {mode!r}; it must be 'connectivity' or 'distance'")
