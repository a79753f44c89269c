"""Extensions of the paper: class weights, probabilities, graded similarity and sets of labels, local metrics."""

import subprocess

import numpy as np
import pytest
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from mahala import GMML, GMMLPairs, LocalGMML, Moments, load, load_classifier, save


def relative_error(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def some_pairs(X, y, n, seed):
    i, j = np.random.default_rng(seed).integers(len(y), size=(2, n))
    return X[np.column_stack([i, j])], i, j


@pytest.fixture
def unequal(iris):
    """Irises of 50, 25 and 10 rows."""
    X, y = iris
    kept = np.r_[0:50, 50:100:2, 100:150:5]
    return X[kept], y[kept]


def test_balance_is_row_weights(unequal):
    X, y = unequal
    weights = len(y) / (3 * np.bincount(y)[y])
    balanced = GMML(t=0.4, class_weight="balanced").fit(X, y).get_mahalanobis_matrix()
    weighted = GMML(t=0.4).fit(X, y, sample_weight=weights).get_mahalanobis_matrix()
    # Rounding times the condition of S, some 1e3.
    assert relative_error(balanced, weighted) < 1e-11
    moments = GMML(t=0.4, class_weight="balanced").fit_moments(Moments(4).update(X, y)).get_mahalanobis_matrix()
    assert relative_error(moments, balanced) < 1e-11
    pairs = GMML(t=0.4, class_weight="balanced-pairs").fit(X, y).get_mahalanobis_matrix()
    assert relative_error(pairs, balanced) > 1e-3


def test_balance_chooses_t_by_the_mean_error_of_classes(unequal):
    X, y = unequal
    gmml = GMML(class_weight="balanced").fit(X, y)
    assert gmml.diagnostics_["selection"]["criterion"].endswith("each class counted the same")
    knn = KNeighborsClassifier().fit(gmml.transform(X), y)
    assert balanced_accuracy_score(y, knn.predict(gmml.transform(X))) > 0.9


def test_balance_is_checked_and_kept_in_the_file(unequal, tmp_path):
    with pytest.raises(ValueError, match="class_weight is 'rows'; it must be None, 'balanced', 'balanced-pairs' or a dict"):
        GMML(class_weight="rows").fit(*unequal)
    with pytest.raises(ValueError, match="class_weight is set, with sampled pairs"):
        GMML(class_weight="balanced", pairs="sampled").fit(*unequal)
    save(GMML(t=0.5, class_weight="balanced-pairs").fit(*unequal), tmp_path / "m.st")
    assert load(tmp_path / "m.st").class_weight == "balanced-pairs"


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_probabilities_are_those_of_scikit_learn(iris, method):
    X, y = iris
    pairs, i, j = some_pairs(X, y, 300, 0)
    same = np.where(y[i] == y[j], 1, -1)
    valid, k, m = some_pairs(X, y, 300, 1)
    truth = np.where(y[k] == y[m], 1, -1)
    learner = GMMLPairs(t=0.4).fit(pairs, same).calibrate(valid, truth, method)
    distances, seen = learner.pair_distance(valid), learner.predict_proba(valid)[:, 1]
    if method == "platt":
        a, b = _sigmoid_calibration(distances, truth)
        # scikit-learn's own search stops at some six digits.
        assert np.allclose(seen, 1 / (1 + np.exp(a * distances + b)), atol=1e-5)
    else:
        wanted = IsotonicRegression(increasing=False).fit(distances, truth == 1).predict(distances)
        assert np.allclose(seen, wanted, atol=1e-12)


def test_probabilities_come_from_held_out_pairs(wine, tmp_path):
    X, y = wine
    pairs, i, j = some_pairs(X, y, 600, 0)
    same = np.where(y[i] == y[j], 1, -1)
    new, k, m = some_pairs(X, y, 2000, 1)
    truth = y[k] == y[m]
    for method in ("platt", "isotonic"):
        learner = GMMLPairs(calibration=method).fit(pairs, same)
        p = learner.predict_proba(new)
        assert p.shape == (2000, 2) and np.allclose(p.sum(axis=1), 1) and (p >= 0).all()
        assert learner.calibration_["method"] == method
        assert log_loss(truth, p[:, 1]) < 0.5
        save(learner, tmp_path / "m.st")
        again = load(tmp_path / "m.st")
        assert (again.predict_proba(new) == p).all() and again.threshold_ == learner.threshold_
    assert not hasattr(GMMLPairs().fit(pairs, same), "predict_proba")
    with pytest.raises(ValueError, match="calibration is 'beta'; it must be None, 'platt' or 'isotonic'"):
        GMMLPairs(calibration="beta").fit(pairs, same)


def test_graded_pairs(iris):
    X, y = iris
    pairs, i, j = some_pairs(X, y, 400, 0)
    grades = np.array([1.0, 0.4, 0.0])[np.abs(y[i] - y[j])]
    graded = GMMLPairs(t=0.5).fit(pairs, grades)
    # The same as every pair twice, weighted.
    twice = np.concatenate([pairs, pairs])
    marks, weights = np.repeat([1, -1], 400), np.concatenate([grades, 1 - grades])
    listed = GMMLPairs(t=0.5).fit(twice, marks, sample_weight=weights)
    assert relative_error(graded.get_mahalanobis_matrix(), listed.get_mahalanobis_matrix()) < 1e-11
    assert graded.score(pairs, grades) > 0.7
    assert GMMLPairs(calibration="isotonic").fit(pairs, grades).predict_proba(pairs).shape == (400, 2)
    for wrong in (grades * 2, grades - 1):
        with pytest.raises(ValueError, match="similarities are between 0 and 1"):
            GMMLPairs(t=0.5).fit(pairs, wrong)


def test_rows_with_several_labels():
    random = np.random.default_rng(0)
    Y = (random.random((400, 3)) < 0.5).astype(int)
    X = np.hstack([Y + 0.3 * random.normal(size=(400, 3)), 3 * random.normal(size=(400, 5))])
    gmml = GMML(random_state=1).fit(X[:300], Y[:300])
    assert gmml.classes_.tolist() == [0, 1, 2]
    weights = np.diag(gmml.get_mahalanobis_matrix())
    assert weights[:3].min() > 5 * weights[3:].max()

    def right(transform):
        knn = KNeighborsClassifier(5).fit(transform(X[:300]), Y[:300])
        return (knn.predict(transform(X[300:])) == Y[300:]).mean()

    assert right(gmml.transform) > 0.85 > 0.7 > right(lambda X: X)
    again = GMML(random_state=1).fit(X[:300], Y[:300])
    assert (again.components_ == gmml.components_).all()
    with pytest.raises(ValueError, match="sample_weight needs one label a row"):
        GMML().fit(X, Y, sample_weight=np.ones(400))
    # One column of 0 and 1 is a class for each row, as ever.
    with pytest.warns(match="column-vector"):
        assert GMML(t=0.5).fit(X, Y[:, :1]).classes_.tolist() == [0, 1]


def crossed(n, seed):
    """Two classes that cross at right angles: no one metric suits both."""
    random = np.random.default_rng(seed)
    long, short = 4 * random.normal(size=n), 0.4 * random.normal(size=n)
    y = np.arange(n) % 2
    shape = np.where(y[:, None] == 0, np.column_stack([long, short]), np.column_stack([short, long]))
    return np.hstack([shape, random.normal(size=(n, 2))]), y


def test_local_metrics_suit_classes_of_different_shape():
    X, y = crossed(60, 0)
    new, truth = crossed(2000, 1)
    local = LocalGMML(share=0.5).fit(X, y)
    assert local.share_ == 0.5 and local.local_maps_.shape == (2, 4, 4)
    assert local.score(new, truth) > LocalGMML(share=0.0).fit(X, y).score(new, truth) + 0.01
    # Equal determinants: the maps have that of an isometry.
    assert np.allclose(np.abs(np.linalg.det(local.local_maps_)), 1)
    chosen = LocalGMML().fit(X, y)
    assert chosen.share_path_[0, 0] == 0 and chosen.share_path_.shape == (6, 2)
    errors = chosen.share_path_[:, 1]
    assert chosen.share_ == chosen.share_path_[errors.argmin(), 0]


def test_without_share_it_is_the_global_metric(wine):
    X, y = wine
    local = LocalGMML(share=0.0, t=0.1).fit(X[::2], y[::2])
    gmml = GMML(t=0.1).fit(X[::2], y[::2])
    knn = KNeighborsClassifier(algorithm="brute").fit(gmml.transform(X[::2]), y[::2])
    assert (local.predict(X[1::2]) == knn.predict(gmml.transform(X[1::2]))).all()
    proba = local.predict_proba(X[1::2])
    assert np.allclose(proba.sum(axis=1), 1) and (proba.argmax(axis=1) == local.predict(X[1::2])).mean() > 0.9


def test_local_metrics_of_clusters_and_their_errors(wine):
    X, y = wine
    local = LocalGMML(by="cluster", n_clusters=4, share=0.5, standardize=True).fit(X[::2], y[::2])
    assert local.local_maps_.shape == (4, 13, 13) and set(local.groups_) <= {0, 1, 2, 3}
    assert local.score(X[1::2], y[1::2]) > 0.9
    search = GridSearchCV(LocalGMML(standardize=True, t=0.2), {"by": ["class", "cluster"], "share": [0.0, 0.5]})
    assert search.fit(X, y).best_score_ > 0.93
    for wrong, text in [
        ({"by": "row"}, "by is 'row'; it must be 'class' or 'cluster'"),
        ({"share": 2.0}, "share is 2; it must be between 0 and 1"),
        ({"share": "most"}, "share is 'most'"),
        ({"by": "cluster", "n_clusters": 0}, "n_clusters is 0"),
    ]:
        with pytest.raises(ValueError, match=text):
            LocalGMML(**wrong).fit(X, y)


def test_the_local_model_of_the_command_is_read(wine, command, tmp_path):
    X, y = wine
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "wine.csv", table, delimiter=",", fmt=["%.17g"] * 13 + ["%d"])
    fit = [command, "fit", "wine.csv", "--label", "-1", "--method", "gmml", "--local", "class", "--share", "0.5", "-o", "m.st"]
    subprocess.run(fit, cwd=tmp_path, check=True, capture_output=True)
    classifier = load_classifier(tmp_path / "m.st")
    assert isinstance(classifier, LocalGMML) and classifier.share_ == 0.5
    ours = LocalGMML(share=0.5, random_state=0).fit(X, y)
    named = [f"f{j}" for j in range(1, 14)]
    assert classifier.feature_names_in_.tolist() == named
    with pytest.warns(match="feature names"):
        assert (classifier.predict(X) == ours.predict(X)).all()


