"""The rest of the field: a metric a class, likelihood ratios of pairs, regression, nearest means, several tasks, sparse triplets."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from mahala import (
    GMML,
    LMNN,
    LORETA,
    MLKR,
    NCMML,
    PLDA,
    GMMLRegression,
    LocalSCML,
    MahalanobisKNNRegressor,
    MultiMetricLMNN,
    MultiTaskGMML,
    geometric_mean,
    load,
    load_classifier,
    load_regressor,
    save,
)
from mahala.online import OnlineGMML, OnlineLORETA, OnlineOASIS, OnlinePOLA
from mahala.retrieval import verification_scores
from scipy.stats import multivariate_normal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsRegressor, NearestCentroid

X, y = load_iris(return_X_y=True)


# A metric for each class


def test_the_joint_objective_is_that_of_the_formula_and_below_the_global_one():
    model = MultiMetricLMNN(max_iter=60, tol=1e-3).fit(X, y)
    Z = (X - model.mean_) @ model.components_.T

    def objective(maps):
        by_class = [Z @ one.T for one in maps]
        squared = lambda c, i, j: ((by_class[c][i] - by_class[c][j]) ** 2).sum(axis=-1)
        total, rows = 0.0, np.arange(len(X))
        for i in rows:
            same = np.flatnonzero((y == y[i]) & (rows != i))
            order = np.argsort(((X[same] - X[i]) ** 2).sum(axis=1), kind="stable")
            near = squared(y[i], i, same[order[:3]])
            others = np.flatnonzero(y != y[i])
            far = np.array([squared(y[l], i, l) for l in others])
            total += near.sum() + (np.maximum(0, 1 + near[:, None] - far[None]) ** 2).sum()
        return total

    # Iris has rows at equal distances: the third target is then a matter of rounding.
    assert np.isclose(model.objective_, objective(model.local_maps_), rtol=5e-3)
    one = LMNN(max_iter=60, tol=1e-3).fit(X, y)
    assert np.isclose(objective([one.components_] * 3), one.objective_, rtol=5e-3) and model.objective_ < one.objective_


def test_the_model_file_keeps_the_metrics_of_the_classes(tmp_path):
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MultiMetricLMNN(n_neighbors=3, n_components=2, tol=1e-2, random_state=0).fit(X[::2], names[::2])
    path = tmp_path / "multi.safetensors"
    save(model, path)
    for again in (load(path), load_classifier(path, n_neighbors=3), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.get_params() == model.get_params() and again.objective_ == model.objective_
    with pytest.raises(ValueError, match="leave X and y out"):
        save(model, path, X, y)


def test_a_limit_is_told_and_parameters_are_refused():
    with pytest.warns(ConvergenceWarning, match="limit of iterations"):
        MultiMetricLMNN(max_iter=1).fit(X, y)
    for parameters, match in [
        ({"n_targets": 0}, "n_targets is 0"),
        ({"hinge": "round"}, "squared"),
        ({"push": 2.0}, "push is 2"),
        ({"time_limit": -1.0}, "time_limit is -1"),
        ({"n_components": 9}, "n_components is 9"),
    ]:
        with pytest.raises(ValueError, match=match):
            MultiMetricLMNN(**parameters).fit(X, y)


# Likelihood ratios of pairs


def test_the_score_is_the_ratio_of_normal_densities():
    plda = PLDA().fit(X, y)
    V = plda.components_ / plda.scale_
    assert V.shape == (2, 4) and (plda.between_ > 0).all()  # three means have two directions
    inverse = np.linalg.inv(np.cov(np.vstack([X[y == c] - X[y == c].mean(axis=0) for c in range(3)]).T, ddof=0) * 150 / 147)
    # Rows of one class have the covariance I.
    np.testing.assert_allclose(V @ np.linalg.inv(inverse) @ V.T, np.eye(2), atol=1e-10)
    rng = np.random.default_rng(0)
    first, second = X[rng.integers(150, size=50)], X[rng.integers(150, size=50)]
    u, v = (first - plda.mean_) @ V.T, (second - plda.mean_) @ V.T
    between, total = np.diag(plda.between_), np.diag(1 + plda.between_)
    joint = np.block([[total, between], [between, total]])
    one = multivariate_normal(np.zeros(4), joint).logpdf(np.hstack([u, v]))
    alone = multivariate_normal(np.zeros(2), total)
    np.testing.assert_allclose(plda.score_pairs(first, second), one - alone.logpdf(u) - alone.logpdf(v), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(plda.decision_function((first, second)), plda.score_pairs(first, second))
    np.testing.assert_array_equal(plda.predict(np.stack([first, second], axis=1)), np.sign(plda.score_pairs(first, second)))


def speakers(rng, classes, rows):
    """Means of variance 4 in two of eight columns, deviations of variance 1 in all, mixed."""
    means = np.hstack([2 * rng.normal(size=(classes, 2)), np.zeros((classes, 6))])
    y = np.repeat(np.arange(classes), rows)
    return (means[y] + rng.normal(size=(len(y), 8))) @ np.random.default_rng(9).normal(size=(8, 8)), y


def test_unseen_classes_are_verified_better_than_by_the_plain_distance_and_0_is_the_threshold():
    rng = np.random.default_rng(1)
    plda = PLDA().fit(*speakers(rng, 100, 8))
    X_new, y_new = speakers(rng, 300, 2)
    same = np.flatnonzero(np.arange(600) % 2 == 0)
    first = np.r_[same, same]
    second = np.r_[same + 1, np.roll(same, -2)]
    marks = np.where(y_new[first] == y_new[second], 1, -1)
    scored = verification_scores(plda.score_pairs(X_new[first], X_new[second]), marks)
    plain = verification_scores(-np.linalg.norm(X_new[first] - X_new[second], axis=1), marks)
    assert scored["eer"] < 0.75 * plain["eer"], (scored, plain)
    # Calibrated: deciding at 0 errs about as often as the best threshold.
    wrong = (plda.predict((X_new[first], X_new[second])) != marks).mean()
    assert wrong < scored["eer"] + 0.05


def test_plda_is_refused_by_the_model_file_and_kept_by_pickle(tmp_path):
    plda = PLDA(n_components=1, shrinkage=0.1).fit(X, y)
    with pytest.raises(TypeError, match="a PLDA cannot be written to a model file.*pickle"):
        save(plda, tmp_path / "plda.safetensors")
    again = pickle.loads(pickle.dumps(plda))
    np.testing.assert_array_equal(again.score_pairs(X[:3], X[3:6]), plda.score_pairs(X[:3], X[3:6]))
    for call, match in [
        (lambda: PLDA(shrinkage=2.0).fit(X, y), "shrinkage is 2"),
        (lambda: PLDA(n_components=5).fit(X, y), "n_components is 5"),
        (lambda: PLDA().fit(np.c_[X, np.ones(150)], y), "constant within classes"),
        (lambda: plda.score_pairs(X, X[:3]), "both must have one row a pair"),
        (lambda: plda.score_pairs(X[:, :2], X[:, :2]), "4 columns"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()


# Regression


def test_the_closed_form_for_regression_is_that_of_all_pairs():
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(80, 3))
    targets = np.round(2 * Z[:, 0] + rng.normal(size=80), 0)  # fewer values than slices
    learned = GMMLRegression(t=0.4, bandwidth=0.7, shrinkage=0.0).fit(Z, targets)
    W, scaled = (Z - Z.mean(axis=0)) / learned.scale_, targets / targets.std()
    i, j = np.triu_indices(80, 1)
    V, k = W[i] - W[j], np.exp(-((scaled[i] - scaled[j]) ** 2) / (2 * 0.7**2))
    S, D = (V.T * k) @ V / k.sum(), (V.T * (1 - k)) @ V / (1 - k).sum()
    expected = geometric_mean(np.linalg.inv(S), D, 0.4)
    # 1e-9 of the mean is on the diagonals, for columns that do not vary.
    found = learned.components_.T @ learned.components_
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_the_learned_distance_predicts_better_than_the_plain_one_and_the_search_says_what_it_tried():
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(600, 10))
    targets = np.sin(2 * Z[:, 0]) + Z[:, 1]
    Z = Z * np.r_[1.0, 1.0, np.full(8, 2.0)]
    learned = GMMLRegression().fit(Z[::2], targets[::2])
    scores = {
        "plain": KNeighborsRegressor().fit(Z[::2], targets[::2]).score(Z[1::2], targets[1::2]),
        "learned": MahalanobisKNNRegressor(metric=learned).fit(Z[::2], targets[::2]).score(Z[1::2], targets[1::2]),
    }
    assert scores["learned"] > scores["plain"] + 0.2, scores
    choice = learned.diagnostics_["choice"]
    tried = dict(choice["rmse"])
    assert tried[choice["t"]] == min(tried.values()) and len(tried) > 5


def test_regression_in_a_model_file_and_its_refusals(tmp_path):
    Z, targets = load_diabetes(return_X_y=True)
    learned = GMMLRegression(t=0.5, n_slices=16).fit(Z, targets)
    save(learned, tmp_path / "r.safetensors")
    again = load(tmp_path / "r.safetensors")
    assert again.get_params()["n_slices"] == 16 and again.get_params()["t"] == 0.5
    np.testing.assert_array_equal(again.transform(Z), learned.transform(Z))
    for parameters, match in [({"t": 2.0}, "t is 2"), ({"bandwidth": 0.0}, "bandwidth is 0"), ({"n_slices": 1}, "n_slices is 1")]:
        with pytest.raises(ValueError, match=match):
            GMMLRegression(**parameters).fit(Z, targets)
    with pytest.raises(ValueError, match="all 442 targets are 1"):
        GMMLRegression().fit(Z, np.ones(442))


def test_mlkr_still_learns_from_targets():
    Z, targets = load_diabetes(return_X_y=True)
    assert MLKR(n_components=1, max_iter=5, tol=1.0).fit(Z, targets).components_.shape == (1, 10)


# Nearest means


def test_the_nearest_mean_under_the_metric_is_predicted_and_saved_as_one_row_a_class(tmp_path):
    names = np.array(["a", "b", "c"])[y]
    ncmml = NCMML(n_components=2, max_iter=30, tol=1e-3).fit(X[::2], names[::2])
    centroid = NearestCentroid().fit(ncmml.transform(X[::2]), names[::2])
    np.testing.assert_array_equal(ncmml.predict(X), centroid.predict(ncmml.transform(X)))
    assert ncmml.class_means_.shape == (3, 2) and ncmml.score(X[1::2], names[1::2]) > 0.93
    likelihood = np.log(ncmml.predict_proba(X[::2])[np.arange(75), y[::2]]).mean()
    assert np.isclose(-likelihood, ncmml.objective_, rtol=1e-9)  # the softmax that was fitted
    path = tmp_path / "means.safetensors"
    save(ncmml, path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(X), ncmml.predict(X))
    voters = load_classifier(path, n_neighbors=1)
    np.testing.assert_array_equal(voters.predict(X), ncmml.predict(X))
    assert voters.kneighbors(X[:1], n_neighbors=3)[0].shape == (1, 3)  # three rows vote
    save(again, path)
    np.testing.assert_array_equal(load(path).predict_proba(X), ncmml.predict_proba(X))
    save(ncmml, path, X[::2], names[::2])
    np.testing.assert_allclose(load(path).class_means_, ncmml.class_means_, rtol=1e-12, atol=1e-12)


# Several tasks


def test_a_task_alone_has_its_own_closed_form_and_a_strong_pull_makes_the_metrics_one():
    tasks = np.array(["odd", "even"])[np.arange(150) % 2]
    alone = MultiTaskGMML(reg=0.0, t=0.3).fit(X, y, tasks)
    for name in ("odd", "even"):
        rows = tasks == name
        single = GMML(t=0.3).fit(X[rows], y[rows]).get_mahalanobis_matrix()
        L = alone.task_components_[list(alone.tasks_).index(name)]
        np.testing.assert_allclose(L.T @ L / np.trace(L.T @ L), single / np.trace(single), rtol=1e-7, atol=1e-10)
        Z = alone.transform(X[rows][:2], tasks[rows][:2])
        assert np.isclose(np.linalg.norm(Z[0] - Z[1]), alone.distance(name)(*X[rows][:2]))
    spread = lambda model: np.linalg.norm(np.diff([L.T @ L for L in model.task_components_], axis=0))
    one = MultiTaskGMML(reg=1e4, t=0.3).fit(X, y, tasks)
    assert spread(one) / np.linalg.norm(one.components_) < 0.01 * spread(alone) / np.linalg.norm(alone.components_)


def test_tasks_that_cannot_be_learned_are_refused():
    with pytest.raises(ValueError, match="task 2 has one class"):
        MultiTaskGMML().fit(X, y, np.r_[np.zeros(100), np.full(50, 2)].astype(int))
    with pytest.raises(ValueError, match="no task 7; the tasks are"):
        MultiTaskGMML().fit(X, y, np.arange(150) % 2).distance(7)
    with pytest.raises(ValueError, match="reg|lambda"):
        MultiTaskGMML(reg=-1.0).fit(X, y, np.arange(150) % 2)


# Sparse triplets


def sparse_rows(rng, n, columns):
    data = rng.uniform(0.1, 0.5, size=4 * n)
    return sp.csr_matrix((data, rng.integers(columns, size=4 * n), np.arange(0, 4 * n + 1, 4)), shape=(n, columns))


def test_sparse_triplets_give_what_dense_ones_give():
    rng = np.random.default_rng(0)
    ends = [sparse_rows(rng, 200, 12) for _ in range(3)]
    dense = OnlineOASIS().partial_fit(np.stack([end.toarray() for end in ends], axis=1))
    sparse = OnlineOASIS().partial_fit([end[:90] for end in ends]).partial_fit([end[90:] for end in ends])
    np.testing.assert_allclose(sparse.components_, dense.components_, rtol=1e-10, atol=1e-12)
    rows = sparse_rows(rng, 30, 12)
    index = rng.integers(30, size=(50, 3))
    by_number = OnlineOASIS().partial_fit(index, preprocessor=rows)
    formed = OnlineOASIS().partial_fit(rows.toarray()[index])
    np.testing.assert_allclose(by_number.components_, formed.components_, rtol=1e-10, atol=1e-12)
    assert by_number.n_seen_ == 50 and np.isclose(by_number.loss_, formed.loss_)


def test_a_million_columns_cost_their_non_zeros():
    # A dense W of a million columns would be 8 TB.
    rng = np.random.default_rng(1)
    ends = [sparse_rows(rng, 2000, 1_000_000) for _ in range(3)]
    oasis = OnlineOASIS().partial_fit(ends)
    assert 2000 < oasis.n_entries_ <= 2000 * 4 * 8  # an outer product of 4 and at most 8 non-zeros each
    with pytest.raises(MemoryError, match="oasis needs .* for 1000000 columns"):
        oasis.components_  # noqa: B018


def test_sparse_triplets_that_do_not_fit_are_refused():
    rng = np.random.default_rng(2)
    a, b, c = (sparse_rows(rng, 5, 9) for _ in range(3))
    for ends, match in [([a, b], "three sparse matrices"), ([a, b, c[:3]], "of one shape"), ([a, b, c.toarray()], "three sparse")]:
        with pytest.raises(ValueError, match=match):
            OnlineOASIS().partial_fit(ends)
    with pytest.raises(IndexError, match="row number 5 does not exist"):
        OnlineOASIS().partial_fit([[0, 1, 5]], preprocessor=a)
    with pytest.raises(ValueError, match="row numbers"):
        OnlineOASIS().partial_fit([[0.5, 1.0]], preprocessor=a)
    seen = OnlineOASIS().partial_fit([a, b, c])
    with pytest.raises(ValueError, match="9 features"):
        seen.partial_fit([a[:, :4], b[:, :4], c[:, :4]])
    a.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OnlineOASIS().partial_fit([a, b, c])


@pytest.mark.parametrize("learner", [OnlineGMML(reg=0.1), OnlinePOLA(), OnlineOASIS()])
def test_what_learns_online_is_refused_by_the_model_file_in_words(learner, tmp_path):
    path = tmp_path / "online.safetensors"
    learner.partial_fit(np.stack([X[:20], X[1:21], X[60:80]], axis=1))
    with pytest.raises(TypeError, match="cannot be written to a model file.*MahalanobisDistance"):
        save(learner, path)
    assert not path.exists()


def test_a_regression_is_saved_with_its_numbers(tmp_path):
    random = np.random.default_rng(3)
    X = random.uniform(-1, 1, size=(200, 5))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    for metric in (GMMLRegression(), MLKR(max_iter=30)):
        expected = MahalanobisKNNRegressor(7, metric=metric).fit(X[:120], y[:120])
        path = tmp_path / "m.safetensors"
        save(expected.metric_, path, X[:120], y[:120])
        again = load_regressor(path, n_neighbors=7)
        assert (again.predict(X[120:]) == expected.predict(X[120:])).all()
        assert load(path).model_params_["regression"] is True
        with pytest.raises(ValueError, match="load_regressor"):
            load_classifier(path)
        save(expected.metric_, path)
        with pytest.raises(ValueError, match="no training rows with numbers"):
            load_regressor(path)


def test_the_general_form_of_loreta_learns_a_similarity_of_its_rank():
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.abs(X - X.mean(axis=0)).max()
    triplets = generated_triplets(X, y)
    loreta = OnlineLORETA(form="general", n_components=2, step=0.1, random_state=0).partial_fit(triplets, preprocessor=X)
    A, B = loreta.factors_
    assert A.shape == B.shape == (4, 2)
    values, vectors = np.linalg.eigh((A @ B.T + B @ A.T) / 2)
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    assert np.allclose(loreta.components_.T @ loreta.components_, positive, atol=1e-12)
    with pytest.raises(AttributeError, match="general"):
        _ = OnlineLORETA(n_components=2).partial_fit(triplets, preprocessor=X).factors_
    with pytest.raises(ValueError, match="form is 'full'"):
        OnlineLORETA(form="full").partial_fit(triplets, preprocessor=X)
    with pytest.raises(TypeError, match="cannot be written"):
        save(loreta, "never.safetensors")
    assert LORETA(form="general", n_components=2).fit(X, y).components_.shape[1] == 4


def generated_triplets(X, y):
    order = np.random.default_rng(0).permutation(len(X))
    near = np.array([order[y[order] == c][0] for c in y])
    far = np.array([order[y[order] != c][0] for c in y])
    return np.stack([np.arange(len(X)), near, far], axis=1)[near != np.arange(len(X))]


def test_local_weights_measure_by_the_metric_at_the_query():
    random = np.random.default_rng(1)
    X = random.uniform(size=(300, 3)) + np.array([6.0, 0, 0]) * (np.arange(300) % 2 == 0)[:, None]
    y = np.where(np.where(np.arange(300) % 2 == 0, X[:, 1], X[:, 2]) > 0.5, "high", "low")
    local = LocalSCML(max_iter=3000, random_state=0).fit(X[:200], y[:200])
    assert local.objective_ < 0.95 * local.global_objective_
    assert pickle.loads(pickle.dumps(local)).score(X[200:], y[200:]) == local.score(X[200:], y[200:]) > 0.85
    unit = lambda rows: ((rows - local.mean_) / local.scale_) @ local.components_.T
    assert np.isclose((unit(X[:200]) ** 2).sum(axis=1).mean(), 1)
    weights = local.weights(X[200:])
    differences = (unit(X[200:])[:, None] - unit(X[:200])[None]) @ local.bases_.T
    near = np.argsort((weights[:, None] * differences**2).sum(axis=2), axis=1, kind="stable")[:, :5]
    high = (y[:200][near] == "high").mean(axis=1)
    assert np.allclose(local.predict_proba(X[200:])[:, 0], high)
    with pytest.raises(TypeError, match="differs from row to row"):
        save(local, "never.safetensors")
