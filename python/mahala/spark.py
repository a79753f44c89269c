"""GMML on Spark DataFrames: executors sum, the driver solves.

``fit`` learns from a DataFrame; what it returns, a ``GMMLModel``, transforms one. ``GMMLEstimator`` is the same as a
stage of a ``pyspark.ml`` Pipeline. ``transform`` applies any metric of this package. Needs ``pip install
mahala[spark]`` on the driver and mahala on every executor.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from . import _mahala
from ._cluster import (
    FAN_IN,
    Labelled,
    Partial,
    Sample,
    check_dropped,
    check_policies,
    checked,
    learn,
    merge_group,
    merge_tree,
    sample_partition,
    sum_partition,
)
from ._common import class_names
from ._gmml import GMML
from ._metric import MetricMixin
from ._model import load, save
from ._moments import Moments

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark import StorageLevel, TaskContext
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.ml.linalg import VectorUDT
    from pyspark.ml.param import Param, Params
    from pyspark.ml.param.shared import HasFeaturesCol, HasInputCols, HasLabelCol, HasOutputCol, HasWeightCol
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import ArrayType, BooleanType, DoubleType, NumericType
except ImportError as error:
    raise ImportError(
        "mahala.spark needs pyspark 4.1 or later and pyarrow, which are not installed: pip install 'mahala[spark]'"
    ) from error

__all__ = ["GMMLEstimator", "GMMLModel", "fit", "transform"]

#: At most this many partial sums, and this many bytes of them, come to the driver; more are merged on the executors.
DRIVER_PARTIALS = 64
DRIVER_BYTES = 2**28

SUMS = "partition int, moments binary, null_labels long, not_finite long"
SAMPLE = "partition int, draws array<double>, cells array<double>, labels array<string>, weights array<double>"


def fit(
    df: DataFrame,
    features: str | list[str] = "features",
    label: str = "label",
    *,
    weight: str | None = None,
    output: str = "gmml",
    on_null_label: str = "error",
    on_nan: str = "error",
    **params: Any,
) -> GMMLModel:
    """Learns from a DataFrame.

    Executors sum each partition; the sums are merged in groups of eight by partition number, so that the same
    partitions give the same bits. The driver solves. Unless t is a number, it is chosen by cross-validation on at
    most ``selection_rows`` rows that are drawn at random and brought to the driver: a second pass over the data, so
    cache them if they are costly to make.

    Parameters
    ----------
    df : DataFrame
    features : str or list of str
        One column of arrays or ``pyspark.ml`` vectors, or several columns of numbers.
    label : str
        Column of classes.
    weight : str, optional
        Column of weights of rows.
    output : str
        Column that ``transform`` of the model adds.
    on_null_label, on_nan : {"error", "drop"}, default="error"
        What to do with rows without a label, and with rows in which a feature or the weight is null or not finite.
    **params
        Parameters of ``GMML``. Of its modes, only t can be chosen; ``pairs``, ``principal`` and ``standardize`` cannot
        be changed.

    Returns
    -------
    model : GMMLModel
        Its ``gmml`` is the fitted ``mahala.GMML``; its ``dropped_`` says how many rows were left out.
    """
    check_policies(on_null_label, on_nan)
    gmml = checked(params, "mahala.spark.fit")
    rows = selected(df, features, label, weight)
    many = not isinstance(features, str)
    partial = summed(rows, many)
    moments = check_dropped(partial, on_null_label, on_nan)
    gmml = learn(gmml, partial, moments, lambda seed, share: drawn(rows, many, seed, share))
    if many:
        gmml.feature_names_in_ = np.array(features, dtype=object)
    model = GMMLModel(gmml)
    columns = {"inputCols": list(features)} if many else {"featuresCol": features}
    return model._set(**columns, labelCol=label, outputCol=output, onNaN=on_nan)


def transform(
    df: DataFrame,
    metric: MetricMixin,
    features: str | list[str] = "features",
    output: str = "gmml",
    *,
    on_nan: str = "error",
) -> DataFrame:
    """Adds a column of coordinates in which the learned distance is Euclidean.

    Parameters
    ----------
    df : DataFrame
    metric : fitted GMML, or another fitted metric of this package
    features : str or list of str
        One column of arrays or vectors, or several columns of numbers.
    output : str
        Name of the new column: vectors if the features are a column of vectors, else arrays.
    on_nan : {"error", "drop"}, default="error"
        Whether a row with a feature that is null or not finite is an error, or gets null for coordinates.
    """
    check_is_fitted(metric, "components_")
    check_policies("error", on_nan)
    state, many = metric._state(), not isinstance(features, str)

    def coordinates(*columns: pa.Array) -> pa.Array:
        return placed(list(columns), many, state, on_nan)

    place = arrow_udf(coordinates, ArrayType(DoubleType()))
    column = place(*feature_columns(df, features))
    if isinstance(features, str) and is_vector(df, features):
        df = df.withColumn(output, column)
        column = F.when(F.col(quoted(output)).isNotNull(), array_to_vector(F.col(quoted(output))))
    return df.withColumn(output, column)


def plain(value: Any) -> Any:
    """As metadata are written: no NumPy types."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


