"""``cv`` is what t is chosen on: folds by number, scikit-learn's splitters, lists of splits, whole groups."""

import numpy as np
import pytest
from mahala import GMML, AutoGMML, GMMLPairs, KernelGMML, LocalGMML, load, save
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline


def twins(seed=0):
    """Rows in pairs that hardly differ: where a row is held out and its twin is not, the twin votes for it."""
    random = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = random.normal(size=(60, 3))
    X[:, 2] += 0.4 * y
    return np.repeat(X, 2, axis=0) + 1e-4 * random.normal(size=(120, 3)), np.repeat(y, 2), np.repeat(np.arange(60), 2)


def error_by_hand(X, y, t, splits, k):
    """The cross-validated error at t, with scikit-learn's neighbours."""
    wrong = tested = 0
    for train, held_out in splits:
        knn = make_pipeline(GMML(t=t), KNeighborsClassifier(k, algorithm="brute")).fit(X[train], y[train])
        wrong += (knn.predict(X[held_out]) != y[held_out]).sum()
        tested += len(held_out)
    return wrong / tested


@pytest.mark.parametrize(
    "cv", [KFold(4), StratifiedKFold(3), TimeSeriesSplit(3), ShuffleSplit(4, test_size=0.3, random_state=1)], ids=str
)
def test_the_error_of_a_value_is_that_of_the_splitters_held_out_rows(wine, cv):
    X, y = wine
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    gmml = GMML(cv=cv).fit(X, y)
    splits = list(cv.split(X, y))
    for t, error in gmml.t_path_[::6]:
        # One row of 178 may be a tie that rounding decides.
        assert abs(error - error_by_hand(X, y, t, splits, 5)) < 0.012
    listed = GMML(cv=splits).fit(X, y)
    assert (listed.t_path_ == gmml.t_path_).all() and listed.t_ == gmml.t_
    assert gmml.diagnostics_["selection"]["folds"] == len(splits)


def test_a_splitter_is_not_its_number_of_folds(wine):
    # The rows of Wine are sorted by class: unshuffled thirds hold out whole classes.
    by_number, by_splitter = (GMML(cv=cv).fit(*wine).t_path_ for cv in (3, KFold(3)))
    assert len(by_number) >= 19 and len(by_splitter) >= 19
    assert by_number[:, 1].min() < 0.05 and by_splitter[:, 1].min() > 0.5


def test_groups_are_held_out_whole():
    X, y, groups = twins()
    random = GMML(n_neighbors=1).fit(X, y)
    for grouped in (GMML(n_neighbors=1, cv=GroupKFold(5)).fit(X, y, groups=groups), GMML(n_neighbors=1).fit(X, y, groups=groups)):
        # The twin of a row votes for it in four random folds of five; never where groups stay whole.
        assert random.t_path_[:, 1].max() < 0.2 and grouped.t_path_[:, 1].min() > 0.25
    with pytest.raises(ValueError, match="groups"):
        GMML(cv=GroupKFold(5)).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GMML().fit(X, y, groups=groups[:-1])
    with pytest.raises(ValueError, match="here nothing is: set t='cv', or leave them out"):
        GMML(t=0.5).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="at least 2 groups"):
        GMML().fit(X, y, groups=np.zeros(120))


@pytest.mark.parametrize("kind", [KernelGMML, LocalGMML])
def test_every_estimator_that_chooses_honours_splits_and_groups(kind):
    X, y, groups = twins()
    path = lambda estimator: estimator.t_path_ if kind is KernelGMML else estimator.share_path_
    neighbours = {"n_neighbors": 1}
    random = path(kind(**neighbours).fit(X, y))
    for grouped in (
        kind(**neighbours, cv=GroupKFold(5)).fit(X, y, groups=groups),
        kind(**neighbours).fit(X, y, groups=groups),
    ):
        assert random[:, 1].mean() < 0.2 and path(grouped)[:, 1].mean() > 0.25


