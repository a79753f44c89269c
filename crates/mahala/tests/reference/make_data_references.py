"""Write scatter_wine.json, metric_wine.json and knn_*.json: references on the bundled data.

Usage: python make_data_references.py     (needs mpmath; see README.md beside this file)

S and D come from loops over all pairs in exact integers, neighbours from sorting all distances.
"""

import csv
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import sqrt

from make_references import (
    CHECK_DIGITS,
    DIGITS,
    HERE,
    condition,
    geometric_mean,
    relative_eigenvalues,
    text_list,
    trace,
    write,
)
from mpmath import mp, mpf

DATA = HERE.parents[3] / "data"
TS = [0.02, 0.25, 0.5, 0.7]
SCALE = 2**60  # makes every value of the data an integer
K = 5


def main():
    counts, sums = pair_sums("wine")
    write("scatter_wine.json", scatter_blocks("wine", counts, sums))
    write("metric_wine.json", metric_blocks("wine", sums))
    for name in ("iris", "wine"):
        write(f"knn_{name}.json", knn_blocks(name))


# scatter_wine.json


def pair_sums(name):
    """Sums of (x − y)(x − y)ᵀ over the unordered pairs of equal and of different labels, · SCALE².

    A double is an integer times a power of two, so the sums are exact.
    """
    names, rows, labels = read_csv(name)
    whole = [[exact_integer(Fraction(x) * SCALE) for x in row] for row in rows]
    d = len(names)
    sums = {True: [[0] * d for _ in range(d)], False: [[0] * d for _ in range(d)]}
    counts = {True: 0, False: 0}
    for i, j in combinations(range(len(rows)), 2):
        similar = labels[i] == labels[j]
        counts[similar] += 1
        add_outer(sums[similar], [a - b for a, b in zip(whole[i], whole[j], strict=True)])
    return counts, sums


def exact_integer(x):
    assert x.denominator == 1, x
    return x.numerator


def add_outer(total, v):
    for row, a in zip(total, v, strict=True):
        for j, b in enumerate(v):
            row[j] += a * b


def unscaled(total):
    return mp.matrix([[mpf(x) / SCALE**2 for x in row] for row in total])


def scatter_blocks(name, counts, sums):
    mp.dps = DIGITS
    return {
        "data": f"{name}.csv",
        "n": len(read_csv(name)[1]),
        "d": len(sums[True]),
        "similar": scatter_summary(counts[True], unscaled(sums[True])),
        "dissimilar": scatter_summary(counts[False], unscaled(sums[False])),
    }


def scatter_summary(count, x):
    return {
        "pairs": count,
        "trace": mp.nstr(trace(x), 25),
        "diagonal": [mp.nstr(x[i, i], 25) for i in range(x.rows)],
        "first_3x3": [mp.nstr(x[i, j], 25) for i in range(3) for j in range(3)],
    }


# metric_wine.json


def metric_blocks(name, sums):
    """S⁻¹ ♯_t D of the exact sums; must print the same at both precisions."""
    mp.dps = DIGITS
    result = metric(name, sums)
    mp.dps = CHECK_DIGITS
    assert result == metric(name, sums)
    return result


def metric(name, sums):
    s, d = unscaled(sums[True]), unscaled(sums[False])
    x = s**-1
    result = {
        "data": f"{name}.csv",
        "condition_S": float(mp.nstr(condition(s), 3)),
        "condition_D": float(mp.nstr(condition(d), 3)),
        "eigenvalues_SD": text_list(relative_eigenvalues(x, d)),
        "at": [],
    }
    for t in TS:
        a = geometric_mean(x, d, mpf(t))
        result["at"].append({"t": t, "trace": mp.nstr(trace(a), 25), "A": text_list(a)})
    return result


# knn_*.json


def knn_blocks(name):
    """Rows 0, 2, 4, … are the training rows, rows 1, 3, 5, … the queries."""
    _, rows, labels = read_csv(name)
    train, train_labels = rows[0::2], labels[0::2]
    queries = [knn_query(train, train_labels, row) for row in rows[1::2]]
    errors = sum(q["predicted"] != label for q, label in zip(queries, labels[1::2], strict=True))
    return {
        "data": f"{name}.csv",
        "k": K,
        "training_rows": len(train),
        "query_rows": len(queries),
        "errors": errors,
        "queries": [{"row": 2 * i + 1, **query} for i, query in enumerate(queries)],
    }


def knn_query(train, labels, query):
    order = sorted((squared_distance(row, query), i) for i, row in enumerate(train))
    nearest = order[:K]
    votes = Counter(labels[i] for _, i in nearest)
    most = max(votes.values())
    return {
        "neighbours": [i for _, i in nearest],
        "distances": [sqrt(q) for q, _ in nearest],
        "predicted": min(label for label, count in votes.items() if count == most),
        "order_depends_on_rounding": has_near_tie(train, order[: K + 1]),
    }


def squared_distance(x, y):
    """Σ (x_i − y_i)² in doubles, added from the first feature to the last."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (a - b) * (a - b)
    return total


def has_near_tie(train, order):
    """Are two neighbours, different as rows, closer in distance than rounding can tell?

    Then another order of the additions may exchange them (or the last one with its successor).
    """
    return any(
        later[0] - earlier[0] <= 1e-12 * later[0] and train[later[1]] != train[earlier[1]]
        for earlier, later in combinations(order, 2)
    )


def read_csv(name):
    with open(DATA / f"{name}.csv", newline="", encoding="ascii") as file:
        header, *records = csv.reader(file)
    return header[:-1], [[float(x) for x in r[:-1]] for r in records], [r[-1] for r in records]


if __name__ == "__main__":
    main()
