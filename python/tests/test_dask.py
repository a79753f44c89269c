"""Dask: the sums of partitions give what the rows give in memory, also when a worker dies."""

import functools
import os

import numpy as np
import partitions
import pytest
from mahala import GMML, load, save

pytest.importorskip("dask", reason="dask is not installed: pip install 'mahala[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="dask's DataFrames are not installed: pip install 'mahala[dask]'")

import dask
import dask.array as da
import mahala.dask
import pandas as pd

DROP = {"on_null_label": "drop", "on_nan": "drop"}
DROPPED = {"null_label": partitions.UNLABELLED, "nan": partitions.SPOILED}


def pandas_partition(i, marker=None):
    if marker is not None and i == 3 and partitions.first_time(marker):
        partitions.die()
    X, y, weight = partitions.partition(i)
    frame = pd.DataFrame(X, columns=partitions.FEATURES)
    return frame.assign(label=pd.Series(y, dtype=object), weight=weight)


def frame(marker=None):
    parts = range(len(partitions.SIZES))
    meta = pandas_partition(1)
    return dd.from_map(functools.partial(pandas_partition, marker=marker), parts, meta=meta, enforce_metadata=False)


def arrays():
    columns = zip(*(partitions.partition(i) for i in range(len(partitions.SIZES)) if partitions.SIZES[i]), strict=True)
    return [da.concatenate([da.from_array(part, chunks=-1) for part in column]) for column in columns]


def fit_frame(**params):
    return mahala.dask.fit(frame(), features=partitions.FEATURES, label="label", **DROP, **params)


def test_a_frame_gives_the_bits_of_the_same_blocks_and_the_metric_of_the_rows():
    gmml = fit_frame(t=0.3)
    assert gmml._moments == partitions.expected_moments()
    assert partitions.relative_difference(gmml, partitions.in_memory(t=0.3)) < 1e-12
    assert gmml.dropped_ == DROPPED and gmml.diagnostics_["dropped"] == DROPPED
    assert gmml.classes_.tolist() == ["c0", "c1", "c2", "rare"]
    assert gmml.feature_names_in_.tolist() == partitions.FEATURES


def test_weights_count():
    gmml = fit_frame(t=0.3, weight="weight")
    assert gmml._moments == partitions.expected_moments(weighted=True)
    X, y, weight = partitions.all_rows()
    assert partitions.relative_difference(gmml, GMML(t=0.3).fit(X, y, weight)) < 1e-12


def test_arrays_give_what_frames_give():
    X, y, weight = arrays()
    gmml = mahala.dask.fit(X.rechunk({1: 4}), y.rechunk(1000), t=0.3, **DROP)
    assert partitions.relative_difference(gmml, fit_frame(t=0.3)) < 1e-12 and gmml.dropped_ == DROPPED
    unknown = [array[X[:, 0] < 1e300] for array in (X, y, weight)]
    assert np.isnan(unknown[0].shape[0])
    again = mahala.dask.fit(unknown[0], unknown[1], weight=unknown[2], t=0.3, **DROP)
    assert partitions.relative_difference(again, fit_frame(t=0.3, weight="weight")) < 1e-12


def test_a_column_of_arrays_gives_what_columns_give():
    def listed(part):
        return pd.DataFrame({"x": pd.Series(list(part[partitions.FEATURES].to_numpy()), dtype=object), "y": part["label"]})

    with pytest.raises(ValueError, match="convert-string"):
        mahala.dask.fit(frame(), features="label", label="label")
    with dask.config.set({"dataframe.convert-string": False}):
        lists = frame().map_partitions(listed, meta=listed(pandas_partition(1)), enforce_metadata=False)
        assert mahala.dask.fit(lists, features="x", label="y", t=0.3, **DROP)._moments == partitions.expected_moments()


def test_t_is_chosen_on_a_sample_that_depends_on_the_seed_alone():
    first, again = (fit_frame(max_samples=400, random_state=5) for _ in range(2))
    assert first.t_ == again.t_ and np.array_equal(first.t_path_, again.t_path_) and len(first.t_path_) > 10
    other = fit_frame(max_samples=400, random_state=6)
    assert not np.array_equal(first.t_path_, other.t_path_)


def test_a_sample_of_all_rows_chooses_what_the_rows_choose(wine):
    X, y = wine
    gmml = mahala.dask.fit(da.from_array(X, chunks=(40, 13)), da.from_array(y, chunks=60))
    assert gmml.t_ == GMML(t="cv").fit(X, y).t_
    assert gmml.classes_.tolist() == [0, 1, 2]


def test_transform_is_that_of_the_estimator(tmp_path):
    gmml = fit_frame(t=0.3, n_components=3)
    Z = mahala.dask.transform(gmml, frame(), on_nan="drop").compute()
    X = np.concatenate([partitions.partition(i)[0] for i in range(len(partitions.SIZES))])
    finite = np.isfinite(X).all(axis=1)
    assert list(Z.columns) == ["gmml0", "gmml1", "gmml2"]
    expected = gmml.transform(pd.DataFrame(X[finite], columns=partitions.FEATURES))
    assert np.array_equal(Z.to_numpy()[finite], expected) and Z[~finite].isna().all(axis=None)
    assert np.array_equal(mahala.dask.transform(gmml, arrays()[0], on_nan="drop").compute(), Z.to_numpy(), equal_nan=True)
    save(gmml, tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").diagnostics_["dropped"] == DROPPED


def test_errors_name_what_was_wrong_and_the_remedy():
    X, y, _ = arrays()
    with pytest.raises(ValueError, match="11 rows have no label.*on_null_label='drop'"):
        mahala.dask.fit(X, y, t=0.3, on_nan="drop")
    with pytest.raises(ValueError, match="7 rows have a feature.*on_nan='drop'"):
        mahala.dask.fit(X, y, t=0.3, on_null_label="drop")
    with pytest.raises(ValueError, match="missing or not finite.*on_nan='drop'"):
        mahala.dask.transform(fit_frame(t=0.3), X).compute()
    with pytest.raises(ValueError, match="on_nan is 'keep'"):
        mahala.dask.fit(X, y, on_nan="keep")
    with pytest.raises(ValueError, match="cannot standardise"):
        mahala.dask.fit(X, y, standardize=True)
    for t in ("best", 1.5):
        with pytest.raises(ValueError, match=f"t is {t!r}"):
            mahala.dask.fit(X, y, t=t)
    with pytest.raises(ValueError, match="no column 'klass'"):
        mahala.dask.fit(frame(), label="klass")
    with pytest.raises(ValueError, match="label names its column"):
        mahala.dask.fit(frame())
    with pytest.raises(ValueError, match="y has 5 rows"):
        mahala.dask.fit(X, da.zeros(5))
    with pytest.raises(ValueError, match="type ndarray"):
        mahala.dask.fit(np.eye(3))
    with pytest.raises(ValueError, match="no rows to learn from; 4 rows were left out"):
        mahala.dask.fit(da.full((4, 2), np.nan), da.zeros(4), on_nan="drop")


def test_a_worker_that_dies_changes_no_bit(tmp_path):
    distributed = pytest.importorskip("distributed")
    # Workers import the partitions from here.
    path = os.pathsep.join(filter(None, [os.path.dirname(__file__), os.environ.get("PYTHONPATH")]))
    marker = tmp_path / "killed"
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = path
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "120s"}),
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
            ) as cluster,
            distributed.Client(cluster),
        ):
            data = frame(str(marker))
            gmml = mahala.dask.fit(data, features=partitions.FEATURES, label="label", t=0.3, **DROP)
    finally:
        if old is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = old
    assert marker.exists()
    assert gmml._moments == partitions.expected_moments()
