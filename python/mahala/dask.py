"""GMML on dask DataFrames and arrays: workers sum, the client solves.

``fit`` learns, ``transform`` applies what was learned. Needs ``pip install mahala[dask]``.

>>> import dask.array as da
>>> import mahala.dask
>>> from sklearn.datasets import load_wine
>>> X, y = load_wine(return_X_y=True)
>>> X, y = da.from_array(X, chunks=(50, 13)), da.from_array(y, chunks=50)
>>> gmml = mahala.dask.fit(X, y)
>>> gmml.dropped_
{'null_label': 0, 'nan': 0}
>>> mahala.dask.transform(gmml, X).compute().shape
(178, 13)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._gmml import GMML
from ._metric import MetricMixin
from .distributed._partitions import (
    Labelled,
    Partial,
    Sample,
    check_dropped,
    check_policies,
    checked,
    coded,
    learn,
    merge_group,
    merge_tree,
    sample_partition,
    sum_partition,
)

try:
    import dask
    import dask.array as da
except ImportError as error:
    raise ImportError("mahala.dask needs dask, which is not installed: pip install 'mahala[dask]'") from error

__all__ = ["fit", "transform"]


def fit(
    data: Any,
    y: Any = None,
    *,
    features: str | list[str] | None = None,
    label: str | None = None,
    weight: Any = None,
    on_null_label: str = "error",
    on_nan: str = "error",
    **params: Any,
) -> GMML:
    """Learns from a dask DataFrame, or from two dask arrays.

    Workers sum each partition; the sums are merged in groups of eight by the position of the partitions, so that the
    same partitions give the same bits. The client solves. Unless t is a number, it is chosen by cross-validation on at
    most ``max_samples`` rows that are drawn at random and brought to the client: a second pass over the data, so
    keep them in the workers' memory (``persist``) if they are costly to make.

    Parameters
    ----------
    data : dask DataFrame, or dask array of shape (n_samples, n_features)
    y : dask array of shape (n_samples,)
        Labels, if ``data`` is an array.
    features : str or list of str, optional
        Columns of a DataFrame: several columns of numbers, or one column of arrays. Default: all the other columns.
    label : str
        Column of a DataFrame.
    weight : str or dask array, optional
        Weights of rows: a column's name, or an array beside an array.
    on_null_label, on_nan : {"error", "drop"}, default="error"
        What to do with rows without a label, and with rows in which a feature or the weight is missing or not finite.
    **params
        Parameters of ``GMML``. Of its modes, only t can be chosen; ``pairs``, ``principal`` and ``standardize`` cannot
        be changed.

    Returns
    -------
    gmml : fitted GMML
        With ``dropped_``, the number of rows left out for either reason.
    """
    check_policies(on_null_label, on_nan)
    gmml = checked(params, "mahala.dask.fit")
    names: list[str] = []
    if is_frame(data):
        parts, names = frame_partitions(data, y, features, label, weight)
    else:
        parts = array_partitions(data, y, features, label, weight)
    sums = {i: dask.delayed(sum_of_partition)(*part) for i, part in enumerate(parts)}
    partial: Partial = merge_tree(sums, dask.delayed(merge_group))
    (partial,) = dask.compute(partial)
    moments = check_dropped(partial, on_null_label, on_nan)

    def draw(seed: int, share: float) -> list[Sample]:
        drawn = [dask.delayed(sample_of_partition)(i, seed, share, *part) for i, part in enumerate(parts)]
        return list(dask.compute(*drawn))

    gmml = learn(gmml, partial, moments, draw)
    if len(names) == gmml.n_features_in_:
        gmml.feature_names_in_ = np.array(names, dtype=object)
    return gmml


def transform(
    metric: MetricMixin, data: Any, *, features: str | list[str] | None = None, on_nan: str = "error"
) -> Any:
    """Rows in coordinates where the learned distance is Euclidean, partition by partition.

    Parameters
    ----------
    metric : fitted GMML, or another fitted metric of this package
    data : dask DataFrame or array
    features : str or list of str, optional
        Columns of a DataFrame, as for ``fit``. Default: the columns the metric was learned from, else all.
    on_nan : {"error", "drop"}, default="error"
        Whether a row with a feature that is missing or not finite is an error, or gets NaN for coordinates.

    Returns
    -------
    Z : dask DataFrame with the index of ``data``, or dask array
    """
    check_is_fitted(metric, "components_")
    check_policies("error", on_nan)
    state, rank = (*metric._state(), metric._is_cosine()), metric.components_.shape[0]
    if is_frame(data):
        known = list(getattr(metric, "feature_names_in_", [])) or list(data.columns)
        columns = known if features is None else [features] if isinstance(features, str) else list(features)
        data = data[columns]
        names = [f"gmml{i}" for i in range(rank)]
        meta = frame_of(np.empty((0, rank)), data._meta.index[:0], names)
        return data.map_partitions(place_frame, state, names, on_nan, meta=meta, enforce_metadata=False)
    data = data.rechunk({1: -1})
    return data.map_blocks(place, state, on_nan, dtype=np.float64, chunks=(data.chunks[0], (rank,)))


def is_frame(data: Any) -> bool:
    if isinstance(data, da.Array):
        return False
    if hasattr(data, "to_delayed") and hasattr(data, "columns"):
        return True
    raise ValueError(f"the data are of type {type(data).__name__}; they must be a dask DataFrame or a dask array")


def frame_partitions(
    data: Any, y: Any, features: str | list[str] | None, label: str | None, weight: Any
) -> tuple[list[tuple[Any, ...]], list[str]]:
    if y is not None or label is None:
        raise ValueError("for a DataFrame, label names its column of labels, and y is not given")
    if weight is not None and not isinstance(weight, str):
        raise ValueError("for a DataFrame, weight names its column of weights")
    others = [column for column in data.columns if column not in (label, weight)]
    columns = others if features is None else [features] if isinstance(features, str) else list(features)
    absent = [name for name in [*columns, label, *([weight] if weight else [])] if name not in data.columns]
    if absent:
        raise ValueError(f"the DataFrame has no column {absent[0]!r}; it has {list(map(str, data.columns))[:20]}")
    needed = list(dict.fromkeys([*columns, label, *([weight] if weight else [])]))
    parts = data[needed].to_delayed()
    return [(part, columns, label, weight) for part in parts], [str(column) for column in columns]


def array_partitions(X: Any, y: Any, features: Any, label: Any, weight: Any) -> list[tuple[Any, ...]]:
    if features is not None or label is not None or not isinstance(y, da.Array):
        raise ValueError("for a dask array of rows, y is a dask array of labels; features and label are not given")
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"the rows have {X.ndim} axes and y has {y.ndim}; they must have 2 and 1")
    X = X.rechunk({1: -1})
    beside = [y] if weight is None else [y, weight]
    known = not any(np.isnan(sizes).any() for sizes in (X.chunks[0], *(column.chunks[0] for column in beside)))
    if known:
        for name, column in zip(("y", "weight"), beside, strict=False):
            if column.shape[0] != X.shape[0]:
                raise ValueError(f"{name} has {column.shape[0]} rows, the data have {X.shape[0]}")
        beside = [column.rechunk({0: X.chunks[0]}) for column in beside]
    columns = [column.to_delayed().ravel().tolist() for column in beside]
    if any(len(column) != X.numblocks[0] for column in columns):
        raise ValueError("y, weight and the data have chunks of unknown size and not equally many: compute_chunk_sizes()")
    blocks = X.to_delayed()[:, 0].tolist()
    return [(block, *rest) for block, *rest in zip(blocks, *columns, strict=True)]


def sum_of_partition(*part: Any) -> Partial:
    return sum_partition([labelled(*part)])


def sample_of_partition(partition: int, seed: int, share: float, *part: Any) -> Sample:
    return sample_partition([labelled(*part)], partition, seed, share)


def labelled(rows: Any, *rest: Any) -> Labelled:
    """A partition's rows, from a pandas DataFrame and its columns' names, or from arrays."""
    if not hasattr(rows, "columns"):
        y, *weight = map(np.asarray, rest)
        if len(y) != len(rows):
            raise ValueError(f"a chunk of y has {len(y)} rows, that of the data {len(rows)}; rechunk them alike")
        null = np.array([label is None or label != label for label in y], dtype=bool) if y.dtype == object else y != y
        weights = np.asarray(weight[0], dtype=np.float64) if weight else None
        return Labelled(numbers(rows), *coded(y, null), weights)
    columns, label, weight_column = rest
    y, null = rows[label].to_numpy(), rows[label].isna().to_numpy()
    weights = None if weight_column is None else rows[weight_column].to_numpy(np.float64, na_value=np.nan)
    return Labelled(table(rows[columns]), *coded(y, null), weights)


def table(frame: Any) -> NDArray[Any]:
    """The cells of several columns of numbers, or of one column of arrays."""
    from pandas.api.types import is_numeric_dtype

    if frame.shape[1] == 1 and not is_numeric_dtype(frame.dtypes.iloc[0]):
        return arrays(frame.iloc[:, 0].tolist())
    return numbers(frame.to_numpy(np.float64, na_value=np.nan))


def arrays(cells: list[Any]) -> NDArray[np.float64]:
    if any(isinstance(cell, str) for cell in cells):
        raise ValueError(
            "the column of features holds text. If its arrays became text on the way, set dask's option "
            "dataframe.convert-string to False before the DataFrame is made"
        )
    lengths = {len(cell) for cell in cells if hasattr(cell, "__len__")}
    if len(lengths) > 1:
        raise ValueError(f"the arrays of the column of features have lengths {sorted(lengths)}; they must agree")
    missing = np.full(lengths.pop() if lengths else 1, np.nan)
    filled = [cell if hasattr(cell, "__len__") else missing for cell in cells]
    return np.array(filled, dtype=np.float64).reshape(len(cells), len(missing))


def numbers(X: Any) -> NDArray[Any]:
    X = np.asarray(X)
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


def place(X: Any, state: tuple[Any, ...], on_nan: str) -> NDArray[np.float64]:
    """Coordinates of the rows of one block."""
    X = np.asarray(X, dtype=np.float64)
    finite = np.isfinite(X).all(axis=1)
    if not finite.all() and on_nan == "error":
        raise ValueError(
            f"{np.count_nonzero(~finite)} rows of a partition have a feature that is missing or not finite; fill or "
            "remove them, or set on_nan='drop'"
        )
    Z = np.full((len(X), state[0].shape[0]), np.nan)
    if finite.any():
        Z[finite] = _mahala.transform(state[:4], X[finite], 1, state[4])
    return Z


def place_frame(frame: Any, state: tuple[Any, ...], names: list[str], on_nan: str) -> Any:
    return frame_of(place(table(frame), state, on_nan), frame.index, names)


def frame_of(cells: Any, index: Any, names: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(cells, index=index, columns=names)
