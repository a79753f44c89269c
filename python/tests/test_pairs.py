"""GMMLPairs: what scikit-learn cannot check for it, by hand."""

import json
import pickle
import warnings

import numpy as np
import pytest
from mahala import (
    GMML,
    ITML,
    KISSME,
    LDML,
    LEGO,
    LMNN,
    LSML,
    MMC,
    POLA,
    SDML,
    XQDA,
    FlatGeo,
    GMMLPairs,
    PairClassifier,
    RobustGMML,
    _mahala,
)
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score


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


def keyed(iris, pairs):
    """The same pairs by strings, and the data frame whose index they are."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(iris[0][::-1], index=[f"flower {i}" for i in range(149, -1, -1)], columns=list("abcd"))
    return np.array([[f"flower {i}" for i in pair] for pair in pairs]), frame


def test_pairs_are_given_as_two_arrays_or_by_keys_of_a_data_frame(iris, pairs):
    X, (indices, y) = iris[0], pairs
    formed = GMMLPairs(t=0.4).fit(X[indices], y)
    names, frame = keyed(iris, indices)
    arrays = GMMLPairs(t=0.4).fit((X[indices[:, 0]], X[indices[:, 1]]), y)
    strings = GMMLPairs(t=0.4, preprocessor=frame).fit(names, y)
    for other in (arrays, strings):
        assert (other.components_ == formed.components_).all() and other.threshold_ == formed.threshold_
    assert (strings.predict(names) == formed.predict(X[indices])).all()
    assert (strings.transform(names[:, 0]) == formed.transform(X[indices[:, 0]])).all()
    assert (arrays.pair_distance((X[:5], X[5:10])) == formed.pair_distance(np.stack([X[:5], X[5:10]], axis=1))).all()
    itml = ITML().fit_pairs(names, y, preprocessor=frame)
    assert (itml.components_ == ITML().fit_pairs((X[indices[:, 0]], X[indices[:, 1]]), y).components_).all()


def test_keys_that_name_no_row_are_named(iris, pairs):
    names, frame = keyed(iris, pairs[0])
    with pytest.raises(KeyError, match="'rose' is not in the index of the preprocessor, which names 150 rows"):
        GMMLPairs(preprocessor=frame).fit([["rose", "flower 1"]], [1])
    twice = frame.rename(index={"flower 3": "flower 4"})
    with pytest.raises(ValueError, match="has 'flower 4' more than once"):
        GMMLPairs(preprocessor=twice).fit(names, pairs[1])
    with pytest.raises(ValueError, match="Keys need a pandas data frame whose index they are"):
        GMMLPairs(preprocessor=iris[0]).fit(names, pairs[1])
    with pytest.raises(ValueError, match=r"two arrays of shapes \(3, 4\) and \(2, 4\)"):
        GMMLPairs().fit((iris[0][:3], iris[0][:2]), [1, -1])


@pytest.mark.parametrize("learner", [GMMLPairs(t=0.4, calibration="platt"), PairClassifier(ITML(), calibration="platt")], ids=["gmml", "itml"])
def test_marks_come_back_as_they_were_given(formed, learner):
    pairs, y = formed
    usual = clone(learner).fit(pairs, y)
    for marks, classes in [((y == 1), [False, True]), ((y == 1).astype(int), [0, 1]), (y, [-1, 1])]:
        fitted = clone(learner).fit(pairs, marks)
        assert fitted.classes_.tolist() == classes
        assert (fitted.predict(pairs) == np.where(usual.predict(pairs) == 1, classes[1], classes[0])).all()
        assert (fitted.predict_proba(pairs) == usual.predict_proba(pairs)).all()
        for scoring in ("roc_auc", "accuracy", "neg_log_loss"):
            assert np.isfinite(cross_val_score(learner, pairs, marks, scoring=scoring, error_score="raise")).all()
        assert (cross_val_score(learner, pairs, marks, scoring="accuracy") > 0.8).all()


@pytest.mark.parametrize("learner", [ITML(), MMC(), KISSME(), SDML(), LDML(), XQDA(), RobustGMML(), FlatGeo(), LEGO(), POLA()], ids=str)
def test_every_learner_of_pairs_decides(formed, learner):
    pairs, y = formed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier = PairClassifier(learner, calibration="isotonic").fit(pairs, y)
    assert is_classifier(classifier) and classifier.score(pairs, y) > 0.8
    decided = classifier.predict_proba(pairs)
    assert decided.shape == (len(y), 2) and np.allclose(decided.sum(axis=1), 1)
    # Probabilities fall with the distance.
    order = np.argsort(classifier.pair_distance(pairs))
    assert (np.diff(decided[order, 1]) <= 1e-12).all()
    assert accuracy_score(y, classifier.predict(pairs)) > 0.75
    assert np.allclose(classifier.transform(pairs)[:, 0], classifier.transform(pairs[:, 0]))
    strict = classifier.calibrate_threshold(pairs, y, strategy="max_tnr", min_rate=0.5)
    assert np.mean(strict.predict(pairs)[y == 1] == 1) >= 0.5


def test_held_out_distances_make_the_probabilities(formed):
    pairs, y = formed
    splits = list(StratifiedKFold(3).split(pairs, y))
    classifier = PairClassifier(KISSME(), calibration="platt", cv=splits).fit(pairs, y)
    held_out = np.empty(len(y))
    for train, test in splits:
        held_out[test] = KISSME().fit_pairs(pairs[train], y[train]).pair_distance(pairs[test])
    aside = PairClassifier(KISSME().fit_pairs(pairs, y)).fit(pairs, y)
    aside.calibration_ = json.loads(_mahala.calibrate(held_out, (y == 1).astype(float).tolist(), None, "platt"))
    assert (classifier.predict_proba(pairs) == aside.predict_proba(pairs)).all()
    with pytest.raises(ValueError, match="holds out some pairs never"):
        PairClassifier(KISSME(), calibration="platt", cv=splits[:1]).fit(pairs, y)


def test_a_fitted_metric_of_any_kind_decides(iris, formed):
    pairs, y = formed
    for metric in (LSML().fit(*iris), GMML(t=0.4).fit(*iris), LMNN().fit(*iris)):
        classifier = PairClassifier(metric, calibration="platt").fit(pairs, y)
        assert classifier.learner_ is metric and accuracy_score(y, classifier.predict(pairs)) > 0.8
    with pytest.raises(ValueError, match="LMNN learns from no pairs; fit it first"):
        PairClassifier(LMNN()).fit(pairs, y)
    with pytest.raises(ValueError, match="calibration is 'gauss'; it must be None, 'platt' or 'isotonic'"):
        PairClassifier(ITML(), calibration="gauss").fit(pairs, y)
    with pytest.raises(AttributeError, match="set calibration='platt'"):
        PairClassifier(ITML()).fit(pairs, y).predict_proba(pairs)


def test_coordinates_have_names_and_fit_transform_gives_both_ends(iris, formed):
    pandas = pytest.importorskip("pandas")
    pairs, y = formed
    for learner in (GMMLPairs(t=0.4), PairClassifier(ITML())):
        both = clone(learner).fit_transform(pairs, y)
        assert both.shape == pairs.shape
        assert np.allclose(np.linalg.norm(both[:, 0] - both[:, 1], axis=1), clone(learner).fit(pairs, y).pair_distance(pairs))
        named = clone(learner).fit(pairs, y).set_output(transform="pandas").transform(iris[0])
        assert isinstance(named, pandas.DataFrame) and list(named)[0] == f"{type(learner).__name__.lower()}0"
