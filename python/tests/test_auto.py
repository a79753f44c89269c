"""The automatic mode: what it tells, and what it refuses instead of doing something else."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from mahala import GMML, AutoGMML, RecipeGMML
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier


def test_it_tells_what_was_chosen_and_why(wine):
    X, y = wine
    auto = AutoGMML().fit(X, y)
    assert len(auto.trials_) > 50 and "% wrong" in auto.reason_ and auto.recipes_
    assert all(0 <= trial["error"] <= 1 for trial in auto.trials_)
    assert auto.t_ is None or 0 <= auto.t_ <= 1
    assert not hasattr(auto, "t_path_")
    assert auto.diagnostics_["choice"]["reason"] == auto.reason_
    assert auto.get_feature_names_out()[0] == "autogmml0"


def test_the_closed_form_never_turns_into_it(wine):
    X, y = wine
    gmml = GMML().fit(X, y)
    for name in ("recipes_", "reason_", "trials_"):
        assert not hasattr(gmml, name)
    assert (gmml.components_ == GMML(t=gmml.t_).fit(X, y).components_).all()
    assert gmml.diagnostics_["similar"]["pairs"] > 0 and gmml.diagnostics_["condition_s"] > 1
    for settings in ({"t": "auto"}, {"t": "auto", "standardize": True}):
        with pytest.raises(ValueError, match="AutoGMML chooses everything"):
            GMML(**settings).fit(X, y)
    with pytest.raises(ValueError, match=r"n_components is 'auto'; it must be a number or None \(AutoGMML\(reduce=True\)"):
        GMML(n_components="auto").fit(X, y)
    with pytest.raises(TypeError, match="budget"):
        GMML(budget=2.0)


def test_it_refuses_what_it_cannot_do(wine):
    X, y = wine
    with pytest.raises(TypeError, match="sample_weight"):
        AutoGMML().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match=r"Sparse rows are for GMML.*toarray"):
        AutoGMML().fit(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="y has several labels a row; GMML learns from them"):
        AutoGMML().fit(X, np.column_stack([y == 0, y == 1]).astype(int))
    for settings, words in [
        ({"budget": 0.5}, "budget is 0.5; it must be at least 1"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"max_samples": 1}, "max_samples is 1"),
        ({"random_state": -1}, "random_state is -1"),
    ]:
        with pytest.raises(ValueError, match=words):
            AutoGMML(**settings).fit(X, y)
    with pytest.raises(TypeError):
        AutoGMML(t=0.5)


def test_more_columns_than_rows_are_learned_from_all_the_same():
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 150))
    X[:, :3] += 3 * np.eye(3)[y]
    auto = AutoGMML(budget=2.0).fit(X[::2], y[::2])
    assert auto.recipes_ and auto.transform(X).shape[0] == 60
    knn = KNeighborsClassifier(3).fit(auto.transform(X[::2]), y[::2])
    plain = KNeighborsClassifier(3).fit(X[::2], y[::2])
    assert knn.score(auto.transform(X[1::2]), y[1::2]) >= plain.score(X[1::2], y[1::2])


def test_leading_directions_on_demand(wine):
    X, y = wine
    reduced = AutoGMML(reduce=True).fit(X, y)
    assert all(recipe["directions"] for recipe in reduced.recipes_)
    assert KNeighborsClassifier().fit(reduced.transform(X), y).score(reduced.transform(X), y) > 0.95
    assert clone(reduced).reduce is True


def test_the_draw_of_folds_is_a_seed(wine):
    X, y = wine
    fit = lambda state: [trial["error"] for trial in AutoGMML(budget=2.0, random_state=state).fit(X, y).trials_]
    assert fit(3) == fit(3) and fit(3) != fit(4) and fit(None) == fit(0)


def test_a_recipe_can_be_followed_again(wine):
    auto = AutoGMML(budget=5.0).fit(*wine)
    assert all(isinstance(recipe, dict) for recipe in auto.recipes_)
    for recipe in auto.recipes_:
        again = RecipeGMML(**recipe).fit(*wine)
        assert {name: again.get_params()[name] for name in recipe} == recipe
    if len(auto.recipes_) == 1:
        assert np.allclose(again.components_, auto.components_)


def test_diagnostics_print_on_a_few_lines_and_hold_everything(wine):
    auto = AutoGMML(budget=5.0).fit(*wine)
    assert len(repr(auto.diagnostics_)) < 2_000 < len(json.dumps(auto.diagnostics_))
    assert " ..." in repr(auto.diagnostics_) and auto.diagnostics_["choice"]["trials"] == auto.trials_
    assert len(repr(GMML().fit(*wine).diagnostics_)) < 2_000 and "in all]" in repr(GMML().fit(*wine).diagnostics_)


@pytest.mark.parametrize("scoring", ["balanced-error", "r@1", "recall@5", "map@r", "mrr", "ndcg@10", "roc-auc", "eer"])
def test_any_score_can_be_chosen_by_under_both_similarities(wine, scoring):
    X, y = wine
    for similarity in ("l2", "cosine"):
        auto = AutoGMML(scoring=scoring, similarity=similarity, random_state=1).fit(X, y)
        choice = auto.diagnostics_["choice"]
        assert (choice["criterion"], choice["similarity"]) == (scoring, similarity)
        plain = next(one["error"] for one in choice["references"] if one["name"] == "Euclidean")
        assert choice["error"] <= plain


def test_what_is_held_out_can_be_said(wine):
    X, y = wine
    errors = {}
    for name, settings in {
        "default": {},
        "folds": {"cv": 4},
        "splitter": {"cv": StratifiedKFold(3, shuffle=True, random_state=0)},
        "splits": {"cv": [(np.arange(0, 178, 2), np.arange(1, 178, 2))]},
        "classes": {"folds_over": "classes", "scoring": "r@1"},
    }.items():
        auto = AutoGMML(**settings).fit(X, y)
        errors[name] = auto.diagnostics_["choice"]["folds"]
        assert auto.verdict_
    assert errors["splitter"] == 3 and errors["splits"] == 1 and errors["classes"] == 3
    with pytest.raises(ValueError, match="criterion is 'accuracy'"):
        AutoGMML(scoring="accuracy").fit(X, y)
    with pytest.raises(ValueError, match="similarity"):
        AutoGMML(similarity="dot").fit(X, y)
    with pytest.raises(ValueError, match="folds_over"):
        AutoGMML(folds_over="groups").fit(X, y)


def test_as_many_trials_give_the_same_metric_as_the_time_that_they_took(wine):
    X, y = wine
    short = AutoGMML(time_limit=1e-9).fit(X, y)
    done = short.diagnostics_["choice"]
    assert done["cut_short"] and done["trials_done"] == 0
    again = AutoGMML(max_trials=9).fit(X, y)
    assert again.diagnostics_["choice"]["trials_done"] == 9
    assert (AutoGMML(max_trials=0).fit(X, y).components_ == short.components_).all()
