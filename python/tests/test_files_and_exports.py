"""The command's files, ONNX, FAISS, and functions of positive definite matrices."""

import json
import subprocess

import numpy as np
import pytest
import scipy.linalg
from mahala import (
    GMML,
    AutoGMML,
    GMMLPairs,
    MahalanobisKNN,
    Moments,
    geometric_mean,
    load,
    load_classifier,
    logdet_divergence,
    riemannian_distance,
    save,
    symmetrized_logdet_divergence,
)

SETTINGS = [
    {"method": "auto"},
    {"method": "auto", "random_state": 3, "n_neighbors": 3, "budget": 2.0},
    {},
    {"t": 0.5},
    {"pairs": "sampled", "random_state": 7},
    {"standardize": True, "shrinkage": 0.1},
    {"t": 0.3, "reg": 0.1, "n_components": 4},
    {"reg": 0.01, "prior": "covariance", "n_neighbors": 3, "cv": 4},
]


def options(settings):
    names = {"random_state": "seed", "reg": "lambda", "n_components": "rank", "cv": "folds", "n_neighbors": "k"}
    words = []
    for name, value in ({"method": "gmml"} | settings).items():
        if name == "budget":
            words += ["--set", f"budget={value}"]
            continue
        words.append("--" + names.get(name, name))
        if value is not True:
            words.append(str(value))
    return [word.replace("--k", "-k") if word == "--k" else word for word in words]


def table(folder, X, y):
    names = [f"column {j}" for j in range(X.shape[1])]
    lines = [",".join([*names, "class"])]
    lines += [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return folder / "rows.csv", names


def run(command, *arguments):
    ended = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_same_bits_as_the_command(command, wine, tmp_path, settings):
    pandas = pytest.importorskip("pandas")
    X, y = wine
    rows, names = table(tmp_path, X, y)
    model = tmp_path / "command.safetensors"
    run(command, "fit", rows, "--label", "class", "-o", model, *options(settings))
    frame = pandas.DataFrame(X, columns=names)
    chosen = settings.get("method") == "auto"
    given = {name: value for name, value in settings.items() if name != "method"}
    ours, theirs = (AutoGMML if chosen else GMML)(**given).fit(frame, y), load(model)
    assert type(ours) is type(theirs)
    assert (ours.components_ == theirs.components_).all() and (ours.mean_ == theirs.mean_).all()
    assert ours.t_ == theirs.t_
    if chosen:
        assert len(ours.trials_) > 10 and ours.trials_ == theirs.trials_ and ours.reason_ == theirs.reason_
    else:
        assert len(ours.t_path_) == (0 if "t" in given else len(theirs.t_path_))
        assert (ours.t_path_ == theirs.t_path_).all()
    assert theirs.feature_names_in_.tolist() == names
    # The whole file, byte for byte.
    save(ours, tmp_path / "python.safetensors", frame, y)
    assert (tmp_path / "python.safetensors").read_bytes() == model.read_bytes()
    run(command, "transform", model, rows, "-o", tmp_path / "z.npy", "--ignore", "class")
    assert (np.load(tmp_path / "z.npy") == ours.transform(frame)).all()


@pytest.mark.parametrize("kind", [GMML, AutoGMML])
def test_groups_are_those_of_the_command(command, wine, tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    X, y = wine
    groups = np.arange(len(y)) // 3
    rows, names = table(tmp_path, X, y)
    lines = rows.read_text().splitlines()
    column = ["patient", *(f"p{group}" for group in groups)]
    rows.write_text("".join(f"{line},{group}\n" for line, group in zip(lines, column)))
    method, model = ("auto" if kind is AutoGMML else "gmml"), tmp_path / "command.safetensors"
    run(command, "fit", rows, "--label", "class", "--groups", "patient", "--method", method, "-o", model)
    frame = pandas.DataFrame(X, columns=names)
    ours = kind().fit(frame, y, groups=[f"p{group}" for group in groups])
    save(ours, tmp_path / "python.safetensors", frame, y)
    assert (tmp_path / "python.safetensors").read_bytes() == model.read_bytes()


def test_the_classifier_predicts_as_the_command_does(command, iris, tmp_path):
    X, y = iris
    rows, _ = table(tmp_path, X, y)
    model = tmp_path / "model.safetensors"
    run(command, "fit", rows, "--label", "class", "--method", "auto", "-o", model)
    lines = run(command, "predict", model, rows, "--label", "class").splitlines()[1:]
    theirs = [int(line.split(",")[1]) for line in lines]
    knn = load_classifier(model)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"column {j}" for j in range(4)])
    assert knn.predict(frame).tolist() == theirs
    assert MahalanobisKNN(metric=AutoGMML()).fit(X, y).predict(X).tolist() == theirs


