"""Pipelines, searches, pickles and data frames."""

import pickle
import warnings

import joblib
import mahala
import numpy as np
import pytest
from mahala import GMML, AutoGMML, GMMLPairs, MahalanobisKNN, Moments, Window
from sklearn.base import TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler


def test_pipeline_and_grid_search(wine):
    pipeline = Pipeline([("scale", StandardScaler()), ("gmml", GMML()), ("knn", KNeighborsClassifier())])
    grid = {"gmml__t": [0.1, 0.5, "cv"], "gmml__shrinkage": [None, 0.1], "gmml__n_components": [None, 2]}
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


@pytest.mark.parametrize(
    "make",
    [
        lambda: GMML(),
        lambda: AutoGMML(budget=2.0),
        lambda: MahalanobisKNN(metric=GMML()),
        lambda: GMML(standardize=True, n_components=3),
    ],
)
def test_pickles_keep_every_bit(wine, make, tmp_path):
    X, y = wine
    estimator = make().fit(X, y)
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    answer = estimator.transform if hasattr(estimator, "transform") else estimator.predict_proba
    for again in (pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "estimator.joblib")):
        theirs = again.transform if hasattr(again, "transform") else again.predict_proba
        assert (theirs(X) == answer(X)).all()


def test_a_pickle_of_a_stream_goes_on(iris):
    X, y = iris
    half = GMML(t=0.5).partial_fit(X[::2], y[::2])
    again = pickle.loads(pickle.dumps(half)).partial_fit(X[1::2], y[1::2])
    assert (again.components_ == half.partial_fit(X[1::2], y[1::2]).components_).all()


def test_a_pickle_of_a_window_goes_on(iris):
    X, y = iris
    blocks = np.array_split(np.random.default_rng(0).permutation(150), 12)
    window = Window(4, 3)
    for block in blocks[:5]:
        window.push(X[block], y[block])
    again = pickle.loads(pickle.dumps(window))
    assert len(again) == 3 and again.moments == window.moments
    # As often as it takes for a window to be summed anew: bit for bit, also the rounding that subtractions leave.
    for block in blocks[5:]:
        assert again.push(X[block], y[block]).moments == window.push(X[block], y[block]).moments
    empty = pickle.loads(pickle.dumps(Window(2, 7)))
    assert len(empty) == 0 and empty.moments.n_features == 2
    with pytest.raises(ValueError, match="4 blocks, 0 gone, in a window of 3"):
        length, held, total, left = window.state()
        empty.set_state((length, [*held, held[0]], total, 0))


def test_clone_keeps_parameters_and_nothing_else(wine):
    prior = np.eye(13)
    gmml = GMML(t=0.2, reg=0.1, prior=prior, n_neighbors=3).fit(*wine)
    cloned = clone(gmml)
    assert not hasattr(cloned, "components_") and (cloned.prior == prior).all() and cloned.n_neighbors == 3
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


def test_states_are_numpy_arrays(wine):
    gmml = GMML(standardize=True).fit(*wine)
    for name in ("components_", "mean_", "scale_", "t_path_", "eigenvalues_", "log_eigenvalues_", "classes_"):
        assert isinstance(getattr(gmml, name), np.ndarray), name
    assert isinstance(gmml.diagnostics_, dict) and isinstance(gmml.t_, float)
    assert GMML(t=0.5).fit(*wine).scale_ is None
    assert "GMMLPairs" in repr(GMMLPairs()) and "178" in repr(Moments(13).update(*wine))


TRANSFORMERS = [
    getattr(mahala, name)
    for name in mahala.__all__
    if isinstance(getattr(mahala, name), type) and issubclass(getattr(mahala, name), TransformerMixin) and "Pair" not in name
]


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_every_transformer_names_its_columns_keeps_types_and_shows_itself(wine, kind):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(StandardScaler().fit_transform(wine[0])[:, :5], columns=list("abcde")).astype(np.float32)
    # Enough to learn something; what did not converge has names, too.
    few = {"max_iter": 20, "budget": 1.0}
    estimator = kind(**{name: value for name, value in few.items() if name in kind._get_param_names()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = estimator.set_output(transform="pandas").fit_transform(X, wine[1])
    assert list(named) == [f"{kind.__name__.lower()}{i}" for i in range(named.shape[1])] == estimator.get_feature_names_out().tolist()
    assert (named.dtypes == np.float32).all() and estimator.feature_names_in_.tolist() == list("abcde")
    assert kind.__name__ in estimator._repr_html_()
    with pytest.raises(ValueError, match="feature names should match|feature names must be in the same order"):
        estimator.transform(X[list("edcba")])
