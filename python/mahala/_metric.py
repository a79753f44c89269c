"""What every learned metric can do."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _mahala
from ._common import csr_parts, issparse, threads
from ._constraint_input import stacked
from ._diagnostics import Diagnostics
from ._native import frozen, kept

Floats = NDArray[np.float64]
#: Multiplications up to which the compiled part stays on the caller's thread: then nobody is asked how many there may be.
FEW = 2**20


class MahalanobisDistance:
    """A learned distance between two points, as scikit-learn's ``metric`` wants it.

    Independent of the estimator it came from, and picklable.

    Parameters
    ----------
    linear_map : array-like of shape (n_components, n_features)
        L of the distance ``|L (u - v)|``.
    weight_outside : float or None, default=None
        The weight of what lies outside the span of the rows of L, which then are orthogonal.
    scale : array-like of shape (n_features,), default=None
        What columns are divided by before that weight; None for 1.
    center : array-like of shape (n_features,), default=None
        For a metric chosen for the cosine: what is subtracted first. The distance is then that of ``L (u - center)`` and
        ``L (v - center)``, each divided by its norm.

    Examples
    --------
    >>> from mahala import MahalanobisDistance
    >>> distance = MahalanobisDistance([[2.0, 0.0], [0.0, 1.0]])
    >>> float(distance([0.0, 0.0], [1.0, 0.0]))
    2.0
    """

    def __init__(
        self,
        linear_map: ArrayLike,
        weight_outside: float | None = None,
        scale: ArrayLike | None = None,
        center: ArrayLike | None = None,
    ) -> None:
        self.linear_map = np.atleast_2d(np.array(linear_map, dtype=np.float64))
        self.weight_outside = weight_outside
        self.center = None if center is None else np.asarray(center, dtype=np.float64)
        self.scale = np.ones(self.linear_map.shape[1]) if scale is None else np.asarray(scale, dtype=np.float64)

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        # Points may come as tables of one row, as SciPy's distances take them.
        u, v = (np.atleast_1d(np.squeeze(np.asarray(point, dtype=np.float64))) for point in (u, v))
        if u.ndim != 1 or v.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
        if self.center is None:
            z = self.linear_map @ (u - v)
        else:
            z = unit(self.linear_map @ (u - self.center)) - unit(self.linear_map @ (v - self.center))
        square = np.sum(z * z)
        if self.weight_outside is not None:
            # The rows of the map are orthogonal then, and the weight is of what they leave out.
            lengths = np.sum((self.linear_map * self.scale) ** 2, axis=1)
            inside = np.sum(z * z / np.where(lengths > 0, lengths, 1.0))
            square += self.weight_outside * max(0.0, np.sum(((u - v) / self.scale) ** 2) - inside)
        return float(square if squared else np.sqrt(square))


def unit(z: Floats) -> Floats:
    """A point of norm 1; zeros stay."""
    return z / (np.linalg.norm(z) or 1.0)


class MetricMixin(BaseEstimator):
    """A metric held as ``components_``, ``mean_``, ``scale_`` and ``weight_outside_``."""

    components_: Floats
    mean_: Floats
    scale_: Floats | None
    weight_outside_: float | None
    n_features_in_: int
    n_jobs: int | None

    def transform(self, X: Any) -> Floats:
        """Transform rows to coordinates where the learned distance is Euclidean.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows as they were given to ``fit``.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            The coordinates ``((X - mean_) / scale_) @ components_.T``, of float32 if the rows are. Where the metric was
            chosen for the cosine, rows are divided by their norms: Euclidean distance then ranks as the cosine does.

        Notes
        -----
        What lies outside the span of the training rows, where ``weight_outside_`` is not None, is not in these
        coordinates. Neighbours among training rows are exact all the same; between other rows, ``pair_distance``
        and ``to_faiss_matrix`` have it.
        """
        check_is_fitted(self, "components_")
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse="csr")
        if issparse(X):
            return self._native().transform_sparse(csr_parts(X), threads(self.n_jobs)).astype(X.dtype, copy=False)
        few = len(X) * np.size(self.components_) <= FEW
        return self._native().transform(X, None if few else threads(self.n_jobs))

    def transform_array(self, X: NDArray[Any]) -> NDArray[Any]:
        """Transform a NumPy array without scikit-learn's checks: for one row at a time, as a server gets them.

        The same numbers as ``transform`` gives. Column names, ``set_output`` and ``n_jobs`` are not looked at; shape and
        finite numbers are.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features) or (n_features,), float64 or float32
            Rows, or one row.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components) or (n_components,)
            Coordinates, of float32 if the rows are.
        """
        native = self._native()
        return native.transform(X[None])[0] if X.ndim == 1 else native.transform(X)

    def get_mahalanobis_matrix(self) -> Floats:
        """Return the matrix A of the squared distance ``(x - y) @ A @ (x - y)``, for rows as they are given.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
            Symmetric and positive semidefinite.
        """
        check_is_fitted(self, "components_")
        return _mahala.matrix(self._state())

    def get_metric(self) -> MahalanobisDistance:
        """Return the learned distance as a function of two points, for ``metric=`` of scikit-learn's estimators.

        Transforming the rows first is much faster; this is for estimators that cannot be put behind a
        transformation.

        Returns
        -------
        distance : MahalanobisDistance
            A function of two points, which can be pickled.
        """
        check_is_fitted(self, "components_")
        center = self.mean_ if self._is_cosine() else None
        return MahalanobisDistance(_mahala.linear_map(self._state()), self.weight_outside_, self.scale_, center)

    def pair_distance(self, pairs: Any) -> Floats:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or two of shape (n_pairs, n_features)
            Both ends of each pair; or a tuple of two arrays, of first and of second ends.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self, "components_")
        pairs = self._check_pairs(stacked(pairs))
        return _mahala.pair_distances(self._state(), pairs[:, 0], pairs[:, 1], threads(self.n_jobs), self._is_cosine())

    def pair_score(self, pairs: Any) -> Floats:
        """Return the negated distance of each pair: the larger, the more alike.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or two of shape (n_pairs, n_features)
            Both ends of each pair; or a tuple of two arrays, of first and of second ends.

        Returns
        -------
        scores : ndarray of shape (n_pairs,)
            Negated distances.
        """
        return -self.pair_distance(pairs)

    def to_onnx(self, path: str | PathLike[str] | None = None, *, dtype: Any = np.float64) -> bytes:
        """Return the transformation as an ONNX model, with input ``X`` and output ``Z``.

        As ``to_faiss_matrix``, it includes what ``weight_outside_`` weighs.

        Parameters
        ----------
        path : path, optional
            Where to write the model too; the file appears whole or not at all.
        dtype : float64 or float32
            The numbers of the model; float32 for runtimes on other devices than a CPU.

        Returns
        -------
        model : bytes
            The content of the file.
        """
        check_is_fitted(self, "components_")
        dtype = np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype is {dtype}; it must be float64 or float32")
        model = _mahala.onnx(self._state(), dtype == np.float32, self._is_cosine())
        if path is not None:
            _mahala.write_file(path, model)
        return model

    def to_faiss_matrix(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return matrix and bias of the transformation in single precision: ``Z = X @ matrix.T + bias``.

        What ``faiss.LinearTransform`` takes, and any vector database that stores ``X @ matrix.T``: the bias
        moves all points alike and changes no distance. The user guide has the recipe. Where the metric was chosen for the
        cosine, what it gives is to be searched by the cosine, with the bias.

        A metric learned on fewer rows than columns with ``reg`` also weighs what lies outside the span of those rows
        (``weight_outside_``); the matrix then has ``n_features`` rows and holds that part, so that Euclidean distances
        of its output are the learned ones.

        Returns
        -------
        matrix : ndarray of shape (n_components, n_features), or (n_features, n_features), float32
            The linear map.
        bias : ndarray with as many numbers as the matrix has rows, float32
            What is added.
        """
        check_is_fitted(self, "components_")
        matrix = _mahala.whole_map(self._state())
        bias = -matrix @ self.mean_
        with np.errstate(over="ignore"):
            single = np.ascontiguousarray(matrix, dtype=np.float32), bias.astype(np.float32)
        if not all(np.isfinite(part).all() for part in single):
            raise ValueError("the metric leaves the range of float32; rescale the columns or standardise")
        return single

    @property
    def eigenvalues_(self) -> Floats:
        """The eigenvalues of SD, descending; see ``log_eigenvalues_`` where they leave the range."""
        check_is_fitted(self, "components_")
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.log_eigenvalues_)

    def _state(self) -> tuple[Floats, Floats, Floats | None, float | None]:
        return self.components_, self.mean_, self.scale_, self.weight_outside_

    def _is_cosine(self) -> bool:
        """Whether the metric was chosen for the cosine of the coordinates."""
        params = getattr(self, "model_params_", {})
        return params.get("similarity") == "cosine" and params.get("method") in ("auto", "auto-kernel")

    def _native(self) -> _mahala.PreparedMetric:
        """The metric, checked once."""
        try:
            state = self._state()
        except AttributeError:
            check_is_fitted(self, "components_")
            raise
        cosine = self._is_cosine()
        return kept(self, (*state, cosine), lambda: _mahala.PreparedMetric(state, cosine))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("components_", "mean_", "scale_"):
            frozen(self.__dict__.get(name))

    def _keep(self, learned: dict[str, Any]) -> None:
        """Keeps what the compiled part has learned."""
        self.components_ = frozen(learned["components"])
        self.mean_ = frozen(learned["mean"])
        self.scale_ = frozen(learned["scale"])
        self.weight_outside_ = learned["weight_outside"]
        # Those of a model file, where they are not the mean; the command fills them in for missing cells.
        self._column_means: list[float] | None = learned.get("column_means")
        self.log_eigenvalues_: Floats = learned["log_eigenvalues"]
        self.model_params_: dict[str, Any] = json.loads(learned["params"])
        self.diagnostics_: dict[str, Any] = Diagnostics(json.loads(learned["diagnostics"]))
        self.t_: float | None = learned.get("t", self.model_params_.get("t_used"))
        selection = self.diagnostics_.get("selection") or {}
        self.t_path_: Floats = np.array(selection.get("curve", []), dtype=np.float64).reshape(-1, 2)

    def _check_pairs(self, pairs: Any) -> Floats:
        pairs = check_array(pairs, dtype=np.float64, allow_nd=True, ensure_2d=False, input_name="pairs")
        name = type(self).__name__
        if pairs.ndim != 3:
            raise ValueError(
                f"3D array of formed tuples expected by {name}. Found {pairs.ndim}D array instead. "
                "Reshape your data to (n_pairs, 2, n_features)."
            )
        if pairs.shape[1] != 2:
            raise ValueError(
                f"Tuples of 2 element(s) expected by {name}. Got tuples of {pairs.shape[1]} element(s) "
                f"instead (shape={pairs.shape})."
            )
        wanted = getattr(self, "n_features_in_", pairs.shape[2])
        if pairs.shape[2] != wanted:
            raise ValueError(
                f"X has {pairs.shape[2]} features, but {name} is expecting {wanted} features as input."
            )
        return pairs
