"""More features than rows, sparse rows, kernels."""

import numpy as np
import pytest
import scipy.sparse as sp
from mahala import GMML, AutoGMML, KernelGMML, MahalanobisKNN, load, load_classifier, save
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = rng.normal(size=(40, 300)) + 6 * np.eye(4)[y].repeat(75, axis=1) * (np.arange(300) % 75 < 5)
    return X * (rng.random(X.shape) < 0.3), y


def power(a, t):
    values, vectors = np.linalg.eigh(a)
    return vectors * values**t @ vectors.T


def dense_formula(X, y, reg, t):
    """(S + reg I)^-1 #_t (D + reg I) of all pairs on the paper's scale, in every column."""
    c, n = len(np.unique(y)), len(y)
    difference = X[:, None] - X[None]
    same = (y[:, None] == y[None])[..., None]
    half = 0.5 * 2 * 40 * c * (c - 1) / n**2
    S = half * np.einsum("ijk,ijl->kl", difference * same, difference)
    D = half * np.einsum("ijk,ijl->kl", difference * ~same, difference)
    inverse = np.linalg.inv(S + reg * np.eye(X.shape[1]))
    root, back = power(inverse, 0.5), power(inverse, -0.5)
    return root @ power(back @ (D + reg * np.eye(X.shape[1])) @ back, t) @ root


@pytest.mark.parametrize("t", [0.0, 0.4, 1.0])
def test_the_formula_inside_the_span_is_the_formula(wide, t):
    X, y = wide[0][:, :90], wide[1]
    gmml = GMML(t=t, reg=0.5).fit(X, y)
    A = dense_formula(X, y, 0.5, t)
    assert gmml.components_.shape == (39, 90)
    assert gmml.weight_outside_ == pytest.approx(0.5 ** (2 * t - 1))
    np.testing.assert_allclose(gmml.get_mahalanobis_matrix(), A, atol=1e-8 * np.abs(A).max())
    new = np.random.default_rng(1).normal(size=(2, 90))
    expected = np.sqrt((new[0] - new[1]) @ A @ (new[0] - new[1]))
    assert gmml.pair_distance([new])[0] == pytest.approx(expected, rel=1e-8)
    assert gmml.get_metric()(*new) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_matrix])
def test_sparse_rows_are_the_dense_rows(wide, form):
    X, y = wide
    dense, sparse = GMML(t=0.3, reg=0.1).fit(X, y), GMML(t=0.3, reg=0.1).fit(form(X), y)
    np.testing.assert_allclose(
        sparse.get_mahalanobis_matrix(), dense.get_mahalanobis_matrix(), atol=1e-10
    )
    np.testing.assert_allclose(dense.transform(form(X)), dense.transform(X), atol=1e-10)


def test_a_sparse_table_with_unsorted_and_repeated_cells_is_what_it_adds_up_to():
    X = sp.csr_matrix(([1.0, 2.0, 3.0, 1.0, 5.0, 2.0], [2, 0, 2, 1, 3, 0], [0, 3, 4, 5, 6]), shape=(4, 5))
    before = X.indices.copy()
    y = [0, 0, 1, 1]
    sparse, dense = GMML(t=0.5, reg=1.0).fit(X, y), GMML(t=0.5, reg=1.0).fit(X.toarray(), y)
    np.testing.assert_allclose(sparse.get_mahalanobis_matrix(), dense.get_mahalanobis_matrix(), atol=1e-12)
    assert (X.indices == before).all()


def test_sparse_rows_go_through_a_pipeline(wide):
    X, y = wide
    knn = KNeighborsClassifier()
    learned = cross_val_score(make_pipeline(GMML(reg=1.0), knn), sp.csr_matrix(X), y).mean()
    assert learned > cross_val_score(knn, X, y).mean() + 0.1


def test_leading_directions_tell_what_they_leave_out(wide):
    X, y = wide
    gmml = GMML(t=0.5, principal=10).fit(sp.csr_matrix(X), y)
    span = gmml.diagnostics_["span"]
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert span["directions"] == 10 and span["randomized"]
    assert values[10:].sum() / values.sum() - 1e-12 < span["outside"] < 1.02 * values[10:].sum() / values.sum()
    with pytest.raises(ValueError, match="principal is 0"):
        GMML(principal=0).fit(X, y)


def test_what_cannot_be_held_is_refused_with_the_memory():
    X = sp.random(30, 100_000, density=1e-3, format="csr", random_state=0)
    y = np.arange(30) % 2
    with pytest.raises(MemoryError, match="GB"):
        GMML(t=0.5, shrinkage=0.1).fit(X, y)
    gmml = GMML(t=0.5).fit(X, y)
    assert gmml.transform(X).shape == (30, 29)
    with pytest.raises(MemoryError, match="the matrix A needs 80.0 GB"):
        gmml.get_mahalanobis_matrix()