def test_a_dict_of_class_weights_weighs_rows(unequal):
    X, y = unequal
    weights = np.array([1.0, 2.0, 5.0])[y]
    by_class = GMML(t=0.4, class_weight={1: 2, 2: 5.0}).fit(X, y)
    by_row = GMML(t=0.4).fit(X, y, sample_weight=weights)
    assert (by_class.components_ == by_row.components_).all()
    both = GMML(class_weight={1: 2, 2: 5.0}).fit(X, y, sample_weight=weights)
    assert (both.t_path_ == GMML().fit(X, y, sample_weight=weights**2).t_path_).all()
    streamed = GMML(t=0.4, class_weight={1: 2, 2: 5.0}).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert relative_error(streamed.get_mahalanobis_matrix(), by_row.get_mahalanobis_matrix()) < 1e-11
    with pytest.raises(ValueError, match=r"class_weight has a weight for 7, which is not in y; its classes are \[0, 1, 2\]"):
        GMML(class_weight={7: 1}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight of 1 is -1; it must be 0 or above"):
        GMML(class_weight={1: -1}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight needs pairs='all'"):
        GMML(class_weight={1: 2}, pairs="sampled").fit(X, y)
    with pytest.raises(ValueError, match="class_weight is a dict, but moments hold rows already weighted"):
        GMML(t=0.4, class_weight={1: 2}).fit_moments(Moments(4).update(X, y))


def test_a_share_of_the_rows_is_so_many_rows(iris):
    share, rows = GMML(max_samples=0.5).fit(*iris), GMML(max_samples=75).fit(*iris)
    assert (share.t_path_ == rows.t_path_).all() and len(rows.t_path_)
    assert (share.t_path_ != GMML(max_samples=1.0).fit(*iris).t_path_).any()
    with pytest.raises(ValueError, match="max_samples is 1.5; as a share of the rows it must be above 0 and at most 1"):
        GMML(max_samples=1.5).fit(*iris)
