"""GMML on Spark DataFrames: executors sum, the driver solves.

``fit`` learns from a DataFrame; what it returns, a ``GMMLModel``, transforms one. ``GMMLEstimator`` is the same as a
stage of a ``pyspark.ml`` Pipeline. ``transform`` applies any metric of this package. Needs ``pip install
mahala[spark]`` on the driver and mahala on every executor.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._gmml import GMML
from ._metric import MetricMixin
from ._model import load, save
from .distributed._partitions import check_dropped, check_policies, checked, learn

try:
    import pyarrow as pa
    from pyspark.ml import Estimator, Model
    from pyspark.ml.functions import array_to_vector
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
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import ArrayType, DoubleType

    from .distributed._spark_rows import drawn, feature_columns, is_vector, placed, quoted, selected, summed
except ImportError as error:
    raise ImportError(
        "mahala.spark needs pyspark 4.1 or later and pyarrow, which are not installed: pip install 'mahala[spark]'"
    ) from error

__all__ = ["GMMLEstimator", "GMMLModel", "fit", "transform"]


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
    most ``max_samples`` rows that are drawn at random and brought to the driver: a second pass over the data, so
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
    state, many = (*metric._state(), metric._is_cosine()), not isinstance(features, str)

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
    "classWeight": "class_weight",
    "nNeighbors": "n_neighbors",
    "cv": "cv",
    "maxSamples": "max_samples",
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
    t, reg, shrinkage, shrinkageTarget, prior, nComponents, classWeight, nNeighbors, cv, maxSamples, seed
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
    classWeight: Param[Any] = Param(Params._dummy(), "classWeight", "whether classes count the same", plain)
    nNeighbors: Param[int] = Param(Params._dummy(), "nNeighbors", "neighbours that vote when t is chosen", plain)
    cv: Param[int] = Param(Params._dummy(), "cv", "folds when t is chosen", plain)
    maxSamples: Param[int] = Param(Params._dummy(), "maxSamples", "rows on which t is chosen", plain)
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
