"""GMMLPairs: what scikit-learn cannot check for it, by hand."""

import pickle

import numpy as np
import pytest
from mahala import GMML, GMMLPairs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score


@pytest.fixture
def formed(iris, pairs):
    return iris[0][pairs[0]], pairs[1]


def test_pairs_given_as_points_or_as_indices_are_the_same(iris, pairs, formed):
    X, _ = iris
    indices, y = pairs
    by_points = GMMLPairs().fit(*formed)
    for preprocessor in (X, X.tolist(), lambda ends: X[ends]):
        by_indices = GMMLPairs(preprocessor=preprocessor).fit(indices, y)
        assert (by_indices.components_ == by_points.components_).all()
        assert (by_indices.predict(indices) == by_points.predict(formed[0])).all()
        assert by_indices.score(indices, y) == by_points.score(*formed)
        assert (by_indices.transform(np.arange(5)) == by_points.transform(X[:5])).all()
        # Formed pairs are understood too.
        assert (by_indices.pair_distance(formed[0]) == by_points.pair_distance(formed[0])).all()


def test_all_pairs_listed_give_the_metric_of_all_pairs_summed(iris):
    X, y = iris
    i, j = np.triu_indices(150, 1)
    marks = np.where(y[i] == y[j], 1, -1)
    listed = GMMLPairs(t=0.4).fit(np.stack([X[i], X[j]], axis=1), marks).get_mahalanobis_matrix()
    summed = GMML(t=0.4).fit(X, y).get_mahalanobis_matrix()
    # A common factor depends on how many pairs there are.
    assert np.allclose(listed / np.trace(listed), summed / np.trace(summed), rtol=1e-10)


def test_scores_and_decisions(formed):
    pairs, y = formed
    learner = GMMLPairs().fit(pairs, y)
    assert is_classifier(learner) and learner.classes_.tolist() == [-1, 1]
    assert learner.score(pairs, y) == roc_auc_score(y, -learner.pair_distance(pairs)) > 0.95
    assert (learner.decision_function(pairs) == learner.pair_score(pairs)).all()
    assert (learner.predict(pairs) == np.where(learner.pair_distance(pairs) <= learner.threshold_, 1, -1)).all()
    assert learner.t_ in learner.t_path_[:, 0]


def test_weights_of_pairs(formed):
    pairs, y = formed
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = GMMLPairs(t=0.5).fit(pairs, y, sample_weight=weights)
    repeated = GMMLPairs(t=0.5).fit(pairs.repeat(weights, axis=0), y.repeat(weights))
    ours, theirs = weighted.get_mahalanobis_matrix(), repeated.get_mahalanobis_matrix()
    assert np.allclose(ours, theirs, rtol=1e-9)


def best(score, distances, y, allowed=lambda predicted: True):
    """The best value of a score over every threshold that decides differently."""
    thresholds = np.concatenate([[-1.0], distances])
    decisions = [np.where(distances <= threshold, 1, -1) for threshold in thresholds]
    return max(score(y, decision) for decision in decisions if allowed(decision))


@pytest.mark.parametrize("shuffled", [False, True])
def test_calibration_reaches_the_best_there_is(formed, shuffled):
    pairs, y = formed
    learner = GMMLPairs(t=0.5).fit(pairs, y)
    # Shuffled marks make the rates overlap.
    y = np.random.default_rng(0).permutation(y) if shuffled else y
    distances = learner.pair_distance(pairs)
    tpr = lambda truth, decision: np.mean(decision[truth == 1] == 1)
    tnr = lambda truth, decision: np.mean(decision[truth == -1] == -1)
    f2 = lambda truth, decision: fbeta_score(truth, decision, beta=2, zero_division=0)
    learner.calibrate_threshold(pairs, y)
    assert np.isclose(accuracy_score(y, learner.predict(pairs)), best(accuracy_score, distances, y))
    learner.calibrate_threshold(pairs, y, strategy="f_beta", beta=2)
    assert np.isclose(f2(y, learner.predict(pairs)), best(f2, distances, y))
    for rate in (0.0, 0.3, 0.9, 1.0):
        learner.calibrate_threshold(pairs, y, strategy="max_tpr", min_rate=rate)
        wanted = best(tpr, distances, y, lambda decision: tnr(y, decision) >= rate)
        assert tpr(y, learner.predict(pairs)) == wanted and tnr(y, learner.predict(pairs)) >= rate
        learner.calibrate_threshold(pairs, y, strategy="max_tnr", min_rate=rate)
        wanted = best(tnr, distances, y, lambda decision: tpr(y, decision) >= rate)
        assert tnr(y, learner.predict(pairs)) == wanted and tpr(y, learner.predict(pairs)) >= rate


