"""One row through a fitted metric beside NumPy and scikit-learn's PCA, two searches on one index, a fit on float32.

    python benchmarks/serving.py [--rows 1000000] [--columns 256] [--output benchmarks/results/serving.json]

Needs the package and scikit-learn. Each figure is the median of several runs; CPU seconds are those of the process over all
threads, and the memory of a fit is the growth of the peak resident set of a process of its own above the input.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
from mahala import GMML, MahalanobisKNN
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

FIT = """
import json, resource, sys, time
import numpy as np
from mahala import GMML
rows, columns, dtype, t = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
random = np.random.default_rng(0)
X = np.empty((rows, columns), dtype=np.float32)
for first in range(0, rows, 10_000):
    X[first : first + 10_000] = random.standard_normal((min(10_000, rows - first), columns), dtype=np.float32)
y = np.arange(rows) % 10
X[:, 0] += y
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
GMML(t=0.5).fit(X[:1000], y[:1000])
before, cpu, wall = peak(), time.process_time(), time.perf_counter()
given = X if dtype == "float32" else X.astype(np.float64)  # as a fit did that knew float64 alone
GMML(t="cv" if t == "cv" else float(t), n_jobs=2).fit(given, y)
print(json.dumps({"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu, "MiB_above_input": peak() - before, "MiB_input": X.nbytes / 2**20}))
"""


def microseconds(call, row, repeats=2000):
    """The median of seven runs of many calls."""
    runs = []
    for _ in range(7):
        begin = time.process_time()
        for _ in range(repeats):
            call(row)
        runs.append((time.process_time() - begin) / repeats * 1e6)
    return round(float(np.median(runs)), 2)


def one_row():
    """CPU microseconds for one row, by the number of columns and type."""
    table = {}
    for d in (16, 64, 256):
        random = np.random.default_rng(d)
        X, y = random.normal(size=(4 * d + 500, d)), np.arange(4 * d + 500) % 3
        gmml, pca = GMML(t=0.1).fit(X, y), PCA().fit(X)
        for dtype in (np.float64, np.float32):
            row = X[:1].astype(dtype)
            L = gmml.components_.astype(dtype)
            table[f"{d} columns, {np.dtype(dtype).name}"] = {
                "NumPy row @ L.T": microseconds(lambda x: x @ L.T, row),
                "GMML.transform_array": microseconds(gmml.transform_array, row),
                "GMML.transform": microseconds(gmml.transform, row, 500),
                "PCA.transform": microseconds(pca.transform, row, 500),
            }
    return table


def two_searches():
    """CPU seconds of fit and of kneighbors, called twice for one row and twice for a thousand."""
    random = np.random.default_rng(0)
    X, y, queries = random.normal(size=(50_000, 32)), np.arange(50_000) % 5, random.normal(size=(1_000, 32))
    table = {}
    for name, knn in [("MahalanobisKNN", MahalanobisKNN()), ("KNeighborsClassifier", KNeighborsClassifier(algorithm="brute"))]:
        times, steps = {}, {
            "fit": lambda: knn.fit(X, y),
            "one row, first": lambda: knn.kneighbors(queries[:1]),
            "one row, second": lambda: knn.kneighbors(queries[:1]),
            "1000 rows, first": lambda: knn.kneighbors(queries),
            "1000 rows, second": lambda: knn.kneighbors(queries),
        }
        for step, call in steps.items():
            begin = time.process_time()
            call()
            times[step] = round(time.process_time() - begin, 5)
        table[name] = times
    return table


def fits(rows, columns):
    """A fit on float32 as it lies, and converted to float64 first, each in a process of its own."""
    table = {}
    for t in ("0.5", "cv"):
        for dtype in ("float32", "float64"):
            run = subprocess.run(
                [sys.executable, "-c", FIT, str(rows), str(columns), dtype, t], capture_output=True, text=True, check=True
            )
            name = f"t={t}, " + ("float32 read in place" if dtype == "float32" else "converted to float64 first")
            table[name] = {key: round(value, 2) for key, value in json.loads(run.stdout).items()}
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=256)
    parser.add_argument("--only", choices=["one_row", "two_searches", "fits"])
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent / "results" / "serving.json")
    given = parser.parse_args()
    results = json.loads(given.output.read_text()) if given.only and given.output.exists() else {}
    if given.only in (None, "one_row"):
        results["one row, CPU microseconds"] = one_row()
    if given.only in (None, "two_searches"):
        results["50,000 rows of 32 columns, 5 neighbours, CPU seconds"] = two_searches()
    if given.only in (None, "fits"):
        results[f"fit, {given.rows} x {given.columns}"] = fits(given.rows, given.columns)
    given.output.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
