"""Our learners beside metric-learn's and scikit-learn's, in one process, on one table.

Usage: python benchmarks/baselines.py TABLE.csv [METHOD ...] (label last; all if none is named). Wants mahala, metric-learn and
scikit-learn 1.7 or older in one environment. One JSON line a method: CPU seconds of one fit of each (the least of three,
taken in turn; one, if a fit takes over a minute), the ratio, and the objective at each one's result, by its definition. Smaller is
better but for MMC, NCA and LFDA:

    mmc         log of the summed distances of dissimilar pairs, where squared distances of similar ones sum up to 1
    itml        LogDet(A, I) + gamma * sum LogDet(xi, bound), with the best slacks xi for A
    nca         rows expected right
    lmnn        the classic hinge
    rca         the largest entry of CAC - C, with C the scatter within chunks: 0 for a (pseudo-)inverse
    covariance  that of the covariance
    lfda        trace of the local scatter between classes over that within, in five directions
    mlkr        sum of (y - leave-one-out kernel mean)^2; the classes' numbers are the targets, 100 iterations each
    lsml        mean of squared violations of the quadruplets + LogDet(A, I)
    sdml        tr(A P) - log det A + sparsity * the off-diagonal entries' sum; pairs weigh so little that P is definite; theirs is
                scikit-learn's graphical lasso of P, for metric-learn's call of it fails on scikit-learn 1.7
    scml        the mean hinge of the triplets

All on standardised columns, one thread, from the identity. Both get the same pairs, triplets, quadruplets and chunks, ITML the same
bounds. RCA, LSML, SDML, SCML and MLKR are those of `mahala.metric_learn`, with the parameters of metric-learn.
"""

import csv
import json
import os
import sys
import time
import types
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
        *field(rows, labels, pairs, marks),
    ]:
        if name not in (sys.argv[2:] or [name]):
            continue
        rounds = [(timed(theirs), timed(our))]
        if max(side[1] for side in rounds[0]) < 60:
            rounds += [(timed(theirs), timed(our)) for _ in range(2)]
        theirs, our = rounds[0][0][0], rounds[0][1][0]
        cpu = [min(times[side][1] for times in rounds) for side in (0, 1)]
        line = {"method": name, "theirs": cpu[0], "ours": cpu[1], "ratio": cpu[0] / cpu[1]}
        line |= {"their_objective": objective(theirs.components_), "our_objective": objective(our.components_)}
        print(json.dumps(line), flush=True)


def field(rows, labels, pairs, marks):
    """The learners that came later: name, theirs, ours, objective."""
    import mahala
    import metric_learn
    import sklearn.covariance
    from mahala import metric_learn as ours

    numbers, ends, directions = labels.astype(float), rows[pairs], min(5, rows.shape[1])
    chunks = mahala.constraints.chunks(labels, 100, random_state=0)
    order = mahala.constraints.knn_triplets(rows, labels)
    triplets = rows[order]
    quadruplets = rows[mahala.constraints.quadruplets(labels, len(pairs), random_state=0)]
    # P = I + balance * loss must be definite.
    signs = np.where(marks == 1, 1.0, -1.0)
    differences = ends[:, 0] - ends[:, 1]
    loss = (differences * signs[:, None]).T @ differences
    balance = 0.5 / max(1.0, -np.linalg.eigvalsh(loss)[0])
    graphical = {"balance_param": balance, "sparsity_param": 0.01, "prior": "identity"}

    def lasso():
        """What metric-learn's SDML calls; it does so with an argument that scikit-learn 1.7 no longer has."""
        precision = sklearn.covariance.graphical_lasso(np.eye(rows.shape[1]) + balance * loss, alpha=0.01, max_iter=1000)[1]
        return types.SimpleNamespace(components_=np.linalg.cholesky(precision).T)

    both = lambda make, *given: (lambda: make(metric_learn).fit(*given), lambda: make(ours).fit(*given))
    inverse = lambda c: lambda components: float(np.abs(c @ components.T @ components @ c - c).max())
    return [
        ("rca", *both(lambda m: m.RCA(), rows, chunks), inverse(within(rows, chunks))),
        ("covariance", *both(lambda m: m.Covariance(), rows), inverse(np.cov(rows, rowvar=False))),
        (
            "lfda",
            lambda: metric_learn.LFDA(n_components=directions, k=7).fit(rows, labels),
            lambda: mahala.LFDA(n_components=directions, n_neighbors=7, n_jobs=1).fit(rows, labels),
            lambda components: local_spread(rows, labels, components),
        ),
        ("mlkr", *both(lambda m: m.MLKR(init="identity", max_iter=100), rows, numbers), lambda components: kernel_residuals(rows @ components.T, numbers)),
        ("lsml", *both(lambda m: m.LSML(prior="identity"), quadruplets), lambda components: violations(components, quadruplets)),
        ("sdml", lasso, lambda: ours.SDML(**graphical).fit(ends, marks), lambda components: sparse(components, np.eye(rows.shape[1]) + balance * loss)),
        ("scml", *both(lambda m: m.SCML(preprocessor=rows, random_state=0), order), lambda components: triplet_hinge(triplets @ components.T)),
    ]


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