def test_a_wide_metric_with_a_weight_outside_is_saved(wide, tmp_path):
    X, y = wide
    gmml = GMML(t=0.3, reg=0.5).fit(X, y)
    save(gmml, tmp_path / "m.safetensors", X, y)
    again = load(tmp_path / "m.safetensors")
    assert again.weight_outside_ == gmml.weight_outside_
    assert (again.transform(X) == gmml.transform(X)).all()


def test_the_linear_kernel_is_linear_gmml(wine):
    X, y = wine
    X = X / X.std(axis=0)
    for params in [{"t": 0.2}, {"t": 0.7, "reg": 0.5}]:
        linear, kernel = GMML(**params).fit(X, y), KernelGMML(kernel="linear", **params).fit(X, y)
        Z, W = linear.transform(X), kernel.transform(X)
        distances = [np.linalg.norm(M[:, None] - M[None], axis=2) for M in (Z, W)]
        np.testing.assert_allclose(*distances, atol=1e-8 * distances[0].max())


def test_kernels_by_name_by_function_and_by_matrix_agree():
    X, y = make_circles(80, noise=0.1, factor=0.4, random_state=0)
    named = KernelGMML(gamma=0.7, t=0.5).fit(X[:60], y[:60])
    function = KernelGMML(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.7), t=0.5).fit(X[:60], y[:60])
    given = KernelGMML(kernel="precomputed", t=0.5).fit(rbf_kernel(X[:60], gamma=0.7), y[:60])
    K = rbf_kernel(X[60:], X[:60], gamma=0.7)
    distances = []
    for Z in (named.transform(X[60:]), function.transform(X[60:]), given.transform(K)):
        distances.append(np.linalg.norm(Z[:, None] - Z[None], axis=2))
    # The last digits of the kernels differ, and the ridge of a singular S makes more of them.
    for other in distances[1:]:
        np.testing.assert_allclose(other, distances[0], rtol=1e-2)


