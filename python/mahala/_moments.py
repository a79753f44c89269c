"""Sums over labelled rows, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from . import _mahala
from ._common import class_names, encode, threads


class Moments(_mahala.Moments):
    """Per class: count, mean and centred scatter. All that GMML needs of labelled rows.

    Moments of parts are merged, so that streams, files larger than memory and clusters need one pass each;
    see ``GMML.fit_moments``.

    Parameters
    ----------
    n_features : int
        How many columns the rows have.

    Attributes
    ----------
    n_features : int
        How many columns the rows have.
    n_samples : int
        How many rows were added.
    classes : list of str
        Class names, in order. Whole numbers come first and are ordered as numbers.
    counts, weights : list
        Rows and sum of weights of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from mahala import Moments
    >>> one = Moments(1).update([[1.0], [3.0]], ["u", "v"])
    >>> two = Moments(1).update([[5.0], [9.0]], ["u", "v"])
    >>> both = one.merge(two)
    >>> both.class_mean(0)  # of 1 and 5
    array([3.])
    >>> Moments.from_bytes(both.to_bytes()) == both
    True
    """

    def update(self, X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None) -> Moments:
        """Add rows; a float64 or float32 array of any layout is read where it lies, without a copy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        n_jobs : int or None, default=None
            Threads; results do not depend on it.

        Returns
        -------
        self : Moments
            Itself.
        """
        X = check_array(X, dtype=[np.float64, np.float32])
        y = column_or_1d(y)
        check_consistent_length(X, y)
        classes, codes = encode(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.add(X, class_names(classes), codes, sample_weight, threads(n_jobs))
        return self

    def merge(self, other: Moments) -> Moments:
        """Add the rows another instance has seen.

        Parameters
        ----------
        other : Moments
            The other instance, which stays as it is.

        Returns
        -------
        self : Moments
            Itself.
        """
        self.add_moments(other.copy() if other is self else other)
        return self

    def subtract(self, other: Moments) -> Moments:
        """Take rows away again that were added before.

        Parameters
        ----------
        other : Moments
            The sums of those rows.

        Returns
        -------
        self : Moments
            Itself.
        """
        self.take_moments(other.copy() if other is self else other)
        return self

    def forget(self, factor: float) -> Moments:
        """Let what was seen so far count for less.

        Parameters
        ----------
        factor : float in (0, 1]
            What all weights are multiplied by.

        Returns
        -------
        self : Moments
            Itself.
        """
        self.fade(float(factor))
        return self

    def copy(self) -> Moments:
        """Return an independent copy.

        Returns
        -------
        copy : Moments
            The copy.
        """
        return Moments.from_bytes(self.to_bytes())

    @classmethod
    def from_bytes(cls, bytes: bytes) -> Moments:
        """Read what ``to_bytes`` wrote; anything else, or altered bytes, is a ValueError.

        Parameters
        ----------
        bytes : bytes
            What ``to_bytes`` wrote.

        Returns
        -------
        moments : Moments
            The sums.
        """
        moments = cls(1)
        moments.set_bytes(bytes)
        return moments

    def __reduce__(self) -> Any:
        return Moments.from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Moments of {self.n_samples} rows, {self.n_features} features, {len(self.classes)} classes>"


class Window(_mahala.Window):
    """The moments of the last blocks of a stream: what comes is added, what leaves is subtracted.

    Parameters
    ----------
    n_features : int
        How many columns the rows have.
    length : int
        How many blocks are in the window.

    Examples
    --------
    >>> from mahala import Window
    >>> window = Window(1, 2)
    >>> for x in (1.0, 5.0, 7.0):
    ...     window = window.push([[x]], ["u"])
    >>> window.moments.class_mean(0)  # of 5 and 7
    array([6.])
    """

    def push(self, X: Any, y: Any, sample_weight: Any = None) -> Window:
        """Add a block of rows; the oldest block leaves if there are too many.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : Window
            Itself.
        """
        X = check_array(X, dtype=[np.float64, np.float32])
        self.add_block(Moments(X.shape[1]).update(X, y, sample_weight))
        return self

    @classmethod
    def _restored(cls, state: Any) -> Window:
        window = cls(1, 1)
        window.set_state(state)
        return window

    def __reduce__(self) -> Any:
        return Window._restored, (self.state(),)

    @property
    def moments(self) -> Moments:
        """The moments of the blocks in the window, for ``GMML.fit_moments``."""
        return Moments.from_bytes(self.sum_bytes())
