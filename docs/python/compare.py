"""Time and error of 5 nearest neighbours on USPS, beside other methods: `compare.py FOLDER [LIMIT]`.

FOLDER holds usps.csv.gz (9298 rows: 256 pixels, then the digit); or set MAHALA_DATA. LIMIT is the number of
seconds a method may take to fit. Needs scikit-learn 1.6 or 1.7 and metric-learn 0.7.0, which does not run
with later ones. Prints the table of comparison.md.

Every method learns on the same 70 % of the rows, drawn with seed 0, and is asked about the rest. Each runs
alone, in a process of its own; the time is that of `fit`.
"""

import multiprocessing
import os
import pathlib
import platform
import sys
import time
import warnings

import numpy as np
from sklearn.model_selection import train_test_split

SEED = 0


def methods():
    """Name, what was set, and how to make the transformer."""
    from mahala import GMML
    from metric_learn import LMNN, ITML_Supervised
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    from sklearn.preprocessing import FunctionTransformer

    return [
        ("Euclidean", "", lambda: FunctionTransformer()),
        ("**mahala** `GMML()`", "defaults: t chosen by 5-fold cross-validation", lambda: GMML()),
        ("**mahala** `GMML(t=0.54)`", "t given: the value `GMML()` chose on the training rows", lambda: GMML(t=0.54)),
        (
            "**mahala** `GMML(shrinkage=0.1, n_components=40)`",
            "t chosen; 40 coordinates",
            lambda: GMML(shrinkage=0.1, n_components=40),
        ),
        ("scikit-learn `LinearDiscriminantAnalysis()`", "defaults: 9 coordinates", lambda: LinearDiscriminantAnalysis()),
        (
            "scikit-learn `NeighborhoodComponentsAnalysis(max_iter=20)`",
            "20 iterations (default 50)",
            lambda: NeighborhoodComponentsAnalysis(max_iter=20, random_state=SEED),
        ),
        ("metric-learn `LMNN(max_iter=20)`", "20 iterations (default 1000)", lambda: LMNN(max_iter=20, random_state=SEED)),
        (
            "metric-learn `ITML_Supervised()`",
            "defaults: n_constraints = 2000, up to 1000 rounds",
            lambda: ITML_Supervised(random_state=SEED),
        ),
    ]


def load(folder):
    table = np.loadtxt(pathlib.Path(folder) / "usps.csv.gz", delimiter=",", skiprows=1)
    return train_test_split(table[:, :-1], table[:, -1].astype(int), test_size=0.3, random_state=SEED)


def measure(index, folder, answer):
    from sklearn.neighbors import KNeighborsClassifier

    # metric-learn calls scikit-learn by names that scikit-learn 1.6 deprecated.
    warnings.simplefilter("ignore", FutureWarning)
    X, queries, y, truth = load(folder)
    method = methods()[index][2]()
    start = time.perf_counter()
    method.fit(X, y)
    seconds = time.perf_counter() - start
    knn = KNeighborsClassifier(5, algorithm="brute").fit(method.transform(X), y)
    answer.put((seconds, 100 * np.mean(knn.predict(method.transform(queries)) != truth)))


def run(index, folder, limit):
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=measure, args=(index, folder, answer))
    process.start()
    # Reading the file and asking the neighbours take some seconds more.
    process.join(limit + 30)
    if process.is_alive():
        process.kill()
        return f"over {limit:.0f} s", "not measured"
    seconds, error = answer.get()
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s", f"{error:.2f} %"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ["MAHALA_DATA"]
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    print("| method | setting | time of `fit` | error of 5-NN |\n|---|---|---|---|")
    for index, (name, setting, _) in enumerate(methods()):
        seconds, error = run(index, folder, limit)
        print(f"| {name} | {setting} | {seconds} | {error} |", flush=True)
    import metric_learn
    import sklearn

    versions = f"scikit-learn {sklearn.__version__}, metric-learn {metric_learn.__version__}, NumPy {np.__version__}"
    print(f"\n{os.cpu_count()} cores, Python {platform.python_version()}, {versions}.")


if __name__ == "__main__":
    main()