def test_circles_come_apart_and_settings_can_be_searched():
    X, y = make_circles(200, noise=0.1, factor=0.4, random_state=0)
    search = GridSearchCV(
        make_pipeline(KernelGMML(n_components=1), KNeighborsClassifier()), {"kernelgmml__gamma": [0.1, 1.0]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.95
    few = KernelGMML(landmarks=30).fit(X, y)
    assert few.landmarks_.shape == (30, 2) and few.diagnostics_["span"]["outside"] < 0.05


def test_a_kernel_metric_is_saved_and_read_by_the_command(tmp_path, command):
    import subprocess

    X, y = make_circles(100, noise=0.1, factor=0.4, random_state=0)
    for kernel in [KernelGMML(standardize=True), KernelGMML(kernel="poly", degree=2, landmarks=20, t=0.5)]:
        kernel.fit(X, y)
        path = tmp_path / "m.safetensors"
        save(kernel, path, X, y)
        again = load(path)
        assert (again.transform(X) == kernel.transform(X)).all()
        clone(again).fit(X, y)
        knn = load_classifier(path)
        expected = MahalanobisKNN(metric=kernel).fit(X, y).predict(X)
        assert (knn.predict(X) == expected).all()
        np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b", comments="", fmt="%.17g")
        out = subprocess.run(
            [command, "predict", path, tmp_path / "x.csv"], capture_output=True, text=True, check=True
        ).stdout
        predicted = [int(line.split(",")[1]) for line in out.splitlines()[1:]]
        assert predicted == expected.tolist()
    with pytest.raises(ValueError, match="function"):
        save(KernelGMML(kernel=rbf_kernel).fit(X, y), tmp_path / "f.safetensors")


def shells(n, seed=0):
    """Those near the middle and those around them: no linear map brings either together."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    return X, np.where((X**2).sum(axis=1) < 5.35, "inner", "outer")


def test_the_kernel_is_chosen_where_it_helps(tmp_path, command):
    X, y = shells(200)
    T, truth = shells(300, 1)
    auto = KernelGMML(kernel="auto").fit(X, y)
    assert auto.kernel_ == "rbf" and auto.landmarks_.shape == (200, 6) and auto.gamma_ > 0
    assert "without a kernel" in auto.reason_ and len(auto.trials_) > 300
    scores = [MahalanobisKNN(metric=metric).fit(X, y).score(T, truth) for metric in (auto, AutoGMML())]
    assert scores[0] > scores[1] + 0.05, scores
    # The command chooses the same, and writes the same file.
    import csv
    import subprocess

    names = [f"x{j}" for j in range(6)]
    with open(tmp_path / "x.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*names, "y"], *([*map(repr, map(float, row)), label] for row, label in zip(X, y))])
    subprocess.run(
        [command, "fit", tmp_path / "x.csv", "--label", "y", "--method", "auto-kernel", "-o", tmp_path / "c.safetensors"],
        check=True,
        capture_output=True,
    )
    pd = pytest.importorskip("pandas")
    named = KernelGMML(kernel="auto").fit(pd.DataFrame(X, columns=names), y)
    save(named, tmp_path / "p.safetensors", pd.DataFrame(X, columns=names), y)
    assert (tmp_path / "p.safetensors").read_bytes() == (tmp_path / "c.safetensors").read_bytes()
    again, frame = load(tmp_path / "c.safetensors"), pd.DataFrame(T, columns=names)
    assert again.kernel == "auto" and (again.transform(frame) == auto.transform(T)).all()
    expected = MahalanobisKNN(metric=auto).fit(X, y).predict(T)
    assert (load_classifier(tmp_path / "c.safetensors").predict(frame) == expected).all()
    # Another kernel afterwards leaves nothing of it behind.
    assert not hasattr(auto.set_params(kernel="rbf", t=0.5).fit(X, y), "reason_")


def test_no_kernel_is_chosen_where_a_line_will_do(tmp_path, iris):
    X, y = iris
    auto, linear = KernelGMML(kernel="auto").fit(X, y), AutoGMML().fit(X, y)
    assert auto.kernel_ is None and auto.landmarks_ is None and auto.gamma_ is None
    assert (auto.transform(X) == linear.transform(X)).all() and auto.recipes_ == linear.recipes_
    save(auto, tmp_path / "m.safetensors", X, y)
    again = load(tmp_path / "m.safetensors")
    assert isinstance(again, KernelGMML) and (again.transform(X) == auto.transform(X)).all()
    groups = np.arange(len(y)) % 5
    assert KernelGMML(kernel="auto", budget=2.0).fit(X, y, groups=groups).diagnostics_["choice"]["folds"] == 5
    with pytest.raises(ValueError, match="here nothing is: set t='cv', or leave them out"):
        KernelGMML(t=0.5).fit(X, y, groups=groups)
    for params in ({"t": 0.5}, {"gamma": 1.0}, {"standardize": True}, {"n_components": 1}, {"landmarks": 3}):
        with pytest.raises(ValueError, match="it is chosen, and cannot be given"):
            KernelGMML(kernel="auto", **params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel is 'sigmoid'"),
        ({"gamma": "auto"}, "gamma is 'auto'"),
        ({"gamma": -1.0}, "gamma is -1"),
        ({"kernel": "poly", "degree": 0}, "degree is 0"),
        ({"kernel": "poly", "coef0": -2.0}, "coef0 is -2"),
        ({"landmarks": 0}, "landmarks is 0"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, "the kernel returned shape"),
        ({"kernel": "precomputed"}, "must be square"),
    ],
)
def test_what_is_no_kernel_is_refused(params, message, iris):
    with pytest.raises(ValueError, match=message):
        KernelGMML(**params).fit(*iris)


@pytest.mark.parametrize("standardize", [False, True])
def test_exports_hold_what_is_weighed_outside_the_span(wide, standardize):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = wide
    gmml = GMML(t=0.2, reg=0.3, standardize=standardize).fit(X[:30] + 0.01 * np.arange(300), y[:30])
    assert gmml.weight_outside_ > 0
    new = X[30:]
    expected = gmml.pair_distance(np.stack([new[:-1], new[1:]], axis=1))
    short = np.linalg.norm(np.diff(gmml.transform(new), axis=0), axis=1)
    assert (short < 0.99 * expected).all()
    matrix, bias = gmml.to_faiss_matrix()
    assert matrix.shape == (300, 300)
    assert bias.shape == (300,)
    moved = new.astype(np.float32) @ matrix.T + bias
    np.testing.assert_allclose(np.linalg.norm(np.diff(moved, axis=0), axis=1), expected, rtol=1e-4)
    session = onnxruntime.InferenceSession(gmml.to_onnx())
    (z,) = session.run(None, {"X": new})
    np.testing.assert_allclose(np.linalg.norm(np.diff(z, axis=0), axis=1), expected, rtol=1e-9)


def test_weights_in_a_linear_kernel_are_weights_of_rows(wine):
    X, y = wine
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    settings = {"t": 0.3, "reg": 0.5}
    kernel = KernelGMML(kernel="linear", **settings).fit(X, y, sample_weight=weight)
    plain = GMML(**settings).fit(X, y, sample_weight=weight)
    from_first = [np.linalg.norm(Z - Z[0], axis=1) for Z in (kernel.transform(X), plain.transform(X))]
    np.testing.assert_allclose(*from_first, rtol=1e-6, atol=1e-8)
    unweighted = KernelGMML(kernel="linear", **settings).fit(X, y).transform(X)
    assert not np.allclose(np.linalg.norm(unweighted - unweighted[0], axis=1), from_first[0], rtol=1e-3)
    with pytest.raises(ValueError, match="sample_weight cannot standardise"):
        KernelGMML(standardize=True).fit(X, y, sample_weight=weight)
