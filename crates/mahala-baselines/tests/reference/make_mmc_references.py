"""Writes mmc.json: MMC as metric-learn 0.7.0 solves it, on pairs of Iris and Wine.

    pip install metric-learn==0.7.0 "scikit-learn<1.8"
    python make_mmc_references.py

Pairs are those of the rows i and (7 i + 3) mod n: similar if their labels agree. The objectives are computed
here from the matrices metric-learn returns, with the constraint brought to equality (a common factor):
full: log of the sum of the dissimilar distances; diagonal: sum of the similar squared distances minus that
logarithm, at the best common factor. For the diagonal, metric-learn's own start and its best of three starts.
"""

import csv
import json
import pathlib

import metric_learn
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[3] / "data"


def read(name):
    with open(DATA / f"{name}.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    labels = np.array([row[-1] for row in rows])
    return np.array([[float(x) for x in row[:-1]] for row in rows]), labels


def problem(name):
    x, y = read(name)
    first = np.arange(len(x))
    second = (7 * first + 3) % len(x)
    keep = first != second
    first, second = first[keep], second[keep]
    return np.stack([x[first], x[second]], axis=1), np.where(y[first] == y[second], 1, -1), x[first] - x[second]


def full_objective(a, similar, dissimilar):
    t = 0.1 * np.sum(similar**2) / 100
    a = a * t / np.einsum("ij,jk,ik->", similar, a, similar)
    return float(np.log(np.sum(np.sqrt(np.einsum("ij,jk,ik->i", dissimilar, a, dissimilar)))))


def diagonal_objective(a, similar, dissimilar):
    w = np.diag(a)
    w = w * 0.5 / np.sum(similar**2 @ w)
    return float(np.sum(similar**2 @ w) - np.log(np.sum(np.sqrt(dissimilar**2 @ w))))


def main():
    references = {"metric_learn": metric_learn.__version__, "cases": []}
    for name in ["iris", "wine"]:
        pairs, y, x = problem(name)
        similar, dissimilar = x[y == 1], x[y == -1]
        start = 0.1 * np.eye(x.shape[1])
        full = metric_learn.MMC(init=start, random_state=0).fit(pairs, y)
        diagonals = []
        for scale in [1.0, 0.1, 0.01]:
            method = metric_learn.MMC(init=scale * np.eye(x.shape[1]), diagonal=True, random_state=0)
            try:
                diagonals.append(diagonal_objective(method.fit(pairs, y).get_mahalanobis_matrix(), similar, dissimilar))
            except ValueError as error:
                print(f"{name}, diagonal from {scale}: {error}")
        references["cases"].append(
            {
                "data": name,
                "full": full_objective(full.get_mahalanobis_matrix(), similar, dissimilar),
                "full_iterations": int(full.n_iter_),
                "diagonal": min(x for x in diagonals if np.isfinite(x)),
            }
        )
    (HERE / "mmc.json").write_text(json.dumps(references, indent=1) + "\n")


main()