def test_pairs_are_split_as_they_are_told(iris, pairs):
    X, _ = iris
    indices, marks = pairs
    random = GMMLPairs(preprocessor=X).fit(indices, marks)
    halves = [(np.arange(300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    given = GMMLPairs(preprocessor=X, cv=halves).fit(indices, marks)
    by_splitter = GMMLPairs(preprocessor=X, cv=KFold(2)).fit(indices, marks)
    by_group = GMMLPairs(preprocessor=X, cv=GroupKFold(2)).fit(indices, marks, groups=np.arange(600) // 300)
    assert len(given.t_path_) >= 19 and (given.t_path_[:, 1] != random.t_path_[:, 1][: len(given.t_path_)]).any()
    assert (given.t_path_ == by_splitter.t_path_).all() and (given.t_path_ == by_group.t_path_).all()


def test_weights_and_sparse_rows_are_split_too():
    import scipy.sparse as sp

    X, y, groups = twins()
    plain = GMML(n_neighbors=1, cv=GroupKFold(4)).fit(X, y, groups=groups)
    ones = GMML(n_neighbors=1, cv=GroupKFold(4)).fit(X, y, sample_weight=np.ones(120), groups=groups)
    sparse = GMML(n_neighbors=1, cv=GroupKFold(4)).fit(sp.csr_matrix(X), y, groups=groups)
    assert (ones.t_path_ == plain.t_path_).all() and (sparse.t_path_ == plain.t_path_).all()
    # A row without weight is in no split any more.
    weight = (np.arange(120) >= 10).astype(float)
    without = GMML(n_neighbors=1, cv=GroupKFold(4)).fit(X, y, sample_weight=weight, groups=groups)
    splits = [
        (train[train >= 10] - 10, held_out[held_out >= 10] - 10)
        for train, held_out in GroupKFold(4).split(X, y, groups)
    ]
    assert np.allclose(without.t_path_, GMML(n_neighbors=1, cv=splits).fit(X[10:], y[10:]).t_path_)


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        (1, "cv is 1"),
        (True, "cv is True"),
        (2.5, "cv is 2.5; it must be a number of folds, a scikit-learn splitter or an iterable of splits"),
        ([], "cv is no split at all"),
        ([([0, 1, 2], [2, 3])], "cv is split 0 names row index 2 twice"),
        ([([0, 1, 2], [])], "split 0 has 3 training and 0 held-out rows"),
        ([([0, 1, 2], [178])], "names row index 178 of 178 rows"),
        ([([0, 1, 2], [-1])], "no lists of row numbers"),
        ([([0.5, 1], [2])], "no lists of row numbers"),
    ],
)
def test_splits_that_cannot_be(wine, cv, words):
    with pytest.raises(ValueError, match=words):
        GMML(cv=cv).fit(*wine)


def test_masks_are_splits_and_none_is_five_folds(wine):
    X, y = wine
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    half = np.arange(len(y)) % 2 == 0
    masks = GMML(cv=[(half, ~half)]).fit(X, y)
    numbers = GMML(cv=[(np.flatnonzero(half), np.flatnonzero(~half))]).fit(X, y)
    assert len(masks.t_path_) >= 19 and (masks.t_path_ == numbers.t_path_).all()
    assert (GMML(cv=None).fit(X, y).t_path_ == GMML(cv=5).fit(X, y).t_path_).all()


def test_a_model_file_knows_that_splits_were_given(wine, tmp_path):
    save(GMML(cv=StratifiedKFold(3)).fit(*wine), tmp_path / "m.st")
    again = load(tmp_path / "m.st")
    assert again.model_params_["splits"] == "given" and again.cv == 3


def test_partial_fit_chooses_on_the_splits_of_its_first_batch(wine):
    X, y = wine
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    gmml = GMML(cv=StratifiedKFold(3)).partial_fit(X[:90], y[:90])
    assert gmml.t_ == GMML(cv=StratifiedKFold(3)).fit(X[:90], y[:90]).t_
    chosen = gmml.t_
    assert gmml.partial_fit(X[90:91], y[90:91]).t_ == chosen


def test_the_automatic_mode_keeps_groups_whole():
    X, y, groups = twins()
    random, grouped = AutoGMML(n_neighbors=1).fit(X, y), AutoGMML(n_neighbors=1).fit(X, y, groups=groups)
    best = lambda auto: min(trial["error"] for trial in auto.trials_)
    assert best(random) < 0.2 and best(grouped) > 0.25
