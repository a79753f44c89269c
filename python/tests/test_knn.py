"""The classifier on our exact search."""

import pickle
import threading
import tracemalloc

import numpy as np
import pytest
from mahala import GMML, MahalanobisKNN, MahalanobisKNNRegressor, MahalanobisNearestNeighbors, _mahala, _neighbors
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors, NeighborhoodComponentsAnalysis
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


@pytest.mark.parametrize("weights", ["uniform", "distance", None, lambda distances: np.exp(-distances)], ids=str)
def test_weights_are_those_of_scikit_learn(iris, weights):
    # Moved a little, for of rows as far from a query scikit-learn takes any.
    X, y = iris[0] + np.random.default_rng(0).normal(scale=1e-3, size=iris[0].shape), iris[1]
    ours, theirs = (kind(7, weights=weights).fit(X[::2], y[::2]) for kind in (MahalanobisKNN, KNeighborsClassifier))
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    assert (ours.predict(X) == theirs.predict(X)).all()
    targets = np.column_stack([X[:, 0], X[:, 1] ** 2])
    for y_train in (targets[::2], targets[::2, 0]):
        ours, theirs = (kind(7, weights=weights).fit(X[::2], y_train) for kind in (MahalanobisKNNRegressor, KNeighborsRegressor))
        assert ours.predict(X).shape == theirs.predict(X).shape
        assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-12)


def test_weights_are_checked(iris):
    with pytest.raises(ValueError, match="weights is 'near'; it must be 'uniform', 'distance', None or a function"):
        MahalanobisKNN(weights="near").fit(*iris).predict(iris[0])
    with pytest.raises(ValueError, match=r"weights returned shape \(5,\) for distances of shape \(150, 5\)"):
        MahalanobisKNN(weights=lambda distances: np.ones(5)).fit(*iris).predict(iris[0])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_the_graph_is_that_of_scikit_learn(iris, mode):
    X = iris[0] + np.random.default_rng(0).normal(scale=1e-3, size=iris[0].shape)
    ours = MahalanobisNearestNeighbors(4).fit(X)
    theirs = NearestNeighbors(n_neighbors=4, algorithm="kd_tree").fit(X)
    for rows in (X[:9], None):
        assert np.allclose(ours.kneighbors_graph(rows, mode=mode).toarray(), theirs.kneighbors_graph(rows, mode=mode).toarray(), atol=1e-12)
    with pytest.raises(ValueError, match="mode is 'edges'"):
        ours.kneighbors_graph(X, mode="edges")


def test_sparse_rows_are_searched_as_dense_ones(wine):
    X, y = wine
    for metric in (None, GMML(t=0.1), np.diag(1 / X.var(axis=0))):
        dense = MahalanobisKNN(metric=metric).fit(X, y)
        sparse = MahalanobisKNN(metric=metric).fit(csr_matrix(X), y)
        assert (sparse.predict(csr_matrix(X)) == dense.predict(X)).all()


def test_the_index_is_built_once_and_survives_pickling(iris, monkeypatch):
    built = []

    class Counting:
        def __init__(self, rows, threads):
            built.append(len(rows))
            self.index = made(rows, threads)

        def search(self, *arguments):
            return self.index.search(*arguments)

    made = _mahala.NeighborIndex
    monkeypatch.setattr(_mahala, "NeighborIndex", Counting)
    knn = MahalanobisKNN().fit(*iris)
    first = knn.kneighbors(iris[0])
    assert all((a == b).all() for a, b in zip(knn.kneighbors(iris[0]), first, strict=True)) and built == [150]
    again = pickle.loads(pickle.dumps(knn))
    again.predict(iris[0]), again.predict(iris[0])
    assert built == [150, 150] and (again.kneighbors(iris[0])[1] == first[1]).all()


def test_many_threads_search_one_index(iris):
    knn, answers = MahalanobisKNN(metric=GMML(t=0.5)).fit(*iris), []
    wanted = knn.kneighbors(iris[0])[1]

    def work():
        answers.extend((knn.kneighbors(iris[0])[1] == wanted).all() for _ in range(20))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(answers) == 80 and all(answers)


