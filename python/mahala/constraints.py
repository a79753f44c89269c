"""Pairs, triplets, quadruplets and chunks from labels; the same arguments give the same constraints everywhere.

What they return are row numbers: for learners that take values, ``X[triplets]``, or a ``preprocessor``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_X_y, column_or_1d

from . import _mahala
from ._common import check_classes, class_names, count, encode, seed

Indices = NDArray[np.int64]

__all__ = ["chunks", "knn_triplets", "pairs", "quadruplets"]


def pairs(y: Any, n_pairs: int, *, random_state: Any = None) -> tuple[Indices, NDArray[np.int64]]:
    """Similar and dissimilar pairs, uniform with replacement over all pairs of each kind.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes.
    n_pairs : int
        How many of each kind.
    random_state : int, RandomState instance or None, default=None
        None means 0.

    Returns
    -------
    pairs : array of shape (2 * n_pairs, 2)
        Row numbers.
    marks : array of shape (2 * n_pairs,)
        +1 for similar pairs, which come first, and -1 for dissimilar ones.

    Examples
    --------
    >>> from mahala import constraints
    >>> index, marks = constraints.pairs(["a", "a", "b", "b"], 2)
    >>> index.shape, marks.tolist()
    ((4, 2), [1, 1, -1, -1])
    """
    n_pairs = count("n_pairs", n_pairs, 1)
    listed = _mahala.generate_pairs(*coded(y), n_pairs, seed(random_state))
    return listed, np.repeat([1, -1], n_pairs)


def knn_triplets(X: Any, y: Any, *, n_neighbors: int = 3, n_impostors: int = 10) -> Indices:
    """Each row with its nearest rows of its own class and, for each of these, its nearest rows of other classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Classes.
    n_neighbors : int, default=3
    n_impostors : int, default=10
        Small classes give what they have.

    Returns
    -------
    triplets : array of shape (n_triplets, 3)
        Row numbers: a row, one of its class, one of another.

    Examples
    --------
    >>> from mahala import constraints
    >>> constraints.knn_triplets([[0.0], [1.0], [5.0]], ["a", "a", "b"], n_neighbors=1, n_impostors=1).tolist()
    [[0, 1, 2], [1, 0, 2]]
    """
    targets, impostors = count("n_neighbors", n_neighbors, 1), count("n_impostors", n_impostors, 1)
    X, y = check_X_y(X, y, dtype=np.float64)
    return _mahala.generate_triplets(X, *coded(y), targets, impostors)


def quadruplets(y: Any, n_quadruplets: int, *, random_state: Any = None) -> Indices:
    """A similar pair and a dissimilar pair each, uniform with replacement over all pairs of their kind.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes.
    n_quadruplets : int
    random_state : int, RandomState instance or None, default=None
        None means 0.

    Returns
    -------
    quadruplets : array of shape (n_quadruplets, 4)
        Row numbers: two rows of one class, two rows of two classes.
    """
    return _mahala.generate_quadruplets(*coded(y), count("n_quadruplets", n_quadruplets, 1), seed(random_state))


def chunks(y: Any, n_chunks: int, chunk_size: int = 2, *, random_state: Any = None) -> Indices:
    """Disjoint chunks of rows of one class: in every round each class with enough rows left gives one.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes.
    n_chunks : int
        At most so many.
    chunk_size : int, default=2
    random_state : int, RandomState instance or None, default=None
        None means 0.

    Returns
    -------
    chunks : array of shape (n_samples,)
        The chunk of each row, or -1.
    """
    n_chunks, chunk_size = count("n_chunks", n_chunks, 1), count("chunk_size", chunk_size, 2)
    return _mahala.generate_chunks(*coded(y), n_chunks, chunk_size, seed(random_state))


def coded(y: Any) -> tuple[list[str], NDArray[np.uint32]]:
    """Classes as the compiled part takes them."""
    classes, codes = encode(check_classes(column_or_1d(y)))
    return class_names(classes), codes
