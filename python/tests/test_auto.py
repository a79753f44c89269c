"""The automatic mode: what it tells, and what it refuses instead of doing something else."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from mahala import (
    GMML,
    LMNN,
    MLKR,
    NCA,
    AutoGMML,
    KernelGMML,
    LocalGMML,
    MahalanobisKNN,
    RecipeGMML,
    load,
    load_classifier,
    save,
)
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
    with pytest.raises(ValueError, match="criterion is 'f1'"):
        AutoGMML(scoring="f1").fit(X, y)
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


def test_a_metric_for_the_cosine_ranks_by_the_cosine_everywhere(wine, tmp_path):
    X, y = wine
    auto = AutoGMML(similarity="cosine", max_trials=60).fit(X, y)
    Z = auto.transform(X)
    assert np.allclose(np.linalg.norm(Z, axis=1), 1, rtol=0, atol=1e-12)
    linear = (X - auto.mean_) / (1 if auto.scale_ is None else auto.scale_) @ auto.components_.T
    by_cosine = KNeighborsClassifier(metric="cosine", algorithm="brute").fit(linear, y)
    knn = MahalanobisKNN(metric=auto).fit(X, y)
    assert (knn.kneighbors(X[:40], 3)[1] == by_cosine.kneighbors(linear[:40], 3)[1]).all()
    # It is another order than that of the distance.
    assert (knn.kneighbors(X[:40], 3)[1] != KNeighborsClassifier().fit(linear, y).kneighbors(linear[:40], 3)[1]).any()
    assert np.allclose(auto.transform(X.astype(np.float32)), Z, rtol=0, atol=1e-4)
    assert auto.transform(X.astype(np.float32)).dtype == np.float32
    assert np.allclose(auto.transform(sp.csr_matrix(X)), Z, rtol=0, atol=1e-10)
    assert np.allclose(auto.pair_distance((X[:5], X[5:10])), np.linalg.norm(Z[:5] - Z[5:10], axis=1))
    assert np.isclose(auto.get_metric()(X[0], X[7]), np.linalg.norm(Z[0] - Z[7]))
    save(auto, tmp_path / "m.safetensors", X, y)
    again = load(tmp_path / "m.safetensors")
    assert (again.transform(X) == Z).all() and again.similarity == "cosine"
    classifier = load_classifier(tmp_path / "m.safetensors")
    assert (classifier.predict(X) == knn.predict(X)).all()


def test_the_onnx_model_of_a_metric_for_the_cosine_gives_rows_of_norm_one(wine):
    runtime = pytest.importorskip("onnxruntime")
    X, y = wine
    auto = AutoGMML(similarity="cosine", max_trials=20).fit(X, y)
    session = runtime.InferenceSession(auto.to_onnx(dtype=np.float64))
    rows = np.vstack([X, auto.mean_])  # the mean has no direction: zeros stay
    (Z,) = session.run(["Z"], {"X": rows})
    assert np.allclose(Z, auto.transform(rows), rtol=0, atol=1e-12)


def test_scikit_learns_names_of_scores_are_known_where_they_mean_the_same(wine):
    X, y = wine
    for estimator in (AutoGMML, partial(KernelGMML, kernel="auto")):
        for theirs, ours in (("accuracy", "knn-error"), ("balanced_accuracy", "balanced-error")):
            named, own = (estimator(scoring=name, max_samples=60, budget=2.0).fit(X, y) for name in (theirs, ours))
            assert named.diagnostics_["choice"]["criterion"] == own.diagnostics_["choice"]["criterion"] == ours
            assert (named.components_ == own.components_).all()
        with pytest.raises(ValueError, match=r"'roc-auc' to rank pairs.*GMML\(scoring='roc_auc'\)"):
            estimator(scoring="roc_auc").fit(X, y)
        with pytest.raises(ValueError, match=r"GMML\(scoring=...\) chooses t by any"):
            estimator(scoring=lambda *_: 0.0).fit(X, y)


def test_a_weight_that_cannot_be_used_is_refused_by_name(wine):
    X, y = wine
    weight = np.ones(len(y))
    for estimator in (AutoGMML(), LocalGMML(), LMNN(), NCA(), RecipeGMML(), MLKR()):
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'sample_weight': .*GMML"):
            estimator.fit(X, y, sample_weight=weight)
        with pytest.raises(TypeError, match="'sample_weihgt'"):
            estimator.fit(X, y, sample_weihgt=weight)
    assert RecipeGMML().fit(X, y, sample_weight=None).components_.shape == (13, 13)
    with pytest.raises(ValueError, match="sample_weight cannot be used with kernel='auto'"):
        KernelGMML(kernel="auto").fit(X, y, sample_weight=weight)


def test_kernel_and_automatic_mode_share_what_they_choose_by(wine):
    X, y = wine
    kernel = KernelGMML(kernel="auto", similarity="cosine", scoring="r@1", cv=[(np.arange(0, 178, 2), np.arange(1, 178, 2))], budget=2.0).fit(X, y)
    choice = kernel.diagnostics_["choice"]
    assert (choice["criterion"], choice["similarity"], choice["folds"]) == ("r@1", "cosine", 1)
    assert np.allclose(np.linalg.norm(kernel.transform(X), axis=1), 1)
    assert KernelGMML(kernel="auto", time_limit=1e-9).fit(X, y).diagnostics_["choice"]["cut_short"]
    for settings in ({"scoring": "r@1"}, {"similarity": "cosine"}, {"time_limit": 1.0}, {"keep_best": True}):
        with pytest.raises(ValueError, match=f"{next(iter(settings))} is .*only kernel='auto' chooses by it"):
            KernelGMML(**settings).fit(X, y)


INTERRUPTED = """
import os, signal, threading
import numpy as np
from mahala import AutoGMML, progress
# A parent may have left it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 60)), np.arange(3000) % 7
presses = iter([None, None])
def press(step):
    # After the first trials, and once more if it goes on.
    if step.objective is not None and next(presses, "done") is None:
        os.kill(os.getpid(), signal.SIGINT)
try:
    with progress(press):
        auto = AutoGMML(budget=1e6, keep_best=KEEP).fit(X, y)
    choice = auto.diagnostics_["choice"]
    print("kept", choice["cut_short"], choice["trials_done"] > 0, auto.transform(X).shape[0])
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal of its own for Ctrl-C to send to one process")
@pytest.mark.parametrize(("keep", "said"), [(True, "kept True True 3000"), (False, "interrupted")])
def test_ctrl_c_keeps_the_best_so_far_if_that_is_asked_for(keep, said):
    program = INTERRUPTED.replace("KEEP", str(keep)).replace("[None, None]", "[None]")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split("\n")[0] == said, run.stdout + run.stderr
