"""Bootstrap intervals, and the paired comparison of two systems on the same queries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _mahala
from .._common import count, number, seed
from .._html import table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A mean with its bootstrap interval."""

    mean: float
    low: float
    high: float
    n_queries: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def _repr_html_(self) -> str:
        return table(asdict(self).items())


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

    def _repr_html_(self) -> str:
        return table(asdict(self).items())


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
    values = checked(values)
    return Interval(*_mahala.bootstrap_interval(values, coded(groups, len(values)), resampling(confidence, n_resamples, random_state)))


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
    checked(after - before)
    drawn = resampling(confidence, n_resamples, random_state)
    return PairedTest(*_mahala.paired_test(before, after, coded(groups, len(before)), drawn))


def checked(values: Any) -> Floats:
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values have shape {values.shape}; they must be one number a query, shape (n_queries,)")
    if np.isnan(values).all():
        raise ValueError("values hold no number: no query has a relevant row; check that labels of queries and gallery match")
    return values


def coded(groups: Any, n_queries: int) -> NDArray[np.uint32] | None:
    """Groups as codes."""
    if groups is None:
        return None
    groups = np.asarray(groups)
    if groups.shape != (n_queries,):
        raise ValueError(f"groups have shape {groups.shape}; there must be one for each of {n_queries} queries")
    return np.unique(groups, return_inverse=True)[1].astype(np.uint32).ravel()


def resampling(confidence: Any, n_resamples: Any, random_state: Any) -> tuple[float, int, int]:
    confidence = number("confidence", confidence)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be above 0 and below 1, such as 0.95")
    return confidence, count("n_resamples", n_resamples, 2), seed(random_state)
