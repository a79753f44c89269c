"""The rows of a Spark DataFrame: which columns they are, and what the executors do with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import StorageLevel, TaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, NumericType

from .. import _mahala
from .._common import class_names
from .._moments import Moments
from ._partitions import FAN_IN, Labelled, Partial, Sample, merge_group, merge_tree, sample_partition, sum_partition

#: At most this many partial sums, and this many bytes of them, come to the driver; more are merged on the executors.
DRIVER_PARTIALS = 64
DRIVER_BYTES = 2**28

SUMS = "partition int, moments binary, null_labels long, not_finite long"
SAMPLE = "partition int, draws array<double>, cells array<double>, labels array<string>, weights array<double>"


def quoted(name: str) -> str:
    """A column's name as Spark takes it whatever its characters."""
    return "`" + name.replace("`", "``") + "`"


def type_of(df: DataFrame, name: str) -> Any:
    if name not in df.columns:
        raise ValueError(f"the DataFrame has no column {name!r}; it has {df.columns[:20]}")
    return df.schema[name].dataType


def is_vector(df: DataFrame, name: str) -> bool:
    return isinstance(type_of(df, name), VectorUDT)


def feature_columns(df: DataFrame, features: str | list[str]) -> list[Column]:
    """The columns of features: one of arrays, or several of numbers."""
    if isinstance(features, str):
        kind, column = type_of(df, features), F.col(quoted(features))
        if is_vector(df, features):
            return [F.when(column.isNotNull(), vector_to_array(column))]
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return [column]
        raise ValueError(
            f"column {features!r} is of type {kind.simpleString()}; it must hold arrays of numbers or vectors. Give "
            "several columns of numbers as a list"
        )
    if not features:
        raise ValueError("features is empty; name at least one column")
    for name in features:
        kind = type_of(df, name)
        if not isinstance(kind, (NumericType, BooleanType)):
            raise ValueError(f"column {name!r} is of type {kind.simpleString()}; it must hold numbers")
    return [F.col(quoted(name)).cast("double") for name in features]


def selected(df: DataFrame, features: str | list[str], label: str, weight: str | None) -> DataFrame:
    """Label, weight (null if there is none) and features, in this order and under names of our own."""
    type_of(df, label)
    weights = F.lit(None).cast("double")
    if weight is not None:
        type_of(df, weight)
        # A missing weight is not "no weights".
        weights = F.coalesce(F.col(quoted(weight)).cast("double"), F.lit(float("nan")))
    columns = [column.alias(f"x{i}") for i, column in enumerate(feature_columns(df, features))]
    return df.select(F.col(quoted(label)).alias("label"), weights.alias("weight"), *columns)


def summed(rows: DataFrame, many: bool) -> Partial:
    """The sums over all rows: one partial a partition, merged on the executors until the driver can take the rest."""
    partials = rows.mapInArrow(functools.partial(sums_of_partition, many=many), SUMS)
    partials = partials.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        sizes = F.max("partition").alias("last"), F.max(F.length("moments")).alias("bytes")
        seen = partials.agg(*sizes).collect()[0]
        last, bytes = seen["last"] or 0, seen["bytes"] or 0
        merged = partials
        while last > 0 and (last >= DRIVER_PARTIALS or (last + 1) * bytes > DRIVER_BYTES):
            group = F.expr(f"partition div {FAN_IN}").alias("group")
            merged = merged.groupBy(group).applyInArrow(merge_partials, SUMS)
            last //= FAN_IN
        return merge_tree({row["partition"]: partial_of(row.asDict()) for row in merged.collect()})
    finally:
        partials.unpersist()


def drawn(rows: DataFrame, many: bool, seed: int, share: float) -> list[Sample]:
    """Some rows of every partition, in the order of partitions."""
    draw = functools.partial(sample_of_partition, many=many, seed=seed, share=share)
    found = rows.mapInArrow(draw, SAMPLE).toArrow().sort_by("partition")
    samples = []
    for batch in found.to_batches():
        for i in range(batch.num_rows):
            draws, cells, labels, weights = (batch.column(j)[i].values for j in range(1, 5))
            X = cells.to_numpy().reshape(len(draws), -1)
            y = np.array(labels.to_pylist(), dtype=str)
            samples.append(Sample(draws.to_numpy(), X, y, None if weights is None else weights.to_numpy()))
    return samples


def sums_of_partition(batches: Iterator[pa.RecordBatch], many: bool) -> Iterator[pa.RecordBatch]:
    """Runs on executors: one row with the sums of the partition, or none if it is empty."""
    partial = sum_partition(labelled(batch, many) for batch in batches)
    if partial != Partial():
        yield row_of(TaskContext.get().partitionId(), partial)