def test_the_command_reads_what_python_writes(command, iris, tmp_path):
    X, y = iris
    rows, _ = table(tmp_path, X, y)
    gmml = GMML(t=0.5).fit(X, y)
    save(gmml, tmp_path / "m.safetensors", X, y)
    lines = run(command, "predict", tmp_path / "m.safetensors", rows, "--label", "class").splitlines()[1:]
    knn = MahalanobisKNN(metric=gmml).fit(X, y)
    assert [int(line.split(",")[1]) for line in lines] == knn.predict(X).tolist()
    shown = json.loads(run(command, "inspect", tmp_path / "m.safetensors", "--json"))
    assert shown


def test_pairs_are_learned_as_the_command_learns_them(command, iris, pairs, tmp_path):
    X, y = iris
    rows, _ = table(tmp_path, X, y)
    indices, marks = pairs
    lines = ["first,second,similar"]
    # The command counts rows from 1.
    lines += [f"{i + 1},{j + 1},{int(mark == 1)}" for (i, j), mark in zip(indices, marks)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.safetensors"
    run(command, "fit", rows, "--pairs", tmp_path / "pairs.csv", "-o", model, "--ignore", "class")
    theirs = load(model)
    ours = GMMLPairs(preprocessor=X).fit(indices, marks)
    assert isinstance(theirs, GMMLPairs)
    assert (ours.components_ == theirs.components_).all() and ours.t_ == theirs.t_


def test_models_come_back_as_they_were(wine, iris, pairs, tmp_path):
    path = tmp_path / "m.safetensors"
    for gmml in (GMML().fit(*wine), GMML(standardize=True, n_components=2).fit(*wine)):
        save(gmml, path)
        again = load(path)
        assert again.get_params() | {"random_state": None} == gmml.get_params()
        assert (again.transform(wine[0]) == gmml.transform(wine[0])).all()
        assert again.diagnostics_ == gmml.diagnostics_
        assert len(gmml.t_path_) >= 19 and (again.t_path_ == gmml.t_path_).all()
        save(again, tmp_path / "again.safetensors")
        assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()
        with pytest.raises(ValueError, match="holds no training rows"):
            load_classifier(path)
    auto = AutoGMML(reduce=True, budget=2.0).fit(*wine)
    save(auto, path)
    again = load(path)
    assert again.get_params() | {"random_state": None} == auto.get_params()
    assert (again.transform(wine[0]) == auto.transform(wine[0])).all()
    assert again.trials_ == auto.trials_ and again.recipes_ == auto.recipes_ and again.t_ == auto.t_
    learner = GMMLPairs().fit(iris[0][pairs[0]], pairs[1])
    save(learner, path)
    again = load(path)
    assert isinstance(again, GMMLPairs) and again.threshold_ == learner.threshold_
    assert (again.predict(iris[0][pairs[0]]) == learner.predict(iris[0][pairs[0]])).all()


def test_a_file_that_cannot_be_written(iris, tmp_path):
    with pytest.raises(OSError):
        save(GMML(t=0.5).fit(*iris), tmp_path / "no" / "such" / "folder.safetensors")


def test_moments_are_bytes_and_back(iris):
    X, y = iris
    moments = Moments(4).update(X, y)
    assert Moments.from_bytes(moments.to_bytes()) == moments
    assert moments.classes == ["0", "1", "2"] and moments.counts == [50, 50, 50] and moments.n_samples == 150
    for c in range(3):
        rows = X[y == c]
        assert np.allclose(moments.class_mean(c), rows.mean(0), rtol=1e-14)
        assert np.allclose(moments.class_scatter(c), np.cov(rows.T) * 49, rtol=1e-12)
    rest = moments.copy().subtract(Moments(4).update(X[:70], y[:70]))
    assert rest.counts == [0, 30, 50]
    twice = moments.copy()
    twice.merge(twice)
    assert twice.counts == [100, 100, 100]
    weighted = Moments(4).update(X, y, sample_weight=np.full(150, 2.0))
    assert weighted.weights == [100.0, 100.0, 100.0] and weighted.counts == [50, 50, 50]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("standardize", [False, True])
def test_onnx_computes_the_same(wine, tmp_path, dtype, standardize):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    X, y = wine
    gmml = GMML(t=0.2, standardize=standardize).fit(X, y)
    model = gmml.to_onnx(tmp_path / "m.onnx", dtype=dtype)
    assert (tmp_path / "m.onnx").read_bytes() == model
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    [z] = runtime.InferenceSession(model).run(None, {"X": X.astype(dtype)})
    # Sums of 13 terms in another order: rounding times the size of the terms.
    assert np.allclose(z, gmml.transform(X), atol=100 * np.finfo(dtype).eps * np.abs(gmml.transform(X)).max())
    with pytest.raises(ValueError, match="float64 or float32"):
        gmml.to_onnx(dtype=np.int32)


def test_faiss_finds_the_same_neighbours(wine):
    faiss = pytest.importorskip("faiss")
    X, y = wine
    gmml = GMML(n_components=5, standardize=True).fit(X, y)
    matrix, bias = gmml.to_faiss_matrix()
    assert matrix.dtype == bias.dtype == np.float32 and matrix.flags.c_contiguous
    transform = faiss.LinearTransform(13, 5, True)
    faiss.copy_array_to_vector(matrix.ravel(), transform.A)
    faiss.copy_array_to_vector(bias, transform.b)
    transform.is_trained = True
    index = faiss.IndexPreTransform(transform, faiss.IndexFlatL2(5))
    index.add(X.astype(np.float32))
    _, found = index.search(X.astype(np.float32), 5)
    wanted = MahalanobisKNN(metric=gmml).fit(X, y).kneighbors(X)[1]
    # Single precision swaps near ties.
    assert (found == wanted).mean() > 0.98


def test_single_precision_out_of_range_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2)) * 1e-60
    gmml = GMML(t=0.0).fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError, match="float32"):
        gmml.to_faiss_matrix()
    with pytest.raises(ValueError, match="32-bit"):
        gmml.to_onnx(dtype=np.float32)


