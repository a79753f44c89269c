"""Writes softmax_and_margin.json: what public implementations of LMNN, NCA and MCML's objective reach on Iris and Wine.

    python -m venv env && env/bin/pip install "scikit-learn<1.8" metric-learn==0.7.0 scipy numpy
    env/bin/python make_rival_references.py

LMNN: metric-learn, started at the identity. NCA: scikit-learn, from each of its starts. MCML: no maintained
implementation; projected gradient on the cone with scipy.linalg, run until nothing changes. Every objective is
computed here, by its definition, from the matrix that came out.
"""

import json
import pathlib
import warnings

import metric_learn
import numpy as np
import scipy
import scipy.linalg
import sklearn
from sklearn.neighbors import NeighborhoodComponentsAnalysis

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[3] / "data"


def load(name):
    cells = np.genfromtxt(DATA / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
    return cells[:, :-1].astype(float), np.unique(cells[:, -1], return_inverse=True)[1]


def squared_distances(x):
    return ((x[:, None] - x[None]) ** 2).sum(2)


def lmnn_objective(x, y, components, k=3):
    """0.5 * sum of target distances + 0.5 * sum of hinges."""
    plain, learned = squared_distances(x), squared_distances(x @ components.T)
    total = 0.0
    for i in range(len(x)):
        same = np.flatnonzero((y == y[i]) & (np.arange(len(x)) != i))
        targets = same[np.argsort(plain[i, same], kind="stable")[:k]]
        total += learned[i, targets].sum()
        others = learned[i, y != y[i]]
        total += np.maximum(0.0, 1.0 + learned[i, targets][:, None] - others).sum()
    return 0.5 * total


def softmax(distances):
    distances = distances.copy()
    np.fill_diagonal(distances, np.inf)
    nearest = distances.min(1, keepdims=True)
    e = np.exp(nearest - distances)
    return e / e.sum(1, keepdims=True), np.log(e.sum(1)) - nearest[:, 0]


def nca_objective(x, y, components):
    p, _ = softmax(squared_distances(x @ components.T))
    return p[y[:, None] == y].sum()


def laplacian_scatter(x, w):
    w = w + w.T
    return x.T @ (np.diag(w.sum(1)) - w) @ x


def mcml(x, y):
    """The minimum over positive semidefinite A: steps along the gradient, negative eigenvalues to 0."""
    x = x - x.mean(0)
    # Coordinates with covariance I: the minimum of a convex function is the same in all, and nearer in these.
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    x = x @ vectors / np.sqrt(values)
    q = (y[:, None] == y).astype(float)
    np.fill_diagonal(q, 0.0)
    q /= q.sum(1, keepdims=True)

    def objective(a):
        values, vectors = scipy.linalg.eigh(a)
        distances = squared_distances(x @ vectors * np.sqrt(np.maximum(values, 0.0)))
        p, log_sums = softmax(distances)
        return (q * distances).sum() + log_sums.sum(), laplacian_scatter(x, q - p)

    def project(a):
        values, vectors = scipy.linalg.eigh((a + a.T) / 2)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T

    a = np.eye(x.shape[1])
    value, gradient = objective(a)
    step = 1.0 / np.linalg.norm(gradient)
    for _ in range(5000):
        while True:
            candidate = project(a - step * gradient)
            moved = candidate - a
            new_value, new_gradient = objective(candidate)
            if new_value <= value + (gradient * moved).sum() + (moved**2).sum() / (2 * step) + 1e-13 * value:
                break
            step /= 2
        decrease = value - new_value
        a, value, gradient = candidate, new_value, new_gradient
        if decrease <= 1e-13 * abs(value):
            break
        step *= 1.2
    return value


def main():
    warnings.filterwarnings("ignore")
    out = {
        "versions": {
            "metric-learn": metric_learn.__version__,
            "scikit-learn": sklearn.__version__,
            "scipy": scipy.__version__,
            "numpy": np.__version__,
        }
    }
    for name in ["iris", "wine"]:
        x, y = load(name)
        lmnn = metric_learn.LMNN(n_neighbors=3, init="identity", random_state=0).fit(x, y)
        nca = []
        for start, rank in [("identity", x.shape[1]), ("identity", 2), ("pca", 2), ("lda", 2), ("auto", x.shape[1])]:
            fitted = NeighborhoodComponentsAnalysis(rank, init=start, random_state=0).fit(x, y)
            nca.append({"start": start, "rank": rank, "objective": nca_objective(x, y, fitted.components_)})
        out[name] = {
            "lmnn_classic": lmnn_objective(x, y, lmnn.components_),
            "nca": nca,
            "mcml": mcml(x, y),
        }
    (HERE / "softmax_and_margin.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
