"""Pairs, triplets and chunks drawn from labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

Indices = NDArray[np.int64]


class Constraints:
    """Constraints by row number, from labels of which some may be unknown.

    Parameters
    ----------
    partial_labels : array-like of shape (n_points,)
        Classes; a negative number is an unknown one.

    Attributes
    ----------
    partial_labels : array of shape (n_points,)
        The class of each row as a whole number, -1 where it is unknown.

    Examples
    --------
    >>> from mahala.metric_learn import Constraints
    >>> a, b, c, d = Constraints([0, 0, 1, 1, -1]).positive_negative_pairs(2, random_state=0)
    >>> len(a), len(c)
    (2, 2)
    """

    def __init__(self, partial_labels: Any) -> None:
        labels = np.asarray(partial_labels)
        if labels.dtype.kind in "biuf":
            self.partial_labels = labels.astype(np.int64)
        else:
            self.partial_labels = np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)

    def positive_negative_pairs(
        self,
        n_constraints: int,
        same_length: bool = False,
        random_state: Any = None,
        num_constraints: Any = "deprecated",
    ) -> tuple[Indices, Indices, Indices, Indices]:
        """Different pairs of one class and of two classes, drawn at random.

        Parameters
        ----------
        n_constraints : int
            How many of either kind; fewer, with a warning, where there are not so many.
        same_length : bool, default=False
            Whether both lists are cut to the shorter one.
        random_state : int, RandomState instance or None
        num_constraints
            The old name of ``n_constraints``.

        Returns
        -------
        a, b : array
            Row numbers of similar pairs.
        c, d : array
            Row numbers of dissimilar pairs.
        """
        n_constraints = renamed("num_constraints", num_constraints, "n_constraints", n_constraints)
        random = check_random_state(random_state)
        a, b = self._pairs(n_constraints, True, random)
        c, d = self._pairs(n_constraints, False, random)
        if same_length:
            n = min(len(a), len(c))
            a, b, c, d = a[:n], b[:n], c[:n], d[:n]
        return a, b, c, d

    def _pairs(self, n_constraints: int, same: bool, random: Any) -> tuple[Indices, Indices]:
        """Different pairs of rows of known classes, the smaller row number not always first."""
        (known,) = np.nonzero(self.partial_labels >= 0)
        labels = self.partial_labels[known]
        total = len(known) * (len(known) - 1) // 2
        if total <= max(4 * n_constraints, 10_000):
            first, second = np.triu_indices(len(known), 1)
            (fit,) = np.nonzero((labels[first] == labels[second]) == same)
            chosen = random.permutation(fit)[:n_constraints]
            first, second = first[chosen], second[chosen]
        else:
            first, second = self._sampled(labels, n_constraints, same, random)
        swapped = random.uniform(size=len(first)) < 0.5
        first, second = np.where(swapped, second, first), np.where(swapped, first, second)
        if len(first) < n_constraints:
            kind = "positive" if same else "negative"
            warnings.warn(
                f"Only generated {len(first)} {kind} constraints (requested {n_constraints})", stacklevel=4
            )
        return known[first], known[second]

    @staticmethod
    def _sampled(labels: Indices, n_constraints: int, same: bool, random: Any) -> tuple[Indices, Indices]:
        """Pairs by rejection; all of them are listed where too few come up."""
        seen: dict[tuple[int, int], None] = {}
        for _ in range(20):
            i, j = np.sort(random.randint(len(labels), size=(2, 4 * n_constraints + 100)), axis=0)
            fit = (i != j) & ((labels[i] == labels[j]) == same)
            seen.update(dict.fromkeys(zip(i[fit].tolist(), j[fit].tolist(), strict=True)))
            if len(seen) >= n_constraints:
                pairs = np.array(list(seen)[:n_constraints], dtype=np.int64)
                return pairs[:, 0], pairs[:, 1]
        classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        if same:
            listed = [members[np.array(np.triu_indices(len(members), 1))] for members in classes]
        else:
            listed = [
                np.array(np.meshgrid(one, other)).reshape(2, -1)
                for at, one in enumerate(classes)
                for other in classes[at + 1 :]
            ]
        first, second = np.hstack(listed) if listed else np.empty((2, 0), dtype=np.int64)
        chosen = random.permutation(len(first))[:n_constraints]
        return first[chosen], second[chosen]

    def generate_knntriplets(self, X: Any, k_genuine: int, k_impostor: int) -> Indices:
        """Each row with its nearest rows of its own class, and with its nearest rows of all others.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
        k_genuine : int
            Rows of its own class; fewer, with a warning, in a smaller class.
        k_impostor : int
            Rows of other classes.

        Returns
        -------
        triplets : array of shape (n_triplets, 3)
            Row numbers: a row, one of its class, one of another.
        """
        X, labels = np.asarray(X), self.partial_labels
        parts = [np.empty((0, 3), dtype=np.int64)]
        for label in np.unique(labels[labels >= 0]):
            (own,) = np.nonzero(labels == label)
            (other,) = np.nonzero((labels >= 0) & (labels != label))
            genuine = _at_most(k_genuine, len(own) - 1, _too_few_genuine, label, len(own))
            impostor = _at_most(k_impostor, len(other), _too_few_impostors, label, len(other))
            if genuine == 0 or impostor == 0:
                continue
            near = own[_nearest(X[own], genuine)]
            far = other[_nearest(X[other], impostor, X[own])]
            triplets = np.empty((len(own), genuine, impostor, 3), dtype=np.int64)
            triplets[..., 0] = own[:, None, None]
            triplets[..., 1] = near[:, :, None]
            triplets[..., 2] = far[:, None, :]
            parts.append(triplets.reshape(-1, 3))
        return np.vstack(parts)

    def chunks(
        self,
        n_chunks: int = 100,
        chunk_size: int = 2,
        random_state: Any = None,
        num_chunks: Any = "deprecated",
    ) -> Indices:
        """Chunks of rows of one class, drawn at random without overlap.

        Every way to cut classes into chunks has the last class in it, too.

        Parameters
        ----------
        n_chunks : int, default=100
        chunk_size : int, default=2
        random_state : int, RandomState instance or None
        num_chunks
            The old name of ``n_chunks``.

        Returns
        -------
        chunks : array of shape (n_points,)
            The chunk of each row, or -1.
        """
        n_chunks = renamed("num_chunks", num_chunks, "n_chunks", n_chunks)
        random = check_random_state(random_state)
        classes = [random.permutation(np.flatnonzero(self.partial_labels == label))
                   for label in np.unique(self.partial_labels[self.partial_labels >= 0])]  # fmt: skip
        pieces = [members[start : start + chunk_size] for members in classes
                  for start in range(0, len(members) - chunk_size + 1, chunk_size)]  # fmt: skip
        if len(pieces) < n_chunks:
            raise ValueError(
                f"Not enough possible chunks of {chunk_size} elements in each class to form expected {n_chunks} "
                f"chunks - maximum number of chunks is {len(pieces)}"
            )
        chunks = np.full(len(self.partial_labels), -1, dtype=np.int64)
        for number, piece in enumerate(random.permutation(len(pieces))[:n_chunks]):
            chunks[pieces[piece]] = number
        return chunks


def _at_most(k: int, most: int, message: Any, label: Any, size: int) -> int:
    if k > most:
        warnings.warn(message(label, size, k, most), stacklevel=4)
    return min(k, most)


def _too_few_genuine(label: Any, size: int, k: int, most: int) -> str:
    return (
        f"The class {label} has {size} elements, which is not sufficient to generate {k + 1} genuine neighbors as "
        f"specified by k_genuine. Will generate {most} genuine neighbors instead.\n"
    )


def _too_few_impostors(label: Any, size: int, k: int, most: int) -> str:
    return (
        f"The class {label} has {size} elements of other classes, which is not sufficient to generate {k} impostor "
        f"neighbors as specified by k_impostor. Will generate {most} impostor neighbors instead.\n"
    )


def _nearest(rows: Any, k: int, queries: Any = None) -> Indices:
    """The k nearest rows of each query, or of each row among the others."""
    return np.asarray(NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(queries, return_distance=False))


def renamed(old: str, value: Any, new: str, other: Any, *, stacklevel: int = 3) -> Any:
    """The value of a parameter that may still come under its old name."""
    if isinstance(value, str) and value == "deprecated":
        return other
    warnings.warn(
        f'"{old}" parameter has been renamed to "{new}". It has been deprecated in version 0.6.3 and will be '
        "removed in 0.7.0",
        FutureWarning,
        stacklevel=stacklevel,
    )
    return value


def wrap_pairs(X: Any, constraints: tuple[Any, Any, Any, Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The points of pairs, similar ones first, and their marks.

    Parameters
    ----------
    X : array of shape (n_points, n_features)
    constraints : tuple of four arrays
        From ``Constraints.positive_negative_pairs``.

    Returns
    -------
    pairs : array of shape (n_pairs, 2, n_features)
    y : array of shape (n_pairs,)
    """
    a, b, c, d = (np.asarray(part, dtype=np.int64) for part in constraints)
    pairs = np.vstack([np.column_stack([a, b]), np.column_stack([c, d])])
    return np.asarray(X)[pairs], np.concatenate([np.ones(len(a)), -np.ones(len(c))])
