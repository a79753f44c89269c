"""Draws the figures of docs/extensions.md and prints its tables: `extensions.py [FOLDER [FIGURE ...]]`.

Needs matplotlib and scikit-learn; the same figures and numbers come out every time.
"""

import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from mahala import GMML, GMMLPairs, LocalGMML, RecipeGMML
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_multilabel_classification
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#767676"
STYLE = {
    "svg.hashsalt": "mahala", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 12, "figure.dpi": 100, "legend.frameon": False,
}  # fmt: skip


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "docs" / "figures")
    plt.rcParams.update(STYLE)
    only = sys.argv[2:]
    for name, draw in [
        ("extensions-shrinkage", shrinkage),
        ("extensions-directions", directions),
        ("extensions-rounds", rounds),
        ("extensions-balance", balance),
        ("extensions-probabilities", probabilities),
        ("extensions-labels", label_sets),
        ("extensions-local", local),
    ]:
        if only and name not in only:
            continue
        figure = draw()
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        plt.close(figure)


def bars(axes, names, errors, colors):
    """Means over runs, with the standard error of each."""
    means, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    axes.bar(names, means, yerr=spread, color=colors, width=0.6, ecolor="black", capsize=3)
    for x, mean in enumerate(means):
        axes.annotate(f"{mean:.2f}", (x, 0), (0, 4), "data", "offset points", ha="center", color="white")


def errors_of(learners, X, y, rows, runs=20):
    """The errors of five neighbours, a run each row, a learner each column."""
    errors = []
    for seed in range(runs):
        learn, test, y_learn, y_test = train_test_split(X, y, train_size=rows, random_state=seed, stratify=y)
        scores = []
        for learner in learners:
            learner.fit(learn, y_learn)
            knn = KNeighborsClassifier().fit(learner.transform(learn), y_learn)
            scores.append(100 * (1 - knn.score(learner.transform(test), y_test)))
        errors.append(scores)
    return np.array(errors)


