"""Online learners: their error against the rows seen, MOML's published table, and labels of which some are wrong.

Usage: python experiments/online.py DATA [figure|moml|robust ...] (the folder with the paper's sets; all three parts if none is
named) writes results/online.json, results/online.md and results/figure-online.svg; without DATA it writes document and figure from
what is there. Wants mahala, scikit-learn and Matplotlib. A set that is not there is named on stderr and left out, and the exit code is 1.
"""

import csv
import itertools
import json
import os
import sys
import warnings
from pathlib import Path

for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[variable] = "1"

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments" / "results"
BUNDLED = ROOT / "data"
NEIGHBORS = 5
# The figure.
STREAMS, REPEATS = ["vehicle", "segment", "vowel"], 10
SEEN = [8, 16, 32, 64, 128, 256, 512, 1024]
# MOML's protocol and its published errors: Euclid, MOML.
MOML_SETS = {"iris": (0.038, 0.028), "wine": (0.218, 0.226), "balance": (0.108, 0.070)}
HALVES, SCANS, STEPS = 30, 20, [1e-2, 1e-3, 1e-4]
# The robust protocol and the published errors at 15 % wrong labels, in percent: GMML, robust.
ROBUST_SETS = {"wine": (9.86, 8.31), "vehicle": (25.11, 23.58), "iris": (12.62, 7.83)}
WRONG, LAMBDA, PLACES = [0.0, 0.05, 0.10, 0.15, 0.20], 0.05, [0.5, 0.1]


def main():
    kept = RESULTS / "online.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    missing = []
    if sys.argv[1:]:
        data, parts = Path(sys.argv[1]), sys.argv[2:] or ["figure", "moml", "robust"]
        for part in parts:
            measure, names = {"figure": (stream, STREAMS), "moml": (moml, MOML_SETS), "robust": (robust, ROBUST_SETS)}[part]
            for name in names:
                found = table(data, name)
                if found is None:
                    missing.append(name)
                    continue
                results.setdefault(part, {})[name] = measure(*found)
                kept.write_text(json.dumps(results, indent=1) + "\n")
                print(json.dumps({"part": part, "set": name}), flush=True)
    (RESULTS / "online.md").write_text(document(results))
    draw(results.get("figure", {}), RESULTS / "figure-online.svg")
    if missing:
        print(f"not measured, for they are not there: {', '.join(sorted(set(missing)))}", file=sys.stderr)
    return len(set(missing)) > 0


def table(data, name):
    """Rows and codes of a set, or None."""
    if name == "balance":
        return balance()
    path = next((p for p in (data / f"{name}.csv", BUNDLED / f"{name}.csv") if p.exists()), None)
    if path is None:
        print(f"{name}: there is no {name}.csv in {data} or in data/", file=sys.stderr)
        return None
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    rows = np.array([line[:-1] for line in lines], dtype=np.float64)
    return rows, np.unique([line[-1] for line in lines], return_inverse=True)[1]


def balance():
    """The balance scale of the UCI repository, which is a whole factorial: every weight and distance from 1 to 5 on either side,
    and the side to which the scale tips."""
    rows = np.array(list(itertools.product(range(1, 6), repeat=4)), dtype=np.float64)
    return rows, (np.sign(rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3]) + 1).astype(int)


def halves(labels, random):
    order = random.permutation(len(labels))
    return order[::2], order[1::2]


def error(components, rows, labels, train, test, of_voters=None):
    """The error of the nearest neighbours under a metric, as a share."""
    from sklearn.neighbors import KNeighborsClassifier

    voters = labels[train] if of_voters is None else of_voters
    knn = KNeighborsClassifier(min(NEIGHBORS, len(train))).fit(rows[train] @ components.T, voters)
    return float(1 - knn.score(rows[test] @ components.T, labels[test]))


# The figure: every row that comes makes one triplet with rows seen before.


def learners():
    from mahala.online import OnlineGMML, OnlineLEGO, OnlineMOML, OnlineOASIS, OnlinePOLA

    return {
        "GMML, t = 0.1": lambda bounds: OnlineGMML(t=0.1, reg=1e-3),
        "GMML, t = 0.5": lambda bounds: OnlineGMML(t=0.5, reg=1e-3),
        "LEGO": lambda bounds: OnlineLEGO(bounds=bounds),
        "POLA": lambda bounds: OnlinePOLA(),
        "OASIS": lambda bounds: OnlineOASIS(),
        "MOML": lambda bounds: OnlineMOML(),
    }