def sample_of_partition(
    batches: Iterator[pa.RecordBatch], many: bool, seed: int, share: float
) -> Iterator[pa.RecordBatch]:
    """Runs on executors: one row with some rows of the partition, or none if none was drawn."""
    partition = TaskContext.get().partitionId()
    sample = sample_partition((labelled(batch, many) for batch in batches), partition, seed, share)
    if sample.X is None:
        return
    columns = [
        pa.array([partition], pa.int32()),
        pa.array([sample.draws], pa.list_(pa.float64())),
        pa.array([np.asarray(sample.X, dtype=np.float64).ravel()], pa.list_(pa.float64())),
        pa.array([sample.y.tolist()], pa.list_(pa.string())),
        pa.array([sample.weight], pa.list_(pa.float64())),
    ]
    yield pa.RecordBatch.from_arrays(columns, ["partition", "draws", "cells", "labels", "weights"])


def merge_partials(key: tuple[Any, ...], group: pa.Table) -> pa.Table:
    """Runs on executors: the sums of some neighbouring partitions as one."""
    rows = sorted(group.to_pylist(), key=lambda row: row["partition"])
    return pa.Table.from_batches([row_of(key[0].as_py(), merge_group(partial_of(row) for row in rows))])


def row_of(partition: int, partial: Partial) -> pa.RecordBatch:
    bytes = None if partial.moments is None else partial.moments.to_bytes()
    if bytes is not None and len(bytes) >= 2**31:
        raise ValueError(
            f"the sums of a partition take {len(bytes)} bytes (4 c d² for c classes and d features); Spark's cells hold "
            "at most 2147483647: reduce the features or the classes first"
        )
    columns = [
        pa.array([partition], pa.int32()),
        pa.array([bytes], pa.binary()),
        pa.array([partial.null_labels], pa.int64()),
        pa.array([partial.not_finite], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, ["partition", "moments", "null_labels", "not_finite"])


def partial_of(row: dict[str, Any]) -> Partial:
    moments = None if row["moments"] is None else Moments.from_bytes(bytes(row["moments"]))
    return Partial(moments, row["null_labels"], row["not_finite"])


def labelled(batch: pa.RecordBatch, many: bool) -> Labelled:
    """Rows of an Arrow batch as ``selected`` orders its columns."""
    label, weight, *features = batch.columns
    encoded = label if pa.types.is_dictionary(label.type) else label.dictionary_encode()
    classes = np.array(encoded.dictionary.to_pylist())
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    if classes.dtype.kind == "f" and np.isnan(classes).any():
        codes = np.where(np.isnan(classes)[codes] & (codes >= 0), -1, codes)
    weights = None if weight.null_count == len(weight) else weight.to_numpy(zero_copy_only=False)
    return Labelled(table(features, many), class_names(classes), codes, weights)


def table(columns: list[pa.Array], many: bool) -> NDArray[Any]:
    """The cells of columns of numbers, or of one column of arrays; NaN for null."""
    if many:
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])
    (column,) = columns
    lengths = pc.unique(pc.list_value_length(column).drop_null()).to_pylist()
    if len(lengths) > 1:
        raise ValueError(f"the arrays of the column of features have lengths {sorted(lengths)}; they must agree")
    cells = column.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if not column.null_count:
        return cells.reshape(len(column), -1) if len(column) else np.empty((0, 1))
    X = np.full((len(column), lengths[0] if lengths else 1), np.nan)
    X[column.is_valid().to_numpy(zero_copy_only=False)] = cells.reshape(-1, X.shape[1])
    return X


def placed(columns: list[pa.Array], many: bool, state: tuple[Any, ...], on_nan: str) -> pa.Array:
    """Runs on executors: the coordinates of the rows of a batch, null where a feature is not finite."""
    X = table(columns, many).astype(np.float64, copy=False)
    finite = np.isfinite(X).all(axis=1)
    if not finite.all() and on_nan == "error":
        raise ValueError(
            f"{np.count_nonzero(~finite)} rows of a batch have a feature that is null, NaN or infinite; fill or remove "
            "them, or set on_nan='drop'"
        )
    rank = state[0].shape[0]
    cells = _mahala.transform(state[:4], X[finite], 1, state[4]) if finite.any() else np.empty((0, rank))
    ends = np.concatenate([[0], np.cumsum(finite) * rank]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(cells.ravel()), mask=pa.array(~finite))
