"""Optima of multi-metric LMNN, a convex program in the matrices M_c, by CVXPY and Clarabel: writes multi_metric.json.

Run: python make_multi_metric_references.py, in an environment with cvxpy, numpy and scikit-learn. Thirty rows of Iris, ten a
class, two columns; two targets a row, the nearest of the class in input space; every impostor is a constraint of its own.
"""

import json
import pathlib

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_iris

TARGETS = 2
PUSH = 0.5
rows = np.arange(0, 150, 5)
X, y = (part[rows] for part in load_iris(return_X_y=True))
X = X[:, 1:3] + np.outer(np.arange(30), [1e-3, -7e-4])  # no two distances are equal


def optimum(squared: bool) -> float:
    metrics = [cp.Variable((2, 2), PSD=True) for _ in range(3)]
    pull, triplets = 0, {}
    for i in range(30):
        same = [j for j in range(30) if j != i and y[j] == y[i]]
        for j in sorted(same, key=lambda j: ((X[i] - X[j]) ** 2).sum())[:TARGETS]:
            v = X[i] - X[j]
            near = cp.sum(cp.multiply(np.outer(v, v), metrics[y[i]]))
            pull += near
            for l in np.flatnonzero(y != y[i]):
                u = X[i] - X[l]
                triplets[i, j, int(l)] = 1 + near - cp.sum(cp.multiply(np.outer(u, u), metrics[y[l]]))
    hinges = cp.pos(cp.hstack(list(triplets.values())))
    loss = pull + cp.sum_squares(hinges) if squared else (1 - PUSH) * pull + PUSH * cp.sum(hinges)
    return float(cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL))


answer = {
    "rows": X.tolist(),
    "labels": y.tolist(),
    "targets": TARGETS,
    "squared": optimum(True),
    "classic": optimum(False),
}
path = pathlib.Path(__file__).parent / "multi_metric.json"
path.write_text(json.dumps(answer) + "\n")