#: Parameters of the estimator with the names they have in ``GMML``.
LEARNING = {
    "t": "t",
    "reg": "reg",
    "shrinkage": "shrinkage",
    "shrinkageTarget": "shrinkage_target",
    "prior": "prior",
    "nComponents": "n_components",
    "balance": "balance",
    "k": "k",
    "cv": "cv",
    "selectionRows": "selection_rows",
    "seed": "random_state",
}


class GMMLColumns(HasFeaturesCol, HasInputCols, HasLabelCol, HasOutputCol):
    """The columns that the estimator and its model share."""

    onNaN: Param[str] = Param(
        Params._dummy(), "onNaN", "rows with a feature that is null or not finite: 'error' or 'drop'", plain
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(outputCol="gmml", onNaN="error")

    def _features(self) -> str | list[str]:
        """Several columns if ``inputCols`` is set, else the one of ``featuresCol``."""
        return list(self.getInputCols()) if self.isSet(self.inputCols) else str(self.getFeaturesCol())


class GMMLEstimator(
    Estimator["GMMLModel"], GMMLColumns, HasWeightCol, DefaultParamsReadable["GMMLEstimator"], DefaultParamsWritable
):
    """GMML as a stage of a ``pyspark.ml`` Pipeline, saved and loaded with it.

    Parameters
    ----------
    featuresCol : str
        Column of vectors or arrays. Default: "features".
    inputCols : list of str
        Several columns of numbers instead.
    labelCol, weightCol, outputCol : str
        Defaults: "label", none, "gmml".
    onNullLabel, onNaN : {"error", "drop"}
        See ``fit``.
    t, reg, shrinkage, shrinkageTarget, prior, nComponents, balance, k, cv, selectionRows, seed
        Parameters of ``mahala.GMML``; seed is its ``random_state``.

    Examples
    --------
    ``Pipeline(stages=[VectorAssembler(...), GMMLEstimator(labelCol="y", t=0.3), LogisticRegression(featuresCol="gmml")])``
    """

    onNullLabel: Param[str] = Param(Params._dummy(), "onNullLabel", "rows without a label: 'error' or 'drop'", plain)
    t: Param[Any] = Param(Params._dummy(), "t", "'cv' or a number between 0 and 1", plain)
    reg: Param[Any] = Param(Params._dummy(), "reg", "weight of the prior", plain)
    shrinkage: Param[Any] = Param(Params._dummy(), "shrinkage", "share of the diagonal, or 'analytic'", plain)
    shrinkageTarget: Param[str] = Param(Params._dummy(), "shrinkageTarget", "what is shrunk, and towards what", plain)
    prior: Param[Any] = Param(Params._dummy(), "prior", "prior metric", plain)
    nComponents: Param[Any] = Param(Params._dummy(), "nComponents", "coordinates to keep", plain)
    balance: Param[Any] = Param(Params._dummy(), "balance", "whether classes count the same", plain)
    k: Param[int] = Param(Params._dummy(), "k", "neighbours that vote when t is chosen", plain)
    cv: Param[int] = Param(Params._dummy(), "cv", "folds when t is chosen", plain)
    selectionRows: Param[int] = Param(Params._dummy(), "selectionRows", "rows on which t is chosen", plain)
    seed: Param[int] = Param(Params._dummy(), "seed", "decides the rows and folds on which t is chosen", plain)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(onNullLabel="error", t="cv")
        self.setParams(**params)

    def setParams(self, **params: Any) -> GMMLEstimator:
        """Sets parameters by name."""
        strange = [name for name in params if not self.hasParam(name)]
        if strange:
            known = sorted(param.name for param in self.params)
            raise ValueError(f"GMMLEstimator has no parameter {strange[0]!r}; it has {known}")
        self._set(**params)
        return self

    def _fit(self, dataset: DataFrame) -> GMMLModel:
        chosen = {LEARNING[name]: self.getOrDefault(name) for name in LEARNING if self.isDefined(name)}
        if isinstance(chosen.get("prior"), list):
            chosen["prior"] = np.array(chosen["prior"])
        model = fit(
            dataset,
            self._features(),
            self.getLabelCol(),
            weight=self.getWeightCol() if self.isSet(self.weightCol) else None,
            on_null_label=self.getOrDefault("onNullLabel"),
            on_nan=self.getOrDefault("onNaN"),
            **chosen,
        )
        model._resetUid(self.uid)
        return self._copyValues(model)


class GMMLModel(Model, GMMLColumns, MLReadable["GMMLModel"], MLWritable):
    """A learned metric as a transformer. Its file holds a model that ``mahala.load`` and the command read.

    Attributes
    ----------
    gmml : fitted mahala.GMML
    dropped_ : dict
        How many rows the fit left out: "null_label" and "nan".
    """

    def __init__(self, gmml: GMML) -> None:
        super().__init__()
        self.gmml = gmml

    @property
    def dropped_(self) -> dict[str, int]:
        return dict(self.gmml.diagnostics_["dropped"])

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return transform(
            dataset, self.gmml, self._features(), self.getOutputCol(), on_nan=self.getOrDefault("onNaN")
        )

    def write(self) -> MLWriter:
        """Writes metadata as Spark does, and the metric beside them as ``model.safetensors``."""
        return GMMLModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[GMMLModel]:
        """Reads what ``write`` wrote."""
        return GMMLModelReader()


class GMMLModelWriter(MLWriter):
    """Writes a model to a file system that Spark knows."""

    def __init__(self, model: GMMLModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        """Metadata first, then the model."""
        session = self.sparkSession
        DefaultParamsWriter.saveMetadata(self.model, path, session)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.safetensors")
            save(self.model.gmml, file)
            with open(file, "rb") as written:
                content = written.read()
        target = session._jvm.org.apache.hadoop.fs.Path(f"{path}/model.safetensors")
        stream = target.getFileSystem(session._jsc.hadoopConfiguration()).create(target, True)
        try:
            stream.write(content)
        finally:
            stream.close()


class GMMLModelReader(MLReader["GMMLModel"]):
    """Reads what ``GMMLModelWriter`` wrote."""

    def load(self, path: str) -> GMMLModel:
        """The model with its parameters and its name."""
        session = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, session, "mahala.spark.GMMLModel")
        (row,) = session.read.format("binaryFile").load(f"{path}/model.safetensors").select("content").collect()
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.safetensors")
            with open(file, "wb") as copy:
                copy.write(row.content)
            gmml = load(file)
        assert isinstance(gmml, GMML)
        model = GMMLModel(gmml)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


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
    cells = _mahala.transform(state, X[finite], 1) if finite.any() else np.empty((0, rank))
    ends = np.concatenate([[0], np.cumsum(finite) * rank]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(cells.ravel()), mask=pa.array(~finite))
