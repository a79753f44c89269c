"""Online learners: partial_fit over pairs and triplets, and river's interface."""

import pickle

import numpy as np
import pytest
from mahala import GMML, GMMLPairs, constraints, save
from mahala.online import OnlineGMML, OnlineLEGO, OnlineLORETA, OnlineMOML, OnlineOASIS, OnlinePOLA
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

X, y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
X = X / (2 * np.linalg.norm(X, axis=1).max())
INDEX, MARKS = constraints.pairs(y, 300)
ORDER = np.random.default_rng(0).permutation(len(INDEX))
INDEX, MARKS = INDEX[ORDER], MARKS[ORDER]
TRIPLETS = np.random.default_rng(1).permutation(constraints.knn_triplets(X, y))
LEARNERS = [OnlineGMML, OnlineLEGO, OnlineLORETA, OnlineMOML, OnlineOASIS, OnlinePOLA]
OF_PAIRS = [OnlineGMML, OnlineLEGO, OnlinePOLA]


@pytest.mark.parametrize("learner", LEARNERS)
def test_batches_and_one_batch_are_the_same_and_neighbours_are_right(learner):
    whole = learner().partial_fit(X[TRIPLETS])
    parts = learner()
    for start in range(0, len(TRIPLETS), 700):
        parts.partial_fit(TRIPLETS[start : start + 700], preprocessor=X)
    np.testing.assert_array_equal(whole.components_, parts.components_)
    assert parts.n_seen_ == len(TRIPLETS)
    error = 1 - KNeighborsClassifier().fit(whole.transform(X[::2]), y[::2]).score(whole.transform(X[1::2]), y[1::2])
    assert error < 0.12


@pytest.mark.parametrize("learner", OF_PAIRS)
def test_pairs_are_learned_from_and_similar_ones_come_out_nearer(learner):
    learned = learner().partial_fit(X[INDEX], MARKS)
    distances = learned.pair_distance(X[INDEX])
    plain = np.linalg.norm(X[INDEX[:, 0]] - X[INDEX[:, 1]], axis=1)
    ratio = lambda d: d[MARKS == 1].mean() / d[MARKS == -1].mean()
    assert ratio(distances) < ratio(plain)
    marked = learner().partial_fit(X[INDEX], MARKS == 1)
    np.testing.assert_array_equal(learned.components_, marked.components_)


def test_online_gmml_is_gmml_of_all_pairs_seen_in_any_order():
    expected = GMMLPairs(t=0.3).fit(X[INDEX], MARKS).get_mahalanobis_matrix()
    online = OnlineGMML(t=0.3).partial_fit(X[INDEX[::-1]], MARKS[::-1])
    np.testing.assert_allclose(online.get_mahalanobis_matrix(), expected, rtol=1e-8)


def test_lego_stays_positive_definite_and_pola_has_no_loss_on_a_pair_it_just_saw():
    lego = OnlineLEGO(step=10.0).partial_fit(X[INDEX], MARKS)
    assert np.linalg.eigvalsh(lego.get_mahalanobis_matrix()).min() > 0
    pola = OnlinePOLA().partial_fit(X[INDEX[:50]], MARKS[:50])
    pair, mark = X[INDEX[50:51]], MARKS[50:51]
    pola.partial_fit(pair, mark)
    before = pola.loss_
    pola.partial_fit(pair, mark)
    assert pola.loss_ <= max(1e-12, 0.5 * before)


def test_fit_forgets_and_partial_fit_does_not():
    online = OnlineMOML().partial_fit(X[TRIPLETS[:100]])
    online.fit(X[TRIPLETS[100:200]])
    expected = OnlineMOML().partial_fit(X[TRIPLETS[100:200]])
    np.testing.assert_array_equal(online.components_, expected.components_)
    assert online.n_seen_ == 100


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: OnlineOASIS().partial_fit(X[INDEX], MARKS), ["Tuples of 3", "(600, 2, 4)"]),
        (lambda: OnlinePOLA().partial_fit(X[INDEX]), ["y is None", "+1"]),
        (lambda: OnlinePOLA().partial_fit(X[INDEX], MARKS[1:]), ["(599,)", "600"]),
        (lambda: OnlinePOLA().partial_fit(X[TRIPLETS], np.ones(len(TRIPLETS))), ["triplets", "leave it out"]),
        (lambda: OnlineLEGO(step=-1).partial_fit(X[INDEX], MARKS), ["step", "-1"]),
        (lambda: OnlineGMML(t=2).partial_fit(X[INDEX], MARKS), ["t", "2", "between 0 and 1"]),
        (lambda: OnlineGMML().fit(X[INDEX], MARKS).partial_fit(X[INDEX][:, :, :2], MARKS), ["2 features", "4"]),
    ],
)
def test_errors_say_what_was_seen_and_what_is_allowed(call, words):
    with pytest.raises(ValueError) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)


def test_nothing_is_transformed_before_something_was_learned_and_a_state_is_not_pickled():
    with pytest.raises(NotFittedError):
        OnlineGMML().transform(X)
    assert pickle.loads(pickle.dumps(OnlineGMML(t=0.2))).t == 0.2
    with pytest.raises(TypeError, match="Keep the metric"):
        pickle.dumps(OnlineGMML().partial_fit(X[INDEX], MARKS))


def test_river_learns_one_row_at_a_time():
    compose = pytest.importorskip("river.compose")
    from mahala.river import MetricTransformer
    from river import neighbors

    order = np.random.default_rng(2).permutation(150)
    # Two columns of noise, which a plain neighbour search suffers from.
    rows = np.hstack([X, np.random.default_rng(3).normal(size=(150, 2))])

    named = [{f"c{k}": value for k, value in enumerate(row)} for row in rows]
    metric = MetricTransformer(OnlineGMML(t=0.1, reg=1e-3), n_pairs=5)
    for i in order:
        metric.learn_one(named[i], int(y[i]))
    assert metric.learner.n_seen_ > 500

    def errors(model):
        """Of a second pass, each row predicted before it is learned."""
        wrong = 0
        for i in order:
            wrong += model.predict_one(named[i]) != y[i]
            model.learn_one(named[i], int(y[i]))
        return wrong

    plain = errors(neighbors.KNNClassifier(n_neighbors=5))
    assert errors(compose.Pipeline(metric, neighbors.KNNClassifier(n_neighbors=5))) < 0.5 * plain
    z = np.array([list(metric.transform_one(x).values()) for x in named[:20]])
    ratio = np.linalg.norm(z[1:] - z[0], axis=1) / metric.learner.pair_distance(
        np.stack([np.broadcast_to(rows[0], (19, 6)), rows[1:20]], axis=1)
    )
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    with pytest.raises(ValueError, match="without column 'c0'"):
        metric.transform_one({"c1": 1.0})


def test_gmml_over_moments_and_online_gmml_over_all_pairs_agree():
    i, j = np.triu_indices(150, 1)
    online = OnlineGMML(t=0.5).partial_fit(X[np.column_stack([i, j])], y[i] == y[j])
    expected = GMML(t=0.5).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(online.get_mahalanobis_matrix(), expected, rtol=1e-8)


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_learns_online_is_refused_by_the_model_file_in_words(learner, tmp_path):
    path = tmp_path / "online.safetensors"
    with pytest.raises(TypeError, match="cannot be written to a model file.*MahalanobisDistance"):
        save(learner().partial_fit(X[TRIPLETS]), path)
    assert not path.exists()
