"""Our ITML, LMNN, MMC and NCA beside metric-learn's and scikit-learn's, in one process, on one table.

Usage: python benchmarks/baselines.py TABLE.csv [METHOD ...] (label last; all four if none is named). Wants mahala,
metric-learn and scikit-learn 1.7 or older in one environment. One JSON line a method: CPU seconds of one fit of each
(the least of three, taken in turn), the ratio, and the objective at each one's result, by its definition. Smaller is
better but for MMC and NCA:

    mmc    log of the summed distances of dissimilar pairs, where squared distances of similar ones sum up to 1
    itml   LogDet(A, I) + gamma * sum LogDet(xi, bound), with the best slacks xi for A
    nca    rows expected right
    lmnn   the classic hinge

All on standardised columns, one thread, from the identity. MMC and ITML are given the same pairs, ITML the same bounds.
"""

import csv
import json
import os
import sys
import time
import warnings

for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[name] = "1"

import numpy as np


def main():
    warnings.simplefilter("ignore")
    import mahala
    import metric_learn
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    rows, labels = table(sys.argv[1])
    pairs, marks = some_pairs(rows, labels)
    ends = rows[pairs]
    given = lambda estimator: estimator.fit(ends, marks)
    ours = lambda estimator: estimator.fit_pairs(ends, marks)
    whole = lambda estimator: estimator.fit(rows, labels)
    # The 5th and the 95th percentile of the pairs' squared distances.
    bounds = tuple(np.percentile(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1), (5, 95)))
    for name, theirs, our, objective in [
        (
            "mmc",
            lambda: given(metric_learn.MMC(init="identity")),
            lambda: ours(mahala.MMC(n_jobs=1)),
            lambda components: spread(ends @ components.T, marks),
        ),
        (
            "itml",
            lambda: metric_learn.ITML().fit(ends, marks, bounds=bounds),
            lambda: ours(mahala.ITML(bounds=bounds, n_jobs=1)),
            lambda components: divergence(components, ends, marks, bounds),
        ),
        (
            "nca",
            lambda: whole(NeighborhoodComponentsAnalysis(init="identity")),
            lambda: whole(mahala.NCA(init="identity", n_jobs=1)),
            lambda components: expected_right(rows @ components.T, labels),
        ),
        (
            "lmnn",
            lambda: whole(metric_learn.LMNN(init="identity")),
            lambda: whole(mahala.LMNN(hinge="classic", init="identity", max_iter=1000, n_jobs=1)),
            lambda components: hinge(rows, rows @ components.T, labels),
        ),
    ]:
        if name not in (sys.argv[2:] or [name]):
            continue
        rounds = [(timed(theirs), timed(our)) for _ in range(3)]
        theirs, our = rounds[0][0][0], rounds[0][1][0]
        cpu = [min(times[side][1] for times in rounds) for side in (0, 1)]
        line = {"method": name, "theirs": cpu[0], "ours": cpu[1], "ratio": cpu[0] / cpu[1]}
        line |= {"their_objective": objective(theirs.components_), "our_objective": objective(our.components_)}
        print(json.dumps(line), flush=True)


def table(path):
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    rows = np.array([line[:-1] for line in lines], dtype=np.float64)
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return rows, np.unique([line[-1] for line in lines], return_inverse=True)[1]


def some_pairs(rows, labels):
    """The paper's 40c(c - 1), without pairs of equal rows."""
    random, c = np.random.default_rng(0), len(np.unique(labels))
    pairs = random.integers(len(rows), size=(40 * c * (c - 1), 2))
    pairs = pairs[(rows[pairs[:, 0]] != rows[pairs[:, 1]]).any(axis=1)]
    return pairs, np.where(labels[pairs[:, 0]] == labels[pairs[:, 1]], 1, -1)


def timed(fit):
    start = time.process_time()
    fitted = fit()
    return fitted, time.process_time() - start


def spread(ends, marks):
    """MMC's objective, for A brought to the constraint."""
    squares = ((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1)
    return float(np.log(np.sqrt(squares[marks == -1] / squares[marks == 1].sum()).sum()))


def divergence(components, ends, marks, bounds, gamma=1.0):
    """ITML's objective: a slack moves from its bound only as far as the pair's distance makes it."""
    a = components.T @ components
    squares = (((ends[:, 0] - ends[:, 1]) @ components.T) ** 2).sum(axis=1)
    ratio = np.where(marks == 1, np.maximum(squares / bounds[0], 1), np.minimum(squares / bounds[1], 1))
    slacks = (ratio - np.log(ratio) - 1).sum()
    return float(np.trace(a) - np.linalg.slogdet(a)[1] - len(a) + gamma * slacks)


def expected_right(z, labels):
    """NCA's objective."""
    squares = (z**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * z @ z.T
    np.fill_diagonal(distances, np.inf)
    weights = np.exp(distances.min(axis=1)[:, None] - distances)
    weights /= weights.sum(axis=1)[:, None]
    return float(weights[labels[:, None] == labels].sum())


def hinge(rows, z, labels, targets=3):
    """LMNN's classic objective, both halves weighing 1/2: targets are the nearest in input space."""
    square = lambda x: (x**2).sum(axis=1)[:, None] + (x**2).sum(axis=1) - 2 * x @ x.T
    before, after, same = square(rows), square(z), labels[:, None] == labels
    np.fill_diagonal(before, np.inf)
    near = np.argsort(np.where(same, before, np.inf), axis=1, kind="stable")[:, :targets]
    pull = push = 0.0
    for i, js in enumerate(near):
        to = after[i, js]
        pull += to.sum()
        push += np.maximum(0, 1 + to[:, None] - after[i, ~same[i]]).sum()
    return 0.5 * float(pull + push)


main()
