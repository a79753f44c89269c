"""The two sums: mean outer products of differences over similar and over dissimilar pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Rows that are converted to float64 at a time: 25 MB for 768 columns.
CHUNK = 4096


@dataclass(frozen=True)
class TwoSums:
    """What every closed form is made from.

    ``similar`` and ``dissimilar`` are means of (x - x')(x - x')' over pairs, ``total`` the covariance of the rows,
    ``mean`` what is subtracted from them. ``between`` is dissimilar - similar where that is positive semidefinite by
    construction (from labels), else None. ``directions`` is the rank of the part in which classes differ.
    """

    similar: Floats
    dissimilar: Floats
    between: Floats | None
    total: Floats
    mean: Floats
    directions: int
    rank: int


class FoldMoments:
    """Count and sum of each class, and the second moment, of each fold of labelled rows: one pass over the rows."""

    def __init__(self, X: NDArray[Any], codes: NDArray[np.int64], n_classes: int, folds: NDArray[np.int64]) -> None:
        n_folds, d = int(folds.max()) + 1, X.shape[1]
        self.shift = X[:CHUNK].astype(np.float64).mean(axis=0)
        self.counts = np.zeros((n_folds, n_classes))
        self.sums = np.zeros((n_folds, n_classes, d))
        self.second = np.zeros((n_folds, d, d))
        for rows, part in chunks(X):
            rows -= self.shift
            for fold in range(n_folds):
                mine = folds[part] == fold
                z, c = rows[mine], codes[part][mine]
                self.counts[fold] += np.bincount(c, minlength=n_classes)
                order = np.argsort(c, kind="stable")
                present, starts = np.unique(c[order], return_index=True)
                if len(present):
                    self.sums[fold, present] += np.add.reduceat(z[order], starts, axis=0)
                self.second[fold] += z.T @ z

    def without(self, left_out: tuple[int, ...]) -> TwoSums:
        """The sums of all rows but those of some folds.

        With p the shares of classes, W the pooled covariance within classes and B that of their means,
        S = 2 W and D = 2 W + 2 B / (1 - sum of p squared): means over all pairs, if classes have one covariance.
        """
        kept = [f for f in range(len(self.counts)) if f not in left_out]
        counts, sums, second = (part[kept].sum(axis=0) for part in (self.counts, self.sums, self.second))
        present = counts > 0
        counts, sums = counts[present], sums[present]
        n, means = counts.sum(), sums / counts[:, None]
        within = (second - means.T @ sums) / n
        share = counts / n
        mean = share @ means
        centred = means - mean
        between = (centred * share[:, None]).T @ centred
        scaled = 2 * between / (1 - (share**2).sum())
        similar = 2 * symmetric(within)
        return TwoSums(
            similar=similar,
            dissimilar=similar + scaled,
            between=scaled,
            total=symmetric(within + between),
            mean=mean + self.shift,
            directions=min(len(counts) - 1, within.shape[0]),
            rank=int(min(within.shape[0], n - 1)),
        )


def chunks(X: NDArray[Any]) -> Iterator[tuple[Floats, slice]]:
    """Rows in float64, some at a time; each is a copy."""
    for start in range(0, len(X), CHUNK):
        part = slice(start, min(len(X), start + CHUNK))
        yield X[part].astype(np.float64), part


def covariance(X: NDArray[Any]) -> tuple[Floats, Floats]:
    """Mean and covariance of rows, over n."""
    mean = np.zeros(X.shape[1])
    for rows, _ in chunks(X):
        mean += rows.sum(axis=0)
    mean /= len(X)
    second = np.zeros((X.shape[1], X.shape[1]))
    for rows, _ in chunks(X):
        rows -= mean
        second += rows.T @ rows
    return mean, second / len(X)


def mean_outer(first: NDArray[Any], second: NDArray[Any], i: Any, j: Any, weights: Any = None) -> Floats:
    """Weighted mean of (first[i] - second[j])(first[i] - second[j])'."""
    weights = np.ones(len(i)) if weights is None else np.asarray(weights, dtype=np.float64)
    total = np.zeros((first.shape[1], first.shape[1]))
    for start in range(0, len(i), CHUNK):
        part = slice(start, start + CHUNK)
        v = first[i[part]].astype(np.float64) - second[j[part]]
        total += (v * weights[part, None]).T @ v
    return symmetric(total / weights.sum())


def symmetric(matrix: Floats) -> Floats:
    return (matrix + matrix.T) / 2
