"""Pipelines, searches, pickles, processes, data frames, threads and Ctrl-C."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from mahala import GMML, GMMLPairs, MahalanobisKNN, Moments, _mahala
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler


def test_pipeline_and_grid_search(wine):
    pipeline = Pipeline([("scale", StandardScaler()), ("gmml", GMML()), ("knn", KNeighborsClassifier())])
    grid = {"gmml__t": [0.1, 0.5, "auto"], "gmml__shrinkage": [None, 0.1], "gmml__n_components": [None, 2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(*wine)
    assert search.best_score_ > 0.95
    assert len(search.cv_results_["params"]) == 12 and np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_several_processes_find_what_one_finds(wine, backend):
    pipeline = make_pipeline(GMML(random_state=3), KNeighborsClassifier())
    alone = cross_val_score(pipeline, *wine, cv=4)
    with joblib.parallel_backend(backend, n_jobs=2):
        together = cross_val_score(pipeline, *wine, cv=4)
    assert (alone == together).all()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(wine):
    # Threads of a pool do not survive a fork; waiting for them would be for ever.
    GMML().fit(*wine)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        fits = [pool.apply_async(fit_components, wine) for _ in range(2)]
        components = [fit.get(timeout=60) for fit in fits]
    assert all((other == fit_components(*wine)).all() for other in components)


def fit_components(X, y):
    return GMML().fit(X, y).components_


@pytest.mark.parametrize(
    "make", [lambda: GMML(), lambda: MahalanobisKNN(metric=GMML()), lambda: GMML(standardize=True, n_components=3)]
)
def test_pickles_keep_every_bit(wine, make, tmp_path):
    X, y = wine
    estimator = make().fit(X, y)
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    answer = estimator.transform if isinstance(estimator, GMML) else estimator.predict_proba
    for again in (pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "estimator.joblib")):
        theirs = again.transform if isinstance(again, GMML) else again.predict_proba
        assert (theirs(X) == answer(X)).all()


def test_a_pickle_of_a_stream_goes_on(iris):
    X, y = iris
    half = GMML(t=0.5).partial_fit(X[::2], y[::2])
    again = pickle.loads(pickle.dumps(half)).partial_fit(X[1::2], y[1::2])
    assert (again.components_ == half.partial_fit(X[1::2], y[1::2]).components_).all()


def test_clone_keeps_parameters_and_nothing_else(wine):
    prior = np.eye(13)
    gmml = GMML(t=0.2, reg=0.1, prior=prior, k=3).fit(*wine)
    cloned = clone(gmml)
    assert not hasattr(cloned, "components_") and (cloned.prior == prior).all() and cloned.k == 3
    assert (cloned.fit(*wine).components_ == gmml.components_).all()
    assert GMML(prior=prior).prior is prior


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_in_and_out(iris, library):
    frames = pytest.importorskip(library)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = frames.DataFrame({name: iris[0][:, j] for j, name in enumerate(names)})
    gmml = GMML(t=0.5).set_output(transform=library).fit(frame, frames.Series(iris[1].tolist()))
    assert gmml.feature_names_in_.tolist() == names
    out = gmml.transform(frame)
    assert isinstance(out, frames.DataFrame) and list(out.columns) == ["gmml0", "gmml1", "gmml2", "gmml3"]
    plain = GMML(t=0.5).fit(*iris)
    assert (out.to_numpy() == plain.transform(iris[0])).all()
    assert gmml.get_feature_names_out().tolist() == list(out.columns)
    swapped = frame[names[::-1]]
    with pytest.raises(ValueError, match="feature names should match"):
        gmml.transform(swapped)


def test_columns_of_mixed_tables(iris):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(iris[0], columns=list("abcd"))
    table = ColumnTransformer([("learned", GMML(t=0.5), ["a", "b"])], remainder="passthrough")
    table.set_output(transform="pandas")
    assert list(table.fit_transform(frame, iris[1]).columns) == [
        "learned__gmml0", "learned__gmml1", "remainder__c", "remainder__d",
    ]  # fmt: skip


def test_sample_weight_is_routed(wine):
    import sklearn

    X, y = wine
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(GMML(t=0.1).set_fit_request(sample_weight=True), KNeighborsClassifier())
        pipeline.fit(X, y, sample_weight=np.arange(1.0, len(y) + 1))
    direct = GMML(t=0.1).fit(X, y, sample_weight=np.arange(1.0, len(y) + 1))
    assert (pipeline[0].components_ == direct.components_).all()


def rows_that_take_long():
    generator = np.random.default_rng(0)
    return generator.normal(size=(20_000, 120)), generator.integers(10, size=20_000)


def test_other_threads_run_during_a_fit():
    X, y = rows_that_take_long()
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    ticking = threading.Thread(target=tick)
    ticking.start()
    start = time.monotonic()
    GMML(t=0.5, n_jobs=1).fit(X, y)
    took = time.monotonic() - start
    done.set()
    ticking.join()
    # Held, the interpreter would give no tick at all; a loaded machine gives fewer than one in 2 ms.
    assert len(ticks) > min(10, 50 * took)


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_ctrl_c_ends_a_long_fit_at_once():
    program = (
        "import numpy as np, time\n"
        "from mahala import GMML\n"
        "generator = np.random.default_rng(0)\n"
        "X, y = generator.normal(size=(40_000, 200)), generator.integers(10, size=40_000)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    GMML(selection_rows=40_000, n_jobs=1).fit(X, y)\n"
        "    print('finished', flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - start < 2
    process.kill()
    process.wait()


def test_threads_follow_the_environment():
    program = "from mahala import _mahala; print(_mahala.thread_count())"
    for threads in ("1", "3"):
        environment = os.environ | {"RAYON_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert run.stdout.strip() == threads
    assert _mahala.thread_count() >= 1


def test_states_are_numpy_arrays(wine):
    gmml = GMML(standardize=True).fit(*wine)
    for name in ("components_", "mean_", "scale_", "t_path_", "eigenvalues_", "log_eigenvalues_", "classes_"):
        assert isinstance(getattr(gmml, name), np.ndarray), name
    assert isinstance(gmml.diagnostics_, dict) and isinstance(gmml.t_, float)
    assert GMML(t=0.5).fit(*wine).scale_ is None
    assert "GMMLPairs" in repr(GMMLPairs()) and "178" in repr(Moments(13).update(*wine))
