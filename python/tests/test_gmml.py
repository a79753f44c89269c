"""GMML from labelled rows: what it learns, and what it refuses."""

import numpy as np
import pytest
import scipy.linalg
from mahala import GMML, AutoGMML, Moments
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline


def scatters(X, y):
    difference = X[:, None] - X[None]
    same = y[:, None] == y[None]
    outer = lambda rows: np.einsum("ik,il->kl", rows, rows)
    return outer(difference[same]), outer(difference[~same])


def relative_error(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_the_matrix_is_the_papers_formula(wine, t):
    X, y = wine
    X = (X - X.mean(0)) / X.std(0)
    s, d = scatters(X, y)
    root = np.real(scipy.linalg.sqrtm(s))
    inverse = np.linalg.inv(root)
    theirs = inverse @ np.real(scipy.linalg.fractional_matrix_power(root @ d @ root, t)) @ inverse
    ours = GMML(t=t).fit(X, y).get_mahalanobis_matrix()
    # A common factor depends on how pairs are counted. The rest is rounding times the condition of S.
    assert relative_error(ours / np.trace(ours), theirs / np.trace(theirs)) < 1e-9


def test_it_beats_the_euclidean_distance_on_raw_wine(wine):
    knn = KNeighborsClassifier()
    models = knn, make_pipeline(GMML(), knn), make_pipeline(AutoGMML(), knn)
    plain, learned, chosen = (cross_val_score(model, *wine).mean() for model in models)
    assert plain < 0.75 and learned > 0.95 and chosen > 0.95


def test_distances_agree_through_every_door(wine):
    X, y = wine
    gmml = GMML(t=0.4, standardize=True).fit(X, y)
    z = gmml.transform(X)
    assert np.allclose(z, ((X - gmml.mean_) / gmml.scale_) @ gmml.components_.T, rtol=1e-12, atol=1e-12)
    a, distance = gmml.get_mahalanobis_matrix(), gmml.get_metric()
    pairs = np.stack([X[:10], X[10:20]], axis=1)
    for i, value in enumerate(gmml.pair_distance(pairs)):
        u, v = pairs[i]
        assert np.isclose(value, np.linalg.norm(z[i] - z[10 + i]), rtol=1e-10)
        assert np.isclose(value**2, (u - v) @ a @ (u - v), rtol=1e-9)
        assert np.isclose(value, distance(u, v), rtol=1e-10)
        assert np.isclose(value**2, distance(u, v, squared=True), rtol=1e-10)
    assert (gmml.pair_score(pairs) == -gmml.pair_distance(pairs)).all()


def test_the_metric_is_independent_of_the_estimator(iris):
    X, y = iris
    gmml = GMML(t=0.5).fit(X, y)
    distance = gmml.get_metric()
    before = distance(X[0], X[1])
    gmml.components_ = np.zeros((4, 4))
    assert distance(X[0], X[1]) == before
    knn = KNeighborsClassifier(metric=distance).fit(X, y)
    assert knn.score(X, y) > 0.95


def test_t_is_chosen_among_the_values_tried(iris):
    gmml = GMML().fit(*iris)
    assert gmml.t_path_.shape == (19, 2) or gmml.t_path_.shape == (20, 2)
    values, errors = gmml.t_path_.T
    assert ((0 <= errors) & (errors <= 1)).all() and len(set(errors)) > 1
    # Five values first, then fifteen about the best of them: the least error of those is chosen.
    coarse = np.isin(values, [0.1, 0.3, 0.5, 0.7, 0.9])
    best = values[coarse][errors[coarse].argmin()]
    near = np.abs(values - best) <= 0.14 + 1e-9
    assert gmml.t_ == values[near][errors[near].argmin()]
    given = GMML(t=0.3).fit(*iris)
    assert given.t_ == 0.3 and given.t_path_.shape == (0, 2)


def test_the_number_of_threads_changes_no_bit(wine):
    for kind in (GMML, AutoGMML):
        one, two, default = (kind(n_jobs=n).fit(*wine) for n in (1, 2, None))
        assert (one.components_ == two.components_).all() and (one.components_ == default.components_).all()
        assert (one.transform(wine[0]) == two.transform(wine[0])).all()


def test_random_state_is_a_seed(wine):
    fit = lambda state: GMML(pairs="sampled", t=0.5, random_state=state).fit(*wine).components_
    assert (fit(3) == fit(3)).all() and (fit(3) != fit(4)).any()
    assert (fit(None) == fit(0)).all()
    assert (fit(np.random.RandomState(1)) == fit(np.random.RandomState(1))).all()
    generator = np.random.RandomState(1)
    assert (fit(generator) != fit(generator)).any()


def test_n_components_keeps_the_coordinates_that_matter(wine):
    X, y = wine
    X = (X - X.mean(0)) / X.std(0)
    gmml = GMML(t=0.3, n_components=2).fit(X, y)
    assert gmml.components_.shape == (2, 13) and gmml.transform(X).shape == (178, 2)
    assert KNeighborsClassifier().fit(gmml.transform(X), y).score(gmml.transform(X), y) > 0.95


@pytest.mark.parametrize("prior", ["identity", "diagonal", "covariance", np.diag(np.arange(1.0, 5.0))])
def test_priors(iris, prior):
    small, large = (GMML(t=0.5, reg=reg, prior=prior).fit(*iris).components_ for reg in (1e-3, 10.0))
    assert np.isfinite(small).all() and (small != large).any()


def test_a_strong_prior_wins(iris):
    prior = np.diag([1.0, 2.0, 3.0, 4.0])
    a = GMML(t=0.5, reg=1e12, prior=prior).fit(*iris).get_mahalanobis_matrix()
    # inv(reg inv(A0)) #_1/2 (reg A0) = A0, up to the share of the data, some 1e-9.
    assert relative_error(a, prior) < 1e-7


def test_a_weight_of_two_is_the_row_twice(iris):
    X, y = iris
    weights = np.random.default_rng(1).integers(0, 4, size=len(y))
    for settings in [{"t": 0.5}, {"t": 0.2, "shrinkage": 0.1}, {"t": 0.7, "reg": 0.1}]:
        weighted = GMML(**settings).fit(X, y, sample_weight=weights)
        repeated = GMML(**settings).fit(X.repeat(weights, axis=0), y.repeat(weights))
        ours, theirs = weighted.get_mahalanobis_matrix(), repeated.get_mahalanobis_matrix()
        # Rounding times the condition of S, some 1e3.
        assert relative_error(ours, theirs) < 1e-11
        assert np.allclose(weighted.mean_, repeated.mean_, rtol=1e-13)


def test_weights_of_one_and_fraction_and_automatic_t(iris):
    X, y = iris
    plain = GMML(t="cv").fit(X, y)
    ones = GMML(t="cv").fit(X, y, sample_weight=np.ones(len(y)))
    assert ones.t_ == plain.t_ and (ones.t_path_ == plain.t_path_).all()
    halves = GMML(t=plain.t_).fit(X, y, sample_weight=np.full(len(y), 0.5))
    for other in (ones, halves):
        assert relative_error(other.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix()) < 1e-11


def test_a_class_without_weight_does_not_count(iris):
    X, y = iris
    gmml = GMML(t=0.5).fit(X, y, sample_weight=(y != 2).astype(float))
    without = GMML(t=0.5).fit(X[y != 2], y[y != 2])
    assert gmml.classes_.tolist() == [0, 1]
    assert relative_error(gmml.get_mahalanobis_matrix(), without.get_mahalanobis_matrix()) < 1e-11
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        GMML(t=0.5).fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("settings", [{"pairs": "sampled"}, {"standardize": True}])
def test_weights_need_sums_over_all_pairs(iris, settings):
    with pytest.raises(ValueError, match="sample_weight"):
        GMML(**settings).fit(*iris, sample_weight=np.ones(150))


def test_partial_fit_equals_one_fit(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(150)
    stream = GMML(t=0.4)
    for batch in np.array_split(order, 7):
        stream.partial_fit(X[batch], y[batch], classes=[0, 1, 2])
    whole = GMML(t=0.4).fit(X, y)
    assert relative_error(stream.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix()) < 1e-11
    assert stream.classes_.tolist() == [0, 1, 2]


def test_partial_fit_is_fitted_once_there_is_something_to_learn(iris):
    X, y = iris
    gmml = GMML().partial_fit(X[:10], y[:10])
    with pytest.raises(NotFittedError):
        gmml.transform(X)
    gmml.partial_fit(X[45:55], y[45:55])
    chosen = gmml.t_
    assert gmml.transform(X).shape == (150, 4)
    assert gmml.partial_fit(X, y).t_ == chosen and gmml.classes_.tolist() == [0, 1, 2]


def test_partial_fit_starts_anew_after_fit_and_knows_its_classes(iris):
    X, y = iris
    gmml = GMML(t=0.5).fit(X[:20], np.arange(20) % 2)
    gmml.partial_fit(X, y)
    assert (gmml.components_ == GMML(t=0.5).partial_fit(X, y).components_).all()
    with pytest.raises(ValueError, match="not in classes"):
        GMML(t=0.5).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 4 features"):
        gmml.partial_fit(X[:, :3], y)


def test_fit_moments_equals_fit(iris):
    X, y = iris
    parts = [Moments(4).update(X[i::4], y[i::4]) for i in range(4)]
    moments = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    gmml = GMML(t=0.4).fit_moments(moments)
    whole = GMML(t=0.4).fit(X, y)
    assert relative_error(gmml.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix()) < 1e-11
    assert gmml.classes_.tolist() == [0, 1, 2] and gmml.n_features_in_ == 4
    with pytest.raises(ValueError, match="t is 'cv'"):
        GMML().fit_moments(moments)
    before = moments.to_bytes()
    gmml.partial_fit(X, y)
    assert moments.to_bytes() == before and gmml._moments.n_samples == 300


def test_one_factorisation_is_enough_for_many_features():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 300)), np.arange(60) % 3
    gmml = GMML(t=0.5, shrinkage=0.2).fit(X, y)
    assert np.isfinite(pairwise_distances(gmml.transform(X))).all()
    assert gmml.diagnostics_["ridge"] == 0
    assert GMML(t=0.5).fit(X, y).diagnostics_["ridge"] > 0


def test_constant_columns_have_weight_zero(iris):
    X, y = iris
    gmml = GMML(t=0.5).fit(np.column_stack([X, np.full(150, 7.0)]), y)
    assert gmml.diagnostics_["constant_columns"] == [4] and (gmml.components_[:, 4] == 0).all()


@pytest.mark.parametrize(
    "labels", [["a", "b", "c"], [True, False, True], [10, 9, -3], [1.0, 2.0, 3.0], ["10", "9", "é"]]
)
def test_labels_of_every_kind(iris, labels):
    X, y = iris
    named = np.array(labels, dtype=object if isinstance(labels[0], str) else None)[y]
    gmml = GMML(t=0.5).fit(X, named)
    assert gmml.classes_.tolist() == np.unique(named).tolist()
