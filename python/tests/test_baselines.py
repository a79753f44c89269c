"""The methods GMML is compared with: what they promise, and that they are the command's."""

import json
import pickle
import subprocess

import numpy as np
import pytest
from mahala import (
    DMLMJ,
    ITML,
    KISSME,
    LDA,
    LDML,
    LEGO,
    LFDA,
    LMNN,
    LORETA,
    LSML,
    MCML,
    MLKR,
    MMC,
    MOML,
    NCA,
    NCMML,
    OASIS,
    POLA,
    RCA,
    SCML,
    SDML,
    XQDA,
    Covariance,
    Euclidean,
    FlatGeo,
    MahalanobisKNN,
    RecipeGMML,
    RobustGMML,
    load,
    save,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

ITERATING = [
    *[ITML(), LMNN(), NCA(max_iter=500), MCML(max_iter=500), MMC(), MMC(diagonal=True), FlatGeo()],
    *[LDML(), LSML(), NCMML(), RobustGMML(), RobustGMML(t=0.2, reg=0.1)],
]
CLOSED = [RCA(), RCA(n_chunks=20, n_components=2), LDA(), LFDA(), LFDA(embedding="plain"), KISSME(), XQDA(), DMLMJ()]
#: They make the passes they are told to.
PASSES = [LEGO(), POLA(), OASIS(), LORETA(n_components=2), MOML(max_iter=3), SCML(max_iter=500), SDML(sparsity=0.2)]
EVERY = [
    *[Euclidean(), Covariance(), RecipeGMML(rounds=[(3, 0.5), (3, 0.2)], directions=3)],
    *[*CLOSED, *PASSES, *ITERATING],
]


def name(estimator):
    return str(estimator)


@pytest.mark.parametrize("estimator", EVERY, ids=name)
def test_distances_are_those_of_the_matrix(estimator, iris):
    X, y = iris
    fitted = clone(estimator).fit(X, y)
    Z, A = fitted.transform(X), fitted.get_mahalanobis_matrix()
    assert (A == A.T).all() and np.linalg.eigvalsh(A).min() > -1e-9 * np.abs(A).max()
    difference = X[0] - X[77]
    assert np.isclose(np.sum((Z[0] - Z[77]) ** 2), difference @ A @ difference, rtol=1e-10)
    assert fitted.get_feature_names_out().shape == (Z.shape[1],)


@pytest.mark.parametrize("estimator", ITERATING, ids=name)
def test_a_fit_says_how_it_went(estimator, iris):
    fitted = clone(estimator).fit(*iris)
    assert fitted.converged_ and fitted.n_iter_ >= 1 and np.isfinite(fitted.objective_)
    assert fitted.diagnostics_["iterations"] == fitted.n_iter_
    with pytest.warns(ConvergenceWarning, match="limit of iterations"):
        short = clone(estimator).set_params(max_iter=1).fit(*iris)
    assert not short.converged_ and short.n_iter_ == 1 and np.isfinite(short.components_).all()


@pytest.mark.parametrize("estimator", ITERATING, ids=name)
def test_a_fit_stops_when_its_time_is_up(estimator, iris):
    with pytest.warns(ConvergenceWarning, match="limit of time"):
        fitted = clone(estimator).set_params(time_limit=1e-9).fit(*iris)
    assert not fitted.converged_ and np.isfinite(fitted.transform(iris[0])).all()


@pytest.mark.parametrize("estimator", EVERY, ids=name)
def test_the_same_seed_and_any_number_of_threads_give_the_same_bits(estimator, iris):
    first = clone(estimator).set_params(n_jobs=1).fit(*iris)
    second = clone(estimator).set_params(n_jobs=2).fit(*iris)
    assert (first.components_ == second.components_).all()
    assert (pickle.loads(pickle.dumps(first)).transform(iris[0]) == first.transform(iris[0])).all()


@pytest.mark.parametrize("estimator", EVERY, ids=name)
def test_it_goes_through_a_file(estimator, iris, tmp_path):
    fitted = clone(estimator).fit(*iris)
    save(fitted, tmp_path / "m.safetensors", *iris)
    again = load(tmp_path / "m.safetensors")
    assert type(again) is type(fitted)
    assert (again.transform(iris[0]) == fitted.transform(iris[0])).all()
    wanted, seen = fitted.get_params(), again.get_params()
    assert {key: seen[key] for key in seen if key != "random_state"} == {
        key: wanted[key] for key in wanted if key != "random_state"
    }


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (ITML(), ["--method", "itml"]),
        (ITML(gamma="auto", standardize=True), ["--method", "itml", "--set", "gamma=auto", "--standardize"]),
        (MMC(diagonal=True), ["--method", "mmc", "--set", "diagonal=true"]),
        (FlatGeo(n_components=2), ["--method", "flatgeo", "--rank", "2"]),
        (LMNN(n_neighbors=2), ["--method", "lmnn", "--set", "targets=2"]),
        (Covariance(), ["--method", "covariance"]),
        (RCA(n_components=2), ["--method", "rca", "--rank", "2"]),
        (LFDA(n_neighbors=5), ["--method", "lfda", "--set", "neighbors=5"]),
        (LEGO(max_iter=2), ["--method", "lego", "--max-iterations", "2"]),
        (SCML(n_bases=50, max_iter=500), ["--method", "scml", "--set", "bases=50", "--max-iterations", "500"]),
        (RobustGMML(reg=0.1), ["--method", "robust-gmml", "--set", "lambda=0.1"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_command_writes_the_same_bytes(estimator, options, command, iris, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(4)])
    frame.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
    theirs, ours = tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    line = [command, "fit", tmp_path / "rows.csv", "--label", "label", *options, "-o", theirs]
    subprocess.run(line, check=True, capture_output=True)
    save(clone(estimator).fit(frame, y), ours, frame, y)
    assert ours.read_bytes() == theirs.read_bytes()


FROM_PAIRS = [
    *[ITML(), MMC(), MMC(diagonal=True), FlatGeo(), KISSME(), XQDA(), LDML(max_iter=1000), RobustGMML(), LEGO(), POLA()],
]


@pytest.mark.parametrize("estimator", FROM_PAIRS, ids=name)
def test_it_learns_from_pairs_too(estimator, iris, pairs):
    X, _ = iris
    indices, marks = pairs
    fitted = clone(estimator).fit_pairs(X[indices], marks)
    near = fitted.pair_distance(X[indices[marks == 1]]).mean()
    far = fitted.pair_distance(X[indices[marks == -1]]).mean()
    plain = Euclidean().fit(X)
    ratio = plain.pair_distance(X[indices[marks == -1]]).mean() / plain.pair_distance(X[indices[marks == 1]]).mean()
    assert far / near > ratio
    with pytest.raises(ValueError, match="one mark for each pair"):
        clone(estimator).fit_pairs(X[indices], marks[:-1])


def test_they_serve_a_pipeline_and_our_own_neighbours(wine):
    X, y = wine
    pipeline = make_pipeline(LMNN(standardize=True), KNeighborsClassifier())
    assert pipeline.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    assert MahalanobisKNN(metric=ITML(standardize=True)).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


def test_progress_is_printed_when_asked_for(iris, capsys):
    ITML(verbose=True).fit(*iris)
    assert "[ITML] iteration" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ITML(gamma="big"), "'auto' or a number above 0"),
        (ITML(gamma=0), "gamma is 0"),
        (ITML(bounds=3.0), "bounds is 3.0; it must be two numbers"),
        (ITML(bounds=(1.0, -1.0)), "bounds is 1, -1; it must be two squared distances above 0"),
        (ITML(max_iter=0), "max_iter is 0"),
        (ITML(time_limit=-1), "time_limit is -1"),
        (LMNN(init="somewhere"), "expected one of `auto`"),
        (LMNN(hinge="soft"), "expected `squared` or `classic`"),
        (FlatGeo(n_components=5), "^n_components is 5"),
        (MMC(tol=-1.0), "^tol is -1"),
        (NCA(tol="small"), "parameters of nca"),
    ],
    ids=name,
)
def test_wrong_parameters_are_refused_in_words(estimator, message, iris):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*iris)