def within(rows, chunks):
    """RCA's scatter: of rows around the means of their chunks."""
    kept = chunks >= 0
    means = np.array([rows[chunks == chunk].mean(axis=0) for chunk in range(chunks.max() + 1)])
    centred = rows[kept] - means[chunks[kept]]
    return centred.T @ centred / kept.sum()


def local_spread(rows, labels, components):
    """LFDA's quotient, by the formula of the paper."""
    n, d = rows.shape
    inside, between = np.zeros((d, d)), np.zeros((d, d))
    total = np.zeros(d)
    for code in np.unique(labels):
        X = rows[labels == code]
        squares = (X**2).sum(axis=1)
        distances = np.maximum(0, squares[:, None] + squares - 2 * X @ X.T)
        scale = np.sqrt(np.sort(distances, axis=1)[:, min(7, len(X) - 1)])
        affinity = np.exp(-distances / np.maximum(scale[:, None] * scale, 1e-300))
        G = X.T @ (affinity.sum(axis=1)[:, None] * X) - X.T @ affinity @ X
        s = X.sum(axis=0)
        inside += G / len(X)
        between += G / n + (1 - len(X) / n) * X.T @ X + np.outer(s, s) / n
        total += s
    between += -np.outer(total, total) / n - inside
    return float(np.trace(np.linalg.solve(components @ inside @ components.T, components @ between @ components.T)))


def kernel_residuals(z, targets):
    """MLKR's objective."""
    squares = (z**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * z @ z.T
    np.fill_diagonal(distances, np.inf)
    weights = np.exp(distances.min(axis=1)[:, None] - distances)
    return float(((weights @ targets / weights.sum(axis=1) - targets) ** 2).sum())


def violations(components, quadruplets):
    """LSML's objective with weights that sum up to 1."""
    a = components.T @ components
    z = quadruplets @ components.T
    near, far = np.linalg.norm(z[:, 0] - z[:, 1], axis=1), np.linalg.norm(z[:, 2] - z[:, 3], axis=1)
    return float((np.maximum(0, near - far) ** 2).mean() + np.trace(a) - np.linalg.slogdet(a)[1])


def sparse(components, p, sparsity=0.01):
    """SDML's objective."""
    a = components.T @ components
    return float(np.trace(a @ p) - np.linalg.slogdet(a)[1] + sparsity * (np.abs(a).sum() - np.abs(np.diag(a)).sum()))


def triplet_hinge(z):
    """SCML's objective without the penalty, which is 1e-5 of the weights."""
    near, far = ((z[:, 0] - z[:, 1]) ** 2).sum(axis=1), ((z[:, 0] - z[:, 2]) ** 2).sum(axis=1)
    return float(np.maximum(0, 1 + near - far).mean())


if __name__ == "__main__":
    main()