def stream(rows, labels):
    """Mean error on the other half after so many rows, by learner; all rows of the first half vote."""
    errors = {name: {} for name in ["the plain distance", *learners()]}
    for repeat in range(REPEATS):
        random = np.random.default_rng(repeat)
        train, test = halves(labels, random)
        scaled = in_a_ball(rows, train)
        triplets = of_a_stream(labels[train], random)
        plain = error(np.eye(rows.shape[1]), scaled, labels, train, test)
        ends = scaled[train][triplets[:, 1:]]
        bounds = tuple(np.percentile(((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1), (5, 95)))
        points = [count for count in SEEN if count < len(train)] + [len(train)]
        for seen in points:
            errors["the plain distance"].setdefault(seen, []).append(plain)
        for name, make in learners().items():
            learner, done = make(bounds), 0
            for seen in points:
                new = triplets[(triplets[:, 0] >= done) & (triplets[:, 0] < seen)]
                if len(new):
                    given(learner, scaled[train], new[:, 0:1], new[:, 1:])
                done = seen
                # Nothing is known before the first triplet.
                components = learner.components_ if hasattr(learner, "n_seen_") else np.eye(rows.shape[1])
                errors[name].setdefault(seen, []).append(error(components, scaled, labels, train, test))
    mean = lambda values: {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)), "repeats": len(values)}
    curves = {name: [[seen, mean(values)] for seen, values in by.items()] for name, by in errors.items()}
    return {"rows": len(rows), "columns": rows.shape[1], "classes": int(labels.max()) + 1, "curves": curves}