def test_one_class_is_refused(iris):
    for estimator in ITERATING:
        with pytest.raises(ValueError, match="greater than one"):
            clone(estimator).fit(iris[0], np.zeros(150))


def test_parameters_are_in_the_file(iris, tmp_path):
    save(ITML(gamma=0.25).fit(*iris), tmp_path / "m.safetensors")
    params = load(tmp_path / "m.safetensors").model_params_
    assert json.dumps(params, sort_keys=True) == (
        '{"bounds": null, "gamma": 0.25, "k": 5, "max_projections": 100000, "method": "itml", "seed": 0, '
        '"standardize": false, "tolerance": 0.01}'
    )


def test_regression_finds_the_columns_that_matter(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 4)) * [1.0, 100.0, 1.0, 0.01]
    y = np.sin(6 * X[:, 0]) + 2 * X[:, 2]
    fitted = MLKR().fit(X, y)
    # In units of the columns' deviations.
    weights = np.diag(fitted.get_mahalanobis_matrix()) * X.var(axis=0)
    assert min(weights[[0, 2]]) > 5 * max(weights[[1, 3]])
    assert fitted.converged_ and fitted.objective_ < 0.1 * len(y) * y.var()
    save(fitted, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert isinstance(again, MLKR) and again.get_params() == MLKR(random_state=0).get_params()
    assert (again.transform(X) == fitted.transform(X)).all()
    assert MLKR(standardize=False).fit(X, y).scale_ is None
    with pytest.raises(ValueError, match="150, 149"):
        MLKR().fit(X, y[:-1])
    with pytest.raises(ValueError, match="max_iter is 0"):
        MLKR(max_iter=0).fit(X, y)
