"""Writes closed_forms.json: RCA and LFDA from their formulas, on Iris and Wine, by NumPy alone.

    pip install numpy
    python make_closed_form_references.py

RCA (Shental et al. 2002): the inverse of the mean outer product of rows around the means of their chunklets; the
chunklets are the classes, and the rows i mod 7 of the first 60 rows.
LFDA (Sugiyama 2007): the weights of pairs of the paper's eqs. 12 and 13, summed pair by pair; the metric of the
weighted embedding at full rank is the sum of lambda * v v^T over the positive generalised eigenvalues. metric-learn's
LFDA is no reference: it takes a column for a row in the local scales, and adds S_w to S_b.
"""

import csv
import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[3] / "data"


def read(name):
    with open(DATA / f"{name}.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    labels = np.array([row[-1] for row in rows])
    return np.array([[float(x) for x in row[:-1]] for row in rows]), labels


def rca(x, chunks):
    centred = np.concatenate([x[chunks == c] - x[chunks == c].mean(axis=0) for c in np.unique(chunks)])
    return np.linalg.inv(centred.T @ centred / len(centred))


def lfda(x, labels, k=7):
    n = len(x)
    v = x[:, None, :] - x[None, :, :]
    distance = np.sqrt((v**2).sum(axis=2))
    same = labels[:, None] == labels[None, :]
    sizes = same.sum(axis=1)
    # Itself first, so that index k is the k-th neighbour.
    sigma = np.array([np.sort(distance[i][same[i]])[k] for i in range(n)])
    affinity = np.exp(-(distance**2) / (sigma[:, None] * sigma[None, :]))
    within = np.where(same, affinity / sizes[:, None], 0.0)
    between = np.where(same, affinity * (1 / n - 1 / sizes[:, None]), 1 / n)
    s_w = 0.5 * np.einsum("ij,ija,ijb->ab", within, v, v)
    s_b = 0.5 * np.einsum("ij,ija,ijb->ab", between, v, v)
    factor = np.linalg.cholesky(s_w)
    half = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(half @ s_b @ half.T)
    directions = half.T @ vectors
    kept = values > 0
    return (directions[:, kept] * values[kept]) @ directions[:, kept].T, values


def main():
    references = {"numpy": np.__version__, "cases": []}
    for name in ["iris", "wine"]:
        x, labels = read(name)
        metric, values = lfda(x, labels)
        references["cases"].append(
            {
                "data": name,
                "rca_of_classes": rca(x, labels).ravel().tolist(),
                "rca_of_chunks": rca(x[:60], np.arange(60) % 7).ravel().tolist(),
                "lfda": metric.ravel().tolist(),
                "lfda_eigenvalues": values.tolist(),
            }
        )
    (HERE / "closed_forms.json").write_text(json.dumps(references, indent=1) + "\n")


if __name__ == "__main__":
    main()
