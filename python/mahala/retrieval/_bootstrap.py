"""Bootstrap intervals, and the paired comparison of two systems on the same queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common import count, number, seed

Floats = NDArray[np.float64]

#: Numbers drawn at a time: 32 MB of indices.
DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A mean with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n_queries: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class PairedTest:
    """The mean difference after - before, its bootstrap interval, and the p-value of a sign-flip permutation test."""

    difference: float
    low: float
    high: float
    p_value: float
    n_queries: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}], p = {self.p_value:.4f}"


def bootstrap_interval(
    values: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> Interval:
    """Percentile bootstrap interval of the mean over queries.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One number a query, as ``retrieval_scores`` gives them. NaN marks queries without a relevant row; they are
        left out.
    groups : array-like of shape (n_queries,), optional
        Resample whole groups (the class of a query, a user), whose queries are not independent.
    confidence : float, default=0.95
    n_resamples : int, default=2000
    random_state : int, RandomState instance or None, default=None
        None means 0.

    Examples
    --------
    >>> from mahala.retrieval import bootstrap_interval
    >>> interval = bootstrap_interval([0.0, 1.0, 1.0, 1.0])
    >>> interval.mean, bool(interval.low < 0.75 < interval.high)
    (0.75, True)
    """
    sums, sizes = grouped(*checked(values, groups))
    means = resampled_means(sums, sizes, n_resamples, random_state)
    low, high = np.quantile(means, tails(confidence))
    return Interval(float(sums.sum() / sizes.sum()), float(low), float(high), int(sizes.sum()))


def paired_test(
    before: Any,
    after: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: Any = None,
) -> PairedTest:
    """Compares two systems on the same queries.

    The interval is the bootstrap's over the differences of queries; the p-value is two-sided, from flipping the sign of
    the differences at random (of whole groups, if there are groups), with the observed one counted among the draws.

    Parameters
    ----------
    before, after : array-like of shape (n_queries,)
        The same measure of the same queries. A query that is NaN in either is left out.
    groups, confidence, n_resamples, random_state
        As for ``bootstrap_interval``.

    Examples
    --------
    >>> from mahala.retrieval import paired_test
    >>> test = paired_test([0.0, 0.1, 0.2, 0.3] * 5, [0.2, 0.3, 0.4, 0.5] * 5)
    >>> round(test.difference, 3), test.significant
    (0.2, True)
    """
    before, after = (np.asarray(part, dtype=np.float64) for part in (before, after))
    if before.shape != after.shape:
        raise ValueError(f"before has shape {before.shape} and after {after.shape}; they must be of the same queries")
    sums, sizes = grouped(*checked(after - before, groups))
    means = resampled_means(sums, sizes, n_resamples, random_state)
    low, high = np.quantile(means, tails(confidence))
    observed = abs(sums.sum())
    generator = np.random.default_rng([seed(random_state), 1])
    # Rounding must not make a draw that only reorders the observed sum smaller than it.
    least, extreme = observed * (1 - 1e-12), 0
    for draws in batches(n_resamples, len(sums)):
        signs = generator.integers(0, 2, size=(draws, len(sums)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ sums) >= least).sum())
    p_value = (extreme + 1) / (n_resamples + 1)
    return PairedTest(float(sums.sum() / sizes.sum()), float(low), float(high), p_value, int(sizes.sum()))


def checked(values: Any, groups: Any) -> tuple[Floats, NDArray[Any] | None]:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values have shape {values.shape}; they must be one number a query, shape (n_queries,)")
    known = ~np.isnan(values)
    if not known.any():
        raise ValueError("values hold no number: no query has a relevant row; check that labels of queries and gallery match")
    if groups is None:
        return values[known], None
    groups = np.asarray(groups)
    if groups.shape != values.shape:
        raise ValueError(f"groups have shape {groups.shape}; there must be one for each of {len(values)} queries")
    return values[known], groups[known]


def grouped(values: Floats, groups: NDArray[Any] | None) -> tuple[Floats, Floats]:
    """Sum and number of queries of each group."""
    if groups is None:
        return values, np.ones(len(values))
    _, codes = np.unique(groups, return_inverse=True)
    return np.bincount(codes.ravel(), weights=values).astype(np.float64), np.bincount(codes.ravel()).astype(np.float64)


def resampled_means(sums: Floats, sizes: Floats, n_resamples: int, random_state: Any) -> Floats:
    n_resamples = count("n_resamples", n_resamples, 2)
    generator = np.random.default_rng([seed(random_state), 0])
    means = []
    for draws in batches(n_resamples, len(sums)):
        drawn = generator.integers(0, len(sums), size=(draws, len(sums)))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(means)


def batches(n_resamples: int, n: int) -> list[int]:
    size = max(1, DRAWS_AT_ONCE // max(1, n))
    return [min(size, n_resamples - start) for start in range(0, n_resamples, size)]


def tails(confidence: Any) -> list[float]:
    confidence = number("confidence", confidence)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be above 0 and below 1, such as 0.95")
    return [(1 - confidence) / 2, (1 + confidence) / 2]
