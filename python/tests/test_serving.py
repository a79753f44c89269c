"""Single precision, metrics prepared once, threads, progress."""

import copy
import pickle
import threading

import joblib
import numpy as np
import pytest
from mahala import (
    GMML,
    ITML,
    KISSME,
    AutoGMML,
    GMMLPairs,
    KernelGMML,
    LocalGMML,
    PairClassifier,
    RecipeGMML,
    embeddings,
    load,
    progress,
    save,
)
from mahala import _mahala
from mahala._native import _KEPT
from mahala._progress import Line, Progress, sentence
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits


@pytest.mark.parametrize(
    "estimator",
    [
        GMML(t=0.2),
        GMML(),
        GMML(max_samples=60),
        GMML(t=0.2, n_components=2),
        GMML(pairs="sampled"),
        GMML(cv=4, reg=0.1),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_single_precision_is_learned_from_with_the_bits_of_double_precision(wine, estimator, order):
    X, y = wine[0].astype(np.float32, order=order), wine[1]
    single, double = clone(estimator).fit(X, y), clone(estimator).fit(X.astype(np.float64), y)
    assert (single.components_ == double.components_).all() and (single.t_path_ == double.t_path_).all()
    assert (single.mean_ == double.mean_).all()


@pytest.mark.parametrize("settings", [{"standardize": True}, {"class_weight": "balanced"}, {"class_weight": "balanced-pairs"}])
def test_single_precision_agrees_to_rounding_where_sums_are_merged(wine, settings):
    X, y = wine[0].astype(np.float32), wine[1]
    a, b = (GMML(t=0.2, **settings).fit(rows, y).get_mahalanobis_matrix() for rows in (X, X.astype(np.float64)))
    # Rounding of means and deviations, some 1e-15, times the condition of S in units of its columns, below 1e3.
    assert np.linalg.norm(a - b) < 1e-12 * np.linalg.norm(b)


@pytest.mark.parametrize(
    "estimator",
    [
        GMML(t=0.2),
        AutoGMML(budget=1.0),
        KernelGMML(t=0.5),
        KernelGMML(kernel="auto", budget=1.0),
        RecipeGMML(),
        ITML(),
    ],
    ids=str,
)
def test_single_precision_stays_single_precision(iris, estimator):
    fitted = clone(estimator).fit(*iris)
    single = fitted.transform(iris[0].astype(np.float32))
    double = fitted.transform(iris[0].astype(np.float32).astype(np.float64))
    assert single.dtype == np.float32 and double.dtype == np.float64
    # Computed in double precision, and rounded once.
    assert (single == double.astype(np.float32)).all()
    assert fitted.fit_transform(iris[0].astype(np.float32), iris[1]).dtype == np.float32


def test_sparse_single_precision_stays_single_precision(wine):
    gmml = GMML(t=0.2).fit(*wine)
    assert gmml.transform(csr_matrix(wine[0].astype(np.float32))).dtype == np.float32


def test_a_coordinate_beyond_single_precision_is_refused():
    X = np.array([[0.0], [1e-30], [1.0], [1.0 + 1e-30]]) * 1e-30
    gmml = GMML(t=0.0).fit(np.array([[0.0], [1e-36], [1e-35], [1.1e-35]]), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="single precision"):
        gmml.transform(np.array([[3e38]], dtype=np.float32))
    assert np.isfinite(gmml.transform(X)).all()


def test_an_array_is_transformed_without_checks_of_scikit_learn(wine, tmp_path):
    X, y = wine
    gmml = GMML(t=0.1).fit(X, y)
    assert (gmml.transform_array(X) == gmml.transform(X)).all()
    assert (gmml.transform_array(X[3]) == gmml.transform(X[3:4])[0]).all()
    assert gmml.transform_array(X[3].astype(np.float32)).dtype == np.float32
    save(gmml, tmp_path / "m.safetensors")
    assert (load(tmp_path / "m.safetensors").transform_array(X[3]) == gmml.transform_array(X[3])).all()
    with pytest.raises(ValueError, match="columns of the rows: 12 given, 13 expected"):
        gmml.transform_array(X[:, :12])
    with pytest.raises(ValueError, match="finite|nan"):
        gmml.transform_array(np.full(13, np.nan))
    with pytest.raises(NotFittedError):
        GMML().transform_array(X)


def test_the_metric_is_prepared_once_and_again_when_an_attribute_is_replaced(wine):
    X, y = wine
    gmml = GMML(t=0.1).fit(X, y)
    gmml.transform(X)
    prepared = _KEPT[gmml][1]
    gmml.transform(X[:2])
    assert _KEPT[gmml][1] is prepared
    with pytest.raises(ValueError, match="read-only"):
        gmml.components_[0, 0] = 7.0
    gmml.components_ = 2 * gmml.components_
    assert np.allclose(gmml.transform(X), 2 * GMML(t=0.1).fit(X, y).transform(X))
    # An array that can be written to is looked at in every call.
    gmml.components_[:] = np.eye(13)
    gmml.mean_ = np.zeros(13)
    assert np.allclose(gmml.transform(X), X)


def test_copies_are_prepared_too(wine):
    X, y = wine
    gmml = GMML(t=0.1).fit(X, y)
    for again in (pickle.loads(pickle.dumps(gmml)), copy.deepcopy(gmml)):
        assert (again.transform(X) == gmml.transform(X)).all() and again in _KEPT
    assert clone(gmml) not in _KEPT


def test_threads_of_the_caller_share_one_metric(wine):
    X, y = wine
    gmml, answers = GMML(t=0.1).fit(X, y), []
    wanted = gmml.transform(X)

    def work():
        answers.extend((gmml.transform(X) == wanted).all() for _ in range(50))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(answers) == 200 and all(answers)


def test_threadpoolctl_knows_and_limits_our_threads():
    ours = [library for library in threadpool_info() if library["user_api"] == "mahala"]
    assert len(ours) == 1 and ours[0]["version"] == _mahala.__version__
    before = _mahala.thread_count()
    with threadpool_limits(1, user_api="mahala"):
        assert _mahala.thread_count() == 1
    assert _mahala.thread_count() == before


def test_joblib_says_how_many_threads(monkeypatch):
    from mahala._threads import threads

    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads(None) is None and threads(3) == 3
    with joblib.parallel_config(n_jobs=3):
        assert threads(None) == 3 and threads(2) == 2
    assert joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(threads)(None) for _ in range(2)) == [1, 1]


def test_a_function_is_told_how_far_a_fit_is(iris):
    steps = []
    with progress(steps.append):
        GMML().fit(*iris)
    assert {step.estimator for step in steps} == {"GMML"} and steps[-1].done == steps[-1].total == 100
    steps.clear()
    with progress(steps.append):
        ITML().fit(*iris)
        AutoGMML(budget=1.0).fit(*iris)
        LocalGMML().fit(*iris)
        KernelGMML().fit(*iris)
    assert [name for name in dict.fromkeys(step.estimator for step in steps)] == ["ITML", "AutoGMML", "LocalGMML", "KernelGMML"]
    count = len(steps)
    GMML().fit(*iris)
    assert len(steps) == count


def test_what_is_tried_and_the_best_so_far_are_told():
    # Large enough to be asked for more than once, for calls are a moment apart.
    rows = make_classification(1500, 30, n_informative=10, n_classes=4, random_state=0)
    steps = []
    with progress(steps.append):
        auto = AutoGMML().fit(*rows)
    assert all(step.trying for step in steps)
    best = [step.objective for step in steps if step.objective is not None]
    assert best and all(0 <= value <= 1 for value in best) and auto.verdict_
    assert sentence(steps[-1], 0.0).startswith("[AutoGMML] ") and ", trying " in sentence(steps[-1], 0.0)
    assert ", best so far 0.05, " in sentence(Progress("AutoGMML", 1, 2, 0.05, "recipes"), 0.0)


def test_learners_of_pairs_and_adapters_tell_how_far_they_are(iris, capsys):
    X, y = iris
    steps, pairs = [], X[np.random.default_rng(0).integers(150, size=(400, 2))]
    same = np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1) < 2
    with progress(steps.append):
        GMMLPairs(calibration="platt").fit(pairs, same)
    assert {step.estimator for step in steps} == {"GMMLPairs"} and steps[-1].done == steps[-1].total == 100
    steps.clear()
    with progress(steps.append):
        PairClassifier(KISSME(), calibration="platt", cv=3).fit(pairs, same)
    own = [(step.done, step.total) for step in steps if step.estimator == "PairClassifier"]
    assert own == [(1, 4), (2, 4), (3, 4), (4, 4)]
    steps.clear()
    with progress(steps.append):
        embeddings.Adapter().fit(X, y)
    assert {step.estimator for step in steps} == {"Adapter"} and steps[-1].done == steps[-1].total
    for estimator in (GMMLPairs(verbose=1), PairClassifier(KISSME(), verbose=1)):
        estimator.fit(pairs, same)
        assert capsys.readouterr().out.startswith(f"[{type(estimator).__name__}] |")
    embeddings.Adapter(verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("[Adapter] |")


def test_what_the_function_raises_ends_the_fit(iris):
    class Enough(Exception):
        pass

    def stop(step):
        raise Enough

    for estimator in (GMML(), AutoGMML(), ITML()):
        with progress(stop), pytest.raises(Enough):
            estimator.fit(*iris)


def test_a_line_tells_how_far_a_fit_is(iris, capsys):
    GMML(verbose=1).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("[GMML] |########################| 100/100, ")
    GMMLPairs(t=0.5).fit(iris[0][[[0, 1], [0, 60]]], [1, -1])
    assert capsys.readouterr().out == ""


def test_a_line_is_written_over_in_terminals_and_notebooks(monkeypatch, capsys):
    step = Progress("GMML", 5, 10, None)
    assert sentence(step, 1.25) == "[GMML] |############............| 5/10, 1.2 s"
    assert sentence(Progress("ITML", 7, None, 0.5), 0.0) == "[ITML] iteration 7, objective 0.5, 0.0 s"
    line = Line("GMML")
    line.over = True
    line.show(step)
    line.show(step._replace(done=10))
    out = capsys.readouterr().out
    assert out.count("\r\x1b[K") == 2 and out.count("\n") == 1
    shown = []

    class Place:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    line.display = Place()
    line.show(step)
    assert len(shown) == 1 and shown[0].startswith("[GMML] |####") and capsys.readouterr().out == ""