def in_a_ball(rows, train):
    """Standardised by the training rows, and divided so that none of these is longer than 1."""
    deviation = rows[train].std(axis=0)
    scaled = (rows - rows[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled / np.linalg.norm(scaled[train], axis=1).max()


def of_a_stream(labels, random):
    """For each row that has both before it: itself, an earlier row of its class, an earlier one of another."""
    triplets = []
    for row in range(len(labels)):
        same, other = np.flatnonzero(labels[:row] == labels[row]), np.flatnonzero(labels[:row] != labels[row])
        if len(same) and len(other):
            triplets.append([row, row, random.choice(same), random.choice(other)])
    return np.array(triplets)


def given(learner, rows, _, triplets):
    """Triplets, or the two pairs that each one is."""
    if learner._takes_pairs:
        pairs = triplets[:, [0, 1, 0, 2]].reshape(-1, 2)
        learner.partial_fit(pairs, np.tile([1, -1], len(triplets)), preprocessor=rows)
    else:
        learner.partial_fit(triplets, preprocessor=rows)


# MOML's table.


def moml(rows, labels):
    from mahala import MOML, RecipeGMML

    lengths = np.linalg.norm(rows, axis=1)
    rows = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    errors = {name: [] for name in ["the plain distance", *(f"MOML, step {step:g}" for step in STEPS), "GMML, all pairs"]}
    for repeat in range(HALVES):
        train, test = halves(labels, np.random.default_rng(repeat))
        fitted = lambda learner: learner.fit(rows[train], labels[train]).components_
        learned = {"the plain distance": np.eye(rows.shape[1]), "GMML, all pairs": fitted(RecipeGMML(t=0.5, shrinkage=0.01, n_jobs=1))}
        for step in STEPS:
            learned[f"MOML, step {step:g}"] = fitted(MOML(max_iter=SCANS, step=step, random_state=repeat, n_jobs=1))
        for name, components in learned.items():
            errors[name].append(error(components, rows, labels, train, test))
    return {name: {"mean": float(np.mean(e)), "std": float(np.std(e, ddof=1))} for name, e in errors.items()}


# Labels of which some are wrong.


def robust(rows, labels):
    from mahala import GMMLPairs, RobustGMML

    classes = int(labels.max()) + 1
    deviation = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    found = {}
    for share in WRONG:
        errors = {}
        for repeat in range(HALVES):
            random = np.random.default_rng(repeat)
            train, test = halves(labels, random)
            seen = labels[train].copy()
            wrong = random.permutation(len(train))[: round(share * len(train))]
            seen[wrong] = (seen[wrong] + random.integers(1, classes, size=len(wrong))) % classes
            pairs, marks = drawn_pairs(seen, 75 * classes * (classes - 1), random)
            ends = rows[train][pairs]
            learned = {"the plain distance": np.eye(rows.shape[1])}
            for t in PLACES:
                learned[f"GMML, t = {t}"] = GMMLPairs(t=t, reg=LAMBDA, n_jobs=1).fit(ends, marks).components_
                tyler = RobustGMML(t=t, reg=LAMBDA, random_state=0, n_jobs=1)
                learned[f"robust GMML, t = {t}"] = tyler.fit_pairs(ends, marks).components_
            for name, components in learned.items():
                by_seen = error(components, rows, labels, train, test, seen)
                errors.setdefault(name, []).append([by_seen, error(components, rows, labels, train, test)])
        mean = lambda e: {"voters as learned": float(np.mean(e, axis=0)[0]), "voters right": float(np.mean(e, axis=0)[1])}
        found[f"{share:.2f}"] = {name: mean(e) for name, e in errors.items()}
    return found


def drawn_pairs(labels, count, random):
    """As many similar as dissimilar pairs, with replacement."""
    pairs, marks = [], []
    for mark in (1, -1):
        while len(marks) < count * (1 if mark == 1 else 2) // 2:
            i, j = random.integers(len(labels), size=2)
            if i != j and (labels[i] == labels[j]) == (mark == 1):
                pairs.append((i, j))
                marks.append(mark)
    return np.array(pairs), np.array(marks)


# What is written.


def document(results):
    parts = [HEAD]
    if "figure" in results:
        parts.append(FIGURE)
        for name, of_set in results["figure"].items():
            curves = of_set["curves"]
            seen = [str(point[0]) for point in next(iter(curves.values()))]
            parts.append(f"**{name}** ({of_set['rows']:,} × {of_set['columns']}, {of_set['classes']} classes), error in percent after so many rows\n")
            parts.append("| | " + " | ".join(seen) + " |\n|---" + "|---" * len(seen) + "|")
            for method, points in curves.items():
                parts.append(f"| {method} | " + " | ".join(f"{100 * point[1]['mean']:.1f}" for point in points) + " |")
            parts.append("")
    if "moml" in results:
        parts.append(MOML_TEXT + "\n| set | plain distance, theirs | ours | MOML, theirs | " + " | ".join(f"ours, step {step:g}" for step in STEPS) + " | GMML, all pairs |" + "\n|---" + "|---" * (len(STEPS) + 4) + "|")
        for name, of_set in results["moml"].items():
            plain, theirs = MOML_SETS[name]
            ours = lambda method: f"{of_set[method]['mean']:.3f} ± {of_set[method]['std']:.3f}"
            parts.append(f"| {name} | {plain:.3f} | {ours('the plain distance')} | {theirs:.3f} | {' | '.join(ours(f'MOML, step {step:g}') for step in STEPS)} | {ours('GMML, all pairs')} |")
        parts.append("")
    if "robust" in results:
        parts.append(ROBUST_TEXT)
        for name, of_set in results["robust"].items():
            shares = list(of_set)
            parts.append(f"**{name}**, error in percent with so many wrong labels: neighbours vote with the labels as learned from / with the right ones\n")
            parts.append("| | " + " | ".join(f"{100 * float(share):.0f} %" for share in shares) + " | theirs at 15 % |\n|---" + "|---" * (len(shares) + 1) + "|")
            theirs = dict(zip([f"GMML, t = {PLACES[0]}", f"robust GMML, t = {PLACES[0]}"], ROBUST_SETS[name]))
            for method in of_set[shares[0]]:
                cell = lambda e: f"{100 * e['voters as learned']:.1f} / {100 * e['voters right']:.1f}"
                cells = " | ".join(cell(of_set[share][method]) for share in shares)
                parts.append(f"| {method} | {cells} | {theirs.get(method, '–')} |")
            parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def draw(sets, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "mahala", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, max(1, len(sets)), figsize=(4.2 * max(1, len(sets)), 3.6), squeeze=False)
    for axis, (name, of_set) in zip(axes[0], sets.items()):
        for method, points in of_set["curves"].items():
            style = {"color": "#888", "linestyle": "--"} if method == "the plain distance" else {}
            axis.plot([p[0] for p in points], [100 * p[1]["mean"] for p in points], label=method, **style)
        axis.set(xscale="log", xlabel="rows seen", title=name)
    axes[0][0].set_ylabel("error of 5 neighbours, %")
    if sets:
        axes[0][-1].legend(frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


HEAD = """# Online learners, and labels of which some are wrong

Written by `python experiments/online.py DATA`. Errors are those of 5 nearest neighbours on the half that was not learned from.
"""

FIGURE = """## Error against rows seen

![Error of 5 nearest neighbours over the rows seen on three data sets, for GMML, LEGO, POLA, OASIS, MOML and the plain distance](figure-online.svg)

Each row that comes makes one triplet with rows seen before: itself, an earlier row of its class and an earlier one of another, both drawn at random. OASIS and
MOML learn from the triplet; LEGO, POLA and GMML from the two pairs it is. All rows of the half that is learned from vote at every point, so that the
metric alone changes. Rows are standardised and in a ball of radius 1; all have their default parameters, LEGO the 5th and 95th percentile of the
distances for bounds. Means of 10 random halves. GMML keeps two sums and solves when asked (λ = 0.001): it has no step size,
and its metric does not depend on the order. The others move from the identity by small steps, and a few hundred triplets hardly take them away from it; POLA's first
updates are large, and it recovers from them.
"""

MOML_TEXT = """## MOML's table

The published protocol: rows of norm 1, random halves, 30 times, 20 scans. "Theirs" are the published errors. What the paper leaves open is as it is here by
default: triplets of the 3 nearest rows of the own class with 10 of others each, centred rows; the step, which the paper leaves open too, is given thrice. The plain
distance shows how far the halves themselves differ. On Balance most of the published gain of MOML over it is there; on Iris and Wine no step gains anything, and the longest
does harm on Wine: rows of norm 1 lie in a narrow cone, where the distances that a hinge of 1 compares are far below 1, so that nearly every triplet violates the
margin in every scan. On Wine the published MOML is worse than the plain distance, too. GMML over all pairs (t = 0.5, shrinkage 0.01) has the same halves.
"""

ROBUST_TEXT = """## Wrong labels

The protocol of robust GMML: random halves, 30 times, 75c(c − 1) pairs drawn by the labels as they are, λ = 0.05; so many training labels are replaced by another
class. "Theirs" are the published errors at 15 %. Columns are standardised here; what the published rows were divided by is not known, and neither is their place on the
geodesic, which decides more than the wrong labels do: two are given.
"""

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
