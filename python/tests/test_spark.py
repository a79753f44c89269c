"""Spark, on a cluster of two executors: partitions give what the rows give in memory, also when something dies."""

import functools
import os
import pathlib
import shutil
import signal
import sys
import threading
import time

import mahala
import numpy as np
import partitions
import pytest
from mahala import GMML

pytest.importorskip("pyspark", reason="pyspark is not installed: python/test --full has an environment with it")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17, which is not installed", allow_module_level=True)

import mahala.spark
import pyarrow as pa
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

DROP = {"on_null_label": "drop", "on_nan": "drop"}
DROPPED = {"null_label": partitions.UNLABELLED, "nan": partitions.SPOILED}
COLUMNS = ", ".join(f"{name} double" for name in partitions.FEATURES)
SCHEMA = f"features array<double>, {COLUMNS}, label string, weight double"


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.shuffle.partitions": "2",
        # Executors import the partitions from here.
        "spark.executorEnv.PYTHONPATH": str(pathlib.Path(__file__).parent),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def rows_of(batches, before=None):
    """Runs on executors: a partition's rows."""
    for batch in batches:
        for i in batch.column(0).to_pylist():
            if before is not None:
                before(i)
            X, y, weight = partitions.partition(i)
            cells = [pa.array(X[:, j]) for j in range(6)]
            # What is missing comes as null and as NaN.
            cells[1] = pa.array(X[:, 1], from_pandas=True)
            lists = [None if np.isnan(x[1]) else x.tolist() for x in X]
            columns = [pa.array(lists, pa.list_(pa.float64())), *cells, pa.array(y.tolist(), pa.string()), pa.array(weight)]
            yield pa.RecordBatch.from_arrays(columns, ["features", *partitions.FEATURES, "label", "weight"])


def frame(spark, before=None):
    count = len(partitions.SIZES)
    return spark.range(0, count, 1, count).mapInArrow(functools.partial(rows_of, before=before), SCHEMA)


@pytest.fixture(scope="module")
def cached(spark):
    return frame(spark).cache()


@pytest.fixture(scope="module")
def small(spark, wine):
    """Wine in three partitions: features as columns, as an array, and a label that is a number."""
    X, y = wine
    rows = [(*x, float(label)) for x, label in zip(X.tolist(), y, strict=True)]
    df = spark.createDataFrame(rows, ", ".join(f"`v.{i}` double" for i in range(13)) + ", y double")
    return df.coalesce(3).withColumn("x", F.array(*(F.col(f"`v.{i}`") for i in range(13)))).cache()


def test_an_array_column_gives_the_bits_of_the_same_blocks_and_the_metric_of_the_rows(cached):
    model = mahala.spark.fit(cached, t=0.3, **DROP)
    assert model.gmml._moments == partitions.expected_moments()
    assert partitions.relative_difference(model.gmml, partitions.in_memory(t=0.3)) < 1e-12
    assert model.dropped_ == DROPPED
    assert model.gmml.classes_.tolist() == ["c0", "c1", "c2", "rare"]


def test_many_columns_and_weights_and_the_size_of_batches_and_where_sums_are_merged_change_nothing(
    spark, cached, monkeypatch
):
    monkeypatch.setattr(mahala.distributed._spark_rows, "DRIVER_PARTIALS", 1)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 777)
    try:
        model = mahala.spark.fit(cached, partitions.FEATURES, weight="weight", t=0.3, **DROP)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert model.gmml._moments == partitions.expected_moments(weighted=True)
    assert model.gmml.feature_names_in_.tolist() == partitions.FEATURES and model.dropped_ == DROPPED


def test_a_sample_of_all_rows_chooses_what_the_rows_choose(small):
    rows = small.toPandas()
    X, y = np.stack(rows["x"]), rows["y"].to_numpy()
    model = mahala.spark.fit(small, "x", "y")
    expected = GMML(t="cv").fit(X, y)
    assert model.gmml.t_ == expected.t_ and np.array_equal(model.gmml.t_path_, expected.t_path_)
    assert model.gmml.classes_.tolist() == [0, 1, 2]


def test_t_is_chosen_on_a_sample_that_depends_on_the_seed_alone(small):
    fits = [mahala.spark.fit(small, "x", "y", max_samples=60, random_state=seed).gmml for seed in (5, 5, 6)]
    assert np.array_equal(fits[0].t_path_, fits[1].t_path_)
    assert not np.array_equal(fits[0].t_path_, fits[2].t_path_)


def test_transform_is_that_of_the_estimator(cached):
    model = mahala.spark.fit(cached, t=0.3, n_components=3, **DROP)
    found = model.transform(cached.filter("weight > 1")).select("features", "gmml").collect()
    X = np.array([row["features"] for row in found if row["gmml"] is not None])
    Z = np.array([row["gmml"] for row in found if row["gmml"] is not None])
    assert np.array_equal(Z, model.gmml.transform(X))
    lost = [row for row in found if row["gmml"] is None]
    assert lost and all(row["features"] is None or not np.isfinite(row["features"]).all() for row in lost)


