"""Tuples and chunks as they are given: by values, or by row numbers or keys with a preprocessor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array


class RowNumberError(IndexError, ValueError):
    """A row number that the preprocessor has no row for."""


def formed_tuples(tuples: Any, size: int, preprocessor: Any, name: str) -> NDArray[np.float64]:
    """Tuples of points, shape (n_tuples, size, n_features)."""
    raw = check_array(
        tuples, dtype=None, allow_nd=True, ensure_2d=False, ensure_all_finite=False, input_name="tuples"
    )
    if preprocessor is not None and raw.ndim == 2:
        raw = np.stack([points(column, preprocessor) for column in raw.T], axis=1)
    if raw.ndim != 3:
        remedy = " Row numbers need a preprocessor." if raw.ndim == 2 and preprocessor is None else ""
        raise ValueError(
            f"3D array of formed tuples expected by {name}. Found {raw.ndim}D array instead. Reshape your data to "
            f"(n_tuples, {size}, n_features).{remedy}"
        )
    if raw.shape[1] != size:
        raise ValueError(
            f"Tuples of {size} element(s) expected by {name}. Got tuples of {raw.shape[1]} element(s) instead "
            f"(shape={raw.shape})."
        )
    return np.asarray(check_array(raw, dtype=np.float64, allow_nd=True, input_name="tuples"))


def stacked(pairs: Any) -> Any:
    """Two arrays, of first ends and of second ends, as one array of pairs; anything else as it is."""
    if not (isinstance(pairs, tuple) and len(pairs) == 2 and all(getattr(ends, "ndim", 0) == 2 for ends in pairs)):
        return pairs
    shapes = [ends.shape for ends in pairs]
    if shapes[0] != shapes[1]:
        raise ValueError(f"pairs are two arrays of shapes {shapes[0]} and {shapes[1]}; they must be the same")
    return np.stack([np.asarray(ends) for ends in pairs], axis=1)


def points(indicators: NDArray[Any], preprocessor: Any) -> Any:
    """What a preprocessor makes of indicators: a function is called, a data frame has keys, a table row numbers."""
    if callable(preprocessor):
        return np.asarray(preprocessor(indicators))
    if hasattr(preprocessor, "loc") and hasattr(preprocessor, "index"):
        return points_of_frame(indicators, preprocessor)
    table = check_array(preprocessor, dtype=np.float64, input_name="preprocessor")
    if indicators.dtype.kind not in "iu":
        raise ValueError(
            f"row numbers of type {indicators.dtype}; they must be whole numbers. Keys need a pandas data frame whose index "
            "they are, or a function"
        )
    wrong = indicators[(indicators < 0) | (indicators >= len(table))]
    if len(wrong):
        raise RowNumberError(f"row number {wrong[0]}; it must be from 0 to {len(table) - 1}, the rows of the preprocessor")
    return table[indicators]


def points_of_frame(keys: NDArray[Any], frame: Any) -> Any:
    """The rows of a data frame by the keys of its index."""
    if not frame.index.is_unique:
        again = frame.index[frame.index.duplicated()][0]
        raise ValueError(f"the index of the preprocessor has {again!r} more than once; a key must name one row")
    places = frame.index.get_indexer(keys)
    if (places < 0).any():
        raise KeyError(f"{str(keys[places < 0][0])!r} is not in the index of the preprocessor, which names {len(frame)} rows")
    return check_array(frame, dtype=np.float64, input_name="preprocessor")[places]


def whole_numbers(name: str, values: Any) -> NDArray[np.int64]:
    """Whole numbers, or an error."""
    values = np.asarray(values)
    if values.dtype.kind not in "biu" and not (values.dtype.kind == "f" and (values == np.floor(values)).all()):
        raise ValueError(f"{name} are of type {values.dtype}; they must be whole numbers, negative ones for none")
    return np.asarray(values.astype(np.int64))