def spd(seed, d=5):
    root = np.random.default_rng(seed).normal(size=(d, 2 * d))
    return root @ root.T


def test_functions_of_positive_definite_matrices():
    a, b = spd(0), spd(1)
    root = np.real(scipy.linalg.sqrtm(a))
    inverse = np.linalg.inv(root)
    middle = inverse @ b @ inverse
    for t in (-0.5, 0.0, 0.3, 1.0, 2.0):
        theirs = root @ np.real(scipy.linalg.fractional_matrix_power(middle, t)) @ root
        assert np.allclose(geometric_mean(a, b, t), theirs, rtol=1e-9, atol=1e-9)
    assert np.allclose(geometric_mean(a, b), geometric_mean(b, a), rtol=1e-10)
    eigenvalues = scipy.linalg.eigvalsh(a, b)
    assert np.isclose(riemannian_distance(a, b), np.sqrt((np.log(eigenvalues) ** 2).sum()), rtol=1e-11)
    assert np.isclose(logdet_divergence(a, b), (eigenvalues - np.log(eigenvalues) - 1).sum(), rtol=1e-11)
    both = logdet_divergence(a, b) + logdet_divergence(b, a)
    assert np.isclose(symmetrized_logdet_divergence(a, b), both, rtol=1e-11)
    assert np.isclose(geometric_mean([[2]], [[8]]), 4, rtol=1e-15)
