"""Metadata reach the estimators as scikit-learn routes them, and scoring chooses t."""

import numpy as np
import pytest
import sklearn
from mahala import GMML, AutoGMML, GMMLPairs, KernelGMML, LocalGMML, MahalanobisKNN
from sklearn.base import clone
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def twins():
    """Rows in pairs that hardly differ, and the pair as group."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.normal(size=(60, 3))
    X[:, 2] += 0.4 * y
    return np.repeat(X, 2, axis=0) + 1e-4 * random.normal(size=(120, 3)), np.repeat(y, 2), np.repeat(np.arange(60), 2)


def test_groups_reach_the_splitter_of_the_metric_inside_a_grid_search(routing, twins):
    X, y, groups = twins
    gmml = GMML(cv=GroupKFold(4), n_neighbors=1)
    steps = [("gmml", gmml.set_fit_request(groups=True)), ("knn", KNeighborsClassifier(1))]
    search = GridSearchCV(Pipeline(steps), {"gmml__shrinkage": [None, 0.1]}, cv=GroupKFold(3), error_score="raise")
    search.fit(X, y, groups=groups)
    # No twin votes for its own: the inner choice sees errors as large as guessing leaves them.
    assert search.best_estimator_["gmml"].t_path_[:, 1].min() > 0.25
    unasked = Pipeline([("gmml", GMML(cv=GroupKFold(4))), ("knn", KNeighborsClassifier(1))])
    with pytest.raises(ValueError, match="groups"):
        GridSearchCV(unasked, {"gmml__shrinkage": [None]}, cv=GroupKFold(3), error_score="raise").fit(X, y, groups=groups)


@pytest.mark.parametrize(
    "estimator", [AutoGMML(n_neighbors=1, budget=1.0), KernelGMML(n_neighbors=1), LocalGMML(n_neighbors=1), GMML(n_neighbors=1)]
)
def test_every_estimator_that_chooses_can_ask_for_groups(routing, twins, estimator):
    X, y, groups = twins
    model = estimator.set_fit_request(groups=True)
    if not hasattr(estimator, "predict"):
        model = MahalanobisKNN(1, metric=model)
    fitted = cross_validate(model, X, y, params={"groups": groups}, cv=GroupKFold(3), return_estimator=True, error_score="raise")
    for one in fitted["estimator"]:
        inner = getattr(one, "metric_", one)
        shown = inner.trials_[0]["error"] if hasattr(inner, "trials_") else inner.diagnostics_["selection"]["curve"][0][1]
        assert shown > 0.2


def test_weights_reach_the_metric(routing, wine):
    X, y = wine
    weight = np.where(y == 0, 5.0, 1.0)
    gmml = GMML(t=0.4).set_fit_request(sample_weight=True)
    pipeline = Pipeline([("gmml", gmml), ("knn", KNeighborsClassifier())]).fit(X, y, sample_weight=weight)
    assert (pipeline["gmml"].components_ == GMML(t=0.4).fit(X, y, sample_weight=weight).components_).all()
    inside = MahalanobisKNN(metric=clone(gmml)).fit(X, y, sample_weight=weight)
    assert (inside.metric_.components_ == pipeline["gmml"].components_).all()
    refused = GMML(t=0.4).set_fit_request(sample_weight=False)
    with pytest.raises(TypeError, match="sample_weight"):
        MahalanobisKNN(metric=refused).fit(X, y, sample_weight=weight)


def test_without_routing_the_metric_gets_what_fit_was_given(wine):
    X, y = wine
    weight = np.where(y == 0, 5.0, 1.0)
    knn = MahalanobisKNN(metric=GMML(t=0.4)).fit(X, y, sample_weight=weight)
    assert (knn.metric_.components_ == GMML(t=0.4).fit(X, y, sample_weight=weight).components_).all()
    with pytest.raises(TypeError, match="fit got sample_weight, and there is no metric to learn that takes it"):
        MahalanobisKNN().fit(X, y, sample_weight=weight)


def test_pairs_ask_for_weights_and_groups(routing, iris):
    X, y = iris
    i, j = np.random.default_rng(0).integers(150, size=(2, 300))
    pairs, marks = X[np.column_stack([i, j])], np.where(y[i] == y[j], 1, -1)
    weight = np.where(marks == 1, 3.0, 1.0)
    model = GMMLPairs(t=0.3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_validate(model, pairs, marks, params={"sample_weight": weight}, cv=3, return_estimator=True, error_score="raise")
    first = next(iter(StratifiedKFold(3).split(pairs, marks)))[0]
    by_hand = GMMLPairs(t=0.3).fit(pairs[first], marks[first], sample_weight=weight[first])
    assert (scores["estimator"][0].components_ == by_hand.components_).all()


def test_the_score_accuracy_is_the_error_of_the_vote(wine):
    X, y = wine
    by_error, by_score = GMML(max_samples=120).fit(X, y), GMML(max_samples=120, scoring="accuracy").fit(X, y)
    # 120 rows in five folds of 24: the mean of the folds is the mean of the rows.
    assert np.allclose(by_error.t_path_, by_score.t_path_ + [0.0, 1.0], atol=1e-12)
    assert by_score.t_ == by_error.t_ and (by_score.components_ == by_error.components_).all()


def test_another_score_chooses_another_t():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 4)) * [1, 1, 3, 3]
    y = (X[:, 0] + 0.3 * X[:, 2] + random.normal(size=300) > 1.6).astype(int)
    rare = make_scorer(recall_score, pos_label=1)
    by_error, by_recall = GMML().fit(X, y), GMML(scoring=rare).fit(X, y)
    assert by_recall.t_ != by_error.t_
    assert by_recall.diagnostics_["selection"]["criterion"].startswith("minus the mean score of held-out rows")
    best = by_recall.t_path_[by_recall.t_path_[:, 0] == by_recall.t_][0, 1]
    # The first step looks at five values, the second around the best: that is never worse.
    assert best <= by_recall.t_path_[:, 1].min() + 1e-12


def test_scoring_is_used_or_refused(iris):
    with pytest.raises(ValueError, match="scoring chooses t, and t is 0.5"):
        GMML(t=0.5, scoring="accuracy").fit(*iris)
    with pytest.raises(ValueError, match="scoring"):
        GMML(scoring="no such score").fit(*iris)
    with pytest.raises(ValueError, match="leave it out"):
        GMML(t=0.5, scoring="accuracy").fit_triplets(iris[0][[[0, 1, 60]]])
    assert GMML(scoring="f1_macro", cv=StratifiedKFold(3)).fit(*iris).diagnostics_["selection"]["folds"] == 3