def test_calibration_while_fitting_and_by_hand(formed):
    pairs, y = formed
    learner = GMMLPairs(t=0.5).fit(pairs, y, calibration_params={"strategy": "max_tpr", "min_rate": 1.0})
    assert (learner.predict(pairs)[y == -1] == -1).all()
    assert (learner.set_threshold(-1).predict(pairs) == -1).all()
    for bad in ("far", None, [1, 2]):
        with pytest.raises(ValueError, match="threshold must be a real number"):
            learner.set_threshold(bad)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"strategy": "luck"}, "Strategy can either be"),
        ({"strategy": "max_tpr"}, "min_rate must be a number"),
        ({"strategy": "max_tnr", "min_rate": 1.2}, "min_rate must be a number"),
        ({"strategy": "f_beta", "beta": "x"}, "beta must be a real number"),
    ],
)
def test_calibration_refuses(formed, params, words):
    with pytest.raises(ValueError, match=words):
        GMMLPairs(t=0.5).fit(*formed, calibration_params=params)
    with pytest.raises(ValueError, match=words):
        GMMLPairs(t=0.5).fit(*formed).calibrate_threshold(*formed, **params)


def test_what_cannot_be_pairs_is_refused(iris, formed):
    X, _ = iris
    pairs, y = formed
    for bad, marks, words in [
        (X, np.ones(150), "3D array of formed tuples expected by GMMLPairs"),
        (np.ones((3, 3, 2)), [1, -1, 1], "Tuples of 2 element"),
        (pairs, y[:5], "inconsistent numbers of samples"),
        (pairs, y * 2, r"only values in \[-1, 1\]"),
        (pairs, np.ones(len(y)), "no dissimilar pair"),
        (pairs, -np.ones(len(y)), "no similar pair"),
        (np.where(pairs == pairs.max(), np.nan, pairs), y, "contains NaN"),
        (pairs, None, "requires y to be passed"),
        (pairs[:0], y[:0], "0 sample"),
    ]:
        with pytest.raises(ValueError, match=words):
            GMMLPairs(t=0.5).fit(bad, marks)
    with pytest.raises(NotFittedError):
        GMMLPairs().predict(pairs)
    with pytest.raises(IndexError):
        GMMLPairs(preprocessor=X).fit([[0, 1000]], [1])


def test_it_lives_in_scikit_learn(iris, pairs, formed):
    indices, y = pairs
    learner = GMMLPairs(preprocessor=iris[0])
    assert (cross_val_score(learner, indices, y) > 0.9).all()
    assert (cross_val_score(learner, indices, y, scoring="accuracy") > 0.8).all()
    assert (cross_val_score(learner, indices, y, scoring="average_precision") > 0.85).all()
    search = GridSearchCV(learner, {"t": [0.1, 0.5, 0.9]}).fit(indices, y)
    assert search.best_score_ > 0.95
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(indices) == search.predict(indices)).all()
    cloned = clone(search.best_estimator_)
    assert not hasattr(cloned, "components_") and cloned.t == search.best_estimator_.t
    assert learner.get_params()["preprocessor"] is iris[0]
