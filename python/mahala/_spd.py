"""Functions of symmetric positive definite matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _mahala


def geometric_mean(A: ArrayLike, B: ArrayLike, t: float = 0.5) -> NDArray[np.float64]:
    """Return the point at t on the geodesic from A (t = 0) to B (t = 1): their weighted geometric mean.

    ``A^(1/2) (A^(-1/2) B A^(-1/2))^t A^(1/2)``

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.
    B : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.
    t : float, default=0.5
        The place between them.

    Returns
    -------
    mean : ndarray of shape (n, n)
        Symmetric and positive definite.

    Examples
    --------
    >>> from mahala import geometric_mean
    >>> geometric_mean([[2.0, 0.0], [0.0, 1.0]], [[8.0, 0.0], [0.0, 1.0]], 0.5).round(12)
    array([[4., 0.],
           [0., 1.]])
    """
    return _mahala.geometric_mean(A, B, t)


def riemannian_distance(A: ArrayLike, B: ArrayLike) -> float:
    """Return the length of the geodesic from A to B: the norm of ``log(B^(-1/2) A B^(-1/2))``.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.
    B : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.

    Returns
    -------
    value : float
        The distance.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import riemannian_distance
    >>> round(riemannian_distance(np.eye(2), np.diag([np.e, 1.0])), 12)
    1.0
    """
    return _mahala.riemannian_distance(A, B)


def logdet_divergence(A: ArrayLike, B: ArrayLike) -> float:
    """Return ``tr(A inv(B)) - log det(A inv(B)) - d``: at least 0, and 0 for A = B alone.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.
    B : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.

    Returns
    -------
    value : float
        The divergence.

    Examples
    --------
    >>> from mahala import logdet_divergence
    >>> round(logdet_divergence([[2.0]], [[1.0]]), 6)  # 1 - log 2
    0.306853
    """
    return _mahala.logdet_divergence(A, B)


def symmetrized_logdet_divergence(A: ArrayLike, B: ArrayLike) -> float:
    """Return ``logdet_divergence(A, B) + logdet_divergence(B, A)``.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.
    B : array-like of shape (n, n)
        Symmetric, up to rounding (1e-6 of its scale), and positive definite.

    Returns
    -------
    value : float
        The divergence.

    Examples
    --------
    >>> from mahala import symmetrized_logdet_divergence
    >>> round(symmetrized_logdet_divergence([[2.0]], [[1.0]]), 12)
    0.5
    """
    return _mahala.symmetrized_logdet_divergence(A, B)