def shrinkage():
    """How far S is shrunk, and towards what."""
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    shares = [0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    for towards, color, name in [(False, ORANGE, "to its diagonal"), (True, BLUE, "to the identity")]:
        learners = [RecipeGMML(t=0, shrinkage=share, towards_identity=towards) for share in shares]
        means = errors_of(learners, *load_digits(return_X_y=True), 100).mean(axis=0)
        print(f"shrinkage {name}:", dict(zip(shares, means.round(2))))
        axes.plot(shares, means, "o-", color=color, label=name)
    axes.set(xlabel="shrinkage of S", ylabel="error (%)", ylim=(0, None), title="Digits, 100 rows, t = 0")
    axes.legend()
    return figure


def directions():
    """Inside how many leading directions of the pencil to learn."""
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    numbers = [4, 6, 9, 14, 18, 27, 36, 50, 61]
    settings = {"t": 0.3, "shrinkage": 0.3, "towards_identity": True}
    learners = [RecipeGMML(directions=r, **settings) for r in numbers]
    means = errors_of(learners, *load_digits(return_X_y=True), 300).mean(axis=0)
    print("directions:", dict(zip(numbers, means.round(2))))
    axes.plot(numbers, means, "o-", color=BLUE)
    axes.axvline(9, color=GREY, linestyle="--", linewidth=1)
    axes.annotate("classes - 1", (9, 0.4), (6, 0), "data", "offset points", color=GREY)
    axes.set(xlabel="leading directions", ylabel="error (%)", ylim=(0, None), title="Digits, 300 rows")
    return figure


def rounds():
    """All pairs, then neighbourhoods under the metric so far: classes of several clusters."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 12, 1200)
    X = np.hstack([3 * rng.normal(size=(12, 4))[clusters] + rng.normal(size=(1200, 4)), 4 * rng.normal(size=(1200, 8))])
    learners = [RecipeGMML(t=0.3, rounds=[(3, 0.5)] * count) for count in range(4)]
    errors = errors_of(learners, X, clusters % 3, 600)
    print("rounds:", errors.mean(axis=0).round(2), "better than none:", (errors[:, 1:] < errors[:, :1]).sum(axis=0))
    settings = {"t": 0.3, "shrinkage": 0.3, "towards_identity": True}
    learners = [RecipeGMML(rounds=[(3, 0.5)] * count, **settings) for count in range(3)]
    digits = errors_of(learners, *load_digits(return_X_y=True), 900)
    print("rounds on digits:", digits.mean(axis=0).round(2), "better:", (digits[:, 1:] < digits[:, :1]).sum(axis=0))
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    bars(axes, ["all pairs", "one round", "two", "three"], errors, [GREY, BLUE, BLUE, BLUE])
    axes.set(ylabel="error (%)", title="Three classes of four clusters each, among noise")
    return figure


def balance():
    """Digits, eight of which have a fifth of their rows: the mean error of the classes."""
    X, y = load_digits(return_X_y=True)
    errors = []
    for seed in range(20):
        learn, test, y_learn, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        keep = (y_learn < 2) | (np.random.default_rng(seed).random(len(y_learn)) < 0.2)
        learn, y_learn, row = learn[keep], y_learn[keep], []
        for choice in (None, "balanced", "balanced-pairs"):
            gmml = GMML(t="cv", class_weight=choice).fit(learn, y_learn)
            knn = KNeighborsClassifier().fit(gmml.transform(learn), y_learn)
            row.append(100 * (1 - balanced_accuracy_score(y_test, knn.predict(gmml.transform(test)))))
        errors.append(row)
    errors = np.array(errors)
    print("balance, mean error of classes (%):", errors.mean(axis=0).round(2), "better than none:",
          (errors[:, 1:] < errors[:, :1]).sum(axis=0), "of", len(errors))  # fmt: skip
    figure, axes = plt.subplots(figsize=(5.4, 3.4))
    bars(axes, ["None", '"balanced"', '"balanced-pairs"'], errors, [GREY, BLUE, GREEN])
    axes.set(ylabel="mean error of the classes (%)", xlabel="class_weight", title="Digits: two classes whole, a fifth of the others")
    return figure


def probabilities():
    """Wine, a quarter of it to learn from: how often pairs are similar, by what was promised."""
    X, y = load_wine(return_X_y=True)
    pairs = lambda part: np.array([(i, j) for i in range(part, 178, 4) for j in range(part, i, 4)])
    known, aside, new = pairs(0), pairs(1), np.vstack([pairs(2), pairs(3)])
    same = lambda pairs: np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    settings = {"t": 0.1, "standardize": True, "preprocessor": X}
    fit = lambda: GMMLPairs(**settings).fit(known, same(known))
    held, fooled = fit().calibrate(aside, same(aside)), fit().calibrate(known, same(known))
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    for model, color, name in [(fooled, ORANGE, "training pairs"), (held, BLUE, "pairs kept aside")]:
        p, truth = model.predict_proba(new)[:, 1], same(new) == 1
        loss = log_loss(truth, p)
        print(f"probabilities from {name}: log loss {loss:.3f}")
        bins = np.minimum((p * 10).astype(int), 9)
        filled = [b for b in range(10) if (bins == b).sum() > 20]
        seen = [truth[bins == b].mean() for b in filled]
        axes.plot([p[bins == b].mean() for b in filled], seen, "o-", color=color, label=f"{name}: log loss {loss:.2f}")
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    axes.set(xlabel="promised probability", ylabel="share of similar pairs", title="Wine, pairs of new rows")
    axes.legend(loc="lower right")
    return figure


def label_sets():
    """Rows with several labels among noise: how much the labels of the nearest row overlap."""
    overlaps = []
    for seed in range(20):
        X, Y = make_multilabel_classification(
            800, 20, n_classes=6, n_labels=2, allow_unlabeled=False, random_state=seed
        )
        X = np.hstack([X, 10 * np.random.default_rng(seed).normal(size=(800, 10))])
        X = StandardScaler().fit_transform(X)
        whole = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
        row = []
        for learner in (None, GMML(t="cv").fit(X[:400], whole[:400]), GMML(t="cv").fit(X[:400], Y[:400])):
            Z = X if learner is None else learner.transform(X)
            near = NearestNeighbors(n_neighbors=5).fit(Z[:400]).kneighbors(Z[400:], return_distance=False)
            a, b = Y[400:, None].astype(bool), Y[near].astype(bool)
            row.append(((a & b).sum(-1) / (a | b).sum(-1)).mean())
        overlaps.append(row)
    overlaps = np.array(overlaps)
    print("overlap of labels with the 5 nearest:", overlaps.mean(axis=0).round(3), "sets better than whole:",
          (overlaps[:, 2] > overlaps[:, 1]).sum(), "of", len(overlaps))  # fmt: skip
    figure, axes = plt.subplots(figsize=(5.8, 3.4))
    bars(axes, ["Euclidean", "GMML: same set or not", "GMML: overlap"], overlaps, [GREY, ORANGE, BLUE])
    axes.set(ylabel="overlap with the 5 nearest rows", title="Six labels, about two a row, among noise")
    return figure


def crossed(n, seed):
    """Two classes that cross at right angles, with two columns of noise."""
    random = np.random.default_rng(seed)
    long, short = 4 * random.normal(size=n), 0.4 * random.normal(size=n)
    y = np.arange(n) % 2
    shape = np.where(y[:, None] == 0, np.column_stack([long, short]), np.column_stack([short, long]))
    return np.hstack([shape, random.normal(size=(n, 2))]), y


def local():
    """The unit balls of local metrics; and the errors of local and global metrics on data sets."""
    X, y = crossed(60, 1)
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    model = LocalGMML(t=0.1, share=0.5).fit(X, y)
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for c, color in enumerate([BLUE, ORANGE]):
        axes.scatter(*X[y == c, :2].T, s=12, color=color, linewidths=0, alpha=0.7)
        linear = model.local_maps_[c] @ model.components_
        metric = (linear.T @ linear)[:2, :2]
        ball = np.linalg.solve(np.linalg.cholesky(metric).T, circle)
        axes.plot(*(1.2 * ball / np.sqrt(np.linalg.det(metric) ** -0.5)), color=color, linewidth=2)
    metric = (model.components_.T @ model.components_)[:2, :2]
    ball = np.linalg.solve(np.linalg.cholesky(metric).T, circle)
    axes.plot(*(1.2 * ball / np.sqrt(np.linalg.det(metric) ** -0.5)), color=GREY, linestyle="--")
    axes.set(aspect="equal", title="equal distances: global (dashed), per class", xticks=[], yticks=[])
    sets = [("crossed", crossed(120, 1))] + [
        (name, load(return_X_y=True))
        for name, load in [("iris", load_iris), ("wine", load_wine), ("wdbc", load_breast_cancer), ("digits", load_digits)]
    ]
    for name, (X, y) in sets:
        errors = []
        for seed in range(10):
            learn, test, y_learn, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
            models = [LocalGMML(share=0.0), LocalGMML(), LocalGMML(by="cluster", n_clusters=4)]
            errors.append([100 * (1 - model.fit(learn, y_learn).score(test, y_test)) for model in models])
        print(f"local, {name}: global, class, cluster error (%)", np.mean(errors, axis=0).round(2))
    return figure


main()
