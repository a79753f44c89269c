"""The classifier on our exact search."""

import numpy as np
import pytest
from mahala import GMML, MahalanobisKNN
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def test_it_finds_the_neighbours_scikit_learn_finds():
    X, queries = (np.random.default_rng(seed).normal(size=(n, 7)) for seed, n in ((0, 500), (1, 60)))
    y = np.arange(500) % 3
    ours = MahalanobisKNN(n_neighbors=6).fit(X, y)
    theirs = KNeighborsClassifier(n_neighbors=6, algorithm="brute").fit(X, y)
    distances, indices = ours.kneighbors(queries)
    assert (indices == theirs.kneighbors(queries)[1]).all()
    assert np.allclose(distances, theirs.kneighbors(queries)[0], rtol=1e-12)
    assert (ours.predict_proba(queries) == theirs.predict_proba(queries)).all()
    assert (ours.predict(queries) == theirs.predict(queries)).all()


def test_without_rows_a_row_is_not_its_own_neighbour(iris):
    X, y = iris
    ours = MahalanobisKNN(n_neighbors=4).fit(X, y)
    distances, indices = ours.kneighbors()
    theirs = NearestNeighbors(n_neighbors=4, algorithm="brute").fit(X).kneighbors()[0]
    assert (indices != np.arange(150)[:, None]).all()
    assert np.allclose(distances, theirs, atol=1e-7)
    assert ours.kneighbors(X[:2], n_neighbors=1, return_distance=False).tolist() == [[0], [1]]


def test_ties_go_to_the_smallest_class_and_the_earlier_row():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    for labels, winner in [(["b", "b", "a", "a"], "a"), ([10, 10, 9, 9], 9), (["10", "10", "9", "9"], "9")]:
        knn = MahalanobisKNN(n_neighbors=4).fit(X, labels)
        assert knn.predict([[0.5]]).tolist() == [winner]
    assert MahalanobisKNN(n_neighbors=1).fit(X, [3, 2, 1, 0]).predict([[0.0], [1.0]]).tolist() == [3, 1]


@pytest.mark.parametrize(
    "metric",
    [
        None,
        "euclidean",
        GMML(t=0.2),
        LinearDiscriminantAnalysis(),
        NeighborhoodComponentsAnalysis(max_iter=5, random_state=0),
        make_pipeline(StandardScaler(), GMML(t=0.5, n_components=2)),
    ],
)
def test_any_metric_composes(iris, metric):
    X, y = iris
    knn = MahalanobisKNN(metric=metric).fit(X, y)
    assert knn.score(X, y) > 0.9
    assert cross_val_score(clone(knn), X, y).mean() > 0.9


def test_a_matrix_is_a_metric(iris):
    X, y = iris
    gmml = GMML(t=0.4).fit(X, y)
    by_matrix = MahalanobisKNN(metric=gmml.get_mahalanobis_matrix()).fit(X, y)
    by_estimator = MahalanobisKNN(metric=gmml).fit(X, y)
    assert (by_matrix.kneighbors(X)[1] == by_estimator.kneighbors(X)[1]).mean() > 0.99
    assert by_estimator.metric_ is gmml


def test_a_fitted_metric_is_used_as_it_is_and_a_frozen_one_survives_clone(iris, wine):
    X, y = iris
    gmml = GMML(t=0.4).fit(X[::2], y[::2])
    knn = MahalanobisKNN(metric=gmml).fit(X, y)
    assert knn.metric_ is gmml
    frozen = clone(MahalanobisKNN(metric=FrozenEstimator(gmml))).fit(X, y)
    assert (frozen.kneighbors(X)[0] == knn.kneighbors(X)[0]).all()
    assert clone(knn).fit(X, y).metric_ is not gmml


def test_the_metrics_parameters_can_be_searched(wine):
    search = GridSearchCV(MahalanobisKNN(metric=GMML()), {"metric__t": [0.0, 0.1, 0.9], "n_neighbors": [3, 5]})
    search.fit(*wine)
    assert search.best_params_["metric__t"] < 0.5 and search.best_score_ > 0.95


def test_data_frames_reach_the_metric_with_their_names(iris):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(iris[0], columns=list("abcd"))
    knn = MahalanobisKNN(metric=GMML(t=0.5)).fit(frame, iris[1])
    assert knn.metric_.feature_names_in_.tolist() == list("abcd")
    assert knn.score(frame, iris[1]) > 0.95
