"""The automatic mode beside a choice of t, LDA and LMNN on the development sets: error, CPU seconds, and error over time.

Usage: python benchmarks/automatic.py DATA [-o RESULTS.json] [--only NAME,NAME] [--no-lmnn]
       python benchmarks/automatic.py --tables RESULTS.json     prints what docs/results/automatic.md holds
Wants mahala and scikit-learn. DATA is the folder with the paper's sets (see experiments/README.md); with DATA/embeddings/banking77.npz the
embeddings take part, too. These sets are development data: the automatic mode's constants were settled on them.

One split each, that of the paper where it has one, USPS at random, the small sets in halves over several draws. Five neighbours vote. CPU seconds of
a fit on one thread, all choices included, everything in one run. The curve: fits that are stopped after as many trials as a share of a whole
search makes, with their CPU seconds and test errors, beside GMML half-way and with t chosen.
"""

import argparse
import gzip
import json
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

FIXED = {"segment": ("segment-lmnn.csv", 1848), "mnist": ("mnist.csv.gz", 2000), "isolet": ("isolet.csv.gz", 6238), "letters": ("letters.csv.gz", 16000)}
SMALL = "wine pima vehicle german australian protein iris breast-cancer".split()
DRAWS = 10
SHARES = [0.02, 0.05, 0.1, 0.2, 0.4, 0.7]
CURVES = ["letters", "usps", "made"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("automatic.json"))
    parser.add_argument("--only", help="names of sets, with commas between")
    parser.add_argument("--no-lmnn", action="store_true", help="leave LMNN out, which takes longest")
    parser.add_argument("--tables", type=Path, metavar="RESULTS")
    args = parser.parse_args()
    if args.tables:
        return tables(json.loads(args.tables.read_text()))
    results = {"sets": {}, "curves": {}}
    for name, draws in divisions(args.data, args.only):
        found = {}
        for X, y, Z, z in draws:
            for method, make in methods(args.no_lmnn).items():
                seconds, error, _ = fitted(make, X, y, Z, z)
                found.setdefault(method, []).append((seconds, error))
        results["sets"][name] = {"rows": len(X), "columns": X.shape[1], "methods": found}
        if name in CURVES:
            results["curves"][name] = curve(X, y, Z, z)
        args.output.write_text(json.dumps(results, indent=1))
        shown = (f"{m} {100 * np.mean([e for _, e in r]):.2f} % {np.mean([s for s, _ in r]):.3g} s" for m, r in found.items())
        print(f"{name} {X.shape}: " + " · ".join(shown), flush=True)
    return 0


def methods(without_lmnn):
    from mahala import GMML, LMNN, AutoGMML

    table = {
        "euclidean": None,
        "lda": lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
        "gmml, t = 1/2": lambda: GMML(t=0.5, n_jobs=1),
        "gmml, t chosen": lambda: GMML(n_jobs=1),
        "auto": lambda: AutoGMML(n_jobs=1),
    }
    return table if without_lmnn else table | {"lmnn": lambda: LMNN(n_jobs=1)}


def fitted(make, X, y, Z, z):
    start = time.process_time()
    learned = None if make is None else make().fit(X, y)
    seconds = time.process_time() - start
    see = (lambda rows: rows) if learned is None else learned.transform
    wrong = 1 - KNeighborsClassifier(5).fit(see(X), y).score(see(Z), z)
    return seconds, wrong, learned


def curve(X, y, Z, z):
    """Seconds and error of whole and of stopped searches, and of the closed form."""
    from mahala import GMML, AutoGMML

    seconds, error, whole = fitted(lambda: AutoGMML(n_jobs=1), X, y, Z, z)
    done = whole.diagnostics_["choice"]["trials_done"]
    points = []
    for share in SHARES:
        trials = max(1, round(share * done))
        points.append((*fitted(lambda: AutoGMML(n_jobs=1, max_trials=trials), X, y, Z, z)[:2], trials))
    points.append((seconds, error, done))
    others = {"t = 1/2": lambda: GMML(t=0.5, n_jobs=1), "t chosen": lambda: GMML(n_jobs=1)}
    return {"auto": points, "gmml": {name: fitted(make, X, y, Z, z)[:2] for name, make in others.items()}, "tested": len(z)}


def divisions(folder, only):
    wanted = (lambda name: True) if not only else (lambda name: name in only.split(","))
    for name in filter(wanted, SMALL):
        X, y = read(folder / f"{name}.csv")
        yield name, [halves(X, y, draw) for draw in range(DRAWS)]
    for name in filter(wanted, FIXED):
        file, rows = FIXED[name]
        X, y = read(folder / file)
        yield name, [(X[:rows], y[:rows], X[rows:], y[rows:])]
    if wanted("usps"):
        X, y = read(folder / "usps.csv.gz")
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=0)
        yield "usps", [(X[train], y[train], X[test], y[test])]
    if wanted("made"):
        X, y = make_classification(20000, 50, n_informative=15, n_redundant=10, n_classes=5, n_clusters_per_class=2, flip_y=0.02, class_sep=1.2, random_state=0)
        X, Z, y, z = train_test_split(X * np.logspace(-2, 2, 50), y, test_size=0.4, random_state=1, stratify=y)
        yield "made", [(X, y, Z, z)]
    file = folder / "embeddings" / "banking77.npz"
    if wanted("banking77") and file.exists():
        found = np.load(file)
        X, Z = (found[f"wordllama_{part}"].astype(np.float64) for part in ("train", "test"))
        yield "banking77", [(X, found["y_train"], Z, found["y_test"])]


def halves(X, y, draw):
    order = np.random.default_rng(draw).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train], X[test], y[test]


def read(path):
    """Numbers and labels; an empty cell is 0."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1:]
    return np.array([[float(cell) if cell else 0.0 for cell in row[:-1]] for row in rows]), np.array([row[-1] for row in rows])


def tables(results):
    names = list(next(iter(results["sets"].values()))["methods"])
    print("| set | rows learned on × columns | " + " | ".join(names) + " |\n|---|---" + "|---" * len(names) + "|")
    for name, found in results["sets"].items():
        cells = []
        for method in names:
            seconds, errors = np.array(found["methods"][method]).T
            spread = f" ± {100 * errors.std(ddof=1) / np.sqrt(len(errors)):.2f}" if len(errors) > 1 else ""
            cells.append(f"{100 * errors.mean():.2f}{spread} ({seconds.mean():.2g} s)")
        print(f"| {name} | {found['rows']:,} × {found['columns']} | " + " | ".join(cells) + " |")
    for name, found in results["curves"].items():
        print(f"\n{name}: " + "; ".join(f"GMML, {label}, {100 * error:.2f} % in {seconds:.2g} s" for label, (seconds, error) in found["gmml"].items()))
        print("| trials | CPU s | error % |\n|---|---|---|")
        for seconds, error, trials in found["auto"]:
            print(f"| {trials} | {seconds:.2g} | {100 * error:.2f} |")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