def test_a_pipeline_is_saved_and_loaded_with_its_stage(small, tmp_path):
    names = [name for name in small.columns if name.startswith("v")]
    plain = small.select(*(F.col(f"`{name}`").alias(name.replace(".", "")) for name in names), "y")
    stages = [
        VectorAssembler(inputCols=[name.replace(".", "") for name in names], outputCol="features"),
        mahala.spark.GMMLEstimator(labelCol="y", outputCol="z", t=0.1, reg=0.1, prior=np.eye(13)),
        LogisticRegression(featuresCol="z", labelCol="y"),
    ]
    pipeline = Pipeline(stages=stages)
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    fitted = Pipeline.load(str(tmp_path / "pipeline")).fit(plain)
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    loaded = PipelineModel.load(str(tmp_path / "fitted"))
    one, two = (np.stack([row.z.toArray() for row in model.transform(plain).select("z").collect()]) for model in (fitted, loaded))
    assert np.array_equal(one, two)
    assert loaded.stages[1].uid == fitted.stages[1].uid and loaded.stages[1].dropped_ == {"null_label": 0, "nan": 0}
    right = loaded.transform(plain).filter("prediction = y").count()
    assert right > 160
    # The file beside the metadata is a model like any other.
    (file,) = (tmp_path / "fitted").rglob("model.safetensors")
    X = np.array([row[:13] for row in plain.collect()])
    assert np.array_equal(mahala.load(file).transform(X), one)


def test_errors_name_what_was_wrong_and_the_remedy(spark, cached, small):
    with pytest.raises(ValueError, match="11 rows have no label.*on_null_label='drop'"):
        mahala.spark.fit(cached, t=0.3, on_nan="drop")
    with pytest.raises(ValueError, match="7 rows have a feature.*on_nan='drop'"):
        mahala.spark.fit(cached, t=0.3, on_null_label="drop")
    with pytest.raises(ValueError, match="no column 'x'"):
        mahala.spark.fit(cached, "x")
    with pytest.raises(ValueError, match="'label' is of type string; it must hold numbers"):
        mahala.spark.fit(cached, ["a0", "label"])
    with pytest.raises(ValueError, match="'a0' is of type double.*as a list"):
        mahala.spark.fit(cached, "a0")
    with pytest.raises(ValueError, match="features is empty"):
        mahala.spark.fit(cached, [])
    with pytest.raises(ValueError, match="needs pairs='all'"):
        mahala.spark.fit(cached, pairs="sampled")
    with pytest.raises(ValueError, match="no parameter 'lambda'"):
        mahala.spark.GMMLEstimator(**{"lambda": 3})
    with pytest.raises(ValueError, match="no rows to learn from"):
        mahala.spark.fit(small.filter("y > 9"), "x", "y")
    with pytest.raises(Exception, match="null, NaN or infinite.*on_nan='drop'"):
        mahala.spark.transform(cached, mahala.spark.fit(cached, t=0.3, **DROP).gmml).select("gmml").collect()
    ragged = spark.createDataFrame([([1.0, 2.0], 0), ([1.0], 1)], "features array<double>, label int").coalesce(1)
    with pytest.raises(Exception, match=r"lengths \[1, 2\]; they must agree"):
        mahala.spark.fit(ragged, t=0.3)


def test_a_python_worker_that_dies_in_its_first_attempt_changes_no_bit(spark, tmp_path):
    marker = tmp_path / "killed"
    model = mahala.spark.fit(frame(spark, functools.partial(die_once, marker=marker)), t=0.3, **DROP)
    assert marker.exists()
    assert model.gmml._moments == partitions.expected_moments()


def test_an_executor_that_dies_during_the_job_changes_no_bit(spark, tmp_path):
    marker = tmp_path / "started"
    result = []
    df = frame(spark, functools.partial(linger_once, marker=marker))
    job = threading.Thread(target=lambda: result.append(mahala.spark.fit(df, t=0.3, **DROP)))
    job.start()
    partitions.wait_for(f"{marker}.executor")
    executor = int(pathlib.Path(f"{marker}.executor").read_text())
    command = pathlib.Path(f"/proc/{executor}/cmdline").read_text()
    assert "CoarseGrainedExecutorBackend" in command and spark.sparkContext.applicationId in command
    os.kill(executor, signal.SIGKILL)
    job.join()
    assert result and result[0].gmml._moments == partitions.expected_moments()


def die_once(i, marker):
    if i == 6 and partitions.first_time(marker):
        partitions.die()


def linger_once(i, marker):
    """Tells which executor this runs on, and waits to be killed with it."""
    if i == 6 and partitions.first_time(marker):
        daemon = os.getppid()
        executor = pathlib.Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1]
        written = pathlib.Path(f"{marker}.part")
        written.write_text(executor)
        written.rename(f"{marker}.executor")
        time.sleep(60)
