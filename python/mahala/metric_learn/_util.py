"""Checks of input, priors and first values, with the names and the words of metric-learn 0.7.0."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from sklearn.datasets import make_spd_matrix
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_y

from .exceptions import NonPSDError, PreprocessorError

Floats = NDArray[np.float64]

#: Dimensions of formed input, and what it is called.
FORMED = {"tuples": (3, "3D array of formed tuples"), "classic": (2, "2D array of formed points")}
INDICATORS = {"tuples": "2D array of indicators", "classic": "1D array of indicators"}


class ArrayIndexer:
    """A preprocessor that looks rows up in an array.

    Parameters
    ----------
    X : array-like of shape (n_points, n_features)
    """

    def __init__(self, X: Any) -> None:
        # Whatever NumPy can index; what comes out is checked afterwards.
        self.X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, ensure_2d=False,
                             allow_nd=True, ensure_min_samples=0, ensure_min_features=0)  # fmt: skip

    def __call__(self, indices: Any) -> Any:
        return self.X[indices]


def check_input(
    input_data: Any,
    y: Any = None,
    preprocessor: Any = None,
    type_of_inputs: str = "classic",
    tuple_size: int | None = None,
    accept_sparse: Any = False,
    dtype: Any = "numeric",
    order: Any = None,
    copy: bool = False,
    force_all_finite: Any = True,
    multi_output: bool = False,
    ensure_min_samples: int = 1,
    ensure_min_features: int = 1,
    y_numeric: bool = False,
    estimator: Any = None,
) -> Any:
    """Rows or tuples as numbers: checked, and formed by the preprocessor where they are indicators.

    Parameters
    ----------
    input_data : array-like
        Points or tuples, or with a preprocessor their indicators.
    y : array-like of shape (n_inputs,), optional
        Labels; of tuples +1 and -1.
    preprocessor : callable or None
    type_of_inputs : {"classic", "tuples"}
    tuple_size : int or None
        How many points a tuple must have.
    accept_sparse, dtype, order, copy, force_all_finite, multi_output, ensure_min_samples, ensure_min_features
        As for scikit-learn's ``check_array``.
    y_numeric : bool
        Whether y becomes numbers.
    estimator : str, estimator or None
        Who is named in errors.

    Returns
    -------
    X : array of shape (n_points, n_features), or (n_tuples, tuple_size, n_features)
    y : array of shape (n_inputs,), if y was given
    """
    if not isinstance(type_of_inputs, str) or type_of_inputs not in FORMED:
        raise ValueError(
            f"Unknown value {type_of_inputs} for type_of_inputs. Valid values are 'classic' or 'tuples'."
        )
    context = make_context(estimator)
    options = {
        "accept_sparse": accept_sparse,
        "order": order,
        "copy": copy,
        "ensure_all_finite": force_all_finite,
        "ensure_2d": False,
        "allow_nd": True,
        "ensure_min_samples": 0,
        "ensure_min_features": 0,
        "estimator": make_name(estimator),
        "input_name": "X",
    }
    X = _formed(input_data, preprocessor, type_of_inputs, context, dtype, options)
    if type_of_inputs == "tuples":
        check_tuple_size(X, tuple_size, context)
    _check_least(X, "sample", 0, ensure_min_samples, context)
    _check_least(X, "feature", -1, ensure_min_features, context)
    if y is None:
        return X
    y = _check_y(y, multi_output=multi_output, y_numeric=y_numeric, estimator=estimator)
    check_consistent_length(X, y)
    if type_of_inputs == "tuples":
        check_y_valid_values_for_pairs(y)
    return X, y


def _formed(data: Any, preprocessor: Any, kind: str, context: str, dtype: Any, options: dict[str, Any]) -> Any:
    """The points or tuples; where the data are indicators, what the preprocessor makes of them."""
    dimensions, name = FORMED[kind]
    if preprocessor is not None:
        given = check_array(data, dtype=None, **(options | {"ensure_all_finite": False}))
        if given.ndim == dimensions - 1:
            form = preprocess_tuples if kind == "tuples" else preprocess_points
            X = check_array(form(given, preprocessor), dtype=dtype, **options)
            if X.ndim != dimensions:
                _wrong_shape(X, name, f"{context} after the preprocessor has been applied", True)
            return X
        if given.ndim != dimensions:
            _wrong_shape(given, f"{INDICATORS[kind]} or {name}", f"{context} when using a preprocessor", False)
    X = check_array(data, dtype=dtype, **options)
    if X.ndim != dimensions:
        _wrong_shape(X, name, context, X.ndim == dimensions - 1)
    return X


def _wrong_shape(X: Any, expected: str, context: str, suggest: bool) -> None:
    remedy = " and/or use a preprocessor" if suggest else ""
    raise ValueError(
        f"{expected} expected{context}. Found {X.ndim}D array instead:\ninput={X}. Reshape your data{remedy}.\n"
    )


def _check_least(X: Any, what: str, axis: int, least: int, context: str) -> None:
    seen = X.shape[axis]
    if seen < least:
        raise ValueError(
            f"Found array with {seen} {what}(s) (shape={X.shape}) while a minimum of {least} is required{context}."
        )


def preprocess_tuples(tuples: Any, preprocessor: Any) -> Any:
    """The points of tuples of indicators, one column of indicators after the other.

    Parameters
    ----------
    tuples : array of shape (n_tuples, tuple_size)
    preprocessor : callable

    Returns
    -------
    tuples : array of shape (n_tuples, tuple_size, n_features)
    """
    try:
        return np.stack([np.asarray(preprocessor(tuples[:, i])) for i in range(tuples.shape[1])], axis=1)
    except Exception as error:
        raise PreprocessorError(error) from error


def preprocess_points(points: Any, preprocessor: Any) -> Any:
    """The points of indicators.

    Parameters
    ----------
    points : array of shape (n_points,)
    preprocessor : callable

    Returns
    -------
    points : array of shape (n_points, n_features)
    """
    try:
        return np.asarray(preprocessor(points))
    except Exception as error:
        raise PreprocessorError(error) from error


def make_context(estimator: Any) -> str:
    """`` by NAME`` for an error message, or nothing."""
    name = make_name(estimator)
    return "" if name is None else f" by {name}"


def make_name(estimator: Any) -> str | None:
    """The name of an estimator, given as such or by name."""
    if estimator is None or isinstance(estimator, str):
        return estimator
    return type(estimator).__name__


def check_tuple_size(tuples: Any, tuple_size: int | None, context: str) -> None:
    """Refuses tuples of another size."""
    if tuple_size is not None and tuples.shape[1] != tuple_size:
        raise ValueError(
            f"Tuples of {tuple_size} element(s) expected{context}. Got tuples of {tuples.shape[1]} element(s) "
            f"instead (shape={tuples.shape}):\ninput={tuples}.\n"
        )


def check_y_valid_values_for_pairs(y: Any) -> None:
    """Refuses marks of pairs other than +1 and -1."""
    if not np.isin(y, (-1, 1)).all():
        raise ValueError(
            "When training on pairs, the labels (y) should contain only values in [-1, 1]. Found an incorrect value."
        )


def check_collapsed_pairs(pairs: Any) -> None:
    """Refuses pairs of a point with itself."""
    collapsed = int((pairs[:, 0] == pairs[:, 1]).all(axis=1).sum())
    if collapsed:
        raise ValueError(
            f"{collapsed} collapsed pairs found (where the left element is the same as the right element), "
            f"out of {len(pairs)} pairs in total."
        )


def validate_vector(u: Any, dtype: Any = None) -> NDArray[Any]:
    """A vector, of whatever is one: a number, a list, a table of one row."""
    vector = np.atleast_1d(np.asarray(u, dtype=dtype, order="C").squeeze())
    if vector.ndim > 1:
        raise ValueError("Input vector should be 1-D.")
    return vector


def _default_tolerance(w: Floats) -> float:
    return float(np.abs(w).max() * len(w) * np.finfo(w.dtype).eps)


def _check_sdp_from_eigen(w: Floats, tol: float | None = None) -> bool:
    """Whether a matrix with these eigenvalues is positive definite; an error if it is not even semidefinite."""
    if tol is None:
        tol = _default_tolerance(w)
    if tol < 0:
        raise ValueError("tol should be positive.")
    if (w < -tol).any():
        raise NonPSDError
    return bool((np.abs(w) >= tol).all() and (w > 0).all())


def components_from_metric(metric: Any, tol: float | None = None) -> Floats:
    """L with A = L^T L.

    Parameters
    ----------
    metric : array of shape (n_features, n_features)
        Symmetric and positive semidefinite, up to rounding.
    tol : float or None
        Negative eigenvalues up to this size are rounding.

    Returns
    -------
    components : array of shape (n_features, n_features)
    """
    metric = np.asarray(metric, dtype=np.float64)
    if not np.allclose(metric, metric.T):
        raise ValueError("The input metric should be symmetric.")
    if np.array_equal(metric, np.diag(np.diag(metric))):
        _check_sdp_from_eigen(np.diag(metric), tol)
        return np.diag(np.sqrt(np.maximum(0, np.diag(metric))))
    w, V = np.linalg.eigh(metric)
    _check_sdp_from_eigen(w, tol)
    return (V * np.sqrt(np.maximum(0, w))).T


def _pseudo_inverse_from_eig(w: Floats, V: Floats, tol: float | None = None) -> Floats:
    """The pseudo-inverse of the symmetric matrix with these eigenvalues and eigenvectors."""
    tol = _default_tolerance(w) if tol is None else tol
    kept = np.abs(w) > tol
    return np.asarray((V[:, kept] / w[kept]) @ V[:, kept].T)


def _check_n_components(n_features: int, n_components: int | None) -> int:
    """The rank; full if None."""
    if n_components is None:
        return n_features
    if isinstance(n_components, Integral) and 0 < n_components <= n_features:
        return int(n_components)
    raise ValueError(f"Invalid n_components, must be in [1, {n_features}]")


def _auto_select_init(
    has_classes: bool, n_features: int, n_samples: int, n_components: int, n_classes: int | None
) -> str:
    """The first value that ``init="auto"`` stands for."""
    if has_classes and n_components <= min(n_features, (n_classes or 0) - 1):
        return "lda"
    return "pca" if n_components < min(n_features, n_samples) else "identity"


def _initialize_components(
    n_components: int,
    input: Any,
    y: Any = None,
    init: Any = "auto",
    verbose: bool = False,
    random_state: Any = None,
    has_classes: bool = True,
) -> Floats:
    """The first linear transformation.

    Parameters
    ----------
    n_components : int
    input : array of shape (n_samples, n_features)
    y : array of shape (n_samples,), optional
    init : {"auto", "pca", "lda", "identity", "random"} or array of shape (n_components, n_features)
    verbose : bool
        Not used: nothing here takes long.
    random_state : int, RandomState instance or None
    has_classes : bool
        Whether y are classes; without them there is no "lda".

    Returns
    -------
    components : array of shape (n_components, n_features)
    """
    n_samples, n_features = input.shape
    if isinstance(init, np.ndarray):
        return _checked_components(init, n_features, n_components)
    names = ["auto", "pca", "identity", "random"] + ["lda"] * has_classes
    if not isinstance(init, str) or init not in names:
        listed = ", ".join(repr(name) for name in names)
        raise ValueError(f"`init` must be {listed} or a numpy array of shape (n_components, n_features).")
    if init == "auto":
        n_classes = len(np.unique(y)) if has_classes else None
        init = _auto_select_init(has_classes, n_features, n_samples, n_components, n_classes)
    if init == "identity":
        return np.eye(n_components, n_features)
    if init == "random":
        return np.asarray(check_random_state(random_state).standard_normal((n_components, n_features)))
    if init == "pca":
        return _padded(PCA(min(n_components, *input.shape), random_state=0).fit(input).components_, n_components)
    scalings = LinearDiscriminantAnalysis().fit(input, y).scalings_
    return _padded(scalings.T[:n_components], n_components)


def _padded(rows: Floats, n_components: int) -> Floats:
    """Rows followed by rows of the identity where they are too few."""
    missing = n_components - len(rows)
    return np.vstack([rows, np.eye(missing, rows.shape[1])]) if missing > 0 else rows


def _checked_components(init: Any, n_features: int, n_components: int) -> Floats:
    init = check_array(init, dtype=np.float64)
    if init.shape[1] != n_features:
        raise ValueError(
            f"The input dimensionality ({init.shape[1]}) of the given linear transformation `init` must match "
            f"the dimensionality of the given inputs `X` ({n_features})."
        )
    if init.shape[0] > init.shape[1]:
        raise ValueError(
            f"The output dimensionality ({init.shape[0]}) of the given linear transformation `init` cannot be "
            f"greater than its input dimensionality ({init.shape[1]})."
        )
    if init.shape[0] != n_components:
        raise ValueError(
            f"The preferred dimensionality of the projected space `n_components` ({n_components}) does not match "
            f"the output dimensionality of the given linear transformation `init` ({init.shape[0]})!"
        )
    return np.asarray(init)


def _initialize_metric_mahalanobis(
    input: Any,
    init: Any = "identity",
    random_state: Any = None,
    return_inverse: bool = False,
    strict_pd: bool = False,
    matrix_name: str = "matrix",
) -> Any:
    """A prior or a first metric.

    Parameters
    ----------
    input : array of shape (n_samples, n_features), or of tuples (n_tuples, tuple_size, n_features)
    init : {"identity", "covariance", "random"} or array of shape (n_features, n_features)
    random_state : int, RandomState instance or None
    return_inverse : bool
    strict_pd : bool
        Whether a singular matrix is an error; if not, its inverse is the pseudo-inverse.
    matrix_name : str
        What errors call the parameter.

    Returns
    -------
    M : array of shape (n_features, n_features)
    M_inv : array of shape (n_features, n_features), if ``return_inverse``
    """
    n_features = input.shape[-1]
    if isinstance(init, np.ndarray):
        M = _checked_metric(init, input, matrix_name)
        return _with_inverse(M, return_inverse, strict_pd, matrix_name)
    if not isinstance(init, str) or init not in ("identity", "covariance", "random"):
        raise ValueError(
            f"`{matrix_name}` must be 'identity', 'covariance', 'random' or a numpy array of shape "
            "(n_features, n_features)."
        )
    if init == "identity":
        M = np.eye(n_features)
        return (M, M.copy()) if return_inverse else M
    if init == "random":
        M = make_spd_matrix(n_dim=n_features, random_state=check_random_state(random_state))
        return (M, np.linalg.inv(M)) if return_inverse else M
    # Tuples may repeat a point; the covariance is that of the points.
    X = np.unique(np.vstack(list(input)), axis=0) if input.ndim == 3 else input
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    w, V = np.linalg.eigh(covariance)
    if not _check_sdp_from_eigen(w):
        if strict_pd:
            raise LinAlgError(
                "Unable to get a true inverse of the covariance matrix since it is not definite. Try another "
                f"`{matrix_name}`, or an algorithm that does not require the `{matrix_name}` to be strictly "
                "positive definite."
            )
        warnings.warn(
            "The covariance matrix is not invertible: using the pseudo-inverse instead.To make the covariance "
            "matrix invertible you can remove any linearly dependent features and/or reduce the dimensionality of "
            "your input, for instance using `sklearn.decomposition.PCA` as a preprocessing step.",
            stacklevel=2,
        )
    M = _pseudo_inverse_from_eig(w, V)
    return (M, covariance) if return_inverse else M


def _checked_metric(init: Any, input: Any, matrix_name: str) -> Floats:
    M = check_array(init, dtype=np.float64)
    if M.shape != (input.shape[-1],) * 2:
        raise ValueError(
            f"The input dimensionality {M.shape} of the given mahalanobis matrix `{matrix_name}` must match the "
            f"dimensionality of the given inputs ({input.shape[-1]})."
        )
    if not np.allclose(M, M.T):
        raise ValueError(f"`{matrix_name}` is not symmetric.")
    return np.asarray(M)


def _with_inverse(M: Floats, return_inverse: bool, strict_pd: bool, matrix_name: str) -> Any:
    w, V = np.linalg.eigh(M)
    if not _check_sdp_from_eigen(w):
        if strict_pd:
            raise LinAlgError(
                f"You should provide a strictly positive definite matrix as `{matrix_name}`. This one is not "
                f"definite. Try another {matrix_name}, or an algorithm that does not require the {matrix_name} to "
                "be strictly positive definite."
            )
        if return_inverse:
            warnings.warn(
                "The initialization matrix is not invertible: using the pseudo-inverse instead.", stacklevel=3
            )
    return (M, _pseudo_inverse_from_eig(w, V)) if return_inverse else M