def test_a_search_without_classes_takes_a_fitted_metric_or_learns_one(wine):
    X, y = wine
    gmml = GMML(t=0.1).fit(X, y)
    search = MahalanobisNearestNeighbors(3, metric=gmml).fit(X[:100])
    distances, indices = search.kneighbors(X[100:103])
    for row, found, how_far in zip(X[100:103], indices, distances, strict=True):
        pairs = np.stack([np.broadcast_to(row, (100, 13)), X[:100]], axis=1)
        by_hand = gmml.pair_distance(pairs)
        assert (np.argsort(by_hand)[:3] == found).all() and np.allclose(np.sort(by_hand)[:3], how_far)
    learned = MahalanobisNearestNeighbors(3, metric=GMML(t=0.1)).fit(X, y)
    assert (learned.metric_.components_ == gmml.components_).all()


def test_it_stands_where_scikit_learns_classifier_stands(wine):
    X, y = wine
    search = GridSearchCV(MahalanobisKNN(), {"n_neighbors": [1, 5], "weights": ["uniform", "distance"]}).fit(X, y)
    theirs = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5], "weights": ["uniform", "distance"]}).fit(X, y)
    assert np.allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert search.best_params_ == theirs.best_params_


def test_the_neighbours_within_a_radius_are_those_of_scikit_learn(wine):
    X, y = wine
    gmml = GMML(t=0.1).fit(X, y)
    search = MahalanobisNearestNeighbors(metric=gmml).fit(X)
    Z = gmml.transform(X)
    theirs = NearestNeighbors(algorithm="brute").fit(Z)
    spread = np.linalg.norm(Z - Z[0], axis=1)
    for radius in (0.0, np.quantile(spread, 0.05), np.quantile(spread, 0.6), 2 * spread.max()):
        radius = float(radius) * (1 + 1e-9)
        for rows, moved in ((X[:50], Z[:50]), (None, None)):
            distances, indices = search.radius_neighbors(rows, radius)
            expected = theirs.radius_neighbors(moved, radius, return_distance=False)
            if radius > 0:
                assert [sorted(part) for part in indices] == [sorted(part.tolist()) for part in expected]
            assert all((np.diff(part) >= 0).all() for part in distances)
            graph = search.radius_neighbors_graph(rows, radius, mode="distance")
            assert graph.shape[1] == len(X) and graph.nnz == sum(map(len, indices))
    assert len(search.radius_neighbors(X[:1], 2 * spread.max(), return_distance=False)[0]) == len(X)
    with pytest.raises(ValueError, match="radius is -1.0; it must be 0 or above"):
        search.radius_neighbors(X, -1.0)


def test_several_labels_a_row_are_refused_with_what_takes_them(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"y has shape \(178, 2\).*MultiOutputClassifier\(MahalanobisKNN\(\)\)"):
        MahalanobisKNN().fit(X, np.column_stack([y, y]))


def test_single_precision_is_converted_a_part_at_a_time_to_the_same_neighbours(wine, monkeypatch):
    X, y = wine[0].astype(np.float32), wine[1]
    for metric in (GMML(t=0.1).fit(X, y), None, np.eye(13), StandardScaler(with_mean=False).fit(X)):
        whole = MahalanobisKNN(metric=metric).fit(X.astype(np.float64), y)
        expected = whole.kneighbors(X.astype(np.float64), 3)
        with monkeypatch.context() as patched:
            patched.setattr(_neighbors, "CHUNK", 50)
            parts = MahalanobisKNN(metric=metric).fit(X, y)
            distances, indices = parts.kneighbors(X, 3)
            assert (indices == expected[1]).all() and np.allclose(distances, expected[0], rtol=0, atol=1e-9)
            if metric is None or isinstance(metric, GMML):
                assert (parts.predict(csr_matrix(X)) == whole.predict(X)).all()


def test_a_search_of_single_precision_makes_no_double_precision_copy_of_the_whole():
    rng = np.random.default_rng(0)
    rows, queries = rng.normal(size=(200, 64)).astype(np.float32), rng.normal(size=(200_000, 64)).astype(np.float32)
    knn = MahalanobisKNN(1).fit(rows, np.arange(200) % 2)
    tracemalloc.start()
    knn.kneighbors(queries, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The whole table would take 102 MB as float64.
    assert peak < 70e6, f"{peak / 1e6:.0f} MB"
